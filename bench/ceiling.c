/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/ceiling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "ciphers/cpu.h"
#include "ciphers/kernels.h"

/* One of a kernel's loops: instructions, or a mode's mix. */
struct loop {
    void (*instructions)(void *buffer);
    ceiling_mix *mix;
    uint32_t rounds;
};

static void run_loop(void *arg, size_t count)
{
    static _Alignas(4096) uint8_t memory[2 * CEILING_TEXT_BYTES + 2048 + 64];
    /* Half a page apart from its loads no store seems to be one that they wait for; bench_place measures that. */
    uint8_t *const in = memory, *const out = memory + CEILING_TEXT_BYTES + 2048;
    const struct loop *l = arg;

    for (size_t i = 0; i < count; i++) {
        if (l->mix != NULL)
            l->mix(out, in, l->rounds);
        else
            l->instructions(out);
    }
}

enum { AESENC, AESENC_LATENCY, CLMUL, AESENC_CLMUL, SERIAL, GCM };
enum { CBC_DEC = GCM + CEILING_KEY_SIZES * CEILING_GCM_MIXES };
enum { LOOPS = CBC_DEC + CEILING_KEY_SIZES * CEILING_CBC_MIXES };

/*
 * ns that a call of each loop takes when nothing disturbs: measured one after the other until two measurements of all
 * agree, since what disturbs can last for tenths of a second, and of each the least counts. It is a quartile, not the
 * fastest slice: what is compared with a ceiling is a median, and some slices find a CPU that runs faster than it can
 * for long.
 */
static void measure(double ns[LOOPS], struct loop loops[LOOPS])
{
    enum { MEASUREMENTS_MAX = 8 };
    const double seconds = fmax(0.25, bench_seconds()) / LOOPS;
    int agree = 0;

    for (size_t i = 0; i < LOOPS; i++)
        ns[i] = INFINITY;
    for (int n = 0; n < MEASUREMENTS_MAX && !agree; n++) {
        agree = 1;
        for (size_t i = 0; i < LOOPS; i++) {
            struct bench_subject subject = { .run = run_loop, .arg = &loops[i] };

            bench_measure(&subject, 1, seconds);
            agree &= fabs(subject.quartile1 - ns[i]) < 0.03 * ns[i];
            ns[i] = fmin(subject.quartile1, ns[i]);
        }
    }
}

static uint32_t rounds_of(size_t key_size)
{
    return 10 + 2 * (uint32_t)key_size;
}

static void set_mixes(struct loop loops[], ceiling_mix *const mixes[], size_t count)
{
    for (size_t i = 0; i < CEILING_KEY_SIZES * count; i++)
        loops[i] = (struct loop){ .mix = mixes[i % count], .rounds = rounds_of(i / count) };
}

/* By key size the GB/s of the fastest. */
static void get_mixes(double gb[CEILING_KEY_SIZES], const double ns[], size_t count)
{
    for (size_t i = 0; i < CEILING_KEY_SIZES * count; i++)
        gb[i / count] = fmax(gb[i / count], CEILING_TEXT_BYTES / ns[i]);
}

static void fill(struct ceiling *c, const struct ceiling_loops *l)
{
    struct loop loops[LOOPS] = { [AESENC] = { .instructions = l->aesenc },
                                 [AESENC_LATENCY] = { .instructions = l->aesenc_latency },
                                 [CLMUL] = { .instructions = l->clmul },
                                 [AESENC_CLMUL] = { .instructions = l->aesenc_clmul },
                                 [SERIAL] = { .instructions = ceiling_aesni.aesenc_latency } };
    double ns[LOOPS];

    set_mixes(&loops[GCM], l->gcm, CEILING_GCM_MIXES);
    set_mixes(&loops[CBC_DEC], l->cbc_dec, CEILING_CBC_MIXES);
    measure(ns, loops);
    *c = (struct ceiling){ .loops = l,
                           .aesenc = CEILING_INSTRUCTIONS / ns[AESENC],
                           .aesenc_latency = CEILING_INSTRUCTIONS / ns[AESENC_LATENCY],
                           .clmul = CEILING_INSTRUCTIONS / ns[CLMUL],
                           .aesenc_clmul = CEILING_INSTRUCTIONS / ns[AESENC_CLMUL] };
    get_mixes(c->gcm, &ns[GCM], CEILING_GCM_MIXES);
    get_mixes(c->cbc_dec, &ns[CBC_DEC], CEILING_CBC_MIXES);
    for (size_t k = 0; k < CEILING_KEY_SIZES; k++)
        c->cbc_enc[k] = AESOP_BLOCK_BYTES * CEILING_INSTRUCTIONS / ns[SERIAL] / rounds_of(k);
}

const struct ceiling *ceiling_of_kernel(const char *kernel)
{
    static const struct ceiling_loops *const all[] = { &ceiling_vaes512, &ceiling_vaes256, &ceiling_aesni };
    static struct ceiling known[sizeof all / sizeof all[0]];
    const uint32_t features = aesop_cpu_features();

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if ((features & all[i]->needs) == all[i]->needs &&
            (strcmp(kernel, "auto") == 0 || strcmp(kernel, all[i]->kernel) == 0)) {
            if (known[i].loops == NULL)
                fill(&known[i], all[i]);
            return &known[i];
        }
    }
    return NULL;
}

double ceiling_of(const char *cipher, const char *kernel, int encrypting)
{
    const struct ceiling *c = ceiling_of_kernel(kernel);
    const size_t key_size = (size_t)(atoi(cipher + strlen("AES-")) - 128) / 64;

    if (c == NULL)
        return NAN;
    if (strstr(cipher, "GCM") != NULL)
        return c->gcm[key_size];
    return encrypting ? c->cbc_enc[key_size] : c->cbc_dec[key_size];
}
