/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AES-GCM (SP 800-38D) as EVP wants it: an IV that serves once, tags of any length, and the records of TLS 1.2 (RFC
 * 5288).
 */
#include <stdint.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "ciphers/chunk.h"
#include "ciphers/ct.h"
#include "provider/cipher.h"
#include "provider/params.h"
#include "provider/provider.h"

#define GCM_IV_BYTES 12 /* default, and the least that may be drawn at random: SP 800-38D, 8.2.2 */
#define GCM_MAX_IV_BYTES 128
#define GCM_TAG_BYTES 16

/* | explicit IV (8) | payload | tag (16) |, RFC 5288, 3; the first 4 bytes of the nonce are the connection's. */
#define TLS_FIXED_IV_BYTES EVP_GCM_TLS_FIXED_IV_LEN
#define TLS_EXPLICIT_IV_BYTES EVP_GCM_TLS_EXPLICIT_IV_LEN
#define TLS_AAD_BYTES EVP_AEAD_TLS1_AAD_LEN
#define TLS_OVERHEAD_BYTES (TLS_EXPLICIT_IV_BYTES + GCM_TAG_BYTES)

/* Not in the headers of 3.0. */
#define PARAM_IV_GENERATED "iv-generated"

enum iv_state {
    IV_NONE,     /* never set */
    IV_SET,      /* waits for a message */
    IV_IN_USE,   /* a message is under way */
    IV_FINISHED, /* has served */
};

/*
 * Without a pointer into itself, so that a copy of its bytes is a duplicate. EVP makes a new one whenever a cipher is
 * passed to an init: what has to be zeroed for that comes first.
 */
struct gcm {
    const struct aesop_provider *provider;
    uint64_t tls_records; /* encrypted under this key */
    uint32_t iv_len;      /* 1..128 */
    uint32_t iv_state;    /* enum iv_state. A word, so that no load takes it in with neighbours: see gcm_update */
    uint8_t key_bytes;
    uint8_t tag_len;       /* of `tag`; 0: none */
    uint8_t tls_aad_len;   /* 0, or 13: the next update is a TLS record */
    uint8_t tls_pad_bytes; /* what the answer to the associated data of TLS is */
    uint8_t key_set, encrypting;
    uint8_t iv_random;                       /* we drew it */
    uint8_t iv_counts;                       /* the IV is fixed field and counter, TLS style */
    _Alignas(16) uint8_t tag[GCM_TAG_BYTES]; /* to be expected, or computed */
    uint8_t iv[GCM_MAX_IV_BYTES];            /* the 12 bytes of almost every message are in the first cache line too */

    /* Not initialised before its use. */
    uint8_t tls_aad[TLS_AAD_BYTES];
    struct aesop_gcm cipher; /* its end is missing: see gcm_bytes */
};

_Static_assert(sizeof(struct gcm) == offsetof(struct gcm, cipher.key.first_round[AESOP_GCM_MAX_TABLE_ROWS]),
               "what kernels need not have is at the end");

#define GCM_HEAD_BYTES offsetof(struct gcm, tls_aad)

static OSSL_FUNC_cipher_freectx_fn gcm_freectx;
static OSSL_FUNC_cipher_dupctx_fn gcm_dupctx;
static OSSL_FUNC_cipher_encrypt_init_fn gcm_encrypt_init;
static OSSL_FUNC_cipher_decrypt_init_fn gcm_decrypt_init;
static OSSL_FUNC_cipher_update_fn gcm_update;
static OSSL_FUNC_cipher_final_fn gcm_final;
static OSSL_FUNC_cipher_cipher_fn gcm_cipher;
static OSSL_FUNC_cipher_get_ctx_params_fn gcm_get_ctx_params;
static OSSL_FUNC_cipher_set_ctx_params_fn gcm_set_ctx_params;
static OSSL_FUNC_cipher_gettable_ctx_params_fn gcm_gettable_ctx_params;
static OSSL_FUNC_cipher_settable_ctx_params_fn gcm_settable_ctx_params;

#define RAISE(gcm, ...) AESOP_RAISE(&(gcm)->provider->core, __VA_ARGS__)

