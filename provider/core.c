/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/core.h"

#include <errno.h>
#include <stdint.h>
#include <sys/random.h>

/* Contexts hold vectors; a cache line is the widest. */
enum { CONTEXT_ALIGNMENT = 64 };

const OSSL_ITEM aesop_reason_strings[] = {
    {AESOP_R_BAD_DECRYPT, "bad decrypt"},
    {AESOP_R_CIPHER_OPERATION_FAILED, "cipher operation failed"},
    {AESOP_R_FAILED_TO_GET_PARAMETER, "failed to get parameter"},
    {AESOP_R_FAILED_TO_SET_PARAMETER, "failed to set parameter"},
    {AESOP_R_INVALID_KEY_LENGTH, "invalid key length"},
    {AESOP_R_OUTPUT_BUFFER_TOO_SMALL, "output buffer too small"},
    {AESOP_R_WRONG_FINAL_BLOCK_LENGTH, "wrong final block length"},
    {AESOP_R_INVALID_AAD, "invalid aad"},
    {AESOP_R_INVALID_IV_LENGTH, "invalid iv length"},
    {AESOP_R_INVALID_TAG, "invalid tag"},
    {AESOP_R_NO_KEY_SET, "no key set"},
    {AESOP_R_TAG_NOT_SET, "tag not set"},
    {AESOP_R_TAG_NOT_NEEDED, "tag not needed"},
    {AESOP_R_TOO_MANY_RECORDS, "too many records"},
    {AESOP_R_INVALID_CONFIG_DATA, "invalid config data"},
    {AESOP_R_SELF_TEST_KAT_FAILURE, "self test kat failure"},
    {AESOP_R_NO_IV, "no iv set since the last message"},
    {AESOP_R_MESSAGE_TOO_LONG, "message too long"},
    {AESOP_R_NO_RANDOM_BYTES, "no random bytes"},
    {AESOP_R_KERNEL_UNAVAILABLE, "kernel unavailable"},
    {0, NULL},
};

int aesop_core_init(struct aesop_core *core, const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *upcalls)
{
    *core = (struct aesop_core){.handle = handle};
    for (; upcalls->function_id != 0; upcalls++) {
        switch (upcalls->function_id) {
        case OSSL_FUNC_CORE_GET_PARAMS:
            core->get_params = OSSL_FUNC_core_get_params(upcalls);
            break;
        case OSSL_FUNC_CORE_NEW_ERROR:
            core->new_error = OSSL_FUNC_core_new_error(upcalls);
            break;
        case OSSL_FUNC_CORE_SET_ERROR_DEBUG:
            core->set_error_debug = OSSL_FUNC_core_set_error_debug(upcalls);
            break;
        case OSSL_FUNC_CORE_VSET_ERROR:
            core->vset_error = OSSL_FUNC_core_vset_error(upcalls);
            break;
        case OSSL_FUNC_CRYPTO_MALLOC:
            core->malloc = OSSL_FUNC_CRYPTO_malloc(upcalls);
            break;
        case OSSL_FUNC_CRYPTO_FREE:
            core->free = OSSL_FUNC_CRYPTO_free(upcalls);
            break;
        }
    }
    return core->get_params != NULL && core->new_error != NULL && core->set_error_debug != NULL
           && core->vset_error != NULL && core->malloc != NULL && core->free != NULL;
}

void aesop_core_raise(const struct aesop_core *core, const char *file, int line, const char *func, int reason,
                      const char *format, ...)
{
    va_list args;

    core->new_error(core->handle);
    core->set_error_debug(core->handle, file, line, func);
    va_start(args, format);
    core->vset_error(core->handle, (uint32_t)reason, format, args);
    va_end(args);
}

void *aesop_core_alloc(const struct aesop_core *core, size_t size)
{
    uint8_t *base = core->malloc(size + CONTEXT_ALIGNMENT, __FILE__, __LINE__), *object;

    if (base == NULL)
        return NULL;
    /* At least one byte stays free in front of the object: it holds the distance back to base, 1..64. */
    object = (uint8_t *)(((uintptr_t)base + CONTEXT_ALIGNMENT) & ~(uintptr_t)(CONTEXT_ALIGNMENT - 1));
    object[-1] = (uint8_t)(object - base);
    return object;
}

void aesop_core_clear_free(const struct aesop_core *core, void *object, size_t wipe)
{
    uint8_t *bytes = object;

    if (object == NULL)
        return;
    aesop_wipe(object, wipe);
    core->free(bytes - bytes[-1], __FILE__, __LINE__);
}

int aesop_random(const struct aesop_core *core, unsigned char *out, size_t len)
{
    while (len > 0) {
        const ssize_t got = getrandom(out, len, 0);

        if (got < 0 && errno != EINTR) {
            AESOP_RAISE(core, AESOP_R_NO_RANDOM_BYTES, "getrandom: errno %d", errno);
            return 0;
        }
        if (got > 0) {
            out += got;
            len -= (size_t)got;
        }
    }
    return 1;
}
