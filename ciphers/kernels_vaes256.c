/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 256-bit VAES and VPCLMULQDQ, for CPUs without AVX-512 that take two cycles for a multiplication of any width: AMD's
 * up to Zen 4.
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
