/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 256-bit VAES and VPCLMULQDQ, for CPUs without AVX-512 that take two cycles or more for a multiplication: AMD's up to
 * Zen 4, Intel's efficient cores by themselves.
 */
#if defined(__x86_64__)

#define VEC_BYTES 32
#define VEC_KARATSUBA 1
#define VEC_TARGET __attribute__((target("aes,pclmul,avx2,vaes,vpclmulqdq")))
#define KERNEL(name) name##_vaes256
#define KERNEL_NAME "vaes256"

#include "ciphers/kernel_set.h"

#else
typedef int aesop_kernels_vaes256_need_x86_64; /* ISO C wants a declaration in every file */
#endif
