/* SPDX-License-Identifier: Apache-2.0 */
/* An addon for Node.js: cipher(NAME) and digest(NAME) give the name of the provider that serves, or "none". */
#include <node_api.h>
#include <openssl/evp.h>
#include <openssl/provider.h>

static napi_value answer(napi_env env, const OSSL_PROVIDER *provider)
{
    napi_value result = NULL;

    napi_create_string_utf8(env, provider != NULL ? OSSL_PROVIDER_get0_name(provider) : "none", NAPI_AUTO_LENGTH,
                            &result);
    return result;
}

/* The call's first argument, as a string. */
static void first_argument(napi_env env, napi_callback_info info, char *text, size_t size)
{
    size_t count = 1;
    napi_value argument;

    text[0] = '\0';
    if (napi_get_cb_info(env, info, &count, &argument, NULL, NULL) == napi_ok && count == 1)
        napi_get_value_string_utf8(env, argument, text, size, NULL);
}

static napi_value serves_cipher(napi_env env, napi_callback_info info)
{
    char name[64];
    EVP_CIPHER *cipher;
    napi_value result;

    first_argument(env, info, name, sizeof name);
    cipher = EVP_CIPHER_fetch(NULL, name, NULL);
    result = answer(env, cipher != NULL ? EVP_CIPHER_get0_provider(cipher) : NULL);
    EVP_CIPHER_free(cipher);
    return result;
}

static napi_value serves_digest(napi_env env, napi_callback_info info)
{
    char name[64];
    EVP_MD *digest;
    napi_value result;

    first_argument(env, info, name, sizeof name);
    digest = EVP_MD_fetch(NULL, name, NULL);
    result = answer(env, digest != NULL ? EVP_MD_get0_provider(digest) : NULL);
    EVP_MD_free(digest);
    return result;
}

NAPI_MODULE_INIT()
{
    static const napi_property_descriptor functions[] = {
        { "cipher", NULL, serves_cipher, NULL, NULL, NULL, napi_default, NULL },
        { "digest", NULL, serves_digest, NULL, NULL, NULL, napi_default, NULL },
    };

    napi_define_properties(env, exports, sizeof functions / sizeof functions[0], functions);
    return exports;
}
