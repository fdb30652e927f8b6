/* SPDX-License-Identifier: Apache-2.0 */
/* The provider as a whole: what it says of itself, what it offers under which names, how it loads and goes. */
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/objects.h>
#include <openssl/provider.h>
#include <openssl/rand.h>

#include "check.h"
#include "provider/core.h"
#include "support.h"

static const struct {
    const char *name, *aliases[2]; /* the aliases: short name or other, object identifier */
    int nid;
} ciphers[] = {
    { "AES-128-GCM", { "id-aes128-GCM", "2.16.840.1.101.3.4.1.6" }, NID_aes_128_gcm },
    { "AES-192-GCM", { "id-aes192-GCM", "2.16.840.1.101.3.4.1.26" }, NID_aes_192_gcm },
    { "AES-256-GCM", { "id-aes256-GCM", "2.16.840.1.101.3.4.1.46" }, NID_aes_256_gcm },
    { "AES-128-CBC", { "AES128", "2.16.840.1.101.3.4.1.2" }, NID_aes_128_cbc },
    { "AES-192-CBC", { "AES192", "2.16.840.1.101.3.4.1.22" }, NID_aes_192_cbc },
    { "AES-256-CBC", { "AES256", "2.16.840.1.101.3.4.1.42" }, NID_aes_256_cbc },
};
enum { CIPHERS = sizeof ciphers / sizeof *ciphers };

static OSSL_LIB_CTX *ours, *theirs;

static int suite_open(void)
{
    ours = support_ctx_chosen();
    theirs = support_ctx_default();
    return ours == NULL || theirs == NULL;
}

static int suite_close(void)
{
    support_ctx_free(ours);
    support_ctx_free(theirs);
    return 0;
}

static const char *provider_of(const EVP_CIPHER *cipher)
{
    return cipher != NULL ? OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher)) : "none";
}

/* ---- what it says of itself ---- */

static void test_provider_params(void)
{
    OSSL_PROVIDER *provider = OSSL_PROVIDER_load(ours, "aesop");
    const OSSL_PARAM *gettable;
    const char *name = "", *version = "", *info = "", *kernel = "";
    int status = -1, stranger = 7, known = 0;
    OSSL_PARAM params[] = { OSSL_PARAM_construct_utf8_ptr(OSSL_PROV_PARAM_NAME, (char **)&name, 0),
                            OSSL_PARAM_construct_int("colour", &stranger),
                            OSSL_PARAM_construct_utf8_ptr(OSSL_PROV_PARAM_VERSION, (char **)&version, 0),
                            OSSL_PARAM_construct_utf8_ptr(OSSL_PROV_PARAM_BUILDINFO, (char **)&info, 0),
                            OSSL_PARAM_construct_int(OSSL_PROV_PARAM_STATUS, &status),
                            OSSL_PARAM_construct_utf8_ptr("kernel", (char **)&kernel, 0),
                            OSSL_PARAM_END };
    OSSL_PARAM no_params[] = { OSSL_PARAM_END };

    CU_ASSERT_FATAL(provider != NULL);
    gettable = OSSL_PROVIDER_gettable_params(provider);
    CU_ASSERT_FATAL(gettable != NULL);
    for (size_t i = 0; params[i].key != NULL; i++) {
        const OSSL_PARAM *listed = gettable;

        while (listed->key != NULL && strcmp(listed->key, params[i].key) != 0)
            listed++;
        CHECK((listed->key != NULL) == (params[i].data != &stranger), "%s in the list", params[i].key);
        CU_ASSERT(listed->key == NULL || listed->data_type == params[i].data_type);
    }
    CU_ASSERT(OSSL_PROVIDER_get_params(provider, no_params));
    CU_ASSERT(OSSL_PROVIDER_get_params(provider, params));
    CHECK(strncmp(name, "aesop", 5) == 0, "%s", name);
    CU_ASSERT_STRING_EQUAL(version, AESOP_VERSION);
    CHECK(strstr(info, AESOP_VERSION) != NULL && strstr(info, kernel) != NULL, "%s", info);
    CU_ASSERT_EQUAL(status, 1);
    CU_ASSERT_EQUAL(stranger, 7);
    for (size_t i = 0; support_kernels[i] != NULL; i++)
        known |= strcmp(kernel, support_kernels[i]) == 0;
    CHECK(known || strcmp(kernel, "none") == 0, "%s", kernel);
    CU_ASSERT(support_kernel() == NULL || strcmp(kernel, support_kernel()) == 0);
    OSSL_PROVIDER_unload(provider);
}

