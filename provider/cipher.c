/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/cipher.h"

#include <openssl/core_names.h>
#include <openssl/params.h>

#include "provider/params.h"

const OSSL_PARAM *aesop_cipher_gettable_params(void *provctx)
{
    static const OSSL_PARAM gettable[] = {
        OSSL_PARAM_uint(OSSL_CIPHER_PARAM_MODE, NULL),
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, NULL),
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_IVLEN, NULL),
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_BLOCK_SIZE, NULL),
        OSSL_PARAM_int(OSSL_CIPHER_PARAM_AEAD, NULL),
        OSSL_PARAM_int(OSSL_CIPHER_PARAM_CUSTOM_IV, NULL),
        OSSL_PARAM_int(OSSL_CIPHER_PARAM_CTS, NULL),
        OSSL_PARAM_int(OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK, NULL),
        OSSL_PARAM_int(OSSL_CIPHER_PARAM_HAS_RAND_KEY, NULL),
        OSSL_PARAM_int("encrypt-then-mac", NULL), /* newer than the headers of 3.0 */
        OSSL_PARAM_END,
    };

    (void)provctx;
    return gettable;
}

int aesop_cipher_get_params(OSSL_PARAM params[], const struct aesop_cipher_traits *traits)
{
    int ok = 1;

    for (OSSL_PARAM *p = params; ok && p != NULL && p->key != NULL; p++) {
        switch (aesop_param_find(p->key)) {
        case AESOP_PARAM_MODE:
            ok = aesop_param_set_uint(p, traits->mode);
            break;
        case AESOP_PARAM_KEYLEN:
            ok = aesop_param_set_size(p, traits->key_bytes);
            break;
        case AESOP_PARAM_IVLEN:
            ok = aesop_param_set_size(p, traits->iv_bytes);
            break;
        case AESOP_PARAM_BLOCKSIZE:
            ok = aesop_param_set_size(p, traits->block_bytes);
            break;
        case AESOP_PARAM_AEAD:
        case AESOP_PARAM_CUSTOM_IV:
            ok = aesop_param_set_uint(p, traits->aead);
            break;
        case AESOP_PARAM_CTS:
        case AESOP_PARAM_TLS1_MULTIBLOCK:
        case AESOP_PARAM_HAS_RAND_KEY:
        case AESOP_PARAM_ENC_THEN_MAC:
            ok = aesop_param_set_uint(p, 0);
            break;
        default:
            break;
        }
    }
    return ok;
}

int aesop_cipher_takes_key(const struct aesop_core *core, size_t key_len, uint8_t key_bytes)
{
    if (key_len != key_bytes)
        AESOP_RAISE(core, AESOP_R_INVALID_KEY_LENGTH, "%zu bytes, this cipher takes %d", key_len, key_bytes);
    return key_len == key_bytes;
}

int aesop_cipher_has_room(const struct aesop_core *core, size_t out_size, size_t len)
{
    if (out_size < len)
        AESOP_RAISE(core, AESOP_R_OUTPUT_BUFFER_TOO_SMALL, "%zu bytes, %zu needed", out_size, len);
    return out_size >= len;
}
