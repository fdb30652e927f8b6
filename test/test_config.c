/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of aesop's section: what is accepted and does what it says, and how the rest is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/provider.h>

#include "check.h"
#include "provider/core.h"
#include "support.h"

/* What the error queue says, texts and reasons, which is emptied. */
struct errors {
    char text[4096];
    int reasons[16];
    size_t count;
};

static void take_errors(struct errors *errors)
{
    const char *data;
    unsigned long error;
    size_t used = 0;
    int flags;

    memset(errors, 0, sizeof *errors);
    while ((error = ERR_get_error_all(NULL, NULL, NULL, &data, &flags)) != 0) {
        if (errors->count < sizeof errors->reasons / sizeof *errors->reasons)
            errors->reasons[errors->count++] = ERR_GET_REASON(error);
        if ((flags & ERR_TXT_STRING) != 0 && used + strlen(data) + 2 < sizeof errors->text)
            used += (size_t)snprintf(errors->text + used, sizeof errors->text - used, "%s\n", data);
    }
}

static int has_reason(const struct errors *errors, int reason)
{
    for (size_t i = 0; i < errors->count; i++)
        if (errors->reasons[i] == reason)
            return 1;
    return 0;
}

/* The kernel that aesop says it uses, or "?". */
static const char *kernel_in_use(OSSL_LIB_CTX *ctx)
{
    OSSL_PROVIDER *provider = OSSL_PROVIDER_load(ctx, "aesop"); /* one more reference to what is loaded */
    const char *kernel = "?";
    OSSL_PARAM params[] = { OSSL_PARAM_construct_utf8_ptr("kernel", (char **)&kernel, 0), OSSL_PARAM_END };

    if (provider == NULL || !OSSL_PROVIDER_get_params(provider, params))
        kernel = "?";
    OSSL_PROVIDER_unload(provider); /* the string is the module's, which stays */
    return kernel;
}

/* Encrypts 200,000 bytes under a key of zeros and gives the tag. */
static int seal(OSSL_LIB_CTX *ctx, const char *provider, unsigned char tag[16])
{
    enum { TEXT = 200000 };
    static const unsigned char zeros[TEXT];
    static unsigned char out[TEXT];
    EVP_CIPHER *cipher = support_fetch(ctx, "AES-256-GCM", provider);
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int n, ok;

    ok = cipher != NULL && EVP_EncryptInit_ex2(c, cipher, zeros, zeros, NULL) &&
         EVP_EncryptUpdate(c, out, &n, zeros, TEXT) && EVP_EncryptFinal_ex(c, out, &n) &&
         EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, 16, tag) > 0;
    EVP_CIPHER_CTX_free(c);
    EVP_CIPHER_free(cipher);
    return ok;
}

/* ---- accepted ---- */

static void test_accepted(void)
{
    static const char *const sections[] = {
        NULL,
        "",
        "kernel = auto\n",
        "chunk = 4096\n",
        "chunk = 8192\n",
        "chunk = 12288\n",
        "chunk = 1048576\n",
        "chunk = 1073741824\n",
        "kernel = auto\nchunk = 65536\n",
        "chunk = 65536\nkernel = auto\n",
        "  chunk   =   4096   # in bytes\n# chunk = 1\n",
        "chunk = \"4096\"\n",
        "constraints = RC4, DES\n",
        "constraints = AES keySize < 128, CBC keySize > 4096\nkernel = auto\n",
        "identity = aesop\n",
    };
    OSSL_LIB_CTX *reference = support_ctx_default();
    unsigned char want[16], got[16];

    CU_ASSERT_FATAL(seal(reference, "default", want));
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        OSSL_LIB_CTX *ctx;
        struct errors errors;

        ERR_clear_error();
        ctx = support_ctx_aesop_with(sections[i]);
        take_errors(&errors);
        if (CHECK(ctx != NULL, "refused: %s: %s", sections[i], errors.text)) {
            CU_ASSERT_EQUAL(errors.count, 0);
            CU_ASSERT(seal(ctx, "aesop", got));
            CHECK(memcmp(got, want, sizeof got) == 0, "wrong tag with: %s", sections[i]);
        }
        support_ctx_free(ctx);
    }
    support_ctx_free(reference);
}

/* Each kernel set by its name, or a refusal that says why. */
static void test_kernels(void)
{
    OSSL_LIB_CTX *automatic = support_ctx_aesop(NULL);
    const char *first = NULL;

    CU_ASSERT_FATAL(automatic != NULL);
    for (size_t i = 0; support_kernels[i] != NULL; i++) {
        OSSL_LIB_CTX *ctx;
        struct errors errors;

        ERR_clear_error();
        ctx = support_ctx_aesop(support_kernels[i]);
        take_errors(&errors);
        if (ctx != NULL) {
            CHECK(strcmp(kernel_in_use(ctx), support_kernels[i]) == 0, "%s, not %s, is in use", kernel_in_use(ctx),
                  support_kernels[i]);
            if (first == NULL)
                first = support_kernels[i];
        } else {
            CHECK(!support_cpu_runs(support_kernels[i]), "%s: this CPU runs it: %s", support_kernels[i], errors.text);
            CHECK(has_reason(&errors, AESOP_R_INVALID_CONFIG_DATA), "%s: %s", support_kernels[i], errors.text);
            CHECK(strstr(errors.text, "kernel") != NULL && strstr(errors.text, support_kernels[i]) != NULL &&
                      strstr(errors.text, "auto") != NULL,
                  "the error does not say it: %s", errors.text);
            support_skip(support_kernels[i], "this CPU cannot run it");
        }
        support_ctx_free(ctx);
    }
    /* What it chooses itself is the first of these. */
    CU_ASSERT_STRING_EQUAL(kernel_in_use(automatic), first != NULL ? first : "none");
    support_ctx_free(automatic);
}

