/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does with libcrypto what libaesop-fetch.so stands before, and prints everything a program can see of it: who
 * serves, every error with its text and place, references, what changes when providers and properties do. With and
 * without the library the output has to be the same. Usage: preload_probe MODULES-FOLDER "preload_probe active" tells
 * whether the library is in this process and at work.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/provider.h>

static void errors(void)
{
    const char *file, *function, *data;
    unsigned long code;
    int line, flags;

    while ((code = ERR_get_error_all(&file, &line, &function, &data, &flags)) != 0)
        printf("    %lx %s %s %d \"%s\" %d\n", code, strrchr(file, '/') != NULL ? strrchr(file, '/') : file, function,
               line, data, flags);
}

static void cipher(OSSL_LIB_CTX *libctx, const char *name, const char *properties)
{
    for (int again = 0; again < 3; again++) {
        EVP_CIPHER *c = EVP_CIPHER_fetch(libctx, name, properties), *same = EVP_CIPHER_fetch(libctx, name, properties);

        printf("  %s \"%s\": %s %s %d\n", name != NULL ? name : "NULL", properties != NULL ? properties : "NULL",
               c != NULL ? EVP_CIPHER_get0_name(c) : "-",
               c != NULL ? OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(c)) : "-", c == same);
        EVP_CIPHER_free(c);
        EVP_CIPHER_free(same);
        errors();
    }
}

#define ANY(TYPE, libctx, name) \
    for (int again = 0; again < 2; again++) { \
        TYPE *m = TYPE##_fetch(libctx, name, NULL); \
        printf("  " #TYPE " %s: %s\n", name, m != NULL ? OSSL_PROVIDER_get0_name(TYPE##_get0_provider(m)) : "-"); \
        TYPE##_free(m); \
        errors(); \
    }

static void all(OSSL_LIB_CTX *libctx)
{
    cipher(libctx, "AES-128-GCM", NULL);
    cipher(libctx, "aes-128-gcm", "");
    cipher(libctx, "id-aes128-GCM", "provider=default");
    cipher(libctx, "AES-128-GCM", "?provider=aesop");
    cipher(libctx, "AES-128-GCM", "provider=aesop");
    cipher(libctx, "AES-128-GCM", "provider=nobody");
    cipher(libctx, "No-Such-Cipher", NULL);
    cipher(libctx, "no-such-cipher", NULL);
    cipher(libctx, "AES-128-GCM", "=broken=");
    cipher(libctx, "2.16.840.1.101.3.4.1.2", NULL);
    ANY(EVP_MD, libctx, "SHA256")
    ANY(EVP_MD, libctx, "no-such-digest")
    ANY(EVP_MAC, libctx, "HMAC")
    ANY(EVP_KDF, libctx, "HKDF")
    ANY(EVP_RAND, libctx, "CTR-DRBG")
    ANY(EVP_KEYMGMT, libctx, "RSA")
    ANY(EVP_KEM, libctx, "RSA")
    ANY(EVP_KEYEXCH, libctx, "ECDH")
    ANY(EVP_SIGNATURE, libctx, "ECDSA")
    ANY(EVP_ASYM_CIPHER, libctx, "RSA")
    ANY(EVP_ASYM_CIPHER, libctx, "no-such-cipher")
}

/* Errors that stand in the queue already stay, with and without a mark among them. */
static void queue(void)
{
    ERR_raise_data(ERR_LIB_USER, 1, "before");
    cipher(NULL, "no-such-cipher", NULL);
    ERR_raise_data(ERR_LIB_USER, 1, "before");
    ERR_set_mark();
    EVP_CIPHER_free(EVP_CIPHER_fetch(NULL, "no-such-cipher", NULL));
    ERR_pop_to_mark();
    errors();
    ERR_set_mark();
    EVP_CIPHER_free(EVP_CIPHER_fetch(NULL, "no-such-cipher", NULL));
    ERR_pop_to_mark();
    errors();
}

static void implicit(const char *what, const EVP_CIPHER *c)
{
    static const unsigned char key[64] = { 1 }, iv[16] = { 2 };
    unsigned char out[64] = { 0 };
    int len, tail;

    for (int way = 0; way < 6; way++) {
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        int ok = way == 0   ? EVP_EncryptInit_ex(ctx, c, NULL, key, iv)
                 : way == 1 ? EVP_DecryptInit_ex(ctx, c, NULL, key, iv)
                 : way == 2 ? EVP_CipherInit_ex(ctx, c, NULL, key, iv, 1)
                 : way == 3 ? EVP_EncryptInit_ex2(ctx, c, key, iv, NULL)
                 : way == 4 ? EVP_DecryptInit_ex2(ctx, c, key, iv, NULL)
                            : EVP_CipherInit_ex2(ctx, c, key, iv, 0, NULL);

        ok = ok && EVP_CipherUpdate(ctx, out, &len, key, 32);
        printf("  %s %d: %d", what, way, ok);
        if (ok) {
            const EVP_CIPHER *in_use = EVP_CIPHER_CTX_get0_cipher(ctx);

            printf(" %s of %s, %d bytes, %02x%02x, final %d", EVP_CIPHER_get0_name(in_use),
                   EVP_CIPHER_get0_provider(in_use) ? OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(in_use)) : "-",
                   len, len ? out[0] : 0, len ? out[len - 1] : 0, EVP_CipherFinal_ex(ctx, out, &tail));
        }
        printf("\n");
        errors();
        /* again, with another one and with none */
        printf("    %d %d\n", EVP_CipherInit_ex(ctx, EVP_aes_256_ctr(), NULL, key, iv, 1),
               EVP_CipherInit_ex(ctx, NULL, NULL, key, iv, 1));
        EVP_CIPHER_CTX_free(ctx);
        errors();
    }
}

