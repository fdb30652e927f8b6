/* SPDX-License-Identifier: Apache-2.0 */
/* What every cipher object shares: the properties of an algorithm that need no context, and its dispatch table. */
#ifndef AESOP_PROVIDER_CIPHER_H
#define AESOP_PROVIDER_CIPHER_H

#include <stddef.h>
#include <stdint.h>

#include <openssl/core_dispatch.h>

#include "provider/core.h"

/*
 * For what few calls come through, so that the others save no registers for it: a message of 16 bytes is 5 to 7 calls,
 * and spends more instructions on being called than on AES. Not "cold", which is compiled for size.
 */
#define AESOP_APART __attribute__((noinline))

struct aesop_cipher_traits {
    unsigned mode; /* EVP_CIPH_..._MODE */
    size_t key_bytes, block_bytes, iv_bytes;
    unsigned aead; /* 0 or 1; also says that the cipher keeps its own IV ("custom-iv") */
};

/* OSSL_FUNC_cipher_get_params for those traits, and its list. */
int aesop_cipher_get_params(OSSL_PARAM params[], const struct aesop_cipher_traits *traits);
const OSSL_PARAM *aesop_cipher_gettable_params(void *provctx);

/* What every cipher refuses, with an error that says what it takes. */
int aesop_cipher_takes_key(const struct aesop_core *core, size_t key_len, uint8_t key_bytes);
int aesop_cipher_has_room(const struct aesop_core *core, size_t out_size, size_t len);

/* The table aesop_aes<bits><name>_functions of a cipher whose functions are <name>_newctx, <name>_freectx, ... */
#define AESOP_CIPHER(name, bits, evp_mode, block_bytes, iv_bytes, aead) \
    static OSSL_FUNC_cipher_newctx_fn name##_newctx_##bits; \
    static OSSL_FUNC_cipher_get_params_fn name##_get_params_##bits; \
    static void *name##_newctx_##bits(void *provctx) \
    { \
        return name##_newctx(provctx, (bits) / 8); \
    } \
    static int name##_get_params_##bits(OSSL_PARAM params[]) \
    { \
        static const struct aesop_cipher_traits traits = { evp_mode, (bits) / 8, block_bytes, iv_bytes, aead }; \
\
        return aesop_cipher_get_params(params, &traits); \
    } \
    const OSSL_DISPATCH aesop_aes##bits##name##_functions[] = { \
        { OSSL_FUNC_CIPHER_NEWCTX, (void (*)(void))name##_newctx_##bits }, \
        { OSSL_FUNC_CIPHER_FREECTX, (void (*)(void))name##_freectx }, \
        { OSSL_FUNC_CIPHER_DUPCTX, (void (*)(void))name##_dupctx }, \
        { OSSL_FUNC_CIPHER_ENCRYPT_INIT, (void (*)(void))name##_encrypt_init }, \
        { OSSL_FUNC_CIPHER_DECRYPT_INIT, (void (*)(void))name##_decrypt_init }, \
        { OSSL_FUNC_CIPHER_UPDATE, (void (*)(void))name##_update }, \
        { OSSL_FUNC_CIPHER_FINAL, (void (*)(void))name##_final }, \
        { OSSL_FUNC_CIPHER_CIPHER, (void (*)(void))name##_cipher }, \
        { OSSL_FUNC_CIPHER_GET_PARAMS, (void (*)(void))name##_get_params_##bits }, \
        { OSSL_FUNC_CIPHER_GETTABLE_PARAMS, (void (*)(void))aesop_cipher_gettable_params }, \
        { OSSL_FUNC_CIPHER_GET_CTX_PARAMS, (void (*)(void))name##_get_ctx_params }, \
        { OSSL_FUNC_CIPHER_SET_CTX_PARAMS, (void (*)(void))name##_set_ctx_params }, \
        { OSSL_FUNC_CIPHER_GETTABLE_CTX_PARAMS, (void (*)(void))name##_gettable_ctx_params }, \
        { OSSL_FUNC_CIPHER_SETTABLE_CTX_PARAMS, (void (*)(void))name##_settable_ctx_params }, \
        { 0, NULL }, \
    };

#endif
