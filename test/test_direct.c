/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the ciphers, called as the core calls them: with what EVP never passes. It always says that there is
 * room, and knows the length of a key.
 */
#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <openssl/provider.h>

#include "check.h"
#include "provider/provider.h"
#include "support.h"

enum { BLOCK = 16, IV_MAX = 160, TEXT_BYTES = 8 * BLOCK, CANARY = 0xa5 };

static OSSL_LIB_CTX *theirs, *direct_libctx;
/* The provider context of an aesop that is linked into this program. */
static struct aesop_provider *direct;

static unsigned char key[32], iv[IV_MAX], text[TEXT_BYTES];

static OSSL_provider_init_fn init_direct;

static int init_direct(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in, const OSSL_DISPATCH **out,
                       void **provctx)
{
    int ok = OSSL_provider_init(handle, in, out, provctx);

    direct = ok ? *provctx : NULL;
    return ok;
}

static int suite_open(void)
{
    struct support_random random;

    support_random_seed(&random, support_seed());
    support_random_bytes(&random, key, sizeof key);
    support_random_bytes(&random, iv, sizeof iv);
    support_random_bytes(&random, text, sizeof text);
    theirs = support_ctx_default();
    direct_libctx = OSSL_LIB_CTX_new();
    return theirs == NULL || !OSSL_PROVIDER_add_builtin(direct_libctx, "aesop-direct", init_direct) ||
           OSSL_PROVIDER_load(direct_libctx, "aesop-direct") == NULL || direct == NULL;
}

static int suite_close(void)
{
    support_ctx_free(theirs);
    OSSL_LIB_CTX_free(direct_libctx);
    return 0;
}

struct functions {
    OSSL_FUNC_cipher_newctx_fn *newctx;
    OSSL_FUNC_cipher_freectx_fn *freectx;
    OSSL_FUNC_cipher_encrypt_init_fn *init[2]; /* by "encrypt"; the type of both */
    OSSL_FUNC_cipher_update_fn *update;
    OSSL_FUNC_cipher_final_fn *final;
    OSSL_FUNC_cipher_cipher_fn *cipher;
    OSSL_FUNC_cipher_get_ctx_params_fn *get_params;
    OSSL_FUNC_cipher_set_ctx_params_fn *set_params;
};

static struct functions functions_of(const OSSL_DISPATCH *dispatch)
{
    struct functions f = { 0 };

    for (; dispatch->function_id != 0; dispatch++)
        switch (dispatch->function_id) {
        case OSSL_FUNC_CIPHER_NEWCTX:
            f.newctx = OSSL_FUNC_cipher_newctx(dispatch);
            break;
        case OSSL_FUNC_CIPHER_FREECTX:
            f.freectx = OSSL_FUNC_cipher_freectx(dispatch);
            break;
        case OSSL_FUNC_CIPHER_ENCRYPT_INIT:
            f.init[1] = OSSL_FUNC_cipher_encrypt_init(dispatch);
            break;
        case OSSL_FUNC_CIPHER_DECRYPT_INIT:
            f.init[0] = OSSL_FUNC_cipher_decrypt_init(dispatch);
            break;
        case OSSL_FUNC_CIPHER_UPDATE:
            f.update = OSSL_FUNC_cipher_update(dispatch);
            break;
        case OSSL_FUNC_CIPHER_FINAL:
            f.final = OSSL_FUNC_cipher_final(dispatch);
            break;
        case OSSL_FUNC_CIPHER_CIPHER:
            f.cipher = OSSL_FUNC_cipher_cipher(dispatch);
            break;
        case OSSL_FUNC_CIPHER_GET_CTX_PARAMS:
            f.get_params = OSSL_FUNC_cipher_get_ctx_params(dispatch);
            break;
        case OSSL_FUNC_CIPHER_SET_CTX_PARAMS:
            f.set_params = OSSL_FUNC_cipher_set_ctx_params(dispatch);
            break;
        }
    return f;
}

