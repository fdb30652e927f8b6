/* SPDX-License-Identifier: Apache-2.0 */
/* What the module has of OpenSSL: the upcalls that came with OSSL_provider_init, and nothing else. */
#ifndef AESOP_PROVIDER_CORE_H
#define AESOP_PROVIDER_CORE_H

#include <stdarg.h>
#include <stddef.h>

#include <openssl/core.h>
#include <openssl/core_dispatch.h>

#include "ciphers/wipe.h"

struct aesop_core {
    const OSSL_CORE_HANDLE *handle;
    OSSL_FUNC_core_get_params_fn *get_params;
    OSSL_FUNC_core_new_error_fn *new_error;
    OSSL_FUNC_core_set_error_debug_fn *set_error_debug;
    OSSL_FUNC_core_vset_error_fn *vset_error;
    OSSL_FUNC_CRYPTO_malloc_fn *malloc;
    OSSL_FUNC_CRYPTO_free_fn *free;
};

/*
 * Reasons, all of them the default provider's (proverr.h), and the errors are raised in its library: programs compare
 * both, Python's cryptography and Node.js among them. A provider with reason strings of its own would end a program
 * that frees its last context after OPENSSL_cleanup: 3.0 then unloads them under a lock that is no more.
 */
enum aesop_reason {
    AESOP_R_BAD_DECRYPT = 100,
    AESOP_R_CIPHER_OPERATION_FAILED = 102,
    AESOP_R_FAILED_TO_GET_PARAMETER = 103,
    AESOP_R_FAILED_TO_SET_PARAMETER = 104,
    AESOP_R_INVALID_KEY_LENGTH = 105,
    AESOP_R_OUTPUT_BUFFER_TOO_SMALL = 106,
    AESOP_R_WRONG_FINAL_BLOCK_LENGTH = 107,
    AESOP_R_INVALID_AAD = 108,
    AESOP_R_INVALID_IV_LENGTH = 109,
    AESOP_R_INVALID_TAG = 110,
    AESOP_R_NO_KEY_SET = 114,
    AESOP_R_TOO_MANY_RECORDS = 126,
    AESOP_R_ERROR_RETRIEVING_ENTROPY = 189,
    AESOP_R_INVALID_CONFIG_DATA = 211,
    AESOP_R_SELF_TEST_KAT_FAILURE = 215
};

/* Fills core from the dispatch array of OSSL_provider_init. Returns 1, or 0 where an upcall we need is missing. */
int aesop_core_init(struct aesop_core *core, const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *upcalls);

/* Raises an error with a reason and an explanation (printf format, NULL for none). */
void aesop_core_raise(const struct aesop_core *core, const char *file, int line, const char *func, int reason,
                      const char *format, ...) __attribute__((format(printf, 6, 7)));
#define AESOP_RAISE(core, reason, ...) aesop_core_raise((core), __FILE__, __LINE__, __func__, (reason), __VA_ARGS__)

/*
 * Memory for a context, aligned to 64 bytes and not cleared. NULL, with no error raised, where there is none. The
 * offset to the real allocation is kept in front of the object, so that a context can be copied as bytes.
 */
void *aesop_core_alloc(const struct aesop_core *core, size_t size);
/* Wipes the first `wipe` bytes, then frees. NULL is allowed. */
void aesop_core_clear_free(const struct aesop_core *core, void *object, size_t wipe);

/* Fills out with len random bytes from the kernel (never from OpenSSL: its generator may be what called us). */
int aesop_random(const struct aesop_core *core, unsigned char *out, size_t len);

#endif
