/* SPDX-License-Identifier: Apache-2.0 */
/* Keys: out of files, out of passphrases, and new ones. Each function returns a cli_status and has said why. */
#ifndef AESOP_CLI_KEYS_H
#define AESOP_CLI_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include <aesop/resolver.h>

#include "cli/header.h"

#define CLI_MAX_KEY_BYTES 64
#define CLI_MAX_PASSPHRASE_BYTES 1024

struct cli_key {
    uint8_t bytes[CLI_MAX_KEY_BYTES];
    size_t len;
};

/* From a file of raw bytes or hexadecimal digits. Warns where others can read it, unless quiet. */
int cli_key_read(struct cli_key *key, const char *path, int quiet);

/* Takes a text out of where `source` says (the syntax of OpenSSL's -pass), or NULL: asks, twice where it is new. */
int cli_passphrase_read(char out[CLI_MAX_PASSPHRASE_BYTES], const char *source, int is_new);

/* Derives the cipher's key as the header says. */
int cli_key_derive(struct cli_key *key, AESOP_RESOLVER *resolver, const char *passphrase,
                   const struct cli_header *header);

#endif
