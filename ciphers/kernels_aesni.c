/* SPDX-License-Identifier: Apache-2.0 */
/* 128-bit AES-NI and PCLMULQDQ, for any CPU with AES instructions. */
#if defined(__x86_64__)

#define VEC_BYTES 16
#define VEC_TARGET __attribute__((target("aes,pclmul,sse4.1,ssse3")))
#define KERNEL(name) name##_aesni
#define KERNEL_NAME "aesni"

#include "ciphers/kernel_set.h"

#else
typedef int aesop_kernels_aesni_need_x86_64; /* ISO C wants a declaration in every file */
#endif
