/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/keys.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include "cli/cli.h"
#include "cli/input.h"
#include "cli/output.h"

enum { MIN_KEY_BYTES = 16, MAX_FILE_BYTES = 2 * CLI_MAX_KEY_BYTES + 2 };

/* The length without white space at the end, if the rest is hexadecimal digits; otherwise 0. */
static size_t count_digits(const uint8_t *text, size_t len)
{
    while (len > 0 && isspace(text[len - 1]))
        len--;
    for (size_t i = 0; i < len; i++)
        if (!isxdigit(text[i]))
            return 0;
    return len;
}

/*
 * A random key that consists of hexadecimal digits alone does not occur, so a file of these is one of digits, also
 * where one is missing: it must not pass for a raw key then. Returns the key's length, or 0.
 */
static size_t decode_key(uint8_t out[CLI_MAX_KEY_BYTES], const uint8_t *text, size_t len)
{
    const size_t digits = count_digits(text, len), bytes = digits > 0 ? digits / 2 : len;

    if (bytes > CLI_MAX_KEY_BYTES || digits % 2 != 0)
        return 0;
    if (digits == 0)
        memcpy(out, text, bytes);
    for (size_t i = 0; i < digits; i += 2) {
        const char pair[] = { (char)text[i], (char)text[i + 1], '\0' };

        out[i / 2] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return bytes;
}

int cli_key_read(struct cli_key *key, const char *path, int quiet)
{
    uint8_t text[MAX_FILE_BYTES + 1];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    int status = CLI_OK;
    struct stat st;
    ssize_t len;

    if (fd < 0 || fstat(fd, &st) != 0 || (len = cli_read_full(fd, text, sizeof text)) < 0) {
        status = cli_fail(CLI_SYSTEM, "key file %s: %s", path, strerror(errno));
        goto done;
    }
    if (!quiet && S_ISREG(st.st_mode) && (st.st_mode & 077) != 0)
        cli_fail(CLI_OK, "warning: others can read the key file %s (mode %04o); \"chmod 600\" ends that", path,
                 (unsigned)st.st_mode & 07777);
    key->len = decode_key(key->bytes, text, (size_t)len);
    if (key->len < MIN_KEY_BYTES)
        status = cli_fail(CLI_USAGE,
                          "key file %s: it has to hold %d to %d bytes, raw or as hexadecimal digits; \"aesop keygen -o "
                          "FILE\" makes one",
                          path, MIN_KEY_BYTES, CLI_MAX_KEY_BYTES);
done:
    OPENSSL_cleanse(text, sizeof text);
    if (fd >= 0)
        close(fd);
    return status;
}

/* --- passphrases -------------------------------------------------------------------------------------------------- */

static int check_passphrase(const char *out, const char *source)
{
    if (*out == '\0')
        return cli_fail(CLI_USAGE, "the passphrase (%s) is empty", source);
    return CLI_OK;
}

static int copy_passphrase(char out[CLI_MAX_PASSPHRASE_BYTES], const char *text, const char *source)
{
    if (text == NULL)
        return cli_fail(CLI_USAGE, "--pass: there is no variable %s in the environment", source);
    if (strlen(text) >= CLI_MAX_PASSPHRASE_BYTES)
        return cli_fail(CLI_USAGE, "the passphrase is longer than %d bytes", CLI_MAX_PASSPHRASE_BYTES - 1);
    strcpy(out, text);
    return check_passphrase(out, source);
}

/* The first line, byte by byte: what follows it on standard input may be the text to seal. */
static int read_line(char out[CLI_MAX_PASSPHRASE_BYTES], int fd, const char *source)
{
    size_t len = 0;
    ssize_t n;
    char c;

    while ((n = cli_read_full(fd, &c, 1)) == 1 && c != '\n') {
        if (len == CLI_MAX_PASSPHRASE_BYTES - 1 || c == '\0')
            return cli_fail(CLI_USAGE, "the passphrase (%s) has to be a text of less than %d bytes", source,
                            CLI_MAX_PASSPHRASE_BYTES);
        out[len++] = c;
    }
    if (n < 0)
        return cli_fail(CLI_SYSTEM, "the passphrase (%s): %s", source, strerror(errno));
    if (len > 0 && out[len - 1] == '\r')
        len--;
    out[len] = '\0';
    return check_passphrase(out, source);
}

static int read_file(char out[CLI_MAX_PASSPHRASE_BYTES], const char *path, const char *source)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    int status;

    if (fd < 0)
        return cli_fail(CLI_SYSTEM, "the passphrase (%s): %s", source, strerror(errno));
    status = read_line(out, fd, source);
    close(fd);
    return status;
}

