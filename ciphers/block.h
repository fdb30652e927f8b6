/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One AES block in a 128-bit register: what the key schedule, CBC encryption and the edges of the wide kernels share.
 * The includer defines VEC_TARGET, the target attribute that all its code is compiled for.
 */
#ifndef AESOP_CIPHERS_BLOCK_H
#define AESOP_CIPHERS_BLOCK_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ciphers/kernels.h"

/* Before a loop of few rounds: without it, what is meant for registers goes through memory, 7 times slower. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Makes the compiler forget what it has read through a pointer. Costs no instruction. */
#define BLOCK_FORGET(p) __asm__("" : "+r"(p))

#define VEC_INLINE static inline __attribute__((always_inline)) VEC_TARGET

/*
 * Asks memory for what a run reads later, as many bytes as it reads now: a share of each of the next four pages in
 * turn. The CPU's own prefetching starts anew in each page; so it is at work in four, and that early. The end of a run
 * is not looked at: the payload most often goes on there, and asking for what is not there does nothing.
 */
#define BLOCK_PAGE_BYTES 4096
#define BLOCK_PAGES_AHEAD 4
VEC_INLINE void block_prefetch(const uint8_t *in, const int bytes)
{
    const uintptr_t group = (uintptr_t)in & ~(uintptr_t)(BLOCK_PAGES_AHEAD * BLOCK_PAGE_BYTES - 1);
    const uintptr_t turn = ((uintptr_t)in - group) / (unsigned)bytes;
    const uintptr_t page = group + (BLOCK_PAGES_AHEAD + turn % BLOCK_PAGES_AHEAD) * BLOCK_PAGE_BYTES;
    const uintptr_t ahead = page + turn / BLOCK_PAGES_AHEAD * (unsigned)bytes;

    UNROLL
    for (int i = 0; i < bytes; i += 64)
        _mm_prefetch((const char *)ahead + i, _MM_HINT_T1);
}

/* Asks the caches for what a run of len bytes reads `ahead` bytes on, as many as it reads now. */
VEC_INLINE void block_prefetch_near(const uint8_t *in, size_t len, const int bytes, const int ahead)
{
    if (len < (size_t)(ahead + bytes))
        return;
    UNROLL
    for (int i = 0; i < bytes; i += 64)
        _mm_prefetch((const char *)in + ahead + i, _MM_HINT_T0);
}

VEC_INLINE __m128i block_load(const void *p)
{
    return _mm_loadu_si128(p);
}

VEC_INLINE void block_store(void *p, __m128i b)
{
    _mm_storeu_si128(p, b);
}

VEC_INLINE __m128i block_round_key(const struct aesop_aes_key *key, uint32_t round)
{
    return _mm_load_si128((const __m128i *)key->round_keys[round]);
}

/* The first n bytes of a block, 1 <= n <= 16, zeros behind them; in registers, so that nothing stays on the stack. */
VEC_INLINE __m128i block_load_some(const uint8_t *p, size_t n)
{
    uint64_t low = 0, high = 0;

    if (n == 16)
        return block_load(p);
    if (n >= 8) {
        memcpy(&low, p, 8);
        if (n > 8) {
            memcpy(&high, p + n - 8, 8);
            high >>= 8 * (16 - n);
        }
    } else if (n >= 4) {
        uint32_t first, last;

        memcpy(&first, p, 4);
        memcpy(&last, p + n - 4, 4);
        low = first | (uint64_t)last << 8 * (n - 4);
    } else {
        low = p[0] | (uint64_t)p[n >> 1] << 8 * (n >> 1) | (uint64_t)p[n - 1] << 8 * (n - 1);
    }
    return _mm_set_epi64x((long long)high, (long long)low);
}

/* 4 bytes, zeros behind them. */
VEC_INLINE __m128i block_load_word(const uint8_t *p)
{
    int word;

    memcpy(&word, p, sizeof word);
    return _mm_cvtsi32_si128(word);
}

/* The low 32 bits of a counter block, which are big-endian. */
VEC_INLINE uint32_t block_number(const uint8_t counter[16])
{
    uint32_t word;

    memcpy(&word, counter + 12, sizeof word);
    return __builtin_bswap32(word);
}

VEC_INLINE void block_set_number(uint8_t counter[16], uint32_t number)
{
    number = __builtin_bswap32(number);
    memcpy(counter + 12, &number, sizeof number);
}

/* 12 bytes in words as they are most often written: a load across two fresh stores would wait for both to leave. */
VEC_INLINE __m128i block_load_iv(const uint8_t *p)
{
    return _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)p), block_load_word(p + 8));
}

VEC_INLINE void block_store_some(uint8_t *p, __m128i b, size_t n)
{
    if (n == 16) {
        block_store(p, b);
        return;
    }
    uint64_t word = (uint64_t)_mm_cvtsi128_si64(b);
    if (n >= 8) {
        memcpy(p, &word, 8);
        p += 8;
        n -= 8;
        word = (uint64_t)_mm_extract_epi64(b, 1);
    }
    if (n & 4) {
        memcpy(p, &word, 4);
        p += 4;
        word >>= 32;
    }
    if (n & 2) {
        memcpy(p, &word, 2);
        p += 2;
        word >>= 16;
    }
    if (n & 1)
        *p = (uint8_t)word;
}

/* Reverses the bytes of a block: GCM counts and multiplies big-endian, the CPU little-endian. */
VEC_INLINE __m128i block_reverse(__m128i b)
{
    return _mm_shuffle_epi8(b, _mm_set_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f));
}

VEC_INLINE __m128i block_swap_halves(__m128i b)
{
    return _mm_shuffle_epi32(b, 0x4e);
}

/* All rounds of AES but the first key and the last round. Keys come from memory, never by way of the stack. */
VEC_INLINE __m128i block_encrypt_middle(const struct aesop_aes_key *key, __m128i b)
{
    UNROLL
    for (uint32_t r = 1; r < 10; r++)
        b = _mm_aesenc_si128(b, block_round_key(key, r));
    for (uint32_t r = 10; r < key->rounds; r++)
        b = _mm_aesenc_si128(b, block_round_key(key, r));
    return b;
}

VEC_INLINE __m128i block_encrypt(const struct aesop_aes_key *key, __m128i b)
{
    b = block_encrypt_middle(key, _mm_xor_si128(b, block_round_key(key, 0)));
    return _mm_aesenclast_si128(b, block_round_key(key, key->rounds));
}

#endif
