/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HKDF (RFC 5869) that allocates nothing.
 *
 * EVP_KDF and EVP_MAC allocate in every derivation, and EVP_DigestInit_ex of OpenSSL 3.0 for every hash; a stream takes
 * a new key for each reset. So this stands on libcrypto's SHA functions themselves, whose contexts are plain structs.
 */
#ifndef AESOP_STREAMS_HKDF_H
#define AESOP_STREAMS_HKDF_H

#include <stddef.h>
#include <stdint.h>

struct aesop_hash;

/* The hash of that name ("SHA256", "SHA2-256", "SHA-256", ... 512), or NULL. */
const struct aesop_hash *aesop_hash_find(const char *name);

/* out_len is at most 255 times the hash's length. Pieces of no bytes may be NULL. */
void aesop_hkdf(const struct aesop_hash *hash, uint8_t *out, size_t out_len, const uint8_t *key, size_t key_len,
                const uint8_t *salt, size_t salt_len, const uint8_t *info, size_t info_len);

#endif
