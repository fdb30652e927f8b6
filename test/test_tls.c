/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS and DTLS through libssl: every record of a connection between aesop and default arrives, whoever writes it, and a
 * record that was forged with the connection's own keys gets from aesop the answer that it gets from default.
 */
#include "support.h"
#include "tls_pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/provider.h>

#define TAG_BYTES 16
#define BLOCK_BYTES 16
#define STREAM_BYTES 100000

enum side { DEFAULT, AESOP, SIDES };
static const char *const side_names[SIDES] = { "default", "aesop" };

static OSSL_LIB_CTX *default_lib;
static struct tls_identity identity;

/* What one run of a test is about. */
struct trial {
    const struct tls_settings *settings;
    const char *kernel;
    SSL_CTX *clients[SIDES], *servers[SIDES];
    enum side client, server;
    struct support_random random;
};

/* Counts a check; one that fails says what repeats it. */
static int check(const struct trial *t, int ok, const char *what, size_t number)
{
    const struct tls_settings *s = t->settings;
    CU_ASSERT(ok);
    if (!ok) {
        printf("    %s, %s, %s, client %s, server %s, kernel %s, seed %llu: %s (%zu)\n", tls_version_name(s->version),
               s->suite->name, s->etm ? "encrypt-then-MAC" : "no encrypt-then-MAC", side_names[t->client],
               side_names[t->server], t->kernel, (unsigned long long)support_seed(), what, number);
        ERR_print_errors_fp(stdout);
    }
    ERR_clear_error();
    return ok;
}

/* TLS up to 1.2 takes a cipher and HMAC in one, where there is such a thing, unless encrypt-then-MAC is on. */
static int served_by_stitched(const struct tls_settings *s)
{
    EVP_CIPHER *stitched;
    if (s->suite->mac == NULL || strcmp(s->suite->mac, "SHA1") != 0 || s->etm || tls_is_dtls(s->version))
        return 0;
    ERR_set_mark();
    stitched = EVP_CIPHER_fetch(default_lib, "AES-128-CBC-HMAC-SHA1", NULL);
    ERR_pop_to_mark();
    EVP_CIPHER_free(stitched);
    return stitched != NULL;
}

static void (*running)(struct trial *);

static void each_settings(OSSL_LIB_CTX *aesop, const char *kernel)
{
    OSSL_LIB_CTX *const libs[SIDES] = { default_lib, aesop };

    for (size_t row = 0; row < tls_table_len; row++) {
        struct trial t = { .settings = &tls_table[row], .kernel = kernel };
        int made = 1;

        support_random_seed(&t.random, support_seed() + row);
        for (int i = 0; i < SIDES && made; i++) {
            t.clients[i] = tls_context(libs[i], t.settings, NULL);
            t.servers[i] = tls_context(libs[i], t.settings, &identity);
            made = t.clients[i] != NULL && t.servers[i] != NULL;
            if (!made && i == DEFAULT) {
                support_skip(tls_version_name(t.settings->version), "this libssl does not offer it");
                ERR_clear_error();
            } else {
                check(&t, made, "set-up", 0);
            }
        }
        if (made)
            running(&t);
        for (int i = 0; i < SIDES; i++) {
            SSL_CTX_free(t.clients[i]);
            SSL_CTX_free(t.servers[i]);
        }
    }
}

/* Runs `run` with every kernel for every row of the table. */
static void each_trial(void (*run)(struct trial *))
{
    running = run;
    support_each_kernel(NULL, each_settings);
}

/* Opens a connection for each assignment of the ends in which aesop takes part, and runs `run` on it. */
static void each_pair(struct trial *t, void (*run)(struct trial *, struct tls_pair *))
{
    static const enum side ends[][2] = { { AESOP, DEFAULT }, { DEFAULT, AESOP }, { AESOP, AESOP } };

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct tls_pair pair;
        t->client = ends[i][0];
        t->server = ends[i][1];
        if (check(t, tls_pair_open(&pair, t->clients[t->client], t->servers[t->server], NULL), "handshake", 0))
            run(t, &pair);
        tls_pair_close(&pair);
    }
}

/* ---- what arrives ---- */

