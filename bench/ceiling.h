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

enum { CEILING_GCM_MIXES = 4 };

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
     * additions. GCM with four vectors in flight or eight, which hangs on the number of registers and on the compiler,
     * and with three multiplications or four, which hangs on the CPU: the fastest counts.
     */
    ceiling_mix *gcm[CEILING_GCM_MIXES], *cbc_dec;
};

extern const struct ceiling_loops ceiling_aesni, ceiling_vaes256, ceiling_vaes512;

/* The loops of that kernel ("auto": of the widest that this CPU has), or NULL where this CPU lacks it. */
const struct ceiling_loops *ceiling_loops_of(const char *kernel);

/* Instructions per nanosecond in one of the loops of instructions. */
double ceiling_instructions_per_ns(void (*loop)(void *buffer), double seconds);

/*
 * GB/s of text at the most with that kernel, measured now; `cipher` is an EVP name, AES-*-GCM or AES-*-CBC
 * (decryption). 0 where this CPU lacks it or the cipher is another.
 */
double ceiling_of(const char *cipher, const char *kernel);

/* The same for a direction: CBC encryption waits for each AES instruction before the next, whatever the kernel. */
double ceiling_of_direction(const char *cipher, const char *kernel, int encrypting);

#endif
