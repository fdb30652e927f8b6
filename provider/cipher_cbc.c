/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AES-CBC (SP 800-38A, 6.2) as EVP wants it: blocks put together from any pieces, PKCS#7 padding (RFC 5652, 6.3), and,
 * once "tls-version" is set, whole TLS records (tls_cbc.h).
 */
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "ciphers/chunk.h"
#include "ciphers/ct.h"
#include "provider/cipher.h"
#include "provider/params.h"
#include "provider/provider.h"
#include "provider/tls_cbc.h"

/*
 * Without a pointer into itself, so that a copy of its bytes is a duplicate. EVP makes a new one whenever a cipher is
 * passed to an init: what has to be zeroed for that comes first, and the TLS part, which few need, last.
 */
struct cbc {
    const struct aesop_provider *provider;
    uint8_t iv[AESOP_BLOCK_BYTES]; /* of the next block */
    uint8_t original_iv[AESOP_BLOCK_BYTES];
    uint32_t num; /* kept for callers, means nothing for CBC */
    uint32_t tls_version;
    size_t tls_mac_len;
    uint8_t key_bytes;
    uint8_t pending_len; /* of pending: 0..15, and 16 where decryption holds a block back, which may be padding */
    uint8_t iv_set, key_set, encrypting, schedule_encrypts, padding;
    uint8_t tls_mac_set, tls_random_ready;

    /* Not initialised before its use. */
    uint8_t pending[AESOP_BLOCK_BYTES];
    uint8_t user_key[AESOP_MAX_KEY_BYTES]; /* to expand it anew when the direction changes */
    struct aesop_aes_key key;

    uint8_t tls_mac[AESOP_TLS_MAX_MAC_BYTES];

    /* A context's own: a copy draws another, so that no two contexts give the same random MACs. */
    struct aesop_tls_random_mac tls_random;
};

#define CBC_HEAD_BYTES offsetof(struct cbc, pending)
#define CBC_COPIED_BYTES offsetof(struct cbc, tls_random)

static OSSL_FUNC_cipher_freectx_fn cbc_freectx;
static OSSL_FUNC_cipher_dupctx_fn cbc_dupctx;
static OSSL_FUNC_cipher_encrypt_init_fn cbc_encrypt_init;
static OSSL_FUNC_cipher_decrypt_init_fn cbc_decrypt_init;
static OSSL_FUNC_cipher_update_fn cbc_update;
static OSSL_FUNC_cipher_final_fn cbc_final;
static OSSL_FUNC_cipher_cipher_fn cbc_cipher;
static OSSL_FUNC_cipher_get_ctx_params_fn cbc_get_ctx_params;
static OSSL_FUNC_cipher_set_ctx_params_fn cbc_set_ctx_params;
static OSSL_FUNC_cipher_gettable_ctx_params_fn cbc_gettable_ctx_params;
static OSSL_FUNC_cipher_settable_ctx_params_fn cbc_settable_ctx_params;

/* ---- contexts ---- */

static void *cbc_newctx(void *provctx, uint8_t key_bytes)
{
    const struct aesop_provider *provider = provctx;
    struct cbc *cbc = aesop_core_alloc(&provider->core, sizeof *cbc);

    if (cbc == NULL)
        return NULL;
    memset(cbc, 0, CBC_HEAD_BYTES);
    cbc->provider = provider;
    cbc->key_bytes = key_bytes;
    cbc->padding = 1;
    return cbc;
}

static void cbc_freectx(void *ctx)
{
    struct cbc *cbc = ctx;

    if (cbc != NULL)
        aesop_core_clear_free(&cbc->provider->core, cbc, cbc->tls_random_ready ? sizeof *cbc : CBC_COPIED_BYTES);
}

static void *cbc_dupctx(void *ctx)
{
    const struct cbc *cbc = ctx;
    struct cbc *copy = aesop_core_alloc(&cbc->provider->core, sizeof *copy);

    if (copy == NULL)
        return NULL;
    memcpy(copy, cbc, CBC_COPIED_BYTES);
    copy->tls_random_ready = 0;
    return copy;
}

