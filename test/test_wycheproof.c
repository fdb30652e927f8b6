/* SPDX-License-Identifier: Apache-2.0 */
/* The Wycheproof vectors, where a checkout of them lies beside the project. */
#include "support.h"
#include "vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <openssl/err.h>

struct file {
    const char *name;
    const char *cipher_format; /* the number is the key's bits */
    /* Whether the cipher does with the vector what its result ("valid", "invalid", "acceptable") demands. */
    int (*check)(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, const struct vector *v, int valid);
};

static int check_gcm(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, const struct vector *v, int valid)
{
    ERR_clear_error();
    /* SP 800-38D has no IV of length 0; ones above 128 bytes are valid, but OpenSSL has never taken them. */
    if (v->iv.len == 0 || v->iv.len > 128)
        return vector_gcm(ctx, cipher, v, 1) == VECTOR_REFUSED && vector_gcm(ctx, cipher, v, 0) == VECTOR_REFUSED;
    if (valid)
        return vector_gcm(ctx, cipher, v, 1) == VECTOR_MATCH && vector_gcm(ctx, cipher, v, 0) == VECTOR_MATCH;
    /* What is left has a wrong tag: encryption makes another, and decryption leaves no error but its result. */
    return vector_gcm(ctx, cipher, v, 0) == VECTOR_BAD_DATA && ERR_peek_error() == 0 &&
           vector_gcm(ctx, cipher, v, 1) == VECTOR_MISMATCH;
}

static int check_cbc(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, const struct vector *v, int valid)
{
    if (valid)
        return vector_cbc(ctx, cipher, v, 1, 1) == VECTOR_MATCH && vector_cbc(ctx, cipher, v, 0, 1) == VECTOR_MATCH;
    return vector_cbc(ctx, cipher, v, 0, 1) == VECTOR_BAD_DATA && vector_cbc(ctx, cipher, v, 1, 1) == VECTOR_MISMATCH;
}

static const struct file files[] = {
    { "aes_gcm_test.json", "AES-%d-GCM", check_gcm },
    { "aes_cbc_pkcs5_test.json", "AES-%d-CBC", check_cbc },
};

/* A field that the file's schema does not have is empty. */
static int read_field(struct vector_field *field, const json_t *test, const char *name)
{
    const char *hex = json_string_value(json_object_get(test, name));

    return vector_field_from_hex(field, hex != NULL ? hex : "");
}

static int read_vector(struct vector *v, const json_t *test)
{
    return read_field(&v->key, test, "key") && read_field(&v->iv, test, "iv") && read_field(&v->aad, test, "aad") &&
           read_field(&v->plaintext, test, "msg") && read_field(&v->ciphertext, test, "ct") &&
           read_field(&v->tag, test, "tag");
}

static void run_test(const struct file *file, EVP_CIPHER *const ciphers[3], EVP_CIPHER_CTX *ctx, const json_t *test,
                     const char *kernel)
{
    const char *result = json_string_value(json_object_get(test, "result"));
    struct vector v;
    int ok = result != NULL && read_vector(&v, test) && v.key.len >= 16 && v.key.len <= 32;

    /* "acceptable" marks what a library may refuse; the default provider takes it, so we do. */
    ok = ok && file->check(ctx, ciphers[v.key.len / 8 - 2], &v, strcmp(result, "invalid") != 0);
    if (!ok)
        printf("    %s: %s, tcId %d (%s, %s)\n", kernel, file->name,
               (int)json_integer_value(json_object_get(test, "tcId")), result,
               json_string_value(json_object_get(test, "comment")));
    CU_ASSERT(ok);
}

static void run_json(const struct file *file, OSSL_LIB_CTX *libctx, const json_t *root, const char *kernel)
{
    EVP_CIPHER *ciphers[3] = { NULL };
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    json_int_t tests = 0;
    json_t *group, *test;
    size_t i, j;
    int fetched = 1;

    for (int n = 0; n < 3; n++) {
        char name[32];

        snprintf(name, sizeof name, file->cipher_format, 128 + 64 * n);
        ciphers[n] = support_fetch(libctx, name, "aesop");
        fetched &= ciphers[n] != NULL;
    }
    if (fetched) {
        json_array_foreach(json_object_get(root, "testGroups"), i, group)
            json_array_foreach(json_object_get(group, "tests"), j, test)
        {
            run_test(file, ciphers, ctx, test, kernel);
            tests++;
        }
        CU_ASSERT(tests > 0);
        CU_ASSERT_EQUAL(tests, json_integer_value(json_object_get(root, "numberOfTests")));
    }
    printf("    %s: %s: %d tests\n", kernel, file->name, (int)tests);
    EVP_CIPHER_CTX_free(ctx);
    for (int n = 0; n < 3; n++)
        EVP_CIPHER_free(ciphers[n]);
}

static void run_files(OSSL_LIB_CTX *libctx, const char *kernel)
{
    const char *dir = getenv("AESOP_WYCHEPROOF_DIR");

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        json_error_t error;
        json_t *root;
        char *path;

        if (asprintf(&path, "%s/%s", dir != NULL ? dir : AESOP_SOURCE_DIR "/../shared/vectors", files[i].name) < 0)
            return;
        root = json_load_file(path, 0, &error);
        if (root != NULL)
            run_json(&files[i], libctx, root, kernel);
        else if (json_error_code(&error) == json_error_cannot_open_file)
            support_skip(files[i].name, "not there (set AESOP_WYCHEPROOF_DIR to Wycheproof's testvectors_v1)");
        else {
            printf("    %s:%d: %s\n", path, error.line, error.text);
            CU_FAIL("not JSON");
        }
        json_decref(root);
        free(path);
    }
}

static void test_files(void)
{
    support_each_kernel(NULL, run_files);
}

int main(int argc, char **argv)
{
    CU_pSuite suite;

    support_init(argc, argv);
    suite = CU_add_suite("wycheproof", NULL, NULL);
    CU_add_test(suite, "AES-GCM and AES-CBC", test_files);
    return support_run();
}
