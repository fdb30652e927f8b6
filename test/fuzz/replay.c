/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target without libFuzzer, on random inputs or on files. Usage: PROGRAM [COUNT [SEED]] or PROGRAM FILE...;
 * input n of a run with seed s is the first of a run with seed s + n.
 */
#include "support.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEFAULT_COUNT = 50000, RANDOM_BYTES = 300, FILE_BYTES = 65536 };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t seed = 1;

static void failed(int number)
{
    fprintf(stderr, "repeat with: 1 %llu\n", (unsigned long long)seed);
    signal(number, SIG_DFL);
    raise(number);
}

static void run_random(unsigned long count)
{
    signal(SIGABRT, failed);
    signal(SIGSEGV, failed);
    for (; count > 0; count--, seed++) {
        struct support_random random;
        uint8_t input[RANDOM_BYTES];
        size_t len;

        support_random_seed(&random, seed);
        len = support_random_below(&random, sizeof input);
        support_random_bytes(&random, input, len);
        LLVMFuzzerTestOneInput(input, len);
    }
}

static int run_file(const char *path)
{
    static uint8_t input[FILE_BYTES];
    FILE *file = fopen(path, "rb");

    if (file == NULL)
        return 0;
    LLVMFuzzerTestOneInput(input, fread(input, 1, sizeof input, file));
    fclose(file);
    return 1;
}

int main(int argc, char **argv)
{
    LLVMFuzzerInitialize(&argc, &argv);
    if (argc > 1 && !isdigit((unsigned char)argv[1][0])) {
        for (int i = 1; i < argc; i++)
            if (!run_file(argv[i]))
                return 1;
        return 0;
    }
    if (argc > 2)
        seed = strtoull(argv[2], NULL, 0);
    run_random(argc > 1 ? strtoul(argv[1], NULL, 0) : DEFAULT_COUNT);
    return 0;
}