/* How many bytes of the wire a write of len bytes takes. It tells that encrypt-then-MAC is really on, or off. */
static uint64_t wire_bytes(const struct tls_settings *s, size_t len)
{
    size_t header = tls_is_dtls(s->version) ? DTLS1_RT_HEADER_LENGTH : SSL3_RT_HEADER_LENGTH;
    size_t mac = s->suite->mac_bytes, before = s->etm ? 0 : mac, after = s->etm ? mac : 0;

    if (s->suite->mac == NULL) /* TLS 1.3 adds the true type, older ones the explicit part of the nonce */
        return header + len + (s->version == TLS1_3_VERSION ? 1 : 8) + TAG_BYTES;
    size_t blocks = (len + before) / BLOCK_BYTES + 1;
    if (s->version != TLS1_VERSION)
        return header + BLOCK_BYTES * (1 + blocks) + after;
    /* TLS 1.0 chains the IV, so an empty record goes first. */
    return header + BLOCK_BYTES * blocks + after + (len > 0 ? wire_bytes(s, 0) : 0);
}

/* Sends len random bytes. */
static int deliver(struct trial *t, SSL *from, SSL *to, size_t len)
{
    static unsigned char in[STREAM_BYTES], out[STREAM_BYTES];

    support_random_bytes(&t->random, in, len);
    memset(out, 0, len);
    return check(t, tls_transfer(from, to, out, in, len), "transfer", len) &&
           check(t, memcmp(in, out, len) == 0, "content", len);
}

/* Sends len random bytes both ways. */
static int exchange(struct trial *t, struct tls_pair *pair, size_t len)
{
    SSL *ends[] = { pair->client, pair->server };
    BIO *wires[] = { pair->to_server, pair->to_client };
    int ok = 1;

    for (int i = 0; i < 2 && ok; i++) {
        uint64_t before = BIO_number_written(wires[i]);
        ok = deliver(t, ends[i], ends[!i], len);
        if (ok && len <= SSL3_RT_MAX_PLAIN_LENGTH)
            ok = check(t, BIO_number_written(wires[i]) - before == wire_bytes(t->settings, len), "record size", len);
    }
    return ok;
}

static int exchange_some(struct trial *t, struct tls_pair *pair)
{
    return exchange(t, pair, 1) && exchange(t, pair, 1000) && exchange(t, pair, SSL3_RT_MAX_PLAIN_LENGTH);
}

static void sizes_of(struct trial *t, struct tls_pair *pair)
{
    const struct tls_settings *s = t->settings;
    size_t largest = SSL3_RT_MAX_PLAIN_LENGTH, all_up_to = support_long() ? largest : 520;

    check(t, SSL_version(pair->server) == s->version, "version", (size_t)SSL_version(pair->server));
    check(t, strcmp(SSL_get_cipher_name(pair->server), s->suite->name) == 0, "suite", 0);
    for (size_t len = 1; len <= all_up_to; len++) {
        if (!exchange(t, pair, len))
            return;
    }
    for (size_t len = 1024; len <= largest; len *= 2) {
        for (size_t around = len - 17; around <= len + 17 && around <= largest; around += len == largest ? 1 : 8) {
            if (!exchange(t, pair, around))
                return;
        }
    }
    for (int i = 0; i < 32; i++) {
        if (!exchange(t, pair, 1 + (size_t)support_random_below(&t->random, largest)))
            return;
    }
    if (!tls_is_dtls(s->version)) { /* many records, found in one read buffer at every alignment */
        SSL_set_read_ahead(pair->client, 1);
        SSL_set_read_ahead(pair->server, 1);
        exchange(t, pair, STREAM_BYTES);
    }
}

static void sizes(struct trial *t)
{
    each_pair(t, sizes_of);
}

static void test_sizes(void)
{
    each_trial(sizes);
}

/* ---- handshakes after the first ---- */

/* The session ticket is itself encrypted with AES-256-CBC, so the other side's server resumes it too. */
static void resumption_of(struct trial *t, struct tls_pair *first)
{
    SSL_SESSION *session = SSL_get1_session(first->client);

    for (int side = 0; side < SIDES; side++) {
        SSL_SESSION *copy = SSL_SESSION_dup(session);
        struct tls_pair pair;
        t->server = (enum side)side;
        if (check(t, tls_pair_open(&pair, t->clients[t->client], t->servers[side], copy), "handshake", 0) &&
            check(t, SSL_session_reused(pair.server), "resumption", 0))
            exchange_some(t, &pair);
        tls_pair_close(&pair);
        SSL_SESSION_free(copy);
    }
    SSL_SESSION_free(session);
}