/* ---- init ---- */

static void expand_key(struct cbc *cbc)
{
    const struct aesop_kernels *kernels = cbc->provider->dispatch.kernels;

    if (cbc->encrypting)
        kernels->aes_expand_enc(&cbc->key, cbc->user_key, cbc->key_bytes);
    else
        kernels->aes_expand_dec(&cbc->key, cbc->user_key, cbc->key_bytes);
    cbc->schedule_encrypts = cbc->encrypting;
}

AESOP_APART static int init_any(struct cbc *cbc, const unsigned char *key, size_t key_len, const unsigned char *iv,
                                size_t iv_len, const OSSL_PARAM params[], uint8_t encrypting)
{
    const struct aesop_core *core = &cbc->provider->core;

    if (iv != NULL && iv_len != sizeof cbc->iv) {
        AESOP_RAISE(core, AESOP_R_INVALID_IV_LENGTH, "%zu bytes, AES-CBC takes 16", iv_len);
        return 0;
    }
    if (key != NULL && !aesop_cipher_takes_key(core, key_len, cbc->key_bytes))
        return 0;

    cbc->num = 0;
    cbc->pending_len = 0;
    cbc->encrypting = encrypting;
    if (iv != NULL) {
        memcpy(cbc->original_iv, iv, sizeof cbc->original_iv);
        memcpy(cbc->iv, iv, sizeof cbc->iv);
        cbc->iv_set = 1;
    } else if (cbc->iv_set) {
        memcpy(cbc->iv, cbc->original_iv, sizeof cbc->iv); /* an init without IV starts the same message again */
    }

    if (key != NULL) {
        memcpy(cbc->user_key, key, key_len);
        cbc->key_set = 1;
        expand_key(cbc);
    } else if (cbc->key_set && cbc->schedule_encrypts != encrypting) {
        expand_key(cbc);
    }
    return params == NULL || cbc_set_ctx_params(cbc, params);
}

/* Almost every message brings an IV alone. */
static inline int cbc_init(struct cbc *cbc, const unsigned char *key, size_t key_len, const unsigned char *iv,
                           size_t iv_len, const OSSL_PARAM params[], uint8_t encrypting)
{
    if (key != NULL || params != NULL || iv == NULL || iv_len != sizeof cbc->iv || cbc->schedule_encrypts != encrypting)
        return init_any(cbc, key, key_len, iv, iv_len, params, encrypting);
    cbc->num = 0;
    cbc->pending_len = 0;
    cbc->encrypting = encrypting;
    cbc->iv_set = 1;
    memcpy(cbc->original_iv, iv, sizeof cbc->original_iv);
    memcpy(cbc->iv, iv, sizeof cbc->iv);
    return 1;
}

static int cbc_encrypt_init(void *ctx, const unsigned char *key, size_t key_len, const unsigned char *iv, size_t iv_len,
                            const OSSL_PARAM params[])
{
    return cbc_init(ctx, key, key_len, iv, iv_len, params, 1);
}

static int cbc_decrypt_init(void *ctx, const unsigned char *key, size_t key_len, const unsigned char *iv, size_t iv_len,
                            const OSSL_PARAM params[])
{
    return cbc_init(ctx, key, key_len, iv, iv_len, params, 0);
}

/* ---- data ---- */

/* Whole blocks; out may overlap in in any way. */
static void crypt_blocks(struct cbc *cbc, uint8_t *out, const uint8_t *in, size_t len)
{
    if (cbc->encrypting)
        aesop_cbc_encrypt(&cbc->provider->dispatch, &cbc->key, out, in, len, cbc->iv);
    else
        aesop_cbc_decrypt(&cbc->provider->dispatch, &cbc->key, out, in, len, cbc->iv);
}

