/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CBC encryption: SP 800-38A, 6.2. Each block waits for the one before it, so that the latency of AESENC times the rounds
 * is the speed of one stream, whatever the width of registers.
 */
#if defined(__x86_64__)

#define VEC_TARGET __attribute__((target("aes,sse4.1,ssse3")))
#include "ciphers/block.h"
#include "ciphers/keysched.h"

VEC_TARGET void aesop_cbc_enc_aesni(const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in, size_t len,
                                    uint8_t iv[16])
{
    __m128i c = block_load(iv);

    for (size_t at = 0; at < len; at += 16) {
        /* The first round key joins the plaintext, off the chain. */
        __m128i p = _mm_xor_si128(block_load(in + at), block_round_key(key, 0));

        c = block_encrypt_rounds(key, _mm_xor_si128(c, p));
        block_store(out + at, c);
    }
    block_store(iv, c);
}

#else
typedef int aesop_cbc_enc_needs_x86_64; /* ISO C wants a declaration in every file */
#endif
