/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can this CPU do at the most? Instructions per nanosecond of AES and carry-less multiplication, alone and mixed, for each
 * width, and the throughput of the modes if nothing had to wait.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/ceiling.h"

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

static double per_ns(void (*loop)(void *buffer))
{
    static _Alignas(64) unsigned char buffer[128];
    struct instructions it = {loop, buffer};
    struct bench_subject subject = {.name = "loop", .run = run_instructions, .arg = &it};

    bench_measure(&subject, 1, bench_seconds());
    return CEILING_INSTRUCTIONS / subject.quartile1;
}

int main(int argc, char **argv)
{
    static const char *const kernels[] = {"aesni", "vaes256", "vaes512"};
    static const char *const ciphers[] = {"AES-128-GCM", "AES-192-GCM", "AES-256-GCM",
                                          "AES-128-CBC", "AES-192-CBC", "AES-256-CBC"};

    bench_init(argc, argv, "ceilings: instructions per ns, then GB/s of the modes' mixes (CBC: decryption)");
    bench_row("kernel\tbits\taesenc\tlatency_ns\tclmul\taesenc:clmul");
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        const struct ceiling_loops *loops = ceiling_loops_of(kernels[i]);

        if (loops == NULL) {
            printf("%s: not on this CPU\n", kernels[i]);
            continue;
        }
        bench_row("%s\t%zu\t%.2f\t%.2f\t%.2f\t%.2f", kernels[i], loops->vector_bytes * 8, per_ns(loops->aesenc),
                  1 / per_ns(loops->aesenc_latency), per_ns(loops->clmul), per_ns(loops->aesenc_clmul));
    }
    bench_row("cipher\taesni\tvaes256\tvaes512");
    for (size_t i = 0; i < sizeof ciphers / sizeof ciphers[0]; i++)
        bench_row("%s\t%.1f\t%.1f\t%.1f", ciphers[i], ceiling_of(ciphers[i], "aesni"), ceiling_of(ciphers[i], "vaes256"),
                  ceiling_of(ciphers[i], "vaes512"));
    return 0;
}