/* ---- contexts ---- */

static size_t gcm_bytes(const struct aesop_provider *provider)
{
    return sizeof(struct gcm) - aesop_gcm_spare_bytes(provider->dispatch.kernels);
}

static void *gcm_newctx(void *provctx, uint8_t key_bytes)
{
    const struct aesop_provider *provider = provctx;
    struct gcm *gcm = aesop_core_alloc(&provider->core, gcm_bytes(provider));

    if (gcm == NULL)
        return NULL;
    memset(gcm, 0, GCM_HEAD_BYTES);
    gcm->provider = provider;
    gcm->key_bytes = key_bytes;
    gcm->iv_len = GCM_IV_BYTES;
    return gcm;
}

static void gcm_freectx(void *ctx)
{
    struct gcm *gcm = ctx;

    if (gcm != NULL)
        aesop_core_clear_free(&gcm->provider->core, gcm, gcm_bytes(gcm->provider));
}

static void *gcm_dupctx(void *ctx)
{
    const struct gcm *gcm = ctx;
    struct gcm *copy = aesop_core_alloc(&gcm->provider->core, gcm_bytes(gcm->provider));

    if (copy != NULL)
        memcpy(copy, gcm, gcm_bytes(gcm->provider));
    return copy;
}

/* ---- the IV ---- */

static int takes_iv_len(const struct gcm *gcm, size_t len)
{
    if (len == 0 || len > GCM_MAX_IV_BYTES)
        RAISE(gcm, AESOP_R_INVALID_IV_LENGTH, "%zu bytes, AES-GCM takes 1 to 128", len);
    return len > 0 && len <= GCM_MAX_IV_BYTES;
}

/* A new IV length makes whatever IV there was worthless; the same one, which EVP sends again, does not. */
static int set_iv_len(struct gcm *gcm, size_t len)
{
    if (!takes_iv_len(gcm, len))
        return 0;
    if (len != gcm->iv_len && gcm->iv_state != IV_NONE)
        gcm->iv_state = IV_FINISHED;
    gcm->iv_len = (uint32_t)len;
    return 1;
}

static int draw_iv(struct gcm *gcm, size_t fixed_len)
{
    if (!aesop_random(&gcm->provider->core, gcm->iv + fixed_len, gcm->iv_len - fixed_len))
        return 0;
    gcm->iv_random = 1;
    gcm->iv_state = IV_SET;
    return 1;
}

/* An encrypting context without an IV makes its own. */
static int need_iv(struct gcm *gcm)
{
    if (gcm->iv_state != IV_NONE)
        return 1;
    if (!gcm->encrypting) {
        RAISE(gcm, AESOP_R_CIPHER_OPERATION_FAILED, "decryption needs the IV of the message");
        return 0;
    }
    if (gcm->iv_len < GCM_IV_BYTES) {
        RAISE(gcm, AESOP_R_INVALID_IV_LENGTH, "a random IV has at least %d bytes, the context's has %u", GCM_IV_BYTES,
              (unsigned)gcm->iv_len);
        return 0;
    }
    return draw_iv(gcm, 0);
}

static void start_message(struct gcm *gcm)
{
    aesop_gcm_start(&gcm->provider->dispatch, &gcm->cipher, gcm->iv, gcm->iv_len);
    gcm->iv_state = IV_IN_USE;
}

AESOP_APART static int begin_message(struct gcm *gcm)
{
    if (!gcm->key_set) {
        RAISE(gcm, AESOP_R_NO_KEY_SET, NULL);
        return 0;
    }
    if (gcm->iv_state == IV_FINISHED) {
        RAISE(gcm, AESOP_R_CIPHER_OPERATION_FAILED, "an IV serves one message");
        return 0;
    }
    if (!need_iv(gcm))
        return 0;
    start_message(gcm);
    return 1;
}

/* Every path to data comes through here. */
static inline int need_message(struct gcm *gcm)
{
    return gcm->iv_state == IV_IN_USE || begin_message(gcm);
}