/* What the constraints forbid is not offered; default, which knows nothing of them, serves it. */
static void test_constraints(void)
{
    static const struct {
        const char *list;
        int offered[6]; /* of the names below */
    } cases[] = {
        { "RC4", { 1, 1, 1, 1, 1, 1 } },
        { "CBC", { 1, 1, 1, 0, 0, 0 } },
        { "AES-128-CBC", { 1, 1, 1, 0, 1, 1 } },
        { "AES keySize < 256", { 0, 0, 1, 0, 0, 1 } },
        { "AES keySize < 256, CBC", { 0, 0, 1, 0, 0, 0 } },
        { "GCM, CBC keySize <= 192", { 0, 0, 0, 0, 0, 1 } },
        { "AES tagSize <= 128", { 0, 0, 0, 1, 1, 1 } },
        { "AES tagSize < 128", { 1, 1, 1, 1, 1, 1 } },
        { "AES denyAfter 2020-01-01", { 0, 0, 0, 0, 0, 0 } },
        { "AES denyAfter 9999-12-31", { 1, 1, 1, 1, 1, 1 } },
        { "AES", { 0, 0, 0, 0, 0, 0 } },
    };
    static const char *const names[] = { "AES-128-GCM", "AES-192-GCM", "AES-256-GCM",
                                         "AES-128-CBC", "AES-192-CBC", "AES-256-CBC" };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[128];
        OSSL_LIB_CTX *ctx;

        snprintf(line, sizeof line, "constraints = %s\n", cases[i].list);
        ctx = support_ctx_aesop_with(line);
        if (!CHECK(ctx != NULL, "refused: %s", cases[i].list))
            continue;
        for (size_t n = 0; n < 6; n++) {
            EVP_CIPHER *cipher = EVP_CIPHER_fetch(ctx, names[n], NULL);
            const char *provider =
                cipher != NULL ? OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher)) : "nobody";

            CHECK(strcmp(provider, cases[i].offered[n] ? "aesop" : "default") == 0, "\"%s\": %s comes from %s",
                  cases[i].list, names[n], provider);
            EVP_CIPHER_free(cipher);
        }
        support_ctx_free(ctx);
    }
    ERR_clear_error();
}

/* ---- refused ---- */

/* Each names key, value and what would be right. */
static const struct refusal {
    const char *key, *value;
    const char *allowed[3];
} refusals[] = {
#define KERNELS \
    { \
        "auto", "vaes512", "aesni" \
    }
    { "kernel", "", KERNELS },
    { "kernel", "avx512", KERNELS },
    { "kernel", "vaes", KERNELS },
    { "kernel", "vaes5122", KERNELS },
    { "kernel", "VAES512", KERNELS },
    { "kernel", "Auto", KERNELS },
    { "kernel", "auto aesni", KERNELS },
    { "kernel", "auto,aesni", KERNELS },
    { "kernel", "none", KERNELS },
    { "kernel", "fastest", KERNELS },
    { "kernel", "1", KERNELS },
#define CHUNKS \
    { \
        "4096", "1073741824" \
    }
    { "chunk", "", CHUNKS },
    { "chunk", "0", CHUNKS },
    { "chunk", "1", CHUNKS },
    { "chunk", "4095", CHUNKS },
    { "chunk", "4097", CHUNKS },
    { "chunk", "6144", CHUNKS },
    { "chunk", "1073745920", CHUNKS },
    { "chunk", "-4096", CHUNKS },
    { "chunk", "+4096", CHUNKS },
    { "chunk", "18446744073709555712", CHUNKS }, /* 2^64 + 4096 */
    { "chunk", "18446744073709547520", CHUNKS }, /* 2^64 - 4096 */
    { "chunk", "99999999999999999999999999999999", CHUNKS },
    { "chunk", "4096k", CHUNKS },
    { "chunk", "4K", CHUNKS },
    { "chunk", "4096 8192", CHUNKS },
    { "chunk", "4096.0", CHUNKS },
    { "chunk", "1e6", CHUNKS },
    { "chunk", "0x1000", CHUNKS },
    { "chunk", "many", CHUNKS },
/* Slips of the pen. */
#define KEYS \
    { \
        "kernel", "chunk" \
    }
    { "kernle", "auto", KEYS },
    { "kernal", "aesni", KEYS },
    { "kernels", "auto", KEYS },
    { "kernel_", "auto", KEYS },
    { "krnel", "auto", KEYS },
    { "kernell", "auto", KEYS },
    { "ekrnel", "auto", KEYS },
    { "Kernel", "auto", KEYS },
    { "KERNEL", "auto", KEYS },
    { "kernel_name", "auto", KEYS },
    { "chunks", "4096", KEYS },
    { "chunck", "4096", KEYS },
    { "hunk", "4096", KEYS },
    { "chnuk", "4096", KEYS },
    { "chunk_", "4096", KEYS },
    { "chunk-size", "4096", KEYS },
    { "chunk_size", "4096", KEYS },
    { "chunksize", "4096", KEYS },
    { "chunk_bytes", "4096", KEYS },
    { "Chunk", "4096", KEYS },
    { "CHUNK", "4096", KEYS },
    { "constraint", "CBC", KEYS },
    { "constrains", "CBC", KEYS },
    { "contraints", "CBC", KEYS },
    { "constarints", "CBC", KEYS },
    { "Constraints", "CBC", KEYS },
    { "constraints_", "CBC", KEYS },
    { "constraintss", "CBC", KEYS },
    /* Other words. */
    { "default_properties", "?provider=aesop", KEYS },
    { "threads", "2", KEYS },
    { "algorithms", "AES-128-GCM", KEYS },
};
enum { REFUSALS = sizeof refusals / sizeof *refusals };