static void renegotiation_of(struct trial *t, struct tls_pair *pair)
{
    SSL *ends[] = { pair->client, pair->server };
    unsigned char before[SSL3_RANDOM_SIZE], after[SSL3_RANDOM_SIZE];

    for (size_t i = 0; i < 4; i++) {
        SSL_get_client_random(pair->server, before, sizeof before);
        if (!exchange_some(t, pair) || !check(t, SSL_renegotiate(ends[i % 2]), "renegotiation is refused", i) ||
            !check(t, tls_pair_settle(pair), "renegotiation", i))
            return;
        SSL_get_client_random(pair->server, after, sizeof after);
        check(t, memcmp(before, after, sizeof after) != 0, "nothing was renegotiated", i);
    }
    exchange_some(t, pair);
}

static void key_update_of(struct trial *t, struct tls_pair *pair)
{
    static const int kinds[] = { SSL_KEY_UPDATE_NOT_REQUESTED, SSL_KEY_UPDATE_REQUESTED };
    SSL *ends[] = { pair->client, pair->server };
    BIO *wires[] = { pair->to_server, pair->to_client };

    for (size_t i = 0; i < 8; i++) {
        size_t end = i % 2, kind = i / 2 % 2;
        uint64_t asked = BIO_number_written(wires[end]), answered = BIO_number_written(wires[!end]);
        if (!check(t, SSL_key_update(ends[end], kinds[kind]), "key update is refused", i) ||
            !check(t, tls_pair_settle(pair), "key update", i))
            return;
        check(t, BIO_number_written(wires[end]) > asked, "no key update was sent", i);
        /* The answer to a request waits for the next write. */
        if (!deliver(t, ends[!end], ends[end], 1))
            return;
        answered += wire_bytes(t->settings, 1);
        check(t, (BIO_number_written(wires[!end]) > answered) == (kinds[kind] == SSL_KEY_UPDATE_REQUESTED), "answer",
              i);
        if (!exchange(t, pair, 1 + i))
            return;
    }
    exchange_some(t, pair);
}

static void resumption(struct trial *t)
{
    each_pair(t, resumption_of);
}

static void renegotiation(struct trial *t)
{
    if (t->settings->version != TLS1_3_VERSION)
        each_pair(t, renegotiation_of);
}

static void key_update(struct trial *t)
{
    if (t->settings->version == TLS1_3_VERSION)
        each_pair(t, key_update_of);
}

static void test_resumption(void)
{
    each_trial(resumption);
}

static void test_renegotiation(void)
{
    each_trial(renegotiation);
}

static void test_key_update(void)
{
    each_trial(key_update);
}

/* ---- forged records ---- */

#define NONE (-1)
#define MAX_MAC_BYTES 48
#define MAX_KEY_BYTES 32
#define SEQUENCE_BYTES 8
#define MAX_BODY_BYTES 2048
#define EXPLICIT_BYTES 8 /* of the nonce of GCM in TLS 1.2 */
#define FIXED_BYTES 4
#define TLS13_IV_BYTES 12
#define MAX_HEADER_BYTES DTLS1_RT_HEADER_LENGTH

/* What the client of a connection needs to protect its next record: the test writes records in its place. */
struct writer {
    const struct tls_settings *settings;
    struct support_random *random;
    unsigned char mac_key[MAX_MAC_BYTES], key[MAX_KEY_BYTES], iv[BLOCK_BYTES];
    size_t key_bytes;
    uint64_t sequence; /* DTLS: the epoch in its upper 16 bits */
};

/* What is wrong with a record. Places are counted from 0, NONE for nowhere. */
struct forgery {
    const char *what;
    size_t len;           /* of the content */
    int padding;          /* CBC: the length byte, NONE for no padding; content, MAC and it make whole blocks */
    int padding_at;       /* the byte of the padding that is changed, the length byte being the last */
    int mac_at;           /* the byte of CBC's MAC that is changed */
    unsigned char change; /* what is xored to that byte */
    int fill;             /* CBC: the value of every byte before encryption, NONE for what belongs there */
    int bit_at;           /* the bit of the finished record that is flipped, counted from its end */
    size_t cut;           /* bytes cut off at the end, the header saying so too */
};

static void put_number(unsigned char *out, uint64_t number, size_t bytes)
{
    while (bytes-- > 0) {
        out[bytes] = (unsigned char)number;
        number >>= 8;
    }
}

static int derive(const char *name, const OSSL_PARAM *params, unsigned char *out, size_t len)
{
    EVP_KDF *kdf = EVP_KDF_fetch(default_lib, name, NULL);
    EVP_KDF_CTX *ctx = EVP_KDF_CTX_new(kdf);
    int ok = ctx != NULL && EVP_KDF_derive(ctx, out, len, params) > 0;

    EVP_KDF_CTX_free(ctx);
    EVP_KDF_free(kdf);
    return ok;
}