/* What default makes of a text under key and iv, the end included. Returns how many bytes. */
static size_t encrypt_by_default(const char *cipher, unsigned char *out, size_t len)
{
    EVP_CIPHER *reference = support_fetch(theirs, cipher, "default");
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int n = 0, last = 0;

    CU_ASSERT_EQUAL_FATAL(EVP_EncryptInit_ex2(ctx, reference, key, iv, NULL), 1);
    CU_ASSERT_EQUAL_FATAL(EVP_EncryptUpdate(ctx, out, &n, text, (int)len), 1);
    CU_ASSERT_EQUAL_FATAL(EVP_EncryptFinal_ex(ctx, out + n, &last), 1);
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(reference);
    return (size_t)(n + last);
}

static int untouched(const unsigned char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] != CANARY)
            return 0;
    return 1;
}

/*
 * Calls update (in not NULL) or final with room for 0, 1, ... bytes until it succeeds: not before there is room for all
 * that it has to say, and nothing is written until then. Returns the length.
 */
static size_t least_room(const struct functions *f, void *ctx, unsigned char *out, size_t max, const unsigned char *in,
                         size_t in_len)
{
    size_t n = 0;

    for (size_t size = 0; size <= max; size++) {
        if (in != NULL ? f->update(ctx, out, &n, size, in, in_len) : f->final(ctx, out, &n, size)) {
            CHECK(n == size && untouched(out + n, max - n), "%zu bytes in room for %zu", n, size);
            return n;
        }
        CU_ASSERT(untouched(out, max));
    }
    CU_FAIL("never enough room");
    return 0;
}

static void check_room(const OSSL_DISPATCH *table, const char *cipher, int encrypt, size_t pending, size_t len)
{
    const struct functions f = functions_of(table);
    unsigned char sealed[TEXT_BYTES], out[TEXT_BYTES];
    const size_t sealed_len = encrypt_by_default(cipher, sealed, len);
    const unsigned char *in = encrypt ? text : sealed, *expected = encrypt ? sealed : text;
    const size_t in_len = encrypt ? len : sealed_len, expected_len = encrypt ? sealed_len : len;
    void *ctx = f.newctx(direct);
    size_t done;

    memset(out, CANARY, sizeof out);
    CU_ASSERT_EQUAL(f.init[encrypt](ctx, key, 16, iv, strstr(cipher, "GCM") != NULL ? 12 : BLOCK, NULL), 1);
    done = least_room(&f, ctx, out, sizeof out, in, pending);
    done += least_room(&f, ctx, out + done, sizeof out - done, in + pending, in_len - pending);
    if (encrypt || strstr(cipher, "GCM") == NULL) /* it would want a tag */
        done += least_room(&f, ctx, out + done, sizeof out - done, NULL, 0);
    CHECK(done == expected_len && memcmp(out, expected, done) == 0, "%s, encrypt %d, %zu pending, %zu bytes", cipher,
          encrypt, pending, len);
    f.freectx(ctx);
}

static void test_room(void)
{
    for (int encrypt = 0; encrypt <= 1; encrypt++) {
        for (size_t pending = 0; pending <= BLOCK; pending += 4) {
            for (size_t len = pending; len <= 5 * BLOCK; len++) {
                check_room(aesop_aes128cbc_functions, "AES-128-CBC", encrypt, pending, len);
                check_room(aesop_aes128gcm_functions, "AES-128-GCM", encrypt, pending, len);
            }
        }
    }
}