static int require_counting_iv(const struct gcm *gcm)
{
    if (!gcm->iv_counts || !gcm->key_set || gcm->iv_len < TLS_EXPLICIT_IV_BYTES) {
        RAISE(gcm, AESOP_R_CIPHER_OPERATION_FAILED,
              "an IV that counts needs a key, a fixed field and %d bytes for the counter", TLS_EXPLICIT_IV_BYTES);
        return 0;
    }
    return 1;
}

/* Starts a message under the next IV and gives out the last out_len bytes of it. */
static int next_iv(struct gcm *gcm, uint8_t *out, size_t out_len)
{
    uint8_t *counter = gcm->iv + gcm->iv_len - TLS_EXPLICIT_IV_BYTES;
    uint64_t count;

    if (!require_counting_iv(gcm))
        return 0;
    if (out_len == 0 || out_len > gcm->iv_len)
        out_len = gcm->iv_len;
    start_message(gcm);
    memcpy(out, gcm->iv + gcm->iv_len - out_len, out_len);
    memcpy(&count, counter, sizeof count);
    count = __builtin_bswap64(__builtin_bswap64(count) + 1);
    memcpy(counter, &count, sizeof count);
    return 1;
}

/* Starts decryption under the fixed field and the explicit part that came with a record. */
static int set_explicit_iv(struct gcm *gcm, const uint8_t *explicit_iv, size_t len)
{
    if (!require_counting_iv(gcm))
        return 0;
    if (gcm->encrypting || len > gcm->iv_len) {
        RAISE(gcm, AESOP_R_INVALID_IV_LENGTH, "an explicit IV is for decryption, and no longer than the IV");
        return 0;
    }
    memcpy(gcm->iv + gcm->iv_len - len, explicit_iv, len);
    start_message(gcm);
    return 1;
}

/* "tlsivfixed": the fixed field; when encrypting the counter starts at random. Length -1 brings a whole IV back. */
static int set_fixed_iv(struct gcm *gcm, const uint8_t *fixed, size_t len)
{
    const int is_whole = len == SIZE_MAX;

    if (is_whole) {
        len = gcm->iv_len;
    } else if (len < TLS_FIXED_IV_BYTES || len > gcm->iv_len || gcm->iv_len - len < TLS_EXPLICIT_IV_BYTES) {
        RAISE(gcm, AESOP_R_INVALID_IV_LENGTH, "a fixed field of %zu bytes leaves no %d for the counter", len,
              TLS_EXPLICIT_IV_BYTES);
        return 0;
    }
    memcpy(gcm->iv, fixed, len);
    gcm->iv_random = 0;
    if (gcm->encrypting && !is_whole && !draw_iv(gcm, len))
        return 0;
    gcm->iv_state = IV_SET;
    gcm->iv_counts = 1;
    return 1;
}

/* ---- init ---- */

static void set_key(struct gcm *gcm, const unsigned char *key)
{
    aesop_gcm_set_key(&gcm->provider->dispatch, &gcm->cipher, key, gcm->key_bytes);
    gcm->key_set = 1;
    gcm->tls_records = 0;
}

AESOP_APART static int init_any(struct gcm *gcm, const unsigned char *key, size_t key_len, const unsigned char *iv,
                                size_t iv_len, const OSSL_PARAM params[], uint8_t encrypting)
{
    if ((iv != NULL && !takes_iv_len(gcm, iv_len)) ||
        (key != NULL && !aesop_cipher_takes_key(&gcm->provider->core, key_len, gcm->key_bytes)))
        return 0;
    gcm->encrypting = encrypting;
    if (iv != NULL) {
        gcm->iv_len = (uint32_t)iv_len;
        memcpy(gcm->iv, iv, iv_len);
        gcm->iv_random = 0;
        gcm->iv_state = IV_SET;
    }
    if (key != NULL) {
        set_key(gcm, key);
        if (gcm->iv_state == IV_IN_USE) /* the message under the key before is given up */
            gcm->iv_state = IV_SET;
    }
    return params == NULL || gcm_set_ctx_params(gcm, params);
}

