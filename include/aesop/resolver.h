/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A resolver answers two questions from memory: which implementation serves an algorithm in a library context, and is
 * the algorithm permitted.
 *
 * All functions may be called from any number of threads at once, apart from AESOP_RESOLVER_free. Answers that are
 * known are found without a lock and without a write to memory that threads share. As with OpenSSL's own fetches, a
 * child that is forked while other threads ask what is not known yet may wait for ever when it asks such a thing.
 *
 * Functions that return int return 1, or 0 with an error raised, unless their comment says otherwise. Errors belong to
 * the library "aesop resolver".
 *
 * OpenSSL goes on having to do with this code when the last resolver is gone. libaesop.so therefore stays in memory; a
 * module that has libaesop.a inside and may be unloaded is to be linked with -Wl,-z,nodelete.
 */
#ifndef AESOP_RESOLVER_H
#define AESOP_RESOLVER_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <openssl/evp.h>
#include <openssl/ssl.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef AESOP_EXPORT
#define AESOP_EXPORT __attribute__((visibility("default")))
#endif

typedef struct aesop_resolver_st AESOP_RESOLVER;

/* ---- life ---- */

/*
 * The provider "aesop-watch", which has no algorithms, is not loaded into the library context. Then nothing but
 * AESOP_RESOLVER_flush tells the resolver that providers or default properties have changed. Right where only
 * constraints are asked about: a provider more costs what goes through all of them, such as SSL_CTX_new, 1 to 2 %.
 */
#define AESOP_RESOLVER_NO_WATCH 1u

/*
 * A resolver for a library context (NULL: the default one), which has to outlive it.
 *
 * `entries` bounds how many answers of either question are remembered (0: 1024) and `bytes` the memory that they
 * take, for both questions together (0: no bound but entries); it is allocated here, at once. Where memory is full,
 * the answer that was not asked for longest, roughly, makes room. Fails where bytes hold no entry at all, and where
 * `flags` has a bit that is not described here.
 *
 * Loading a provider, here "aesop-watch", keeps the implicit default provider, but it makes OpenSSL sort its providers
 * by name: between two that offer the same at equal property score, the first by name then serves. Any other call
 * of OSSL_PROVIDER_load does the same.
 */
AESOP_EXPORT AESOP_RESOLVER *AESOP_RESOLVER_new(OSSL_LIB_CTX *libctx, size_t entries, size_t bytes, unsigned flags);
/* NULL is ignored. Nobody may use the resolver or what get0 functions returned afterwards. */
AESOP_EXPORT void AESOP_RESOLVER_free(AESOP_RESOLVER *resolver);

/* ---- which implementation serves ----
 *
 * The same answer as EVP_..._fetch(libctx, algorithm, properties): any of the algorithm's names and OIDs, in any case;
 * properties in any order and spacing, or NULL. Names and properties of more than 88 bytes together are answered
 * by OpenSSL each time.
 *
 * NULL means that there is none; that too is remembered, and no error is raised.
 *
 * get0: the caller must not free the answer, which stays valid as long as the resolver: the resolver keeps one
 * reference to every method that it ever handed out, even when its provider has been unloaded meanwhile.
 *
 * get1: the caller has a reference of its own and frees it as after a fetch.
 */
AESOP_EXPORT EVP_CIPHER *AESOP_RESOLVER_get0_cipher(AESOP_RESOLVER *resolver, const char *algorithm,
                                                    const char *properties);
AESOP_EXPORT EVP_CIPHER *AESOP_RESOLVER_get1_cipher(AESOP_RESOLVER *resolver, const char *algorithm,
                                                    const char *properties);
AESOP_EXPORT EVP_MD *AESOP_RESOLVER_get0_digest(AESOP_RESOLVER *resolver, const char *algorithm,
                                                const char *properties);
AESOP_EXPORT EVP_MD *AESOP_RESOLVER_get1_digest(AESOP_RESOLVER *resolver, const char *algorithm,
                                                const char *properties);
AESOP_EXPORT EVP_MAC *AESOP_RESOLVER_get0_mac(AESOP_RESOLVER *resolver, const char *algorithm, const char *properties);
AESOP_EXPORT EVP_MAC *AESOP_RESOLVER_get1_mac(AESOP_RESOLVER *resolver, const char *algorithm, const char *properties);
AESOP_EXPORT EVP_KDF *AESOP_RESOLVER_get0_kdf(AESOP_RESOLVER *resolver, const char *algorithm, const char *properties);
AESOP_EXPORT EVP_KDF *AESOP_RESOLVER_get1_kdf(AESOP_RESOLVER *resolver, const char *algorithm, const char *properties);
AESOP_EXPORT EVP_RAND *AESOP_RESOLVER_get0_rand(AESOP_RESOLVER *resolver, const char *algorithm,
                                                const char *properties);
AESOP_EXPORT EVP_RAND *AESOP_RESOLVER_get1_rand(AESOP_RESOLVER *resolver, const char *algorithm,
                                                const char *properties);
AESOP_EXPORT EVP_SIGNATURE *AESOP_RESOLVER_get0_signature(AESOP_RESOLVER *resolver, const char *algorithm,
                                                          const char *properties);
AESOP_EXPORT EVP_SIGNATURE *AESOP_RESOLVER_get1_signature(AESOP_RESOLVER *resolver, const char *algorithm,
                                                          const char *properties);
