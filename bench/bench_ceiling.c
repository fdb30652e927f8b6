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
    const struct ceiling *c = ceiling_of_kernel(kernel);

    if (c == NULL)
        printf("# %s: not on this CPU\n", kernel);
    else
        bench_row("%s\t%zu\t%.2f\t%.2f\t%.2f\t%.2f", kernel, c->loops->vector_bytes * 8, c->aesenc,
                  1 / c->aesenc_latency, c->clmul, c->aesenc_clmul);
}

static void mode_row(const char *cipher)
{
    bench_row("%s\t%.1f\t%.1f\t%.1f\t%.2f", cipher, ceiling_of(cipher, "aesni", 0), ceiling_of(cipher, "vaes256", 0),
              ceiling_of(cipher, "vaes512", 0), strstr(cipher, "CBC") != NULL ? ceiling_of(cipher, "auto", 1) : NAN);
}

int main(int argc, char **argv)
{
    static const struct bench_option options[] = {
        { "table", "both", .words = "instructions,modes,both" },
        { .name = NULL },
    };
    static const char *const kernels[] = { "aesni", "vaes256", "vaes512" };
    static const char *const ciphers[] = { "AES-128-GCM", "AES-192-GCM", "AES-256-GCM",
                                           "AES-128-CBC", "AES-192-CBC", "AES-256-CBC" };

    bench_init(argc, argv, "ceilings: instructions per ns, then GB/s of the modes' mixes (CBC: decryption)", options);
    const char *table = bench_text("table");
    if (strcmp(table, "modes") != 0) {
        bench_row("kernel\tbits\taesenc\tlatency_ns\tclmul\taesenc+clmul");
        for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
            instructions_row(kernels[i]);
    }
    if (strcmp(table, "instructions") != 0) {
        bench_row("cipher\taesni\tvaes256\tvaes512\tcbc_encrypt");
        for (size_t i = 0; i < sizeof ciphers / sizeof ciphers[0]; i++)
            mode_row(ciphers[i]);
    }
    return 0;
}