/* A message with the usual IV and the key that is there starts at once. */
static inline int init_message(struct gcm *gcm, const unsigned char *iv, uint8_t encrypting)
{
    gcm->encrypting = encrypting;
    gcm->iv_random = 0;
    gcm->iv_state = IV_IN_USE;
    memcpy(gcm->iv, iv, GCM_IV_BYTES);
    return aesop_gcm_start_usual(&gcm->provider->dispatch, &gcm->cipher, iv); /* gcm->iv is still being written */
}

/* Apart, since it saves registers. */
AESOP_APART static int init_key_and_message(struct gcm *gcm, const unsigned char *key, const unsigned char *iv,
                                            uint8_t encrypting)
{
    set_key(gcm, key);
    return init_message(gcm, iv, encrypting);
}

static inline int gcm_init(struct gcm *gcm, const unsigned char *key, size_t key_len, const unsigned char *iv,
                           size_t iv_len, const OSSL_PARAM params[], uint8_t encrypting)
{
    if (params != NULL || iv == NULL || iv_len != GCM_IV_BYTES || gcm->iv_len != GCM_IV_BYTES ||
        (key != NULL ? key_len != gcm->key_bytes : !gcm->key_set))
        return init_any(gcm, key, key_len, iv, iv_len, params, encrypting);
    if (key != NULL)
        return init_key_and_message(gcm, key, iv, encrypting);
    return init_message(gcm, iv, encrypting);
}

static int gcm_encrypt_init(void *ctx, const unsigned char *key, size_t key_len, const unsigned char *iv, size_t iv_len,
                            const OSSL_PARAM params[])
{
    return gcm_init(ctx, key, key_len, iv, iv_len, params, 1);
}

static int gcm_decrypt_init(void *ctx, const unsigned char *key, size_t key_len, const unsigned char *iv, size_t iv_len,
                            const OSSL_PARAM params[])
{
    return gcm_init(ctx, key, key_len, iv, iv_len, params, 0);
}

/* ---- data ---- */

/* Associated data where out is NULL, text otherwise. */
AESOP_APART static int crypt_some(struct gcm *gcm, unsigned char *out, const unsigned char *in, size_t len)
{
    const struct aesop_dispatch *d = &gcm->provider->dispatch;
    int ok;

    if (!need_message(gcm))
        return 0;
    if (out == NULL && gcm->cipher.text_bytes != 0) {
        RAISE(gcm, AESOP_R_INVALID_AAD, "associated data comes before the text");
        return 0;
    }
    if (out == NULL)
        ok = aesop_gcm_aad(d, &gcm->cipher, in, len);
    else if (gcm->encrypting)
        ok = aesop_gcm_encrypt(d, &gcm->cipher, out, in, len);
    else
        ok = aesop_gcm_decrypt(d, &gcm->cipher, out, in, len);
    if (!ok)
        RAISE(gcm, AESOP_R_CIPHER_OPERATION_FAILED, "at most 2^36-32 bytes of text and 2^61-1 of associated data");
    return ok;
}

static inline int make_tag(struct gcm *gcm)
{
    gcm->iv_state = IV_FINISHED;
    gcm->tag_len = GCM_TAG_BYTES;
    return aesop_gcm_tag(&gcm->provider->dispatch, &gcm->cipher, gcm->tag);
}

AESOP_APART static int check_tag(struct gcm *gcm)
{
    uint8_t tag[GCM_TAG_BYTES];
    int ok;

    if (gcm->tag_len == 0)
        return 0;
    gcm->iv_state = IV_FINISHED;
    aesop_gcm_tag(&gcm->provider->dispatch, &gcm->cipher, tag);
    /* The usual length is a constant, and then straight code. */
    ok = gcm->tag_len == GCM_TAG_BYTES ? aesop_ct_equal(tag, gcm->tag, GCM_TAG_BYTES)
                                       : aesop_ct_equal(tag, gcm->tag, gcm->tag_len);
    aesop_wipe(tag, sizeof tag); /* the right tag for a forgery */
    return ok;
}

/*
 * Ends the message: makes the tag, or compares it. A tag that is wrong or was never set raises nothing, as in default:
 * programs tell a message that is not authentic from an internal error by an empty error queue.
 */
