/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose modules bring a libcrypto each, as wheels of Python do. Built twice as a module (-DMODULE), upon two
 * libcryptos, and once as the program that loads them: preload_copies MODULE..., or, to unload each before the next,
 * preload_copies -u MODULE...
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <openssl/evp.h>

#ifdef MODULE

/* What one module does to its libcrypto, the other must not see. */
int use_openssl(const char *name)
{
    static const unsigned char key[16], iv[12];
    unsigned char digest[EVP_MAX_MD_SIZE];

    for (int again = 0; again < 2; again++) {
        EVP_MD *fetched = EVP_MD_fetch(NULL, "SHA256", NULL);
        EVP_MD *absent = EVP_MD_fetch(NULL, "no-such", NULL);
        EVP_MD_CTX *md = EVP_MD_CTX_new();
        EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
        OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();
        EVP_MD *elsewhere = EVP_MD_fetch(libctx, "SHA512", NULL);

        printf("%s: fetched %d, absent %d, in a context of its own %d\n", name, fetched != NULL, absent == NULL,
               elsewhere != NULL);
        printf("%s: implicit %d", name, EVP_DigestInit_ex(md, EVP_sha256(), NULL));
        printf(" %d", EVP_DigestUpdate(md, "abc", 3) && EVP_DigestFinal_ex(md, digest, NULL));
        printf(" %02x %d", digest[0], EVP_MD_CTX_get0_md(md) == EVP_sha256());
        printf(" %d\n", EVP_EncryptInit_ex(cipher, EVP_aes_128_gcm(), NULL, key, iv));
        EVP_MD_free(elsewhere);
        OSSL_LIB_CTX_free(libctx);
        EVP_CIPHER_CTX_free(cipher);
        EVP_MD_CTX_free(md);
        EVP_MD_free(fetched);
    }
    return EVP_set_default_properties(NULL, "provider=nobody");
}

#else

int main(int argc, char **argv)
{
    const int unload = argc > 1 && strcmp(argv[1], "-u") == 0;
    const void *place = NULL;

    for (int i = 1 + unload; i < argc; i++) {
        void *module = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL), *symbol;
        int (*use)(const char *name);

        if (module == NULL || (symbol = dlsym(module, "use_openssl")) == NULL) {
            printf("%s: %s\n", argv[i], dlerror());
            return 1;
        }
        memcpy(&use, &symbol, sizeof use);
        printf("%s: default properties %d\n", argv[i], use(argv[i]));
        if (unload) {
            printf("where the last one was %d, unloaded %d\n", symbol == place, dlclose(module) == 0);
            place = symbol;
        }
    }
    return 0;
}

#endif
