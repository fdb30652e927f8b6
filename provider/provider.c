/* SPDX-License-Identifier: Apache-2.0 */
/* The module's one entry: what aesop offers, and on which kernels. */
#include "provider/provider.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <openssl/core_names.h>
#include <openssl/params.h>

#include "ciphers/cpu.h"
#include "ciphers/dispatch.h"
#include "provider/params.h"

#define KERNEL_PARAM "kernel" /* the kernel set in use, or "none" */

static OSSL_FUNC_provider_teardown_fn provider_teardown;
static OSSL_FUNC_provider_gettable_params_fn provider_gettable_params;
static OSSL_FUNC_provider_get_params_fn provider_get_params;
static OSSL_FUNC_provider_query_operation_fn provider_query_operation;

/* Names and OIDs exactly as the default provider's: the name map is shared, and a difference breaks both. */
#define OFFER(name, aliases, key_bits, tag_bits, functions) \
    { \
        { name ":" aliases, "provider=aesop", functions, NULL }, name, key_bits, tag_bits \
    }
static const struct cipher {
    OSSL_ALGORITHM algorithm;
    const char *name;
    unsigned key_bits, tag_bits;
} all_ciphers[AESOP_CIPHERS] = {
    OFFER("AES-256-GCM", "id-aes256-GCM:2.16.840.1.101.3.4.1.46", 256, 128, aesop_aes256gcm_functions),
    OFFER("AES-192-GCM", "id-aes192-GCM:2.16.840.1.101.3.4.1.26", 192, 128, aesop_aes192gcm_functions),
    OFFER("AES-128-GCM", "id-aes128-GCM:2.16.840.1.101.3.4.1.6", 128, 128, aesop_aes128gcm_functions),
    OFFER("AES-256-CBC", "AES256:2.16.840.1.101.3.4.1.42", 256, 0, aesop_aes256cbc_functions),
    OFFER("AES-192-CBC", "AES192:2.16.840.1.101.3.4.1.22", 192, 0, aesop_aes192cbc_functions),
    OFFER("AES-128-CBC", "AES128:2.16.840.1.101.3.4.1.2", 128, 0, aesop_aes128cbc_functions),
};

/* What the constraints leave, once for all: they are judged on the day the provider loads. */
static void choose_ciphers(struct aesop_provider *provider)
{
    OSSL_ALGORITHM *next = provider->ciphers;

    for (size_t i = 0; i < AESOP_CIPHERS; i++) {
        const struct aesop_constraint_question question = {
            .algorithm = all_ciphers[i].name,
            .key_bits = all_ciphers[i].key_bits,
            .tag_bits = all_ciphers[i].tag_bits,
            .when = time(NULL),
        };

        if (provider->config.constraints == NULL ||
            aesop_constraints_forbid(provider->config.constraints, &question) == NULL)
            *next++ = all_ciphers[i].algorithm;
    }
    *next = (OSSL_ALGORITHM){ NULL, NULL, NULL, NULL };
}

static const OSSL_ALGORITHM *provider_query_operation(void *provctx, int operation_id, int *no_cache)
{
    const struct aesop_provider *provider = provctx;

    *no_cache = 0;
    return operation_id == OSSL_OP_CIPHER && provider->dispatch.kernels != NULL ? provider->ciphers : NULL;
}

static const OSSL_PARAM *provider_gettable_params(void *provctx)
{
    static const OSSL_PARAM gettable[] = {
        OSSL_PARAM_utf8_ptr(OSSL_PROV_PARAM_NAME, NULL, 0),
        OSSL_PARAM_utf8_ptr(OSSL_PROV_PARAM_VERSION, NULL, 0),
        OSSL_PARAM_utf8_ptr(OSSL_PROV_PARAM_BUILDINFO, NULL, 0),
        OSSL_PARAM_int(OSSL_PROV_PARAM_STATUS, NULL),
        OSSL_PARAM_utf8_ptr(KERNEL_PARAM, NULL, 0),
        OSSL_PARAM_END,
    };

    (void)provctx;
    return gettable;
}

static int provider_get_params(void *provctx, OSSL_PARAM params[])
{
    const struct aesop_provider *provider = provctx;
    const struct {
        const char *key, *value;
    } strings[] = {
        { OSSL_PROV_PARAM_NAME, "aesop, the AES OpenSSL provider" },
        { OSSL_PROV_PARAM_VERSION, AESOP_VERSION },
        { OSSL_PROV_PARAM_BUILDINFO, provider->build_info },
        { KERNEL_PARAM, provider->kernel_name },
    };

    for (OSSL_PARAM *p = params; p != NULL && p->key != NULL; p++) {
        if (strcmp(p->key, OSSL_PROV_PARAM_STATUS) == 0 && !aesop_param_set_uint(p, 1))
            return 0;
        for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
            if (strcmp(p->key, strings[i].key) == 0 && !aesop_param_set_utf8_ptr(p, strings[i].value))
                return 0;
    }
    return 1;
}

static void provider_teardown(void *provctx)
{
    struct aesop_provider *provider = provctx;
    const struct aesop_core core = provider->core;

    aesop_config_clear(&provider->config);
    aesop_core_clear_free(&core, provider, 0);
}

static void report_failed_kernels(void *arg, const struct aesop_kernels *kernels)
{
    AESOP_RAISE(arg, AESOP_R_SELF_TEST_KAT_FAILURE, "kernel %s gave a wrong answer on this CPU and is not used",
                kernels->name);
}

/* Settles which kernels serve. None at all is no failure: aesop then offers nothing, and default goes on serving. */
static int choose_kernels(struct aesop_provider *provider)
{
    const char *wanted = provider->config.kernel;

    provider->dispatch.chunk = provider->config.chunk;
    provider->dispatch.nt_bytes = AESOP_NT_BYTES;
    if (!aesop_dispatch_choose(&provider->dispatch, aesop_kernel_choices, aesop_cpu_features(), wanted,
                               report_failed_kernels, &provider->core) &&
        wanted != NULL) {
        AESOP_RAISE(&provider->core, AESOP_R_INVALID_CONFIG_DATA,
                    "kernel = %s: this CPU cannot run it; allowed: auto, or a kernel that it can", wanted);
        return 0;
    }
    provider->kernel_name = provider->dispatch.kernels != NULL ? provider->dispatch.kernels->name : "none";
    snprintf(provider->build_info, sizeof provider->build_info, AESOP_VERSION ", kernel %s", provider->kernel_name);
    return 1;
}

__attribute__((visibility("default"))) int OSSL_provider_init(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in,
                                                              const OSSL_DISPATCH **out, void **provctx)
{
    static const OSSL_DISPATCH functions[] = {
        { OSSL_FUNC_PROVIDER_TEARDOWN, (void (*)(void))provider_teardown },
        { OSSL_FUNC_PROVIDER_GETTABLE_PARAMS, (void (*)(void))provider_gettable_params },
        { OSSL_FUNC_PROVIDER_GET_PARAMS, (void (*)(void))provider_get_params },
        { OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))provider_query_operation },
        { 0, NULL },
    };
    struct aesop_provider *provider;
    struct aesop_core core;

    if (!aesop_core_init(&core, handle, in) || (provider = aesop_core_alloc(&core, sizeof *provider)) == NULL)
        return 0;
    provider->core = core;
    if (!aesop_config_read(&provider->config, &core) || !choose_kernels(provider)) {
        provider_teardown(provider);
        return 0;
    }
    choose_ciphers(provider);
    *out = functions;
    *provctx = provider;
    return 1;
}