static void implicit_digest(const char *what, const EVP_MD *md)
{
    unsigned char out[EVP_MAX_MD_SIZE] = { 0 };
    unsigned len = 0;

    for (int way = 0; way < 2; way++) {
        EVP_MD_CTX *ctx = EVP_MD_CTX_new(), *copy = EVP_MD_CTX_new();
        const int ok = way == 0 ? EVP_DigestInit_ex(ctx, md, NULL) : EVP_DigestInit_ex2(ctx, md, NULL);
        const EVP_MD *in_use = EVP_MD_CTX_get0_md(ctx);

        printf("  %s %d: %d %d %d %s %d", what, way, ok, ok && EVP_DigestUpdate(ctx, "abc", 3),
               ok && EVP_DigestFinal_ex(ctx, out, &len), in_use ? EVP_MD_get0_name(in_use) : "-",
               in_use ? EVP_MD_get_type(in_use) : 0);
        printf(" %u %02x, %d %d\n", len, out[0], in_use == md,
               EVP_MD_CTX_copy_ex(copy, ctx) && EVP_MD_CTX_get0_md(copy) == md);
        EVP_MD *owned = EVP_MD_CTX_get1_md(ctx);
        printf("    %d\n", owned == md);
        EVP_MD_free(owned);
        errors();
        printf("    %d\n", EVP_DigestInit_ex(ctx, NULL, NULL));
        /* a method instead of the constant */
        EVP_MD *fetched = EVP_MD_fetch(NULL, "SHA2-256", NULL);
        printf("    %d", EVP_DigestInit_ex(ctx, fetched, NULL));
        printf(" %d\n", EVP_MD_CTX_get0_md(ctx) == fetched);
        EVP_MD_free(fetched);
        EVP_MD_CTX_free(ctx);
        EVP_MD_CTX_free(copy);
        errors();
    }
}

#if OPENSSL_VERSION_MAJOR < 4
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static int own_init(EVP_CIPHER_CTX *ctx, const unsigned char *key, const unsigned char *iv, int encrypting)
{
    (void)ctx;
    (void)key;
    (void)iv;
    (void)encrypting;
    return 1;
}

static int own_cipher(EVP_CIPHER_CTX *ctx, unsigned char *out, const unsigned char *in, size_t len)
{
    (void)ctx;
    for (size_t i = 0; i < len; i++)
        out[i] = in[i] ^ 0x55;
    return 1;
}

