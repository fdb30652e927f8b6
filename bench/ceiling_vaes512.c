/* SPDX-License-Identifier: Apache-2.0 */
#define VEC_BYTES 64
#define VEC_TARGET __attribute__((target("aes,pclmul,avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq")))
#define KERNEL(name) name##_vaes512
#define CEILING_KERNEL "vaes512"
#define CEILING_NEEDS (AESOP_CPU_AESNI | AESOP_CPU_AVX2 | AESOP_CPU_VAES | AESOP_CPU_AVX512)

#include "bench/ceiling_template.h"
