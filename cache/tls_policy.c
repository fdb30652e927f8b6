/* SPDX-License-Identifier: Apache-2.0 */
/* Constraints on a TLS handshake, through OpenSSL's security callback. */
#include "cache/resolver.h"

#include <stdio.h>
#include <string.h>

#include <openssl/x509.h>
#include <openssl/x509v3.h>

/* ---- what the numbers of the protocol are called ---- */

struct group {
    unsigned id;
    const char *name, *key; /* the name under which its size is constrained */
    unsigned key_bits;
};

/* IANA's "TLS Supported Groups"; those that OpenSSL can negotiate. */
static const struct group groups[] = {
    { 19, "secp192r1", "EC", 192 },
    { 20, "secp224k1", "EC", 224 },
    { 21, "secp224r1", "EC", 224 },
    { 22, "secp256k1", "EC", 256 },
    { 23, "secp256r1", "EC", 256 },
    { 24, "secp384r1", "EC", 384 },
    { 25, "secp521r1", "EC", 521 },
    { 26, "brainpoolP256r1", "EC", 256 },
    { 27, "brainpoolP384r1", "EC", 384 },
    { 28, "brainpoolP512r1", "EC", 512 },
    { 29, "X25519", "XDH", 255 },
    { 30, "X448", "XDH", 448 },
    { 31, "brainpoolP256r1tls13", "EC", 256 },
    { 32, "brainpoolP384r1tls13", "EC", 384 },
    { 33, "brainpoolP512r1tls13", "EC", 512 },
    { 41, "curveSM2", "EC", 256 },
    { 256, "ffdhe2048", "DH", 2048 },
    { 257, "ffdhe3072", "DH", 3072 },
    { 258, "ffdhe4096", "DH", 4096 },
    { 259, "ffdhe6144", "DH", 6144 },
    { 260, "ffdhe8192", "DH", 8192 },
    { 512, "MLKEM512", "ML-KEM", 512 },
    { 513, "MLKEM768", "ML-KEM", 768 },
    { 514, "MLKEM1024", "ML-KEM", 1024 },
    { 4587, "SecP256r1MLKEM768", "ML-KEM", 768 },
    { 4588, "X25519MLKEM768", "ML-KEM", 768 },
    { 4589, "SecP384r1MLKEM1024", "ML-KEM", 1024 },
    { 4590, "curveSM2MLKEM768", "ML-KEM", 768 },
};

struct number_name {
    unsigned number;
    const char *name;
};

/* IANA's "TLS SignatureScheme"; the names split into digest and key as constraints do. */
static const struct number_name signature_algorithms[] = {
    { 0x0101, "rsa_pkcs1_md5" },
    { 0x0201, "rsa_pkcs1_sha1" },
    { 0x0202, "dsa_sha1" },
    { 0x0203, "ecdsa_sha1" },
    { 0x0301, "rsa_pkcs1_sha224" },
    { 0x0302, "dsa_sha224" },
    { 0x0303, "ecdsa_sha224" },
    { 0x0401, "rsa_pkcs1_sha256" },
    { 0x0402, "dsa_sha256" },
    { 0x0403, "ecdsa_secp256r1_sha256" },
    { 0x0501, "rsa_pkcs1_sha384" },
    { 0x0502, "dsa_sha384" },
    { 0x0503, "ecdsa_secp384r1_sha384" },
    { 0x0601, "rsa_pkcs1_sha512" },
    { 0x0602, "dsa_sha512" },
    { 0x0603, "ecdsa_secp521r1_sha512" },
    { 0x0804, "rsa_pss_rsae_sha256" },
    { 0x0805, "rsa_pss_rsae_sha384" },
    { 0x0806, "rsa_pss_rsae_sha512" },
    { 0x0807, "ed25519" },
    { 0x0808, "ed448" },
    { 0x0809, "rsa_pss_pss_sha256" },
    { 0x080a, "rsa_pss_pss_sha384" },
    { 0x080b, "rsa_pss_pss_sha512" },
    { 0x081a, "ecdsa_brainpoolP256r1tls13_sha256" },
    { 0x081b, "ecdsa_brainpoolP384r1tls13_sha384" },
    { 0x081c, "ecdsa_brainpoolP512r1tls13_sha512" },
    { 0x0904, "mldsa44" },
    { 0x0905, "mldsa65" },
    { 0x0906, "mldsa87" },
};

