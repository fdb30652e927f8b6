/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: the input is a program of EVP calls, run on aesop and on default, which must answer alike.
 * Build with -DAESOP_FUZZ=ON (clang); the environment's AESOP_FUZZ_KERNEL forces a kernel.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>

enum { OURS, ORACLE, SIDES };

#define CIPHERS 6
#define MAX_TEXT 2100
#define MAX_IV 128

static const char *const cipher_names[CIPHERS] = { "AES-128-GCM", "AES-192-GCM", "AES-256-GCM",
                                                   "AES-128-CBC", "AES-192-CBC", "AES-256-CBC" };

static EVP_CIPHER *ciphers[SIDES][CIPHERS];
static unsigned char pattern[MAX_TEXT + 64]; /* keys, IVs, texts are slices of it */

/* The running program. */
struct program {
    const uint8_t *code, *end;
    EVP_CIPHER_CTX *ctx[SIDES];
    unsigned which;
    int encrypt;
    int has_cipher;
    int tagged;   /* an encryption has ended since init */
    int begun;    /* data went in since the last IV */
    int iv_known; /* otherwise GCM encrypts with an IV of each side's own making */
};

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned next(struct program *p)
{
    return p->code < p->end ? *p->code++ : 0;
}

static void differs(const struct program *p, const char *what, int ours, int oracle)
{
    fprintf(stderr, "%s %s: %s: aesop %d, default %d\n", cipher_names[p->which], p->encrypt ? "encrypt" : "decrypt",
            what, ours, oracle);
    abort();
}

static void agree(const struct program *p, const char *what, const int result[SIDES])
{
    if ((result[OURS] > 0) != (result[ORACLE] > 0))
        differs(p, what, result[OURS], result[ORACLE]);
}

static void agree_bytes(const struct program *p, const char *what, unsigned char *const bytes[SIDES], size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[OURS][i] != bytes[ORACLE][i])
            differs(p, what, bytes[OURS][i], bytes[ORACLE][i]);
}

static int is_gcm(const struct program *p)
{
    return p->which < CIPHERS / 2;
}

/* Whether what comes next would be random. */
static int iv_missing(const struct program *p)
{
    return is_gcm(p) && p->encrypt && !p->iv_known;
}

static void op_init(struct program *p)
{
    unsigned flags = next(p), slice = next(p) % 32;
    const unsigned char *key = flags & 2 ? pattern + slice : NULL, *iv = flags & 4 ? pattern + 2 * slice : NULL;
    int result[SIDES], with_cipher = flags & 1 || !p->has_cipher;

    /* A new key alone in the middle of a message: default goes on with a counter of zero. Nobody may want that. */
    if (p->begun && key != NULL && iv == NULL)
        iv = pattern;
    if (with_cipher) {
        p->which = next(p) % CIPHERS;
        p->has_cipher = 1;
        p->iv_known = 0;
    }
    /* A key schedule is for one direction, so the direction changes with the key alone. */
    if (key != NULL || with_cipher)
        p->encrypt = flags >> 3 & 1;
    for (int side = 0; side < SIDES; side++)
        result[side] =
            EVP_CipherInit_ex2(p->ctx[side], with_cipher ? ciphers[side][p->which] : NULL, key, iv, p->encrypt, NULL);
    agree(p, "init", result);
    p->tagged = 0;
    if (with_cipher || iv != NULL)
        p->begun = 0;
    p->iv_known |= iv != NULL && result[OURS] > 0;
}

static void op_iv_length(struct program *p)
{
    int len = (int)(next(p) % (MAX_IV + 2)), result[SIDES];

    for (int side = 0; side < SIDES; side++)
        result[side] = EVP_CIPHER_CTX_ctrl(p->ctx[side], EVP_CTRL_AEAD_SET_IVLEN, len, NULL);
    agree(p, "set iv length", result);
    p->iv_known = 0;
}

static void op_set_tag(struct program *p)
{
    unsigned len = next(p) % 18, slice = next(p);
    int result[SIDES];

    /* Both refuse, but default has then overwritten the tag that it had computed. */
    if (p->encrypt)
        return;
    for (int side = 0; side < SIDES; side++)
        result[side] = EVP_CIPHER_CTX_ctrl(p->ctx[side], EVP_CTRL_AEAD_SET_TAG, (int)len, pattern + slice);
    agree(p, "set tag", result);
}

static void op_get_tag(struct program *p)
{
    unsigned char tag[SIDES][32] = { { 0 } };
    int len = (int)(next(p) % 18), result[SIDES];

    /* Default hands out what is left of a tag that was set for another message. */
    if (!p->tagged)
        return;
    for (int side = 0; side < SIDES; side++)
        result[side] = EVP_CIPHER_CTX_ctrl(p->ctx[side], EVP_CTRL_AEAD_GET_TAG, len, tag[side]);
    agree(p, "get tag", result);
    agree_bytes(p, "tag", (unsigned char *const[]){ tag[OURS], tag[ORACLE] }, sizeof tag[0]);
}