/* RFC 8446, 7.1: HKDF-Expand-Label(secret, label, "", len) */
static int expand_label(const struct tls_pair *pair, const char *digest, const char *label, unsigned char *out,
                        size_t len)
{
    unsigned char info[32];
    int mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY, n = BIO_snprintf((char *)info + 3, sizeof info - 3, "tls13 %s", label);
    size_t secret_bytes = strcmp(digest, "SHA384") == 0 ? 48 : 32;

    put_number(info, len, 2);
    info[2] = (unsigned char)n;
    info[3 + n] = 0;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)digest, 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)pair->client_secret, secret_bytes),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info, 4 + (size_t)n),
        OSSL_PARAM_END,
    };
    return derive("HKDF", params, out, len);
}

/* RFC 5246, 6.3: the key block holds each of MAC key, key and IV twice, the client's first. */
static int take_key_block(struct writer *w, const struct tls_pair *pair)
{
    const struct tls_suite *suite = w->settings->suite;
    int old = !tls_is_dtls(w->settings->version) && w->settings->version < TLS1_2_VERSION;
    unsigned char block[2 * (MAX_MAC_BYTES + MAX_KEY_BYTES + BLOCK_BYTES)], master[SSL_MAX_MASTER_KEY_LENGTH];
    unsigned char seed[13 + 2 * SSL3_RANDOM_SIZE] = "key expansion";
    size_t master_bytes = SSL_SESSION_get_master_key(SSL_get_session(pair->client), master, sizeof master);

    SSL_get_server_random(pair->client, seed + 13, SSL3_RANDOM_SIZE);
    SSL_get_client_random(pair->client, seed + 13 + SSL3_RANDOM_SIZE, SSL3_RANDOM_SIZE);
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)(old ? "MD5-SHA1" : suite->prf), 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SECRET, master, master_bytes),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SEED, seed, sizeof seed),
        OSSL_PARAM_END,
    };
    if (!derive("TLS1-PRF", params, block, sizeof block))
        return 0;
    memcpy(w->mac_key, block, suite->mac_bytes);
    memcpy(w->key, block + 2 * suite->mac_bytes, w->key_bytes);
    memcpy(w->iv, block + 2 * (suite->mac_bytes + w->key_bytes), suite->mac == NULL ? FIXED_BYTES : BLOCK_BYTES);
    return 1;
}

/* Takes over from the client, which has just sent its Finished message and nothing since. */
static int writer_start(struct writer *w, struct trial *t, const struct tls_pair *pair)
{
    const struct tls_settings *settings = t->settings;
    const struct tls_suite *suite = settings->suite;
    unsigned char last[BLOCK_BYTES + MAX_MAC_BYTES];

    *w = (struct writer){ .settings = settings, .random = &t->random };
    w->key_bytes = strstr(suite->cipher, "256") != NULL ? 32 : 16;
    if (settings->version == TLS1_3_VERSION)
        return expand_label(pair, suite->prf, "key", w->key, w->key_bytes) &&
               expand_label(pair, suite->prf, "iv", w->iv, TLS13_IV_BYTES);

    /* Finished was the first record under these keys; in DTLS that was epoch 1. */
    w->sequence = tls_is_dtls(settings->version) ? (UINT64_C(1) << 48) + 1 : 1;
    if (!take_key_block(w, pair))
        return 0;
    if (settings->version == TLS1_VERSION) {
        size_t behind = settings->etm ? suite->mac_bytes : 0;
        tls_wire_last(pair->to_server, last, BLOCK_BYTES + behind);
        memcpy(w->iv, last, BLOCK_BYTES);
    }
    return 1;
}

/* RFC 5246, 6.2.3.1, and for encrypt-then-MAC RFC 7366: HMAC(sequence | type | version | length | data) */
static int put_mac(const struct writer *w, const unsigned char *header, unsigned char *out, const unsigned char *data,
                   size_t len)
{
    const struct tls_suite *suite = w->settings->suite;
    unsigned char message[SEQUENCE_BYTES + 5 + MAX_BODY_BYTES];
    size_t n;

    put_number(message, w->sequence, SEQUENCE_BYTES);
    memcpy(message + SEQUENCE_BYTES, header, 3);
    put_number(message + SEQUENCE_BYTES + 3, len, 2);
    memcpy(message + SEQUENCE_BYTES + 5, data, len);
    return EVP_Q_mac(default_lib, "HMAC", NULL, suite->mac, NULL, w->mac_key, suite->mac_bytes, message,
                     SEQUENCE_BYTES + 5 + len, out, MAX_MAC_BYTES, &n) != NULL;
}

