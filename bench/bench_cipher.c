/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast is a cipher with aesop, and how much faster than with default?
 *
 * A message is what a protocol does with a kept key: IV-only init, 13 bytes of associated data, the data, the tag
 * (GCM); IV and data (CBC, padding off).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "bench/bench.h"
#include "bench/ceiling.h"
#include "bench/evp_message.h"
#include "bench/null_provider.h"

enum place { PLACE_APART, PLACE_SAME };

static const struct bench_option options[] = {
    { "cipher", "AES-128-GCM,AES-256-GCM,AES-128-CBC,AES-256-CBC", .words = BENCH_CIPHERS, .list = 1 },
    { "direction", BENCH_DIRECTIONS, .words = BENCH_DIRECTIONS, .list = 1 },
    { "kernel", "auto", .words = "auto," BENCH_KERNELS, .list = 1 },
    { "size", "16,64,256,1024,1350,4096,8192,16384,65536,1048576,16777216,67108864",
      "bytes of a message, of CBC in whole blocks", .least = 1, .most = BENCH_MAX_BYTES, .list = 1 },
    { "init", "iv", "what is set anew for each message", .words = "iv,key,cipher" }, /* enum evp_message_init */
    { "place", "apart", "input and output", .words = "apart,same" },                 /* enum place */
    { "offset", "0", "bytes of the output in its page", .most = 4095 },
    { .name = NULL },
};

/* Who serves: default is what the others are compared with. */
enum subject { DEFAULT, AESOP, NOBODY, SUBJECTS };

/* What stays the same from row to row. */
struct setting {
    OSSL_LIB_CTX *ctx[SUBJECTS];
    const char *cipher, *kernel;
    int encrypting;
    enum evp_message_init init;
    enum place place;
    size_t offset;
};

static void heading(void)
{
    bench_row(
        "cipher\tdirection\tkernel\tbytes\tdefault_MB/s\taesop_MB/s\tratio\tceiling\tshare%%\tdefault_ns\taesop_ns"
        "\tevp_ns\tspread%%");
}

/*
 * Where a context lies, in its page and against buffers and other contexts, moves a small message by up to 5 ns and a
 * large one by up to 5 %; and for moments of a tenth of a second a neighbour on this machine takes caches that 1 MiB
 * of input and as much output need whole. So each size is measured in passes over all sizes, in each of which all
 * subjects have other contexts, and buffers of other pages, that are the same for all; the medians of the passes count.
 * What fits into no second level anyway takes one pass, what may just fit takes longer.
 */
enum { PASSES = 5, CONTEXT_STEP_BYTES = 1232, SURE_TO_FIT_BYTES = 65536, MAY_FIT_BYTES = 4194304 };

/* What is measured of a message: ns with each subject, then of aesop */
enum { RATIO = SUBJECTS, SPREAD, FIGURES };

static struct {
    unsigned char *in, *out;
} buffers[PASSES];

/* All at once: what is freed would be had again. */
static void open_buffers(size_t largest, size_t offset)
{
    for (size_t pass = 0; pass < PASSES; pass++) {
        const size_t size = pass > 0 && largest > MAY_FIT_BYTES ? MAY_FIT_BYTES : largest;

        buffers[pass].in = bench_alloc(size);
        buffers[pass].out = bench_alloc(size + offset);
    }
}

static void close_buffers(void)
{
    for (size_t pass = 0; pass < PASSES; pass++) {
        free(buffers[pass].in);
        free(buffers[pass].out);
    }
}

static size_t passes_of(size_t size)
{
    return size > MAY_FIT_BYTES ? 1 : PASSES;
}

static double seconds_of_pass(size_t size)
{
    const int longer = size > SURE_TO_FIT_BYTES && size <= MAY_FIT_BYTES;

    return bench_seconds() * (longer ? 2 : 1) / (double)passes_of(size);
}

