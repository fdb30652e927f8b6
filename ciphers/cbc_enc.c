/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CBC encryption: SP 800-38A, 6.2. Each block waits for the one before it, so that the latency of AESENC times the
 * rounds is the speed of one stream, whatever the width of registers.
 */
#if defined(__x86_64__)

#define VEC_TARGET __attribute__((target("aes,sse4.1,ssse3")))
#include "ciphers/block.h"
#include "ciphers/keysched.h"

/*
 * The next block's plaintext and the first round key are added together with the last round key, so that the chain
 * from block to block is AESENC alone; the ciphertext is put right beside it.
 */
VEC_TARGET void aesop_cbc_enc_aesni(const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in, size_t len,
                                    uint8_t iv[16])
{
    const __m128i first_key = block_round_key(key, 0), last_key = block_round_key(key, key->rounds);

    if (len == 0)
        return;
    __m128i s = _mm_xor_si128(block_load(iv), _mm_xor_si128(block_load(in), first_key));
    for (; len > 16; len -= 16) {
        const __m128i next = _mm_xor_si128(block_load(in + 16), first_key);

        s = _mm_aesenclast_si128(block_encrypt_middle(key, s), _mm_xor_si128(last_key, next));
        block_store(out, _mm_xor_si128(s, next));
        in += 16;
        out += 16;
    }
    s = _mm_aesenclast_si128(block_encrypt_middle(key, s), last_key);
    block_store(out, s);
    block_store(iv, s);
}

#else
typedef int aesop_cbc_enc_needs_x86_64; /* ISO C wants a declaration in every file */
#endif
