/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/watch.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <openssl/err.h>

#define WATCH_NAME "aesop-watch"

/* In a cache line of its own: every answer of a resolver begins with the generation. */
struct watch {
    _Alignas(64) _Atomic uint64_t generation;
    const OSSL_CORE_HANDLE *core;
    OSSL_FUNC_provider_deregister_child_cb_fn *deregister;
};

static OSSL_FUNC_provider_teardown_fn watch_teardown;
static OSSL_FUNC_provider_query_operation_fn watch_query_operation;
static OSSL_provider_init_fn watch_init;

/* OpenSSL holds locks while it calls these: they must not call it back. */
static void changed(struct watch *watch)
{
    atomic_fetch_add_explicit(&watch->generation, 1, memory_order_acq_rel);
}

static int provider_came(const OSSL_CORE_HANDLE *provider, void *watch)
{
    (void)provider;
    changed(watch);
    return 1;
}

static int provider_went(const OSSL_CORE_HANDLE *provider, void *watch)
{
    (void)provider;
    changed(watch);
    return 1;
}

static int properties_changed(const char *properties, void *watch)
{
    (void)properties;
    changed(watch);
    return 1;
}

static void watch_teardown(void *provctx)
{
    struct watch *watch = provctx;

    watch->deregister(watch->core);
    free(watch);
}

static const OSSL_ALGORITHM *watch_query_operation(void *provctx, int operation_id, int *no_cache)
{
    (void)provctx;
    (void)operation_id;
    *no_cache = 0;
    return NULL;
}

static int watch_init(const OSSL_CORE_HANDLE *core, const OSSL_DISPATCH *in, const OSSL_DISPATCH **out, void **provctx)
{
    static const OSSL_DISPATCH functions[] = {
        { OSSL_FUNC_PROVIDER_TEARDOWN, (void (*)(void))watch_teardown },
        { OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))watch_query_operation },
        { 0, NULL },
    };
    OSSL_FUNC_provider_register_child_cb_fn *register_cb = NULL;
    struct watch *watch = aligned_alloc(_Alignof(struct watch), sizeof *watch);

    if (watch == NULL)
        return 0;
    memset(watch, 0, sizeof *watch);
    watch->core = core;
    atomic_init(&watch->generation, 1);
    for (; in->function_id != 0; in++) {
        if (in->function_id == OSSL_FUNC_PROVIDER_REGISTER_CHILD_CB)
            register_cb = OSSL_FUNC_provider_register_child_cb(in);
        else if (in->function_id == OSSL_FUNC_PROVIDER_DEREGISTER_CHILD_CB)
            watch->deregister = OSSL_FUNC_provider_deregister_child_cb(in);
    }
    if (register_cb == NULL || watch->deregister == NULL ||
        !register_cb(core, provider_came, provider_went, properties_changed, watch)) {
        free(watch);
        return 0;
    }
    *out = functions;
    *provctx = watch;
    return 1;
}

/* Known already from another resolver of the same context, or made known now. */
OSSL_PROVIDER *aesop_watch_load(_Atomic uint64_t **generation, OSSL_LIB_CTX *libctx)
{
    OSSL_PROVIDER *provider;

    ERR_set_mark();
    provider = OSSL_PROVIDER_try_load(libctx, WATCH_NAME, 1);
    ERR_pop_to_mark();
    if (provider == NULL && OSSL_PROVIDER_add_builtin(libctx, WATCH_NAME, watch_init))
        provider = OSSL_PROVIDER_try_load(libctx, WATCH_NAME, 1);
    if (provider != NULL)
        *generation = &((struct watch *)OSSL_PROVIDER_get0_provider_ctx(provider))->generation;
    return provider;
}