/* A parameter of the wrong type, or with too little room, is refused. */
static void test_provider_params_refused(void)
{
    OSSL_PROVIDER *provider = OSSL_PROVIDER_load(ours, "aesop");
    char text[64];
    float real;
    OSSL_PARAM as_string[] = { OSSL_PARAM_construct_int(OSSL_PROV_PARAM_NAME, (int *)(void *)text), OSSL_PARAM_END };
    OSSL_PARAM as_text[] = { OSSL_PARAM_construct_utf8_string(OSSL_PROV_PARAM_STATUS, text, sizeof text),
                             OSSL_PARAM_END };
    OSSL_PARAM too_small[] = { { OSSL_PROV_PARAM_STATUS, OSSL_PARAM_REAL, &real, sizeof real, 0 }, OSSL_PARAM_END };

    CU_ASSERT_FATAL(provider != NULL);
    CU_ASSERT_FALSE(OSSL_PROVIDER_get_params(provider, as_string));
    CU_ASSERT_FALSE(OSSL_PROVIDER_get_params(provider, as_text));
    CU_ASSERT_FALSE(OSSL_PROVIDER_get_params(provider, too_small));
    OSSL_PROVIDER_unload(provider);
    ERR_clear_error();
}

/* ---- names ---- */

enum { NAMES_MAX = 16 };
struct name_list {
    const char *names[NAMES_MAX];
    size_t count;
};

static void add_name(const char *name, void *arg)
{
    struct name_list *list = arg;

    if (list->count < NAMES_MAX)
        list->names[list->count++] = name;
}

static int has_name(const struct name_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->names[i], name) == 0)
            return 1;
    return 0;
}

/* Names, aliases and identifiers are default's, character by character; fetching by any of them gives ours. */
static void test_names(void)
{
    for (size_t i = 0; i < CIPHERS; i++) {
        EVP_CIPHER *a = support_fetch(ours, ciphers[i].name, "aesop");
        EVP_CIPHER *b = support_fetch(theirs, ciphers[i].name, "default");
        struct name_list mine = { .count = 0 }, reference = { .count = 0 };

        if (a != NULL && b != NULL) {
            EVP_CIPHER_names_do_all(a, add_name, &mine);
            EVP_CIPHER_names_do_all(b, add_name, &reference);
            CHECK(mine.count == reference.count && mine.count >= 3, "%s has %zu names, default's %zu", ciphers[i].name,
                  mine.count, reference.count);
            for (size_t n = 0; n < reference.count; n++) {
                EVP_CIPHER *again = support_fetch(ours, reference.names[n], "aesop");

                CHECK(has_name(&mine, reference.names[n]), "%s is not called %s", ciphers[i].name, reference.names[n]);
                CHECK(EVP_CIPHER_is_a(a, reference.names[n]), "%s is no %s", ciphers[i].name, reference.names[n]);
                EVP_CIPHER_free(again);
            }
            for (size_t n = 0; n < 2; n++)
                CHECK(has_name(&mine, ciphers[i].aliases[n]), "%s is not called %s", ciphers[i].name,
                      ciphers[i].aliases[n]);
            CHECK(EVP_CIPHER_get_nid(a) == ciphers[i].nid, "%s", ciphers[i].name);
            CU_ASSERT_STRING_EQUAL(EVP_CIPHER_get0_name(a), EVP_CIPHER_get0_name(b));
            CU_ASSERT_PTR_NOT_NULL(EVP_CIPHER_get0_description(a));
            for (size_t n = 0; n < CIPHERS; n++)
                CU_ASSERT_EQUAL(EVP_CIPHER_is_a(a, ciphers[n].name) != 0, n == i);
        }
        EVP_CIPHER_free(a);
        EVP_CIPHER_free(b);
    }
}