static EVP_CIPHER_CTX *encrypt_with(const struct writer *w, const unsigned char *iv)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(default_lib, w->settings->suite->cipher, NULL);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();

    if (!EVP_EncryptInit_ex2(ctx, cipher, w->key, iv, NULL)) {
        EVP_CIPHER_CTX_free(ctx);
        ctx = NULL;
    }
    EVP_CIPHER_free(cipher);
    return ctx;
}

static void spoil(unsigned char *place, int at, unsigned char change)
{
    if (at >= 0)
        place[at] ^= change;
}

/*
 * | IV, but in TLS 1.0 | content | MAC | padding | or with encrypt-then-MAC | IV | content | padding | MAC |
 * Returns the length of that, 0 on failure.
 */
static size_t seal_cbc(struct writer *w, const unsigned char *header, unsigned char *body, const unsigned char *content,
                       const struct forgery *f)
{
    size_t mac_bytes = w->settings->suite->mac_bytes;
    size_t iv_bytes = w->settings->version == TLS1_VERSION ? 0 : BLOCK_BYTES;
    unsigned char *plain = body + iv_bytes, *end = plain + f->len;
    int n, ok = 1;

    if (iv_bytes > 0) {
        support_random_bytes(w->random, w->iv, iv_bytes);
        memcpy(body, w->iv, iv_bytes);
    }
    memcpy(plain, content, f->len);
    if (!w->settings->etm) {
        ok = put_mac(w, header, end, content, f->len);
        spoil(end, f->mac_at, f->change);
        end += mac_bytes;
    }
    memset(end, f->padding, (size_t)(f->padding + 1));
    spoil(end, f->padding_at, f->change);
    end += f->padding + 1;
    if (f->fill >= 0)
        memset(plain, f->fill, (size_t)(end - plain));

    EVP_CIPHER_CTX *ctx = encrypt_with(w, w->iv);
    ok = ok && ctx != NULL && EVP_CIPHER_CTX_set_padding(ctx, 0) &&
         EVP_EncryptUpdate(ctx, plain, &n, plain, (int)(end - plain)) && n == end - plain;
    EVP_CIPHER_CTX_free(ctx);
    memcpy(w->iv, end - BLOCK_BYTES, BLOCK_BYTES);
    if (w->settings->etm) {
        ok = ok && put_mac(w, header, end, body, (size_t)(end - body));
        spoil(end, f->mac_at, f->change);
        end += mac_bytes;
    }
    return ok ? (size_t)(end - body) : 0;
}

/* TLS 1.2: | explicit nonce | content | tag |, RFC 5288; TLS 1.3: | content, type | tag |, RFC 8446, 5.2. */
static size_t seal_gcm(struct writer *w, const unsigned char *header, unsigned char *body, const unsigned char *content,
                       const struct forgery *f)
{
    int tls13 = w->settings->version == TLS1_3_VERSION, n, ok;
    unsigned char nonce[TLS13_IV_BYTES], aad[SEQUENCE_BYTES + SSL3_RT_HEADER_LENGTH], *plain = body;
    size_t len = f->len, aad_bytes;

    memcpy(nonce, w->iv, sizeof nonce);
    memcpy(aad, header, 3);
    if (tls13) {
        for (size_t i = 0; i < SEQUENCE_BYTES; i++)
            nonce[TLS13_IV_BYTES - 1 - i] ^= (unsigned char)(w->sequence >> 8 * i);
        memcpy(plain, content, len);
        plain[len++] = SSL3_RT_APPLICATION_DATA;
        put_number(aad + 3, len + TAG_BYTES, 2);
        aad_bytes = SSL3_RT_HEADER_LENGTH;
    } else {
        support_random_bytes(w->random, nonce + FIXED_BYTES, EXPLICIT_BYTES);
        memcpy(body, nonce + FIXED_BYTES, EXPLICIT_BYTES);
        plain += EXPLICIT_BYTES;
        memcpy(plain, content, len);
        put_number(aad, w->sequence, SEQUENCE_BYTES);
        memcpy(aad + SEQUENCE_BYTES, header, 3);
        put_number(aad + SEQUENCE_BYTES + 3, len, 2);
        aad_bytes = sizeof aad;
    }
    EVP_CIPHER_CTX *ctx = encrypt_with(w, nonce);
    ok = ctx != NULL && EVP_EncryptUpdate(ctx, NULL, &n, aad, (int)aad_bytes) &&
         EVP_EncryptUpdate(ctx, plain, &n, plain, (int)len) && EVP_EncryptFinal_ex(ctx, plain + len, &n) &&
         EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, plain + len);
    EVP_CIPHER_CTX_free(ctx);
    return ok ? (size_t)(plain - body) + len + TAG_BYTES : 0;
}