static int is_setting(const char *key)
{
    return strcmp(key, "kernel") == 0 || strcmp(key, "chunk") == 0;
}

static void test_refused(void)
{
    /* Alone, and beside settings that are right: nothing loads half-configured. */
    static const char *const formats[] = { "%s = %s\n", "kernel = auto\n%s = %s\nchunk = 8192\n" };

    for (size_t i = 0; i < REFUSALS; i++) {
        const struct refusal *r = &refusals[i];

        for (size_t f = 0; f < 2; f++) {
            char lines[256];
            OSSL_LIB_CTX *ctx;
            struct errors errors;

            /* A key twice in a section counts once, and the last wins. */
            if (f == 1 && is_setting(r->key))
                continue;
            snprintf(lines, sizeof lines, formats[f], r->key, r->value);
            ERR_clear_error();
            ctx = support_ctx_aesop_with(lines);
            take_errors(&errors);
            if (!CHECK(ctx == NULL, "\"%s = %s\" is accepted", r->key, r->value)) {
                support_ctx_free(ctx);
                continue;
            }
            CHECK(has_reason(&errors, AESOP_R_INVALID_CONFIG_DATA), "\"%s = %s\": another reason", r->key, r->value);
            CHECK(strstr(errors.text, r->key) != NULL && strstr(errors.text, r->value) != NULL,
                  "\"%s = %s\" is not named: %s", r->key, r->value, errors.text);
            for (size_t a = 0; a < 3 && r->allowed[a] != NULL; a++)
                CHECK(strstr(errors.text, r->allowed[a]) != NULL, "\"%s = %s\": %s is not said to be allowed: %s",
                      r->key, r->value, r->allowed[a], errors.text);
        }
    }
}

/* A program whose configuration activates a broken aesop section beside default goes on with default. */
static void test_default_serves_on(void)
{
    static const char format[] = "openssl_conf = init\n[init]\nproviders = providers\nalg_section = algorithms\n"
                                 "[providers]\naesop = aesop_section\ndefault = default_section\n"
                                 "[aesop_section]\nmodule = %s/aesop.so\nactivate = 1\nchunk = 1\n"
                                 "[default_section]\nactivate = 1\n"
                                 "[algorithms]\ndefault_properties = ?provider=aesop\n";
    char path[] = "/tmp/aesop-test-XXXXXX";
    int fd = mkstemp(path);
    OSSL_LIB_CTX *ctx = OSSL_LIB_CTX_new();
    unsigned char tag[16];

    CU_ASSERT_FATAL(fd >= 0 && dprintf(fd, format, support_module_dir()) > 0);
    close(fd);
    CU_ASSERT(OSSL_LIB_CTX_load_config(ctx, path));
    unlink(path);
    CU_ASSERT_FALSE(OSSL_PROVIDER_available(ctx, "aesop"));
    CU_ASSERT(OSSL_PROVIDER_available(ctx, "default"));
    CU_ASSERT(seal(ctx, "default", tag));
    OSSL_LIB_CTX_free(ctx);
    ERR_clear_error();
}

int main(int argc, char **argv)
{
    static CU_TestInfo accepted[] = { { "settings", test_accepted },
                                      { "kernels", test_kernels },
                                      { "constraints", test_constraints },
                                      CU_TEST_INFO_NULL };
    static CU_TestInfo refused[] = { { "keys and values", test_refused },
                                     { "default serves on", test_default_serves_on },
                                     CU_TEST_INFO_NULL };
    CU_SuiteInfo suites[] = { { "accepted", NULL, NULL, NULL, NULL, accepted },
                              { "refused", NULL, NULL, NULL, NULL, refused },
                              CU_SUITE_INFO_NULL };

    return support_main(argc, argv, suites);
}
