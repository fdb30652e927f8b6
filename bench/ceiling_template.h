/* SPDX-License-Identifier: Apache-2.0 */
/* See ceiling.h. The includer defines VEC_BYTES, VEC_TARGET and KERNEL(name), as for the kernels themselves. */
#include "bench/ceiling.h"
#include "ciphers/cpu.h"
#include "ciphers/vec.h"

/* Enough in flight for any latency and throughput that has been built. */
#define LANES 12
#define MIX_VECTORS 8

/* Values that the compiler must compute, one after the other, and knows nothing about. */
#define SETTLE_ALL(v, n) \
    UNROLL \
    for (int lane_ = 0; lane_ < (n); lane_++) \
    vec_settle((v)[lane_])

enum instructions { AESENC, CLMUL, AESENC_AND_CLMUL };

/* CEILING_INSTRUCTIONS in LANES of which none waits for another; a mix has two AESENC to one multiplication. */
VEC_INLINE void independent(void *buffer, const enum instructions which)
{
    const vec k = vec_load(buffer);
    vec v[LANES];

    UNROLL
    for (int i = 0; i < LANES; i++)
        v[i] = vec_load((uint8_t *)buffer + i);
    for (int done = 0; done < CEILING_INSTRUCTIONS; done += LANES) {
        UNROLL
        for (int i = 0; i < LANES; i++) {
            const int multiply = which == CLMUL || (which == AESENC_AND_CLMUL && i % 3 == 2);

            v[i] = multiply ? vec_clmul(v[i], k, 0x00) : vec_aesenc(v[i], k);
        }
        SETTLE_ALL(v, LANES);
    }
    UNROLL
    for (int i = 1; i < LANES; i++)
        v[0] = vec_xor(v[0], v[i]);
    vec_store(buffer, v[0]);
}

static VEC_TARGET void KERNEL(aesenc)(void *buffer)
{
    independent(buffer, AESENC);
}

static VEC_TARGET void KERNEL(clmul)(void *buffer)
{
    independent(buffer, CLMUL);
}

static VEC_TARGET void KERNEL(aesenc_clmul)(void *buffer)
{
    independent(buffer, AESENC_AND_CLMUL);
}

static VEC_TARGET void KERNEL(aesenc_latency)(void *buffer)
{
    const vec k = vec_load(buffer);
    vec v = k;

    for (int done = 0; done < CEILING_INSTRUCTIONS; done += LANES) {
        UNROLL
        for (int i = 0; i < LANES; i++)
            v = vec_aesenc(v, k);
    }
    vec_store(buffer, v);
}

/* A key whose bytes do not matter. */
struct mix_key {
    _Alignas(64) uint8_t powers[2 * MIX_VECTORS][VEC_BYTES];
    struct aesop_aes_key aes;
};

VEC_INLINE void mix_round(vec s[], const int n, const struct aesop_aes_key *key, uint32_t round, const int decrypt)
{
    const vec k = vec_round_key(key, round);

    UNROLL
    for (int i = 0; i < n; i++)
        s[i] = decrypt ? vec_aesdec(s[i], k) : vec_aesenc(s[i], k);
}

/* Those that longer keys have before the last one. */
VEC_INLINE void mix_longer(vec s[], const int n, const struct aesop_aes_key *key, uint32_t rounds, const int decrypt)
{
    if (rounds == 10)
        return;
    mix_round(s, n, key, 10, decrypt);
    mix_round(s, n, key, 11, decrypt);
    if (rounds == 12)
        return;
    mix_round(s, n, key, 12, decrypt);
    mix_round(s, n, key, 13, decrypt);
}

/* The products of one vector with its power of H, by Karatsuba three, else four. */
VEC_INLINE void mix_multiply(vec product[4], const struct mix_key *key, const uint8_t *in, const int i,
                             const int karatsuba)
{
    const vec data = vec_reverse(vec_load(in + i * VEC_BYTES)), power = vec_load(key->powers[2 * i]);

    product[0] = vec_clmul(data, power, 0x00);
    product[1] = vec_clmul(data, power, 0x11);
    if (karatsuba) {
        const vec folded = vec_xor(data, vec_swap_halves(data));

        product[2] = vec_clmul(folded, vec_load(key->powers[2 * i + 1]), 0x00);
    } else {
        product[2] = vec_clmul(data, power, 0x01);
        product[3] = vec_clmul(data, power, 0x10);
    }
}

/* Adds the products of vector i. */
VEC_INLINE void mix_hash(vec sum[3], const struct mix_key *key, const uint8_t *in, const int i, const int karatsuba)
{
    vec product[4];

    mix_multiply(product, key, in, i, karatsuba);
    UNROLL
    for (int j = 0; j < 3; j++)
        sum[j] = vec_xor(sum[j], product[j]);
    if (!karatsuba)
        sum[2] = vec_xor(sum[2], product[3]);
    SETTLE_ALL(sum, 3);
}

