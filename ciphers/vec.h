/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vector vocabulary of the templates: VEC_BYTES (16, 32 or 64) wide registers of VEC_BLOCKS AES blocks. The
 * includer defines VEC_BYTES and VEC_TARGET; this is the only place that asks which width it is.
 */
#ifndef AESOP_CIPHERS_VEC_H
#define AESOP_CIPHERS_VEC_H

#include "ciphers/block.h"

#define VEC_BLOCKS (VEC_BYTES / AESOP_BLOCK_BYTES)

/* VEC_BYTES of ones, then of zeros: read at an offset it is the mask of the first n bytes. */
static const uint8_t vec_mask_bytes[64] = {
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
};

/*
 * VEC_GCM_BATCH is how many vectors of GCM are in flight, enough to hide the three or four cycles of AESENC: one of 512
 * bits starts in a cycle, or two narrower ones. VEC_GHASH_STEP is how many products of GHASH are made before they are
 * added to the sum: two where an instruction adds three operands, one where sixteen registers are all there is.
 * VEC_KARATSUBA: three multiplications, a shuffle and an xor for a product, not four multiplications. At 512 bits one
 * port of Intel's does all of them, so that four are faster by 3 %; they also make do with half the tables. At 256 bits
 * either is faster on some CPU, and the includer says which it wants.
 * VEC_GCM_ENC_GROUP and VEC_GCM_DEC_GROUP are the most vectors of a short run in flight together, the latter as
 * registers allow. What is encrypted cannot be hashed before it is there: one half is while the other is under way.
 * VEC_HOLDS_BATCH: there are registers for a batch of ciphertext until it is hashed. Where there are not, it comes from
 * where it was put out, and not by way of the stack (256 bits: 2 to 6 % faster).
 * VEC_TABLE_ROWS are those of the table in place of the first round of AES, in columns where an instruction can pick
 * one: at 256 bits the table without is 5 % faster.
 * VEC_GCM_AHEAD is how far ahead of itself a long run asks the caches for its input: what a second level of 2 MB almost
 * holds, a message of 1 MiB and its output, gains 5 % at 512 bits; the others gain nothing or lose 5 %.
 */

#if VEC_BYTES == 16

#define VEC_GHASH_STEP 1
#define VEC_KARATSUBA 1
#define VEC_GCM_BATCH 8
#define VEC_GCM_ENC_GROUP 4
#define VEC_GCM_DEC_GROUP 5
#define VEC_HOLDS_BATCH 0
#define VEC_TABLE_ROWS 64
#define VEC_GCM_AHEAD 0
#define VEC_IN_REGISTER(v) "+x"(v)
typedef __m128i vec;
#define vec_load(p) _mm_loadu_si128((const __m128i *)(p))
#define vec_store(p, v) _mm_storeu_si128((__m128i *)(p), v)
#define vec_store_nt(p, v) _mm_stream_si128((__m128i *)(p), v)
#define vec_xor(a, b) _mm_xor_si128(a, b)
#define vec_and(a, b) _mm_and_si128(a, b)
#define vec_xor3(a, b, c) _mm_xor_si128(_mm_xor_si128(a, b), c)
#define vec_add32(a, b) _mm_add_epi32(a, b)
#define vec_shuffle_bytes(v, i) _mm_shuffle_epi8(v, i)
#define vec_swap_halves(v) _mm_shuffle_epi32(v, 0x4e)
#define vec_aesenc(s, k) _mm_aesenc_si128(s, k)
#define vec_aesenclast(s, k) _mm_aesenclast_si128(s, k)
#define vec_xor_column(v, p) _mm_xor_si128(v, block_load_word(p))
#define vec_aesdec(s, k) _mm_aesdec_si128(s, k)
#define vec_aesdeclast(s, k) _mm_aesdeclast_si128(s, k)
#define vec_clmul(a, b, halves) _mm_clmulepi64_si128(a, b, halves)
#define vec_zero() _mm_setzero_si128()
#define vec_zero_upper() (void)0
#define vec_each_block(b) (b)
#define vec_first_block(b) (b)
#define vec_sum_blocks(v) (v)
#define vec_low_block(v) (v)
#define vec_block_indices() _mm_setzero_si128()
#define vec_block_indices_high() _mm_setzero_si128()
#define vec_pick_block(v, i) ((void)(i), (v))
#define vec_last_block(v) (v)
#define vec_join_low(a, b, n) ((void)(n), (void)(b), (a))
#define vec_shift_in(b, v) ((void)(v), (b))
#define vec_load_some(p, n) block_load_some(p, n)
#define vec_store_some(p, v, n) block_store_some(p, v, n)
#define vec_keep(v, n) _mm_and_si128(v, _mm_loadu_si128((const __m128i *)(vec_mask_bytes + 32 - (n))))

