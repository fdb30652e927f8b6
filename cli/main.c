/* SPDX-License-Identifier: Apache-2.0 */
/* Options: one table, from which parsing and help are made. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/err.h>

#include "cli/cli.h"
#include "cli/header.h"

enum { SEAL = 1, OPEN = 2, VERIFY = 4, KEYGEN = 8, DOCTOR = 16, CONFIG = 32, CRYPT = SEAL | OPEN | VERIFY };

static const struct command {
    const char *name;
    unsigned bit;
    cli_command_fn *run;
    const char *operands, *summary;
} commands[] = {
    { "seal", SEAL, cli_seal, "[FILE]", "encrypt and authenticate FILE, or standard input" },
    { "open", OPEN, cli_open, "[FILE]", "decrypt what seal made; only verified text comes out" },
    { "verify", VERIFY, cli_verify, "[FILE]", "like open, but write nothing" },
    { "keygen", KEYGEN, cli_keygen, "", "make a random key" },
    { "doctor", DOCTOR, cli_doctor, "[PID]", "which provider serves AES here, and why, or what a process has loaded" },
    { "conf", CONFIG, cli_conf, "[FILE]", "print an openssl.cnf that switches aesop on, or check FILE" },
};

#define AT(field) offsetof(struct cli_options, field)

static const struct option_row {
    int letter; /* above 255: none */
    const char *name, *argument, *help;
    unsigned commands;
    size_t offset;
    size_t min, max; /* of a number; 0, 0: a text, or without an argument a flag */
} rows[] = {
    { 'k', "key", "FILE", "the key: raw bytes or hexadecimal digits", CRYPT, AT(key_file), 0, 0 },
    { 'p', "pass", "SOURCE", "passphrase: pass:TEXT, env:NAME, file:FILE, fd:N or stdin", CRYPT, AT(pass), 0, 0 },
    { 'a', "aad", "TEXT", "associated data, which seal and open must agree on", CRYPT, AT(aad), 0, 0 },
    { 'o', "output", "FILE", "write to FILE (default: standard output)", SEAL | OPEN | KEYGEN | CONFIG, AT(output), 0,
      0 },
    { 'f', "force", NULL, "overwrite FILE; write to a terminal", SEAL | OPEN | KEYGEN | CONFIG, AT(force), 0, 0 },
    { 'c', "cipher", "NAME", "AES-256-GCM (default), AES-128-GCM or ChaCha20-Poly1305", CRYPT | KEYGEN, AT(cipher), 0,
      0 },
    { 's', "segment-size", "BYTES", "of a segment with its tag (default 64K)", CRYPT, AT(segment_bytes),
      CLI_MIN_SEGMENT, CLI_MAX_SEGMENT },
    { 'j', "threads", "N", "for large files (default: one per processor)", CRYPT, AT(threads), 1, 256 },
    { 1000, "work-factor", "N", "scrypt does 2^N rounds for a passphrase (default 17)", SEAL, AT(work_factor),
      CLI_MIN_LOG_N, CLI_MAX_LOG_N },
    { 'r', "raw", NULL, "a bare stream or message, without the header; keygen: bytes, not digits", CRYPT | KEYGEN,
      AT(raw), 0, 0 },
    { 'm', "message", NULL, "one message with one tag instead of segments", CRYPT, AT(message), 0, 0 },
    { 1001, "module", "FILE", "the module's path, for the configuration", CONFIG, AT(module), 0, 0 },
    { 1002, "kernel", "NAME", "auto, vaes512, vaes256 or aesni, for the configuration", CONFIG, AT(kernel), 0, 0 },
    { 1003, "node", NULL, "make Node.js read the configuration too", CONFIG, AT(node), 0, 0 },
    { 1004, "check", NULL, "say what is wrong with FILE (default: the one in use)", CONFIG, AT(check), 0, 0 },
    { 'q', "quiet", NULL, "no progress, no results, no warnings", CRYPT | DOCTOR | CONFIG, AT(quiet), 0, 0 },
    { 'v', "verbose", NULL, "say which provider serves, and how much was done", CRYPT, AT(verbose), 0, 0 },
    { 'h', "help", NULL, "this text", ~0U, SIZE_MAX, 0, 0 },
};

enum { COMMANDS = sizeof commands / sizeof commands[0], ROWS = sizeof rows / sizeof rows[0] };

static void say(const char *format, va_list args)
{
    fputs("aesop: ", stderr);
    vfprintf(stderr, format, args);
}

int cli_fail(int status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(format, args);
    va_end(args);
    fputc('\n', stderr);
    return status;
}

int cli_fail_crypto(int status, const char *format, ...)
{
    const char *text = "";
    const unsigned long code = ERR_peek_last_error_all(NULL, NULL, NULL, &text, NULL);
    const char *reason = ERR_reason_error_string(code);
    va_list args;

    va_start(args, format);
    say(format, args);
    va_end(args);
    fprintf(stderr, ": %s%s%s\n", reason != NULL ? reason : "libcrypto gives no reason", *text != '\0' ? ": " : "",
            text);
    ERR_clear_error();
    return status;
}

