/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CBC decryption (SP 800-38A, 6.2) over the vocabulary of vec.h; unlike encryption, blocks do not wait for each other.
 * The includer defines KERNEL(name), which gives a function its instruction set's suffix.
 */
#include "ciphers/dispatch.h"
#include "ciphers/vec.h"

/* Eight vectors in flight hide the latency of AESDEC at every width. */
#define CBC_BATCH 8
/*
 * The CPU takes up the oldest instructions first, so that what is left after a batch waits for it, and is then alone
 * with the latency if it is less than half of one: 528 bytes at 512 bits take 149 cycles by 8 vectors and 1, 128 by 4
 * and 5.
 */
#define CBC_LEAST 4

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
 * Where the i-th of n vectors of a run begins. The last one ends where the run ends, and does blocks of the one before
 * anew: 80 bytes take 22 cycles at 512 bits, by a mask 25. (Two of 256 bits in place of one that is half empty are up
 * to 5 % faster by themselves, but up to 10 % slower through EVP: its code has a use for their second port.)
 */
VEC_INLINE size_t cbc_offset(const int i, const int n, size_t len)
{
    return i < n - 1 ? (size_t)i * VEC_BYTES : len - VEC_BYTES;
}

/* A run of n vectors. Everything is read before anything is written, so that out may equal in. */
VEC_INLINE void cbc_dec_some(const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in, const int n, size_t len,
                             uint8_t iv[16], const int nt)
{
    vec s[CBC_BATCH];

    UNROLL
    for (int i = 0; i < n; i++)
        s[i] = vec_load(in + cbc_offset(i, n, len));
    const vec first_chain = vec_shift_in(block_load(iv), s[0]);

    block_store(iv, block_load(in + len - 16));
    cbc_dec_rounds(key, s, n);

    /* The ciphertext in front of each vector is read anew, to save registers. */
    const vec last_key = vec_round_key(key, key->rounds);
    s[0] = vec_aesdeclast(s[0], vec_xor(last_key, first_chain));
    UNROLL
    for (int i = 1; i < n; i++)
        s[i] = vec_aesdeclast(s[i], vec_xor(last_key, vec_load(in + cbc_offset(i, n, len) - 16)));
    BLOCK_FORGET(out); /* clang would merge the ends of two lengths by way of memory */
    UNROLL
    for (int i = 0; i < n; i++)
        vec_store_either(out + cbc_offset(i, n, len), s[i], nt);
}

static VEC_TARGET void KERNEL(cbc_dec)(const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in, size_t len,
                                       uint8_t iv[16]);

/* More than a batch. Apart from shorter runs, for which registers would be saved for nothing. */
static __attribute__((noinline)) VEC_TARGET void KERNEL(cbc_dec_long)(const struct aesop_aes_key *key, uint8_t *out,
                                                                      const uint8_t *in, size_t len, uint8_t iv[16])
{
    for (; len > (CBC_BATCH + CBC_LEAST) * VEC_BYTES; len -= CBC_BATCH * VEC_BYTES) {
        cbc_dec_some(key, out, in, CBC_BATCH, CBC_BATCH * VEC_BYTES, iv, 0);
        in += CBC_BATCH * VEC_BYTES;
        out += CBC_BATCH * VEC_BYTES;
    }
    if (len > CBC_BATCH * VEC_BYTES) {
        cbc_dec_some(key, out, in, CBC_LEAST, CBC_LEAST * VEC_BYTES, iv, 0);
        in += CBC_LEAST * VEC_BYTES;
        out += CBC_LEAST * VEC_BYTES;
        len -= CBC_LEAST * VEC_BYTES;
    }
    KERNEL(cbc_dec)(key, out, in, len, iv);
}

static VEC_TARGET void KERNEL(cbc_dec)(const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in, size_t len,
                                       uint8_t iv[16])
{
    if (VEC_BLOCKS > 1 && len < VEC_BYTES) {
        aesop_kernels_aesni.cbc_dec(key, out, in, len, iv);
        return;
    }
    if (len > CBC_BATCH * VEC_BYTES) {
        KERNEL(cbc_dec_long)(key, out, in, len, iv);
        return;
    }
    switch ((len + VEC_BYTES - 1) / VEC_BYTES) {
    case 8:
        cbc_dec_some(key, out, in, 8, len, iv, 0);
        break;
    case 7:
        cbc_dec_some(key, out, in, 7, len, iv, 0);
        break;
    case 6:
        cbc_dec_some(key, out, in, 6, len, iv, 0);
        break;
    case 5:
        cbc_dec_some(key, out, in, 5, len, iv, 0);
        break;
    case 4:
        cbc_dec_some(key, out, in, 4, len, iv, 0);
        break;
    case 3:
        cbc_dec_some(key, out, in, 3, len, iv, 0);
        break;
    case 2:
        cbc_dec_some(key, out, in, 2, len, iv, 0);
        break;
    case 1:
        cbc_dec_some(key, out, in, 1, len, iv, 0);
        break;
    }
}

static VEC_TARGET void KERNEL(cbc_dec_nt)(const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in, size_t len,
                                          uint8_t iv[16])
{
    const int nt = vec_may_store_nt(out, in);

    for (; len >= CBC_BATCH * VEC_BYTES; len -= CBC_BATCH * VEC_BYTES) {
        block_prefetch(in, CBC_BATCH * VEC_BYTES);
        cbc_dec_some(key, out, in, CBC_BATCH, CBC_BATCH * VEC_BYTES, iv, nt);
        in += CBC_BATCH * VEC_BYTES;
        out += CBC_BATCH * VEC_BYTES;
    }
    KERNEL(cbc_dec)(key, out, in, len, iv);
    _mm_sfence();
}