static const struct number_name versions[] = {
    { SSL3_VERSION, "SSLv3" },       { TLS1_VERSION, "TLSv1" },     { TLS1_1_VERSION, "TLSv1.1" },
    { TLS1_2_VERSION, "TLSv1.2" },   { TLS1_3_VERSION, "TLSv1.3" }, { DTLS1_VERSION, "DTLSv1.0" },
    { DTLS1_2_VERSION, "DTLSv1.2" },
};

static const char *name_of(const struct number_name *table, size_t count, unsigned number)
{
    for (size_t i = 0; i < count; i++)
        if (table[i].number == number)
            return table[i].name;
    return NULL;
}

#define NAME_OF(table, number) name_of(table, sizeof table / sizeof table[0], number)

/* ---- questions ---- */

struct handshake {
    AESOP_RESOLVER *resolver;
    struct aesop_policy *policy;
    const SSL *ssl; /* NULL while an SSL_CTX is being set up */
    unsigned usage;
};

static int permits(const struct handshake *h, const char *name, unsigned key_bits, unsigned tag_bits)
{
    return name == NULL || AESOP_RESOLVER_permits(h->resolver, h->usage, name, key_bits, tag_bits, 0);
}

static int permits_suite(const struct handshake *h, const SSL_CIPHER *suite)
{
    const char *name = SSL_CIPHER_standard_name(suite);
    const unsigned tag_bits = !SSL_CIPHER_is_aead(suite) ? 0 : strstr(name, "CCM_8") != NULL ? 64 : 128;

    return permits(h, name, 0, tag_bits);
}

/* By its own name (X25519), and by the size of keys of its kind (EC keySize < 256). */
static int permits_group(const struct handshake *h, unsigned code, int nid)
{
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        if (groups[i].id == code)
            return permits(h, groups[i].name, 0, 0) && permits(h, groups[i].key, groups[i].key_bits, 0);
    /* One of a provider's own; its name can be had from a connection only. */
    if (h->ssl != NULL)
        return permits(h, SSL_group_to_name((SSL *)h->ssl, (int)code), 0, 0);
    return nid == NID_undef || permits(h, OBJ_nid2sn(nid), 0, 0);
}

/* Numbers are at hand; a look at names, for keys that have none, takes longer. */
static int is_ec(const EVP_PKEY *key)
{
    const int id = EVP_PKEY_get_id(key);

    return id == EVP_PKEY_EC || (id <= 0 && EVP_PKEY_is_a(key, "EC"));
}

/* The curve as a certificate names it. NULL where it does not: to ask the key takes ten times as long. */
static const char *named_curve(X509 *certificate)
{
    X509_ALGOR *algorithm;
    const void *curve;
    int type, nid = NID_undef;

    if (X509_PUBKEY_get0_param(NULL, NULL, NULL, &algorithm, X509_get_X509_PUBKEY(certificate))) {
        X509_ALGOR_get0(NULL, &type, &curve, algorithm);
        nid = type == V_ASN1_OBJECT ? OBJ_obj2nid(curve) : NID_undef;
    }
    return nid != NID_undef ? OBJ_nid2sn(nid) : NULL;
}

/* "RSA", "EC", "ED25519" ... with its size, and the curve of an EC key. The certificate is the key's, or NULL. */
static int permits_key(const struct handshake *h, const EVP_PKEY *key, X509 *certificate)
{
    const char *curve = NULL;
    char group[64];

    if (key == NULL)
        return 1;
    if (!permits(h, EVP_PKEY_get0_type_name(key), (unsigned)EVP_PKEY_get_bits(key), 0))
        return 0;
    if (!is_ec(key))
        return 1;
    if (certificate != NULL)
        curve = named_curve(certificate);
    if (curve == NULL && EVP_PKEY_get_group_name(key, group, sizeof group, NULL))
        curve = group;
    return permits(h, curve, 0, 0);
}

