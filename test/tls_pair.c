/* SPDX-License-Identifier: Apache-2.0 */
#include "tls_pair.h"

#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

static const struct tls_suite aes128_sha = { "AES128-SHA", "AES-128-CBC", "SHA256", "SHA1", 20 };
static const struct tls_suite aes256_sha384 = { "ECDHE-RSA-AES256-SHA384", "AES-256-CBC", "SHA384", "SHA384", 48 };
static const struct tls_suite aes128_gcm = { "AES128-GCM-SHA256", "AES-128-GCM", "SHA256", NULL, 0 };
static const struct tls_suite aes256_gcm = { "AES256-GCM-SHA384", "AES-256-GCM", "SHA384", NULL, 0 };
static const struct tls_suite tls13_aes128_gcm = { "TLS_AES_128_GCM_SHA256", "AES-128-GCM", "SHA256", NULL, 0 };
static const struct tls_suite tls13_aes256_gcm = { "TLS_AES_256_GCM_SHA384", "AES-256-GCM", "SHA384", NULL, 0 };

const struct tls_settings tls_table[] = {
    { TLS1_VERSION, &aes128_sha, 0 },         { TLS1_VERSION, &aes128_sha, 1 },
    { TLS1_1_VERSION, &aes128_sha, 0 },       { TLS1_1_VERSION, &aes128_sha, 1 },
    { TLS1_2_VERSION, &aes128_sha, 0 },       { TLS1_2_VERSION, &aes128_sha, 1 },
    { TLS1_2_VERSION, &aes256_sha384, 0 },    { TLS1_2_VERSION, &aes256_sha384, 1 },
    { TLS1_2_VERSION, &aes128_gcm, 0 },       { TLS1_2_VERSION, &aes256_gcm, 0 },
    { TLS1_3_VERSION, &tls13_aes128_gcm, 0 }, { TLS1_3_VERSION, &tls13_aes256_gcm, 0 },
    { DTLS1_2_VERSION, &aes128_sha, 0 },      { DTLS1_2_VERSION, &aes128_sha, 1 },
    { DTLS1_2_VERSION, &aes256_sha384, 0 },   { DTLS1_2_VERSION, &aes256_sha384, 1 },
    { DTLS1_2_VERSION, &aes128_gcm, 0 },      { DTLS1_2_VERSION, &aes256_gcm, 0 },
};
const size_t tls_table_len = sizeof tls_table / sizeof *tls_table;

const char *tls_version_name(int version)
{
    static const struct {
        int version;
        const char *name;
    } names[] = {
        { TLS1_VERSION, "TLS 1.0" },   { TLS1_1_VERSION, "TLS 1.1" },   { TLS1_2_VERSION, "TLS 1.2" },
        { TLS1_3_VERSION, "TLS 1.3" }, { DTLS1_2_VERSION, "DTLS 1.2" },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].version == version)
            return names[i].name;
    }
    return "?";
}

int tls_is_dtls(int version)
{
    return version >> 8 == DTLS1_VERSION_MAJOR;
}

/*
 * A wire is a queue of bytes. On one for datagrams each write is preceded by its length, and a read takes one datagram:
 * what the reader has no room for is lost, as on a socket.
 */
struct wire {
    int datagrams;
    unsigned char *data;
    size_t start, end, size;
    unsigned char last[64];
};

static int wire_write(BIO *bio, const char *in, int len)
{
    struct wire *wire = BIO_get_data(bio);
    size_t n = (size_t)len;
    if (len <= 0)
        return 0;
    if (wire->start == wire->end) {
        wire->start = wire->end = 0;
    }
    if (wire->size - wire->end < n + sizeof n) {
        size_t size = 2 * (wire->end + n + sizeof n);
        unsigned char *data = OPENSSL_realloc(wire->data, size);
        if (data == NULL)
            return -1;
        wire->data = data;
        wire->size = size;
    }
    if (wire->datagrams) {
        memcpy(wire->data + wire->end, &n, sizeof n);
        wire->end += sizeof n;
    }
    memcpy(wire->data + wire->end, in, n);
    wire->end += n;

    size_t kept = n < sizeof wire->last ? n : sizeof wire->last;
    memmove(wire->last, wire->last + kept, sizeof wire->last - kept);
    memcpy(wire->last + sizeof wire->last - kept, in + n - kept, kept);
    return len;
}