/* Writes the whole record and returns its length, 0 on failure. */
static size_t seal(struct writer *w, unsigned char *record, const unsigned char *content, const struct forgery *f)
{
    int version = w->settings->version == TLS1_3_VERSION ? TLS1_2_VERSION : w->settings->version;
    unsigned char *body = record + SSL3_RT_HEADER_LENGTH;

    record[0] = SSL3_RT_APPLICATION_DATA;
    put_number(record + 1, (uint64_t)version, 2);
    if (tls_is_dtls(version)) {
        put_number(record + 3, w->sequence, SEQUENCE_BYTES);
        body += SEQUENCE_BYTES;
    }
    size_t len = (w->settings->suite->mac != NULL ? seal_cbc : seal_gcm)(w, record, body, content, f);
    if (len == 0)
        return 0;
    if (f->bit_at >= 0)
        body[len - 1 - (size_t)f->bit_at / 8] ^= (unsigned char)(1 << f->bit_at % 8);
    len -= f->cut < len ? f->cut : len;
    put_number(body - 2, len, 2);
    w->sequence++;
    return (size_t)(body - record) + len;
}

/* A server that gets records, and the connection to it while there is one. */
struct target {
    SSL_CTX *client, *server;
    SSL_SESSION *session; /* resumed for each connection: that is cheap */
    struct tls_pair pair;
    struct writer writer;
    int open;
};

struct outcome {
    int accepted; /* the content arrived, or nothing if there is none; the connection goes on */
    int dropped;  /* nothing arrived and the connection goes on */
    int error, reason, alert;
    size_t len; /* of what arrived */
};

static void target_close(struct target *target)
{
    tls_pair_close(&target->pair);
    target->open = 0;
}

static int target_open(struct target *target, struct trial *t)
{
    SSL_SESSION *session = target->session == NULL ? NULL : SSL_SESSION_dup(target->session);

    target->open = tls_pair_open(&target->pair, target->client, target->server, session);
    if (target->open && session == NULL) {
        /* The first one only brings the session; the copy survives its end without a closure alert. */
        target->session = SSL_SESSION_dup(SSL_get_session(target->pair.client));
        tls_pair_close(&target->pair);
        return target_open(target, t);
    }
    SSL_SESSION_free(session);
    if (check(t, target->open && SSL_session_reused(target->pair.client), "resumption", 0) &&
        check(t, writer_start(&target->writer, t, &target->pair), "keys", 0))
        return 1;
    target_close(target);
    return 0;
}

/* The reason of the first error that libssl raised; what lies below it may raise its own. */
static int ssl_reason(void)
{
    unsigned long e;

    while ((e = ERR_get_error()) != 0 && ERR_GET_LIB(e) != ERR_LIB_SSL)
        ;
    ERR_clear_error();
    return e == 0 ? 0 : ERR_GET_REASON(e);
}

/* Has the server read the forged record. */
static struct outcome feed(struct target *target, struct trial *t, const unsigned char *content,
                           const struct forgery *f)
{
    struct outcome outcome = { 0 };
    unsigned char record[MAX_HEADER_BYTES + MAX_BODY_BYTES], got[MAX_BODY_BYTES];
    size_t n = 0;

    if (!target->open && !target_open(target, t))
        return outcome;
    size_t len = seal(&target->writer, record, content, f);
    if (!check(t, len > 0 && BIO_write(target->pair.to_server, record, (int)len) == (int)len, "sealing", f->len))
        return outcome;

    int ok = SSL_read_ex(target->pair.server, got, sizeof got, &n);
    outcome.error = ok ? SSL_ERROR_NONE : SSL_get_error(target->pair.server, 0);
    outcome.reason = ssl_reason();
    outcome.dropped = outcome.error == SSL_ERROR_WANT_READ;
    outcome.len = n;
    outcome.accepted = ok ? n == f->len && memcmp(got, content, n) == 0 : f->len == 0 && outcome.dropped;
    if (!ok && !outcome.dropped) {
        /* The client tells which alert was sent. */
        SSL_read_ex(target->pair.client, got, sizeof got, &n);
        outcome.alert = ssl_reason() - SSL_AD_REASON_OFFSET;
        target_close(target);
    }
    return outcome;
}

