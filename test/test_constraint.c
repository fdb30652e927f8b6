/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of constraints, what a list forbids and what it does not, and where a list is refused. */
#include "check.h"
#include "support.h"

#include <ctype.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cache/constraint.h"

#define SERVER AESOP_CONSTRAINT_TLS_SERVER
#define CLIENT AESOP_CONSTRAINT_TLS_CLIENT
#define JAR AESOP_CONSTRAINT_SIGNED_JAR
#define CERTIFICATE AESOP_CONSTRAINT_CERTIFICATE_SIGNATURE
#define HANDSHAKE AESOP_CONSTRAINT_HANDSHAKE_SIGNATURE

/* The list of a Java release, as it is shipped (its 'include' line and wildcard left out where so noted). */
#define JAVA_TLS \
    "SSLv3, TLSv1, TLSv1.1, DTLSv1.0, RC4, DES, MD5withRSA, DH keySize < 1024, EC keySize < 224, 3DES_EDE_CBC, anon, " \
    "NULL, ECDH, TLS_RSA_*"
#define JAVA_PATH \
    "MD2, MD5, SHA1 usage TLSServer & denyAfter 2019-01-01, RSA keySize < 1024, DSA keySize < 1024, EC keySize < " \
    "224, " \
    "SHA1 usage SignedJAR & denyAfter 2019-01-01"

enum { PERMITTED, FORBIDDEN };

/* Moments, seconds since 1970 as `date -u` says */
#define DAY_2018_12_31_LAST 1546300799 /* 23:59:59 */
#define DAY_2019_01_01 1546300800
#define DAY_2024_02_29 1709164800
#define DAY_2030_06_15 1907712000