static void measure(const struct setting *s, double figures[FIGURES][PASSES], size_t size, size_t pass)
{
    /* The provider that does nothing, which shows what EVP costs, does nothing for AES-128 alone. */
    const size_t count = strncmp(s->cipher, "AES-128", 7) == 0 ? SUBJECTS : NOBODY;
    struct evp_message messages[SUBJECTS];
    struct bench_subject subjects[SUBJECTS];
    void *gaps[SUBJECTS];

    for (size_t i = 0; i < count; i++) {
        gaps[i] = malloc(1 + (i + 1) * pass * CONTEXT_STEP_BYTES);
        messages[i] = (struct evp_message){
            .out = s->place == PLACE_SAME ? buffers[pass].in : buffers[pass].out + s->offset,
            .in = buffers[pass].in,
            .size = size,
            .init = s->init,
        };
        evp_message_open(&messages[i], s->ctx[i], s->cipher, s->encrypting);
        subjects[i] = (struct bench_subject){ .run = evp_message_run, .arg = &messages[i] };
    }
    bench_measure(subjects, count, seconds_of_pass(size));
    for (size_t i = 0; i < SUBJECTS; i++)
        figures[i][pass] = i < count ? subjects[i].median : NAN;
    figures[RATIO][pass] = subjects[AESOP].ratio;
    figures[SPREAD][pass] = bench_spread(&subjects[AESOP]);
    for (size_t i = 0; i < count; i++) {
        evp_message_close(&messages[i]);
        free(gaps[i]);
    }
}

/* The rows of a cipher in one direction. */
static void rows(const struct setting *s, const size_t sizes[], size_t count)
{
    static double figures[BENCH_LIST_MAX][FIGURES][PASSES];
    const double ceiling = ceiling_of(s->cipher, s->kernel, s->encrypting); /* GB/s */

    for (size_t pass = 0; pass < PASSES; pass++)
        for (size_t i = 0; i < count; i++)
            if (pass < passes_of(sizes[i]))
                measure(s, figures[i], bench_text_bytes(s->cipher, sizes[i]), pass);
    for (size_t i = 0; i < count; i++) {
        const size_t size = bench_text_bytes(s->cipher, sizes[i]);
        const double bytes = (double)size;
        double of[FIGURES];

        for (size_t f = 0; f < FIGURES; f++)
            of[f] = bench_median(figures[i][f], passes_of(size));
        bench_row("%s\t%s\t%s\t%zu\t%.0f\t%.0f\t%.2f\t%.0f\t%.0f\t%.1f\t%.1f\t%.1f\t%.1f", s->cipher,
                  s->encrypting ? "encrypt" : "decrypt", s->kernel, size, bytes * 1e3 / of[DEFAULT],
                  bytes * 1e3 / of[AESOP], of[RATIO], ceiling * 1e3, 100 * bytes / of[AESOP] / ceiling, of[DEFAULT],
                  of[AESOP], of[NOBODY], of[SPREAD]);
    }
}

int main(int argc, char **argv)
{
    bench_init(argc, argv, "How fast is a cipher through EVP with aesop, and with default?", options);
    const struct bench_list *ciphers = bench_list("cipher"), *directions = bench_list("direction");
    const struct bench_list *kernels = bench_list("kernel"), *sizes = bench_list("size");
    struct setting s = {
        .init = (enum evp_message_init)bench_number("init"),
        .place = (enum place)bench_number("place"),
        .offset = bench_number("offset"),
        .ctx = { [DEFAULT] = bench_ctx_default(), [NOBODY] = null_provider_ctx() },
    };
    size_t largest = 16; /* a block of CBC */

    for (size_t i = 0; i < sizes->count; i++)
        largest = sizes->numbers[i] > largest ? sizes->numbers[i] : largest;
    open_buffers(largest, s.offset);
    heading();
    for (size_t k = 0; k < kernels->count; k++) {
        s.kernel = kernels->items[k];
        if (ceiling_of_kernel(s.kernel) == NULL) {
            printf("# %s: not on this CPU\n", s.kernel);
            continue;
        }
        s.ctx[AESOP] = bench_ctx_aesop(s.kernel);
        for (size_t pair = 0; pair < ciphers->count * directions->count; pair++) {
            s.cipher = ciphers->items[pair / directions->count];
            s.encrypting = strcmp(directions->items[pair % directions->count], "encrypt") == 0;
            rows(&s, sizes->numbers, sizes->count);
        }
        OSSL_LIB_CTX_free(s.ctx[AESOP]);
    }
    OSSL_LIB_CTX_free(s.ctx[DEFAULT]);
    OSSL_LIB_CTX_free(s.ctx[NOBODY]);
    close_buffers();
    return 0;
}
