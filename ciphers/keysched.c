/* SPDX-License-Identifier: Apache-2.0 */
/* The AES key schedule (FIPS 197, 5.2) and single blocks. */
#if defined(__x86_64__)

#define VEC_TARGET __attribute__((target("aes,sse4.1,ssse3")))
#include "ciphers/block.h"
#include "ciphers/keysched.h"

/* Byte indices that put a word into all four columns: the last word of a key, with or without RotWord. */
#define EACH_COLUMN(b0, b1, b2, b3) \
    _mm_set1_epi32((int)((uint32_t)(b3) << 24 | (uint32_t)(b2) << 16 | (uint32_t)(b1) << 8 | (uint32_t)(b0)))

/*
 * SubWord(the word that `columns` selects) ^ rcon in every column. With all columns equal ShiftRows changes nothing, so
 * AESENCLAST is SubWord here: 3 to 4 cycles where AESKEYGENASSIST, microcoded on Intel, takes 12.
 */
VEC_INLINE __m128i sub_word(__m128i key, __m128i columns, int rcon)
{
    return _mm_aesenclast_si128(_mm_shuffle_epi8(key, columns), _mm_set1_epi32(rcon));
}

/* Word i becomes the xor of words 0..i, all xored with t: the chain w[i] = w[i - 1] ^ w[i - Nk] of one round key. */
VEC_INLINE __m128i chain_words(__m128i key, __m128i t)
{
    key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
    key = _mm_xor_si128(key, _mm_slli_si128(key, 8));
    return _mm_xor_si128(key, t);
}

/*
 * Returns zero encrypted, GCM's hash key, which goes through its rounds as their keys appear. Who has no use for it
 * does not pay: the compiler drops it.
 */
VEC_INLINE __m128i expand_128(struct aesop_aes_key *key, const uint8_t *user_key)
{
    const __m128i rotated = EACH_COLUMN(13, 14, 15, 12);
    static const uint8_t rcon[] = { 0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36 };
    __m128i k = block_load(user_key), zero = k;

    block_store(key->round_keys[0], k);
    UNROLL
    for (int r = 1; r <= 10; r++) {
        k = chain_words(k, sub_word(k, rotated, rcon[r - 1]));
        block_store(key->round_keys[r], k);
        zero = r < 10 ? _mm_aesenc_si128(zero, k) : _mm_aesenclast_si128(zero, k);
    }
    return zero;
}

/* Six words a step: four in `low`, two in the low half of `high`. Round keys are cut from the stream of words. */
VEC_INLINE void expand_192(struct aesop_aes_key *key, const uint8_t *user_key)
{
    const __m128i rotated = EACH_COLUMN(5, 6, 7, 4);
    uint8_t *words = key->round_keys[0];
    __m128i low = block_load(user_key), high = _mm_loadl_epi64((const __m128i *)(user_key + 16));

    for (int step = 0; step < 8; step++) {
        block_store(words + 24 * step, low);
        _mm_storel_epi64((__m128i *)(words + 24 * step + 16), high);
        low = chain_words(low, sub_word(high, rotated, 1 << step));
        high = _mm_xor_si128(high, _mm_slli_si128(high, 4));
        high = _mm_xor_si128(high, _mm_shuffle_epi32(low, 0xff));
    }
    block_store(words + 24 * 8, low);
}

VEC_INLINE __m128i expand_256(struct aesop_aes_key *key, const uint8_t *user_key)
{
    const __m128i rotated = EACH_COLUMN(13, 14, 15, 12), plain = EACH_COLUMN(12, 13, 14, 15);
    __m128i even = block_load(user_key), odd = block_load(user_key + 16), zero = _mm_aesenc_si128(even, odd);

    block_store(key->round_keys[0], even);
    block_store(key->round_keys[1], odd);
    UNROLL
    for (int i = 0; i < 7; i++) {
        even = chain_words(even, sub_word(odd, rotated, 1 << i));
        block_store(key->round_keys[2 * i + 2], even);
        if (i == 6)
            break;
        zero = _mm_aesenc_si128(zero, even);
        odd = chain_words(odd, sub_word(even, plain, 0));
        block_store(key->round_keys[2 * i + 3], odd);
        zero = _mm_aesenc_si128(zero, odd);
    }
    return _mm_aesenclast_si128(zero, even);
}