static int require_key(const struct cbc *cbc)
{
    if (!cbc->key_set)
        AESOP_RAISE(&cbc->provider->core, AESOP_R_NO_KEY_SET, NULL);
    return cbc->key_set;
}

/* The update of TLS: one record, in place. */
static int crypt_record(struct cbc *cbc, uint8_t *record, size_t *out_len, size_t out_size, const uint8_t *in,
                        size_t len)
{
    const struct aesop_core *core = &cbc->provider->core;
    const struct aesop_kernels *kernels = cbc->provider->dispatch.kernels;
    size_t padded_len = cbc->encrypting ? len + AESOP_BLOCK_BYTES - len % AESOP_BLOCK_BYTES : len;

    if (in == NULL || in != record || !cbc->padding || padded_len % AESOP_BLOCK_BYTES != 0 || out_size < padded_len) {
        AESOP_RAISE(core, AESOP_R_CIPHER_OPERATION_FAILED,
                    "a TLS record is whole blocks, in place, with padding on and room for it");
        return 0;
    }
    if (cbc->encrypting) {
        *out_len = aesop_tls_cbc_pad(record, len, cbc->tls_version);
        crypt_blocks(cbc, record, record, padded_len);
        return 1;
    }

    /* Before the first record, whatever its padding: what a bad record costs must not differ. */
    if (cbc->tls_mac_len > 0 && !cbc->tls_random_ready) {
        if (!aesop_tls_random_mac_init(&cbc->tls_random, core, kernels))
            return 0;
        cbc->tls_random_ready = 1;
    }
    crypt_blocks(cbc, record, record, padded_len);
    cbc->tls_mac_set = 0;
    if (!aesop_tls_cbc_unpad(&cbc->tls_random, kernels, cbc->tls_mac, cbc->tls_mac_len, out_len, record, len,
                             cbc->tls_version)) {
        AESOP_RAISE(core, AESOP_R_CIPHER_OPERATION_FAILED, "malformed TLS record");
        return 0;
    }
    cbc->tls_mac_set = cbc->tls_mac_len > 0;
    return 1;
}

/* Any update: without a key, a TLS record, or pieces of any length that blocks are put together from. */
AESOP_APART static int update_any(struct cbc *cbc, uint8_t *out, size_t *out_len, size_t out_size, const uint8_t *in,
                                  size_t in_len)
{
    size_t pending_len = cbc->pending_len, tail_len, ready;
    uint8_t first[AESOP_BLOCK_BYTES];

    if (!require_key(cbc))
        return 0;
    if (cbc->tls_version > 0)
        return crypt_record(cbc, out, out_len, out_size, in, in_len);

    /* What leaves now is all whole blocks, but of padded decryption not the last byte, nor the block it is in. */
    tail_len = (pending_len + in_len) % AESOP_BLOCK_BYTES;
    if (tail_len == 0 && pending_len + in_len > 0 && !cbc->encrypting && cbc->padding)
        tail_len = AESOP_BLOCK_BYTES;
    ready = pending_len + in_len - tail_len;
    if (!aesop_cipher_has_room(&cbc->provider->core, out_size, ready))
        return 0;

    *out_len = ready;
    if (ready == 0) {
        if (in_len > 0)
            memcpy(cbc->pending + pending_len, in, in_len);
        cbc->pending_len = (uint8_t)(pending_len + in_len);
        return 1;
    }

    if (pending_len > 0) {
        if (pending_len < AESOP_BLOCK_BYTES) { /* else in may be NULL */
            memcpy(cbc->pending + pending_len, in, AESOP_BLOCK_BYTES - pending_len);
            in += AESOP_BLOCK_BYTES - pending_len;
            in_len -= AESOP_BLOCK_BYTES - pending_len;
        }
        ready -= AESOP_BLOCK_BYTES;
        crypt_blocks(cbc, first, cbc->pending, sizeof first);
    }
    /* out may lie upon in: the tail leaves it before anything is written, and the first block is written last. */
    if (tail_len > 0)
        memcpy(cbc->pending, in + in_len - tail_len, tail_len);
    cbc->pending_len = (uint8_t)tail_len;
    if (pending_len > 0) {
        if (ready > 0)
            crypt_blocks(cbc, out + sizeof first, in, ready);
        memcpy(out, first, sizeof first);
        aesop_wipe(first, sizeof first);
    } else {
        crypt_blocks(cbc, out, in, ready);
    }
    return 1;
}