#elif VEC_BYTES == 32

#define VEC_GHASH_STEP 1
#define VEC_GCM_BATCH 8
#define VEC_GCM_ENC_GROUP 4
#define VEC_GCM_DEC_GROUP 5
#define VEC_HOLDS_BATCH 0
#define VEC_TABLE_ROWS 256
#define VEC_GCM_AHEAD 0
#define VEC_IN_REGISTER(v) "+x"(v)
typedef __m256i vec;
#define vec_load(p) _mm256_loadu_si256((const __m256i *)(p))
#define vec_store(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define vec_store_nt(p, v) _mm256_stream_si256((__m256i *)(p), v)
#define vec_xor(a, b) _mm256_xor_si256(a, b)
#define vec_and(a, b) _mm256_and_si256(a, b)
#define vec_xor3(a, b, c) _mm256_xor_si256(_mm256_xor_si256(a, b), c)
#define vec_add32(a, b) _mm256_add_epi32(a, b)
#define vec_shuffle_bytes(v, i) _mm256_shuffle_epi8(v, i)
#define vec_swap_halves(v) _mm256_shuffle_epi32(v, 0x4e)
#define vec_aesenc(s, k) _mm256_aesenc_epi128(s, k)
#define vec_aesenclast(s, k) _mm256_aesenclast_epi128(s, k)
#define vec_xor_column(v, p) _mm256_xor_si256(v, vec_load(p))
#define vec_aesdec(s, k) _mm256_aesdec_epi128(s, k)
#define vec_aesdeclast(s, k) _mm256_aesdeclast_epi128(s, k)
#define vec_clmul(a, b, halves) _mm256_clmulepi64_epi128(a, b, halves)
#define vec_zero() _mm256_setzero_si256()
#define vec_zero_upper() _mm256_zeroupper()
#define vec_each_block(b) _mm256_broadcastsi128_si256(b)
#define vec_first_block(b) _mm256_zextsi128_si256(b)
#define vec_low_block(v) _mm256_castsi256_si128(v)
#define vec_sum_blocks(v) _mm_xor_si128(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1))
#define vec_block_indices() _mm256_set_epi32(0, 0, 0, 1, 0, 0, 0, 0)
#define vec_block_indices_high() _mm256_set_epi32(1 << 24, 0, 0, 0, 0, 0, 0, 0)
#define vec_pick_block(v, i) ((i) ? _mm256_extracti128_si256(v, 1) : _mm256_castsi256_si128(v))
#define vec_last_block(v) _mm256_extracti128_si256(v, 1)
/* The first n blocks of a, then those of b. */
#define vec_join_low(a, b, n) ((void)(n), _mm256_permute2x128_si256(a, b, 0x20))
/* The blocks of v moved up by one, b in front. */
#define vec_shift_in(b, v) _mm256_permute2x128_si256(_mm256_castsi128_si256(b), v, 0x20)
#define vec_keep(v, n) _mm256_and_si256(v, _mm256_loadu_si256((const __m256i *)(vec_mask_bytes + 32 - (n))))

VEC_INLINE vec vec_load_some(const uint8_t *p, size_t n)
{
    if (n <= 16)
        return vec_first_block(block_load_some(p, n));
    return _mm256_inserti128_si256(vec_first_block(block_load(p)), block_load_some(p + 16, n - 16), 1);
}

VEC_INLINE void vec_store_some(uint8_t *p, vec v, size_t n)
{
    if (n <= 16) {
        block_store_some(p, _mm256_castsi256_si128(v), n);
    } else {
        block_store(p, _mm256_castsi256_si128(v));
        block_store_some(p + 16, vec_last_block(v), n - 16);
    }
}

#elif VEC_BYTES == 64

