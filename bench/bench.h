/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every benchmark shares: subjects measured in turn, medians and spread, a table and CSV, the machine's name.
 *
 * Machines are noisy and differ: subjects run in short alternating slices, the figure of one is the median of its
 * slices, and the ratio of two is the median of the ratios of neighbouring slices. Slices that others disturb do
 * not count where there are enough quiet ones (quiet.h).
 */
#ifndef AESOP_BENCH_BENCH_H
#define AESOP_BENCH_BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <openssl/crypto.h>

#include "bench/options.h"

#define BENCH_MAX_SUBJECTS 24
#define BENCH_ROUNDS_MAX 2000

/* A list as people have it: much like the one of the JDK for TLS. */
#define BENCH_CONSTRAINTS \
    "SSLv3, TLSv1, TLSv1.1, DTLSv1.0, RC4, DES, MD5withRSA, DH keySize < 1024, EC keySize < 224, 3DES_EDE_CBC, anon, " \
    "NULL, ECDH, TLS_RSA_*"

struct bench_subject {
    void (*run)(void *arg, size_t count); /* does the operation count times */
    void *arg;

    /* Results, ns per operation. */
    double median, quartile1, quartile3;
    double ratio; /* median over the rounds of subject 0's time divided by this one's: above 1 is faster than it */
};

/* Seconds since some moment; of this thread's own time. */
double bench_now(void);
double bench_thread_now(void);

/* ns per operation in one go of that many. */
double bench_once(const struct bench_subject *subject, size_t count);
/* The median; sorts the values. */
double bench_median(double values[], size_t count);

/* Measures the subjects for about `seconds` in all. */
void bench_measure(struct bench_subject subjects[], size_t count, double seconds);
/* The distance of the quartiles in percent of the median. */
double bench_spread(const struct bench_subject *measured);

/* Takes the command line (see options.h), then names the machine and the versions. */
void bench_init(int argc, char **argv, const char *question, const struct bench_option options[]);

/* That many bytes of text, or for CBC the whole blocks in them, one at least. */
size_t bench_text_bytes(const char *cipher, size_t bytes);

/* Ends the program, with OpenSSL's errors, where something failed. */
void bench_check(int ok, const char *what);
/* Page-aligned memory, all of it touched, for free(). */
unsigned char *bench_alloc(size_t size);

/* One row of the table and of the CSV file, tab-separated fields by printf format; the first row is the heading. */
void bench_row(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A library context with aesop on that kernel, or "auto", from the folder AESOP_MODULE_DIR; one with default alone. */
OSSL_LIB_CTX *bench_ctx_aesop(const char *kernel);
OSSL_LIB_CTX *bench_ctx_default(void);

#endif
