/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CBC decryption (SP 800-38A, 6.2) over the vocabulary of vec.h; unlike encryption, blocks do not wait for each other.
 * The includer defines KERNEL(name), which gives a function its instruction set's suffix.
 */
#include "ciphers/vec.h"

/* Eight vectors in flight hide the latency of AESDEC at every width. */
#define CBC_BATCH 8

VEC_INLINE void aes_dec_round(const struct aesop_aes_key *key, uint32_t round, vec s[], const int n)
{
    const vec k = vec_round_key(key, round);

    UNROLL
    for (int i = 0; i < n; i++)
        s[i] = vec_aesdec(s[i], k);
}

/* The state of n vectors after all rounds but the last, in place. */
VEC_INLINE void cbc_dec_rounds(const struct aesop_aes_key *key, vec s[], const int n)
{
    const vec whitening = vec_round_key(key, 0);

    UNROLL
    for (int i = 0; i < n; i++)
        s[i] = vec_xor(s[i], whitening);
    UNROLL
    for (uint32_t r = 1; r < 10; r++)
        aes_dec_round(key, r, s, n);
    if (key->rounds == 10)
        return;
    aes_dec_round(key, 10, s, n);
    aes_dec_round(key, 11, s, n);
    if (key->rounds == 12)
        return;
    aes_dec_round(key, 12, s, n);
    aes_dec_round(key, 13, s, n);
}

/*
 * n vectors, the last of them of last_bytes. `previous` is the ciphertext block before them; the last one of them is
 * returned. Everything is read before anything is written, so that out may equal in.
 */
VEC_INLINE __m128i cbc_dec_some(const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in, const int n,
                                size_t last_bytes, __m128i previous)
{
    const vec last_key = vec_round_key(key, key->rounds);
    vec s[4], chain[4];

    UNROLL
    for (int i = 0; i < n; i++) {
        s[i] = i < n - 1 ? vec_load(in + i * VEC_BYTES) : vec_load_some(in + i * VEC_BYTES, last_bytes);
        chain[i] = vec_xor(last_key, vec_shift_in(previous, s[i]));
        previous = i < n - 1 ? vec_last_block(s[i]) : vec_pick_block(s[i], last_bytes / 16 - 1);
    }
    cbc_dec_rounds(key, s, n);
    UNROLL
    for (int i = 0; i < n; i++) {
        s[i] = vec_aesdeclast(s[i], chain[i]);
        if (i < n - 1)
            vec_store(out + i * VEC_BYTES, s[i]);
        else
            vec_store_some(out + i * VEC_BYTES, s[i], last_bytes);
    }
    return previous;
}

VEC_INLINE void cbc_dec(const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in, size_t len, uint8_t iv[16],
                        const int far)
{
    const int nt = far && vec_may_store_nt(out, in);
    __m128i previous = block_load(iv);

    for (; len >= CBC_BATCH * VEC_BYTES; len -= CBC_BATCH * VEC_BYTES) {
        vec s[CBC_BATCH];

        if (far)
            block_prefetch(in, CBC_BATCH * VEC_BYTES);
        UNROLL
        for (int i = 0; i < CBC_BATCH; i++)
            s[i] = vec_load(in + i * VEC_BYTES);
        const vec first_chain = vec_shift_in(previous, s[0]);

        previous = block_load(in + CBC_BATCH * VEC_BYTES - 16);
        cbc_dec_rounds(key, s, CBC_BATCH);

        /* The ciphertext in front of each vector is read anew, to save registers, and before anything is written. */
        const vec last_key = vec_round_key(key, key->rounds);
        s[0] = vec_aesdeclast(s[0], vec_xor(last_key, first_chain));
        UNROLL
        for (int i = 1; i < CBC_BATCH; i++)
            s[i] = vec_aesdeclast(s[i], vec_xor(last_key, vec_load(in + i * VEC_BYTES - 16)));
        UNROLL
        for (int i = 0; i < CBC_BATCH; i++)
            vec_store_either(out + i * VEC_BYTES, s[i], nt);
        in += CBC_BATCH * VEC_BYTES;
        out += CBC_BATCH * VEC_BYTES;
    }
    if (len >= 4 * VEC_BYTES) {
        previous = cbc_dec_some(key, out, in, 4, VEC_BYTES, previous);
        in += 4 * VEC_BYTES;
        out += 4 * VEC_BYTES;
        len -= 4 * VEC_BYTES;
    }
    switch ((len + VEC_BYTES - 1) / VEC_BYTES) {
    case 4:
        previous = cbc_dec_some(key, out, in, 4, len - 3 * VEC_BYTES, previous);
        break;
    case 3:
        previous = cbc_dec_some(key, out, in, 3, len - 2 * VEC_BYTES, previous);
        break;
    case 2:
        previous = cbc_dec_some(key, out, in, 2, len - 1 * VEC_BYTES, previous);
        break;
    case 1:
        previous = cbc_dec_some(key, out, in, 1, len, previous);
        break;
    }
    block_store(iv, previous);
}

static VEC_TARGET void KERNEL(cbc_dec)(const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in, size_t len,
                                       uint8_t iv[16])
{
    cbc_dec(key, out, in, len, iv, 0);
}

static VEC_TARGET void KERNEL(cbc_dec_nt)(const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in, size_t len,
                                          uint8_t iv[16])
{
    cbc_dec(key, out, in, len, iv, 1);
    _mm_sfence();
}
