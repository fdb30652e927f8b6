/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/evp_message.h"

#include <stdint.h>
#include <string.h>

#include "bench/bench.h"

void evp_message_open(struct evp_message *m, OSSL_LIB_CTX *libctx, const char *cipher, int encrypting)
{
    m->encrypting = encrypting;
    m->cipher = EVP_CIPHER_fetch(libctx, cipher, NULL);
    m->ctx = EVP_CIPHER_CTX_new();
    bench_check(m->cipher != NULL && m->ctx != NULL, cipher);
    m->aead = EVP_CIPHER_get_mode(m->cipher) == EVP_CIPH_GCM_MODE;
    bench_check(EVP_CipherInit_ex(m->ctx, m->cipher, NULL, m->key, m->iv, encrypting), "init");
    EVP_CIPHER_CTX_set_padding(m->ctx, 0);
}

void evp_message_close(struct evp_message *m)
{
    EVP_CIPHER_CTX_free(m->ctx);
    EVP_CIPHER_free(m->cipher);
}

void evp_message_run(void *arg, size_t count)
{
    struct evp_message *m = arg;
    const EVP_CIPHER *cipher = m->init == EVP_MESSAGE_CIPHER ? m->cipher : NULL;
    const unsigned char *key = m->init == EVP_MESSAGE_IV ? NULL : m->key;
    int len;

    for (uint64_t number = 1; number <= count; number++) {
        memcpy(m->iv, &number, sizeof number);
        bench_check(EVP_CipherInit_ex(m->ctx, cipher, NULL, key, m->iv, m->encrypting), "init");
        if (!m->aead) {
            if (cipher != NULL)
                EVP_CIPHER_CTX_set_padding(m->ctx, 0);
            bench_check(EVP_CipherUpdate(m->ctx, m->out, &len, m->in, (int)m->size), "update");
            continue;
        }
        bench_check(EVP_CipherUpdate(m->ctx, NULL, &len, m->aad, sizeof m->aad), "associated data");
        bench_check(EVP_CipherUpdate(m->ctx, m->out, &len, m->in, (int)m->size), "update");
        if (m->encrypting) {
            bench_check(EVP_CipherFinal_ex(m->ctx, m->out, &len), "final");
            bench_check(EVP_CIPHER_CTX_ctrl(m->ctx, EVP_CTRL_AEAD_GET_TAG, 16, m->tag), "tag");
        } else {
            /* The tag is compared like any other; whether it is right costs nothing. */
            bench_check(EVP_CIPHER_CTX_ctrl(m->ctx, EVP_CTRL_AEAD_SET_TAG, 16, m->tag), "tag");
            EVP_CipherFinal_ex(m->ctx, m->out, &len);
        }
    }
}