static void test_lengths(void)
{
    static const struct {
        const OSSL_DISPATCH *table;
        size_t key_len, iv_min, iv_max;
    } ciphers[] = { { aesop_aes128cbc_functions, 16, BLOCK, BLOCK }, { aesop_aes192cbc_functions, 24, BLOCK, BLOCK },
                    { aesop_aes256cbc_functions, 32, BLOCK, BLOCK }, { aesop_aes128gcm_functions, 16, 1, 128 },
                    { aesop_aes192gcm_functions, 24, 1, 128 },       { aesop_aes256gcm_functions, 32, 1, 128 } };

    for (size_t i = 0; i < sizeof ciphers / sizeof *ciphers; i++) {
        const struct functions f = functions_of(ciphers[i].table);

        for (int encrypt = 0; encrypt <= 1; encrypt++) {
            void *ctx = f.newctx(direct);

            for (size_t len = 0; len <= 32; len++)
                CU_ASSERT_EQUAL(f.init[encrypt](ctx, key, len, NULL, 0, NULL), len == ciphers[i].key_len);
            for (size_t len = 0; len <= IV_MAX; len++)
                CU_ASSERT_EQUAL(f.init[encrypt](ctx, NULL, 0, iv, len, NULL),
                                len >= ciphers[i].iv_min && len <= ciphers[i].iv_max);
            f.freectx(ctx);
        }
        f.freectx(NULL);
    }
}

/* The message under way goes on as if a refused init had not been called. */
static void check_refused_init(const OSSL_DISPATCH *table, const char *cipher, size_t key_len, size_t iv_len,
                               size_t bad_key_len, size_t bad_iv_len)
{
    static const unsigned char other[IV_MAX];
    const struct functions f = functions_of(table);
    unsigned char expected[TEXT_BYTES], out[TEXT_BYTES];
    const size_t len = 70, expected_len = encrypt_by_default(cipher, expected, len);
    size_t n = 0, rest = 0, last = 0;
    void *ctx = f.newctx(direct);

    CU_ASSERT_EQUAL(f.init[1](ctx, key, key_len, iv, iv_len, NULL), 1);
    CU_ASSERT_EQUAL(f.update(ctx, out, &n, sizeof out, text, 21), 1);
    for (int encrypt = 0; encrypt <= 1; encrypt++)
        CU_ASSERT_EQUAL(f.init[encrypt](ctx, other, bad_key_len, other, bad_iv_len, NULL), 0);
    CU_ASSERT_EQUAL(f.update(ctx, out + n, &rest, sizeof out - n, text + 21, len - 21), 1);
    CU_ASSERT_EQUAL(f.final(ctx, out + n + rest, &last, sizeof out - n - rest), 1);
    CHECK(n + rest + last == expected_len && memcmp(out, expected, expected_len) == 0,
          "%s after an init with a key of %zu bytes, an IV of %zu", cipher, bad_key_len, bad_iv_len);
    f.freectx(ctx);
}

static void test_refused_init(void)
{
    check_refused_init(aesop_aes128cbc_functions, "AES-128-CBC", 16, BLOCK, 24, BLOCK);
    check_refused_init(aesop_aes128cbc_functions, "AES-128-CBC", 16, BLOCK, 16, 12);
    check_refused_init(aesop_aes256gcm_functions, "AES-256-GCM", 32, 12, 16, 12);
    check_refused_init(aesop_aes256gcm_functions, "AES-256-GCM", 32, 12, 16, 16);
    check_refused_init(aesop_aes256gcm_functions, "AES-256-GCM", 32, 12, 32, 0);
    check_refused_init(aesop_aes256gcm_functions, "AES-256-GCM", 32, 12, 32, 129);
}

/* An IV says its own length. */
static void test_iv_of_another_length(void)
{
    const struct functions f = functions_of(aesop_aes128gcm_functions);
    void *ctx = f.newctx(direct);
    size_t len = 0;
    OSSL_PARAM ask[] = { OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_IVLEN, &len), OSSL_PARAM_END };

    for (int i = 0; i < 4; i++) {
        const size_t iv_len = i % 2 == 0 ? BLOCK : 12;

        CU_ASSERT_EQUAL(f.init[1](ctx, i < 2 ? key : NULL, i < 2 ? 16 : 0, iv, iv_len, NULL), 1);
        CU_ASSERT_EQUAL(f.get_params(ctx, ask), 1);
        CU_ASSERT_EQUAL(len, iv_len);
    }
    f.freectx(ctx);
}

