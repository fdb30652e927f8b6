/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/served.h"

#include <stdio.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>

const char *const cli_served_ciphers[] = { "AES-128-GCM", "AES-192-GCM", "AES-256-GCM", "AES-128-CBC",
                                           "AES-192-CBC", "AES-256-CBC", NULL };

static const char *copy_name(char out[CLI_NAME_BYTES], const OSSL_PROVIDER *provider)
{
    snprintf(out, CLI_NAME_BYTES, "%s", provider != NULL ? OSSL_PROVIDER_get0_name(provider) : "nobody");
    ERR_clear_error();
    return out;
}

const char *cli_cipher_server(char out[CLI_NAME_BYTES], OSSL_LIB_CTX *ctx, const char *name, const char *query)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(ctx, name, query);

    copy_name(out, cipher != NULL ? EVP_CIPHER_get0_provider(cipher) : NULL);
    EVP_CIPHER_free(cipher);
    return out;
}

const char *cli_digest_server(char out[CLI_NAME_BYTES], OSSL_LIB_CTX *ctx, const char *name)
{
    EVP_MD *digest = EVP_MD_fetch(ctx, name, NULL);

    copy_name(out, digest != NULL ? EVP_MD_get0_provider(digest) : NULL);
    EVP_MD_free(digest);
    return out;
}

int cli_aesop_serves_all(OSSL_LIB_CTX *ctx)
{
    char name[CLI_NAME_BYTES];

    for (const char *const *cipher = cli_served_ciphers; *cipher != NULL; cipher++)
        if (strcmp(cli_cipher_server(name, ctx, *cipher, NULL), "aesop") != 0)
            return 0;
    return 1;
}

const char *cli_provider_kernel(const OSSL_PROVIDER *provider)
{
    char *kernel = NULL;
    OSSL_PARAM params[] = { OSSL_PARAM_utf8_ptr("kernel", &kernel, 0), OSSL_PARAM_END };

    return OSSL_PROVIDER_get_params(provider, params) ? kernel : NULL;
}
