/* SPDX-License-Identifier: Apache-2.0 */
/* Who serves what in a library context, and what a provider tells about itself. */
#ifndef AESOP_CLI_SERVED_H
#define AESOP_CLI_SERVED_H

#include <stddef.h>

#include <openssl/provider.h>

#define CLI_NAME_BYTES 64

/* What aesop offers; the list ends with NULL. */
extern const char *const cli_served_ciphers[];

/* The provider's name, or "nobody". Returns out. ctx NULL: this process' default. */
const char *cli_cipher_server(char out[CLI_NAME_BYTES], OSSL_LIB_CTX *ctx, const char *cipher, const char *query);
const char *cli_digest_server(char out[CLI_NAME_BYTES], OSSL_LIB_CTX *ctx, const char *digest);
/* Returns 1 where aesop serves all its ciphers. */
int cli_aesop_serves_all(OSSL_LIB_CTX *ctx);

/* The kernel in use, or NULL where the provider has no such parameter. */
const char *cli_provider_kernel(const OSSL_PROVIDER *provider);

#endif
