/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does throughput ever fall as a message grows by one byte (CBC: by one block)? Of the kernels alone, where messages in
 * a row overlap in the CPU, and of messages through EVP, which is what programs have.
 *
 * Every length is measured in passes over all of them, of which the median counts. The greatest of many noisy figures
 * is mostly noise: so the lengths that seem to be worst are measured again, those that still do once more and longer,
 * the two lengths in turn. Contexts at PLACES places take turns too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/ceiling.h"
#include "bench/evp_message.h"
#include "bench/kernel_message.h"

enum { MAX_BYTES = 65536, MAX_PASSES = 100, PLACES = 5, CONTEXT_STEP_BYTES = 1232 };

/* How many of the greatest falls are measured again, and how often. */
enum { CANDIDATES = 12, CANDIDATE_ROUNDS = 20, FINALISTS = 3, FINALIST_ROUNDS = 200 };

#define SCAN_NS 20000.0
#define AGAIN_NS 100000.0

/* Messages of one cipher, direction and kernel: the contexts that take turns, and what sets the length of each. */
static struct {
    void (*run)(void *arg, size_t count);
    void *message[PLACES];
    size_t *size[PLACES];
} messages;

static unsigned char *in, *out;

/* Of a message that grows from `bytes` to bytes + step. */
struct fall {
    size_t bytes;
    double before, after; /* GB/s */
    double percent;
};

static double median_ns[MAX_BYTES + 1];

static double message_ns(size_t bytes, size_t place, double slice_ns)
{
    struct bench_subject subject = { .run = messages.run, .arg = messages.message[place] };

    *messages.size[place] = bytes;
    return bench_once(&subject, (size_t)(slice_ns / (20 + (double)bytes / 8)) + 1);
}

static void scan(size_t to, size_t step, size_t passes)
{
    static double ns[MAX_BYTES + 1][MAX_PASSES];

    for (size_t pass = 0; pass < passes; pass++)
        for (size_t bytes = step; bytes <= to; bytes += step)
            ns[bytes][pass] = message_ns(bytes, pass % PLACES, SCAN_NS);
    for (size_t bytes = step; bytes <= to; bytes += step)
        median_ns[bytes] = bench_median(ns[bytes], passes);
}

static void fall_set(struct fall *f, size_t bytes, size_t step, double ns_before, double ns_after)
{
    f->bytes = bytes;
    f->before = (double)bytes / ns_before;
    f->after = (double)(bytes + step) / ns_after;
    f->percent = 100 * (1 - f->after / f->before);
}

/* The greatest first. */
static int compare_falls(const void *a, const void *b)
{
    const double x = ((const struct fall *)a)->percent, y = ((const struct fall *)b)->percent;

    return (x < y) - (x > y);
}

/* Measures them again, all in turn, and sorts them. */
static void measure_again(struct fall falls[], size_t count, size_t step, size_t rounds)
{
    static double ns[CANDIDATES][FINALIST_ROUNDS], ratios[CANDIDATES][FINALIST_ROUNDS];

    for (size_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < count; i++) {
            ns[i][round] = message_ns(falls[i].bytes, round % PLACES, AGAIN_NS);
            ratios[i][round] = message_ns(falls[i].bytes + step, round % PLACES, AGAIN_NS) / ns[i][round];
        }
    }
    for (size_t i = 0; i < count; i++) {
        const double before = bench_median(ns[i], rounds);

        fall_set(&falls[i], falls[i].bytes, step, before, before * bench_median(ratios[i], rounds));
    }
    qsort(falls, count, sizeof falls[0], compare_falls);
}

/* The greatest falls of a scan. Returns how many. */
static size_t find_falls(struct fall falls[FINALISTS], size_t to, size_t step)
{
    static struct fall all[MAX_BYTES];
    size_t count = 0;

    for (size_t bytes = step; bytes + step <= to; bytes += step)
        fall_set(&all[count++], bytes, step, median_ns[bytes], median_ns[bytes + step]);
    qsort(all, count, sizeof all[0], compare_falls);
    count = count < CANDIDATES ? count : CANDIDATES;
    measure_again(all, count, step, CANDIDATE_ROUNDS);
    count = count < FINALISTS ? count : FINALISTS;
    measure_again(all, count, step, FINALIST_ROUNDS);
    memcpy(falls, all, count * sizeof all[0]);
    return count;
}

static void write_curve(FILE *curve, const char *title, size_t to, size_t step)
{
    fprintf(curve, "# %s\n", title);
    for (size_t bytes = step; bytes <= to; bytes += step)
        fprintf(curve, "%zu %.3f\n", bytes, (double)bytes / median_ns[bytes]);
    fprintf(curve, "\n\n");
}

/* What a row is about. */
struct question {
    const char *through, *cipher, *direction, *kernel;
    int encrypting;
};

