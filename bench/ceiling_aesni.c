/* SPDX-License-Identifier: Apache-2.0 */
#define VEC_BYTES 16
#define VEC_TARGET __attribute__((target("aes,pclmul,sse4.1,ssse3")))
#define KERNEL(name) name##_aesni
#define CEILING_KERNEL "aesni"
#define CEILING_NEEDS (AESOP_CPU_AESNI)

#include "bench/ceiling_template.h"
