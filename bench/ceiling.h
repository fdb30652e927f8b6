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
     * additions.
     */
    void (*gcm)(uint8_t *out, const uint8_t *in, uint32_t rounds);
    void (*cbc_dec)(uint8_t *out, const uint8_t *in, uint32_t rounds);
};

extern const struct ceiling_loops ceiling_aesni, ceiling_vaes256, ceiling_vaes512;

/*
 * GB/s of text at the most with that kernel ("auto": the widest that this CPU has), measured now; `cipher` is an EVP
 * name, AES-*-GCM or AES-*-CBC (decryption). 0 where this CPU lacks it or the cipher is another.
 */
double ceiling_of(const char *cipher, const char *kernel);

/* The loops of that kernel, or NULL where this CPU lacks it. */
const struct ceiling_loops *ceiling_loops_of(const char *kernel);

#endif
