/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CBC records of SSL 3.0 to TLS 1.2 and DTLS: padding and MAC around the plaintext of one record, in place.
 * Neither encrypts nor decrypts; cipher_cbc.c does. Versions are wire values (TLS1_VERSION, ...).
 */
#ifndef AESOP_PROVIDER_TLS_CBC_H
#define AESOP_PROVIDER_TLS_CBC_H

#include <stddef.h>
#include <stdint.h>

#include "ciphers/kernels.h"
#include "provider/core.h"

#define AESOP_TLS_MAX_MAC_BYTES 64

/* What a record with bad padding gets instead of its MAC. Contains no pointer: may be copied as bytes. */
struct aesop_tls_random_mac {
    struct aesop_aes_key key;
    uint8_t counter[AESOP_BLOCK_BYTES];
};

/* Draws a key from the system. Returns 1, or 0 with an error raised. */
int aesop_tls_random_mac_init(struct aesop_tls_random_mac *random, const struct aesop_core *core,
                              const struct aesop_kernels *kernels);

/* Appends the padding to the len bytes of a record, which has room for 16 more. Returns the padded length. */
size_t aesop_tls_cbc_pad(uint8_t *record, size_t len, unsigned version);

/*
 * Takes a decrypted record of len bytes apart: *payload_len is what is left without explicit IV, MAC and padding; the
 * payload stays where it is, behind the explicit IV if the version has one. mac receives mac_len bytes.
 *
 * Returns 1, or 0, with no error raised, for a record that anyone can see is bad (version, lengths). Where the
 * padding is wrong, a record with a MAC returns 1 all the same, in the same time, with a random MAC, so that it
 * fails where a wrong MAC fails; without a MAC (encrypt-then-MAC has verified it before) it returns 0.
 */
int aesop_tls_cbc_unpad(struct aesop_tls_random_mac *random, const struct aesop_kernels *kernels,
                        uint8_t mac[AESOP_TLS_MAX_MAC_BYTES], size_t mac_len, size_t *payload_len,
                        const uint8_t *record, size_t len, unsigned version);

#endif