static void rows(const struct question *q, FILE *curve)
{
    const size_t to = bench_number("to"), shown = bench_number("rows");
    const size_t step = strstr(q->cipher, "CBC") != NULL ? 16 : 1;
    const double ceiling = ceiling_of(q->cipher, q->kernel, q->encrypting);
    struct fall falls[FINALISTS];
    char title[64];

    scan(to, step, bench_number("passes"));
    const size_t found = find_falls(falls, to, step);
    for (size_t i = 0; i < found && i < shown; i++)
        bench_row("%s\t%s\t%s\t%s\t%zu\t%zu\t%.2f\t%.2f\t%.1f\t%.0f", q->through, q->cipher, q->direction, q->kernel,
                  falls[i].bytes, falls[i].bytes + step, falls[i].before, falls[i].after, falls[i].percent,
                  100 * falls[i].before / ceiling);
    snprintf(title, sizeof title, "%s %s %s", q->cipher, q->direction, q->kernel);
    if (curve != NULL)
        write_curve(curve, title, to, step);
}

static void rows_of_kernels(const struct question *q, const struct aesop_dispatch *dispatch, FILE *curve)
{
    static struct kernel_message bare[PLACES];

    messages.run = kernel_message_run;
    for (size_t i = 0; i < PLACES; i++) {
        bare[i] = (struct kernel_message){ .dispatch = dispatch, .out = out, .in = in };
        kernel_message_init(&bare[i], q->cipher, q->encrypting);
        messages.message[i] = &bare[i];
        messages.size[i] = &bare[i].size;
    }
    rows(q, curve);
}

static void rows_through_evp(const struct question *q)
{
    OSSL_LIB_CTX *libctx = bench_ctx_aesop(q->kernel);
    struct evp_message through_evp[PLACES];
    void *gaps[PLACES];

    messages.run = evp_message_run;
    for (size_t i = 0; i < PLACES; i++) {
        gaps[i] = malloc(CONTEXT_STEP_BYTES);
        through_evp[i] = (struct evp_message){ .out = out, .in = in };
        evp_message_open(&through_evp[i], libctx, q->cipher, q->encrypting);
        messages.message[i] = &through_evp[i];
        messages.size[i] = &through_evp[i].size;
    }
    rows(q, NULL);
    for (size_t i = 0; i < PLACES; i++) {
        evp_message_close(&through_evp[i]);
        free(gaps[i]);
    }
    OSSL_LIB_CTX_free(libctx);
}

int main(int argc, char **argv)
{
    static const struct bench_option options[] = {
        { "through", "evp,kernels", .words = "evp,kernels", .list = 1 },
        { "cipher", "AES-128-GCM,AES-256-GCM,AES-128-CBC", .words = BENCH_CIPHERS, .list = 1 },
        { "direction", BENCH_DIRECTIONS, .words = BENCH_DIRECTIONS, .list = 1 },
        { "kernel", BENCH_KERNELS, .words = "auto," BENCH_KERNELS, .list = 1 },
        { "to", "2100", "bytes of the longest message", .least = 32, .most = MAX_BYTES },
        { "passes", "15", .least = 1, .most = MAX_PASSES },
        { "rows", "1", "how many of the greatest falls", .least = 1, .most = FINALISTS },
        { .name = "curve", .says = "gets bytes and GB/s of all lengths, of the kernels alone" },
        { .name = NULL },
    };

    bench_init(argc, argv, "How much does throughput fall at most as a message grows by one byte, or block of CBC?",
               options);
    const struct bench_list *ways = bench_list("through"), *ciphers = bench_list("cipher");
    const struct bench_list *directions = bench_list("direction"), *kernels = bench_list("kernel");
    const size_t to = bench_number("to");
    const char *curve_name = bench_text("curve");
    FILE *curve = curve_name != NULL ? fopen(curve_name, "w") : NULL;

    if (curve_name != NULL && curve == NULL) {
        perror(curve_name);
        return 1;
    }
    in = bench_alloc(to);
    out = bench_alloc(to + 2048) + 2048; /* not in the same place of a page: bench_place measures that */
    bench_row("through\tcipher\tdirection\tkernel\tfrom_bytes\tto_bytes\tGB/s\tGB/s_after\tfall%%\tshare%%");
    for (size_t w = 0; w < ways->count; w++) {
        for (size_t pair = 0; pair < ciphers->count * directions->count; pair++) {
            for (size_t k = 0; k < kernels->count; k++) {
                const char *direction = directions->items[pair % directions->count];
                const struct question q = { .through = ways->items[w],
                                            .cipher = ciphers->items[pair / directions->count],
                                            .direction = direction,
                                            .encrypting = strcmp(direction, "encrypt") == 0,
                                            .kernel = kernels->items[k] };
                struct aesop_dispatch dispatch;

                if (!kernel_dispatch(&dispatch, q.kernel)) {
                    if (w == 0 && pair == 0)
                        printf("# %s: not on this CPU\n", q.kernel);
                    continue;
                }
                if (strcmp(q.through, "evp") == 0)
                    rows_through_evp(&q);
                else
                    rows_of_kernels(&q, &dispatch, curve);
            }
        }
    }
    return curve != NULL && fclose(curve) != 0;
}