static void count_ours(EVP_CIPHER *cipher, void *arg)
{
    *(int *)arg += strcmp(provider_of(cipher), "aesop") == 0;
}

static void test_offers_these_alone(void)
{
    int count = 0;

    EVP_CIPHER_do_all_provided(ours, count_ours, &count);
    CU_ASSERT_EQUAL(count, CIPHERS);
}

/* ---- what a cipher says of itself ---- */

static void test_cipher_params(void)
{
    static const char *const numbers[] = { "mode",      "keylen", "ivlen",     "blocksize",   "aead",
                                           "custom-iv", "cts",    "tls-multi", "has-randkey", "encrypt-then-mac" };

    for (size_t i = 0; i < CIPHERS; i++) {
        EVP_CIPHER *a = support_fetch(ours, ciphers[i].name, "aesop");
        EVP_CIPHER *b = support_fetch(theirs, ciphers[i].name, "default");

        if (a != NULL && b != NULL) {
            CHECK(EVP_CIPHER_get_flags(a) == EVP_CIPHER_get_flags(b), "%s: flags %lx, not %lx", ciphers[i].name,
                  EVP_CIPHER_get_flags(a), EVP_CIPHER_get_flags(b));
            CU_ASSERT_EQUAL(EVP_CIPHER_get_mode(a), EVP_CIPHER_get_mode(b));
            CU_ASSERT_EQUAL(EVP_CIPHER_get_key_length(a), EVP_CIPHER_get_key_length(b));
            CU_ASSERT_EQUAL(EVP_CIPHER_get_iv_length(a), EVP_CIPHER_get_iv_length(b));
            CU_ASSERT_EQUAL(EVP_CIPHER_get_block_size(a), EVP_CIPHER_get_block_size(b));
            CU_ASSERT_EQUAL(EVP_CIPHER_get_type(a), EVP_CIPHER_get_type(b));
            CU_ASSERT(EVP_CIPHER_get_params(a, NULL));
            for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
                /* Of whatever type a caller has. */
                for (int type = 0; type < 4; type++) {
                    uint64_t got[2] = { 0x5555, 0x5555 };
                    size_t size = type & 1 ? 4 : 8;
                    unsigned data_type = type & 2 ? OSSL_PARAM_INTEGER : OSSL_PARAM_UNSIGNED_INTEGER;
                    OSSL_PARAM pa[] = { { numbers[n], data_type, &got[0], size, OSSL_PARAM_UNMODIFIED },
                                        OSSL_PARAM_END };
                    OSSL_PARAM pb[] = { { numbers[n], data_type, &got[1], size, OSSL_PARAM_UNMODIFIED },
                                        OSSL_PARAM_END };

                    CU_ASSERT(EVP_CIPHER_get_params(a, pa) && EVP_CIPHER_get_params(b, pb));
                    /* encrypt-then-mac is younger than 3.0: a default that does not know it means 0. */
                    if (OSSL_PARAM_modified(pa) && !OSSL_PARAM_modified(pb))
                        got[1] = 0;
                    CHECK(got[0] == got[1], "%s: %s is %llu, not %llu", ciphers[i].name, numbers[n],
                          (unsigned long long)got[0], (unsigned long long)got[1]);

                    /* Without a buffer, the size that it should have. */
                    pa[0].data = pb[0].data = NULL;
                    pa[0].return_size = pb[0].return_size = OSSL_PARAM_UNMODIFIED;
                    CU_ASSERT(EVP_CIPHER_get_params(a, pa) && EVP_CIPHER_get_params(b, pb));
                    if (OSSL_PARAM_modified(pb))
                        CHECK(pa[0].return_size == pb[0].return_size, "%s: %s has %zu bytes, not %zu", ciphers[i].name,
                              numbers[n], pa[0].return_size, pb[0].return_size);
                }
            }
        }
        EVP_CIPHER_free(a);
        EVP_CIPHER_free(b);
    }
}

/* Octets are listed as string or pointer, differently in different releases; both are answered. */
static unsigned listed_type(const OSSL_PARAM *p)
{
    return p->data_type == OSSL_PARAM_OCTET_PTR ? OSSL_PARAM_OCTET_STRING : p->data_type;
}

