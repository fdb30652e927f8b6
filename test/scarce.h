/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that fails libcrypto, for a program that calls scarce_install before anything else. */
#ifndef AESOP_TEST_SCARCE_H
#define AESOP_TEST_SCARCE_H

#include <stdlib.h>

#include <openssl/crypto.h>

static long allocations_left = -1; /* of libcrypto; -1: as many as it likes */
static int allocations_failed, fails_once;

static int allocation_fails(void)
{
    if (allocations_left < 0) /* written to by no thread while there are several */
        return 0;
    if (allocations_left > 0) {
        allocations_left--;
        return 0;
    }
    allocations_failed = 1;
    if (fails_once)
        allocations_left = -1;
    return 1;
}

static void *scarce_malloc(size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return size == 0 || allocation_fails() ? NULL : malloc(size);
}

static void *scarce_realloc(void *memory, size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return allocation_fails() ? NULL : realloc(memory, size);
}

static void scarce_free(void *memory, const char *file, int line)
{
    (void)file, (void)line;
    free(memory);
}

static int scarce_install(void)
{
    return CRYPTO_set_mem_functions(scarce_malloc, scarce_realloc, scarce_free);
}

#endif
