/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/bench.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <openssl/conf.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>

/* Long enough that reading the clock does not show, short enough that neighbouring slices meet the same machine. */
#define SLICE_SECONDS 0.001

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

/* The thread's own time: what other processes take from the CPU does not count. */
static double time_of(const struct bench_subject *s, size_t count)
{
    const double start = read_clock(CLOCK_THREAD_CPUTIME_ID);

    s->run(s->arg, count);
    return read_clock(CLOCK_THREAD_CPUTIME_ID) - start;
}

static size_t operations_per_slice(const struct bench_subject *s)
{
    size_t count = 1;

    for (;;) {
        const double t = time_of(s, count);

        if (t >= SLICE_SECONDS / 2)
            return (size_t)((double)count * SLICE_SECONDS / t) + 1;
        count *= 2;
    }
}

double bench_once(const struct bench_subject *subject, size_t count)
{
    return time_of(subject, count) * 1e9 / (double)count;
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

void bench_measure(struct bench_subject subjects[], size_t count, double seconds)
{
    static double times[BENCH_MAX_SUBJECTS][BENCH_ROUNDS_MAX], ratios[BENCH_MAX_SUBJECTS][BENCH_ROUNDS_MAX];
    size_t operations[BENCH_MAX_SUBJECTS], rounds = 0;

    for (size_t i = 0; i < count; i++)
        operations[i] = operations_per_slice(&subjects[i]);
    for (const double end = bench_now() + seconds; rounds < BENCH_ROUNDS_MAX && (rounds < 5 || bench_now() < end);
         rounds++) {
        for (size_t i = 0; i < count; i++) {
            times[i][rounds] = bench_once(&subjects[i], operations[i]);
            ratios[i][rounds] = times[0][rounds] / times[i][rounds];
        }
    }
    for (size_t i = 0; i < count; i++) {
        subjects[i].median = quantile(times[i], rounds, 0.5);
        subjects[i].quartile1 = quantile(times[i], rounds, 0.25);
        subjects[i].quartile3 = quantile(times[i], rounds, 0.75);
        subjects[i].ratio = quantile(ratios[i], rounds, 0.5);
    }
}

double bench_spread(const struct bench_subject *measured)
{
    return 100 * (measured->quartile3 - measured->quartile1) / measured->median;
}

/* Cycles per ns at this moment: a multiplication takes three on every CPU that has AES instructions. */
static double measured_ghz(void)
{
    const uint64_t count = 3000000;
    const double start = read_clock(CLOCK_THREAD_CPUTIME_ID);
    uint64_t product = 3;

    for (uint64_t i = 0; i < count; i++) {
        product *= product;
        __asm__ volatile("" : "+r"(product));
    }
    return 3 * (double)count / (read_clock(CLOCK_THREAD_CPUTIME_ID) - start) * 1e-9;
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

void bench_init(int argc, char **argv, const char *question, const struct bench_option options[])
{
    bench_options_read(argc, argv, question, options);
    const char *file = bench_text("csv");
    if (file != NULL && (csv = fopen(file, "w")) == NULL) {
        perror(file);
        exit(1);
    }
    printf("# %s\n", question);
    print_cpu();
    printf("# %s, compiled by %s\n", OpenSSL_version(OPENSSL_VERSION), COMPILER);
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