/* Whether a call was refused, for this reason, with nothing written. */
static int refused(int answer, int reason, const unsigned char *out, size_t out_size)
{
    const int raised = ERR_GET_REASON(ERR_peek_last_error());

    ERR_clear_error();
    return answer == 0 && raised == reason && untouched(out, out_size);
}

/* SP 800-38D, 5.2.1.1: lengths that no int of EVP's holds. They are refused before a byte is read. */
static void test_limits_of_gcm(void)
{
    const size_t text_max = ((size_t)1 << 36) - 32, aad_max = ((size_t)1 << 61) - 1;
    const struct functions f = functions_of(aesop_aes128gcm_functions);
    unsigned char out[TEXT_BYTES];
    size_t n;

    memset(out, CANARY, sizeof out);
    for (int encrypt = 0; encrypt <= 1; encrypt++) {
        void *ctx = f.newctx(direct);

        CU_ASSERT_EQUAL(f.init[encrypt](ctx, key, 16, iv, 12, NULL), 1);
        CU_ASSERT(refused(f.update(ctx, NULL, &n, SIZE_MAX, text, aad_max + 1), AESOP_R_CIPHER_OPERATION_FAILED, out,
                          sizeof out));
        CU_ASSERT(refused(f.update(ctx, out, &n, SIZE_MAX, text, text_max + 1), AESOP_R_CIPHER_OPERATION_FAILED, out,
                          sizeof out));
        f.freectx(ctx);
    }
}

/* Records of TLS 1.2 that are nowhere, longer than a message may be, or larger than their room. */
static void test_gcm_records_refused(void)
{
    enum { EXPLICIT_IV = 8, OVERHEAD = EXPLICIT_IV + 16, RECORD = OVERHEAD + 40 };
    const struct functions f = functions_of(aesop_aes128gcm_functions);
    unsigned char record[RECORD], aad[13] = { [12] = RECORD };
    const OSSL_PARAM fixed[] = { OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED, iv, 4),
                                 OSSL_PARAM_END };
    const OSSL_PARAM header[] = { OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TLS1_AAD, aad, sizeof aad),
                                  OSSL_PARAM_END };
    void *ctx = f.newctx(direct);
    size_t n;

    memset(record, CANARY, sizeof record);
    CU_ASSERT_EQUAL(f.init[1](ctx, key, 16, NULL, 0, NULL), 1);
    CU_ASSERT_EQUAL(f.set_params(ctx, fixed), 1);

    CU_ASSERT_EQUAL(f.set_params(ctx, header), 1);
    CU_ASSERT(refused(f.cipher(ctx, record, &n, RECORD - 1, record, RECORD), AESOP_R_OUTPUT_BUFFER_TOO_SMALL, record,
                      RECORD));
    CU_ASSERT(
        refused(f.update(ctx, NULL, &n, SIZE_MAX, NULL, RECORD), AESOP_R_CIPHER_OPERATION_FAILED, record, RECORD));

    CU_ASSERT_EQUAL(f.set_params(ctx, header), 1);
    CU_ASSERT(refused(f.update(ctx, record, &n, SIZE_MAX, record, OVERHEAD + ((size_t)1 << 36)),
                      AESOP_R_CIPHER_OPERATION_FAILED, record + EXPLICIT_IV, RECORD - EXPLICIT_IV));

    CU_ASSERT_EQUAL(f.set_params(ctx, header), 1);
    CU_ASSERT_EQUAL(f.update(ctx, record, &n, RECORD, record, RECORD), 1);
    CU_ASSERT_EQUAL(n, RECORD);
    f.freectx(ctx);
}

