/* SPDX-License-Identifier: Apache-2.0 */
#include "ciphers/chunk.h"

#include <string.h>

#include "ciphers/wipe.h"

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/*
 * In CBC too; and a load waits where its bytes were stored only just before, and not all at once, as by a caller who
 * copied them there: 80 bytes through EVP take 56 ns narrow, 61 wide. Where they are older it is 54 and 52.
 */
enum { CBC_NARROW_BYTES = 112 };

/* What few messages come through stays out of the way of those that do not. */
#define RARE __attribute__((noinline, cold))

/*
 * Whatever a caller hands over that is neither in place nor apart (EVP's own block buffer can put out a few bytes ahead
 * of in) becomes the in-place case first.
 */
static const uint8_t *in_place_if_overlapping(uint8_t *out, const uint8_t *in, size_t len)
{
    if (aesop_in_place_or_apart(out, in, len))
        return in;
    memmove(out, in, len);
    return out;
}

/* In place from what the second level of caches holds on: that writes no line which a third one would have kept. */
static int goes_past_caches(const struct aesop_dispatch *d, const uint8_t *out, const uint8_t *in, size_t len)
{
    return len >= (out == in ? d->nt_bytes / 8 : d->nt_bytes);
}

enum { NT_ALIGNMENT = 64 };

/* First what is missing to the alignment, where whole blocks can make up for it, then chunks. */
static size_t next_nt_run(const struct aesop_dispatch *d, const uint8_t *out, size_t len)
{
    const size_t missing = (0 - (uintptr_t)out) % NT_ALIGNMENT;

    return min_size(len, missing != 0 && missing % AESOP_BLOCK_BYTES == 0 ? missing : d->chunk);
}

RARE static void cbc_encrypt_overlapping(const struct aesop_dispatch *d, const struct aesop_aes_key *key, uint8_t *out,
                                         const uint8_t *in, size_t len, uint8_t iv[16])
{
    memmove(out, in, len);
    d->kernels->cbc_enc(key, out, out, len, iv);
}

void aesop_cbc_encrypt(const struct aesop_dispatch *d, const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in,
                       size_t len, uint8_t iv[16])
{
    if (aesop_in_place_or_apart(out, in, len))
        d->kernels->cbc_enc(key, out, in, len, iv);
    else
        cbc_encrypt_overlapping(d, key, out, in, len, iv);
}

static __attribute__((noinline)) void cbc_decrypt_any(const struct aesop_dispatch *d, const struct aesop_aes_key *key,
                                                      uint8_t *out, const uint8_t *in, size_t len, uint8_t iv[16])
{
    in = in_place_if_overlapping(out, in, len);

    const int nt = goes_past_caches(d, out, in, len);
    do {
        const size_t run = nt ? next_nt_run(d, out, len) : min_size(len, d->chunk);

        if (nt && run > NT_ALIGNMENT)
            d->kernels->cbc_dec_nt(key, out, in, run, iv);
        else
            d->kernels->cbc_dec(key, out, in, run, iv);
        in += run;
        out += run;
        len -= run;
    } while (len > 0);
}

void aesop_cbc_decrypt(const struct aesop_dispatch *d, const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in,
                       size_t len, uint8_t iv[16])
{
    /* Most often a run as it is, without a loop to pass through. */
    if (len <= d->chunk && len < d->nt_bytes / 8 && aesop_in_place_or_apart(out, in, len))
        (len <= CBC_NARROW_BYTES ? d->narrow : d->kernels)->cbc_dec(key, out, in, len, iv);
    else
        cbc_decrypt_any(d, key, out, in, len, iv);
}

/*
 * Powers of H for a run of len bytes: as many as it repays, as they save reductions. That is about the square root of
 * its blocks, of which a batch is the least; and each run with a key that has served before may double what it found.
 */
static void need_powers(const struct aesop_kernels *kernels, struct aesop_gcm_key *key, size_t len)
{
    const size_t blocks = (len + 15) / 16;
    size_t wanted = key->powers < kernels->batch_blocks ? kernels->batch_blocks : (size_t)2 * key->powers;

    if (blocks <= key->powers)
        return;
    while (wanted < kernels->max_powers && wanted * wanted * 5 / 4 <= blocks)
        wanted *= 2;
    wanted = min_size(min_size(wanted, blocks), kernels->max_powers);
    if (wanted > key->powers)
        kernels->gcm_powers(key, (uint32_t)wanted);
}

void aesop_gcm_set_key(const struct aesop_dispatch *d, struct aesop_gcm *gcm, const uint8_t *key, size_t key_bytes)
{
    d->kernels->gcm_expand(&gcm->key, key, key_bytes);
}

void aesop_gcm_start(const struct aesop_dispatch *d, struct aesop_gcm *gcm, const uint8_t *iv, size_t iv_len)
{
    const struct aesop_kernels *kernels = aesop_gcm_kernels_for(d, iv_len);

    if (iv_len == 12) {
        aesop_gcm_start_usual(d, gcm, iv);
        return;
    }
    gcm->aad_bytes = 0;
    gcm->text_bytes = 0;
    need_powers(kernels, &gcm->key, iv_len);
    kernels->gcm_start(&gcm->key, &gcm->state, iv, iv_len);
}

/*
 * Adds bytes to a block of which GHASH has seen the first `offset` bytes with zeros behind: by linearity they add
 * their own product with H. `block` holds them in place, zeros elsewhere.
 */
static void hash_more_of_block(const struct aesop_dispatch *d, struct aesop_gcm *gcm, const uint8_t block[16])
{
    struct aesop_gcm_state product = { .ghash = { 0 } };

    d->narrow->gcm_hash(&gcm->key, &product, block, AESOP_BLOCK_BYTES);
    for (int i = 0; i < AESOP_BLOCK_BYTES; i++)
        gcm->state.ghash[i] ^= product.ghash[i];
    aesop_wipe(&product, sizeof product);
}

