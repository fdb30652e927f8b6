/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `aesop seal` puts in front of a stream or message, so that `open` knows how it was made:
 *
 *     0      6         7        8        9     10      11  12  13         16             20        36
 *     | magic | version | format | cipher | kdf | log2 N | r | p | 0  0  0 | segment size | salt    | ...
 *       6       1         1        1        1     1        1   1   3         4, big-endian  16
 *
 * All of it is a part of the associated data, in front of the user's: whoever changes a byte of it gets an error.
 * Without a passphrase log2 N, r, p and salt are zero, without segments the segment size is.
 */
#ifndef AESOP_CLI_HEADER_H
#define AESOP_CLI_HEADER_H

#include <stddef.h>
#include <stdint.h>

#define CLI_HEADER_BYTES 36
#define CLI_SALT_BYTES 16
#define CLI_MIN_SEGMENT ((size_t)64)
#define CLI_MAX_SEGMENT ((size_t)16777216)

/*
 * A header is read before it can be verified, so what it may ask for is bounded: 1 GiB for scrypt, four times the work
 * of one pass over that, two segments per thread.
 */
#define CLI_MIN_LOG_N 10
#define CLI_MAX_LOG_N 20
#define CLI_MAX_R 8
#define CLI_MAX_P 4

enum cli_kdf { CLI_KDF_NONE = 0, CLI_KDF_SCRYPT = 1 };

struct cli_cipher {
    uint8_t id;
    const char *name;
    size_t key_bytes;
};
/* By its name, in any case; NULL: the default. Returns NULL where there is no such one, and has said so. */
const struct cli_cipher *cli_cipher_find(const char *name);

struct cli_header {
    const struct cli_cipher *cipher;
    int message;
    enum cli_kdf kdf;
    uint8_t log_n, r, p;
    size_t segment_bytes;
    uint8_t salt[CLI_SALT_BYTES];
};

void cli_header_encode(uint8_t out[CLI_HEADER_BYTES], const struct cli_header *header);
/* Returns NULL, or what is wrong. */
const char *cli_header_decode(struct cli_header *header, const uint8_t in[CLI_HEADER_BYTES]);

#endif
