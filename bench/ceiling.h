/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a CPU can do at the most: loops of the instructions that the kernels are made of, with nothing to wait for.
 * Included by ceiling_template.h, which the files ceiling_<kernel>.c instantiate for one width each.
 */
#ifndef AESOP_BENCH_CEILING_H
#define AESOP_BENCH_CEILING_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of text that one call of a mix covers; buffers hold them and 64 more. */
#define CEILING_TEXT_BYTES 16384
/* Instructions that one call of an instruction loop executes. */
#define CEILING_INSTRUCTIONS 9600

enum { CEILING_GCM_MIXES = 4, CEILING_CBC_MIXES = 2, CEILING_KEY_SIZES = 3 };

typedef void ceiling_mix(uint8_t *out, const uint8_t *in, uint32_t rounds);

struct ceiling_loops {
    const char *kernel;
    uint32_t needs; /* enum aesop_cpu_feature */
    size_t vector_bytes;
    void (*aesenc)(void *buffer);         /* independent of each other */
    void (*aesenc_latency)(void *buffer); /* each waits for the one before */
    void (*clmul)(void *buffer);
    void (*aesenc_clmul)(void *buffer); /* two to one */
    /*
     * All that the modes do to CEILING_TEXT_BYTES, but for the dependencies between blocks: loads, stores, shuffles,
     * additions. With four vectors in flight or eight, which hangs on the number of registers, on the compiler and on
     * how the CPU happens to deal instructions out; GCM with three multiplications or four, which hangs on the CPU: the
     * fastest counts.
     */
    ceiling_mix *gcm[CEILING_GCM_MIXES], *cbc_dec[CEILING_CBC_MIXES];
};

extern const struct ceiling_loops ceiling_aesni, ceiling_vaes256, ceiling_vaes512;

/* What a kernel can reach at the most. By key size, in the order 128, 192, 256: GB/s of text. */
struct ceiling {
    const struct ceiling_loops *loops;
    double aesenc, aesenc_latency, clmul, aesenc_clmul; /* instructions per ns */
    double gcm[CEILING_KEY_SIZES], cbc_dec[CEILING_KEY_SIZES];
    /* Whatever the kernel: each block waits for all AES instructions of the one before. */
    double cbc_enc[CEILING_KEY_SIZES];
};

/* That of a kernel ("auto": the widest that this CPU has), or NULL where this CPU lacks it. The first call measures. */
const struct ceiling *ceiling_of_kernel(const char *kernel);

/* GB/s of a cipher (one of BENCH_CIPHERS) in one direction, NAN where this CPU lacks the kernel. */
double ceiling_of(const char *cipher, const char *kernel, int encrypting);

#endif
