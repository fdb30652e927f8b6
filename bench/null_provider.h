/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A provider whose AES-128-GCM and AES-128-CBC do nothing: what a message costs with it is EVP's own share.
 */
#ifndef AESOP_BENCH_NULL_PROVIDER_H
#define AESOP_BENCH_NULL_PROVIDER_H

#include <openssl/crypto.h>

/* A library context with that provider and default, it preferred. Ends the program where that fails. */
OSSL_LIB_CTX *null_provider_ctx(void);

#endif
