/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can this CPU do at the most? Instructions per nanosecond of AES and carry-less multiplication, alone and mixed,
 * for each width, and the throughput of the modes if nothing had to wait.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/ceiling.h"

static void instructions_row(const char *kernel)
{
    const struct ceiling_loops *loops = ceiling_loops_of(kernel);
    const double seconds = bench_seconds();

    if (loops == NULL) {
        printf("# %s: not on this CPU\n", kernel);
        return;
    }
    bench_row("%s\t%zu\t%.2f\t%.2f\t%.2f\t%.2f", kernel, loops->vector_bytes * 8,
              ceiling_instructions_per_ns(loops->aesenc, seconds),
              1 / ceiling_instructions_per_ns(loops->aesenc_latency, seconds),
              ceiling_instructions_per_ns(loops->clmul, seconds),
              ceiling_instructions_per_ns(loops->aesenc_clmul, seconds));
}

/* A kernel that this CPU lacks has no ceiling. */
static double mode_of(const char *cipher, const char *kernel)
{
    const double gb = ceiling_of(cipher, kernel);

    return gb > 0 ? gb : NAN;
}

static void mode_row(const char *cipher)
{
    const double serial = strstr(cipher, "CBC") != NULL ? ceiling_of_direction(cipher, "auto", 1) : NAN;

    bench_row("%s\t%.1f\t%.1f\t%.1f\t%.2f", cipher, mode_of(cipher, "aesni"), mode_of(cipher, "vaes256"),
              mode_of(cipher, "vaes512"), serial);
}

int main(int argc, char **argv)
{
    static const char *const kernels[] = { "aesni", "vaes256", "vaes512" };
    static const char *const ciphers[] = { "AES-128-GCM", "AES-192-GCM", "AES-256-GCM",
                                           "AES-128-CBC", "AES-192-CBC", "AES-256-CBC" };
    enum { KERNELS = sizeof kernels / sizeof kernels[0], CIPHERS = sizeof ciphers / sizeof ciphers[0] };

    static const struct bench_option options[] = {
        { "table", "both", .words = "instructions,modes,both" },
        { .name = NULL },
    };

    bench_init(argc, argv, "ceilings: instructions per ns, then GB/s of the modes' mixes (CBC: decryption)", options);
    const char *table = bench_text("table");
    if (strcmp(table, "modes") != 0) {
        bench_row("kernel\tbits\taesenc\tlatency_ns\tclmul\taesenc+clmul");
        for (size_t i = 0; i < KERNELS; i++)
            instructions_row(kernels[i]);
    }
    if (strcmp(table, "instructions") != 0) {
        /* Two rounds before the one that is shown, since the best of several moments counts. */
        for (size_t i = 0; i < 2 * CIPHERS * KERNELS; i++)
            (void)ceiling_of(ciphers[i / KERNELS % CIPHERS], kernels[i % KERNELS]);
        bench_row("cipher\taesni\tvaes256\tvaes512\tcbc_encrypt");
        for (size_t i = 0; i < CIPHERS; i++)
            mode_row(ciphers[i]);
    }
    return 0;
}
