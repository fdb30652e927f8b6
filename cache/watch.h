/* SPDX-License-Identifier: Apache-2.0 */
/* A provider without algorithms that is told when providers and default properties of its library context change. */
#ifndef AESOP_CACHE_WATCH_H
#define AESOP_CACHE_WATCH_H

#include <stdatomic.h>
#include <stdint.h>

#include <openssl/provider.h>

/*
 * Loads the provider into the context. Returns it, for OSSL_PROVIDER_unload, and in *generation a number that grows
 * with every change as long as the provider is loaded; all who watch one context share it. NULL with errors raised on
 * failure.
 */
OSSL_PROVIDER *aesop_watch_load(_Atomic uint64_t **generation, OSSL_LIB_CTX *libctx);

#endif