/* Whatever default lists is in our list too, with its type. */
static void check_list(const char *cipher, const char *what, const OSSL_PARAM *mine, const OSSL_PARAM *reference)
{
    CU_ASSERT_FATAL(mine != NULL && reference != NULL);
    for (; reference->key != NULL; reference++) {
        const OSSL_PARAM *p = mine;

        while (p->key != NULL && strcmp(p->key, reference->key) != 0)
            p++;
        if (CHECK(p->key != NULL, "%s: %s is not among the %s", cipher, reference->key, what))
            CHECK(listed_type(p) == listed_type(reference), "%s: %s among the %s has type %u, not %u", cipher, p->key,
                  what, p->data_type, reference->data_type);
    }
}

static void test_lists(void)
{
    for (size_t i = 0; i < CIPHERS; i++) {
        EVP_CIPHER *a = support_fetch(ours, ciphers[i].name, "aesop");
        EVP_CIPHER *b = support_fetch(theirs, ciphers[i].name, "default");

        if (a != NULL && b != NULL) {
            check_list(ciphers[i].name, "gettable parameters", EVP_CIPHER_gettable_params(a),
                       EVP_CIPHER_gettable_params(b));
            check_list(ciphers[i].name, "gettable parameters of a context", EVP_CIPHER_gettable_ctx_params(a),
                       EVP_CIPHER_gettable_ctx_params(b));
            check_list(ciphers[i].name, "settable parameters of a context", EVP_CIPHER_settable_ctx_params(a),
                       EVP_CIPHER_settable_ctx_params(b));
        }
        EVP_CIPHER_free(a);
        EVP_CIPHER_free(b);
    }
}

/* ---- selection by properties ---- */

static void test_properties(void)
{
    static const struct {
        const char *name, *query, *want;
    } cases[] = {
        { "AES-128-GCM", NULL, "aesop" },
        { "AES-128-GCM", "", "aesop" },
        { "AES-128-GCM", "provider=aesop", "aesop" },
        { "AES-128-GCM", "provider=default", "default" },
        { "AES-128-GCM", "provider!=aesop", "default" },
        { "AES-128-GCM", "?provider=default", "default" },
        { "AES-128-GCM", "fips=yes", "none" },
        { "AES-256-CBC", "fips=yes", "none" },
        { "AES-256-CBC", "provider=aesop,fips=yes", "none" },
        { "AES-128-CTR", NULL, "default" },
        { "AES-128-CTR", "provider=aesop", "none" },
        { "AES-128-CBC-HMAC-SHA1", "provider=aesop", "none" },
        { "ChaCha20-Poly1305", NULL, "default" },
    };
    EVP_MD *digest = EVP_MD_fetch(ours, "SHA256", NULL);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        EVP_CIPHER *cipher = EVP_CIPHER_fetch(ours, cases[i].name, cases[i].query);

        CHECK(strcmp(provider_of(cipher), cases[i].want) == 0, "%s with %s comes from %s, not %s", cases[i].name,
              cases[i].query != NULL ? cases[i].query : "NULL", provider_of(cipher), cases[i].want);
        EVP_CIPHER_free(cipher);
    }
    /* What we do not have goes on to be had. */
    CU_ASSERT(digest != NULL && strcmp(OSSL_PROVIDER_get0_name(EVP_MD_get0_provider(digest)), "default") == 0);
    EVP_MD_free(digest);
    ERR_clear_error();
}

/* ---- errors ---- */

/* The first error in the queue: its reason, what its text and explanation hold. Returns its library. */
static void check_error(int reason, const char *in_text, const char *in_data)
{
    const char *file = "", *func = "", *data = "";
    int line = 0, flags = 0;
    unsigned long error = ERR_peek_error_all(&file, &line, &func, &data, &flags);
    char text[512];

    ERR_error_string_n(error, text, sizeof text);
    CHECK(ERR_GET_LIB(error) == ERR_LIB_PROV && ERR_GET_REASON(error) == reason, "library %d, reason %d, not %d",
          ERR_GET_LIB(error), ERR_GET_REASON(error), reason);
    CHECK(strstr(text, in_text) != NULL, "%s", text);
    CHECK(strstr(data, in_data) != NULL, "the explanation lacks %s: %s", in_data, data);
    CHECK(strstr(file, "cipher_gcm.c") != NULL && line > 0 && func[0] != '\0', "%s:%d %s", file, line, func);
}

