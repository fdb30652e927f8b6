/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says who serves what inside a given libcrypto: probe LIBCRYPTO QUESTION...
 *
 *   cipher=NAME[?QUERY]    fetch; prints the provider's name, or "none"
 *   digest=NAME[?QUERY]    the same for a digest
 *   implicit=NAME          the cipher object that programs of the time before providers use (EVP_aes_128_gcm and so
 *                          on, found by name), initialised; prints which provider it ended up with
 *   available=PROVIDER     OSSL_PROVIDER_available: 1 or 0
 *   same=NAME              encrypts with NAME of aesop and decrypts with that of default, and the other way round
 *   config=FILE            loads FILE as OPENSSL_CONF would be; prints 1 or 0, and on stderr the errors, of which a
 *                          provider that refused to load leaves some even where the answer is 1
 *
 * One line "QUESTION ANSWER" each. libcrypto is opened at run time, so that one binary asks 3.0 as well as 4.0. The
 * configuration is the one that the environment names, loaded by libcrypto itself on first use, as in any program.
 */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>

#define FUNCTIONS(X) \
    X(ERR_print_errors_fp) \
    X(EVP_CIPHER_CTX_free) \
    X(EVP_CIPHER_CTX_get0_cipher) \
    X(EVP_CIPHER_CTX_new) \
    X(EVP_CIPHER_fetch) \
    X(EVP_CIPHER_free) \
    X(EVP_CIPHER_get0_provider) \
    X(EVP_CipherFinal_ex) \
    X(EVP_CipherInit_ex2) \
    X(EVP_CipherUpdate) \
    X(EVP_CIPHER_CTX_ctrl) \
    X(EVP_MD_fetch) \
    X(EVP_MD_free) \
    X(EVP_MD_get0_provider) \
    X(EVP_get_cipherbyname) \
    X(OSSL_LIB_CTX_load_config) \
    X(OSSL_PROVIDER_available) \
    X(OSSL_PROVIDER_get0_name)

#define DECLARE(name) static __typeof__(name) *p_##name;
FUNCTIONS(DECLARE)

#define TEXT_BYTES 100003

static int open_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);

    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 0;
    }
#define RESOLVE(name) \
    if ((*(void **)&p_##name = dlsym(library, #name)) == NULL) { \
        fprintf(stderr, "%s\n", dlerror()); \
        return 0; \
    }
    FUNCTIONS(RESOLVE)
    return 1;
}

static const char *provider_name(const OSSL_PROVIDER *provider)
{
    return provider != NULL ? p_OSSL_PROVIDER_get0_name(provider) : "no provider";
}

static int ask_cipher(const char *name, const char *query)
{
    EVP_CIPHER *cipher = p_EVP_CIPHER_fetch(NULL, name, query);

    puts(cipher != NULL ? provider_name(p_EVP_CIPHER_get0_provider(cipher)) : "none");
    p_EVP_CIPHER_free(cipher);
    return 1;
}

static int ask_digest(const char *name, const char *query)
{
    EVP_MD *digest = p_EVP_MD_fetch(NULL, name, query);

    puts(digest != NULL ? provider_name(p_EVP_MD_get0_provider(digest)) : "none");
    p_EVP_MD_free(digest);
    return 1;
}

static int ask_implicit(const char *name, const char *query)
{
    EVP_CIPHER_CTX *ctx = p_EVP_CIPHER_CTX_new();
    const EVP_CIPHER *cipher = p_EVP_get_cipherbyname(name);
    int ok = ctx != NULL && cipher != NULL && p_EVP_CipherInit_ex2(ctx, cipher, NULL, NULL, 1, NULL);

    (void)query;
    puts(ok ? provider_name(p_EVP_CIPHER_get0_provider(p_EVP_CIPHER_CTX_get0_cipher(ctx))) : "none");
    p_EVP_CIPHER_CTX_free(ctx);
    return 1;
}

static int ask_available(const char *name, const char *query)
{
    (void)query;
    printf("%d\n", p_OSSL_PROVIDER_available(NULL, name));
    return 1;
}

