/* SPDX-License-Identifier: Apache-2.0 */
#include "vectors.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

int vector_field_from_hex(struct vector_field *field, const char *hex)
{
    /* OPENSSL_hexstr2buf_ex refuses an empty string. */
    if (*hex == '\0') {
        field->len = 0;
        return 1;
    }
    return OPENSSL_hexstr2buf_ex(field->bytes, sizeof field->bytes, &field->len, hex, '\0');
}

static int field_equals(const struct vector_field *field, const unsigned char *bytes, size_t len)
{
    return field->len == len && memcmp(field->bytes, bytes, len) == 0;
}

/* Update, where empty input needs no call. */
static int feed(EVP_CIPHER_CTX *ctx, unsigned char *out, int *len, const struct vector_field *in)
{
    *len = 0;
    return in->len == 0 || EVP_CipherUpdate(ctx, out, len, in->bytes, (int)in->len);
}

enum vector_result vector_gcm(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, const struct vector *v, int encrypt)
{
    const struct vector_field *in = encrypt ? &v->plaintext : &v->ciphertext;
    const struct vector_field *expected = encrypt ? &v->ciphertext : &v->plaintext;
    unsigned char out[VECTOR_MAX_BYTES], tag[16];
    int tag_len = (int)v->tag.len, len, final_len;

    if (!EVP_CipherInit_ex2(ctx, cipher, NULL, NULL, encrypt, NULL) ||
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, (int)v->iv.len, NULL) <= 0 ||
        !EVP_CipherInit_ex2(ctx, NULL, v->key.bytes, v->iv.bytes, encrypt, NULL) ||
        (!encrypt && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, tag_len, (void *)v->tag.bytes) <= 0) ||
        !feed(ctx, NULL, &len, &v->aad) || !feed(ctx, out, &len, in))
        return VECTOR_REFUSED;
    if (!EVP_CipherFinal_ex(ctx, out + len, &final_len))
        return VECTOR_BAD_DATA;
    if (encrypt && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, tag_len, tag) <= 0)
        return VECTOR_REFUSED;
    if (encrypt && memcmp(tag, v->tag.bytes, v->tag.len) != 0)
        return VECTOR_MISMATCH;
    return field_equals(expected, out, (size_t)(len + final_len)) ? VECTOR_MATCH : VECTOR_MISMATCH;
}

enum vector_result vector_cbc(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, const struct vector *v, int encrypt,
                              int padding)
{
    const struct vector_field *in = encrypt ? &v->plaintext : &v->ciphertext;
    const struct vector_field *expected = encrypt ? &v->ciphertext : &v->plaintext;
    unsigned char out[VECTOR_MAX_BYTES + 2 * 16];
    int len, final_len;

    if (!EVP_CipherInit_ex2(ctx, cipher, v->key.bytes, v->iv.bytes, encrypt, NULL) ||
        !EVP_CIPHER_CTX_set_padding(ctx, padding) || !feed(ctx, out, &len, in))
        return VECTOR_REFUSED;
    if (!EVP_CipherFinal_ex(ctx, out + len, &final_len))
        return VECTOR_BAD_DATA;
    return field_equals(expected, out, (size_t)(len + final_len)) ? VECTOR_MATCH : VECTOR_MISMATCH;
}

int vector_rsp_open(struct vector_rsp *rsp, const char *path)
{
    *rsp = (struct vector_rsp){ .file = fopen(path, "r"), .encrypt = -1 };
    return rsp->file != NULL;
}

void vector_rsp_close(struct vector_rsp *rsp)
{
    if (rsp->file != NULL)
        fclose(rsp->file);
    free(rsp->line);
}

/* One "NAME = VALUE" of a record. */
static int set_field(struct vector_rsp *rsp, struct vector *v, const char *name, const char *value)
{
    const struct {
        const char *name;
        struct vector_field *field;
    } fields[] = {
        { "KEY", &v->key },
        { "IV", &v->iv },
        { "AAD", &v->aad },
        { "PT", &v->plaintext },
        { "PLAINTEXT", &v->plaintext },
        { "CT", &v->ciphertext },
        { "CIPHERTEXT", &v->ciphertext },
        { "TAG", &v->tag },
    };

    if (strcasecmp(name, "COUNT") == 0) {
        rsp->count = strtoul(value, NULL, 10);
        return 1;
    }
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (strcasecmp(name, fields[i].name) == 0)
            return vector_field_from_hex(fields[i].field, value);
    return 0;
}

/*
 * A file is lines: # comment, [SECTION], blank, and records such as
 *     COUNT = 0 | KEY = hex | IV = hex | ... | FAIL
 * which a blank line or the end of the file closes.
 */
int vector_rsp_next(struct vector_rsp *rsp, struct vector *v)
{
    int in_record = 0;

    v->key.len = v->iv.len = v->aad.len = v->plaintext.len = v->ciphertext.len = v->tag.len = 0;
    rsp->fail = 0;
    while (getline(&rsp->line, &rsp->line_size, rsp->file) > 0) {
        char *line = rsp->line, *equals;

        line[strcspn(line, "\r\n")] = '\0';
        if (*line == '\0') {
            if (in_record)
                return 1;
        } else if (*line == '[') {
            if (strcmp(line, "[ENCRYPT]") == 0 || strcmp(line, "[DECRYPT]") == 0)
                rsp->encrypt = line[1] == 'E';
        } else if (strcmp(line, "FAIL") == 0) {
            rsp->fail = 1;
        } else if (*line != '#') {
            equals = strchr(line, '=');
            if (equals == NULL || equals == line)
                return -1;
            in_record = 1;
            equals[-1] = '\0'; /* the blank before it */
            if (!set_field(rsp, v, line, equals + 1 + strspn(equals + 1, " ")))
                return -1;
        }
    }
    return in_record;
}
