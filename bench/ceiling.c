/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/ceiling.h"

#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "ciphers/cpu.h"

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

struct mix {
    void (*loop)(uint8_t *out, const uint8_t *in, uint32_t rounds);
    uint8_t *out, *in;
    uint32_t rounds;
};

static void run_mix(void *arg, size_t count)
{
    const struct mix *m = arg;

    for (size_t i = 0; i < count; i++)
        m->loop(m->out, m->in, m->rounds);
}

double ceiling_of(const char *cipher, const char *kernel)
{
    const struct ceiling_loops *loops = ceiling_loops_of(kernel);
    const size_t buffer_bytes = CEILING_TEXT_BYTES + 64;
    const int key_bits = strncmp(cipher, "AES-", 4) == 0 ? atoi(cipher + 4) : 0;
    struct mix mix = { .rounds = (uint32_t)key_bits / 32 + 6 };
    struct bench_subject subject = { .name = "ceiling", .run = run_mix, .arg = &mix };

    if (loops == NULL || key_bits == 0 || strlen(cipher) != strlen("AES-128-GCM"))
        return 0;
    if (strcmp(cipher + 8, "GCM") == 0)
        mix.loop = loops->gcm;
    else if (strcmp(cipher + 8, "CBC") == 0)
        mix.loop = loops->cbc_dec;
    else
        return 0;
    mix.in = aligned_alloc(64, buffer_bytes);
    mix.out = aligned_alloc(64, buffer_bytes);
    if (mix.in == NULL || mix.out == NULL)
        exit(1);
    memset(mix.in, 1, buffer_bytes);
    bench_measure(&subject, 1, 0.1);
    free(mix.in);
    free(mix.out);
    return CEILING_TEXT_BYTES / subject.quartile1; /* a ceiling is what is reached when nothing disturbs */
}
