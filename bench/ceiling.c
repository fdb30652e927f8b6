/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/ceiling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "ciphers/cpu.h"
#include "ciphers/kernels.h"

static const struct ceiling_loops *const all_loops[] = { &ceiling_vaes512, &ceiling_vaes256, &ceiling_aesni };

const struct ceiling_loops *ceiling_loops_of(const char *kernel)
{
    const uint32_t features = aesop_cpu_features();

    for (size_t i = 0; i < sizeof all_loops / sizeof all_loops[0]; i++)
        if ((features & all_loops[i]->needs) == all_loops[i]->needs &&
            (strcmp(kernel, "auto") == 0 || strcmp(kernel, all_loops[i]->kernel) == 0))
            return all_loops[i];
    return NULL;
}

struct instructions {
    void (*loop)(void *buffer);
    void *buffer;
};

static void run_instructions(void *arg, size_t count)
{
    const struct instructions *it = arg;

    for (size_t i = 0; i < count; i++)
        it->loop(it->buffer);
}

double ceiling_instructions_per_ns(void (*loop)(void *buffer), double seconds)
{
    static _Alignas(64) unsigned char buffer[128];
    struct instructions it = { loop, buffer };
    struct bench_subject subject = { .name = "loop", .run = run_instructions, .arg = &it };

    bench_measure(&subject, 1, seconds);
    return CEILING_INSTRUCTIONS / subject.quartile1; /* a ceiling is what is reached when nothing disturbs */
}

struct mix {
    ceiling_mix *loop;
    uint8_t *out;
    const uint8_t *in;
    uint32_t rounds;
};

static void run_mix(void *arg, size_t count)
{
    const struct mix *m = arg;

    for (size_t i = 0; i < count; i++)
        m->loop(m->out, m->in, m->rounds);
}

/* Of several calls the best: what a moment was disturbed by is no limit of the CPU. */
static double gb_per_second(ceiling_mix *loop, uint32_t rounds)
{
    static struct known {
        ceiling_mix *loop;
        uint32_t rounds;
        double best;
    } known[64];
    size_t i = 0;
    static _Alignas(64) uint8_t in[CEILING_TEXT_BYTES + 64], out[CEILING_TEXT_BYTES + 64];
    struct mix mix = { loop, out, in, rounds };
    struct bench_subject subject = { .name = "mix", .run = run_mix, .arg = &mix };

    bench_measure(&subject, 1, 0.05);
    while (i < sizeof known / sizeof known[0] - 1 && known[i].loop != NULL &&
           (known[i].loop != loop || known[i].rounds != rounds))
        i++;
    if (known[i].loop != loop || known[i].rounds != rounds)
        known[i] = (struct known){ .loop = loop, .rounds = rounds };
    known[i].best = fmax(known[i].best, CEILING_TEXT_BYTES / subject.quartile1);
    return known[i].best;
}

/* Rounds of an "AES-<key bits>-<mode>" with a mode of three letters, or 0. */
static uint32_t rounds_of(const char *cipher)
{
    if (strncmp(cipher, "AES-", 4) != 0 || strlen(cipher) != strlen("AES-128-GCM"))
        return 0;
    return (uint32_t)atoi(cipher + 4) / 32 + 6;
}

double ceiling_of(const char *cipher, const char *kernel)
{
    const struct ceiling_loops *loops = ceiling_loops_of(kernel);
    const uint32_t rounds = rounds_of(cipher);
    double most = 0;

    if (loops == NULL || rounds == 0)
        return 0;
    if (strcmp(cipher + 8, "CBC") == 0)
        return gb_per_second(loops->cbc_dec, rounds);
    if (strcmp(cipher + 8, "GCM") == 0)
        for (int i = 0; i < CEILING_GCM_MIXES; i++)
            most = fmax(most, gb_per_second(loops->gcm[i], rounds));
    return most;
}

double ceiling_of_direction(const char *cipher, const char *kernel, int encrypting)
{
    const struct ceiling_loops *loops = ceiling_loops_of("aesni");
    const uint32_t rounds = rounds_of(cipher);

    if (!encrypting || rounds == 0 || strcmp(cipher + 8, "CBC") != 0)
        return ceiling_of(cipher, kernel);
    return loops == NULL ? 0 : AESOP_BLOCK_BYTES * ceiling_instructions_per_ns(loops->aesenc_latency, 0.05) / rounds;
}