/* Whole blocks with nothing pending: apart, as the registers that update_any saves cost a sixth of their time. */
static int cbc_update(void *ctx, unsigned char *out, size_t *out_len, size_t out_size, const unsigned char *in,
                      size_t in_len)
{
    struct cbc *cbc = ctx;

    if (!cbc->key_set || cbc->tls_version > 0 || cbc->pending_len > 0 || (!cbc->encrypting && cbc->padding) ||
        in_len == 0 || in_len % AESOP_BLOCK_BYTES != 0 || out_size < in_len)
        return update_any(cbc, out, out_len, out_size, in, in_len);
    *out_len = in_len;
    crypt_blocks(cbc, out, in, in_len);
    return 1;
}

/* The mask of correct PKCS#7 padding; *len is then what is left of the block. Its time depends on neither. */
static size_t unpad_block(const uint8_t block[AESOP_BLOCK_BYTES], size_t *len)
{
    size_t padding = block[AESOP_BLOCK_BYTES - 1];
    size_t good = aesop_ct_lt(padding - 1, AESOP_BLOCK_BYTES); /* 1..16 */

    for (size_t i = 0; i < AESOP_BLOCK_BYTES; i++) {
        size_t in_padding = ~aesop_ct_lt(i + padding, AESOP_BLOCK_BYTES);

        good &= ~in_padding | aesop_ct_eq(block[i], padding);
    }
    *len = AESOP_BLOCK_BYTES - (good & padding);
    return good;
}

static int decrypt_final(struct cbc *cbc, unsigned char *out, size_t *out_len, size_t out_size)
{
    uint8_t block[AESOP_BLOCK_BYTES], iv[AESOP_BLOCK_BYTES];
    size_t len = AESOP_BLOCK_BYTES;
    int ok = 0;

    memcpy(iv, cbc->iv, sizeof iv);
    crypt_blocks(cbc, block, cbc->pending, sizeof block);
    if (cbc->padding && !unpad_block(block, &len)) {
        cbc->pending_len = 0;
        AESOP_RAISE(&cbc->provider->core, AESOP_R_BAD_DECRYPT, NULL);
        goto done;
    }
    if (!aesop_cipher_has_room(&cbc->provider->core, out_size, len)) {
        memcpy(cbc->iv, iv, sizeof iv); /* with more room it can be tried again */
        goto done;
    }
    memcpy(out, block, len);
    *out_len = len;
    cbc->pending_len = 0;
    ok = 1;
done:
    aesop_wipe(block, sizeof block);
    return ok;
}

/*
 * What a wrong key or damaged data brings about is raised without an explanation, as in default: Ruby and others put it
 * into the text of their exception, and programs compare that with "bad decrypt".
 */
static int cbc_final(void *ctx, unsigned char *out, size_t *out_len, size_t out_size)
{
    struct cbc *cbc = ctx;

    if (!require_key(cbc))
        return 0;
    if (cbc->tls_version > 0) {
        AESOP_RAISE(&cbc->provider->core, AESOP_R_CIPHER_OPERATION_FAILED, "TLS records end with their update");
        return 0;
    }
    if (!cbc->padding && cbc->pending_len == 0) {
        *out_len = 0;
        return 1;
    }
    if (cbc->encrypting ? !cbc->padding : cbc->pending_len != AESOP_BLOCK_BYTES) {
        AESOP_RAISE(&cbc->provider->core, AESOP_R_WRONG_FINAL_BLOCK_LENGTH, NULL);
        return 0;
    }
    if (!cbc->encrypting)
        return decrypt_final(cbc, out, out_len, out_size);

    if (!aesop_cipher_has_room(&cbc->provider->core, out_size, AESOP_BLOCK_BYTES))
        return 0;
    memset(cbc->pending + cbc->pending_len, AESOP_BLOCK_BYTES - cbc->pending_len, AESOP_BLOCK_BYTES - cbc->pending_len);
    crypt_blocks(cbc, out, cbc->pending, AESOP_BLOCK_BYTES);
    cbc->pending_len = 0;
    *out_len = AESOP_BLOCK_BYTES;
    return 1;
}