static inline int finish_begun(struct gcm *gcm)
{
    return gcm->encrypting ? make_tag(gcm) : check_tag(gcm);
}

AESOP_APART static int finish_message(struct gcm *gcm)
{
    return need_message(gcm) && finish_begun(gcm);
}

/* One record of TLS 1.2, in place, explicit IV and tag included. */
AESOP_APART static int crypt_record(struct gcm *gcm, unsigned char *out, size_t *out_len, const unsigned char *in,
                                    size_t len)
{
    uint8_t *payload, *tag;
    size_t payload_len;
    int ok = 0;

    *out_len = 0;
    if (in == NULL || out != in || len < TLS_OVERHEAD_BYTES) {
        RAISE(gcm, AESOP_R_CIPHER_OPERATION_FAILED, "a TLS record is in place, and has an explicit IV and a tag");
        goto done;
    }
    payload_len = len - TLS_OVERHEAD_BYTES;
    payload = out + TLS_EXPLICIT_IV_BYTES;
    tag = payload + payload_len;

    /* The explicit IV counts to 2^64 before it comes again: SP 800-38D, 8.2.1. */
    if (gcm->encrypting && gcm->tls_records == UINT64_MAX) {
        RAISE(gcm, AESOP_R_TOO_MANY_RECORDS, "2^64 under one key");
        goto done;
    }
    gcm->tls_records += gcm->encrypting;
    if (!(gcm->encrypting ? next_iv(gcm, out, TLS_EXPLICIT_IV_BYTES)
                          : set_explicit_iv(gcm, out, TLS_EXPLICIT_IV_BYTES)))
        goto done;
    if (!gcm->encrypting) {
        memcpy(gcm->tag, tag, GCM_TAG_BYTES);
        gcm->tag_len = GCM_TAG_BYTES;
    }
    ok = crypt_some(gcm, NULL, gcm->tls_aad, sizeof gcm->tls_aad) && crypt_some(gcm, payload, payload, payload_len) &&
         finish_message(gcm);
    if (ok && gcm->encrypting)
        memcpy(tag, gcm->tag, GCM_TAG_BYTES);
    if (!ok && !gcm->encrypting)
        aesop_wipe(payload, payload_len);
    if (ok)
        *out_len = gcm->encrypting ? len : payload_len;
done:
    gcm->iv_state = IV_FINISHED;
    gcm->tls_aad_len = 0;
    return ok;
}

AESOP_APART static int update_any(struct gcm *gcm, unsigned char *out, size_t *out_len, size_t out_size,
                                  const unsigned char *in, size_t in_len)
{
    *out_len = 0;
    if (in_len == 0)
        return 1;
    if (!aesop_cipher_has_room(&gcm->provider->core, out_size, in_len))
        return 0;
    if (gcm->tls_aad_len != 0)
        return crypt_record(gcm, out, out_len, in, in_len);
    if (in == NULL) /* a length without bytes, as programs tell it to CCM: default takes it for the end */
        return finish_message(gcm);
    if (!crypt_some(gcm, out, in, in_len))
        return 0;
    *out_len = in_len;
    return 1;
}

/*
 * The updates of almost every message, one of associated data and one of text: nothing of them can fail. Each field is
 * loaded as it was stored: a wider load would wait until the store of the init before has left for the cache.
 */
static int gcm_update(void *ctx, unsigned char *out, size_t *out_len, size_t out_size, const unsigned char *in,
                      size_t in_len)
{
    struct gcm *gcm = ctx;
    const struct aesop_dispatch *d = &gcm->provider->dispatch;

    if (gcm->iv_state != IV_IN_USE || gcm->tls_aad_len != 0 || in_len > out_size || in == NULL)
        return update_any(gcm, out, out_len, out_size, in, in_len);
    if (out == NULL) {
        if (!aesop_gcm_is_usual_aad(d, &gcm->cipher, in_len))
            return update_any(gcm, out, out_len, out_size, in, in_len);
        *out_len = in_len;
        return aesop_gcm_aad_usual(d, &gcm->cipher, in, in_len);
    }
    if (!aesop_gcm_is_usual_text(d, &gcm->cipher, in_len))
        return update_any(gcm, out, out_len, out_size, in, in_len);
    *out_len = in_len;
    if (!aesop_gcm_is_ready(d, &gcm->cipher, out, in, in_len))
        return (gcm->encrypting ? aesop_gcm_encrypt : aesop_gcm_decrypt)(d, &gcm->cipher, out, in, in_len);
    return gcm->encrypting ? aesop_gcm_encrypt_usual(d, &gcm->cipher, out, in, in_len)
                           : aesop_gcm_decrypt_usual(d, &gcm->cipher, out, in, in_len);
}