static void test_reason_strings(void)
{
    static const int reasons[] = {
        AESOP_R_BAD_DECRYPT,
        AESOP_R_CIPHER_OPERATION_FAILED,
        AESOP_R_FAILED_TO_GET_PARAMETER,
        AESOP_R_INVALID_KEY_LENGTH,
        AESOP_R_FAILED_TO_SET_PARAMETER,
        AESOP_R_OUTPUT_BUFFER_TOO_SMALL,
        AESOP_R_INVALID_AAD,
        AESOP_R_WRONG_FINAL_BLOCK_LENGTH,
        AESOP_R_INVALID_IV_LENGTH,
        AESOP_R_INVALID_TAG,
        AESOP_R_NO_KEY_SET,
        AESOP_R_TOO_MANY_RECORDS,
        AESOP_R_INVALID_CONFIG_DATA,
        AESOP_R_SELF_TEST_KAT_FAILURE,
        AESOP_R_ERROR_RETRIEVING_ENTROPY,
    };
    EVP_CIPHER *cipher = support_fetch(ours, "AES-128-GCM", "aesop");
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    unsigned char zeros[16] = { 0 };
    size_t too_long = 129;
    OSSL_PARAM params[] = { OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_AEAD_IVLEN, &too_long), OSSL_PARAM_END };
    int n;

    CU_ASSERT_FATAL(cipher != NULL && EVP_DecryptInit_ex2(ctx, cipher, zeros, NULL, NULL));
    ERR_clear_error();
    CU_ASSERT_FALSE(EVP_CIPHER_CTX_set_params(ctx, params));
    /* Raised as if by default: programs compare the whole code. */
    check_error(AESOP_R_INVALID_IV_LENGTH, "invalid iv length", "129");
    ERR_clear_error();
    CU_ASSERT_FALSE(EVP_DecryptUpdate(ctx, zeros, &n, zeros, sizeof zeros));
    check_error(AESOP_R_CIPHER_OPERATION_FAILED, "cipher operation failed", "IV");

    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        CHECK(ERR_reason_error_string(ERR_PACK(ERR_LIB_PROV, 0, reasons[i])) != NULL, "reason %d has no text",
              reasons[i]);
    ERR_clear_error();
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
}

/* ---- random numbers ---- */

/* The generator of 3.0 to 3.4 fetches its AES through the default properties: that must not come back to us. */
static void test_random(void)
{
    /* In a context that has done nothing yet: by the generator first, by an IV of ours first. */
    for (int first = 0; first < 2; first++) {
        OSSL_LIB_CTX *ctx = support_ctx_aesop(support_kernel());
        unsigned char bytes[2][64] = { { 0 } };

        CU_ASSERT_FATAL(ctx != NULL);
        if (first == 1) {
            EVP_CIPHER *cipher = support_fetch(ctx, "AES-256-GCM", "aesop");
            EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
            unsigned char out[16];
            int n;

            CU_ASSERT(cipher != NULL && EVP_EncryptInit_ex2(c, cipher, bytes[0], NULL, NULL) &&
                      EVP_EncryptUpdate(c, out, &n, bytes[0], 16));
            EVP_CIPHER_CTX_free(c);
            EVP_CIPHER_free(cipher);
        }
        CU_ASSERT(RAND_bytes_ex(ctx, bytes[0], sizeof bytes[0], 256) == 1);
        CU_ASSERT(RAND_priv_bytes_ex(ctx, bytes[1], sizeof bytes[1], 256) == 1);
        CU_ASSERT_NOT_EQUAL(memcmp(bytes[0], bytes[1], sizeof bytes[0]), 0);
        CU_ASSERT(EVP_RAND_reseed(RAND_get0_primary(ctx), 1, NULL, 0, NULL, 0));
        CU_ASSERT(RAND_bytes_ex(ctx, bytes[0], sizeof bytes[0], 256) == 1);
        support_ctx_free(ctx);
    }
    ERR_clear_error();
}