/* Of vectors i and i + 1, which takes one instruction where there is one of three operands. */
VEC_INLINE void mix_hash_two(vec sum[3], const struct mix_key *key, const uint8_t *in, const int i, const int karatsuba)
{
    vec first[4], second[4];

    mix_multiply(first, key, in, i, karatsuba);
    mix_multiply(second, key, in, i + 1, karatsuba);
    UNROLL
    for (int j = 0; j < 3; j++)
        sum[j] = vec_xor3(sum[j], first[j], second[j]);
    if (!karatsuba)
        sum[2] = vec_xor3(sum[2], first[3], second[3]);
    SETTLE_ALL(sum, 3);
}

VEC_INLINE void mix_gcm(uint8_t *out, const uint8_t *in, uint32_t rounds, const int n, const int karatsuba)
{
    static struct mix_key zeros;
    struct mix_key *key = &zeros;
    const vec step = vec_each_block(_mm_set1_epi32(1));
    vec sum[3] = { vec_zero(), vec_zero(), vec_zero() }, counter = step;

    for (size_t at = 0; at < CEILING_TEXT_BYTES; at += n * VEC_BYTES) {
        vec s[MIX_VECTORS];

        BLOCK_FORGET(key);
        UNROLL
        for (int i = 0; i < n; i++) {
            s[i] = vec_xor(counter, vec_round_key(&key->aes, 0));
            counter = vec_add32(counter, step);
        }
        UNROLL
        for (uint32_t r = 1; r < 10; r++) {
            mix_round(s, n, &key->aes, r, 0);
            if (VEC_BYTES < 64 && (int)r <= n)
                mix_hash(sum, key, in + at, (int)r - 1, karatsuba);
            if (VEC_BYTES == 64 && r % 2 == 0 && (int)r <= n)
                mix_hash_two(sum, key, in + at, (int)r - 2, karatsuba);
        }
        mix_longer(s, n, &key->aes, rounds, 0);
        BLOCK_FORGET(in);
        UNROLL
        for (int i = 0; i < n; i++)
            vec_store(out + at + i * VEC_BYTES, vec_aesenclast(s[i], vec_xor(vec_round_key(&key->aes, rounds),
                                                                             vec_load(in + at + i * VEC_BYTES))));
    }
    vec_store(key->powers[0], vec_xor3(sum[0], sum[1], sum[2]));
}

static VEC_TARGET void KERNEL(gcm_four_karatsuba)(uint8_t *out, const uint8_t *in, uint32_t rounds)
{
    mix_gcm(out, in, rounds, 4, 1);
}

static VEC_TARGET void KERNEL(gcm_four_schoolbook)(uint8_t *out, const uint8_t *in, uint32_t rounds)
{
    mix_gcm(out, in, rounds, 4, 0);
}

static VEC_TARGET void KERNEL(gcm_eight_karatsuba)(uint8_t *out, const uint8_t *in, uint32_t rounds)
{
    mix_gcm(out, in, rounds, 8, 1);
}

static VEC_TARGET void KERNEL(gcm_eight_schoolbook)(uint8_t *out, const uint8_t *in, uint32_t rounds)
{
    mix_gcm(out, in, rounds, 8, 0);
}

VEC_INLINE void mix_cbc_dec(uint8_t *out, const uint8_t *in, uint32_t rounds, const int n)
{
    static struct mix_key zeros;
    struct mix_key *key = &zeros;

    for (size_t at = 0; at < CEILING_TEXT_BYTES; at += n * VEC_BYTES) {
        vec s[MIX_VECTORS];

        BLOCK_FORGET(key);
        UNROLL
        for (int i = 0; i < n; i++)
            s[i] = vec_xor(vec_load(in + at + i * VEC_BYTES), vec_round_key(&key->aes, 0));
        UNROLL
        for (uint32_t r = 1; r < 10; r++)
            mix_round(s, n, &key->aes, r, 1);
        mix_longer(s, n, &key->aes, rounds, 1);
        UNROLL
        for (int i = 0; i < n; i++)
            vec_store(out + at + i * VEC_BYTES, vec_aesdeclast(s[i], vec_xor(vec_round_key(&key->aes, rounds),
                                                                             vec_load(in + at + i * VEC_BYTES + 16))));
    }
}

static VEC_TARGET void KERNEL(cbc_dec_four)(uint8_t *out, const uint8_t *in, uint32_t rounds)
{
    mix_cbc_dec(out, in, rounds, 4);
}

static VEC_TARGET void KERNEL(cbc_dec_eight)(uint8_t *out, const uint8_t *in, uint32_t rounds)
{
    mix_cbc_dec(out, in, rounds, 8);
}

const struct ceiling_loops KERNEL(ceiling) = {
    .kernel = CEILING_KERNEL,
    .needs = CEILING_NEEDS,
    .vector_bytes = VEC_BYTES,
    .aesenc = KERNEL(aesenc),
    .aesenc_latency = KERNEL(aesenc_latency),
    .clmul = KERNEL(clmul),
    .aesenc_clmul = KERNEL(aesenc_clmul),
    .gcm = { KERNEL(gcm_four_karatsuba), KERNEL(gcm_eight_karatsuba), KERNEL(gcm_four_schoolbook),
             KERNEL(gcm_eight_schoolbook) },
    .cbc_dec = { KERNEL(cbc_dec_four), KERNEL(cbc_dec_eight) },
};