/*
 * The signature on a certificate; who signs himself is not believed for that. An RSA-PSS one has its digest among its
 * parameters: it goes by a name like those of signature algorithms.
 */
static int permits_signature(const struct handshake *h, X509 *certificate)
{
    const int nid = X509_get_signature_nid(certificate);
    char pss[64];
    int digest;

    if ((X509_get_extension_flags(certificate) & EXFLAG_SS) != 0)
        return 1;
    if (nid != NID_rsassaPss || !X509_get_signature_info(certificate, &digest, NULL, NULL, NULL))
        return permits(h, OBJ_nid2ln(nid), 0, 0);
    snprintf(pss, sizeof pss, "rsa_pss_%s", OBJ_nid2sn(digest));
    return permits(h, pss, 0, 0);
}

/* For a certificate the use is that of the end that presents it: the peer of a server is a client. */
static struct handshake certificate_use(const struct handshake *h, int of_peer)
{
    struct handshake use = { h->resolver, h->policy, h->ssl, AESOP_USAGE_CERTIFICATE_SIGNATURE };

    if (h->ssl != NULL)
        use.usage |= SSL_is_server(h->ssl) != of_peer ? AESOP_USAGE_TLS_SERVER : AESOP_USAGE_TLS_CLIENT;
    return use;
}

static int permits_certificate(const struct handshake *h, int operation, X509 *certificate)
{
    const struct handshake use = certificate_use(h, (operation & SSL_SECOP_PEER) != 0);

    if ((operation & ~SSL_SECOP_PEER) == SSL_SECOP_CA_MD)
        return permits_signature(&use, certificate);
    return permits_key(&use, X509_get0_pubkey(certificate), certificate);
}

/*
 * OpenSSL asks about its own certificates, but compares a peer's with the level alone. So they are gone through when
 * the peer's signature is checked, which comes after them; those that sign themselves are trusted or not for other
 * reasons.
 */
static int permits_peer(const struct handshake *h)
{
    const struct handshake use = certificate_use(h, 1);
    X509 *leaf = h->ssl != NULL ? SSL_get0_peer_certificate(h->ssl) : NULL;
    const STACK_OF(X509) *chain = leaf != NULL ? SSL_get_peer_cert_chain(h->ssl) : NULL;

    if (leaf != NULL && !(permits_key(&use, X509_get0_pubkey(leaf), leaf) && permits_signature(&use, leaf)))
        return 0;
    for (int i = 0; chain != NULL && i < sk_X509_num(chain); i++) {
        X509 *certificate = sk_X509_value(chain, i);

        if (certificate != leaf && (X509_get_extension_flags(certificate) & EXFLAG_SS) == 0 &&
            !(permits_key(&use, X509_get0_pubkey(certificate), certificate) && permits_signature(&use, certificate)))
            return 0;
    }
    return 1;
}

/* ---- decisions about code points ----
 *
 * A handshake puts dozens of questions about code points, and as a rule the answer is in one word: which of sixteen
 * codes in a row are permitted, which are forbidden (neither: not known), and above that the word's owner: era, use,
 * subject and what the codes have in common. It is compared and replaced as a whole, so that readers need nothing else;
 * of two decisions that are added at once one may be lost, and is made again.
 */

/* What libssl asks about. The first four have codes. */
enum subject { SUITE, GROUP, SIGNATURE_ALGORITHM, VERSION, KEY, CERTIFICATE, NOTHING };

static unsigned code_of(const void *other)
{
    const unsigned char *bytes = other;

    return (unsigned)bytes[0] << 8 | bytes[1];
}

/* The code is set apart from a suite's, which takes a call. */
static inline enum subject subject_of(unsigned *code, int operation, int nid, const void *other)
{
    const int type = operation & (int)SSL_SECOP_OTHER_TYPE;

    if (type == SSL_SECOP_OTHER_SIGALG || type == SSL_SECOP_OTHER_CURVE) {
        if (other == NULL)
            return NOTHING; /* which kinds of key make sense at all */
        *code = code_of(other);
        return type == SSL_SECOP_OTHER_CURVE ? GROUP : SIGNATURE_ALGORITHM;
    }
    if (operation == SSL_SECOP_VERSION) {
        *code = (unsigned)nid & 0xffff;
        return VERSION;
    }
    return type == SSL_SECOP_OTHER_CIPHER ? SUITE
           : type == SSL_SECOP_OTHER_PKEY ? KEY
           : type == SSL_SECOP_OTHER_CERT ? CERTIFICATE
                                          : NOTHING;
}

