/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/null_provider.h"

#include <stdlib.h>

#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>

static OSSL_FUNC_cipher_newctx_fn null_newctx;
static OSSL_FUNC_cipher_freectx_fn null_freectx;
static OSSL_FUNC_cipher_encrypt_init_fn null_init;
static OSSL_FUNC_cipher_update_fn null_update;
static OSSL_FUNC_cipher_final_fn null_final;
static OSSL_FUNC_cipher_get_ctx_params_fn null_gcm_get_ctx_params, null_cbc_get_ctx_params;
static OSSL_FUNC_cipher_set_ctx_params_fn null_set_ctx_params;
static OSSL_FUNC_cipher_get_params_fn null_gcm_get_params, null_cbc_get_params;

static void *null_newctx(void *provctx)
{
    (void)provctx;
    return malloc(1);
}

static void null_freectx(void *ctx)
{
    free(ctx);
}

static int null_init(void *ctx, const unsigned char *key, size_t key_len, const unsigned char *iv, size_t iv_len,
                     const OSSL_PARAM params[])
{
    (void)ctx, (void)key, (void)key_len, (void)iv, (void)iv_len, (void)params;
    return 1;
}

static int null_update(void *ctx, unsigned char *out, size_t *out_len, size_t out_size, const unsigned char *in,
                       size_t in_len)
{
    (void)ctx, (void)out, (void)out_size, (void)in;
    *out_len = in_len;
    return 1;
}

static int null_final(void *ctx, unsigned char *out, size_t *out_len, size_t out_size)
{
    (void)ctx, (void)out, (void)out_size;
    *out_len = 0;
    return 1;
}

/* EVP asks for "ivlen" and "keylen", one at a time. As cheap as it can be, or it would not be EVP's cost. */
static int answer_length(OSSL_PARAM params[], size_t iv_bytes)
{
    if (params[0].key[0] == 'i' || params[0].key[0] == 'k') {
        *(size_t *)params[0].data = params[0].key[0] == 'i' ? iv_bytes : 16;
        params[0].return_size = sizeof(size_t);
    }
    return 1;
}

static int null_gcm_get_ctx_params(void *ctx, OSSL_PARAM params[])
{
    (void)ctx;
    return answer_length(params, 12);
}

static int null_cbc_get_ctx_params(void *ctx, OSSL_PARAM params[])
{
    (void)ctx;
    return answer_length(params, 16);
}

static int null_set_ctx_params(void *ctx, const OSSL_PARAM params[])
{
    (void)ctx, (void)params;
    return 1;
}

static int get_params(OSSL_PARAM params[], unsigned mode, size_t iv_bytes, size_t block_bytes, int aead)
{
    for (OSSL_PARAM *p = params; p->key != NULL; p++) {
        if (OPENSSL_strcasecmp(p->key, OSSL_CIPHER_PARAM_MODE) == 0)
            OSSL_PARAM_set_uint(p, mode);
        else if (OPENSSL_strcasecmp(p->key, OSSL_CIPHER_PARAM_IVLEN) == 0)
            OSSL_PARAM_set_size_t(p, iv_bytes);
        else if (OPENSSL_strcasecmp(p->key, OSSL_CIPHER_PARAM_KEYLEN) == 0)
            OSSL_PARAM_set_size_t(p, 16);
        else if (OPENSSL_strcasecmp(p->key, OSSL_CIPHER_PARAM_BLOCK_SIZE) == 0)
            OSSL_PARAM_set_size_t(p, block_bytes);
        else if (OPENSSL_strcasecmp(p->key, OSSL_CIPHER_PARAM_AEAD) == 0 ||
                 OPENSSL_strcasecmp(p->key, OSSL_CIPHER_PARAM_CUSTOM_IV) == 0)
            OSSL_PARAM_set_int(p, aead);
    }
    return 1;
}

static int null_gcm_get_params(OSSL_PARAM params[])
{
    return get_params(params, EVP_CIPH_GCM_MODE, 12, 1, 1);
}

static int null_cbc_get_params(OSSL_PARAM params[])
{
    return get_params(params, EVP_CIPH_CBC_MODE, 16, 16, 0);
}

#define NULL_CIPHER(get_params_fn, get_ctx_params_fn) \
    { \
        { OSSL_FUNC_CIPHER_NEWCTX, (void (*)(void))null_newctx }, \
            { OSSL_FUNC_CIPHER_FREECTX, (void (*)(void))null_freectx }, \
            { OSSL_FUNC_CIPHER_ENCRYPT_INIT, (void (*)(void))null_init }, \
            { OSSL_FUNC_CIPHER_DECRYPT_INIT, (void (*)(void))null_init }, \
            { OSSL_FUNC_CIPHER_UPDATE, (void (*)(void))null_update }, \
            { OSSL_FUNC_CIPHER_FINAL, (void (*)(void))null_final }, \
            { OSSL_FUNC_CIPHER_CIPHER, (void (*)(void))null_update }, \
            { OSSL_FUNC_CIPHER_GET_PARAMS, (void (*)(void))(get_params_fn) }, \
            { OSSL_FUNC_CIPHER_GET_CTX_PARAMS, (void (*)(void))(get_ctx_params_fn) }, \
            { OSSL_FUNC_CIPHER_SET_CTX_PARAMS, (void (*)(void))null_set_ctx_params }, { 0, NULL }, \
    }

static const OSSL_DISPATCH null_gcm[] = NULL_CIPHER(null_gcm_get_params, null_gcm_get_ctx_params);
static const OSSL_DISPATCH null_cbc[] = NULL_CIPHER(null_cbc_get_params, null_cbc_get_ctx_params);
static const OSSL_ALGORITHM null_ciphers[] = {
    { "AES-128-GCM", "provider=null-cipher", null_gcm, NULL },
    { "AES-128-CBC", "provider=null-cipher", null_cbc, NULL },
    { NULL, NULL, NULL, NULL },
};

static const OSSL_ALGORITHM *null_query(void *provctx, int operation_id, int *no_cache)
{
    (void)provctx;
    *no_cache = 0;
    return operation_id == OSSL_OP_CIPHER ? null_ciphers : NULL;
}

static int null_provider_init(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in, const OSSL_DISPATCH **out,
                              void **provctx)
{
    static const OSSL_DISPATCH functions[] = {
        { OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))null_query },
        { 0, NULL },
    };

    (void)in;
    *out = functions;
    *provctx = (void *)handle;
    return 1;
}

OSSL_LIB_CTX *null_provider_ctx(void)
{
    OSSL_LIB_CTX *ctx = OSSL_LIB_CTX_new();

    if (ctx == NULL || !OSSL_PROVIDER_add_builtin(ctx, "null-cipher", null_provider_init) ||
        OSSL_PROVIDER_load(ctx, "null-cipher") == NULL || OSSL_PROVIDER_load(ctx, "default") == NULL ||
        !EVP_set_default_properties(ctx, "?provider=null-cipher")) {
        ERR_print_errors_fp(stderr);
        exit(1);
    }
    return ctx;
}
