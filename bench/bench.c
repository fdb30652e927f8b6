/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/bench.h"
#include "bench/quiet.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <openssl/conf.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>

/*
 * Long enough that reading the clock does not show and that the subject before has left the caches; short enough that
 * neighbours meet the same machine, and that a quiet moment holds one.
 */
#define SLICE_SECONDS 0.0002
/* Of each subject; that many quiet ones are enough too. */
#define ROUNDS_MIN 9
/* How long to wait before a slice: longer than most disturbances where they come and go. */
#define WAIT_SECONDS 0.005
/* How many times the seconds of --patience are waited in all of a program for what would not be enough otherwise. */
#define CREDIT_SHARE 10

#if defined(__clang__)
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

static FILE *csv;

static double read_clock(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double bench_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double bench_thread_now(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

/* What may be lost to others: seconds for each that is measured, and seconds in all beyond those. */
static double patience, credit;

/* Seconds of a slice, begun when nobody disturbs if that is soon; and whether nobody did. */
static double time_of(const struct bench_subject *s, size_t count, int *quiet)
{
    const double arrival = bench_now();

    while (!(*quiet = quiet_now()) && patience > 0 && bench_now() < arrival + WAIT_SECONDS)
        ;
    /* What other processes take from the CPU does not count. */
    const double start = bench_thread_now();
    s->run(s->arg, count);
    const double seconds = bench_thread_now() - start;
    *quiet = *quiet && quiet_now();
    return seconds;
}

static size_t operations_per_slice(const struct bench_subject *s)
{
    size_t count = 1;
    int quiet;

    for (;;) {
        const double t = time_of(s, count, &quiet);

        if (t >= SLICE_SECONDS / 2)
            return (size_t)((double)count * SLICE_SECONDS / t) + 1;
        count *= 2;
    }
}

double bench_once(const struct bench_subject *subject, size_t count)
{
    double seconds, lost = 0;
    int quiet;

    do {
        const double start = bench_now();
        seconds = time_of(subject, count, &quiet);
        lost += quiet ? 0 : bench_now() - start;
    } while (!quiet && lost < patience * seconds + credit);
    credit -= fmax(0, lost - patience * seconds);
    quiet_count(quiet);
    return seconds * 1e9 / (double)count;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double quantile(double values[], size_t count, double q)
{
    qsort(values, count, sizeof values[0], compare_doubles);
    return values[(size_t)(q * (double)(count - 1) + 0.5)];
}

double bench_median(double values[], size_t count)
{
    return quantile(values, count, 0.5);
}

/* ns of an operation in each slice, and which slices nobody disturbed. */
static struct slices {
    double ns[BENCH_ROUNDS_MAX];
    int quiet[BENCH_ROUNDS_MAX];
    size_t quiet_count;
} slices[BENCH_MAX_SUBJECTS];

static int enough_are_quiet(size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (slices[i].quiet_count < ROUNDS_MIN)
            return 0;
    return 1;
}

/* Of the quiet slices, if each subject has enough of them, else of all: each beside the last such of subject 0. */
static void summarize(struct bench_subject subjects[], size_t count, size_t rounds)
{
    static double ns[BENCH_ROUNDS_MAX], ratios[BENCH_ROUNDS_MAX];
    const int all = !enough_are_quiet(count);

    for (size_t i = 0; i < count; i++) {
        double beside = NAN;
        size_t n = 0;

        for (size_t round = 0; round < rounds; round++) {
            if (all || slices[0].quiet[round])
                beside = slices[0].ns[round];
            if ((all || slices[i].quiet[round]) && !isnan(beside)) {
                ns[n] = slices[i].ns[round];
                ratios[n] = beside / ns[n];
                quiet_count(slices[i].quiet[round]);
                n++;
            }
        }
        subjects[i].median = quantile(ns, n, 0.5);
        subjects[i].quartile1 = quantile(ns, n, 0.25);
        subjects[i].quartile3 = quantile(ns, n, 0.75);
        subjects[i].ratio = quantile(ratios, n, 0.5);
    }
}

void bench_measure(struct bench_subject subjects[], size_t count, double seconds)
{
    const double begin = bench_now(), may_be_lost = patience * seconds;
    size_t operations[BENCH_MAX_SUBJECTS], round = 0;
    double measured = 0, lost = 0; /* seconds of the slices that nobody disturbed, and all others */

    for (size_t i = 0; i < count; i++) {
        operations[i] = operations_per_slice(&subjects[i]);
        slices[i].quiet_count = 0;
    }
    while (round < ROUNDS_MIN || (round < BENCH_ROUNDS_MAX && measured < seconds &&
                                  lost < may_be_lost + (enough_are_quiet(count) ? 0 : credit))) {
        for (size_t i = 0; i < count; i++) {
            int *quiet = &slices[i].quiet[round];
            const double t = time_of(&subjects[i], operations[i], quiet);

            slices[i].ns[round] = t * 1e9 / (double)operations[i];
            slices[i].quiet_count += (size_t)*quiet;
            measured += *quiet ? t : 0;
        }
        round++;
        lost = bench_now() - begin - measured;
    }
    credit -= fmax(0, lost - may_be_lost);
    summarize(subjects, count, round);
}

double bench_spread(const struct bench_subject *measured)
{
    return 100 * (measured->quartile3 - measured->quartile1) / measured->median;
}

/* Cycles per ns at this moment: a multiplication takes three on every CPU that has AES instructions. */
static double measured_ghz(void)
{
    const uint64_t count = 3000000;
    const double start = bench_thread_now();
    uint64_t product = 3;

    for (uint64_t i = 0; i < count; i++) {
        product *= product;
        __asm__ volatile("" : "+r"(product));
    }
    return 3 * (double)count / (bench_thread_now() - start) * 1e-9;
}

static void print_cpu(void)
{
    static const struct {
        const char *name, *label;
    } wanted[] = {
        { "model name", "" }, { "cpu family", ", family " }, { "model", ", model " }, { "stepping", ", stepping " }
    };
    enum { WANTED = sizeof wanted / sizeof wanted[0] };
    char line[256], values[WANTED][64] = { "" };
    FILE *f = fopen("/proc/cpuinfo", "r");

    while (f != NULL && fgets(line, sizeof line, f) != NULL && line[0] != '\n') {
        const size_t name_len = strcspn(line, "\t:");

        for (size_t i = 0; i < WANTED; i++)
            if (name_len == strlen(wanted[i].name) && strncmp(line, wanted[i].name, name_len) == 0)
                sscanf(line + name_len, " : %63[^\n]", values[i]);
    }
    if (f != NULL)
        fclose(f);
    printf("# ");
    for (size_t i = 0; i < WANTED; i++)
        printf("%s%s", wanted[i].label, values[i]);
    printf(", at %.2f GHz now\n", measured_ghz());
}

static void print_disturbed(void)
{
    printf("# %.0f %% of the slices were disturbed, for longer than --patience allows\n", quiet_disturbed());
}

void bench_init(int argc, char **argv, const char *question, const struct bench_option options[])
{
    bench_options_read(argc, argv, question, options);
    const char *file = bench_text("csv");
    if (file != NULL && (csv = fopen(file, "w")) == NULL) {
        perror(file);
        exit(1);
    }
    patience = bench_fraction("patience");
    credit = CREDIT_SHARE * patience;
    printf("# %s\n", question);
    print_cpu();
    printf("# %s, compiled by %s\n", OpenSSL_version(OPENSSL_VERSION), COMPILER);
    atexit(print_disturbed);
}

size_t bench_text_bytes(const char *cipher, size_t bytes)
{
    if (strstr(cipher, "CBC") == NULL)
        return bytes;
    return bytes < 16 ? 16 : bytes / 16 * 16;
}

static int print_error(const char *text, size_t len, void *left)
{
    fwrite(text, 1, len, stderr);
    return --*(int *)left > 0;
}

void bench_check(int ok, const char *what)
{
    int most = 16; /* without memory, each that is printed raises others */

    if (!ok) {
        fprintf(stderr, "%s: failed\n", what);
        ERR_print_errors_cb(print_error, &most);
        exit(1);
    }
}

unsigned char *bench_alloc(size_t size)
{
    unsigned char *memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);

    bench_check(memory != NULL, "memory");
    memset(memory, 1, size);
    return memory;
}

void bench_row(const char *format, ...)
{
    char row[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(row, sizeof row, format, arguments);
    va_end(arguments);
    if (csv != NULL) {
        for (const char *c = row; *c != '\0'; c++)
            fputc(*c == '\t' ? ',' : *c, csv);
        fputc('\n', csv);
        fflush(csv);
    }
    for (char *field = strtok(row, "\t"); field != NULL; field = strtok(NULL, "\t"))
        printf("%-12s ", field);
    printf("\n");
    fflush(stdout);
}

OSSL_LIB_CTX *bench_ctx_default(void)
{
    OSSL_LIB_CTX *ctx = OSSL_LIB_CTX_new();

    bench_check(ctx != NULL && OSSL_PROVIDER_load(ctx, "default") != NULL, "default");
    return ctx;
}

OSSL_LIB_CTX *bench_ctx_aesop(const char *kernel)
{
    const char *dir = getenv("AESOP_MODULE_DIR");
    char path[] = "/tmp/aesop-bench-XXXXXX";
    const int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    OSSL_LIB_CTX *ctx = OSSL_LIB_CTX_new();

    bench_check(f != NULL && ctx != NULL, path);
    /* Not activated by the file, which would keep silent about a failure. */
    fprintf(f,
            "openssl_conf = init\n[init]\nproviders = providers\n[providers]\naesop = aesop_section\n"
            "[aesop_section]\nmodule = %s/aesop.so\nkernel = %s\n",
            dir != NULL ? dir : AESOP_MODULE_DIR, kernel);
    fclose(f);
    const int ok = OSSL_LIB_CTX_load_config(ctx, path) && OSSL_PROVIDER_load(ctx, "aesop") != NULL &&
                   OSSL_PROVIDER_load(ctx, "default") != NULL && EVP_set_default_properties(ctx, "?provider=aesop");
    remove(path);
    bench_check(ok, "aesop");
    return ctx;
}