static const struct verdict {
    const char *list, *algorithm;
    unsigned key_bits, tag_bits, usage;
    int64_t when;
    int forbidden;
} verdicts[] = {
    /* An empty list */
    { "", "RC4", 0, 0, 0, 0, PERMITTED },
    { "  ", "AES-128-CBC", 128, 0, 0, 0, PERMITTED },

    /* A whole name, in any case and with any separator */
    { "RC4", "RC4", 0, 0, 0, 0, FORBIDDEN },
    { "rc4", "RC4", 0, 0, 0, 0, FORBIDDEN },
    { "RC4", "rc4", 0, 0, 0, 0, FORBIDDEN },
    { " RC4 ", "RC4", 0, 0, 0, 0, FORBIDDEN },
    { "RC4", "RC2", 0, 0, 0, 0, PERMITTED },
    { "RC4", "RC4-40", 0, 0, 0, 0, FORBIDDEN },
    { "RC4", "RC4-HMAC-MD5", 0, 0, 0, 0, FORBIDDEN },
    { "ARCFOUR", "RC4", 0, 0, 0, 0, FORBIDDEN },
    { "AES-128-CBC", "AES-128-CBC", 0, 0, 0, 0, FORBIDDEN },
    { "AES-128-CBC", "aes-128-cbc", 0, 0, 0, 0, FORBIDDEN },
    { "AES_128_CBC", "AES-128-CBC", 0, 0, 0, 0, FORBIDDEN },
    { "AES/128/CBC", "AES-128-CBC", 0, 0, 0, 0, FORBIDDEN },
    { "AES-128-CBC", "AES-256-CBC", 0, 0, 0, 0, PERMITTED },
    { "AES-128-CBC", "AES-128-GCM", 0, 0, 0, 0, PERMITTED },

    /* A part of a name: whole elements only */
    { "AES", "AES-128-CBC", 0, 0, 0, 0, FORBIDDEN },
    { "AES", "AES-256-GCM", 0, 0, 0, 0, FORBIDDEN },
    { "AES", "id-aes128-GCM", 0, 0, 0, 0, FORBIDDEN },
    { "AES", "AES128", 0, 0, 0, 0, FORBIDDEN },
    { "AES", "CAMELLIA-128-CBC", 0, 0, 0, 0, PERMITTED },
    { "AE", "AES-128-CBC", 0, 0, 0, 0, PERMITTED },
    { "ES", "AES-128-CBC", 0, 0, 0, 0, PERMITTED },
    { "CBC", "AES-128-CBC", 0, 0, 0, 0, FORBIDDEN },
    { "CBC", "CAMELLIA-256-CBC", 0, 0, 0, 0, FORBIDDEN },
    { "CBC", "AES-128-GCM", 0, 0, 0, 0, PERMITTED },
    { "128", "AES-128-GCM", 0, 0, 0, 0, FORBIDDEN },
    { "128", "AES-256-GCM", 0, 0, 0, 0, PERMITTED },
    { "AES-CBC", "AES-128-CBC", 0, 0, 0, 0, PERMITTED }, /* does not stand in that row */
    { "128-CBC", "AES-128-CBC", 0, 0, 0, 0, FORBIDDEN },
    { "128-CBC", "CAMELLIA-128-CBC", 0, 0, 0, 0, FORBIDDEN },
    { "CBC-128", "AES-128-CBC", 0, 0, 0, 0, PERMITTED },
    { "GCM", "AES-192-GCM", 0, 0, 0, 0, FORBIDDEN },
    { "GCM", "id-aes192-GCM", 0, 0, 0, 0, FORBIDDEN },
    { "CCM", "AES-128-CCM", 0, 0, 0, 0, FORBIDDEN },
    { "XTS", "AES-128-XTS", 0, 0, 0, 0, FORBIDDEN },
    { "CHACHA20", "ChaCha20-Poly1305", 0, 0, 0, 0, FORBIDDEN },
    { "POLY1305", "ChaCha20-Poly1305", 0, 0, 0, 0, FORBIDDEN },

    /* DSA does not mean ECDSA, DES not 3DES, DH not ECDH, RSA not RSASSA */
    { "DSA", "DSA", 0, 0, 0, 0, FORBIDDEN },
    { "DSA", "ECDSA", 0, 0, 0, 0, PERMITTED },
    { "DSA", "SHA1withDSA", 0, 0, 0, 0, FORBIDDEN },
    { "DSA", "NONEwithDSA", 0, 0, 0, 0, FORBIDDEN },
    { "DSA", "SHA1withECDSA", 0, 0, 0, 0, PERMITTED },
    { "DSA", "dsa_with_SHA256", 0, 0, 0, 0, FORBIDDEN },
    { "ECDSA", "ecdsa-with-SHA256", 0, 0, 0, 0, FORBIDDEN },
    { "DES", "DES-CBC", 0, 0, 0, 0, FORBIDDEN },
    { "DES", "DES-EDE3-CBC", 0, 0, 0, 0, PERMITTED },
    { "DES", "DES-EDE-CBC", 0, 0, 0, 0, PERMITTED },
    { "DES", "DESede", 0, 0, 0, 0, PERMITTED },
    { "DES", "3DES", 0, 0, 0, 0, PERMITTED },
    { "DES", "DESX-CBC", 0, 0, 0, 0, PERMITTED },
    { "DH", "DH", 0, 0, 0, 0, FORBIDDEN },
    { "DH", "ECDH", 0, 0, 0, 0, PERMITTED },
    { "DH", "DiffieHellman", 0, 0, 0, 0, FORBIDDEN },
    { "DiffieHellman", "DH", 0, 0, 0, 0, FORBIDDEN },
    { "RSA", "RSASSA-PSS", 0, 0, 0, 0, PERMITTED },
    { "RSASSA-PSS", "RSASSA-PSS", 0, 0, 0, 0, FORBIDDEN },
    { "RSA", "RSA-PSS", 0, 0, 0, 0, FORBIDDEN },

    /* Triple DES by all its names */
    { "3DES", "DES-EDE3-CBC", 0, 0, 0, 0, FORBIDDEN },
    { "3DES", "des-ede3", 0, 0, 0, 0, FORBIDDEN },
    { "3DES", "DES3", 0, 0, 0, 0, FORBIDDEN },
    { "3DES", "DESede", 0, 0, 0, 0, FORBIDDEN },
    { "3DES", "DES-CBC3-SHA", 0, 0, 0, 0, FORBIDDEN },
    { "3DES", "TripleDES", 0, 0, 0, 0, FORBIDDEN },
    { "3DES", "TLS_RSA_WITH_3DES_EDE_CBC_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "3DES_EDE_CBC", "TLS_RSA_WITH_3DES_EDE_CBC_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "3DES_EDE_CBC", "DES-EDE3-CBC", 0, 0, 0, 0, FORBIDDEN },
    { "3DES_EDE_CBC", "DES-EDE3-ECB", 0, 0, 0, 0, PERMITTED },
    { "DESede", "DES-EDE3-CBC", 0, 0, 0, 0, FORBIDDEN },
    { "3DES", "DES-CBC", 0, 0, 0, 0, PERMITTED },

    /* Digests by all their names */
    { "SHA1", "SHA1", 0, 0, 0, 0, FORBIDDEN },
    { "SHA1", "SHA-1", 0, 0, 0, 0, FORBIDDEN },
    { "SHA-1", "SHA1", 0, 0, 0, 0, FORBIDDEN },
    { "SHA", "SHA1", 0, 0, 0, 0, FORBIDDEN },
    { "SHA", "SHA-1", 0, 0, 0, 0, FORBIDDEN },
    { "SHA1", "SHA", 0, 0, 0, 0, FORBIDDEN },
    { "SHA", "SHA256", 0, 0, 0, 0, PERMITTED },
    { "SHA1", "SHA2-256", 0, 0, 0, 0, PERMITTED },
    { "SHA256", "SHA2-256", 0, 0, 0, 0, FORBIDDEN },
    { "SHA-256", "SHA256", 0, 0, 0, 0, FORBIDDEN },
    { "SHA256", "SHA-256", 0, 0, 0, 0, FORBIDDEN },
    { "SHA-224", "SHA2-224", 0, 0, 0, 0, FORBIDDEN },
    { "SHA384", "SHA2-384", 0, 0, 0, 0, FORBIDDEN },
    { "SHA512", "SHA2-512", 0, 0, 0, 0, FORBIDDEN },
    { "SHA512", "SHA2-512/256", 0, 0, 0, 0, PERMITTED },
    { "SHA512", "SHA-512/256", 0, 0, 0, 0, PERMITTED },
    { "SHA-512/256", "SHA2-512/256", 0, 0, 0, 0, FORBIDDEN },
    { "SHA512/256", "SHA512-256", 0, 0, 0, 0, FORBIDDEN },
    { "SHA256", "SHA3-256", 0, 0, 0, 0, PERMITTED },
    { "SHA3", "SHA3-256", 0, 0, 0, 0, FORBIDDEN },
    { "SHA3-256", "SHA3-512", 0, 0, 0, 0, PERMITTED },
    { "MD5", "MD5", 0, 0, 0, 0, FORBIDDEN },
    { "MD5", "MD5-SHA1", 0, 0, 0, 0, FORBIDDEN },
    { "SHA1", "MD5-SHA1", 0, 0, 0, 0, FORBIDDEN },
    { "MD2", "MD5", 0, 0, 0, 0, PERMITTED },
    { "HmacSHA1", "HMAC-SHA1", 0, 0, 0, 0, FORBIDDEN },
    { "SHA1", "HmacSHA1", 0, 0, 0, 0, FORBIDDEN },
    { "HmacSHA256", "HmacSHA1", 0, 0, 0, 0, PERMITTED },
    { "HmacMD5", "HMAC-MD5", 0, 0, 0, 0, FORBIDDEN },

    /* Signatures: digest and key, in any order, but both */
    { "MD5withRSA", "MD5withRSA", 0, 0, 0, 0, FORBIDDEN },
    { "MD5withRSA", "RSA-MD5", 0, 0, 0, 0, FORBIDDEN },
    { "MD5withRSA", "md5WithRSAEncryption", 0, 0, 0, 0, FORBIDDEN },
    { "MD5withRSA", "SHA1withRSA", 0, 0, 0, 0, PERMITTED },
    { "MD5withRSA", "MD5", 0, 0, 0, 0, PERMITTED },
    { "MD5withRSA", "RSA", 0, 0, 0, 0, PERMITTED },
    { "MD5withRSA", "MD5withDSA", 0, 0, 0, 0, PERMITTED },
    { "SHA1withRSA", "rsa_pkcs1_sha1", 0, 0, 0, 0, FORBIDDEN },
    { "SHA1withRSA", "rsa_pkcs1_sha256", 0, 0, 0, 0, PERMITTED },
    { "SHA1withECDSA", "ecdsa_sha1", 0, 0, 0, 0, FORBIDDEN },
    { "SHA1withECDSA", "ecdsa-with-SHA1", 0, 0, 0, 0, FORBIDDEN },
    { "SHA256withECDSA", "ecdsa_secp256r1_sha256", 0, 0, 0, 0, FORBIDDEN },
    { "SHA1withRSA", "TLS_RSA_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, PERMITTED }, /* not one signature */
    { "MD5withRSA", "TLS_RSA_WITH_RC4_128_MD5", 0, 0, 0, 0, PERMITTED },
    { "MD5", "sha256WithRSAEncryption", 0, 0, 0, 0, PERMITTED },
    { "RSA", "sha256WithRSAEncryption", 0, 0, 0, 0, FORBIDDEN },
    { "SHA256", "sha256WithRSAEncryption", 0, 0, 0, 0, FORBIDDEN },
    { "MGF1", "SHA1withRSAandMGF1", 0, 0, 0, 0, FORBIDDEN },
    { "SHA1withRSA", "SHA1withRSAandMGF1", 0, 0, 0, 0, FORBIDDEN },
    { "rsa_pkcs1_sha1", "rsa_pkcs1_sha1", 0, 0, 0, 0, FORBIDDEN },
    { "rsa_pkcs1", "rsa_pkcs1_sha512", 0, 0, 0, 0, FORBIDDEN },
    { "rsa_pkcs1", "rsa_pss_rsae_sha512", 0, 0, 0, 0, PERMITTED },

    /* Parts of TLS suites */
    { "TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_RSA_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_RSA_WITH_AES_128_CBC_SHA256", 0, 0, 0, 0, PERMITTED },
    { "TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, PERMITTED },
    { "RSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "AES-128-CBC", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "AES_128_CBC", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", 0, 0, 0, 0, FORBIDDEN },
    { "AES_128_GCM", "TLS_AES_128_GCM_SHA256", 0, 0, 0, 0, FORBIDDEN },
    { "AES_128_GCM", "TLS_AES_256_GCM_SHA384", 0, 0, 0, 0, PERMITTED },
    { "CBC", "TLS_DHE_RSA_WITH_AES_256_CBC_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "CBC", "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384", 0, 0, 0, 0, PERMITTED },
    { "SHA1", "TLS_RSA_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "SHA1", "TLS_RSA_WITH_AES_128_CBC_SHA256", 0, 0, 0, 0, PERMITTED },
    { "SHA256", "TLS_RSA_WITH_AES_128_CBC_SHA256", 0, 0, 0, 0, FORBIDDEN },
    { "ECDHE", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", 0, 0, 0, 0, FORBIDDEN },
    { "ECDH", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", 0, 0, 0, 0, PERMITTED },
    { "ECDH", "TLS_ECDH_RSA_WITH_AES_128_GCM_SHA256", 0, 0, 0, 0, FORBIDDEN },
    { "ECDHE_RSA", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", 0, 0, 0, 0, FORBIDDEN },
    { "ECDHE_RSA", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", 0, 0, 0, 0, PERMITTED },
    { "RSA", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", 0, 0, 0, 0, FORBIDDEN },
    { "RSA", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", 0, 0, 0, 0, PERMITTED },
    { "RSA", "TLS_AES_128_GCM_SHA256", 0, 0, 0, 0, PERMITTED },
    { "anon", "TLS_DH_anon_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "anon", "TLS_ECDH_anon_WITH_NULL_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "DH_anon", "TLS_DH_anon_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "DH_anon", "TLS_ECDH_anon_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, PERMITTED },
    { "NULL", "TLS_RSA_WITH_NULL_SHA256", 0, 0, 0, 0, FORBIDDEN },
    { "NULL", "TLS_RSA_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, PERMITTED },
    { "RC4_128", "TLS_RSA_WITH_RC4_128_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "RC4_40", "TLS_RSA_WITH_RC4_128_SHA", 0, 0, 0, 0, PERMITTED },
    { "EXPORT", "TLS_RSA_EXPORT_WITH_RC4_40_MD5", 0, 0, 0, 0, FORBIDDEN },
    { "DHE_DSS", "TLS_DHE_DSS_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "DHE", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", 0, 0, 0, 0, PERMITTED },
    { "CCM_8", "TLS_RSA_WITH_AES_128_CCM_8", 0, 0, 0, 0, FORBIDDEN },
    { "CCM_8", "TLS_RSA_WITH_AES_128_CCM", 0, 0, 0, 0, PERMITTED },
    { "PSK", "TLS_DHE_PSK_WITH_AES_128_GCM_SHA256", 0, 0, 0, 0, FORBIDDEN },
    { "CAMELLIA", "TLS_RSA_WITH_CAMELLIA_128_CBC_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "CHACHA20", "TLS_CHACHA20_POLY1305_SHA256", 0, 0, 0, 0, FORBIDDEN },

    /* What suites imply, as in Java: DHE is DH, DSS keys are DSA's, digests are used in HMAC */
    { "DH", "TLS_DHE_RSA_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "DiffieHellman", "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", 0, 0, 0, 0, FORBIDDEN },
    { "DH", "DHE-RSA-AES128-GCM-SHA256", 0, 0, 0, 0, FORBIDDEN },
    { "DH", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, PERMITTED },
    { "DH_RSA", "TLS_DHE_RSA_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, PERMITTED },
    { "TLS_DH_*", "TLS_DHE_RSA_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, PERMITTED },
    { "DH keySize < 2048", "TLS_DHE_RSA_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, PERMITTED },
    { "DSA", "TLS_DHE_DSS_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "DSA", "TLS_DHE_RSA_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, PERMITTED },
    { "DES", "TLS_RSA_EXPORT_WITH_DES40_CBC_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "HmacSHA1", "TLS_RSA_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "HmacSHA1", "TLS_RSA_WITH_AES_128_CBC_SHA256", 0, 0, 0, 0, PERMITTED },
    { "HmacSHA256", "TLS_RSA_WITH_AES_128_CBC_SHA256", 0, 0, 0, 0, FORBIDDEN },
    { "HmacMD5", "TLS_RSA_WITH_RC4_128_MD5", 0, 0, 0, 0, FORBIDDEN },
    { "HmacSHA1", "SHA1", 0, 0, 0, 0, PERMITTED },
    { "SSL_RSA_WITH_3DES_EDE_CBC_SHA", "TLS_RSA_WITH_3DES_EDE_CBC_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "SSL_RSA_*", "TLS_RSA_WITH_3DES_EDE_CBC_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "TLS_RSA_WITH_RC4_128_MD5", "SSL_RSA_WITH_RC4_128_MD5", 0, 0, 0, 0, FORBIDDEN },

    /* Names of one thing, or of its kind */
    { "RSASSA-PSS", "RSA-PSS", 0, 0, 0, 0, FORBIDDEN },
    { "RSASSA-PSS", "rsa_pss_rsae_sha256", 0, 0, 0, 0, FORBIDDEN },
    { "RSASSA-PSS", "rsa_pss_pss_sha512", 0, 0, 0, 0, FORBIDDEN },
    { "RSASSA-PSS", "rsa_pkcs1_sha256", 0, 0, 0, 0, PERMITTED },
    { "RSASSA-PSS", "RSA", 0, 0, 0, 0, PERMITTED },
    { "RSA-PSS", "RSASSA-PSS", 0, 0, 0, 0, FORBIDDEN },
    { "RSA-PSS", "RSA-PSS", 0, 0, 0, 0, FORBIDDEN },
    { "RSA-PSS", "rsa_pss_rsae_sha256", 0, 0, 0, 0, FORBIDDEN },
    { "rsa_pss_rsae_sha256", "rsa_pss_rsae_sha256", 0, 0, 0, 0, FORBIDDEN },
    { "rsa_pss_rsae_sha256", "rsa_pss_pss_sha256", 0, 0, 0, 0, PERMITTED },
    { "rsa_pss_*", "rsa_pss_rsae_sha384", 0, 0, 0, 0, FORBIDDEN },
    { "rsa_pss*", "rsa_pss_rsae_sha384", 0, 0, 0, 0, FORBIDDEN },
    { "EdDSA", "ed25519", 0, 0, 0, 0, FORBIDDEN },
    { "EdDSA", "ED448", 0, 0, 0, 0, FORBIDDEN },
    { "Ed25519", "ED25519", 0, 0, 0, 0, FORBIDDEN },
    { "Ed25519", "ED448", 0, 0, 0, 0, PERMITTED },
    { "DSA", "ML-DSA-65", 0, 0, 0, 0, PERMITTED },
    { "DSA", "SLH-DSA-SHA2-128s", 0, 0, 0, 0, PERMITTED },
    { "ML-DSA", "ML-DSA-65", 0, 0, 0, 0, FORBIDDEN },
    { "ML-DSA", "mldsa65", 0, 0, 0, 0, FORBIDDEN },
    { "ML-DSA-65", "mldsa65", 0, 0, 0, 0, FORBIDDEN },
    { "mldsa65", "ML-DSA-65", 0, 0, 0, 0, FORBIDDEN },
    { "ML-DSA-65", "mldsa44", 0, 0, 0, 0, PERMITTED },
    { "ML-DSA*", "ML-DSA-87", 0, 0, 0, 0, FORBIDDEN },
    { "SLH-DSA", "SLH-DSA-SHAKE-256f", 0, 0, 0, 0, FORBIDDEN },
    { "ML-KEM", "ML-KEM-768", 0, 0, 0, 0, FORBIDDEN },
    { "ML-KEM", "MLKEM768", 0, 0, 0, 0, FORBIDDEN },
    { "ML-KEM", "X25519MLKEM768", 0, 0, 0, 0, FORBIDDEN },
    { "ML-KEM-768", "SecP256r1MLKEM768", 0, 0, 0, 0, FORBIDDEN },
    { "ML-KEM-1024", "SecP256r1MLKEM768", 0, 0, 0, 0, PERMITTED },
    { "secp256r1", "SecP256r1MLKEM768", 0, 0, 0, 0, FORBIDDEN },
    { "MLKEM*", "MLKEM512", 0, 0, 0, 0, FORBIDDEN },
    { "ML-KEM keySize < 1024", "ML-KEM-768", 0, 0, 0, 0, FORBIDDEN },
    { "ML-KEM keySize < 1024", "MLKEM1024", 0, 0, 0, 0, PERMITTED },
    { "DH keySize < 2048", "DHX", 1024, 0, 0, 0, FORBIDDEN },
    { "DH keySize < 2048", "dhKeyAgreement", 1024, 0, 0, 0, FORBIDDEN },
    { "DSA keySize < 2048", "dsaEncryption", 1024, 0, 0, 0, FORBIDDEN },
    { "EC keySize < 256", "id-ecPublicKey", 192, 0, 0, 0, FORBIDDEN },
    { "RSASSA-PSS", "rsassaPss", 0, 0, 0, 0, FORBIDDEN },
    { "Blowfish", "BF-CBC", 0, 0, 0, 0, FORBIDDEN },
    { "RIPEMD160", "RIPEMD-160", 0, 0, 0, 0, FORBIDDEN },

    /* What begins like that */
    { "TLS_RSA_*", "TLS_RSA_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "TLS_RSA_*", "TLS_RSA_WITH_AES_256_GCM_SHA384", 0, 0, 0, 0, FORBIDDEN },
    { "TLS_RSA_*", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, PERMITTED },
    { "TLS_RSA_*", "RSA", 0, 0, 0, 0, PERMITTED },
    { "TLS_ECDH_*", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, PERMITTED },
    { "TLS_ECDH_*", "TLS_ECDH_RSA_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "TLS_ECDH*", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "TLS_*", "AES-128-CBC", 0, 0, 0, 0, PERMITTED },
    { "tls_rsa_with_aes_*", "TLS_RSA_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "tls_rsa_with_aes_*", "TLS_RSA_WITH_RC4_128_SHA", 0, 0, 0, 0, PERMITTED },
    { "brainpool*", "brainpoolP256r1", 0, 0, 0, 0, FORBIDDEN },
    { "SHA*", "SHA512", 0, 0, 0, 0, FORBIDDEN },

    /* Versions and groups */
    { "SSLv3", "SSLv3", 0, 0, 0, 0, FORBIDDEN },
    { "TLSv1", "TLSv1", 0, 0, 0, 0, FORBIDDEN },
    { "TLSv1", "TLSv1.1", 0, 0, 0, 0, PERMITTED },
    { "TLSv1", "TLSv1.2", 0, 0, 0, 0, PERMITTED },
    { "TLSv1.0", "TLSv1", 0, 0, 0, 0, FORBIDDEN },
    { "TLSv1.1", "TLSv1.1", 0, 0, 0, 0, FORBIDDEN },
    { "TLSv1.1", "TLSv1", 0, 0, 0, 0, PERMITTED },
    { "TLSv1.2", "DTLSv1.2", 0, 0, 0, 0, PERMITTED },
    { "DTLSv1.0", "DTLSv1.0", 0, 0, 0, 0, FORBIDDEN },
    { "DTLSv1", "DTLSv1.0", 0, 0, 0, 0, FORBIDDEN },
    { "secp256r1", "prime256v1", 0, 0, 0, 0, FORBIDDEN },
    { "P-256", "secp256r1", 0, 0, 0, 0, FORBIDDEN },
    { "prime256v1", "P-256", 0, 0, 0, 0, FORBIDDEN },
    { "P-384", "secp384r1", 0, 0, 0, 0, FORBIDDEN },
    { "P-521", "P-384", 0, 0, 0, 0, PERMITTED },
    { "secp256k1", "secp256r1", 0, 0, 0, 0, PERMITTED },
    { "X25519", "X25519", 0, 0, 0, 0, FORBIDDEN },
    { "X25519", "X448", 0, 0, 0, 0, PERMITTED },
    { "X25519", "X25519MLKEM768", 0, 0, 0, 0, FORBIDDEN },
    { "X25519MLKEM768", "X25519MLKEM768", 0, 0, 0, 0, FORBIDDEN },
    { "X25519MLKEM768", "X25519", 0, 0, 0, 0, PERMITTED },
    { "1.2.840.113549.1.1.4", "1.2.840.113549.1.1.4", 0, 0, 0, 0, FORBIDDEN },
    { "1.2.840.113549", "1.2.840.113549.1.1.4", 0, 0, 0, 0, PERMITTED },

    /* keySize: each comparison below, at and above */
    { "RSA keySize < 2048", "RSA", 2047, 0, 0, 0, FORBIDDEN },
    { "RSA keySize < 2048", "RSA", 2048, 0, 0, 0, PERMITTED },
    { "RSA keySize < 2048", "RSA", 2049, 0, 0, 0, PERMITTED },
    { "RSA keySize <= 2048", "RSA", 2047, 0, 0, 0, FORBIDDEN },
    { "RSA keySize <= 2048", "RSA", 2048, 0, 0, 0, FORBIDDEN },
    { "RSA keySize <= 2048", "RSA", 2049, 0, 0, 0, PERMITTED },
    { "RSA keySize == 2048", "RSA", 2047, 0, 0, 0, PERMITTED },
    { "RSA keySize == 2048", "RSA", 2048, 0, 0, 0, FORBIDDEN },
    { "RSA keySize == 2048", "RSA", 2049, 0, 0, 0, PERMITTED },
    { "RSA keySize != 2048", "RSA", 2047, 0, 0, 0, FORBIDDEN },
    { "RSA keySize != 2048", "RSA", 2048, 0, 0, 0, PERMITTED },
    { "RSA keySize != 2048", "RSA", 2049, 0, 0, 0, FORBIDDEN },
    { "RSA keySize >= 2048", "RSA", 2047, 0, 0, 0, PERMITTED },
    { "RSA keySize >= 2048", "RSA", 2048, 0, 0, 0, FORBIDDEN },
    { "RSA keySize >= 2048", "RSA", 2049, 0, 0, 0, FORBIDDEN },
    { "RSA keySize > 2048", "RSA", 2047, 0, 0, 0, PERMITTED },
    { "RSA keySize > 2048", "RSA", 2048, 0, 0, 0, PERMITTED },
    { "RSA keySize > 2048", "RSA", 2049, 0, 0, 0, FORBIDDEN },
    { "RSA keySize<2048", "RSA", 1024, 0, 0, 0, FORBIDDEN },
    { "rsa KEYSIZE <2048", "RSA", 1024, 0, 0, 0, FORBIDDEN },
    { "RSA keySize < 2048", "DSA", 1024, 0, 0, 0, PERMITTED },
    { "RSA keySize < 2048", "RSA", 0, 0, 0, 0, PERMITTED }, /* not known */
    { "RSA keySize < 1024, RSA keySize > 2048", "RSA", 512, 0, 0, 0, FORBIDDEN },
    { "RSA keySize < 1024, RSA keySize > 2048", "RSA", 1536, 0, 0, 0, PERMITTED },
    { "RSA keySize < 1024, RSA keySize > 2048", "RSA", 4096, 0, 0, 0, FORBIDDEN },
    { "RSA keySize >= 1024 & keySize <= 2048", "RSA", 1023, 0, 0, 0, PERMITTED },
    { "RSA keySize >= 1024 & keySize <= 2048", "RSA", 2048, 0, 0, 0, FORBIDDEN },
    { "RSA keySize >= 1024 & keySize <= 2048", "RSA", 2049, 0, 0, 0, PERMITTED },
    { "RSA keySize < 2048", "SHA256withRSA", 1024, 0, 0, 0, FORBIDDEN },
    { "DH keySize < 1024", "DiffieHellman", 768, 0, 0, 0, FORBIDDEN },
    { "EC keySize < 224", "EC", 192, 0, 0, 0, FORBIDDEN },
    { "EC keySize < 224", "EC", 256, 0, 0, 0, PERMITTED },
    /* the size stands in the name */
    { "AES keySize < 256", "AES-128-GCM", 0, 0, 0, 0, FORBIDDEN },
    { "AES keySize < 256", "AES-192-GCM", 0, 0, 0, 0, FORBIDDEN },
    { "AES keySize < 256", "AES-256-GCM", 0, 0, 0, 0, PERMITTED },
    { "AES keySize < 256", "id-aes128-GCM", 0, 0, 0, 0, FORBIDDEN },
    { "AES keySize < 256", "AES256", 0, 0, 0, 0, PERMITTED },
    { "AES keySize < 256", "TLS_RSA_WITH_AES_128_CBC_SHA256", 0, 0, 0, 0, FORBIDDEN },
    { "AES keySize < 256", "TLS_RSA_WITH_AES_256_CBC_SHA256", 0, 0, 0, 0, PERMITTED },
    { "AES keySize < 256", "TLS_AES_128_GCM_SHA256", 0, 0, 0, 0, FORBIDDEN },
    { "AES keySize < 256", "AES", 128, 0, 0, 0, FORBIDDEN },
    { "AES keySize < 256", "AES", 0, 0, 0, 0, PERMITTED },
    { "AES keySize < 256", "AES-256-XTS", 128, 0, 0, 0, FORBIDDEN }, /* what is known beats the name */
    { "CAMELLIA keySize == 128", "TLS_RSA_WITH_CAMELLIA_128_CBC_SHA", 0, 0, 0, 0, FORBIDDEN },
    { "RSA keySize < 2048", "TLS_RSA_WITH_AES_128_CBC_SHA", 0, 0, 0, 0, PERMITTED }, /* 128 is not RSA's */
    { "CBC keySize < 256", "AES-128-CBC", 0, 0, 0, 0, PERMITTED },                   /* no number follows CBC */
    { "CBC keySize < 256", "AES-128-CBC", 128, 0, 0, 0, FORBIDDEN },

    /* tagSize */
    { "GCM tagSize < 128", "AES-128-GCM", 128, 96, 0, 0, FORBIDDEN },
    { "GCM tagSize < 128", "AES-128-GCM", 128, 128, 0, 0, PERMITTED },
    { "GCM tagSize < 128", "AES-128-GCM", 128, 0, 0, 0, PERMITTED },
    { "GCM tagSize < 128", "AES-128-CCM", 128, 64, 0, 0, PERMITTED },
    { "CCM tagSize <= 64", "TLS_RSA_WITH_AES_128_CCM_8", 0, 64, 0, 0, FORBIDDEN },
    { "AES tagSize != 128 & keySize < 256", "AES-128-GCM", 128, 96, 0, 0, FORBIDDEN },
    { "AES tagSize != 128 & keySize < 256", "AES-256-GCM", 256, 96, 0, 0, PERMITTED },
    { "AES tagSize != 128 & keySize < 256", "AES-128-GCM", 128, 128, 0, 0, PERMITTED },

    /* denyAfter: from the first second of that day */
    { "SHA1 denyAfter 2019-01-01", "SHA1", 0, 0, 0, DAY_2018_12_31_LAST, PERMITTED },
    { "SHA1 denyAfter 2019-01-01", "SHA1", 0, 0, 0, DAY_2019_01_01, FORBIDDEN },
    { "SHA1 denyAfter 2019-01-01", "SHA1", 0, 0, 0, DAY_2030_06_15, FORBIDDEN },
    { "SHA1 denyAfter 2019-01-01", "SHA256", 0, 0, 0, DAY_2030_06_15, PERMITTED },
    { "SHA1 DENYAFTER 2024-02-29", "SHA1", 0, 0, 0, DAY_2024_02_29 - 1, PERMITTED },
    { "SHA1 denyAfter 2024-02-29", "SHA1", 0, 0, 0, DAY_2024_02_29, FORBIDDEN },
    { "SHA1 denyAfter 1970-01-01", "SHA1", 0, 0, 0, -1, PERMITTED },
    { "SHA1 denyAfter 1970-01-01", "SHA1", 0, 0, 0, 0, FORBIDDEN },
    { "RSA keySize == 2048 & denyAfter 2019-01-01", "RSA", 2048, 0, 0, DAY_2019_01_01, FORBIDDEN },
    { "RSA keySize == 2048 & denyAfter 2019-01-01", "RSA", 2048, 0, 0, DAY_2018_12_31_LAST, PERMITTED },
    { "RSA denyAfter 2019-01-01 & keySize == 2048", "RSA", 4096, 0, 0, DAY_2019_01_01, PERMITTED },

    /* usage */
    { "SHA1 usage TLSServer", "SHA1", 0, 0, SERVER, 0, FORBIDDEN },
    { "SHA1 usage TLSServer", "SHA1", 0, 0, CLIENT, 0, PERMITTED },
    { "SHA1 usage TLSServer", "SHA1", 0, 0, 0, 0, PERMITTED },
    { "SHA1 usage TLSServer", "SHA1", 0, 0, SERVER | CERTIFICATE, 0, FORBIDDEN },
    { "SHA1 usage TLSServer TLSClient", "SHA1", 0, 0, CLIENT, 0, FORBIDDEN },
    { "SHA1 usage TLSServer TLSClient", "SHA1", 0, 0, JAR, 0, PERMITTED },
    { "SHA1 usage SignedJAR", "SHA1withRSA", 0, 0, JAR, 0, FORBIDDEN },
    { "SHA1 usage signedjar", "SHA1withRSA", 0, 0, JAR, 0, FORBIDDEN },
    { "SHA1 usage HandshakeSignature", "rsa_pkcs1_sha1", 0, 0, SERVER | HANDSHAKE, 0, FORBIDDEN },
    { "SHA1 usage HandshakeSignature", "rsa_pkcs1_sha1", 0, 0, SERVER | CERTIFICATE, 0, PERMITTED },
    { "SHA1 usage CertificateSignature", "SHA1withRSA", 0, 0, CERTIFICATE, 0, FORBIDDEN },
    { "SHA1 usage TLSServer & denyAfter 2019-01-01", "SHA1", 0, 0, SERVER, DAY_2019_01_01, FORBIDDEN },
    { "SHA1 usage TLSServer & denyAfter 2019-01-01", "SHA1", 0, 0, CLIENT, DAY_2019_01_01, PERMITTED },
    { "SHA1 usage TLSServer & denyAfter 2019-01-01", "SHA1", 0, 0, SERVER, DAY_2018_12_31_LAST, PERMITTED },
    { "RSA usage TLSServer & keySize < 2048", "RSA", 1024, 0, SERVER, 0, FORBIDDEN },
    { "RSA usage TLSServer & keySize < 2048", "RSA", 1024, 0, CLIENT, 0, PERMITTED },

    /* Several entries: any of them forbids */
    { "RC4, DES, MD5", "DES-CBC", 0, 0, 0, 0, FORBIDDEN },
    { "RC4, DES, MD5", "AES-128-CBC", 0, 0, 0, 0, PERMITTED },
    { "RC4,DES,MD5", "MD5", 0, 0, 0, 0, FORBIDDEN },
    { "RC4 ,\tDES\n, MD5", "MD5", 0, 0, 0, 0, FORBIDDEN },
    { "RSA keySize < 1024, RSA", "RSA", 4096, 0, 0, 0, FORBIDDEN },

    /* Lists as they are shipped */
    { JAVA_TLS, "TLS_AES_128_GCM_SHA256", 0, 128, SERVER, 0, PERMITTED },
    { JAVA_TLS, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", 0, 0, SERVER, 0, PERMITTED },
    { JAVA_TLS, "TLS_RSA_WITH_AES_128_CBC_SHA", 0, 0, SERVER, 0, FORBIDDEN },
    { JAVA_TLS, "TLS_ECDH_ECDSA_WITH_AES_128_CBC_SHA", 0, 0, SERVER, 0, FORBIDDEN },
    { JAVA_TLS, "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", 0, 0, SERVER, 0, FORBIDDEN },
    { JAVA_TLS, "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA", 0, 0, SERVER, 0, FORBIDDEN },
    { JAVA_TLS, "TLSv1.1", 0, 0, SERVER, 0, FORBIDDEN },
    { JAVA_TLS, "TLSv1.2", 0, 0, SERVER, 0, PERMITTED },
    { JAVA_TLS, "EC", 192, 0, SERVER, 0, FORBIDDEN },
    { JAVA_TLS, "DH", 2048, 0, SERVER, 0, PERMITTED },
    { JAVA_PATH, "SHA1withRSA", 2048, 0, SERVER, DAY_2030_06_15, FORBIDDEN },
    { JAVA_PATH, "SHA1withRSA", 2048, 0, CLIENT, DAY_2030_06_15, PERMITTED },
    { JAVA_PATH, "SHA1withRSA", 2048, 0, JAR, DAY_2018_12_31_LAST, PERMITTED },
    { JAVA_PATH, "SHA256withRSA", 1023, 0, CLIENT, 0, FORBIDDEN },
    { JAVA_PATH, "SHA256withRSA", 1024, 0, CLIENT, 0, PERMITTED },
    { JAVA_PATH, "MD5withRSA", 4096, 0, CLIENT, 0, FORBIDDEN },
};

static void asked_one_by_one(void)
{
    for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++) {
        const struct verdict *v = &verdicts[i];
        struct aesop_constraint_error error;
        struct aesop_constraints *constraints = aesop_constraints_parse(&error, v->list);
        const struct aesop_constraint_question question = { v->algorithm, v->usage, v->key_bits, v->tag_bits, v->when };

        if (!CHECK(constraints != NULL, "\"%s\": byte %zu: expected %s", v->list, error.position, error.expected))
            continue;
        const char *by = aesop_constraints_forbid(constraints, &question);
        CHECK((by != NULL) == v->forbidden, "\"%s\", %s, key %u, tag %u, usage %u, at %lld: %s by \"%s\"", v->list,
              v->algorithm, v->key_bits, v->tag_bits, v->usage, (long long)v->when,
              by != NULL ? "forbidden" : "permitted", by != NULL ? by : "");
        aesop_constraints_free(constraints);
    }
    CHECK(sizeof verdicts / sizeof verdicts[0] >= 200, "%zu cases", sizeof verdicts / sizeof verdicts[0]);
}

static const struct refusal {
    const char *list;
    size_t position;
    const char *expected; /* a part of the message */
} refusals[] = {
    { ",", 0, "name" },
    { "RC4,", 4, "name" },
    { "RC4, ", 5, "name" },
    { "RC4,,DES", 4, "name" },
    { "& keySize < 1", 0, "name" },
    { "-", 0, "name" },
    { "*", 0, "name" },
    { "< 3", 0, "name" },
    { "RC4 x", 4, "keySize, tagSize, denyAfter or usage" },
    { "RC4 DES", 4, "keySize, tagSize, denyAfter or usage" },
    { "RSA jdkCA", 4, "keySize, tagSize, denyAfter or usage" },
    { "include jdk.disabled.namedCurves", 8, "keySize, tagSize, denyAfter or usage" },
    { "RSA keySize", 11, "<= <" },
    { "RSA keySize 2048", 12, "<= <" },
    { "RSA keySize = 2048", 12, "<= <" },
    { "RSA keySize ! 2048", 12, "<= <" },
    { "RSA keySize <", 13, "bits" },
    { "RSA keySize < x", 14, "bits" },
    { "RSA keySize < -1", 14, "bits" },
    { "RSA keySize < 20x8", 14, "bits" },
    { "RSA keySize < 1000000", 14, "bits" },
    { "RSA keySize =< 2048", 12, "<= <" },
    { "RSA keySize <> 2048", 13, "bits" },
    { "RSA keySize < 2048 keySize > 1", 19, "'&'" },
    { "RSA keySize < 2048 &", 20, "keySize, tagSize" },
    { "RSA keySize < 2048 & ,", 21, "keySize, tagSize" },
    { "RSA keySize < 2048 && keySize > 1", 20, "keySize, tagSize" },
    { "RSA & DSA", 6, "keySize, tagSize" },
    { "GCM tagSize 96", 12, "<= <" },
    { "SHA1 denyAfter", 14, "YYYY-MM-DD" },
    { "SHA1 denyAfter 2019", 15, "YYYY-MM-DD" },
    { "SHA1 denyAfter 2019-1-1", 15, "YYYY-MM-DD" },
    { "SHA1 denyAfter 19-01-01", 15, "YYYY-MM-DD" },
    { "SHA1 denyAfter 2019-13-01", 15, "YYYY-MM-DD" },
    { "SHA1 denyAfter 2019-00-01", 15, "YYYY-MM-DD" },
    { "SHA1 denyAfter 2019-02-29", 15, "YYYY-MM-DD" },
    { "SHA1 denyAfter 1900-02-29", 15, "YYYY-MM-DD" },
    { "SHA1 denyAfter 2019-04-31", 15, "YYYY-MM-DD" },
    { "SHA1 denyAfter 2019-01-00", 15, "YYYY-MM-DD" },
    { "SHA1 denyAfter 2019/01/01", 15, "YYYY-MM-DD" },
    { "SHA1 denyAfter 2019-01-01Z", 15, "YYYY-MM-DD" },
    { "SHA1 denyAfter 2019-01-01 & denyAfter 2020-01-01", 38, "no second denyAfter" },
    { "SHA1 usage", 10, "TLSServer" },
    { "SHA1 usage Web", 11, "TLSServer" },
    { "SHA1 usage TLSServer Web", 21, "TLSServer" },
    { "SHA1 usage TLSServer, Web Web", 26, "keySize" },
    { "SHA1 usage & keySize < 1", 11, "TLSServer" },
    { "A*B", 1, "letters" },
    { "TLS_*_SHA", 4, "letters" },
    { "RC4;DES", 3, "letters" },
    { "RC4, \"DES\"", 5, "letters" },
    { "with", 0, "name" },
    { "withRSA", 0, "name" },
    { "SHA1with", 0, "name" },
    { "SHA1withRSA*", 0, "name" },
};

static void refused_with_the_place(void)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const struct refusal *r = &refusals[i];
        struct aesop_constraint_error error = { 0, "" };
        struct aesop_constraints *constraints = aesop_constraints_parse(&error, r->list);

        CHECK(constraints == NULL, "\"%s\" is accepted", r->list);
        CHECK(error.position == r->position && strstr(error.expected, r->expected) != NULL,
              "\"%s\": byte %zu, expected %s; wanted: byte %zu, %s", r->list, error.position, error.expected,
              r->position, r->expected);
        aesop_constraints_free(constraints);
    }
}

static const char *asked(const char *list, const char *algorithm)
{
    static char text[256];
    struct aesop_constraint_error error;
    struct aesop_constraints *constraints = aesop_constraints_parse(&error, list);
    const struct aesop_constraint_question question = { .algorithm = algorithm };
    const char *by = constraints != NULL ? aesop_constraints_forbid(constraints, &question) : NULL;

    snprintf(text, sizeof text, "%s", by != NULL ? by : "permitted");
    aesop_constraints_free(constraints);
    return text;
}

static void names_the_entry(void)
{
    CU_ASSERT_STRING_EQUAL(asked("RC4,  AES  keySize < 256 , AES", "AES-128-GCM"), "AES  keySize < 256");
    CU_ASSERT_STRING_EQUAL(asked("RC4, AES keySize < 256, AES", "AES-256-GCM"), "AES");
    CU_ASSERT_STRING_EQUAL(asked("RC4, AES keySize < 256", "AES-256-GCM"), "permitted");
}

/* As long as names may be, and longer: in the list an error, as a question forbidden, with no list permitted. */
static void long_names(void)
{
    char name[400];
    struct aesop_constraint_error error;

    for (size_t len = 1; len < sizeof name; len++) {
        memset(name, 'x', len);
        name[len] = '\0';
        struct aesop_constraints *constraints = aesop_constraints_parse(&error, name);
        CHECK((constraints != NULL) == (len <= 120), "a name of %zu characters", len);
        aesop_constraints_free(constraints);
        CHECK((strcmp(asked("RC4", name), "permitted") == 0) == (len <= 120), "asked for %zu characters", len);
        CHECK(strcmp(asked("", name), "permitted") == 0, "no list, asked for %zu characters", len);
    }
    /* What grows most when it is rewritten. */
    for (size_t len = 1; len <= 120; len++) {
        for (size_t i = 0; i < len; i++)
            name[i] = "with"[i % 4];
        name[len] = '\0';
        CU_ASSERT_STRING_EQUAL(asked("RC4", name), "permitted");
        for (size_t i = 0; i < len; i++)
            name[i] = "aes128-"[i % 7];
        name[len] = '\0';
        asked("RC4", name);
        for (size_t i = 0; i < len; i++)
            name[i] = "des-cbc3-"[i % 9];
        name[len] = '\0';
        asked("RC4", name);
    }
}

/* Any text is either parsed or refused at a place within it; under the sanitizers this is a small fuzzer. */
static void random_lists(void)
{
    static const char *const pieces[] = { "RSA",     "AES",       "TLS_*", "with",      "SHA1with",   "keySize",
                                          "tagSize", "denyAfter", "usage", "TLSServer", "2024-02-29", "2048",
                                          "<",       "<=",        "==",    "!=",        "&",          ",",
                                          " ",       "\t",        "*",     "-",         "_",          "/" };
    struct support_random random;
    const int count = support_long() ? 1000000 : 20000;
    unsigned accepted = 0;

    support_random_seed(&random, support_seed());
    for (int i = 0; i < count; i++) {
        struct aesop_constraint_error error = { 0, "" };
        char list[256] = "";

        for (uint64_t n = support_random_below(&random, 12); n > 0; n--) {
            strcat(list, pieces[support_random_below(&random, sizeof pieces / sizeof pieces[0])]);
            strcat(list, support_random_below(&random, 2) ? " " : "");
        }
        struct aesop_constraints *constraints = aesop_constraints_parse(&error, list);
        accepted += constraints != NULL;
        if (constraints == NULL)
            CHECK(error.position <= strlen(list) && *error.expected != '\0', "\"%s\" (seed %llu)", list,
                  (unsigned long long)support_seed());
        else
            aesop_constraints_forbid(constraints, &(struct aesop_constraint_question){ .algorithm = list });
        aesop_constraints_free(constraints);
    }
    CHECK(accepted > 100, "%u of %d lists were accepted", accepted, count);
}

/* Decisions change where a day begins, and only there. */
static void eras(void)
{
    struct aesop_constraint_error error;
    struct aesop_constraints *constraints =
        aesop_constraints_parse(&error, "SHA1 denyAfter 2024-02-29, MD5, RSA keySize < 2048 & denyAfter 2019-01-01");

    CU_ASSERT_PTR_NOT_NULL_FATAL(constraints);
    CU_ASSERT_TRUE(aesop_constraints_have_days(constraints));
    CU_ASSERT_EQUAL(aesop_constraints_era(constraints, 0), 0);
    CU_ASSERT_EQUAL(aesop_constraints_era(constraints, DAY_2019_01_01 - 1), 0);
    CU_ASSERT_EQUAL(aesop_constraints_era(constraints, DAY_2019_01_01), 1);
    CU_ASSERT_EQUAL(aesop_constraints_era(constraints, DAY_2024_02_29 - 1), 1);
    CU_ASSERT_EQUAL(aesop_constraints_era(constraints, DAY_2024_02_29), 2);
    aesop_constraints_free(constraints);
    constraints = aesop_constraints_parse(&error, "SHA1");
    CU_ASSERT_FALSE(aesop_constraints_have_days(constraints));
    aesop_constraints_free(constraints);
}

/* Every day from 1970 to 2100 against the C library's calendar. */
static void calendar(void)
{
    for (int64_t day = 0; day < 47482; day += support_long() ? 1 : 13) {
        const time_t moment = (time_t)(day * 86400);
        struct tm tm;
        char list[64];
        struct aesop_constraint_error error;

        gmtime_r(&moment, &tm);
        snprintf(list, sizeof list, "A denyAfter %04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
        struct aesop_constraints *constraints = aesop_constraints_parse(&error, list);
        if (CHECK(constraints != NULL, "%s", list))
            CHECK(aesop_constraints_era(constraints, moment) == 1 &&
                      aesop_constraints_era(constraints, moment - 1) == 0,
                  "%s", list);
        aesop_constraints_free(constraints);
    }
}

/* A locale whose small I has no dot, from the system or made here. Returns 0 where it cannot be had. */
static int set_turkish(void)
{
    char folder[] = "/tmp/aesop-locale-XXXXXX", command[256];

    if (setlocale(LC_CTYPE, "tr_TR.ISO-8859-9") != NULL || mkdtemp(folder) == NULL)
        return tolower('I') != 'i';
    snprintf(command, sizeof command, "localedef -f ISO-8859-9 -i tr_TR %s/tr_TR.ISO-8859-9 >/dev/null 2>&1", folder);
    if (system(command) == 0 && setenv("LOCPATH", folder, 1) == 0)
        setlocale(LC_CTYPE, "tr_TR.ISO-8859-9");
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 && tolower('I') != 'i';
}

/* What a list means does not hang on the program's locale. */
static void locales(void)
{
    struct aesop_constraint_error error;

    if (!set_turkish()) {
        support_skip("a Turkish locale", "not installed, and localedef cannot make it");
        return;
    }
    CU_ASSERT_STRING_EQUAL(asked("IDEA", "idea-cbc"), "IDEA");
    CU_ASSERT_STRING_EQUAL(asked("idea", "IDEA-CBC"), "idea");
    CU_ASSERT_STRING_EQUAL(asked("SHA256WITHECDSA", "ecdsa-with-SHA256"), "SHA256WITHECDSA");
    CU_ASSERT_STRING_EQUAL(asked("AES KEYSIZE < 256", "AES-128-GCM"), "AES KEYSIZE < 256");
    CU_ASSERT_PTR_NULL(aesop_constraints_parse(&error, "SHA\xfe, AES"));
    CU_ASSERT_EQUAL(error.position, 3);
    setlocale(LC_CTYPE, "C");
}

int main(int argc, char **argv)
{
    support_init(argc, argv);
    CU_pSuite asking = CU_add_suite("asking", NULL, NULL);
    CU_ADD_TEST(asking, asked_one_by_one);
    CU_ADD_TEST(asking, names_the_entry);
    CU_ADD_TEST(asking, long_names);
    CU_ADD_TEST(asking, eras);
    CU_ADD_TEST(asking, calendar);
    CU_ADD_TEST(asking, locales);
    CU_pSuite parsing = CU_add_suite("parsing", NULL, NULL);
    CU_ADD_TEST(parsing, refused_with_the_place);
    CU_ADD_TEST(parsing, random_lists);
    return support_run();
}