/* A word's upper half. */
static inline uint32_t code_owner(unsigned era, unsigned usage, enum subject subject, unsigned code)
{
    return ((era << 5 | usage) << 2 | subject) << 12 | code >> 4;
}

/* Two neighbours, in one cache line, so that two words that are used all the time do not drive each other out. */
static inline size_t code_place(uint32_t owner)
{
    return (owner * UINT32_C(0x9e3779b9) >> 16) % AESOP_POLICY_WORDS & ~(size_t)1;
}

/* The word that has the owner's decisions, or 0. */
static inline uint64_t code_word(const struct aesop_policy *policy, uint32_t owner)
{
    const _Atomic uint64_t *place = &policy->words[code_place(owner)];
    uint64_t word = atomic_load_explicit(place, memory_order_relaxed);

    if (word >> 32 != owner)
        word = atomic_load_explicit(place + 1, memory_order_relaxed);
    return word >> 32 == owner ? word : 0;
}

static inline int is_permitted(uint64_t word, unsigned code)
{
    return (word >> code % 16 & 1) != 0;
}

static inline int is_forbidden(uint64_t word, unsigned code)
{
    return (word >> (code % 16 + 16) & 1) != 0;
}

/*
 * A suite's code takes a call, so those that are permitted, whoever asks and whenever, are known by their address too:
 * libssl's tables do not move. The lowest bit makes none of them be where there is none.
 */
static inline size_t suite_place(const void *suite)
{
    return (size_t)((uintptr_t)suite * UINT64_C(0x9e3779b97f4a7c15) >> 32) % AESOP_POLICY_SUITES;
}

static inline int is_permitted_suite(const struct aesop_policy *policy, const void *suite)
{
    return atomic_load_explicit(&policy->suites[suite_place(suite)], memory_order_relaxed) == ((uintptr_t)suite | 1);
}

static void code_remember(struct aesop_policy *policy, uint32_t owner, unsigned code, int permitted)
{
    _Atomic uint64_t *place = &policy->words[code_place(owner)];
    uint64_t word = atomic_load_explicit(place, memory_order_relaxed);

    if (word != 0 && word >> 32 != owner)
        word = atomic_load_explicit(++place, memory_order_relaxed);
    if (word >> 32 != owner)
        word = (uint64_t)owner << 32;
    atomic_store_explicit(place, word | UINT64_C(1) << (code % 16 + (permitted ? 0 : 16)), memory_order_relaxed);
}

static int permits_code(const struct handshake *h, enum subject subject, unsigned code, int nid, void *other)
{
    time_t now = 0;
    const uint32_t owner = code_owner(aesop_policy_era(h->policy, &now), h->usage, subject, code);
    const uint64_t word = h->policy->remembers ? code_word(h->policy, owner) : 0;
    int permitted;

    if (is_permitted(word, code) && subject == SUITE)
        atomic_store_explicit(&h->policy->suites[suite_place(other)], (uintptr_t)other | 1, memory_order_relaxed);
    if (is_permitted(word, code) || is_forbidden(word, code))
        return is_permitted(word, code);
    permitted = subject == SUITE                 ? permits_suite(h, other)
                : subject == GROUP               ? permits_group(h, code, nid)
                : subject == SIGNATURE_ALGORITHM ? permits(h, NAME_OF(signature_algorithms, code), 0, 0)
                                                 : permits(h, NAME_OF(versions, code), 0, 0);
    if (h->policy->remembers)
        code_remember(h->policy, owner, code, permitted);
    return permitted;
}

/*
 * Before it knows what the peer offers, libssl asks about the highest version it has, TLS 1.3, even where that is not
 * enabled; the question is put again when versions are chosen.
 */
