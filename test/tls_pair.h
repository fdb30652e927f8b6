/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A TLS or DTLS client and server in one process, joined by memory. Whoever holds the pair is the man in the middle:
 * BIO_read on a wire takes bytes off it, BIO_write puts bytes on it.
 */
#ifndef AESOP_TEST_TLS_PAIR_H
#define AESOP_TEST_TLS_PAIR_H

#include <stddef.h>

#include <openssl/bio.h>
#include <openssl/ssl.h>

#define TLS_MAX_SECRET_BYTES 48

struct tls_suite {
    const char *name;
    const char *cipher; /* what protects its records */
    const char *prf;    /* the digest of its key derivation in TLS 1.2 and 1.3; older versions all have MD5-SHA1 */
    const char *mac;    /* the digest of its HMAC, NULL for an AEAD */
    size_t mac_bytes;
};

struct tls_settings {
    int version; /* TLS1_VERSION to TLS1_3_VERSION, or DTLS1_2_VERSION */
    const struct tls_suite *suite;
    int etm; /* encrypt-then-MAC is offered; means nothing to an AEAD */
};

/* Every combination of version, suite and encrypt-then-MAC that AES-GCM or AES-CBC serves and the tests cover. */
extern const struct tls_settings tls_table[];
extern const size_t tls_table_len;

/* "TLS 1.2", ... */
const char *tls_version_name(int version);
int tls_is_dtls(int version);

/* A server's key and self-signed certificate, encoded, so that every library context decodes its own. */
struct tls_identity {
    unsigned char *key, *cert;
    int key_len, cert_len;
};
/* With a key of RSA, 2048 bits, or with the given one. Returns 1, or 0 with errors raised. */
int tls_identity_make(struct tls_identity *id, OSSL_LIB_CTX *lib);
int tls_identity_make_with(struct tls_identity *id, OSSL_LIB_CTX *lib, EVP_PKEY *key);
void tls_identity_free(struct tls_identity *id);

/*
 * The context of a server with that identity, or of a client where id is NULL, which can do what the settings say and
 * nothing else. Servers share fixed ticket keys and keep no sessions. NULL with errors raised where this libssl cannot.
 */
SSL_CTX *tls_context(OSSL_LIB_CTX *lib, const struct tls_settings *settings, const struct tls_identity *id);

struct tls_pair {
    SSL *client, *server;
    BIO *to_server, *to_client;
    BIO_METHOD *method;
    unsigned char client_secret[TLS_MAX_SECRET_BYTES]; /* TLS 1.3: the client's first application traffic secret */
};

/* Connects, resuming the session unless it is NULL. Returns 1 after a whole handshake; close the pair in any case. */
int tls_pair_open(struct tls_pair *pair, SSL_CTX *client, SSL_CTX *server, SSL_SESSION *session);
void tls_pair_close(struct tls_pair *pair);
/*
 * Lets both ends do what they have begun (a handshake, a renegotiation, a key update) until no message is under way.
 * Returns 1, or 0 where an end failed, has not finished, or got application data.
 */
int tls_pair_settle(struct tls_pair *pair);

/* Writes len bytes at one end and reads them at the other, into out. Returns 1 when all arrived. */
int tls_transfer(SSL *from, SSL *to, unsigned char *out, const unsigned char *in, size_t len);

/* Copies the last n (at most 64) bytes that were ever written to the wire. */
void tls_wire_last(BIO *wire, unsigned char *out, size_t n);

#endif
