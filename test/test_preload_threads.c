/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of libaesop-fetch.so, linked into this program and so in front of libcrypto's, in many threads: while
 * providers come and go, and with library contexts that are made and freed. Meant for the sanitizers; what programs see
 * is apps/preload.sh's matter.
 */
#include "check.h"
#include "support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/provider.h>

enum { THREADS = 4 };

struct stage {
    OSSL_LIB_CTX *ctx;
    atomic_int over;
    atomic_ulong asked, wrong;
};

static int served_by(EVP_CIPHER *cipher, const char *provider)
{
    return cipher != NULL && strcmp(OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher)), provider) == 0;
}

/* One after the other all that the library stands before, in a context that others change at this moment. */
static unsigned long ask(OSSL_LIB_CTX *ctx)
{
    static const unsigned char key[16], iv[16];
    unsigned long wrong = 0;
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(ctx, "AES-128-GCM", "provider=default");
    EVP_CIPHER *either = EVP_CIPHER_fetch(ctx, "AES-128-GCM", "?provider=aesop");
    EVP_CIPHER *none = EVP_CIPHER_fetch(ctx, "no-such-cipher", NULL);
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    EVP_MD_CTX *m = EVP_MD_CTX_new();

    wrong += !served_by(cipher, "default");
    wrong += !served_by(either, "default") && !served_by(either, "aesop");
    wrong += none != NULL || ERR_GET_REASON(ERR_peek_last_error()) != ERR_R_UNSUPPORTED;
    ERR_clear_error();
    wrong += EVP_EncryptInit_ex(c, EVP_aes_128_cbc(), NULL, key, iv) != 1 ||
             EVP_EncryptInit_ex(c, cipher, NULL, key, iv) != 1;
    wrong += EVP_DigestInit_ex(m, EVP_sha256(), NULL) != 1 || EVP_MD_CTX_get0_md(m) != EVP_sha256();
    wrong += !EVP_MD_CTX_test_flags(m, 0x40000000); /* a method was handed in */
    EVP_CIPHER_CTX_free(c);
    EVP_MD_CTX_free(m);
    EVP_CIPHER_free(cipher);
    EVP_CIPHER_free(either);
    return wrong;
}

/* In the context of all, and now and then in one of its own. */
static void *go_on_asking(void *arg)
{
    struct stage *s = arg;
    unsigned long wrong = 0;

    while (!atomic_load_explicit(&s->over, memory_order_relaxed)) {
        wrong += ask(s->ctx);
        if (atomic_fetch_add(&s->asked, 1) % 64 == 0) {
            OSSL_LIB_CTX *own = OSSL_LIB_CTX_new();

            for (int i = 0; i < 3; i++)
                wrong += ask(own);
            OSSL_LIB_CTX *before = OSSL_LIB_CTX_set0_default(own);
            wrong += ask(NULL);
            OSSL_LIB_CTX_set0_default(before);
            OSSL_LIB_CTX_free(own);
        }
    }
    atomic_fetch_add(&s->wrong, wrong);
    OPENSSL_thread_stop();
    return NULL;
}

static void everything_at_once(void)
{
    struct stage s = { .ctx = support_ctx_default() };
    const unsigned long least = support_long() ? 100000 : 2000;
    pthread_t ids[THREADS];

    CU_ASSERT_TRUE_FATAL(s.ctx != NULL && OSSL_PROVIDER_set_default_search_path(s.ctx, support_module_dir()));
    for (int i = 0; i < THREADS; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&ids[i], NULL, go_on_asking, &s), 0);
    for (int i = 0; i < 100 || atomic_load(&s.asked) < least; i++) {
        OSSL_PROVIDER *aesop = OSSL_PROVIDER_load(s.ctx, "aesop");
        EVP_CIPHER *cipher = EVP_CIPHER_fetch(s.ctx, "AES-256-CBC", "provider=aesop");

        CHECK(served_by(cipher, "aesop"), "round %d", i);
        EVP_CIPHER_free(cipher);
        OSSL_PROVIDER_unload(aesop);
    }
    atomic_store(&s.over, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    CHECK(atomic_load(&s.wrong) == 0, "%lu of %lu answers are wrong", atomic_load(&s.wrong), atomic_load(&s.asked));
    support_ctx_free(s.ctx);
}

int main(int argc, char **argv)
{
    support_init(argc, argv);
    CU_pSuite suite = CU_add_suite("threads", NULL, NULL);
    CU_ADD_TEST(suite, everything_at_once);
    return support_run();
}
