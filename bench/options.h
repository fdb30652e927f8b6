/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a benchmark, declared as a table: checked before anything is measured, and told by --help. */
#ifndef AESOP_BENCH_OPTIONS_H
#define AESOP_BENCH_OPTIONS_H

#include <stddef.h>

#define BENCH_LIST_MAX 32

/*
 * An option "--name value". Its value is one of `words` (separated by commas) where there are any, else a number from
 * `least` to `most` where `most` is not 0, else the name of a file; with `list` several of those, separated by commas.
 */
struct bench_option {
    const char *name, *otherwise; /* the value where it is not given; NULL: none */
    const char *says;             /* for --help; may be NULL */
    const char *words;
    double least, most; /* whole numbers, unless `fractions` */
    int list, fractions;
};

#define BENCH_CIPHERS "AES-128-GCM,AES-192-GCM,AES-256-GCM,AES-128-CBC,AES-192-CBC,AES-256-CBC"
#define BENCH_DIRECTIONS "encrypt,decrypt"
#define BENCH_KERNELS "aesni,vaes256,vaes512"
#define BENCH_MAX_BYTES 1073741824

/*
 * Takes the command line: these options, which end with one that has no name, and --seconds, --patience and --csv.
 * Says for --help what there is, and ends the program with status 2 where something is wrong.
 */
void bench_options_read(int argc, char **argv, const char *question, const struct bench_option options[]);

/* What an option came to: the items of a list, or its one value. */
struct bench_list {
    const char *items[BENCH_LIST_MAX]; /* NULL where there is no value */
    size_t numbers[BENCH_LIST_MAX];    /* their values; of words, the index */
    size_t count;
};
const struct bench_list *bench_list(const char *name);
const char *bench_text(const char *name);
size_t bench_number(const char *name);
double bench_fraction(const char *name);
double bench_seconds(void);

/* Ends the program with status 2: what is allowed instead of the value that this option has. */
_Noreturn void bench_refuse(const char *name, const char *value, const char *allowed);

#endif
