/* SPDX-License-Identifier: Apache-2.0 */
/* What the CPU and the operating system offer. */
#ifndef AESOP_CIPHERS_CPU_H
#define AESOP_CIPHERS_CPU_H

#include <stdint.h>

/* Groups of CPUID features that are only ever needed together. */
enum aesop_cpu_feature {
    AESOP_CPU_AESNI = 1 << 0,  /* AES-NI, PCLMULQDQ, SSE4.1 */
    AESOP_CPU_AVX2 = 1 << 1,   /* AVX, AVX2, and the system saves YMM */
    AESOP_CPU_VAES = 1 << 2,   /* VAES, VPCLMULQDQ */
    AESOP_CPU_AVX512 = 1 << 3, /* AVX-512 F, BW, DQ, VL, and the system saves ZMM and the masks */
    /* No need but a preference: starts a VPCLMULQDQ of 256 bits each cycle. */
    AESOP_CPU_FAST_CLMUL = 1 << 4,
};

/* The features of the CPU we run on; 0 where it is not x86-64. */
uint32_t aesop_cpu_features(void);

#endif
