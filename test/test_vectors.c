/* SPDX-License-Identifier: Apache-2.0 */
/* NIST's CAVP vectors for AES-GCM and AES-CBC, as Debian's python3-cryptography-vectors brings them. */
#include "support.h"
#include "vectors.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>

#define DEBIAN_FOLDER "/usr/lib/python3/dist-packages/cryptography_vectors/ciphers/AES"

static const char *cavp_dir(void)
{
    const char *dir = getenv("AESOP_CAVP_DIR");

    return dir != NULL ? dir : DEBIAN_FOLDER;
}

/* The record lines of a file, counted without the reader that is to find them all. */
static unsigned long count_records(const char *path)
{
    FILE *file = fopen(path, "r");
    unsigned long records = 0;
    char *line = NULL;
    size_t size = 0;

    while (file != NULL && getline(&line, &size, file) > 0)
        records += strncasecmp(line, "COUNT =", 7) == 0;
    free(line);
    if (file != NULL)
        fclose(file);
    return records;
}

struct mode {
    const char *folder;
    const char *cipher_format; /* the number is the key's bits */
    int (*check)(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, const struct vector *v, const struct vector_rsp *rsp,
                 const char *file);
};

/* A vector that holds is run in the other direction too; one that fails must fail by its tag, in silence. */
static int check_gcm(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, const struct vector *v,
                     const struct vector_rsp *rsp, const char *file)
{
    int encrypt = strncmp(file, "gcmEncrypt", 10) == 0; /* the direction that the file is about goes first */

    ERR_clear_error();
    if (rsp->fail)
        return vector_gcm(ctx, cipher, v, 0) == VECTOR_BAD_DATA && ERR_peek_error() == 0;
    return vector_gcm(ctx, cipher, v, encrypt) == VECTOR_MATCH && vector_gcm(ctx, cipher, v, !encrypt) == VECTOR_MATCH;
}

static int check_cbc(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, const struct vector *v,
                     const struct vector_rsp *rsp, const char *file)
{
    (void)file;
    return rsp->encrypt >= 0 && vector_cbc(ctx, cipher, v, rsp->encrypt, 0) == VECTOR_MATCH &&
           vector_cbc(ctx, cipher, v, !rsp->encrypt, 0) == VECTOR_MATCH;
}

static const struct mode gcm = { "GCM", "AES-%d-GCM", check_gcm };
static const struct mode cbc = { "CBC", "AES-%d-CBC", check_cbc };

/* Returns the records that were checked. */
static unsigned long run_file(const struct mode *mode, EVP_CIPHER *const ciphers[3], const char *path,
                              const char *kernel)
{
    const char *file = strrchr(path, '/') + 1;
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    unsigned long records = 0;
    struct vector_rsp rsp;
    struct vector v;
    int more = -1;

    if (vector_rsp_open(&rsp, path))
        while ((more = vector_rsp_next(&rsp, &v)) > 0) {
            size_t which = v.key.len / 8 - 2;

            records++;
            if (which < 3 && mode->check(ctx, ciphers[which], &v, &rsp, file))
                continue;
            printf("    %s: %s, COUNT = %lu, key of %zu bytes, iv of %zu, text of %zu\n", kernel, file, rsp.count,
                   v.key.len, v.iv.len, v.ciphertext.len);
            CU_FAIL("the vector does not hold");
            break;
        }
    if (more < 0)
        printf("    %s: unknown line: %s\n", path, rsp.line != NULL ? rsp.line : "(none)");
    CU_ASSERT_EQUAL(more, 0);
    CU_ASSERT(records > 0);
    CU_ASSERT_EQUAL(records, count_records(path));
    vector_rsp_close(&rsp);
    EVP_CIPHER_CTX_free(ctx);
    return records;
}

static int is_rsp(const struct dirent *entry)
{
    const char *suffix = strrchr(entry->d_name, '.');

    return suffix != NULL && strcmp(suffix, ".rsp") == 0;
}

static void run_folder(const struct mode *mode, OSSL_LIB_CTX *libctx, const char *kernel)
{
    EVP_CIPHER *ciphers[3] = { NULL };
    struct dirent **entries = NULL;
    unsigned long records = 0;
    int fetched = 1, files = -1, run = 0;
    char *folder;

    if (asprintf(&folder, "%s/%s", cavp_dir(), mode->folder) < 0)
        return;
    for (int i = 0; i < 3; i++) {
        char name[32];

        snprintf(name, sizeof name, mode->cipher_format, 128 + 64 * i);
        ciphers[i] = support_fetch(libctx, name, "aesop");
        fetched &= ciphers[i] != NULL;
    }
    if (fetched)
        files = scandir(folder, &entries, is_rsp, alphasort);
    for (int i = 0; i < files; i++) {
        char *path;

        if (strstr(entries[i]->d_name, "MCT") != NULL) {
            support_skip(entries[i]->d_name, "Monte Carlo files are not implemented; Debian has none for these modes");
        } else if (asprintf(&path, "%s/%s", folder, entries[i]->d_name) >= 0) {
            records += run_file(mode, ciphers, path, kernel);
            run++;
            free(path);
        }
        free(entries[i]);
    }
    if (files < 0 && fetched)
        support_skip(folder, "no such folder (package python3-cryptography-vectors, or set AESOP_CAVP_DIR)");
    else
        CU_ASSERT(run > 0);
    printf("    %s: %s: %lu records of %d files\n", kernel, mode->folder, records, run);
    free(entries);
    free(folder);
    for (int i = 0; i < 3; i++)
        EVP_CIPHER_free(ciphers[i]);
}

static void run_gcm(OSSL_LIB_CTX *libctx, const char *kernel)
{
    run_folder(&gcm, libctx, kernel);
}

static void run_cbc(OSSL_LIB_CTX *libctx, const char *kernel)
{
    run_folder(&cbc, libctx, kernel);
}

static void test_gcm(void)
{
    support_each_kernel(NULL, run_gcm);
}

static void test_cbc(void)
{
    support_each_kernel(NULL, run_cbc);
}

int main(int argc, char **argv)
{
    CU_pSuite suite;

    support_init(argc, argv);
    suite = CU_add_suite("vectors", NULL, NULL);
    CU_add_test(suite, "CAVP GCM", test_gcm);
    CU_add_test(suite, "CAVP CBC", test_cbc);
    return support_run();
}