static int gcm_final(void *ctx, unsigned char *out, size_t *out_len, size_t out_size)
{
    struct gcm *gcm = ctx;

    (void)out, (void)out_size;
    *out_len = 0;
    if (gcm->tls_aad_len != 0)
        return crypt_record(gcm, NULL, out_len, NULL, 0);
    return gcm->iv_state == IV_IN_USE ? finish_begun(gcm) : finish_message(gcm);
}

/*
 * EVP_Cipher(): update and final in one, told apart by `in`. What it returns for a record is the length it was given.
 */
static int gcm_cipher(void *ctx, unsigned char *out, size_t *out_len, size_t out_size, const unsigned char *in,
                      size_t in_len)
{
    struct gcm *gcm = ctx;

    if (gcm->tls_aad_len != 0) {
        if (!aesop_cipher_has_room(&gcm->provider->core, out_size, in_len) ||
            !crypt_record(gcm, out, out_len, in, in_len))
            return 0;
        *out_len = in_len;
        return 1;
    }
    return in != NULL ? gcm_update(ctx, out, out_len, out_size, in, in_len) : gcm_final(ctx, out, out_len, out_size);
}

/* ---- parameters ---- */

/* A parameter can be wrong in itself, or its value be refused: what refuses raises why, and nothing comes on top. */
enum answer { WRONG_PARAMETER = -1, REFUSED, DONE };

static int answered(int ok)
{
    return ok ? DONE : WRONG_PARAMETER;
}

static int is_octets(const OSSL_PARAM *p)
{
    return p->data_type == OSSL_PARAM_OCTET_STRING && p->data != NULL;
}

static int get_iv(struct gcm *gcm, OSSL_PARAM *p)
{
    /* Asked for before the first update, a random IV has to be there already. */
    return need_iv(gcm) ? answered(aesop_param_set_octets(p, gcm->iv, gcm->iv_len)) : REFUSED;
}

/* As many bytes of the tag as there is room for, or its length. */
static int get_tag(const struct gcm *gcm, OSSL_PARAM *p)
{
    const size_t len = p->data == NULL ? gcm->tag_len : p->data_size;

    if (!gcm->encrypting || gcm->tag_len == 0 || len == 0 || len > gcm->tag_len) {
        RAISE(gcm, AESOP_R_INVALID_TAG, "a tag of 1 to 16 bytes is there when an encryption has ended");
        return REFUSED;
    }
    return answered(p->data_type == OSSL_PARAM_OCTET_STRING && aesop_param_set_octets(p, gcm->tag, len));
}

AESOP_APART static int get_ctx_params_any(struct gcm *gcm, OSSL_PARAM params[])
{
    int answer = DONE;

    for (OSSL_PARAM *p = params; answer == DONE && p != NULL && p->key != NULL; p++) {
        switch (aesop_param_find(p->key)) {
        case AESOP_PARAM_TAG:
            answer = get_tag(gcm, p);
            break;
        case AESOP_PARAM_IVLEN:
            answer = answered(aesop_param_set_size(p, gcm->iv_len));
            break;
        case AESOP_PARAM_KEYLEN:
            answer = answered(aesop_param_set_size(p, gcm->key_bytes));
            break;
        case AESOP_PARAM_TAGLEN:
            answer = answered(aesop_param_set_size(p, gcm->tag_len != 0 ? gcm->tag_len : GCM_TAG_BYTES));
            break;
        case AESOP_PARAM_IV:
        case AESOP_PARAM_UPDATED_IV:
            answer = get_iv(gcm, p);
            break;
        case AESOP_PARAM_IV_GENERATED:
            answer = answered(aesop_param_set_uint(p, gcm->iv_random));
            break;
        case AESOP_PARAM_TLS_AAD_PAD:
            answer = answered(aesop_param_set_size(p, gcm->tls_pad_bytes));
            break;
        case AESOP_PARAM_TLS_IV_GEN:
            answer = is_octets(p) ? next_iv(gcm, p->data, p->data_size) : WRONG_PARAMETER;
            break;
        default:
            break;
        }
        if (answer == WRONG_PARAMETER)
            RAISE(gcm, AESOP_R_FAILED_TO_SET_PARAMETER, "%s", p->key);
    }
    return answer == DONE;
}

