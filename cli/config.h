/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with an openssl.cnf, as far as aesop is concerned: libcrypto itself says nothing about most of it. */
#ifndef AESOP_CLI_CONFIG_H
#define AESOP_CLI_CONFIG_H

#define CLI_HOW_BYTES 48
/* What the parser of configurations takes for more than itself within a value. */
#define CLI_CONFIG_SIGNS "\\$#'\"`"

struct cli_findings {
    int quiet;   /* only faults are printed */
    int faults;  /* so far */
    int crashes; /* loading the file would end this program too */
};

/* Print one line each: what is the case, and (fault, note) what to do about it. */
void cli_found_ok(struct cli_findings *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cli_found_note(struct cli_findings *f, const char *fix, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void cli_found_fault(struct cli_findings *f, const char *fix, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns 1 with how a child ended that loaded a configuration file, or 0 where nothing happened to it. */
int cli_config_dies(char how[CLI_HOW_BYTES], const char *path);
#define CLI_DIES_FIX "install the module that it names anew; until then programs that read this file crash"

/* Where libcrypto looks for modules that are not named by a whole path. */
const char *cli_modules_folder(void);

/* Looks at the file, at the module it names, and at who serves under it in a library context of its own. */
void cli_config_check(struct cli_findings *f, const char *path);

#endif