/*
 * EVP_Cipher(): straight through, neither padding nor pending bytes. A partial block, which EVP leaves undefined, is
 * refused: its ciphertext would end behind the caller's buffer.
 */
static int cbc_cipher(void *ctx, unsigned char *out, size_t *out_len, size_t out_size, const unsigned char *in,
                      size_t in_len)
{
    struct cbc *cbc = ctx;

    if (!require_key(cbc) || !aesop_cipher_has_room(&cbc->provider->core, out_size, in_len))
        return 0;
    if (in_len % AESOP_BLOCK_BYTES != 0) {
        AESOP_RAISE(&cbc->provider->core, AESOP_R_WRONG_FINAL_BLOCK_LENGTH, NULL);
        return 0;
    }
    if (in_len > 0)
        crypt_blocks(cbc, out, in, in_len);
    *out_len = in_len;
    return 1;
}

/* ---- parameters ---- */

/* "tls-mac": the MAC of the record, as a pointer that is good until the next one. NULL before the first. */
static int get_tls_mac(const struct cbc *cbc, OSSL_PARAM *p)
{
    return p->data_type == OSSL_PARAM_OCTET_PTR &&
           aesop_param_set_octets(p, cbc->tls_mac_set ? cbc->tls_mac : NULL, cbc->tls_mac_len);
}

AESOP_APART static int get_ctx_params_any(const struct cbc *cbc, OSSL_PARAM params[])
{
    int ok = 1;

    for (OSSL_PARAM *p = params; ok && p != NULL && p->key != NULL; p++) {
        switch (aesop_param_find(p->key)) {
        case AESOP_PARAM_IVLEN:
            ok = aesop_param_set_size(p, sizeof cbc->iv);
            break;
        case AESOP_PARAM_KEYLEN:
            ok = aesop_param_set_size(p, cbc->key_bytes);
            break;
        case AESOP_PARAM_PADDING:
            ok = aesop_param_set_uint(p, cbc->padding);
            break;
        case AESOP_PARAM_NUM:
            ok = aesop_param_set_uint(p, cbc->num);
            break;
        case AESOP_PARAM_IV:
            ok = aesop_param_set_octets(p, cbc->original_iv, sizeof cbc->original_iv);
            break;
        case AESOP_PARAM_UPDATED_IV:
            ok = aesop_param_set_octets(p, cbc->iv, sizeof cbc->iv);
            break;
        case AESOP_PARAM_TLS_MAC:
            ok = get_tls_mac(cbc, p);
            break;
        default:
            break;
        }
        if (!ok)
            AESOP_RAISE(&cbc->provider->core, AESOP_R_FAILED_TO_SET_PARAMETER, "%s", p->key);
    }
    return ok;
}

/* 3.0 asks for the one for every message, and for the other with every key. */
static int cbc_get_ctx_params(void *ctx, OSSL_PARAM params[])
{
    const struct cbc *cbc = ctx;

    return aesop_param_answer_alone(params, OSSL_CIPHER_PARAM_IVLEN, sizeof cbc->iv) ||
           aesop_param_answer_alone(params, OSSL_CIPHER_PARAM_KEYLEN, cbc->key_bytes) ||
           get_ctx_params_any(cbc, params);
}