/* A trial's two servers, aesop's and default's, and what both get. */
struct duel {
    struct trial *t;
    struct target targets[SIDES];
};

static void print_outcome(const char *who, const struct outcome *o)
{
    printf("      %s: %s, error %d, reason %d, alert %d\n", who,
           o->accepted  ? "accepted"
           : o->dropped ? "dropped"
                        : "refused",
           o->error, o->reason, o->alert);
}

enum expected { ACCEPTED, REFUSED, AS_DEFAULT };

/*
 * Feeds the same forgery of the same content to both servers. They must do the same, and that must be what is expected:
 * a bad_record_mac alert for what is refused; DTLS may also be silent.
 */
static void compare(struct duel *d, const struct forgery *f, enum expected expected)
{
    struct trial *t = d->t;
    unsigned char content[MAX_BODY_BYTES];
    struct outcome outcomes[SIDES];

    support_random_bytes(&t->random, content, f->len);
    for (int i = 0; i < SIDES; i++) {
        t->server = (enum side)i;
        outcomes[i] = feed(&d->targets[i], t, content, f);
    }
    const struct outcome *a = &outcomes[DEFAULT], *b = &outcomes[AESOP];
    int same = a->accepted == b->accepted && a->dropped == b->dropped && a->error == b->error &&
               a->reason == b->reason && a->alert == b->alert && a->len == b->len;
    int refused = a->alert == SSL_AD_BAD_RECORD_MAC || (tls_is_dtls(t->settings->version) && a->dropped);
    if (expected == ACCEPTED)
        same = same && a->accepted;
    if (expected == REFUSED)
        same = same && refused;
    if (!check(t, same, f->what, f->len)) {
        printf("      padding %d, padding_at %d, mac_at %d, change %#x, bit_at %d, cut %zu, fill %d\n", f->padding,
               f->padding_at, f->mac_at, f->change, f->bit_at, f->cut, f->fill);
        for (int i = 0; i < SIDES; i++)
            print_outcome(side_names[i], &outcomes[i]);
    }
}

static unsigned char nonzero(struct trial *t)
{
    return (unsigned char)(1 + support_random_below(&t->random, 255));
}

/* A forgery without a fault: its padding has that length byte, its content is the shortest, or blocks longer. */
static struct forgery padded(const struct trial *t, const char *what, int padding, size_t blocks)
{
    size_t mac_bytes = t->settings->etm ? 0 : t->settings->suite->mac_bytes;
    size_t rest = (mac_bytes + (size_t)(padding + 1)) % BLOCK_BYTES;

    return (struct forgery){ .what = what,
                             .len = (BLOCK_BYTES - rest) % BLOCK_BYTES + blocks * BLOCK_BYTES,
                             .padding = padding,
                             .padding_at = NONE,
                             .mac_at = NONE,
                             .fill = NONE,
                             .bit_at = NONE };
}

static void forge_padding(struct duel *d)
{
    struct trial *t = d->t;
    static const size_t longer[] = { 0, 1, 40 };

    for (int padding = 0; padding < 256; padding++) {
        struct forgery f = padded(t, "padding", padding, longer[padding % 3]);
        compare(d, &f, ACCEPTED);
    }
    /* Each byte of the longest padding; of every other length one, or in the long form each. */
    for (int padding = 0; padding < 256; padding++) {
        int one = (int)support_random_below(&t->random, (uint64_t)padding + 1);
        for (int at = 0; at <= padding; at++) {
            struct forgery f = padded(t, "a wrong byte in the padding", padding, longer[padding % 3]);
            f.padding_at = at;
            f.change = nonzero(t);
            /* Another length byte can happen to be right, where no MAC covers its place. */
            if (padding == 255 || at == one || support_long())
                compare(d, &f, at == padding && t->settings->etm ? AS_DEFAULT : REFUSED);
        }
    }
    /* A length byte of any value, in a record too short for most of them. */
    for (int claimed = 0; claimed < 256; claimed++) {
        struct forgery f = padded(t, "a wrong length of the padding", 15, 1);
        f.padding_at = f.padding;
        f.change = (unsigned char)(claimed ^ f.padding);
        compare(d, &f, claimed == f.padding ? ACCEPTED : t->settings->etm ? AS_DEFAULT : REFUSED);
    }
    /* Right padding that leaves no room for the MAC, or is longer than the record. */
    for (int fill = 0; fill < 256; fill++) {
        struct forgery f = padded(t, "nothing but padding", 15, 1);
        f.fill = fill;
        compare(d, &f, t->settings->etm ? AS_DEFAULT : REFUSED);
    }
    /* The end of the MAC, or of the content, taken for padding. */
    for (size_t blocks = 0; blocks < 32; blocks++) {
        struct forgery f = padded(t, "no padding", NONE, blocks + 1);
        compare(d, &f, t->settings->etm ? AS_DEFAULT : REFUSED);
    }
    for (size_t at = 0; at < t->settings->suite->mac_bytes; at++) {
        struct forgery f = padded(t, "a wrong byte in the MAC", (int)support_random_below(&t->random, 256), at % 3);
        f.mac_at = (int)at;
        f.change = nonzero(t);
        compare(d, &f, REFUSED);
    }
}