static inline int is_whole_tag(const OSSL_PARAM *params)
{
    return aesop_param_alone(params, OSSL_CIPHER_PARAM_AEAD_TAG, OSSL_PARAM_OCTET_STRING, GCM_TAG_BYTES);
}

static int gcm_get_ctx_params(void *ctx, OSSL_PARAM params[])
{
    struct gcm *gcm = ctx;

    if (is_whole_tag(params) && gcm->encrypting && gcm->tag_len == GCM_TAG_BYTES) {
        memcpy(params->data, gcm->tag, GCM_TAG_BYTES);
        params->return_size = GCM_TAG_BYTES;
        return 1;
    }
    /* 3.0 asks for the one for every message, and for the other with every key. */
    return aesop_param_answer_alone(params, OSSL_CIPHER_PARAM_IVLEN, gcm->iv_len) ||
           aesop_param_answer_alone(params, OSSL_CIPHER_PARAM_KEYLEN, gcm->key_bytes) ||
           get_ctx_params_any(gcm, params);
}

static int set_tag(struct gcm *gcm, const OSSL_PARAM *p)
{
    if (gcm->encrypting) {
        RAISE(gcm, AESOP_R_INVALID_TAG, "encryption makes the tag");
        return 0;
    }
    if (p->data_size == 0 || p->data_size > GCM_TAG_BYTES) {
        RAISE(gcm, p->data_size == 0 ? AESOP_R_INVALID_TAG : AESOP_R_FAILED_TO_GET_PARAMETER,
              "tag: %zu bytes, AES-GCM takes 1 to 16", p->data_size);
        return 0;
    }
    memcpy(gcm->tag, p->data, p->data_size);
    gcm->tag_len = (uint8_t)p->data_size;
    return 1;
}

/*
 * "tlsaad": sequence number (8), type (1), version (2) and length (2) of a record. The length is libssl's, of the
 * record with explicit IV and, when decrypting, tag; what is authenticated is the payload's: RFC 5246, 6.2.3.3.
 */
static int set_tls_aad(struct gcm *gcm, const uint8_t *aad, size_t len)
{
    const size_t overhead = gcm->encrypting ? TLS_EXPLICIT_IV_BYTES : TLS_OVERHEAD_BYTES;
    size_t record_len;

    if (len != TLS_AAD_BYTES) {
        RAISE(gcm, AESOP_R_INVALID_AAD, "%zu bytes, a TLS record has %d", len, TLS_AAD_BYTES);
        return 0;
    }
    record_len = (size_t)aad[len - 2] << 8 | aad[len - 1];
    if (record_len < overhead) {
        RAISE(gcm, AESOP_R_INVALID_AAD, "a TLS record of %zu bytes, %zu at least", record_len, overhead);
        return 0;
    }
    record_len -= overhead;
    memcpy(gcm->tls_aad, aad, len);
    gcm->tls_aad[len - 2] = (uint8_t)(record_len >> 8);
    gcm->tls_aad[len - 1] = (uint8_t)record_len;
    gcm->tls_aad_len = (uint8_t)len;
    gcm->tls_pad_bytes = GCM_TAG_BYTES;
    return 1;
}