/* The same of AES-CBC, of both directions. */
static void test_cbc_records_refused(void)
{
    enum { RECORD = 3 * BLOCK };
    const struct functions f = functions_of(aesop_aes128cbc_functions);
    unsigned version = 0x303;
    OSSL_PARAM params[] = { OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_TLS_VERSION, &version), OSSL_PARAM_END };

    for (int encrypt = 0; encrypt <= 1; encrypt++) {
        const size_t len = encrypt ? RECORD - 1 : RECORD;
        unsigned char record[RECORD];
        void *ctx = f.newctx(direct);
        size_t n;

        memset(record, CANARY, sizeof record);
        CU_ASSERT_EQUAL(f.init[encrypt](ctx, key, 16, iv, BLOCK, params), 1);
        CU_ASSERT(refused(f.update(ctx, record, &n, RECORD - 1, record, len), AESOP_R_CIPHER_OPERATION_FAILED, record,
                          RECORD));
        CU_ASSERT(refused(f.update(ctx, NULL, &n, RECORD, NULL, len), AESOP_R_CIPHER_OPERATION_FAILED, record, RECORD));
        if (encrypt)
            CU_ASSERT_EQUAL(f.update(ctx, record, &n, RECORD, record, len), 1);
        f.freectx(ctx);
    }
}

/* The block whose padding was wrong is gone: it does not decrypt a second time. */
static void test_final_after_bad_padding(void)
{
    const struct functions f = functions_of(aesop_aes128cbc_functions);
    unsigned char sealed[2 * BLOCK], out[BLOCK];
    void *ctx = f.newctx(direct);
    size_t n;

    encrypt_by_default("AES-128-CBC", sealed, BLOCK);
    sealed[BLOCK - 1] ^= 0x80; /* becomes that of the last byte of padding */
    memset(out, CANARY, sizeof out);
    CU_ASSERT_EQUAL(f.init[0](ctx, key, 16, iv, BLOCK, NULL), 1);
    CU_ASSERT_EQUAL(f.update(ctx, out, &n, sizeof out, sealed, BLOCK), 1);
    CU_ASSERT_EQUAL(f.update(ctx, out, &n, sizeof out, sealed + BLOCK, BLOCK), 1);
    memset(out, CANARY, sizeof out);
    CU_ASSERT(refused(f.final(ctx, out, &n, sizeof out), AESOP_R_BAD_DECRYPT, out, sizeof out));
    CU_ASSERT(refused(f.final(ctx, out, &n, sizeof out), AESOP_R_WRONG_FINAL_BLOCK_LENGTH, out, sizeof out));
    f.freectx(ctx);
}

/* EVP_Cipher: nothing is left for later. */
static void test_cipher(void)
{
    const struct functions f = functions_of(aesop_aes192cbc_functions);
    void *ctx = f.newctx(direct);
    unsigned char out[BLOCK];
    size_t n;

    CU_ASSERT_EQUAL(f.init[1](ctx, key, 24, iv, BLOCK, NULL), 1);
    CU_ASSERT_EQUAL(f.update(ctx, out, &n, sizeof out, NULL, 0), 1);
    CU_ASSERT_EQUAL(n, 0);
    CU_ASSERT_EQUAL(f.cipher(ctx, out, &n, BLOCK - 1, text, BLOCK), 0);
    CU_ASSERT_EQUAL(f.cipher(ctx, out, &n, BLOCK, text, BLOCK), 1);
    f.freectx(ctx);
}

static unsigned allocations;

static OSSL_FUNC_CRYPTO_malloc_fn counting_malloc;

static void *counting_malloc(size_t size, const char *file, int line)
{
    (void)file, (void)line;
    allocations++;
    return CRYPTO_malloc(size, __FILE__, __LINE__);
}

static OSSL_FUNC_CRYPTO_malloc_fn failing_malloc;

static void *failing_malloc(size_t size, const char *file, int line)
{
    (void)size, (void)file, (void)line;
    return NULL;
}

