/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/core.h"

#include <errno.h>
#include <stdint.h>
#include <sys/random.h>

/* Contexts hold vectors; a cache line is the widest. */
enum { CONTEXT_ALIGNMENT = 64 };

/* ERR_LIB_PROV and where a code has its library; err.h would bring libcrypto's functions with it. */
enum { PROVIDER_LIBRARY = 57, LIBRARY_SHIFT = 23 };

int aesop_core_init(struct aesop_core *core, const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *upcalls)
{
    *core = (struct aesop_core){ .handle = handle };
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
    return core->get_params != NULL && core->new_error != NULL && core->set_error_debug != NULL &&
           core->vset_error != NULL && core->malloc != NULL && core->free != NULL;
}

void aesop_core_raise(const struct aesop_core *core, const char *file, int line, const char *func, int reason,
                      const char *format, ...)
{
    va_list args;

    core->new_error(core->handle);
    core->set_error_debug(core->handle, file, line, func);
    va_start(args, format);
    core->vset_error(core->handle, PROVIDER_LIBRARY << LIBRARY_SHIFT | (uint32_t)reason, format, args);
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
            AESOP_RAISE(core, AESOP_R_ERROR_RETRIEVING_ENTROPY, "getrandom: errno %d", errno);
            return 0;
        }
        if (got > 0) {
            out += got;
            len -= (size_t)got;
        }
    }
    return 1;
}
