/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts payloads of any length into the runs that kernels are fastest and correct for. */
#ifndef AESOP_CIPHERS_CHUNK_H
#define AESOP_CIPHERS_CHUNK_H

#include "ciphers/kernels.h"

/*
 * What no cache would keep until it is read need not go through one: reading every line of the output before it is
 * written, as caches do, then takes a third of what memory can move. Measured at 30 MB: CBC decryption 8.2 to 12.3 GB/s.
 */
#define AESOP_NT_BYTES ((size_t)16 << 20)

/* Chosen once, when the provider loads; read-only from then on. */
struct aesop_dispatch {
    const struct aesop_kernels *kernels;
    const struct aesop_kernels *narrow; /* serves short runs; may be the same */
    size_t chunk;                       /* bytes of the longest run, a multiple of 4096 */
    size_t nt_bytes;                    /* calls of so many bytes and more go past the caches */
};

/* One GCM message. Contains no pointer: may be copied as bytes. */
struct aesop_gcm {
    struct aesop_gcm_key key;
    struct aesop_gcm_state state;
    uint64_t aad_bytes, text_bytes;
};

/* SP 800-38D, 5.2.1.1 */
#define AESOP_GCM_MAX_TEXT_BYTES ((UINT64_C(1) << 36) - 32)
#define AESOP_GCM_MAX_AAD_BYTES ((UINT64_C(1) << 61) - 1)

void aesop_gcm_set_key(const struct aesop_dispatch *d, struct aesop_gcm *gcm, const uint8_t *key, size_t key_bytes);
/* Starts a message: J0 from the iv (iv_len >= 1), lengths zero. */
void aesop_gcm_start(const struct aesop_dispatch *d, struct aesop_gcm *gcm, const uint8_t *iv, size_t iv_len);
/* These return 0, with nothing done, where the message would exceed its limit. aad after text is the caller's fault. */
int aesop_gcm_aad(const struct aesop_dispatch *d, struct aesop_gcm *gcm, const uint8_t *aad, size_t len);
int aesop_gcm_encrypt(const struct aesop_dispatch *d, struct aesop_gcm *gcm, uint8_t *out, const uint8_t *in,
                      size_t len);
int aesop_gcm_decrypt(const struct aesop_dispatch *d, struct aesop_gcm *gcm, uint8_t *out, const uint8_t *in,
                      size_t len);
/* The full 16-byte tag. The message is over. */
void aesop_gcm_tag(const struct aesop_dispatch *d, struct aesop_gcm *gcm, uint8_t tag[16]);

/*
 * CBC over len bytes, a multiple of 16; iv is replaced by the last ciphertext block. out may equal in or overlap it
 * in any way.
 */
void aesop_cbc_encrypt(const struct aesop_dispatch *d, const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in,
                       size_t len, uint8_t iv[16]);
void aesop_cbc_decrypt(const struct aesop_dispatch *d, const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in,
                       size_t len, uint8_t iv[16]);

#endif