VEC_INLINE __m128i expand(struct aesop_aes_key *key, const uint8_t *user_key, size_t key_bytes)
{
    key->rounds = (uint32_t)key_bytes / 4 + 6;
    if (key_bytes == 16)
        return expand_128(key, user_key);
    if (key_bytes == 32)
        return expand_256(key, user_key);
    expand_192(key, user_key);
    return block_encrypt(key, _mm_setzero_si128());
}

VEC_TARGET void aesop_aes_expand_enc_aesni(struct aesop_aes_key *key, const uint8_t *user_key, size_t key_bytes)
{
    expand(key, user_key, key_bytes);
}

/* The equivalent inverse cipher, FIPS 197, 5.3.5: the round keys in reverse, all but the outer ones transformed. */
VEC_TARGET void aesop_aes_expand_dec_aesni(struct aesop_aes_key *key, const uint8_t *user_key, size_t key_bytes)
{
    aesop_aes_expand_enc_aesni(key, user_key, key_bytes);

    uint32_t first = 0, last = key->rounds;
    __m128i a = block_round_key(key, first), b = block_round_key(key, last);

    block_store(key->round_keys[first], b);
    block_store(key->round_keys[last], a);
    for (first++, last--; first < last; first++, last--) {
        a = _mm_aesimc_si128(block_round_key(key, first));
        b = _mm_aesimc_si128(block_round_key(key, last));
        block_store(key->round_keys[first], b);
        block_store(key->round_keys[last], a);
    }
    block_store(key->round_keys[first], _mm_aesimc_si128(block_round_key(key, first)));
}

VEC_TARGET void aesop_aes_enc_block_aesni(const struct aesop_aes_key *key, uint8_t out[16], const uint8_t in[16])
{
    block_store(out, block_encrypt(key, block_load(in)));
}

VEC_TARGET void aesop_gcm_expand_aesni(struct aesop_gcm_key *key, const uint8_t *user_key, size_t key_bytes)
{
    /*
     * Kernels multiply bit-reflected operands, and the product of two reflected polynomials is the reflected product
     * divided by x: H times x, modulo the field's polynomial, makes up for that once for all.
     */
    const __m128i h = block_reverse(expand(&key->aes, user_key, key_bytes));
    const __m128i carries = _mm_slli_si128(_mm_srli_epi64(h, 63), 8);
    const __m128i top_bit = _mm_srai_epi32(_mm_shuffle_epi32(h, 0xff), 31); /* a mask: no branch on H */
    const __m128i modulus = _mm_and_si128(top_bit, _mm_set_epi64x((long long)0xc200000000000000, 1));
    const __m128i hx = _mm_xor_si128(_mm_or_si128(_mm_slli_epi64(h, 1), carries), modulus);

    block_store(key->h[AESOP_GCM_MAX_POWERS - 1], hx);
    block_store(key->h_fold[AESOP_GCM_MAX_FOLDS - 1], _mm_xor_si128(hx, block_swap_halves(hx)));
    key->table_rows = 0;
    for (int i = 0; i < AESOP_GCM_POWERS_SLACK; i++) {
        block_store(key->h[AESOP_GCM_MAX_POWERS + i], _mm_setzero_si128());
        block_store(key->h_fold[AESOP_GCM_MAX_FOLDS + i], _mm_setzero_si128());
    }
    key->powers = 1;
}

#else
typedef int aesop_keysched_needs_x86_64; /* ISO C wants a declaration in every file */
#endif