static int wire_read(BIO *bio, char *out, int len)
{
    struct wire *wire = BIO_get_data(bio);
    size_t room = len > 0 ? (size_t)len : 0, taken = wire->end - wire->start;
    BIO_clear_retry_flags(bio);
    if (taken == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    if (wire->datagrams) {
        memcpy(&taken, wire->data + wire->start, sizeof taken);
        wire->start += sizeof taken;
    } else if (taken > room) {
        taken = room;
    }
    size_t n = taken < room ? taken : room;
    memcpy(out, wire->data + wire->start, n);
    wire->start += taken;
    return (int)n;
}

static long wire_ctrl(BIO *bio, int cmd, long number, void *pointer)
{
    struct wire *wire = BIO_get_data(bio);
    (void)number;
    (void)pointer;
    switch (cmd) {
    case BIO_CTRL_FLUSH:
        return 1;
    case BIO_CTRL_PENDING:
        return (long)(wire->end - wire->start);
    default:
        return 0;
    }
}

static int wire_destroy(BIO *bio)
{
    struct wire *wire = BIO_get_data(bio);
    if (wire != NULL) {
        OPENSSL_free(wire->data);
        OPENSSL_free(wire);
    }
    return 1;
}

static BIO *wire_new(const BIO_METHOD *method, int datagrams)
{
    BIO *bio = BIO_new(method);
    struct wire *wire = OPENSSL_zalloc(sizeof *wire);
    if (bio == NULL || wire == NULL) {
        BIO_free(bio);
        OPENSSL_free(wire);
        return NULL;
    }
    wire->datagrams = datagrams;
    BIO_set_data(bio, wire);
    BIO_set_init(bio, 1);
    return bio;
}

void tls_wire_last(BIO *wire, unsigned char *out, size_t n)
{
    const struct wire *w = BIO_get_data(wire);
    memcpy(out, w->last + sizeof w->last - n, n);
}

static BIO_METHOD *wire_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "wire");
    if (method == NULL || !BIO_meth_set_write(method, wire_write) || !BIO_meth_set_read(method, wire_read) ||
        !BIO_meth_set_ctrl(method, wire_ctrl) || !BIO_meth_set_destroy(method, wire_destroy)) {
        BIO_meth_free(method);
        return NULL;
    }
    return method;
}

int tls_identity_make_with(struct tls_identity *id, OSSL_LIB_CTX *lib, EVP_PKEY *key)
{
    static const unsigned char name[] = "aesop test";
    int ok = 0;
    X509 *cert = X509_new_ex(lib, NULL);
    memset(id, 0, sizeof *id);
    if (key == NULL || cert == NULL)
        goto done;
    if (!X509_set_version(cert, X509_VERSION_3) || !ASN1_INTEGER_set(X509_get_serialNumber(cert), 1) ||
        !ASN1_TIME_set_string_X509(X509_getm_notBefore(cert), "20000101000000Z") ||
        !ASN1_TIME_set_string_X509(X509_getm_notAfter(cert), "20991231235959Z")) {
        goto done;
    }
    X509_NAME *subject = X509_NAME_new();
    if (subject == NULL || !X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, name, -1, -1, 0) ||
        !X509_set_subject_name(cert, subject) || !X509_set_issuer_name(cert, subject)) {
        X509_NAME_free(subject);
        goto done;
    }
    X509_NAME_free(subject);
    EVP_MD *sha256 = EVP_MD_fetch(lib, "SHA256", NULL);
    ok = X509_set_pubkey(cert, key) && X509_sign(cert, key, sha256) > 0;
    EVP_MD_free(sha256);
    id->key_len = ok ? i2d_PrivateKey(key, &id->key) : 0;
    id->cert_len = ok ? i2d_X509(cert, &id->cert) : 0;
    ok = id->key_len > 0 && id->cert_len > 0;
done:
    X509_free(cert);
    return ok;
}

int tls_identity_make(struct tls_identity *id, OSSL_LIB_CTX *lib)
{
    EVP_PKEY *key = EVP_PKEY_Q_keygen(lib, NULL, "RSA", (size_t)2048);
    int ok = tls_identity_make_with(id, lib, key);
    EVP_PKEY_free(key);
    return ok;
}

void tls_identity_free(struct tls_identity *id)
{
    OPENSSL_clear_free(id->key, (size_t)id->key_len);
    OPENSSL_free(id->cert);
}

static int context_identify(SSL_CTX *ctx, OSSL_LIB_CTX *lib, const struct tls_identity *id)
{
    const unsigned char *key_der = id->key, *cert_der = id->cert;
    EVP_PKEY *key = d2i_AutoPrivateKey_ex(NULL, &key_der, id->key_len, lib, NULL);
    X509 *cert = X509_new_ex(lib, NULL);
    int ok = key != NULL && cert != NULL && d2i_X509(&cert, &cert_der, id->cert_len) != NULL &&
             SSL_CTX_use_certificate(ctx, cert) && SSL_CTX_use_PrivateKey(ctx, key);
    EVP_PKEY_free(key);
    X509_free(cert);
    return ok;
}

/* A key log line: LABEL, the client random, the secret, the latter two in hexadecimal. */
static void keep_secret(const SSL *ssl, const char *line)
{
    static const char label[] = "CLIENT_TRAFFIC_SECRET_0 ";
    struct tls_pair *pair = SSL_get_app_data(ssl);
    const char *secret = strrchr(line, ' ');
    if (strncmp(line, label, strlen(label)) == 0)
        OPENSSL_hexstr2buf_ex(pair->client_secret, sizeof pair->client_secret, NULL, secret + 1, '\0');
}

