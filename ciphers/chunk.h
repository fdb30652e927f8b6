/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts payloads of any length into the runs that kernels are fastest and correct for. */
#ifndef AESOP_CIPHERS_CHUNK_H
#define AESOP_CIPHERS_CHUNK_H

#include "ciphers/kernels.h"

/*
 * What no cache would keep until it is read need not go through one: reading every line of the output before it is
 * written, as caches do, then takes a third of what memory can move. Measured with a third level of 260 MB, CBC
 * decryption: by itself 1.5 times as fast at 16 MiB, twice at 48; with a caller who fills the input and reads the
 * output, all three together are equal at 12 to 20 MiB, 1.2 times as fast at 48, and at 8 a tenth slower.
 */
#define AESOP_NT_BYTES ((size_t)16 << 20)

/* Chosen once, when the provider loads; read-only from then on. */
struct aesop_dispatch {
    const struct aesop_kernels *kernels;
    const struct aesop_kernels *narrow; /* serves short runs; may be the same */
    size_t chunk;                       /* bytes of the longest run, a multiple of 4096 */
    size_t nt_bytes;                    /* calls of so many bytes, in place an eighth, go past the caches */
};

/* One GCM message. Contains no pointer: may be copied as bytes. */
struct aesop_gcm {
    struct aesop_gcm_state state;
    uint64_t aad_bytes, text_bytes;
    struct aesop_gcm_key key; /* at the end: not all of it need be there */
};

/* Bytes of a struct aesop_gcm that these kernels need not have. */
static inline size_t aesop_gcm_spare_bytes(const struct aesop_kernels *kernels)
{
    return (size_t)(AESOP_GCM_MAX_TABLE_ROWS - kernels->table_rows) * AESOP_BLOCK_BYTES;
}

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
/* The full 16-byte tag. The message is over. Returns 1. */
static inline int aesop_gcm_tag(const struct aesop_dispatch *d, const struct aesop_gcm *gcm, uint8_t tag[16])
{
    return d->narrow->gcm_tag(&gcm->key, &gcm->state, tag, gcm->aad_bytes, gcm->text_bytes);
}

/*
 * Almost every message is an IV of 12 bytes, a little associated data, and text in one piece. A message of 16 bytes
 * spends more instructions on being passed on than on AES; so for those there is what follows: the caller asks whether
 * it is usual, and then does it without a call but the kernel's, in which it ends. They return 1.
 *
 * Short runs gain nothing from wide registers and pay for filling and folding them. Measured through whole messages of
 * GCM, 16 bytes with associated data take 25 ns on aesni where vaes512 takes 35.
 */
#define AESOP_GCM_NARROW_BYTES 32

static inline const struct aesop_kernels *aesop_gcm_kernels_for(const struct aesop_dispatch *d, size_t len)
{
    return len <= AESOP_GCM_NARROW_BYTES ? d->narrow : d->kernels;
}

/* What kernels take. */
static inline int aesop_in_place_or_apart(const uint8_t *out, const uint8_t *in, size_t len)
{
    const uintptr_t ahead = (uintptr_t)out - (uintptr_t)in;

    return ahead == 0 || (ahead >= len && 0 - ahead >= len);
}

/* Whether more powers of H would be of no use to a run of len bytes. */
static inline int aesop_gcm_has_powers(const struct aesop_kernels *kernels, const struct aesop_gcm_key *key, size_t len)
{
    return len <= (size_t)key->powers * AESOP_BLOCK_BYTES || key->powers >= kernels->max_powers;
}

static inline int aesop_gcm_start_usual(const struct aesop_dispatch *d, struct aesop_gcm *gcm, const uint8_t iv[12])
{
    gcm->aad_bytes = 0;
    gcm->text_bytes = 0;
    return d->narrow->gcm_start(&gcm->key, &gcm->state, iv, 12);
}

static inline int aesop_gcm_is_usual_aad(const struct aesop_dispatch *d, const struct aesop_gcm *gcm, size_t len)
{
    return gcm->text_bytes == 0 && gcm->aad_bytes == 0 && len - 1 < AESOP_GCM_NARROW_BYTES &&
           aesop_gcm_has_powers(d->narrow, &gcm->key, len);
}

static inline int aesop_gcm_aad_usual(const struct aesop_dispatch *d, struct aesop_gcm *gcm, const uint8_t *aad,
                                      size_t len)
{
    gcm->aad_bytes = len;
    return d->narrow->gcm_hash(&gcm->key, &gcm->state, aad, len);
}

/* Nothing of such a text can fail. */
static inline int aesop_gcm_is_usual_text(const struct aesop_dispatch *d, const struct aesop_gcm *gcm, size_t len)
{
    return gcm->text_bytes == 0 && len - 1 < d->chunk && len < d->nt_bytes;
}

/* Whether it can go to the kernel as it is; aesop_gcm_encrypt or aesop_gcm_decrypt would see to what is missing. */
static inline int aesop_gcm_is_ready(const struct aesop_dispatch *d, const struct aesop_gcm *gcm, const uint8_t *out,
                                     const uint8_t *in, size_t len)
{
    return aesop_gcm_has_powers(aesop_gcm_kernels_for(d, len), &gcm->key, len) && aesop_in_place_or_apart(out, in, len);
}

static inline int aesop_gcm_encrypt_usual(const struct aesop_dispatch *d, struct aesop_gcm *gcm, uint8_t *out,
                                          const uint8_t *in, size_t len)
{
    gcm->text_bytes = len;
    return aesop_gcm_kernels_for(d, len)->gcm_enc(&gcm->key, &gcm->state, out, in, len);
}

static inline int aesop_gcm_decrypt_usual(const struct aesop_dispatch *d, struct aesop_gcm *gcm, uint8_t *out,
                                          const uint8_t *in, size_t len)
{
    gcm->text_bytes = len;
    return aesop_gcm_kernels_for(d, len)->gcm_dec(&gcm->key, &gcm->state, out, in, len);
}

/*
 * CBC over len bytes, a multiple of 16; iv is replaced by the last ciphertext block. out may equal in or overlap it
 * in any way.
 */
void aesop_cbc_encrypt(const struct aesop_dispatch *d, const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in,
                       size_t len, uint8_t iv[16]);
void aesop_cbc_decrypt(const struct aesop_dispatch *d, const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in,
                       size_t len, uint8_t iv[16]);

#endif
