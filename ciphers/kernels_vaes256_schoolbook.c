/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 256-bit VAES and VPCLMULQDQ, for CPUs without AVX-512 that start a multiplication each cycle, on one port: Intel's.
 * Four of them burden the ports that AES is done on less than three with their shuffle (5 to 10 % faster).
 */
#if defined(__x86_64__)

#define VEC_BYTES 32
#define VEC_KARATSUBA 0
#define VEC_TARGET __attribute__((target("aes,pclmul,avx2,vaes,vpclmulqdq")))
#define KERNEL(name) name##_vaes256_schoolbook
#define KERNEL_NAME "vaes256"

#include "ciphers/kernel_set.h"

#else
typedef int aesop_kernels_vaes256_schoolbook_need_x86_64; /* ISO C wants a declaration in every file */
#endif
