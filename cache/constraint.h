/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which algorithms may not be used: a list in the grammar of jdk.tls.disabledAlgorithms, parsed once, asked often.
 * Strings in, decisions out; needs libc alone.
 *
 *   list       = [ entry { "," entry } ]
 *   entry      = NAME [ condition ] { "&" condition }         all conditions have to hold for the entry to forbid
 *   condition  = ( "keySize" | "tagSize" ) OP BITS            OP: <= < == != >= >
 *              | "denyAfter" YYYY-MM-DD                       from 00:00 UTC of that day on
 *              | "usage" USE { USE }                          TLSServer TLSClient SignedJAR CertificateSignature
 *                                                             HandshakeSignature
 * NAME and keywords know no case.
 *
 * A name is a row of elements: "TLS_RSA_WITH_AES_128_CBC_SHA" is tls, rsa, aes, 128, cbc, sha1. NAME forbids every
 * algorithm in whose row its own stands: AES, CBC, AES-128-CBC, RSA forbid that suite, ES and AES-CBC do not. Elements
 * are whole: DSA does not forbid ECDSA, nor DES 3DES. Spellings of one thing are one (SHA, SHA-1, SHA1; DES-EDE3,
 * 3DES_EDE, DESede; AES128, AES-128; P-256, prime256v1, secp256r1). A few kinds are known that a name does not say: DH
 * of DHE, DSA of DSS, HMAC of a suite's digest, EdDSA of Ed25519. A NAME of digest and key, SHA1withRSA, forbids the
 * signatures that have both, in any order. "*" may end a NAME, which then forbids what begins like it: TLS_RSA_*.
 *
 * keySize is compared with the asked number of bits or, where none is known, with the number that follows the matched
 * elements in the algorithm's name (AES keySize < 256 forbids AES-128-GCM). A condition on a size that is not known
 * does not hold.
 */
#ifndef AESOP_CACHE_CONSTRAINT_H
#define AESOP_CACHE_CONSTRAINT_H

#include <stddef.h>
#include <stdint.h>

/* What the algorithm is used for; bits, so that a question may name several. */
enum {
    AESOP_CONSTRAINT_TLS_SERVER = 1,
    AESOP_CONSTRAINT_TLS_CLIENT = 2,
    AESOP_CONSTRAINT_SIGNED_JAR = 4,
    AESOP_CONSTRAINT_CERTIFICATE_SIGNATURE = 8,
    AESOP_CONSTRAINT_HANDSHAKE_SIGNATURE = 16,
};

#define AESOP_CONSTRAINT_BITS_MAX 999999 /* the largest size that a list may name */

struct aesop_constraints;

struct aesop_constraint_error {
    size_t position;      /* bytes from the start of the list */
    const char *expected; /* what should stand there: a constant text; "memory" where there is none */
};

struct aesop_constraint_question {
    const char *algorithm;       /* cipher, digest, key type, group, signature, TLS version or suite */
    unsigned usage;              /* of the bits above; 0: an entry with "usage" does not apply */
    unsigned key_bits, tag_bits; /* 0: not known */
    int64_t when;                /* seconds since 1970, UTC */
};

/* Returns the parsed list, freed by aesop_constraints_free, or NULL with *error set. */
struct aesop_constraints *aesop_constraints_parse(struct aesop_constraint_error *error, const char *list);
void aesop_constraints_free(struct aesop_constraints *constraints);

/*
 * Returns the text of the first entry that forbids, valid as long as the constraints, or NULL where the algorithm is
 * permitted. An algorithm's name that is too long to be one is forbidden by a text that says so.
 */
const char *aesop_constraints_forbid(const struct aesop_constraints *constraints,
                                     const struct aesop_constraint_question *question);

/*
 * How many of the list's denyAfter days have begun at that moment: as long as this number stays, so do all decisions.
 * aesop_constraints_have_days: whether there is any such day at all.
 */
unsigned aesop_constraints_era(const struct aesop_constraints *constraints, int64_t when);
int aesop_constraints_have_days(const struct aesop_constraints *constraints);
/* Whether any entry holds for some uses only. */
int aesop_constraints_have_usages(const struct aesop_constraints *constraints);

#endif