/* At most the remaining bytes of a partial block of associated data. Returns how many. */
RARE static size_t finish_aad_block(const struct aesop_dispatch *d, struct aesop_gcm *gcm, const uint8_t *aad,
                                    size_t len, size_t offset)
{
    const size_t take = min_size(AESOP_BLOCK_BYTES - offset, len);
    uint8_t block[AESOP_BLOCK_BYTES] = { 0 };

    memcpy(block + offset, aad, take);
    hash_more_of_block(d, gcm, block);
    return take;
}

__attribute__((noinline)) static int aad_any(const struct aesop_dispatch *d, struct aesop_gcm *gcm, const uint8_t *aad,
                                             size_t len)
{
    const size_t offset = gcm->aad_bytes % AESOP_BLOCK_BYTES;

    if (len > AESOP_GCM_MAX_AAD_BYTES - gcm->aad_bytes)
        return 0;
    gcm->aad_bytes += len;
    if (offset != 0) {
        const size_t taken = finish_aad_block(d, gcm, aad, len, offset);

        aad += taken;
        len -= taken;
    }
    if (len > 0) {
        const struct aesop_kernels *kernels = aesop_gcm_kernels_for(d, len);

        need_powers(kernels, &gcm->key, len);
        kernels->gcm_hash(&gcm->key, &gcm->state, aad, len);
    }
    return 1;
}

int aesop_gcm_aad(const struct aesop_dispatch *d, struct aesop_gcm *gcm, const uint8_t *aad, size_t len)
{
    return aesop_gcm_is_usual_aad(d, gcm, len) ? aesop_gcm_aad_usual(d, gcm, aad, len) : aad_any(d, gcm, aad, len);
}

/* The keystream that is left of a partial block, on at most its remaining bytes. Returns how many. */
RARE static size_t finish_block(const struct aesop_dispatch *d, struct aesop_gcm *gcm, uint8_t *out, const uint8_t *in,
                                size_t len, size_t offset, int enc)
{
    const size_t take = min_size(AESOP_BLOCK_BYTES - offset, len);
    uint8_t ciphertext[AESOP_BLOCK_BYTES] = { 0 };

    for (size_t i = 0; i < take; i++) {
        const uint8_t before = in[i], after = before ^ gcm->state.keystream[offset + i];

        ciphertext[offset + i] = enc ? after : before;
        out[i] = after;
    }
    hash_more_of_block(d, gcm, ciphertext);
    return take;
}

/* Whole blocks so far, to an output that goes past the caches. */
RARE static void gcm_crypt_nt(const struct aesop_dispatch *d, struct aesop_gcm *gcm, uint8_t *out, const uint8_t *in,
                              size_t len, int enc)
{
    const struct aesop_kernels *kernels = d->kernels;

    while (len > 0) {
        const size_t run = next_nt_run(d, out, len);

        need_powers(kernels, &gcm->key, run);
        if (run > NT_ALIGNMENT)
            (enc ? kernels->gcm_enc_nt : kernels->gcm_dec_nt)(&gcm->key, &gcm->state, out, in, run);
        else
            (enc ? kernels->gcm_enc : kernels->gcm_dec)(&gcm->key, &gcm->state, out, in, run);
        in += run;
        out += run;
        len -= run;
    }
}

__attribute__((noinline)) static int gcm_crypt_any(const struct aesop_dispatch *d, struct aesop_gcm *gcm, uint8_t *out,
                                                   const uint8_t *in, size_t len, int enc)
{
    const size_t offset = gcm->text_bytes % AESOP_BLOCK_BYTES;

    if (len > AESOP_GCM_MAX_TEXT_BYTES - gcm->text_bytes)
        return 0;
    in = in_place_if_overlapping(out, in, len);
    gcm->text_bytes += len;
    if (offset != 0 && len > 0) {
        const size_t taken = finish_block(d, gcm, out, in, len, offset, enc);

        in += taken;
        out += taken;
        len -= taken;
    }
    if (goes_past_caches(d, out, in, len)) {
        gcm_crypt_nt(d, gcm, out, in, len, enc);
        return 1;
    }
    while (len > 0) {
        const size_t run = min_size(len, d->chunk);
        const struct aesop_kernels *kernels = aesop_gcm_kernels_for(d, run);

        need_powers(kernels, &gcm->key, run);
        (enc ? kernels->gcm_enc : kernels->gcm_dec)(&gcm->key, &gcm->state, out, in, run);
        in += run;
        out += run;
        len -= run;
    }
    return 1;
}

static inline int is_one_run(const struct aesop_dispatch *d, const struct aesop_gcm *gcm, const uint8_t *out,
                             const uint8_t *in, size_t len)
{
    return aesop_gcm_is_usual_text(d, gcm, len) && aesop_gcm_is_ready(d, gcm, out, in, len);
}

int aesop_gcm_encrypt(const struct aesop_dispatch *d, struct aesop_gcm *gcm, uint8_t *out, const uint8_t *in,
                      size_t len)
{
    return is_one_run(d, gcm, out, in, len) ? aesop_gcm_encrypt_usual(d, gcm, out, in, len)
                                            : gcm_crypt_any(d, gcm, out, in, len, 1);
}

int aesop_gcm_decrypt(const struct aesop_dispatch *d, struct aesop_gcm *gcm, uint8_t *out, const uint8_t *in,
                      size_t len)
{
    return is_one_run(d, gcm, out, in, len) ? aesop_gcm_decrypt_usual(d, gcm, out, in, len)
                                            : gcm_crypt_any(d, gcm, out, in, len, 0);
}
