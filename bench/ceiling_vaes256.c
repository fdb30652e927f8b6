/* SPDX-License-Identifier: Apache-2.0 */
#define VEC_BYTES 32
#define VEC_TARGET __attribute__((target("aes,pclmul,avx2,vaes,vpclmulqdq")))
#define KERNEL(name) name##_vaes256
#define CEILING_KERNEL "vaes256"
#define CEILING_NEEDS (AESOP_CPU_AESNI | AESOP_CPU_AVX2 | AESOP_CPU_VAES)

#include "bench/ceiling_template.h"
