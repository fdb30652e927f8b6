/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast are the kernels alone, without EVP, and how near to what the CPU can do? libipsec-mb, where there is one,
 * does the same messages beside them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/ceiling.h"
#include "bench/ipsec_mb.h"
#include "bench/kernel_message.h"

static const char *const kernel_names[] = { "aesni", "vaes256", "vaes512" };
enum { KERNELS = sizeof kernel_names / sizeof kernel_names[0] };

/* One kernel's part in the comparison. */
struct lane {
    struct aesop_dispatch dispatch;
    int here; /* this CPU has it */
    double ceiling;
    struct kernel_message message;
};

static struct lane lanes[KERNELS];
static struct ipsec_mb_message *reference;

static void row(const char *cipher, int encrypting, size_t size)
{
    struct bench_subject subjects[KERNELS + 1] = { { 0 } };
    unsigned char *in = bench_alloc(size), *out = bench_alloc(size);
    size_t count = 0;
    double gb[KERNELS + 1] = { NAN, NAN, NAN, NAN }, share[KERNELS] = { NAN, NAN, NAN };

    for (size_t k = 0; k < KERNELS; k++) {
        struct kernel_message *m = &lanes[k].message;

        if (!lanes[k].here)
            continue;
        m->in = in;
        m->out = out;
        m->size = size;
        subjects[count++] = (struct bench_subject){ .run = kernel_message_run, .arg = m };
    }
    if (reference != NULL) {
        ipsec_mb_message_set(reference, out, in, size);
        subjects[count++] = (struct bench_subject){ .run = ipsec_mb_message_run, .arg = reference };
    }
    bench_measure(subjects, count, bench_seconds());

    const struct bench_subject *s = subjects;
    double spread = 0, ceiling = 0;
    for (size_t k = 0; k < KERNELS; k++) {
        if (!lanes[k].here)
            continue;
        gb[k] = (double)size / s->median;
        share[k] = 100 * gb[k] / lanes[k].ceiling;
        ceiling = fmax(ceiling, lanes[k].ceiling);
        spread = fmax(spread, bench_spread(s));
        s++;
    }
    if (reference != NULL)
        gb[KERNELS] = (double)size / s->median;
    bench_row("%s\t%s\t%zu\t%.2f\t%.1f\t%.2f\t%.1f\t%.2f\t%.1f\t%.2f\t%.1f\t%.1f", cipher,
              encrypting ? "encrypt" : "decrypt", size, gb[0], share[0], gb[1], share[1], gb[2], share[2], gb[3],
              ceiling, spread);
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    static const struct bench_option options[] = {
        { "cipher", BENCH_CIPHERS, .words = BENCH_CIPHERS, .list = 1 },
        { "direction", BENCH_DIRECTIONS, .words = BENCH_DIRECTIONS, .list = 1 },
        { "size", "16,64,128,256,512,1024,1350,2048,4096,8192,16384,65536,262144,1048576",
          "bytes of a message, of CBC in whole blocks", .least = 1, .most = BENCH_MAX_BYTES, .list = 1 },
        { .name = NULL },
    };

    bench_init(argc, argv, "How fast are the kernels alone, in GB/s and as a share of the CPU's ceiling?", options);
    const struct bench_list *ciphers = bench_list("cipher"), *directions = bench_list("direction");
    const struct bench_list *sizes = bench_list("size");

    if (ipsec_mb_version() != NULL)
        printf("# libipsec-mb %s\n", ipsec_mb_version());
    for (size_t k = 0; k < KERNELS; k++) {
        lanes[k].message.dispatch = &lanes[k].dispatch;
        lanes[k].here = kernel_dispatch(&lanes[k].dispatch, kernel_names[k]);
    }
    if (!lanes[0].here) { /* the others have the same needs and more */
        printf("# no kernel on this CPU\n");
        return 0;
    }
    bench_row("cipher\tdirection\tbytes\taesni\taesni%%\tvaes256\tvaes256%%\tvaes512\tvaes512%%\tipsec-"
              "mb\tceiling\tspread%%");
    for (size_t pair = 0; pair < ciphers->count * directions->count; pair++) {
        const char *cipher = ciphers->items[pair / directions->count];
        const int encrypting = strcmp(directions->items[pair % directions->count], "encrypt") == 0;

        for (size_t k = 0; k < KERNELS; k++) {
            if (lanes[k].here) {
                kernel_message_init(&lanes[k].message, cipher, encrypting);
                lanes[k].ceiling = ceiling_of(cipher, kernel_names[k], encrypting);
            }
        }
        reference = ipsec_mb_message_new(cipher, encrypting);
        for (size_t i = 0; i < sizes->count; i++)
            row(cipher, encrypting, bench_text_bytes(cipher, sizes->numbers[i]));
        ipsec_mb_message_free(reference);
    }
    return 0;
}
