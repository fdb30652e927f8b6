/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fuzz target: the input is a cipher, then a list of EVP calls, | call | argument | length | ..., that aesop and
 * default both carry out. Every return value, length and byte has to be the same on both sides.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { TEXT_MAX = 4096, SLACK = 64, OUT_MAX = TEXT_MAX + SLACK, SIDES = 2, IV_MAX = 128, TLS_AAD = 13, TAG_MAX = 16 };

static const char *const names[] = { "AES-128-GCM", "AES-192-GCM", "AES-256-GCM",
                                     "AES-128-CBC", "AES-192-CBC", "AES-256-CBC" };
enum { NAMES = sizeof names / sizeof *names };

static EVP_CIPHER *ciphers[NAMES][SIDES];
/* Keys, IVs and text are taken from here: what they hold is not what the fuzzer is to find out. */
static unsigned char material[OUT_MAX];

struct side {
    EVP_CIPHER_CTX *ctx;
    EVP_CIPHER *cipher;
    unsigned char out[OUT_MAX];
    int out_len;
};

struct step {
    unsigned arg, len; /* arg 0..255, len 0..TEXT_MAX */
};

/*
 * Bits of arg: 0 to encrypt, 1 to pass a cipher, 2 a key, 3 an IV. A cipher comes with an IV, since it empties the
 * context, and GCM without any IV makes a random one.
 */
static int step_init(struct side *s, const struct step *step)
{
    const unsigned char *key = (step->arg & 4) != 0 ? material + step->len % 8 : NULL;
    const unsigned char *iv = (step->arg & (2 | 8)) != 0 ? material + SLACK : NULL;

    return EVP_CipherInit_ex2(s->ctx, (step->arg & 2) != 0 ? s->cipher : NULL, key, iv, (int)(step->arg & 1), NULL);
}

static int step_update(struct side *s, const struct step *step)
{
    int shift = (int)(step->arg % SLACK);

    return EVP_CipherUpdate(s->ctx, s->out, &s->out_len, material + shift, (int)step->len);
}

static int step_update_in_place(struct side *s, const struct step *step)
{
    memcpy(s->out, material + step->arg % SLACK, step->len);
    return EVP_CipherUpdate(s->ctx, s->out, &s->out_len, s->out, (int)step->len);
}

static int step_aad(struct side *s, const struct step *step)
{
    int aad_len;

    if ((EVP_CIPHER_get_flags(s->cipher) & EVP_CIPH_FLAG_AEAD_CIPHER) == 0)
        return 1; /* EVP writes CBC's output to the NULL */
    return EVP_CipherUpdate(s->ctx, NULL, &aad_len, material + step->arg % SLACK, (int)step->len) == 1 ? 1 + aad_len
                                                                                                       : 0;
}

static int step_final(struct side *s, const struct step *step)
{
    (void)step;
    return EVP_CipherFinal_ex(s->ctx, s->out, &s->out_len);
}

static int step_cipher(struct side *s, const struct step *step)
{
    return EVP_Cipher(s->ctx, s->out, material + step->arg % SLACK, step->len & ~15U);
}

static int step_get_tag(struct side *s, const struct step *step)
{
    s->out_len = (int)step->arg % (TAG_MAX + 1);
    return EVP_CIPHER_CTX_ctrl(s->ctx, EVP_CTRL_AEAD_GET_TAG, s->out_len, s->out);
}

static int step_set_tag(struct side *s, const struct step *step)
{
    return EVP_CIPHER_CTX_ctrl(s->ctx, EVP_CTRL_AEAD_SET_TAG, (int)step->arg % (TAG_MAX + 2), material);
}

static int step_iv_length(struct side *s, const struct step *step)
{
    return EVP_CIPHER_CTX_ctrl(s->ctx, EVP_CTRL_AEAD_SET_IVLEN, (int)step->arg % (IV_MAX + 2), NULL) == 1 &&
           EVP_CipherInit_ex2(s->ctx, NULL, NULL, material + step->len % SLACK, -1, NULL) == 1;
}

static int step_padding(struct side *s, const struct step *step)
{
    return EVP_CIPHER_CTX_set_padding(s->ctx, (int)step->arg & 1);
}