static void op_update(struct program *p)
{
    unsigned kind = next(p), high = next(p), len = (high << 8 | next(p)) % MAX_TEXT;
    int result[SIDES], out_len[SIDES] = { 0 };
    unsigned char *out[SIDES];

    if (kind & 1)
        len %= 64;
    if (iv_missing(p))
        return;
    p->begun = 1;
    /* From the heap and of the right size, for AddressSanitizer. */
    for (int side = 0; side < SIDES; side++) {
        unsigned char *in = malloc(len + 1);

        out[side] = calloc(1, len + 16);
        memcpy(in, pattern + (kind >> 2), len);
        result[side] =
            EVP_CipherUpdate(p->ctx[side], kind & 2 && is_gcm(p) ? NULL : out[side], &out_len[side], in, (int)len);
        free(in);
    }
    agree(p, "update", result);
    if (result[OURS] > 0) {
        if (out_len[OURS] != out_len[ORACLE])
            differs(p, "update's length", out_len[OURS], out_len[ORACLE]);
        agree_bytes(p, "update's bytes", out, len + 16);
    }
    free(out[OURS]);
    free(out[ORACLE]);
}

static void op_final(struct program *p)
{
    unsigned char out[SIDES][32] = { { 0 } };
    int result[SIDES], out_len[SIDES] = { 0 };

    if (iv_missing(p))
        return;
    for (int side = 0; side < SIDES; side++)
        result[side] = EVP_CipherFinal_ex(p->ctx[side], out[side], &out_len[side]);
    agree(p, "final", result);
    if (result[OURS] <= 0) {
        /* Default decrypts on behind a wrong tag, aesop does not: the program ends. */
        p->code = p->end;
    } else {
        p->tagged = p->encrypt && is_gcm(p);
        if (out_len[OURS] != out_len[ORACLE])
            differs(p, "final's length", out_len[OURS], out_len[ORACLE]);
        agree_bytes(p, "final's bytes", (unsigned char *const[]){ out[OURS], out[ORACLE] }, sizeof out[0]);
    }
}

static void op_copy(struct program *p)
{
    for (int side = 0; side < SIDES; side++) {
        EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();

        if (!EVP_CIPHER_CTX_copy(copy, p->ctx[side]))
            differs(p, "copy", side, 0);
        EVP_CIPHER_CTX_free(p->ctx[side]);
        p->ctx[side] = copy;
    }
}

static void op_padding(struct program *p)
{
    int padding = (int)(next(p) % 2), result[SIDES];

    for (int side = 0; side < SIDES; side++)
        result[side] = EVP_CIPHER_CTX_set_padding(p->ctx[side], padding);
    agree(p, "set padding", result);
}

static void op_ask(struct program *p)
{
    unsigned char iv[SIDES][MAX_IV] = { { 0 } };
    int result[SIDES], len[SIDES], updated = (int)(next(p) % 2);

    /* Before there is an IV, default fails and aesop answers. */
    if (is_gcm(p) && !p->iv_known)
        return;
    for (int side = 0; side < SIDES; side++) {
        len[side] = EVP_CIPHER_CTX_get_iv_length(p->ctx[side]);
        result[side] = updated ? EVP_CIPHER_CTX_get_updated_iv(p->ctx[side], iv[side], (size_t)len[side])
                               : EVP_CIPHER_CTX_get_original_iv(p->ctx[side], iv[side], (size_t)len[side]);
    }
    if (len[OURS] != len[ORACLE])
        differs(p, "iv length", len[OURS], len[ORACLE]);
    agree(p, "iv", result);
    if (result[OURS] > 0)
        agree_bytes(p, "iv's bytes", (unsigned char *const[]){ iv[OURS], iv[ORACLE] }, MAX_IV);
}

static void (*const ops[])(struct program *) = {
    op_init,    op_init,    op_update,    op_update, op_update,  op_final,
    op_set_tag, op_get_tag, op_iv_length, op_copy,   op_padding, op_ask,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct program p = { .code = data, .end = data + size };

    ERR_clear_error();
    for (int side = 0; side < SIDES; side++)
        p.ctx[side] = EVP_CIPHER_CTX_new();
    op_init(&p);
    while (p.code < p.end)
        ops[next(&p) % (sizeof ops / sizeof ops[0])](&p);
    for (int side = 0; side < SIDES; side++)
        EVP_CIPHER_CTX_free(p.ctx[side]);
    return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static OSSL_LIB_CTX *libctx[SIDES];
    struct support_random random;

    (void)argc;
    (void)argv;
    libctx[OURS] = support_ctx_aesop(getenv("AESOP_FUZZ_KERNEL"));
    libctx[ORACLE] = support_ctx_default();
    support_random_seed(&random, 1);
    support_random_bytes(&random, pattern, sizeof pattern);
    for (int side = 0; side < SIDES; side++)
        for (int i = 0; i < CIPHERS; i++) {
            ciphers[side][i] =
                EVP_CIPHER_fetch(libctx[side], cipher_names[i], side == OURS ? "provider=aesop" : "provider=default");
            if (libctx[side] == NULL || ciphers[side][i] == NULL) {
                ERR_print_errors_fp(stderr);
                exit(1);
            }
        }
    return 0;
}
