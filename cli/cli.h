/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command. One file per concern; everything that ends a command returns a status and has said why on stderr.
 *
 *     main.c      options, help             doctor.c    who serves the ciphers, and why
 *     seal.c      seal, open, verify        conf.c      prints and checks a configuration
 *     header.c    what stands in front      config.c    what is wrong with a configuration file
 *     keys.c      key files, passphrases, keygen
 *     input.c, output.c   files             process.c   what a running program has loaded
 *     progress.c  the bar                   served.c    who serves what in a library context
 *     sequential.c, parallel.c   the work: bytes in order from anywhere, or segments of a file in any order
 */
#ifndef AESOP_CLI_CLI_H
#define AESOP_CLI_CLI_H

#include <stddef.h>
#include <stdint.h>

enum cli_status {
    CLI_OK = 0,
    CLI_NOT_AUTHENTIC = 1, /* changed, truncated, another key; doctor and conf --check: something is wrong */
    CLI_USAGE = 2,         /* the command line, key or passphrase cannot be used */
    CLI_SYSTEM = 3,        /* files, memory, libcrypto */
};

struct cli_options {
    const char *input, *output, *key_file, *pass, *cipher, *aad, *module, *kernel;
    size_t segment_bytes, threads, work_factor; /* 0: not given */
    int force, quiet, verbose, raw, message, node, check;
};

typedef int cli_command_fn(const struct cli_options *options);
cli_command_fn cli_seal, cli_open, cli_verify, cli_keygen, cli_doctor, cli_conf;

/* Prints "aesop: ..." to stderr; returns status. */
int cli_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with the newest text of libcrypto's error queue, which is emptied. */
int cli_fail_crypto(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