static int permits_version(const struct handshake *h, unsigned version)
{
    return permits_code(h, VERSION, version, NID_undef, NULL) ||
           (version == TLS1_3_VERSION && h->ssl != NULL && SSL_in_before(h->ssl));
}

static int permits_operation(struct handshake *h, int operation, int nid, void *other)
{
    unsigned code = 0;

    switch (subject_of(&code, operation, nid, other)) {
    case SUITE:
        return permits_code(h, SUITE, SSL_CIPHER_get_protocol_id(other), nid, other);
    case GROUP:
        return permits_code(h, GROUP, code, nid, other);
    case SIGNATURE_ALGORITHM:
        h->usage |= AESOP_USAGE_HANDSHAKE_SIGNATURE;
        return permits_code(h, SIGNATURE_ALGORITHM, code, nid, other) &&
               (operation != SSL_SECOP_SIGALG_CHECK || permits_peer(h));
    case VERSION:
        return permits_version(h, code);
    case KEY:
        return permits_key(h, other, NULL);
    case CERTIFICATE:
        return permits_certificate(h, operation, other);
    default:
        return 1;
    }
}

/* ---- OpenSSL's own check ---- */

/* Not exported, but what every new SSL_CTX begins with. */
static aesop_security_fn *level_check(AESOP_RESOLVER *r)
{
    aesop_security_fn *check = atomic_load_explicit(&r->level_check, memory_order_acquire);

    if (check == NULL) {
        SSL_CTX *ctx = SSL_CTX_new_ex(r->libctx, NULL, TLS_method());

        if (ctx == NULL)
            return NULL;
        check = SSL_CTX_get_security_callback(ctx);
        SSL_CTX_free(ctx);
        atomic_store_explicit(&r->level_check, check, memory_order_release);
    }
    return check;
}

/* Whether a question that is put again and again has been answered with yes, in a policy without times and uses. */
static inline int known_as_permitted(const struct aesop_policy *policy, int operation, int nid, const void *other)
{
    unsigned code = 0;
    const enum subject subject = subject_of(&code, operation, nid, other);
    const unsigned usage = subject == SIGNATURE_ALGORITHM ? AESOP_USAGE_HANDSHAKE_SIGNATURE : 0;

    if (subject == SUITE)
        return is_permitted_suite(policy, other);
    if (subject > VERSION || operation == SSL_SECOP_SIGALG_CHECK)
        return subject == NOTHING;
    return is_permitted(code_word(policy, code_owner(0, usage, subject, code)), code);
}

static __attribute__((noinline)) int decide(const SSL *ssl, const SSL_CTX *ctx, int operation, int bits, int nid,
                                            void *other, AESOP_RESOLVER *r)
{
    struct handshake h = { r, atomic_load_explicit(&r->policy, memory_order_acquire), ssl, 0 };
    aesop_security_fn *check = level_check(r);

    /* Without OpenSSL's check nothing is permitted, rather than more than it would permit. */
    if (check == NULL || !check(ssl, ctx, operation, bits, nid, other, NULL))
        return 0;
    if (h.policy == NULL)
        return 1;
    if (ssl != NULL && h.policy->has_usages)
        h.usage = SSL_is_server(ssl) ? AESOP_USAGE_TLS_SERVER : AESOP_USAGE_TLS_CLIENT;
    return permits_operation(&h, operation, nid, other);
}

/* What the constraints permit is OpenSSL's to decide: then the call becomes its own, as if we were not there. */
int AESOP_RESOLVER_security_callback(const SSL *ssl, const SSL_CTX *ctx, int operation, int bits, int nid, void *other,
                                     void *resolver)
{
    AESOP_RESOLVER *r = resolver;
    const struct aesop_policy *policy = atomic_load_explicit(&r->policy, memory_order_acquire);
    aesop_security_fn *check = atomic_load_explicit(&r->level_check, memory_order_acquire);

    if (policy != NULL && check != NULL && policy->remembers && !policy->has_usages && !policy->has_days &&
        known_as_permitted(policy, operation, nid, other))
        return check(ssl, ctx, operation, bits, nid, other, NULL);
    return decide(ssl, ctx, operation, bits, nid, other, r);
}