/* ---- coming and going ---- */

/* Loads aesop itself, without a configuration file. */
static OSSL_PROVIDER *load(OSSL_LIB_CTX *ctx)
{
    OSSL_PROVIDER *provider;

    OSSL_PROVIDER_set_default_search_path(ctx, support_module_dir());
    provider = OSSL_PROVIDER_load(ctx, "aesop");
    CU_ASSERT_PTR_NOT_NULL(provider);
    return provider;
}

static int round_trip(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher)
{
    const unsigned char key[32] = { 7 }, text[100] = { 1, 2, 3 };
    unsigned char out[128], back[128];
    int n, n2, total;

    if (!EVP_EncryptInit_ex2(ctx, cipher, key, key, NULL) || !EVP_EncryptUpdate(ctx, out, &n, text, sizeof text) ||
        !EVP_EncryptFinal_ex(ctx, out + n, &n2))
        return 0;
    total = n + n2;
    if (!EVP_DecryptInit_ex2(ctx, cipher, key, key, NULL) || !EVP_DecryptUpdate(ctx, back, &n, out, total))
        return 0;
    return (size_t)n >= 96 && memcmp(back, text, 96) == 0;
}

static void test_unload_while_in_use(void)
{
    for (size_t i = 0; i < CIPHERS; i++) {
        OSSL_LIB_CTX *lib = OSSL_LIB_CTX_new();
        OSSL_PROVIDER *provider = load(lib);
        EVP_CIPHER *cipher = EVP_CIPHER_fetch(lib, ciphers[i].name, NULL);
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new(), *copy = EVP_CIPHER_CTX_new();

        CU_ASSERT_STRING_EQUAL(provider_of(cipher), "aesop");
        CU_ASSERT(round_trip(ctx, cipher));
        CU_ASSERT(OSSL_PROVIDER_unload(provider));
        /* What was fetched holds the provider. */
        CU_ASSERT(round_trip(ctx, cipher));
        CU_ASSERT(EVP_CIPHER_CTX_copy(copy, ctx));
        EVP_CIPHER_free(cipher);
        EVP_CIPHER_CTX_free(ctx);
        CU_ASSERT(round_trip(copy, NULL));
        EVP_CIPHER_CTX_free(copy);
        OSSL_LIB_CTX_free(lib);
    }
}

/* What a static object holds can be freed behind OpenSSL's own end, in a process that then goes on to its own. */
static void test_freed_after_the_end(void)
{
    const pid_t child = fork();
    int status = -1;

    if (child == 0) {
        OSSL_PROVIDER *provider = load(NULL);
        EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, ciphers[0].name, "provider=aesop");
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        int ok = cipher != NULL && round_trip(ctx, cipher);

        OSSL_PROVIDER_unload(provider);
        OPENSSL_cleanup();
        EVP_CIPHER_CTX_free(ctx);
        EVP_CIPHER_free(cipher);
        _exit(!ok);
    }
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %#x", (unsigned)status);
}

/* Every kernel in a context of its own, all in use at once, gone in another order than they came. */
static void test_contexts(void)
{
    enum { CONTEXTS = 8 };
    OSSL_LIB_CTX *libs[CONTEXTS];
    EVP_CIPHER *fetched[CONTEXTS];
    EVP_CIPHER_CTX *ctxs[CONTEXTS];
    size_t kernels = 0;

    while (support_kernels[kernels] != NULL)
        kernels++;
    for (size_t i = 0; i < CONTEXTS; i++) {
        libs[i] = support_ctx_aesop(support_kernels[i % kernels]);
        if (libs[i] == NULL) /* this CPU lacks that kernel, which test_config looks into */
            libs[i] = support_ctx_aesop(NULL);
        CU_ASSERT_FATAL(libs[i] != NULL);
        fetched[i] = support_fetch(libs[i], ciphers[i % CIPHERS].name, "aesop");
        ctxs[i] = EVP_CIPHER_CTX_new();
    }
    for (size_t round = 0; round < 20; round++)
        for (size_t i = 0; i < CONTEXTS; i++)
            CU_ASSERT(round_trip(ctxs[i], fetched[i]));
    for (size_t step = 0; step < CONTEXTS; step++) {
        size_t i = step * 3 % CONTEXTS;

        EVP_CIPHER_CTX_free(ctxs[i]);
        EVP_CIPHER_free(fetched[i]);
        support_ctx_free(libs[i]);
    }
    ERR_clear_error();
}