static int ask_config(const char *name, const char *query)
{
    int ok = p_OSSL_LIB_CTX_load_config(NULL, name);

    (void)query;
    printf("%d\n", ok);
    p_ERR_print_errors_fp(stderr);
    return 1;
}

/* Returns the bytes written to out, or -1. The tag is written on encryption and checked on decryption. */
static int crypt_once(const EVP_CIPHER *cipher, int aead, int enc, unsigned char *out, unsigned char tag[16],
                      const unsigned char *in, int in_len)
{
    static const unsigned char key[32] = "an odd key, only for this probe", iv[16] = "its iv";
    EVP_CIPHER_CTX *ctx = p_EVP_CIPHER_CTX_new();
    int len = 0, last = 0, total = -1;

    if (ctx == NULL || !p_EVP_CipherInit_ex2(ctx, cipher, key, iv, enc, NULL))
        goto done;
    if (aead && !p_EVP_CipherUpdate(ctx, NULL, &len, key, 13))
        goto done;
    if (!p_EVP_CipherUpdate(ctx, out, &len, in, in_len))
        goto done;
    if (aead && !enc && p_EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, tag) <= 0)
        goto done;
    if (!p_EVP_CipherFinal_ex(ctx, out + len, &last))
        goto done;
    if (aead && enc && p_EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag) <= 0)
        goto done;
    total = len + last;
done:
    p_EVP_CIPHER_CTX_free(ctx);
    return total;
}

static int ask_same(const char *name, const char *query)
{
    static unsigned char text[TEXT_BYTES], sealed[TEXT_BYTES + 32], opened[TEXT_BYTES + 32];
    EVP_CIPHER *ciphers[2] = { p_EVP_CIPHER_fetch(NULL, name, "provider=aesop"),
                               p_EVP_CIPHER_fetch(NULL, name, "provider=default") };
    int aead = strstr(name, "GCM") != NULL, ok = ciphers[0] != NULL && ciphers[1] != NULL, i;
    unsigned char tag[16];

    (void)query;
    for (i = 0; i < TEXT_BYTES; i++)
        text[i] = (unsigned char)(i * 31 >> 3);
    for (i = 0; ok && i < 2; i++) {
        int sealed_len = crypt_once(ciphers[i], aead, 1, sealed, tag, text, TEXT_BYTES);

        ok = sealed_len >= TEXT_BYTES &&
             crypt_once(ciphers[!i], aead, 0, opened, tag, sealed, sealed_len) == TEXT_BYTES &&
             memcmp(opened, text, TEXT_BYTES) == 0;
        if (aead) {
            tag[15] ^= 1;
            ok = ok && crypt_once(ciphers[!i], aead, 0, opened, tag, sealed, sealed_len) == -1;
        }
    }
    printf("%d\n", ok);
    p_EVP_CIPHER_free(ciphers[0]);
    p_EVP_CIPHER_free(ciphers[1]);
    return 1;
}

static const struct {
    const char *kind;
    int (*ask)(const char *name, const char *query);
} questions[] = {
    { "cipher", ask_cipher },       { "digest", ask_digest }, { "implicit", ask_implicit },
    { "available", ask_available }, { "same", ask_same },     { "config", ask_config },
};

/* question is KIND=NAME or KIND=NAME?QUERY */
static int ask(const char *question)
{
    const char *name = strchr(question, '=');
    char *copy, *query;
    int answered = 0;

    if (name == NULL || (copy = strdup(name + 1)) == NULL)
        return 0;
    if ((query = strchr(copy, '?')) != NULL)
        *query++ = '\0';
    for (size_t i = 0; !answered && i < sizeof questions / sizeof questions[0]; i++) {
        if (strlen(questions[i].kind) == (size_t)(name - question) &&
            strncmp(questions[i].kind, question, (size_t)(name - question)) == 0) {
            printf("%s ", question);
            answered = questions[i].ask(copy, query);
        }
    }
    free(copy);
    return answered;
}

int main(int argc, char **argv)
{
    if (argc < 3 || !open_library(argv[1]))
        return 2;
    for (int i = 2; i < argc; i++) {
        if (!ask(argv[i])) {
            fprintf(stderr, "probe: no such question: %s\n", argv[i]);
            return 2;
        }
    }
    return 0;
}
