/* SPDX-License-Identifier: Apache-2.0 */
/* 512-bit VAES and VPCLMULQDQ with AVX-512. */
#if defined(__x86_64__)

#define VEC_BYTES 64
#define VEC_TARGET __attribute__((target("aes,pclmul,avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq")))
#define KERNEL(name) name##_vaes512
#define KERNEL_NAME "vaes512"

#include "ciphers/kernel_set.h"

#else
typedef int aesop_kernels_vaes512_need_x86_64; /* ISO C wants a declaration in every file */
#endif
