/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does it matter where input and output lie? Misaligned, in place, a multiple of 4096 apart (where a CPU that compares
 * twelve bits of addresses takes a load for one of what was just stored): each against both aligned and half a page
 * apart.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/ceiling.h"
#include "bench/kernel_message.h"

#define IN_PLACE SIZE_MAX
#define PAGE_BYTES 4096

struct place {
    size_t in;    /* offset of the input in a page */
    size_t apart; /* output less input, but for whole pages */
};

static const struct place places[] = {
    { 0, IN_PLACE }, { 0, 0 },    { 0, 1 }, { 0, 17 },   { 0, 64 },       { 0, 512 },   { 0, 2048 },
    { 0, 4080 },     { 0, 4032 }, { 1, 0 }, { 1, 2048 }, { 1, IN_PLACE }, { 17, 2048 }, { 64, 0 },
};

static const struct place aligned = { 0, 2048 };

/* A whole number of pages, at least the message's, lies between input and output. */
static void set_place(struct kernel_message *m, unsigned char *arena, size_t pages_apart, const struct place *place)
{
    m->in = arena + place->in;
    m->out = arena + place->in + (place->apart == IN_PLACE ? 0 : pages_apart * PAGE_BYTES + place->apart);
}

static void row(const struct aesop_dispatch *dispatch, const char *cipher, const char *direction, const char *kernel,
                size_t size, const struct place *place)
{
    static struct kernel_message messages[2];
    const size_t pages = (size + PAGE_BYTES - 1) / PAGE_BYTES;
    unsigned char *arena = bench_alloc(2 * (pages + 1) * PAGE_BYTES);
    const int encrypting = strcmp(direction, "encrypt") == 0;
    struct bench_subject subjects[2];

    for (int i = 0; i < 2; i++) {
        messages[i].dispatch = dispatch;
        messages[i].size = size;
        set_place(&messages[i], arena, pages, i == 0 ? &aligned : place);
        kernel_message_init(&messages[i], cipher, encrypting);
        subjects[i] = (struct bench_subject){ .run = kernel_message_run, .arg = &messages[i] };
    }
    bench_measure(subjects, 2, bench_seconds());

    char apart[24] = "in place";
    if (place->apart != IN_PLACE)
        snprintf(apart, sizeof apart, "%zu", place->apart);
    const double gb = (double)size / subjects[1].median;
    bench_row("%s\t%s\t%s\t%zu\t%zu\t%s\t%.2f\t%.0f\t%.0f\t%.1f", cipher, direction, kernel, size, place->in, apart, gb,
              100 * subjects[1].ratio, 100 * gb / ceiling_of(cipher, kernel, encrypting), bench_spread(&subjects[1]));
    free(arena);
}

int main(int argc, char **argv)
{
    static const struct bench_option options[] = {
        { "cipher", "AES-128-GCM,AES-128-CBC", .words = BENCH_CIPHERS, .list = 1 },
        { "direction", BENCH_DIRECTIONS, .words = BENCH_DIRECTIONS, .list = 1 },
        { "kernel", "auto", .words = "auto," BENCH_KERNELS, .list = 1 },
        { "size", "16384", "bytes of a message, of CBC in whole blocks", .least = 1, .most = BENCH_MAX_BYTES,
          .list = 1 },
        { .name = NULL },
    };

    bench_init(argc, argv, "Does it matter to the kernels where input and output lie?", options);
    const struct bench_list *ciphers = bench_list("cipher"), *directions = bench_list("direction");
    const struct bench_list *kernels = bench_list("kernel"), *sizes = bench_list("size");

    bench_row("cipher\tdirection\tkernel\tbytes\tin_offset\tapart\tGB/s\t%%_of_aligned\tshare%%\tspread%%");
    for (size_t pair = 0; pair < ciphers->count * directions->count; pair++) {
        const char *cipher = ciphers->items[pair / directions->count];
        const char *direction = directions->items[pair % directions->count];

        for (size_t k = 0; k < kernels->count; k++) {
            struct aesop_dispatch dispatch;

            if (!kernel_dispatch(&dispatch, kernels->items[k])) {
                if (pair == 0)
                    printf("# %s: not on this CPU\n", kernels->items[k]);
                continue;
            }
            for (size_t s = 0; s < sizes->count; s++)
                for (size_t p = 0; p < sizeof places / sizeof places[0]; p++)
                    row(&dispatch, cipher, direction, kernels->items[k], bench_text_bytes(cipher, sizes->numbers[s]),
                        &places[p]);
        }
    }
    return 0;
}