AESOP_APART static int set_ctx_params_any(struct gcm *gcm, const OSSL_PARAM params[])
{
    size_t size;
    int answer = DONE;

    for (const OSSL_PARAM *p = params; answer == DONE && p != NULL && p->key != NULL; p++) {
        switch (aesop_param_find(p->key)) {
        case AESOP_PARAM_TAG:
            answer = is_octets(p) ? set_tag(gcm, p) : WRONG_PARAMETER;
            break;
        case AESOP_PARAM_IVLEN:
            answer = aesop_param_get_size(p, &size) ? set_iv_len(gcm, size) : WRONG_PARAMETER;
            break;
        case AESOP_PARAM_KEYLEN:
            answer = aesop_param_get_size(p, &size) ? aesop_cipher_takes_key(&gcm->provider->core, size, gcm->key_bytes)
                                                    : WRONG_PARAMETER;
            break;
        case AESOP_PARAM_TLS_AAD:
            answer = is_octets(p) ? set_tls_aad(gcm, p->data, p->data_size) : WRONG_PARAMETER;
            break;
        case AESOP_PARAM_TLS_IV_FIXED:
            answer = is_octets(p) ? set_fixed_iv(gcm, p->data, p->data_size) : WRONG_PARAMETER;
            break;
        case AESOP_PARAM_TLS_IV_INV:
            answer = is_octets(p) ? set_explicit_iv(gcm, p->data, p->data_size) : WRONG_PARAMETER;
            break;
        default:
            break;
        }
        if (answer == WRONG_PARAMETER)
            RAISE(gcm, AESOP_R_FAILED_TO_GET_PARAMETER, "%s", p->key);
    }
    return answer == DONE;
}

static int gcm_set_ctx_params(void *ctx, const OSSL_PARAM params[])
{
    struct gcm *gcm = ctx;
    const size_t iv_len = gcm->iv_len;

    if (is_whole_tag(params) && !gcm->encrypting) {
        memcpy(gcm->tag, params->data, GCM_TAG_BYTES);
        gcm->tag_len = GCM_TAG_BYTES;
        return 1;
    }
    if (aesop_param_alone(params, OSSL_CIPHER_PARAM_IVLEN, OSSL_PARAM_UNSIGNED_INTEGER, sizeof iv_len) &&
        memcmp(params->data, &iv_len, sizeof iv_len) == 0)
        return 1; /* as it is: sent with every message by some */
    if (aesop_param_alone(params, OSSL_CIPHER_PARAM_PADDING, OSSL_PARAM_UNSIGNED_INTEGER, sizeof(unsigned)))
        return 1; /* means nothing here; where a program has switched it off, EVP says so with every init */
    return set_ctx_params_any(gcm, params);
}

static const OSSL_PARAM *gcm_gettable_ctx_params(void *ctx, void *provctx)
{
    static const OSSL_PARAM gettable[] = {
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, NULL),
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_IVLEN, NULL),
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_AEAD_TAGLEN, NULL),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_IV, NULL, 0),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_UPDATED_IV, NULL, 0),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, NULL, 0),
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD, NULL),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TLS1_GET_IV_GEN, NULL, 0),
        OSSL_PARAM_uint(PARAM_IV_GENERATED, NULL),
        OSSL_PARAM_END,
    };

    (void)ctx, (void)provctx;
    return gettable;
}

static const OSSL_PARAM *gcm_settable_ctx_params(void *ctx, void *provctx)
{
    static const OSSL_PARAM settable[] = {
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_AEAD_IVLEN, NULL),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, NULL, 0),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TLS1_AAD, NULL, 0),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED, NULL, 0),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV, NULL, 0),
        OSSL_PARAM_END,
    };

    (void)ctx, (void)provctx;
    return settable;
}

/* ---- one cipher per key length ---- */

AESOP_CIPHER(gcm, 128, EVP_CIPH_GCM_MODE, 1, GCM_IV_BYTES, 1)
AESOP_CIPHER(gcm, 192, EVP_CIPH_GCM_MODE, 1, GCM_IV_BYTES, 1)
AESOP_CIPHER(gcm, 256, EVP_CIPH_GCM_MODE, 1, GCM_IV_BYTES, 1)