static size_t allocated(void)
{
    return mallinfo2().uordblks;
}

static void load_many(int times)
{
    for (int i = 0; i < times; i++) {
        OSSL_LIB_CTX *lib = OSSL_LIB_CTX_new();
        OSSL_PROVIDER *provider = load(lib);
        EVP_CIPHER *cipher = EVP_CIPHER_fetch(lib, ciphers[i % CIPHERS].name, NULL);

        CU_ASSERT_PTR_NOT_NULL(cipher);
        EVP_CIPHER_free(cipher);
        OSSL_PROVIDER_unload(provider);
        OSSL_LIB_CTX_free(lib);
    }
}

static void test_many_loads(void)
{
    /* A sanitizer or valgrind takes malloc's place: the count stays 0, and it looks for leaks itself. */
    size_t loads = allocated() == 0 ? 2 : 100, least = SIZE_MAX;

    /* Tables of libcrypto grow now and then; a leak does always, by 32 bytes at the least, malloc's smallest block. */
    for (int round = 0; round < 20; round++) {
        size_t before = allocated(), growth;

        load_many((int)loads);
        growth = allocated() > before ? allocated() - before : 0;
        least = growth < least ? growth : least;
    }
    CHECK(least < loads * 24, "%zu bytes more after every %zu loads", least, loads);
}

/* ---- a core that lacks what we need ---- */

/* A provider built into the test: its init is how we come to upcalls that are real. */
static struct {
    OSSL_provider_init_fn *module_init; /* aesop's */
    int ran;
} captured;

enum { UPCALLS_MAX = 128 };

static void *no_memory(size_t size, const char *file, int line)
{
    (void)size, (void)file, (void)line;
    return NULL;
}

static int no_params(const OSSL_CORE_HANDLE *handle, OSSL_PARAM params[])
{
    (void)handle, (void)params;
    return 0;
}

/* Copies a dispatch array without one entry (0: all), or with another function in its place. */
static void copy_upcalls(OSSL_DISPATCH *out, const OSSL_DISPATCH *in, int id, void (*instead)(void))
{
    size_t n = 0;

    for (; in->function_id != 0 && n < UPCALLS_MAX - 2; in++) {
        if (in->function_id == id && instead == NULL)
            continue;
        out[n] = *in;
        if (in->function_id == id)
            out[n].function = instead;
        n++;
    }
    out[n] = (OSSL_DISPATCH){ 0, NULL };
}