static void print_help(const struct command *command)
{
    if (command == NULL) {
        puts("Usage: aesop COMMAND [OPTION]... [FILE]\n");
        for (size_t i = 0; i < COMMANDS; i++)
            printf("  %-8s  %s\n", commands[i].name, commands[i].summary);
        puts("\naesop COMMAND --help lists its options; aesop --version says what this is. FILE may be \"-\".");
        return;
    }
    printf("Usage: aesop %s [OPTION]... %s\n%c%s.\n\n", command->name, command->operands,
           command->summary[0] - 'a' + 'A', command->summary + 1);
    for (const struct option_row *row = rows; row < rows + ROWS; row++) {
        char left[40];

        if ((row->commands & command->bit) == 0)
            continue;
        snprintf(left, sizeof left, "--%s%s%s", row->name, row->argument != NULL ? " " : "",
                 row->argument != NULL ? row->argument : "");
        printf("  %c%c%c %-20s  %s\n", row->letter < 256 ? '-' : ' ', row->letter < 256 ? row->letter : ' ',
               row->letter < 256 ? ',' : ' ', left, row->help);
    }
    puts("\nExit status: 0 done; 1 not authentic, or (doctor, conf --check) something is wrong; 2 usage; 3 system.");
}

/* A number with an optional K or M. */
static int parse_number(const struct option_row *row, const char *text, size_t *value)
{
    unsigned long long number;
    size_t unit = 1;
    char *end;

    errno = 0;
    number = strtoull(text, &end, 10);
    if (end != text && (*end == 'K' || *end == 'M'))
        unit = *end++ == 'K' ? 1024 : 1048576;
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || number > row->max / unit ||
        number * unit < row->min)
        return cli_fail(CLI_USAGE, "--%s %s: a number from %zu to %zu is expected", row->name, text, row->min,
                        row->max);
    *value = (size_t)number * unit;
    return CLI_OK;
}

static int take_option(struct cli_options *options, const struct option_row *row, char *argument)
{
    void *field = (char *)options + row->offset;

    if (row->argument == NULL)
        *(int *)field = 1;
    else if (row->max > 0)
        return parse_number(row, argument, field);
    else
        *(const char **)field = argument;
    return CLI_OK;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct cli_options options = { .input = NULL };
    struct option long_options[ROWS + 1] = { { 0 } };
    char letters[2 * ROWS + 2] = ":";
    int used = 0, letter;

    for (const struct option_row *row = rows; row < rows + ROWS; row++) {
        const int has_argument = row->argument != NULL;
        char *end = letters + strlen(letters);

        if ((row->commands & command->bit) == 0)
            continue;
        long_options[used++] = (struct option){ row->name, has_argument, NULL, row->letter };
        if (row->letter < 256)
            sprintf(end, "%c%s", row->letter, has_argument ? ":" : "");
    }
    opterr = 0;
    while ((letter = getopt_long(argc, argv, letters, long_options, NULL)) != -1) {
        const struct option_row *row = rows;
        int status;

        if (letter == 'h') {
            print_help(command);
            return CLI_OK;
        }
        /* A letter amid others is not the whole word; a word that getopt_long knows, but not with "=", is. */
        if (letter == '?' && optopt != 0 && optopt < 256 && strchr(letters, optopt) == NULL)
            return cli_fail(CLI_USAGE, "-%c is not an option here; \"aesop %s --help\" lists the options", optopt,
                            command->name);
        if (letter == '?' || letter == ':')
            return cli_fail(CLI_USAGE, "%s %s; \"aesop %s --help\" lists the options", argv[optind - 1],
                            letter == ':' ? "needs an argument" : "is not an option here", command->name);
        while (row->letter != letter)
            row++;
        status = take_option(&options, row, optarg);
        if (status != CLI_OK)
            return status;
    }
    if (argc - optind > (command->operands[0] != '\0'))
        return cli_fail(CLI_USAGE, "%s: too much; \"aesop %s --help\" says what is expected", argv[argc - 1],
                        command->name);
    options.input = optind < argc ? argv[optind] : NULL;
    return command->run(&options);
}

/*
 * A file that is opened where a standard stream is closed would take its number, and what is meant for it: warnings
 * amid a sealed file. Opened the wrong way round, they go on failing as closed ones do.
 */
static int occupy_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return 0;
    return 1;
}

int main(int argc, char **argv)
{
    int status;

    if (!occupy_standard_streams())
        return CLI_SYSTEM;
    if (argc < 2)
        return cli_fail(CLI_USAGE, "no command; \"aesop --help\" lists them");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(NULL);
        status = CLI_OK;
    } else if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("aesop " AESOP_VERSION ", with %s\n", OpenSSL_version(OPENSSL_VERSION));
        status = CLI_OK;
    } else {
        size_t i = 0;

        while (i < COMMANDS && strcmp(argv[1], commands[i].name) != 0)
            i++;
        if (i == COMMANDS)
            return cli_fail(CLI_USAGE, "%s is not a command; \"aesop --help\" lists them", argv[1]);
        status = run(&commands[i], argc - 1, argv + 1);
    }
    if (fflush(stdout) != 0 && status == CLI_OK)
        status = cli_fail(CLI_SYSTEM, "standard output: %s", strerror(errno));
    return status;
}