SSL_CTX *tls_context(OSSL_LIB_CTX *lib, const struct tls_settings *settings, const struct tls_identity *id)
{
    char list[64];
    unsigned char ticket_keys[80] = { 1 };
    int dtls = tls_is_dtls(settings->version), server = id != NULL;
    const SSL_METHOD *method = server ? (dtls ? DTLS_server_method() : TLS_server_method())
                                      : (dtls ? DTLS_client_method() : TLS_client_method());
    SSL_CTX *ctx = SSL_CTX_new_ex(lib, NULL, method);
    if (ctx == NULL)
        return NULL;
    /* Level 0 because TLS 1.0 and 1.1 sign with SHA-1. */
    BIO_snprintf(list, sizeof list, "%s:@SECLEVEL=0", settings->suite->name);
    int ok = settings->version == TLS1_3_VERSION ? SSL_CTX_set_ciphersuites(ctx, settings->suite->name)
                                                 : SSL_CTX_set_cipher_list(ctx, list);
    ok = ok && SSL_CTX_set_min_proto_version(ctx, settings->version) &&
         SSL_CTX_set_max_proto_version(ctx, settings->version);
    SSL_CTX_set_options(ctx, SSL_OP_ALLOW_CLIENT_RENEGOTIATION | SSL_OP_NO_QUERY_MTU |
                                 (settings->etm ? 0 : SSL_OP_NO_ENCRYPT_THEN_MAC));
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    if (server) {
        ok = ok && context_identify(ctx, lib, id) &&
             SSL_CTX_set_tlsext_ticket_keys(ctx, ticket_keys, sizeof ticket_keys) == 1;
    } else {
        SSL_CTX_set_keylog_callback(ctx, keep_secret);
    }
    if (!ok) {
        SSL_CTX_free(ctx);
        return NULL;
    }
    return ctx;
}

/* Nothing is lost on these wires, so a DTLS retransmission could only come from a slow machine. */
static unsigned int dtls_timeout(SSL *ssl, unsigned int microseconds)
{
    (void)ssl;
    (void)microseconds;
    return 3600u * 1000000u;
}

int tls_pair_open(struct tls_pair *pair, SSL_CTX *client, SSL_CTX *server, SSL_SESSION *session)
{
    memset(pair, 0, sizeof *pair);
    pair->client = SSL_new(client);
    pair->server = SSL_new(server);
    pair->method = wire_method();
    if (pair->client == NULL || pair->server == NULL || pair->method == NULL)
        return 0;
    int dtls = SSL_is_dtls(pair->client);
    pair->to_server = wire_new(pair->method, dtls);
    pair->to_client = wire_new(pair->method, dtls);
    if (pair->to_server == NULL || pair->to_client == NULL)
        return 0;
    SSL *ends[] = { pair->client, pair->server };
    for (int i = 0; i < 2; i++) {
        /* The pair holds one reference of each wire, and each end another. */
        BIO_up_ref(pair->to_server);
        BIO_up_ref(pair->to_client);
        SSL_set_bio(ends[i], i == 0 ? pair->to_client : pair->to_server, i == 0 ? pair->to_server : pair->to_client);
        if (dtls) {
            DTLS_set_timer_cb(ends[i], dtls_timeout);
            DTLS_set_link_mtu(ends[i], 1500);
        }
    }
    SSL_set_app_data(pair->client, pair);
    SSL_set_connect_state(pair->client);
    SSL_set_accept_state(pair->server);
    if (session != NULL && !SSL_set_session(pair->client, session))
        return 0;
    return tls_pair_settle(pair);
}

void tls_pair_close(struct tls_pair *pair)
{
    SSL_free(pair->client);
    SSL_free(pair->server);
    BIO_free(pair->to_server);
    BIO_free(pair->to_client);
    BIO_meth_free(pair->method);
    memset(pair, 0, sizeof *pair);
}

int tls_pair_settle(struct tls_pair *pair)
{
    SSL *ends[] = { pair->client, pair->server };
    unsigned char byte;
    do {
        for (int i = 0; i < 2; i++) {
            SSL_do_handshake(ends[i]);
            int got = SSL_peek(ends[i], &byte, 1);
            if (got > 0 || SSL_get_error(ends[i], got) != SSL_ERROR_WANT_READ)
                return 0;
        }
    } while (BIO_pending(pair->to_server) > 0 || BIO_pending(pair->to_client) > 0);
    return SSL_is_init_finished(pair->client) && SSL_is_init_finished(pair->server);
}

int tls_transfer(SSL *from, SSL *to, unsigned char *out, const unsigned char *in, size_t len)
{
    size_t written = 0, got = 0, n;
    if (!SSL_write_ex(from, in, len, &written) || written != len)
        return 0;
    while (got < len) {
        if (!SSL_read_ex(to, out + got, len - got, &n))
            return 0;
        got += n;
    }
    return 1;
}
