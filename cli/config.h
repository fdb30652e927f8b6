/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with an openssl.cnf, as far as aesop is concerned: libcrypto itself says nothing about most of it. */
#ifndef AESOP_CLI_CONFIG_H
#define AESOP_CLI_CONFIG_H

struct cli_findings {
    int quiet;   /* only faults are printed */
    int faults;  /* so far */
    int crashes; /* loading the module would end this program too */
};

/* Print one line each: what is the case, and (fault, note) what to do about it. */
void cli_found_ok(struct cli_findings *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cli_found_note(struct cli_findings *f, const char *fix, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void cli_found_fault(struct cli_findings *f, const char *fix, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Looks at the file, at the module it names, and at who serves under it in a library context of its own. */
void cli_config_check(struct cli_findings *f, const char *path);

#endif
