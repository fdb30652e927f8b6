/* SPDX-License-Identifier: Apache-2.0 */
/* What every cipher object shares: the properties of an algorithm that need no context. */
#ifndef AESOP_PROVIDER_CIPHER_H
#define AESOP_PROVIDER_CIPHER_H

#include <stddef.h>

#include <openssl/core.h>

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

#endif
