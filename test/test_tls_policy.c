/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constraints on real handshakes: what they forbid does not happen, at either end, and nothing that OpenSSL forbids
 * does.
 */
#include "check.h"
#include "support.h"
#include "tls_pair.h"

#include <string.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "aesop/resolver.h"

enum { CLIENT = 1, SERVER = 2, BOTH = 3 };

static OSSL_LIB_CTX *lib;
static struct tls_identity identity; /* RSA, 2048 bits, self-signed */

static int prepare(void)
{
    lib = support_ctx_default();
    return lib != NULL && tls_identity_make(&identity, lib) ? 0 : -1;
}

static int clean_up(void)
{
    tls_identity_free(&identity);
    support_ctx_free(lib);
    return 0;
}

/* ---- handshakes ---- */

static const struct wish {
    int version;
    const char *suite, *constraints;
    int fails_at; /* the ends at which the constraints make the handshake fail */
} wishes[] = {
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "", 0 },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "RC4, 3DES, CBC, AES keySize < 128, RSA keySize < 2048", 0 },

    /* suites, by any part */
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "AES keySize < 256", BOTH },
    { TLS1_2_VERSION, "ECDHE-RSA-AES256-GCM-SHA384", "AES keySize < 256", 0 },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "AES", BOTH },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "GCM", BOTH },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE_RSA", BOTH },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "TLS_RSA_*", 0 },
    { TLS1_2_VERSION, "AES128-GCM-SHA256", "TLS_RSA_*", BOTH },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-SHA", "CBC", BOTH },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-SHA", "SHA1", BOTH },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-SHA256", "SHA1", 0 },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", BOTH },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "GCM tagSize < 128", 0 },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "GCM tagSize <= 128", BOTH },
    { TLS1_2_VERSION, "AES128-CCM8", "CCM tagSize < 128", BOTH },
    { TLS1_2_VERSION, "AES128-CCM", "CCM tagSize < 128", 0 },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "AES denyAfter 2020-01-01", BOTH },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "AES denyAfter 9999-01-01", 0 },
    { TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256", "AES keySize < 256", BOTH },
    { TLS1_3_VERSION, "TLS_AES_256_GCM_SHA384", "AES keySize < 256", 0 },
    { TLS1_3_VERSION, "TLS_CHACHA20_POLY1305_SHA256", "AES", 0 },
    { TLS1_3_VERSION, "TLS_CHACHA20_POLY1305_SHA256", "CHACHA20", BOTH },

    /* versions */
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "TLSv1.2", BOTH },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "TLSv1.3", 0 },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "TLSv1.1", 0 },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "TLSv1", 0 },
    { TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256", "TLSv1.3", BOTH },
    { TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256", "TLSv1.2", 0 },
    { DTLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "DTLSv1.2", BOTH },
    { DTLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "TLSv1.2", 0 },

    /* groups: by name and by size; another one is taken as long as there is one */
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "X25519", 0 },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "XDH", 0 },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "EC keySize < 384", 0 },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "XDH, EC", BOTH },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "XDH keySize < 1000, EC keySize <= 521", BOTH },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "XDH keySize < 1000, EC keySize < 521", 0 },
    { TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256", "P-256, P-384", 0 },
    { TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256", "XDH, EC, DH, ML-KEM", BOTH },
    { TLS1_2_VERSION, "DHE-RSA-AES128-GCM-SHA256", "DH keySize < 1024", 0 },
    { TLS1_2_VERSION, "DHE-RSA-AES128-GCM-SHA256", "DH keySize < 8193", BOTH },

    /* signatures of the handshake */
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "SHA256withRSA", 0 }, /* SHA-384 then */
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "RSA usage HandshakeSignature", BOTH },
    { TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256", "RSA usage HandshakeSignature", BOTH },
    { TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256", "rsa_pss usage HandshakeSignature", BOTH },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "rsa_pss usage HandshakeSignature", 0 },
    { TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256", "ECDSA usage HandshakeSignature", 0 },
    { TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256", "RSASSA-PSS", BOTH },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "RSASSA-PSS", 0 }, /* PKCS#1 then */

    /* the server's key */
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "RSA keySize < 2048", 0 },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "RSA keySize <= 2048", BOTH },
    { TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256", "RSA keySize < 3072", BOTH },
    { TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256", "RSA keySize < 3072 & usage TLSServer",
      BOTH }, /* it is a server's, for both */
    { TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256", "RSA keySize < 3072 & usage TLSClient", 0 },

    /* nothing asks the client about it: no signature, or none whose algorithm is negotiated */
    { TLS1_2_VERSION, "AES128-GCM-SHA256", "RSA keySize <= 2048", SERVER },
    { TLS1_1_VERSION, "ECDHE-RSA-AES128-SHA", "RSA keySize <= 2048", SERVER },

    /* use by one end */
    { TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256", "AES usage TLSServer", SERVER },
    { TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256", "AES usage TLSClient", CLIENT },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "AES usage TLSServer", SERVER },
    { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "AES usage SignedJAR", 0 },
};

static void constrain(SSL_CTX *ctx, AESOP_RESOLVER *r)
{
    SSL_CTX_set_security_callback(ctx, AESOP_RESOLVER_security_callback);
    SSL_CTX_set0_security_ex_data(ctx, r);
}

/*
 * Whether the handshake succeeds where the constraints (NULL: none at all) hold at that end, and OpenSSL's level at
 * both.
 */
static int connects(const struct wish *wish, const char *constraints, int end, int level)
{
    const struct tls_suite suite = { .name = wish->suite };
    const struct tls_settings settings = { .version = wish->version, .suite = &suite, .etm = 1 };
    SSL_CTX *client = tls_context(lib, &settings, NULL), *server = tls_context(lib, &settings, &identity);
    AESOP_RESOLVER *r = AESOP_RESOLVER_new(lib, 0, 0, 0);
    struct tls_pair pair;

    CU_ASSERT_TRUE_FATAL(client != NULL && server != NULL && r != NULL);
    CU_ASSERT_TRUE(AESOP_RESOLVER_set_constraints(r, constraints));
    SSL_CTX_set_dh_auto(server, 1);
    /* Certificates go in before the constraints, so that it is the handshake that has to refuse. */
    if (constraints != NULL)
        constrain(end == CLIENT ? client : server, r);
    SSL_CTX_set_security_level(client, level);
    SSL_CTX_set_security_level(server, level);
    const int connected = tls_pair_open(&pair, client, server, NULL);
    tls_pair_close(&pair);
    SSL_CTX_free(client);
    SSL_CTX_free(server);
    AESOP_RESOLVER_free(r);
    ERR_clear_error();
    return connected;
}

static void handshakes(void)
{
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++) {
        const struct wish *w = &wishes[i];

        CHECK(connects(w, NULL, CLIENT, 0), "%s, %s without constraints", tls_version_name(w->version), w->suite);
        for (int end = CLIENT; end <= SERVER; end++)
            CHECK(connects(w, w->constraints, end, 0) == ((w->fails_at & end) == 0), "%s, %s, \"%s\" at the %s",
                  tls_version_name(w->version), w->suite, w->constraints, end == CLIENT ? "client" : "server");
    }
}

/* What level 3 forbids (RSA of 2048 bits), and 1 (TLS before 1.2), no constraints permit. */
static void levels(void)
{
    static const struct {
        struct wish wish;
        int highest_level;
    } cases[] = {
        { { TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256", "RC4", 0 }, 2 },
        { { TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", "", 0 }, 2 },
        { { TLS1_1_VERSION, "ECDHE-RSA-AES128-SHA", "", 0 }, 0 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int level = 0; level <= 4; level++) {
            const struct wish *w = &cases[i].wish;
            const int wanted = level <= cases[i].highest_level;

            CHECK(connects(w, NULL, CLIENT, level) == wanted, "case %zu, level %d without constraints", i, level);
            for (int end = CLIENT; end <= SERVER; end++)
                CHECK(connects(w, w->constraints, end, level) == wanted, "case %zu, level %d, end %d", i, level, end);
        }
    }
}

/* ---- the callback alone ---- */

/*
 * Every question that libssl may ask, at every level: without constraints OpenSSL's answer, with them never yes to
 * its no.
 */
static void never_weaker(void)
{
    static const int operations[] = { SSL_SECOP_CIPHER_SUPPORTED, SSL_SECOP_CIPHER_SHARED, SSL_SECOP_CIPHER_CHECK,
                                      SSL_SECOP_VERSION,          SSL_SECOP_TICKET,        SSL_SECOP_COMPRESSION };
    static const int versions[] = {
        SSL3_VERSION, TLS1_VERSION, TLS1_1_VERSION, TLS1_2_VERSION, TLS1_3_VERSION, 0x0305
    };
    SSL_CTX *ctx = SSL_CTX_new_ex(lib, NULL, TLS_method());
    AESOP_RESOLVER *none = AESOP_RESOLVER_new(lib, 0, 0, 0), *some = AESOP_RESOLVER_new(lib, 0, 0, 0);
    unsigned forbidden = 0, permitted = 0;

    CU_ASSERT_TRUE_FATAL(ctx != NULL && none != NULL && some != NULL);
    CU_ASSERT_TRUE(AESOP_RESOLVER_set_constraints(some, "CBC, SHA1, TLSv1.1, PSK"));
    int (*const openssl)(const SSL *, const SSL_CTX *, int, int, int, void *, void *) =
        SSL_CTX_get_security_callback(ctx);
    SSL *ssl = SSL_new(ctx);
    CU_ASSERT_PTR_NOT_NULL_FATAL(ssl);
    SSL_CTX_set_security_level(ctx, 0);
    CU_ASSERT_TRUE(SSL_CTX_set_cipher_list(ctx, "ALL:COMPLEMENTOFALL"));
    const STACK_OF(SSL_CIPHER) *suites = SSL_CTX_get_ciphers(ctx);
    CU_ASSERT_TRUE(sk_SSL_CIPHER_num(suites) > 50);
    for (int level = 0; level <= 5; level++) {
        SSL_set_security_level(ssl, level);
        for (size_t o = 0; o < sizeof operations / sizeof operations[0]; o++) {
            for (int i = 0; i < sk_SSL_CIPHER_num(suites); i++) {
                SSL_CIPHER *suite = (SSL_CIPHER *)sk_SSL_CIPHER_value(suites, i);
                const int version = versions[(size_t)i % (sizeof versions / sizeof versions[0])];
                const int op = operations[o], bits = SSL_CIPHER_get_bits(suite, NULL);
                const int wanted = openssl(ssl, NULL, op, bits, version, suite, NULL);
                const int with_some = AESOP_RESOLVER_security_callback(ssl, NULL, op, bits, version, suite, some);

                CHECK(AESOP_RESOLVER_security_callback(ssl, NULL, op, bits, version, suite, none) == wanted,
                      "level %d, operation %x, %s, version %x", level, (unsigned)op, SSL_CIPHER_get_name(suite),
                      (unsigned)version);
                CHECK(with_some <= wanted, "level %d, operation %x, %s, version %x", level, (unsigned)op,
                      SSL_CIPHER_get_name(suite), (unsigned)version);
                forbidden += (unsigned)(wanted - with_some);
                permitted += (unsigned)with_some;
            }
        }
    }
    CHECK(forbidden > 100 && permitted > 100, "%u forbidden, %u permitted", forbidden, permitted);
    SSL_free(ssl);
    AESOP_RESOLVER_free(none);
    AESOP_RESOLVER_free(some);
    SSL_CTX_free(ctx);
}

static const struct kind_of_code {
    const char *name;
    int operation;
    unsigned forbidden_count, forbidden[5];
} kinds_of_code[] = {
    { "group", SSL_SECOP_CURVE_SUPPORTED, 5, { 0x0013, 0x0014, 0x0015, 0x001d, 0x11ec } },
    { "signature algorithm", SSL_SECOP_SIGALG_SUPPORTED, 3, { 0x0201, 0x0202, 0x0203 } },
    { "version", SSL_SECOP_VERSION, 1, { 0x0302 } },
};

static void check_code(SSL_CTX *ctx, AESOP_RESOLVER *r, const struct kind_of_code *kind, unsigned code)
{
    unsigned char bytes[2] = { (unsigned char)(code >> 8), (unsigned char)code };
    const int is_version = kind->operation == SSL_SECOP_VERSION;
    int wanted = 1;

    for (unsigned i = 0; i < kind->forbidden_count; i++)
        wanted = wanted && kind->forbidden[i] != code;
    CHECK(AESOP_RESOLVER_security_callback(NULL, ctx, kind->operation, 256, is_version ? (int)code : NID_undef,
                                           is_version ? NULL : bytes, r) == wanted,
          "%s %04x", kind->name, code);
}

/*
 * Every code that there may be, in several orders, so that what is remembered of one drives out what is remembered of
 * another, and those that the constraints name again and again amid them: they are forbidden each time, and no others.
 */
static void every_code(void)
{
    static const char *const lists[] = { "SHA1, X25519, EC keySize < 256, TLSv1.1",
                                         "SHA1, X25519, EC keySize < 256, TLSv1.1, RC4 usage TLSServer",
                                         "SHA1, X25519, EC keySize < 256, TLSv1.1, RC4 denyAfter 2020-01-01" };
    static const unsigned strides[] = { 1, 4097, 65535 };
    SSL_CTX *ctx = SSL_CTX_new_ex(lib, NULL, TLS_method());

    CU_ASSERT_PTR_NOT_NULL_FATAL(ctx);
    SSL_CTX_set_security_level(ctx, 0);
    for (size_t l = 0; l < sizeof lists / sizeof lists[0]; l++) {
        AESOP_RESOLVER *r = AESOP_RESOLVER_new(lib, 0, 0, 0);

        CU_ASSERT_TRUE_FATAL(r != NULL && AESOP_RESOLVER_set_constraints(r, lists[l]));
        for (size_t s = 0; s < sizeof strides / sizeof strides[0]; s++)
            for (unsigned n = 0; n < 0x10000; n++)
                for (size_t k = 0; k < sizeof kinds_of_code / sizeof kinds_of_code[0]; k++) {
                    const struct kind_of_code *kind = &kinds_of_code[k];

                    check_code(ctx, r, kind, n * strides[s] & 0xffff);
                    check_code(ctx, r, kind, kind->forbidden[n % kind->forbidden_count]);
                }
        AESOP_RESOLVER_free(r);
    }
    SSL_CTX_free(ctx);
}

/* The curve of a certificate's key, whether it is named or spelled out. */
static void curves_of_certificates(void)
{
    static const struct {
        const char *curve, *encoding, *constraints;
        int permitted;
    } cases[] = {
        { "P-256", "named_curve", "P-256", 0 },
        { "P-256", "named_curve", "prime256v1", 0 },
        { "P-256", "named_curve", "P-384", 1 },
        { "P-256", "explicit", "secp256r1", 0 },
        { "P-256", "explicit", "P-384", 1 },
        { "P-384", "named_curve", "P-384", 0 },
        { "P-384", "explicit", "secp384r1", 0 },
        { "P-384", "named_curve", "P-256", 1 },
        { "P-384", "named_curve", "EC", 0 },
        { "P-384", "named_curve", "EC keySize < 384", 1 },
        { "P-256", "explicit", "EC keySize < 384", 0 },
    };
    SSL_CTX *ctx = SSL_CTX_new_ex(lib, NULL, TLS_method());

    CU_ASSERT_PTR_NOT_NULL_FATAL(ctx);
    SSL_CTX_set_security_level(ctx, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        EVP_PKEY *key = EVP_PKEY_Q_keygen(lib, NULL, "EC", cases[i].curve);
        AESOP_RESOLVER *r = AESOP_RESOLVER_new(lib, 0, 0, 0);
        X509 *certificate = X509_new_ex(lib, NULL);
        struct tls_identity id;

        CU_ASSERT_TRUE_FATAL(key != NULL && r != NULL && certificate != NULL &&
                             EVP_PKEY_set_utf8_string_param(key, OSSL_PKEY_PARAM_EC_ENCODING, cases[i].encoding) &&
                             tls_identity_make_with(&id, lib, key) &&
                             AESOP_RESOLVER_set_constraints(r, cases[i].constraints));
        const unsigned char *der = id.cert;
        CU_ASSERT_PTR_NOT_NULL_FATAL(d2i_X509(&certificate, &der, id.cert_len));
        CHECK(AESOP_RESOLVER_security_callback(NULL, ctx, SSL_SECOP_EE_KEY, 256, NID_undef, certificate, r) ==
                  cases[i].permitted,
              "%s, %s, \"%s\"", cases[i].curve, cases[i].encoding, cases[i].constraints);
        X509_free(certificate);
        tls_identity_free(&id);
        AESOP_RESOLVER_free(r);
        EVP_PKEY_free(key);
    }
    SSL_CTX_free(ctx);
}

/* A certificate for the key that another one issues, signed with RSA, PSS or not, and the digest. */
static X509 *issued_certificate(EVP_PKEY *key, int padding, const EVP_MD *digest)
{
    X509 *certificate = X509_new_ex(lib, NULL);
    X509_NAME *issuer = X509_NAME_new();
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *key_ctx;

    CU_ASSERT_TRUE(certificate != NULL && issuer != NULL && ctx != NULL &&
                   X509_NAME_add_entry_by_txt(issuer, "CN", MBSTRING_ASC, (const unsigned char *)"CA", -1, -1, 0) &&
                   X509_set_issuer_name(certificate, issuer) && X509_set_pubkey(certificate, key) &&
                   X509_gmtime_adj(X509_getm_notBefore(certificate), 0) != NULL &&
                   X509_gmtime_adj(X509_getm_notAfter(certificate), 3600) != NULL &&
                   EVP_DigestSignInit(ctx, &key_ctx, digest, NULL, key) &&
                   EVP_PKEY_CTX_set_rsa_padding(key_ctx, padding) > 0 && X509_sign_ctx(certificate, ctx) > 0);
    X509_NAME_free(issuer);
    EVP_MD_CTX_free(ctx);
    return certificate;
}

/* The signature of a certificate: its digest too, which is not part of RSA-PSS's name. */
static void signatures_of_certificates(void)
{
    static const struct {
        int padding, sha1;
        const char *constraints;
        int permitted;
    } cases[] = {
        { RSA_PKCS1_PADDING, 1, "SHA1", 0 },
        { RSA_PKCS1_PADDING, 0, "SHA1", 1 },
        { RSA_PKCS1_PADDING, 1, "SHA1withRSA", 0 },
        { RSA_PKCS1_PADDING, 1, "RSASSA-PSS", 1 },
        { RSA_PKCS1_PSS_PADDING, 1, "SHA1", 0 },
        { RSA_PKCS1_PSS_PADDING, 0, "SHA1", 1 },
        { RSA_PKCS1_PSS_PADDING, 0, "SHA-256", 0 },
        { RSA_PKCS1_PSS_PADDING, 1, "SHA1withRSA", 0 },
        { RSA_PKCS1_PSS_PADDING, 1, "RSASSA-PSS", 0 },
        { RSA_PKCS1_PSS_PADDING, 1, "rsa_pss", 0 },
        { RSA_PKCS1_PSS_PADDING, 1, "SHA1 usage TLSServer", 1 },
        { RSA_PKCS1_PSS_PADDING, 1, "SHA1 usage CertificateSignature", 0 },
    };
    SSL_CTX *ctx = SSL_CTX_new_ex(lib, NULL, TLS_method());
    EVP_PKEY *key = EVP_PKEY_Q_keygen(lib, NULL, "RSA", (size_t)2048);

    CU_ASSERT_TRUE_FATAL(ctx != NULL && key != NULL);
    SSL_CTX_set_security_level(ctx, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        X509 *certificate = issued_certificate(key, cases[i].padding, cases[i].sha1 ? EVP_sha1() : EVP_sha256());
        AESOP_RESOLVER *r = AESOP_RESOLVER_new(lib, 0, 0, 0);

        CU_ASSERT_TRUE_FATAL(r != NULL && AESOP_RESOLVER_set_constraints(r, cases[i].constraints));
        CHECK(AESOP_RESOLVER_security_callback(NULL, ctx, SSL_SECOP_CA_MD, 256, NID_undef, certificate, r) ==
                  cases[i].permitted,
              "%s, %s, \"%s\"", cases[i].padding == RSA_PKCS1_PADDING ? "PKCS#1" : "PSS",
              cases[i].sha1 ? "SHA-1" : "SHA-256", cases[i].constraints);
        X509_free(certificate);
        AESOP_RESOLVER_free(r);
    }
    EVP_PKEY_free(key);
    SSL_CTX_free(ctx);
}

/* The same questions a second time are answered from memory. */
static void decisions_are_remembered(void)
{
    const struct tls_suite suite = { .name = "TLS_AES_128_GCM_SHA256" };
    const struct tls_settings settings = { .version = TLS1_3_VERSION, .suite = &suite, .etm = 1 };
    SSL_CTX *client = tls_context(lib, &settings, NULL), *server = tls_context(lib, &settings, &identity);
    AESOP_RESOLVER *r = AESOP_RESOLVER_new(lib, 0, 0, 0);
    AESOP_RESOLVER_STATS stats;
    uint64_t evaluations = 0;

    CU_ASSERT_TRUE_FATAL(client != NULL && server != NULL && r != NULL);
    CU_ASSERT_TRUE(AESOP_RESOLVER_set_constraints(r, "RC4, MD5withRSA"));
    constrain(client, r);
    constrain(server, r);
    for (int i = 0; i < 3; i++) {
        struct tls_pair pair;

        CU_ASSERT_TRUE(tls_pair_open(&pair, client, server, NULL));
        tls_pair_close(&pair);
        AESOP_RESOLVER_get_stats(r, &stats);
        CHECK(stats.evaluations > 10 && (i == 0 || stats.evaluations == evaluations), "handshake %d: %d evaluations", i,
              (int)stats.evaluations);
        evaluations = stats.evaluations;
    }
    SSL_CTX_free(client);
    SSL_CTX_free(server);
    AESOP_RESOLVER_free(r);
}

int main(int argc, char **argv)
{
    support_init(argc, argv);
    CU_pSuite suite = CU_add_suite("policy", prepare, clean_up);
    CU_ADD_TEST(suite, handshakes);
    CU_ADD_TEST(suite, levels);
    CU_ADD_TEST(suite, never_weaker);
    CU_ADD_TEST(suite, every_code);
    CU_ADD_TEST(suite, curves_of_certificates);
    CU_ADD_TEST(suite, signatures_of_certificates);
    CU_ADD_TEST(suite, decisions_are_remembered);
    return support_run();
}