static void forged(struct trial *t)
{
    struct duel d = { .t = t };
    int cbc = t->settings->suite->mac != NULL;

    if (served_by_stitched(t->settings)) {
        support_skip("forged records of AES128-SHA without encrypt-then-MAC",
                     "libssl has default's AES-128-CBC-HMAC-SHA1 here; OPENSSL_ia32cap=~0x200000000000000 hides it");
        return;
    }
    t->client = DEFAULT;
    for (int i = 0; i < SIDES; i++) {
        d.targets[i].client = t->clients[DEFAULT];
        d.targets[i].server = t->servers[i];
    }
    if (cbc)
        forge_padding(&d);
    for (size_t len = 0; len < 64; len++) {
        struct forgery f = padded(t, "nothing is wrong", 0, len);
        if (!cbc)
            f.len = len;
        compare(&d, &f, ACCEPTED);
    }
    /* Each bit of the tag, which is last, and some of what comes before it. */
    for (int bit = 0; bit < 8 * 64; bit += bit < 8 * TAG_BYTES || support_long() ? 1 : 7) {
        struct forgery f = padded(t, "a flipped bit", 0, 3);
        f.bit_at = bit;
        compare(&d, &f, REFUSED);
    }
    for (size_t cut = 1; cut < 128; cut++) {
        struct forgery f = padded(t, "a cut record", 0, 3);
        f.cut = cut;
        compare(&d, &f, AS_DEFAULT);
    }
    for (int i = 0; i < SIDES; i++) {
        target_close(&d.targets[i]);
        SSL_SESSION_free(d.targets[i].session);
    }
}

static void test_forged(void)
{
    each_trial(forged);
}

/* ---- who serves ---- */

static void providers(OSSL_LIB_CTX *aesop, const char *kernel)
{
    static const char *const stitched[] = { "AES-128-CBC-HMAC-SHA1", "AES-256-CBC-HMAC-SHA256" };
    (void)kernel;

    for (size_t row = 0; row < tls_table_len; row++)
        EVP_CIPHER_free(support_fetch(aesop, tls_table[row].suite->cipher, "aesop"));
    for (size_t i = 0; i < sizeof stitched / sizeof *stitched; i++) {
        EVP_CIPHER *cipher = EVP_CIPHER_fetch(default_lib, stitched[i], NULL);
        if (cipher != NULL)
            EVP_CIPHER_free(support_fetch(aesop, stitched[i], "default"));
        else
            support_skip(stitched[i], "this libcrypto does not have it on this CPU");
        EVP_CIPHER_free(cipher);
        ERR_clear_error();
    }
}

/* What a library context serves is what libssl gets: it fetches with the context's default properties. */
static void test_providers(void)
{
    support_each_kernel(NULL, providers);
}

int main(int argc, char **argv)
{
    support_init(argc, argv);
    default_lib = support_ctx_default();
    if (default_lib == NULL || !tls_identity_make(&identity, default_lib)) {
        ERR_print_errors_fp(stderr);
        return 1;
    }
    CU_pSuite suite = CU_add_suite("tls", NULL, NULL);
    CU_add_test(suite, "who serves", test_providers);
    CU_add_test(suite, "record sizes", test_sizes);
    CU_add_test(suite, "resumption", test_resumption);
    CU_add_test(suite, "renegotiation", test_renegotiation);
    CU_add_test(suite, "key update", test_key_update);
    CU_add_test(CU_add_suite("tls-forged", NULL, NULL), "forged records", test_forged);
    int status = support_run();
    tls_identity_free(&identity);
    support_ctx_free(default_lib);
    return status;
}