static int get_uint(const OSSL_PARAM *p, uint32_t *value)
{
    size_t wide;

    if (!aesop_param_get_size(p, &wide) || wide > UINT32_MAX)
        return 0;
    *value = (uint32_t)wide;
    return 1;
}

AESOP_APART static int set_ctx_params_any(struct cbc *cbc, const OSSL_PARAM params[])
{
    uint32_t value;
    int ok = 1;

    for (const OSSL_PARAM *p = params; ok && p != NULL && p->key != NULL; p++) {
        switch (aesop_param_find(p->key)) {
        case AESOP_PARAM_PADDING:
            ok = get_uint(p, &value);
            if (ok)
                cbc->padding = value != 0;
            break;
        case AESOP_PARAM_NUM:
            ok = get_uint(p, &cbc->num);
            break;
        case AESOP_PARAM_TLS_VERSION:
            ok = get_uint(p, &cbc->tls_version);
            break;
        case AESOP_PARAM_TLS_MAC_SIZE:
            ok = aesop_param_get_size(p, &cbc->tls_mac_len);
            cbc->tls_mac_set = 0; /* the one at hand has another size */
            break;
        default: /* as default, "keylen" included */
            break;
        }
        if (!ok)
            AESOP_RAISE(&cbc->provider->core, AESOP_R_FAILED_TO_GET_PARAMETER, "%s", p->key);
    }
    return ok;
}

/* Where padding is off, EVP says so with every init. */
static int cbc_set_ctx_params(void *ctx, const OSSL_PARAM params[])
{
    struct cbc *cbc = ctx;
    uint32_t value;

    if (!aesop_param_alone(params, OSSL_CIPHER_PARAM_PADDING, OSSL_PARAM_UNSIGNED_INTEGER, sizeof value))
        return set_ctx_params_any(cbc, params);
    memcpy(&value, params->data, sizeof value);
    cbc->padding = value != 0;
    return 1;
}

static const OSSL_PARAM *cbc_gettable_ctx_params(void *ctx, void *provctx)
{
    static const OSSL_PARAM gettable[] = {
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, NULL),
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_IVLEN, NULL),
        OSSL_PARAM_uint(OSSL_CIPHER_PARAM_PADDING, NULL),
        OSSL_PARAM_uint(OSSL_CIPHER_PARAM_NUM, NULL),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_IV, NULL, 0),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_UPDATED_IV, NULL, 0),
        OSSL_PARAM_octet_ptr(OSSL_CIPHER_PARAM_TLS_MAC, NULL, 0),
        OSSL_PARAM_END,
    };

    (void)ctx, (void)provctx;
    return gettable;
}

static const OSSL_PARAM *cbc_settable_ctx_params(void *ctx, void *provctx)
{
    static const OSSL_PARAM settable[] = {
        OSSL_PARAM_uint(OSSL_CIPHER_PARAM_PADDING, NULL),
        OSSL_PARAM_uint(OSSL_CIPHER_PARAM_NUM, NULL),
        OSSL_PARAM_uint(OSSL_CIPHER_PARAM_USE_BITS, NULL), /* default lists it, and it means nothing but for CFB1 */
        OSSL_PARAM_uint(OSSL_CIPHER_PARAM_TLS_VERSION, NULL),
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_TLS_MAC_SIZE, NULL),
        OSSL_PARAM_END,
    };

    (void)ctx, (void)provctx;
    return settable;
}

/* ---- one cipher per key length ---- */

AESOP_CIPHER(cbc, 128, EVP_CIPH_CBC_MODE, AESOP_BLOCK_BYTES, AESOP_BLOCK_BYTES, 0)
AESOP_CIPHER(cbc, 192, EVP_CIPH_CBC_MODE, AESOP_BLOCK_BYTES, AESOP_BLOCK_BYTES, 0)
AESOP_CIPHER(cbc, 256, EVP_CIPH_CBC_MODE, AESOP_BLOCK_BYTES, AESOP_BLOCK_BYTES, 0)