#define VEC_GHASH_STEP 2
#define VEC_KARATSUBA 0
#define VEC_GCM_BATCH 4
#define VEC_GCM_ENC_GROUP 3
#define VEC_GCM_DEC_GROUP 8
#define VEC_HOLDS_BATCH 1
#define VEC_TABLE_ROWS 64
#define VEC_GCM_AHEAD 2048
#define VEC_IN_REGISTER(v) "+v"(v)
typedef __m512i vec;
#define vec_load(p) _mm512_loadu_si512(p)
#define vec_store(p, v) _mm512_storeu_si512(p, v)
#define vec_store_nt(p, v) _mm512_stream_si512((void *)(p), v)
#define vec_xor(a, b) _mm512_xor_si512(a, b)
#define vec_and(a, b) _mm512_and_si512(a, b)
#define vec_xor3(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0x96)
#define vec_add32(a, b) _mm512_add_epi32(a, b)
#define vec_shuffle_bytes(v, i) _mm512_shuffle_epi8(v, i)
#define vec_swap_halves(v) _mm512_shuffle_epi32(v, (_MM_PERM_ENUM)0x4e)
#define vec_aesenc(s, k) _mm512_aesenc_epi128(s, k)
#define vec_aesenclast(s, k) _mm512_aesenclast_epi128(s, k)
#define vec_xor_column(v, p) _mm512_mask_xor_epi32(v, 0x1111, v, vec_load(p))
#define vec_aesdec(s, k) _mm512_aesdec_epi128(s, k)
#define vec_aesdeclast(s, k) _mm512_aesdeclast_epi128(s, k)
#define vec_clmul(a, b, halves) _mm512_clmulepi64_epi128(a, b, halves)
#define vec_zero() _mm512_setzero_si512()
#define vec_zero_upper() _mm256_zeroupper()
#define vec_each_block(b) _mm512_broadcast_i32x4(b)
#define vec_first_block(b) _mm512_zextsi128_si512(b)
#define vec_block_indices() _mm512_set_epi32(0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0)
#define vec_block_indices_high() _mm512_set_epi32(3 << 24, 0, 0, 0, 2 << 24, 0, 0, 0, 1 << 24, 0, 0, 0, 0, 0, 0, 0)
#define vec_low_block(v) _mm512_castsi512_si128(v)
#define vec_last_block(v) _mm512_extracti32x4_epi32(v, 3)
#define vec_join_low(a, b, n) \
    ((n) == 1 ? _mm512_inserti32x4(a, _mm512_castsi512_si128(b), 1) : _mm512_shuffle_i64x2(a, b, 0x44))
#define vec_shift_in(b, v) _mm512_alignr_epi64(v, vec_each_block(b), 6)
/* Bytes past n are neither read nor written, and raise no fault. */
#define vec_mask(n) ((__mmask64)(UINT64_MAX >> (64 - (n))))
#define vec_keep(v, n) _mm512_maskz_mov_epi8(vec_mask(n), v)

/* A masked store is never forwarded to a load that follows, so whole vectors go without. */
VEC_INLINE vec vec_load_some(const uint8_t *p, size_t n)
{
    return n == 64 ? vec_load(p) : _mm512_maskz_loadu_epi8(vec_mask(n), p);
}

VEC_INLINE void vec_store_some(uint8_t *p, vec v, size_t n)
{
    if (n == 64)
        vec_store(p, v);
    else
        _mm512_mask_storeu_epi8(p, vec_mask(n), v);
}

VEC_INLINE __m128i vec_sum_blocks(vec v)
{
    __m256i half = _mm256_xor_si256(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));

    return _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

VEC_INLINE __m128i vec_pick_block(vec v, size_t i)
{
    const __m512i quads =
        _mm512_add_epi64(_mm512_set1_epi64((long long)(2 * i)), _mm512_set_epi64(1, 0, 1, 0, 1, 0, 1, 0));

    return _mm512_castsi512_si128(_mm512_permutexvar_epi64(quads, v));
}

#endif

/*
 * The value is complete here, and what is settled after it comes after it. Compilers that know xor to be associative
 * would rather keep all products until the end, in memory, than add each as it comes; and they gather what the source
 * weaves. Costs no instruction.
 */
#define vec_settle(v) __asm__ volatile("" : VEC_IN_REGISTER(v))

/* Whether a run from memory may be written past the caches, where a line is not read before it is overwritten. */
VEC_INLINE int vec_may_store_nt(const uint8_t *out, const uint8_t *in)
{
    return out != in && (uintptr_t)out % 64 == 0;
}

/* nt: past the caches; p is then aligned to a vector. */
VEC_INLINE void vec_store_either(uint8_t *p, vec v, const int nt)
{
    if (nt)
        vec_store_nt(p, v);
    else
        vec_store(p, v);
}

VEC_INLINE vec vec_round_key(const struct aesop_aes_key *key, uint32_t round)
{
    return vec_each_block(block_round_key(key, round));
}

/* Reverses the bytes of each block. */
VEC_INLINE vec vec_reverse(vec v)
{
    return vec_shuffle_bytes(v, vec_each_block(_mm_set_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f)));
}

#endif