static int ask(char out[CLI_MAX_PASSPHRASE_BYTES], int is_new)
{
    const int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);

    /* Without one libcrypto would read standard input, which is the text. */
    if (terminal < 0)
        return cli_fail(CLI_USAGE, "no key: there is no terminal to ask for a passphrase; see --key and --pass");
    close(terminal);
    if (EVP_read_pw_string_min(out, 1, CLI_MAX_PASSPHRASE_BYTES - 1, "Passphrase: ", is_new) != 0)
        return cli_fail(CLI_USAGE, "no passphrase");
    return CLI_OK;
}

int cli_passphrase_read(char out[CLI_MAX_PASSPHRASE_BYTES], const char *source, int is_new)
{
    const char *text;

    if (source == NULL)
        return ask(out, is_new);
    if (strcmp(source, "stdin") == 0)
        return read_line(out, STDIN_FILENO, source);
    text = strchr(source, ':');
    if (text != NULL) {
        const size_t kind = (size_t)(++text - source);

        if (strncmp(source, "pass:", kind) == 0) {
            const int status = copy_passphrase(out, text, "pass:");

            /* Gone from the list of processes. */
            OPENSSL_cleanse((char *)text, strlen(text));
            return status;
        }
        if (strncmp(source, "env:", kind) == 0)
            return copy_passphrase(out, getenv(text), text);
        if (strncmp(source, "file:", kind) == 0)
            return read_file(out, text, source);
        if (strncmp(source, "fd:", kind) == 0 && isdigit((unsigned char)*text) && strlen(text) < 6)
            return read_line(out, atoi(text), source);
    }
    return cli_fail(CLI_USAGE, "--pass: pass:TEXT, env:NAME, file:FILE, fd:N or stdin is expected");
}

int cli_key_derive(struct cli_key *key, AESOP_RESOLVER *resolver, const char *passphrase, const struct cli_header *h)
{
    uint64_t n = (uint64_t)1 << h->log_n, max_bytes = UINT64_MAX;
    uint32_t r = h->r, p = h->p;
    const OSSL_PARAM params[] = {
        OSSL_PARAM_octet_string(OSSL_KDF_PARAM_PASSWORD, (void *)passphrase, strlen(passphrase)),
        OSSL_PARAM_octet_string(OSSL_KDF_PARAM_SALT, (void *)h->salt, sizeof h->salt),
        OSSL_PARAM_uint64(OSSL_KDF_PARAM_SCRYPT_N, &n),
        OSSL_PARAM_uint32(OSSL_KDF_PARAM_SCRYPT_R, &r),
        OSSL_PARAM_uint32(OSSL_KDF_PARAM_SCRYPT_P, &p),
        OSSL_PARAM_uint64(OSSL_KDF_PARAM_SCRYPT_MAXMEM, &max_bytes), /* header.c bounds it */
        OSSL_PARAM_END,
    };
    EVP_KDF *kdf = AESOP_RESOLVER_get0_kdf(resolver, "SCRYPT", NULL);
    EVP_KDF_CTX *ctx = kdf != NULL ? EVP_KDF_CTX_new(kdf) : NULL;
    int status = CLI_OK;

    key->len = h->cipher->key_bytes;
    if (ctx == NULL || EVP_KDF_derive(ctx, key->bytes, key->len, params) <= 0)
        status = cli_fail_crypto(CLI_SYSTEM, "scrypt with %llu MiB of memory", (unsigned long long)(n * r / 8192));
    EVP_KDF_CTX_free(ctx);
    return status;
}

/* --- keygen ------------------------------------------------------------------------------------------------------- */

int cli_keygen(const struct cli_options *options)
{
    const struct cli_cipher *cipher = cli_cipher_find(options->cipher);
    uint8_t key[CLI_MAX_KEY_BYTES];
    char text[2 * CLI_MAX_KEY_BYTES + 2];
    struct cli_output output;
    int status;

    if (cipher == NULL)
        return CLI_USAGE;
    status = cli_output_open(&output, options->output, options->force, 0600, options->raw);
    if (status != CLI_OK)
        return status;
    if (RAND_priv_bytes(key, (int)cipher->key_bytes) != 1) {
        status = cli_fail_crypto(CLI_SYSTEM, "no random bytes");
    } else {
        for (size_t i = 0; i < cipher->key_bytes; i++)
            snprintf(text + 2 * i, 3, "%02x", key[i]);
        strcat(text, "\n");
        status = cli_output_write(&output, options->raw ? (const void *)key : text,
                                  options->raw ? cipher->key_bytes : strlen(text));
    }
    OPENSSL_cleanse(key, sizeof key);
    OPENSSL_cleanse(text, sizeof text);
    return cli_output_close(&output, status);
}