static int step_get_iv(struct side *s, const struct step *step)
{
    s->out_len = EVP_CIPHER_CTX_get_iv_length(s->ctx);
    return (step->arg & 1) != 0 ? EVP_CIPHER_CTX_get_updated_iv(s->ctx, s->out, IV_MAX)
                                : EVP_CIPHER_CTX_get_original_iv(s->ctx, s->out, IV_MAX);
}

static int step_copy(struct side *s, const struct step *step)
{
    EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
    int ok = EVP_CIPHER_CTX_copy(copy, s->ctx);

    (void)step;
    EVP_CIPHER_CTX_free(s->ctx);
    s->ctx = copy;
    return ok;
}

/* The whole IV is given; otherwise the rest of it would be random. */
static int step_tls_iv(struct side *s, const struct step *step)
{
    return EVP_CIPHER_CTX_ctrl(s->ctx, EVP_CTRL_GCM_SET_IV_FIXED, -1, material + step->arg % SLACK);
}

static int step_tls_record(struct side *s, const struct step *step)
{
    unsigned char aad[TLS_AAD];

    memcpy(aad, material, TLS_AAD);
    aad[11] = (unsigned char)(step->len >> 8);
    aad[12] = (unsigned char)step->len;
    memcpy(s->out, material + step->arg % SLACK, step->len);
    if (EVP_CIPHER_CTX_ctrl(s->ctx, EVP_CTRL_AEAD_TLS1_AAD, TLS_AAD, aad) <= 0)
        return 0;
    s->out_len = EVP_Cipher(s->ctx, s->out, s->out, step->len);
    return s->out_len;
}

static int (*const steps[])(struct side *s, const struct step *step) = {
    step_init,    step_update,    step_update_in_place, step_aad,    step_final, step_cipher, step_get_tag,
    step_set_tag, step_iv_length, step_padding,         step_get_iv, step_copy,  step_tls_iv, step_tls_record,
};
enum { STEPS = sizeof steps / sizeof *steps };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    OSSL_LIB_CTX *ctx[SIDES] = { support_ctx_aesop(getenv("AESOP_FUZZ_KERNEL")), support_ctx_default() };
    static const char *const providers[SIDES] = { "aesop", "default" };
    struct support_random random;

    (void)argc;
    (void)argv;
    support_random_seed(&random, 1);
    support_random_bytes(&random, material, sizeof material);
    for (int i = 0; i < NAMES; i++)
        for (int j = 0; j < SIDES; j++)
            if (ctx[j] == NULL || (ciphers[i][j] = support_fetch(ctx[j], names[i], providers[j])) == NULL)
                abort();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct side sides[SIDES];
    int i, ok = 1;

    if (size == 0)
        return 0;
    for (i = 0; i < SIDES; i++) {
        sides[i].ctx = EVP_CIPHER_CTX_new();
        sides[i].cipher = ciphers[data[0] % NAMES][i];
        step_init(&sides[i], &(struct step){ .arg = 14 | (data[0] >> 7), .len = 0 });
    }
    /* After a failure a context is in no state that anybody promised. */
    for (size_t at = 1; ok && size - at >= 4; at += 4) {
        const struct step step = { .arg = data[at + 1],
                                   .len = (data[at + 2] | (unsigned)data[at + 3] << 8) % (TEXT_MAX + 1) };
        int result[SIDES];

        for (i = 0; i < SIDES; i++) {
            memset(sides[i].out, 0, sizeof sides[i].out);
            sides[i].out_len = 0;
            result[i] = steps[data[at] % STEPS](&sides[i], &step);
        }
        ok = result[0] > 0;
        if (result[0] != result[1] ||
            (ok && (sides[0].out_len != sides[1].out_len || memcmp(sides[0].out, sides[1].out, OUT_MAX) != 0))) {
            fprintf(stderr, "%s, call %zu (kind %d, argument %u, length %u): returned %d, default %d; length %d, %d\n",
                    names[data[0] % NAMES], at / 4, data[at] % STEPS, step.arg, step.len, result[0], result[1],
                    sides[0].out_len, sides[1].out_len);
            abort();
        }
    }
    for (i = 0; i < SIDES; i++)
        EVP_CIPHER_CTX_free(sides[i].ctx);
    return 0;
}
