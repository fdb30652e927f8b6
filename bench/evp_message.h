/* SPDX-License-Identifier: Apache-2.0 */
/* Messages through EVP, as a protocol sends them. */
#ifndef AESOP_BENCH_EVP_MESSAGE_H
#define AESOP_BENCH_EVP_MESSAGE_H

#include <stddef.h>

#include <openssl/evp.h>

/* What is set anew for each message; with a key or a cipher goes all that comes before it here. */
enum evp_message_init { EVP_MESSAGE_IV, EVP_MESSAGE_KEY, EVP_MESSAGE_CIPHER };

/* Init, 13 bytes of associated data, text, tag (AES-*-GCM), or init and text (AES-*-CBC, padding off). */
struct evp_message {
    unsigned char *out;
    const unsigned char *in;
    size_t size; /* CBC: a multiple of 16 */
    enum evp_message_init init;

    EVP_CIPHER *cipher;
    EVP_CIPHER_CTX *ctx;
    int encrypting, aead;
    unsigned char key[32], iv[16], aad[13], tag[16];
};

/* Opens the context; what is set of out, in, size and init stays. Ends the program where that fails. */
void evp_message_open(struct evp_message *m, OSSL_LIB_CTX *libctx, const char *cipher, int encrypting);
void evp_message_close(struct evp_message *m);

/* struct bench_subject's run; arg is a struct evp_message. */
void evp_message_run(void *arg, size_t count);

#endif