/* A program's own method under the number of one of libcrypto's. */
static void own(void)
{
    EVP_CIPHER *c = EVP_CIPHER_meth_new(NID_aes_128_ctr, 1, 16);

    EVP_CIPHER_meth_set_iv_length(c, 16);
    EVP_CIPHER_meth_set_init(c, own_init);
    EVP_CIPHER_meth_set_do_cipher(c, own_cipher);
    implicit("own", c);
    implicit("own", c);
    EVP_CIPHER_meth_free(c);
}
#else
static void own(void)
{
}
#endif

static void *in_thread(void *arg)
{
    OSSL_LIB_CTX *before = OSSL_LIB_CTX_set0_default(arg);

    cipher(NULL, "AES-128-GCM", "provider=aesop");
    cipher(NULL, "no-such-cipher", NULL);
    implicit("thread gcm", EVP_aes_128_gcm());
    printf("  default %d %d\n", OSSL_LIB_CTX_set0_default(before) == arg, OSSL_LIB_CTX_set0_default(NULL) == before);
    cipher(NULL, "AES-128-GCM", "provider=aesop");
    return NULL;
}

static void events(const char *modules)
{
    OSSL_LIB_CTX *ctx = OSSL_LIB_CTX_new();
    OSSL_PROVIDER *standard = OSSL_PROVIDER_load(ctx, "default"), *aesop;
    pthread_t thread;

    OSSL_PROVIDER_set_default_search_path(ctx, modules);
    all(ctx);
    aesop = OSSL_PROVIDER_load(ctx, "aesop");
    printf("loaded %d\n", aesop != NULL);
    all(ctx);
    EVP_set_default_properties(ctx, "provider=aesop");
    printf("default properties\n");
    all(ctx);
    EVP_set_default_properties(ctx, "");
    cipher(ctx, "AES-128-GCM", NULL);
    EVP_default_properties_enable_fips(ctx, 1);
    printf("fips\n");
    cipher(ctx, "AES-128-GCM", NULL);
    EVP_default_properties_enable_fips(ctx, 0);
    cipher(ctx, "AES-128-GCM", NULL);
    printf("thread\n");
    pthread_create(&thread, NULL, in_thread, ctx);
    pthread_join(thread, NULL);
    printf("unloaded %d\n", OSSL_PROVIDER_unload(aesop));
    all(ctx);
    /* A method that the program keeps lives on. */
    EVP_CIPHER *kept = EVP_CIPHER_fetch(ctx, "AES-256-CBC", NULL);
    printf("unloaded %d\n", OSSL_PROVIDER_unload(standard));
    cipher(ctx, "AES-128-GCM", NULL);
    printf("kept %s\n", EVP_CIPHER_get0_name(kept));
    EVP_CIPHER_free(kept);
    OSSL_LIB_CTX_free(ctx);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "active") == 0) {
        /* A context that was handed a method bears this flag. */
        EVP_MD_CTX *ctx = EVP_MD_CTX_new();
        const int active = EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) && EVP_MD_CTX_test_flags(ctx, 0x40000000);

        EVP_MD_CTX_free(ctx);
        printf("%s\n", active ? "active" : "not active");
        return !active;
    }
    if (argc != 2)
        return 2;
    all(NULL);
    queue();
    implicit("gcm", EVP_aes_128_gcm());
    implicit("cbc", EVP_aes_256_cbc());
    implicit("xts", EVP_aes_128_xts());
    implicit("null", EVP_enc_null());
    implicit("chacha", EVP_chacha20_poly1305());
    implicit("cast", EVP_cast5_cbc()); /* in no provider that is loaded */
    implicit("NULL", NULL);
    implicit_digest("sha256", EVP_sha256());
    implicit_digest("md5", EVP_md5());
    implicit_digest("null", EVP_md_null());
    implicit_digest("whirlpool", EVP_whirlpool());
    implicit_digest("NULL", NULL);
    own();
    for (int i = 0; i < 3; i++)
        events(argv[1]);
    all(NULL);
    return 0;
}