/* A context is one allocation, messages are none; where there is no memory there is no context. */
static void check_allocations(const OSSL_DISPATCH *table, size_t iv_len)
{
    const struct functions f = functions_of(table);
    struct aesop_provider provider = *direct;
    void *ctx;

    provider.core.malloc = counting_malloc;
    allocations = 0;
    ctx = f.newctx(&provider);
    CU_ASSERT_PTR_NOT_NULL_FATAL(ctx);
    CU_ASSERT_EQUAL(allocations, 1);
    for (int i = 0; i < 20; i++) {
        const int encrypt = i % 2;
        unsigned char out[TEXT_BYTES + BLOCK];
        unsigned padding = 1;
        OSSL_PARAM params[] = { OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_PADDING, &padding), OSSL_PARAM_END };
        size_t n, last;

        CU_ASSERT_EQUAL(f.init[encrypt](ctx, key, 32, iv, iv_len, params), 1);
        CU_ASSERT_EQUAL(f.update(ctx, out, &n, sizeof out, text, 100), 1);
        if (encrypt)
            CU_ASSERT_EQUAL(f.final(ctx, out + n, &last, sizeof out - n), 1);
    }
    CU_ASSERT_EQUAL(allocations, 1);
    f.freectx(ctx);

    provider.core.malloc = failing_malloc;
    CU_ASSERT_PTR_NULL(f.newctx(&provider));
}

static void test_allocations(void)
{
    check_allocations(aesop_aes256cbc_functions, BLOCK);
    check_allocations(aesop_aes256gcm_functions, 12);
}

static struct {
    unsigned char *bytes;
    size_t size, left; /* bytes that were not wiped when it was freed */
} watched;

static OSSL_FUNC_CRYPTO_malloc_fn watched_malloc;
static OSSL_FUNC_CRYPTO_free_fn watched_free;

static void *watched_malloc(size_t size, const char *file, int line)
{
    (void)file, (void)line;
    watched.bytes = calloc(1, size);
    watched.size = size;
    return watched.bytes;
}

static void watched_free(void *memory, const char *file, int line)
{
    (void)file, (void)line;
    CU_ASSERT_PTR_EQUAL(memory, watched.bytes);
    for (size_t i = 0; i < watched.size; i++)
        watched.left += watched.bytes[i] != 0;
    free(memory);
}

/* Of a context that has decrypted, TLS records too, nothing is left but the one byte that finds its allocation. */
static void check_wiped(const OSSL_DISPATCH *table, size_t iv_len, OSSL_PARAM params[])
{
    const struct functions f = functions_of(table);
    struct aesop_provider provider = *direct;
    unsigned char out[TEXT_BYTES];
    void *ctx;
    size_t n;

    provider.core.malloc = watched_malloc;
    provider.core.free = watched_free;
    ctx = f.newctx(&provider);
    CU_ASSERT_PTR_NOT_NULL_FATAL(ctx);
    memcpy(out, text, sizeof out);
    CU_ASSERT_EQUAL(f.init[0](ctx, key, 32, iv, iv_len, params), 1);
    CU_ASSERT_EQUAL(f.update(ctx, out, &n, sizeof out, out, sizeof out), 1);
    watched.left = 0;
    f.freectx(ctx);
    CHECK(watched.left <= 1, "%zu bytes are left of %zu", watched.left, watched.size);
}

static void test_wiped(void)
{
    unsigned version = 0x303;
    size_t mac_size = 20;
    OSSL_PARAM tls[] = { OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_TLS_VERSION, &version),
                         OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_TLS_MAC_SIZE, &mac_size), OSSL_PARAM_END };

    check_wiped(aesop_aes256gcm_functions, 12, NULL);
    check_wiped(aesop_aes256cbc_functions, BLOCK, NULL);
    check_wiped(aesop_aes256cbc_functions, BLOCK, tls);
}

int main(int argc, char **argv)
{
    static CU_TestInfo tests[] = {
        { "room for the output", test_room },
        { "lengths of key and IV", test_lengths },
        { "a refused init changes nothing", test_refused_init },
        { "an IV of another length", test_iv_of_another_length },
        { "limits of GCM", test_limits_of_gcm },
        { "records of GCM refused", test_gcm_records_refused },
        { "records of CBC refused", test_cbc_records_refused },
        { "final after bad padding", test_final_after_bad_padding },
        { "EVP_Cipher", test_cipher },
        { "allocations", test_allocations },
        { "contexts are wiped", test_wiped },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "direct", suite_open, suite_close, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return support_main(argc, argv, suites);
}
