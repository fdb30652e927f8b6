/* SPDX-License-Identifier: Apache-2.0 */
/* Published test vectors: one record of them, run through EVP, and the reader of NIST's response files. */
#ifndef AESOP_TEST_VECTORS_H
#define AESOP_TEST_VECTORS_H

#include <stddef.h>
#include <stdio.h>

#include <openssl/evp.h>

#define VECTOR_MAX_BYTES 2048

struct vector_field {
    size_t len;
    unsigned char bytes[VECTOR_MAX_BYTES];
};

struct vector {
    struct vector_field key, iv, aad, plaintext, ciphertext, tag;
};

enum vector_result {
    VECTOR_MATCH,    /* output (and tag) as the vector says */
    VECTOR_MISMATCH, /* another output or another tag */
    VECTOR_BAD_DATA, /* final refused: the tag or the padding was wrong */
    VECTOR_REFUSED   /* an earlier step failed: the vector's parameters are not taken */
};

/* Returns 1, or 0 where hex is not pairs of hexadecimal digits or too long. */
int vector_field_from_hex(struct vector_field *field, const char *hex);

/*
 * Run one vector with that (fetched) cipher. The context is used as it comes and may be used for the next vector,
 * which then meets the state that this one left. CBC with padding is PKCS#7.
 */
enum vector_result vector_gcm(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, const struct vector *v, int encrypt);
enum vector_result vector_cbc(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, const struct vector *v, int encrypt,
                              int padding);

/* A response file of NIST's Cryptographic Algorithm Validation Program. */
struct vector_rsp {
    FILE *file;
    char *line; /* of getline */
    size_t line_size;
    int encrypt;         /* in the section [ENCRYPT], 0 in [DECRYPT], -1 before either */
    int fail;            /* the record says that decryption must fail */
    unsigned long count; /* the record's number in its section */
};

int vector_rsp_open(struct vector_rsp *rsp, const char *path);
/* Reads the next record: 1, 0 at the end, -1 at a line that it does not know (then in rsp->line). */
int vector_rsp_next(struct vector_rsp *rsp, struct vector *v);
void vector_rsp_close(struct vector_rsp *rsp);

#endif
