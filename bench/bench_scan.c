/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does throughput ever fall as a message grows by one byte (CBC: by one block)? Every length is measured in passes over
 * all of them, of which the median counts; the falls that this shows are then measured again, the two lengths in turn.
 *
 * Options: --cipher AES-128-GCM,... --direction encrypt,decrypt --kernel auto,... --to 2100 (bytes) --passes 15
 * --rows 1 (the greatest falls to show) --curve FILE (bytes and GB/s of all lengths, a block of lines per row)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/kernel_message.h"

#define MAX_BYTES 65536
#define MAX_PASSES 100
#define SLICE_NS 20000.0
#define CANDIDATES 12

/* Of a message that grows from `bytes` to bytes + step. */
struct fall {
    size_t bytes;
    double before, after; /* GB/s */
    double percent;
};

static struct kernel_message message;
static double median_ns[MAX_BYTES + 1];

static double message_ns(size_t bytes)
{
    struct bench_subject subject = { .run = kernel_message_run, .arg = &message };

    message.size = bytes;
    return bench_once(&subject, (size_t)(SLICE_NS / (20 + (double)bytes / 8)) + 1);
}

static void scan(size_t to, size_t step, size_t passes)
{
    static double ns[MAX_BYTES + 1][MAX_PASSES];

    for (size_t pass = 0; pass < passes; pass++)
        for (size_t bytes = step; bytes <= to; bytes += step)
            ns[bytes][pass] = message_ns(bytes);
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

static void measure_again(struct fall *f, size_t step)
{
    struct kernel_message longer = message;
    struct bench_subject subjects[] = {
        { .run = kernel_message_run, .arg = &message },
        { .run = kernel_message_run, .arg = &longer },
    };

    message.size = f->bytes;
    longer.size = f->bytes + step;
    bench_measure(subjects, 2, 0.05);
    fall_set(f, f->bytes, step, subjects[0].median, subjects[0].median / subjects[1].ratio);
}

/* The greatest falls of a scan, measured again. Returns how many. */
static size_t find_falls(struct fall falls[CANDIDATES], size_t to, size_t step)
{
    static struct fall all[MAX_BYTES];
    size_t count = 0;

    for (size_t bytes = step; bytes + step <= to; bytes += step)
        fall_set(&all[count++], bytes, step, median_ns[bytes], median_ns[bytes + step]);
    qsort(all, count, sizeof all[0], compare_falls);
    count = count < CANDIDATES ? count : CANDIDATES;
    for (size_t i = 0; i < count; i++) {
        falls[i] = all[i];
        measure_again(&falls[i], step);
    }
    qsort(falls, count, sizeof falls[0], compare_falls);
    return count;
}

static void write_curve(FILE *curve, const char *title, size_t to, size_t step)
{
    fprintf(curve, "# %s\n", title);
    for (size_t bytes = step; bytes <= to; bytes += step)
        fprintf(curve, "%zu %.3f\n", bytes, (double)bytes / median_ns[bytes]);
    fprintf(curve, "\n\n");
}

int main(int argc, char **argv)
{
    bench_init(argc, argv, "How much does throughput fall at most as a message grows by one byte, or block of CBC?");
    const struct bench_list ciphers = bench_option_list("cipher", "AES-128-GCM,AES-256-GCM,AES-128-CBC");
    const struct bench_list directions = bench_option_list("direction", "encrypt,decrypt");
    const struct bench_list kernels = bench_option_list("kernel", "aesni,vaes256,vaes512");
    const size_t to = strtoul(bench_option("to", "2100"), NULL, 10);
    const size_t passes = strtoul(bench_option("passes", "15"), NULL, 10);
    const size_t rows = strtoul(bench_option("rows", "1"), NULL, 10);
    const char *curve_name = bench_option("curve", NULL);
    FILE *curve = curve_name != NULL ? fopen(curve_name, "w") : NULL;
    struct aesop_dispatch dispatch;

    bench_check(to <= MAX_BYTES, "--to: at most 65536");
    bench_check(passes >= 1 && passes <= MAX_PASSES, "--passes: 1 to 100");
    bench_check(curve_name == NULL || curve != NULL, "--curve: writing the file");
    message.dispatch = &dispatch;
    message.in = bench_alloc(to);
    message.out = bench_alloc(to + 2048) + 2048; /* not in the same place of a page: bench_place measures that */
    bench_row("cipher\tdirection\tkernel\tfrom_bytes\tto_bytes\tGB/s\tGB/s_after\tfall%%");
    for (size_t pair = 0; pair < ciphers.count * directions.count; pair++) {
        const char *cipher = ciphers.items[pair / directions.count];
        const char *direction = directions.items[pair % directions.count];
        const size_t step = strstr(cipher, "CBC") != NULL ? 16 : 1;

        for (size_t k = 0; k < kernels.count; k++) {
            struct fall falls[CANDIDATES];
            char title[64];

            if (!kernel_dispatch(&dispatch, kernels.items[k]))
                continue;
            kernel_message_init(&message, cipher, strcmp(direction, "encrypt") == 0);
            scan(to, step, passes);
            const size_t found = find_falls(falls, to, step);
            for (size_t i = 0; i < found && i < rows; i++)
                bench_row("%s\t%s\t%s\t%zu\t%zu\t%.2f\t%.2f\t%.1f", cipher, direction, kernels.items[k], falls[i].bytes,
                          falls[i].bytes + step, falls[i].before, falls[i].after, falls[i].percent);
            snprintf(title, sizeof title, "%s %s %s", cipher, direction, kernels.items[k]);
            if (curve != NULL)
                write_curve(curve, title, to, step);
        }
    }
    return curve != NULL && fclose(curve) != 0;
}