AESOP_EXPORT EVP_KEYEXCH *AESOP_RESOLVER_get0_keyexch(AESOP_RESOLVER *resolver, const char *algorithm,
                                                      const char *properties);
AESOP_EXPORT EVP_KEYEXCH *AESOP_RESOLVER_get1_keyexch(AESOP_RESOLVER *resolver, const char *algorithm,
                                                      const char *properties);
AESOP_EXPORT EVP_KEM *AESOP_RESOLVER_get0_kem(AESOP_RESOLVER *resolver, const char *algorithm, const char *properties);
AESOP_EXPORT EVP_KEM *AESOP_RESOLVER_get1_kem(AESOP_RESOLVER *resolver, const char *algorithm, const char *properties);
AESOP_EXPORT EVP_KEYMGMT *AESOP_RESOLVER_get0_keymgmt(AESOP_RESOLVER *resolver, const char *algorithm,
                                                      const char *properties);
AESOP_EXPORT EVP_KEYMGMT *AESOP_RESOLVER_get1_keymgmt(AESOP_RESOLVER *resolver, const char *algorithm,
                                                      const char *properties);

/* ---- truth ---- */

/*
 * Forgets all answers about implementations. Without AESOP_RESOLVER_NO_WATCH this happens by itself when a provider
 * of the library context is loaded or unloaded, and when its default properties change.
 */
AESOP_EXPORT void AESOP_RESOLVER_flush(AESOP_RESOLVER *resolver);
/* Grows with each such event, for whoever remembers something that hangs on it. */
AESOP_EXPORT uint64_t AESOP_RESOLVER_generation(const AESOP_RESOLVER *resolver);

typedef struct aesop_resolver_stats_st {
    size_t capacity;      /* entries, per question */
    size_t bytes;         /* allocated for them, both questions together */
    size_t answers;       /* implementations remembered now, absent ones included */
    size_t decisions;     /* remembered now */
    size_t methods;       /* distinct ones that the resolver has a reference to */
    uint64_t fetches;     /* questions that OpenSSL was asked */
    uint64_t evaluations; /* questions for which the constraints were gone through */
    uint64_t evictions;   /* of answers and decisions that were still true */
} AESOP_RESOLVER_STATS;

/* What other threads do meanwhile may be in some of the numbers and not in others. */
AESOP_EXPORT void AESOP_RESOLVER_get_stats(AESOP_RESOLVER *resolver, AESOP_RESOLVER_STATS *stats);

/* ---- is it permitted ----
 *
 * Constraints are a list in the grammar of Java's jdk.tls.disabledAlgorithms; aesop_resolver(3) describes it:
 *   "SSLv3, TLSv1, RC4, DES, 3DES, anon, NULL, RSA keySize < 2048, CBC, AES keySize < 256, SHA1 denyAfter 2025-01-01,
 *    SHA1withRSA usage TLSServer & denyAfter 2024-01-01, GCM tagSize < 128"
 */

/* What an algorithm is used for. Entries with "usage" forbid only these uses. */
#define AESOP_USAGE_TLS_SERVER 1u
#define AESOP_USAGE_TLS_CLIENT 2u
#define AESOP_USAGE_SIGNED_JAR 4u
#define AESOP_USAGE_CERTIFICATE_SIGNATURE 8u
#define AESOP_USAGE_HANDSHAKE_SIGNATURE 16u

/*
 * From now on these constraints hold; NULL: none, as in the beginning. Where the list has an error, the constraints
 * from before go on holding, and the error raised says at which byte of the list what was expected. Lists, and
 * 4 KiB for decisions on each, are kept until the resolver is freed, since another thread may be reading one.
 */
AESOP_EXPORT int AESOP_RESOLVER_set_constraints(AESOP_RESOLVER *resolver, const char *list);

/*
 * Returns 1: permitted, or 0: forbidden, and raises no error.
 *
 * algorithm: a cipher, digest, key type, group, signature, TLS suite or TLS version ("TLSv1.2"); usage: bits of
 * AESOP_USAGE_..., or 0; key_bits: of the key, tag_bits: of the authentication tag, 0 where there is none or it is
 * not known; when: the moment of use, 0 for now.
 */
AESOP_EXPORT int AESOP_RESOLVER_permits(AESOP_RESOLVER *resolver, unsigned usage, const char *algorithm,
                                        unsigned key_bits, unsigned tag_bits, time_t when);
/* The entry of the list that forbids, valid as long as the resolver, or NULL where it is permitted. */
AESOP_EXPORT const char *AESOP_RESOLVER_forbidden_by(AESOP_RESOLVER *resolver, unsigned usage, const char *algorithm,
                                                     unsigned key_bits, unsigned tag_bits, time_t when);

/*
 * The constraints for TLS and DTLS; both calls come before any other that uses ctx:
 *   SSL_CTX_set_security_callback(ctx, AESOP_RESOLVER_security_callback);
 *   SSL_CTX_set0_security_ex_data(ctx, resolver);
 * They then rule protocol versions, suites, groups, signature algorithms and the keys and signatures of certificates.
 * What OpenSSL's own security level forbids stays forbidden. The resolver has to outlive ctx and its connections.
 *
 * Returns 1: permitted, or 0: forbidden, and raises no error; OpenSSL says then what could not be agreed upon.
 */
AESOP_EXPORT int AESOP_RESOLVER_security_callback(const SSL *ssl, const SSL_CTX *ctx, int operation, int bits, int nid,
                                                  void *other, void *resolver);

#ifdef __cplusplus
}
#endif

#endif