static int capture_init(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in, const OSSL_DISPATCH **out,
                        void **provctx)
{
    static const struct {
        int id;
        void (*instead)(void);
    } missing[] = {
        { OSSL_FUNC_CORE_GET_PARAMS, NULL },
        { OSSL_FUNC_CORE_NEW_ERROR, NULL },
        { OSSL_FUNC_CORE_SET_ERROR_DEBUG, NULL },
        { OSSL_FUNC_CORE_VSET_ERROR, NULL },
        { OSSL_FUNC_CRYPTO_MALLOC, NULL },
        { OSSL_FUNC_CRYPTO_FREE, NULL },
        { OSSL_FUNC_CRYPTO_MALLOC, (void (*)(void))no_memory },
        { OSSL_FUNC_CORE_GET_PARAMS, (void (*)(void))no_params },
    };
    static const OSSL_DISPATCH empty[] = { { 0, NULL } };
    static OSSL_DISPATCH upcalls[UPCALLS_MAX];
    const OSSL_DISPATCH *functions;
    OSSL_FUNC_provider_query_operation_fn *query = NULL;
    OSSL_FUNC_provider_teardown_fn *teardown = NULL;
    void *ctx;

    (void)out, (void)provctx;
    captured.ran = 1;
    CU_ASSERT_EQUAL(captured.module_init(handle, empty, &functions, &ctx), 0);
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        copy_upcalls(upcalls, in, missing[i].id, missing[i].instead);
        functions = NULL;
        ctx = NULL;
        CHECK(captured.module_init(handle, upcalls, &functions, &ctx) == 0, "loads with upcall %d %s", missing[i].id,
              missing[i].instead != NULL ? "failing" : "missing");
        CU_ASSERT(functions == NULL && ctx == NULL);
    }

    /* And with them all, and one that nobody knows in front: newer cores have more. */
    upcalls[0] = (OSSL_DISPATCH){ 9999, (void (*)(void))no_memory };
    copy_upcalls(upcalls + 1, in, 0, NULL);
    CU_ASSERT_FATAL(captured.module_init(handle, upcalls, &functions, &ctx) == 1);
    for (; functions->function_id != 0; functions++) {
        if (functions->function_id == OSSL_FUNC_PROVIDER_QUERY_OPERATION)
            query = OSSL_FUNC_provider_query_operation(functions);
        if (functions->function_id == OSSL_FUNC_PROVIDER_TEARDOWN)
            teardown = OSSL_FUNC_provider_teardown(functions);
    }
    CU_ASSERT_FATAL(query != NULL && teardown != NULL);
    for (int operation = 0; operation < 40; operation++) {
        int no_cache = -1;
        const OSSL_ALGORITHM *algorithms = query(ctx, operation, &no_cache);

        CHECK(no_cache == 0, "no_cache of operation %d is %d", operation, no_cache);
        CHECK(operation == OSSL_OP_CIPHER || algorithms == NULL, "offers something for operation %d", operation);
        CU_ASSERT_PTR_EQUAL(algorithms, query(ctx, operation, &no_cache)); /* a table that stays */
    }
    teardown(ctx);
    return 0;
}

static void test_lacking_core(void)
{
    OSSL_LIB_CTX *lib = OSSL_LIB_CTX_new();
    char path[4096];
    void *module;

    snprintf(path, sizeof path, "%s/aesop.so", support_module_dir());
    module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!CHECK(module != NULL, "%s", dlerror()))
        return;
    *(void **)&captured.module_init = dlsym(module, "OSSL_provider_init");
    CU_ASSERT_FATAL(captured.module_init != NULL);
    CU_ASSERT(OSSL_PROVIDER_add_builtin(lib, "capture", capture_init));
    CU_ASSERT_PTR_NULL(OSSL_PROVIDER_load(lib, "capture")); /* it has done its work in init */
    CU_ASSERT(captured.ran);
    ERR_clear_error();
    OSSL_LIB_CTX_free(lib);
    dlclose(module);
}

int main(int argc, char **argv)
{
    static CU_TestInfo itself[] = { { "parameters", test_provider_params },
                                    { "parameters refused", test_provider_params_refused },
                                    { "reason strings", test_reason_strings },
                                    CU_TEST_INFO_NULL };
    static CU_TestInfo offer[] = {
        { "names and identifiers", test_names },         { "nothing else", test_offers_these_alone },
        { "parameters of ciphers", test_cipher_params }, { "lists of parameters", test_lists },
        { "selection by properties", test_properties },  CU_TEST_INFO_NULL
    };
    static CU_TestInfo life[] = { { "random numbers", test_random },
                                  { "unloaded while in use", test_unload_while_in_use },
                                  { "freed after the end", test_freed_after_the_end },
                                  { "several library contexts", test_contexts },
                                  { "a thousand loads", test_many_loads },
                                  { "a core that lacks something", test_lacking_core },
                                  CU_TEST_INFO_NULL };
    CU_SuiteInfo suites[] = { { "itself", suite_open, suite_close, NULL, NULL, itself },
                              { "offer", suite_open, suite_close, NULL, NULL, offer },
                              { "life", NULL, NULL, NULL, NULL, life },
                              CU_SUITE_INFO_NULL };

    return support_main(argc, argv, suites);
}
