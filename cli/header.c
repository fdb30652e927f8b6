/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/header.h"

#include <string.h>
#include <strings.h>

#include "cli/cli.h"

enum { VERSION = 1, MAGIC_BYTES = 6 };
enum { AT_VERSION = 6, AT_FORMAT, AT_CIPHER, AT_KDF, AT_LOG_N, AT_R, AT_P, AT_ZERO, AT_SEGMENT = 16, AT_SALT = 20 };

/* The last one ends a listing on terminals that know it. */
static const uint8_t magic[MAGIC_BYTES] = { 'a', 'e', 's', 'o', 'p', 0x1a };
static const uint8_t zeros[CLI_SALT_BYTES];

static const struct cli_cipher ciphers[] = {
    { 1, "AES-128-GCM", 16 },
    { 2, "AES-256-GCM", 32 },
    { 3, "ChaCha20-Poly1305", 32 },
};
enum { CIPHERS = sizeof ciphers / sizeof ciphers[0] };

const struct cli_cipher *cli_cipher_find(const char *name)
{
    if (name == NULL)
        name = "AES-256-GCM";
    for (size_t i = 0; i < CIPHERS; i++)
        if (strcasecmp(name, ciphers[i].name) == 0)
            return &ciphers[i];
    cli_fail(CLI_USAGE, "--cipher %s: AES-256-GCM, AES-128-GCM or ChaCha20-Poly1305 is expected", name);
    return NULL;
}

static const struct cli_cipher *cipher_of(uint8_t id)
{
    for (size_t i = 0; i < CIPHERS; i++)
        if (ciphers[i].id == id)
            return &ciphers[i];
    return NULL;
}

void cli_header_encode(uint8_t out[CLI_HEADER_BYTES], const struct cli_header *h)
{
    memset(out, 0, CLI_HEADER_BYTES);
    memcpy(out, magic, sizeof magic);
    out[AT_VERSION] = VERSION;
    out[AT_FORMAT] = (uint8_t)h->message;
    out[AT_CIPHER] = h->cipher->id;
    out[AT_KDF] = (uint8_t)h->kdf;
    out[AT_LOG_N] = h->log_n;
    out[AT_R] = h->r;
    out[AT_P] = h->p;
    for (size_t i = 0; i < 4; i++)
        out[AT_SEGMENT + i] = (uint8_t)(h->segment_bytes >> (24 - 8 * i));
    memcpy(out + AT_SALT, h->salt, sizeof h->salt);
}

static int kdf_is_sound(const struct cli_header *h)
{
    if (h->kdf == CLI_KDF_NONE)
        return h->log_n == 0 && h->r == 0 && h->p == 0 && memcmp(h->salt, zeros, sizeof h->salt) == 0;
    return h->kdf == CLI_KDF_SCRYPT && h->log_n >= CLI_MIN_LOG_N && h->log_n <= CLI_MAX_LOG_N && h->r >= 1 &&
           h->r <= CLI_MAX_R && h->p >= 1 && h->p <= CLI_MAX_P;
}

const char *cli_header_decode(struct cli_header *h, const uint8_t in[CLI_HEADER_BYTES])
{
    if (memcmp(in, magic, sizeof magic) != 0)
        return "not made by \"aesop seal\"; a bare stream or message is opened with --raw";
    if (in[AT_VERSION] != VERSION)
        return "made by another version of \"aesop seal\", which this one does not know";
    *h = (struct cli_header){
        .cipher = cipher_of(in[AT_CIPHER]),
        .message = in[AT_FORMAT],
        .kdf = in[AT_KDF],
        .log_n = in[AT_LOG_N],
        .r = in[AT_R],
        .p = in[AT_P],
    };
    for (size_t i = 0; i < 4; i++)
        h->segment_bytes = h->segment_bytes << 8 | in[AT_SEGMENT + i];
    memcpy(h->salt, in + AT_SALT, sizeof h->salt);
    if (h->cipher == NULL || h->message > 1 || memcmp(in + AT_ZERO, zeros, AT_SEGMENT - AT_ZERO) != 0)
        return "its header is damaged, or of another version";
    if (h->message ? h->segment_bytes != 0 : h->segment_bytes < CLI_MIN_SEGMENT || h->segment_bytes > CLI_MAX_SEGMENT)
        return "its header is damaged: the segment size is out of range";
    if (!kdf_is_sound(h))
        return "its header is damaged: the scrypt parameters are out of range";
    return NULL;
}
