/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a kernel set that gain nothing from wider registers, for any x86-64 CPU with AES-NI. */
#ifndef AESOP_CIPHERS_KEYSCHED_H
#define AESOP_CIPHERS_KEYSCHED_H

#include "ciphers/kernels.h"

/* See struct aesop_kernels. */
void aesop_aes_expand_enc_aesni(struct aesop_aes_key *key, const uint8_t *user_key, size_t key_bytes);
void aesop_aes_expand_dec_aesni(struct aesop_aes_key *key, const uint8_t *user_key, size_t key_bytes);
void aesop_aes_enc_block_aesni(const struct aesop_aes_key *key, uint8_t out[16], const uint8_t in[16]);
void aesop_gcm_expand_aesni(struct aesop_gcm_key *key, const uint8_t *user_key, size_t key_bytes);
void aesop_cbc_enc_aesni(const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in, size_t len, uint8_t iv[16]);

#endif
