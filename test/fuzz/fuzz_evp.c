/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is a program of EVP calls, run on aesop and on default, which must answer alike. For libFuzzer build with
 * -DAESOP_FUZZ=ON (clang); the tests run random programs (replay.c). The environment's AESOP_FUZZ_KERNEL forces a
 * kernel.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/params.h>

enum { OURS, ORACLE, SIDES };

#define CIPHERS 6
#define MAX_TEXT 2100
#define MAX_IV 128
#define MAX_VALUE 160 /* bytes of a parameter */
#define FILLING 0xa5

static const char *const cipher_names[CIPHERS] = { "AES-128-GCM", "AES-192-GCM", "AES-256-GCM",
                                                   "AES-128-CBC", "AES-192-CBC", "AES-256-CBC" };

static EVP_CIPHER *ciphers[SIDES][CIPHERS];
static unsigned char pattern[MAX_TEXT + 256]; /* keys, IVs, texts are slices of it */

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
    int partial;  /* bytes may wait for the rest of a block */
    int records;  /* TLS: every update is one record */
    int tag_lost; /* default keeps the header of a record where the tag was */
};

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned next(struct program *p)
{
    return p->code < p->end ? *p->code++ : 0;
}

/* What comes behind would tell nothing: a failure has left its traces, or the two sides differ on purpose. */
static void end_program(struct program *p)
{
    p->code = p->end;
}

static void differs(const struct program *p, const char *what, long ours, long oracle)
{
    fprintf(stderr, "%s %s: %s: aesop %ld, default %ld\n", cipher_names[p->which], p->encrypt ? "encrypt" : "decrypt",
            what, ours, oracle);
    abort();
}

static void agree(const struct program *p, const char *what, const int result[SIDES])
{
    if ((result[OURS] > 0) != (result[ORACLE] > 0))
        differs(p, what, result[OURS], result[ORACLE]);
}

/* Programs look at the newest error. */
static unsigned long take_error(void)
{
    const unsigned long error = ERR_peek_last_error();

    ERR_clear_error();
    return error;
}

static void agree_errors(const struct program *p, const char *what, const unsigned long error[SIDES])
{
    if (error[OURS] != error[ORACLE])
        differs(p, what, ERR_GET_REASON(error[OURS]), ERR_GET_REASON(error[ORACLE]));
}

static void agree_bytes(const struct program *p, const char *what, unsigned char *const bytes[SIDES], size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[OURS][i] != bytes[ORACLE][i])
            differs(p, what, bytes[OURS][i], bytes[ORACLE][i]);
}

/* Bytes that nobody has written: no pattern or keystream has so many of them in a row. */
static void was_written(const struct program *p, const char *what, const unsigned char *bytes, size_t len)
{
    for (size_t i = 0, row = 0; i < len; i++) {
        row = bytes[i] == FILLING ? row + 1 : 0;
        if (row == 6)
            differs(p, what, FILLING, 0);
    }
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

/* Whether what decryption compares with is what default has lost. */
static int tag_missing(const struct program *p)
{
    return is_gcm(p) && !p->encrypt && p->tag_lost;
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
        p->iv_known = p->records = p->tag_lost = 0;
    }
    /* A key schedule is for one direction, so the direction changes with the key alone. */
    if (key != NULL || with_cipher)
        p->encrypt = flags >> 3 & 1;
    for (int side = 0; side < SIDES; side++)
        result[side] = EVP_CipherInit_ex2(p->ctx[side], with_cipher ? ciphers[side][p->which] : NULL, key, iv,
                                          with_cipher || key != NULL ? p->encrypt : -1, NULL);
    agree(p, "init", result);
    if (result[OURS] <= 0)
        end_program(p);
    p->tagged = p->partial = 0;
    if (with_cipher || iv != NULL)
        p->begun = 0;
    p->iv_known |= iv != NULL;
}

static void op_reset(struct program *p)
{
    if (next(p) % 4 != 0)
        return;
    for (int side = 0; side < SIDES; side++)
        EVP_CIPHER_CTX_reset(p->ctx[side]);
    p->has_cipher = p->begun = 0;
}

static void op_iv_length(struct program *p)
{
    int len = (int)(next(p) % (MAX_IV + 2)), result[SIDES];
    unsigned long error[SIDES];

    ERR_clear_error();
    for (int side = 0; side < SIDES; side++) {
        result[side] = EVP_CIPHER_CTX_ctrl(p->ctx[side], EVP_CTRL_AEAD_SET_IVLEN, len, NULL);
        error[side] = take_error();
    }
    agree(p, "set iv length", result);
    agree_errors(p, "error: set iv length", error);
    p->iv_known = 0;
}

static void op_set_tag(struct program *p)
{
    unsigned len = next(p) % 18, slice = next(p);
    int result[SIDES];
    unsigned long error[SIDES];

    /* Both refuse, but default has then overwritten the tag that it had computed. */
    if (p->encrypt)
        return;
    ERR_clear_error();
    for (int side = 0; side < SIDES; side++) {
        result[side] = EVP_CIPHER_CTX_ctrl(p->ctx[side], EVP_CTRL_AEAD_SET_TAG, (int)len, pattern + slice);
        error[side] = take_error();
    }
    agree(p, "set tag", result);
    agree_errors(p, "error: set tag", error);
    p->tag_lost &= result[OURS] <= 0;
}

static void op_get_tag(struct program *p)
{
    unsigned char tag[SIDES][32] = { { 0 } };
    int len = (int)(next(p) % 18), result[SIDES];
    unsigned long error[SIDES];

    /* Default hands out what is left of a tag that was set for another message. */
    if (!p->tagged)
        return;
    ERR_clear_error();
    for (int side = 0; side < SIDES; side++) {
        result[side] = EVP_CIPHER_CTX_ctrl(p->ctx[side], EVP_CTRL_AEAD_GET_TAG, len, tag[side]);
        error[side] = take_error();
    }
    agree(p, "get tag", result);
    agree_errors(p, "error: get tag", error);
    agree_bytes(p, "tag", (unsigned char *const[]){ tag[OURS], tag[ORACLE] }, sizeof tag[0]);
}

/* ---- TLS 1.2 ---- */

/* The field that default makes up where encryption leaves it to the provider: ours gets the same. */
static void share_iv(struct program *p)
{
    unsigned char iv[MAX_IV];

    if (EVP_CIPHER_CTX_get_updated_iv(p->ctx[ORACLE], iv, sizeof iv) <= 0)
        differs(p, "default's iv", 1, 0);
    for (int side = 0; side < SIDES; side++)
        EVP_CIPHER_CTX_ctrl(p->ctx[side], EVP_CTRL_GCM_SET_IV_FIXED, -1, iv);
}

static void op_counting_iv(struct program *p)
{
    static const int commands[] = { EVP_CTRL_GCM_SET_IV_FIXED, EVP_CTRL_GCM_IV_GEN, EVP_CTRL_GCM_SET_IV_INV };
    unsigned kind = next(p), command = kind % 3, slice = next(p);
    int iv_len = EVP_CIPHER_CTX_get_iv_length(p->ctx[ORACLE]), len = kind & 4 ? (command == 0 ? 4 : 8) : kind >> 3;
    unsigned char bytes[SIDES][MAX_IV];
    int result[SIDES];

    /* Beyond its length default writes to other memory. A new length leaves behind what was there. */
    if (!is_gcm(p) || iv_len < 8 || len > iv_len || (command != 0 && !p->iv_known))
        return;
    for (int side = 0; side < SIDES; side++) {
        memcpy(bytes[side], pattern + slice, MAX_IV);
        result[side] = EVP_CIPHER_CTX_ctrl(p->ctx[side], commands[command], len, bytes[side]);
    }
    agree(p, "iv that counts", result);
    if (result[OURS] <= 0)
        return;
    agree_bytes(p, "explicit iv", (unsigned char *const[]){ bytes[OURS], bytes[ORACLE] }, MAX_IV);
    if (command == 0)
        share_iv(p);
    p->iv_known = 1;
    p->begun = command != 0;
}

/* The record whose header is given here comes with it. */
static void op_record(struct program *p)
{
    unsigned char header[13], *in_place[SIDES];
    unsigned len = 8 + 16 + next(p), slice = next(p);
    int result[SIDES], out_len[SIDES] = { 0 }, by_cipher = (int)(slice & 1);

    /* With an IV too short for the counter default writes in front of it. */
    if (!is_gcm(p) || iv_missing(p) || EVP_CIPHER_CTX_get_iv_length(p->ctx[ORACLE]) < 8)
        return;
    memcpy(header, pattern + slice, sizeof header);
    header[11] = (unsigned char)((len - (p->encrypt ? 16 : 0)) >> 8);
    header[12] = (unsigned char)(len - (p->encrypt ? 16 : 0));
    for (int side = 0; side < SIDES; side++)
        result[side] = EVP_CIPHER_CTX_ctrl(p->ctx[side], EVP_CTRL_AEAD_TLS1_AAD, sizeof header, header);
    agree(p, "header of a record", result);
    if (result[OURS] <= 0)
        return;
    p->tag_lost = 1;
    for (int side = 0; side < SIDES; side++) {
        in_place[side] = malloc(len);
        memcpy(in_place[side], pattern + slice, len);
        if (by_cipher)
            result[side] = EVP_Cipher(p->ctx[side], in_place[side], in_place[side], len);
        else
            result[side] = EVP_CipherUpdate(p->ctx[side], in_place[side], &out_len[side], in_place[side], (int)len);
    }
    agree(p, "record", result);
    if (result[OURS] > 0)
        agree_bytes(p, "record's bytes", in_place, len);
    if (result[OURS] != result[ORACLE] || out_len[OURS] != out_len[ORACLE])
        differs(p, "record's length", result[OURS], result[ORACLE]);
    free(in_place[OURS]);
    free(in_place[ORACLE]);
    p->iv_known = p->tagged = p->begun = 0;
}

/* ---- data ---- */

static void op_update(struct program *p)
{
    unsigned kind = next(p), high = next(p), len = (high << 8 | next(p)) % MAX_TEXT;
    int result[SIDES], out_len[SIDES] = { 0 }, associated = kind & 2 && is_gcm(p);
    /* Default writes what waited in front of what it has not yet read. */
    int in_place = !associated && !p->partial && (p->records || kind & 4);
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
        memcpy(in, pattern + (kind >> 3), len);
        memcpy(out[side], in, in_place ? len : 0);
        result[side] = EVP_CipherUpdate(p->ctx[side], associated ? NULL : out[side], &out_len[side],
                                        in_place ? out[side] : in, (int)len);
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
    p->partial = !p->records;
}

/* EVP_Cipher: no bytes wait. Without output it takes associated data, without input it ends a message. */
static void op_cipher(struct program *p)
{
    unsigned kind = next(p), len = (next(p) & 0x7f) + 1;
    unsigned char out[SIDES][160] = { { 0 } };
    const unsigned char *in = kind % 4 == 0 && is_gcm(p) ? NULL : pattern + kind;
    int result[SIDES], associated = kind % 4 == 1 && is_gcm(p);

    if (iv_missing(p) || (in == NULL && tag_missing(p)))
        return;
    /* EVP leaves partial blocks undefined, and default's end behind the buffer. */
    len = in == NULL ? 0 : is_gcm(p) ? len : (len + 15) / 16 * 16;
    for (int side = 0; side < SIDES; side++)
        result[side] = EVP_Cipher(p->ctx[side], associated ? NULL : out[side], in, len);
    if (result[OURS] != result[ORACLE])
        differs(p, "EVP_Cipher", result[OURS], result[ORACLE]);
    p->begun = in != NULL;
    p->tagged = in == NULL && result[OURS] >= 0 && p->encrypt;
    if (result[OURS] < 0)
        end_program(p);
    else
        agree_bytes(p, "EVP_Cipher's bytes", (unsigned char *const[]){ out[OURS], out[ORACLE] }, sizeof out[0]);
}

static void op_final(struct program *p)
{
    unsigned char out[SIDES][32] = { { 0 } };
    int result[SIDES], out_len[SIDES] = { 0 };

    if (iv_missing(p) || tag_missing(p))
        return;
    for (int side = 0; side < SIDES; side++)
        result[side] = EVP_CipherFinal_ex(p->ctx[side], out[side], &out_len[side]);
    agree(p, "final", result);
    if (result[OURS] <= 0) {
        /* Default decrypts on behind a wrong tag, aesop does not. */
        end_program(p);
    } else {
        p->tagged = p->encrypt && is_gcm(p);
        p->partial = p->begun = 0;
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

/* ---- parameters ---- */

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
    for (int side = 0; side < SIDES; side++) {
        len[side] = EVP_CIPHER_CTX_get_iv_length(p->ctx[side]);
        result[side] = updated ? EVP_CIPHER_CTX_get_updated_iv(p->ctx[side], iv[side], (size_t)len[side])
                               : EVP_CIPHER_CTX_get_original_iv(p->ctx[side], iv[side], (size_t)len[side]);
    }
    if (len[OURS] != len[ORACLE])
        differs(p, "iv length", len[OURS], len[ORACLE]);
    if (result[OURS] > 0)
        was_written(p, "iv's bytes", iv[OURS], MAX_IV);
    /* Where there is none, default fails and aesop makes one; where its length has changed, it is worth nothing. */
    if (is_gcm(p) && !p->iv_known) {
        end_program(p);
        return;
    }
    agree(p, "iv", result);
    if (result[OURS] > 0)
        agree_bytes(p, "iv's bytes", (unsigned char *const[]){ iv[OURS], iv[ORACLE] }, MAX_IV);
}

static void op_asn1(struct program *p)
{
    unsigned char *der[SIDES] = { NULL };
    int result[SIDES], len[SIDES];

    /* libcrypto has 16 bytes for it. */
    if (iv_missing(p) || EVP_CIPHER_CTX_get_iv_length(p->ctx[ORACLE]) > EVP_MAX_IV_LENGTH)
        return;
    for (int side = 0; side < SIDES; side++) {
        ASN1_TYPE *type = ASN1_TYPE_new();

        result[side] = EVP_CIPHER_param_to_asn1(p->ctx[side], type);
        len[side] = result[side] > 0 ? i2d_ASN1_TYPE(type, &der[side]) : 0;
        ASN1_TYPE_free(type);
    }
    agree(p, "parameters in ASN.1", result);
    if (len[OURS] != len[ORACLE])
        differs(p, "length in ASN.1", len[OURS], len[ORACLE]);
    agree_bytes(p, "bytes in ASN.1", der, len[OURS] > 0 ? (size_t)len[OURS] : 0);
    OPENSSL_free(der[OURS]);
    OPENSSL_free(der[ORACLE]);
}

/*
 * One parameter of a program's choice: its type, mostly the right one, its size, its value. Not the lengths of IV and
 * tag, nor what the operations above set, of which they keep account.
 */
static OSSL_PARAM choose_param(struct program *p, unsigned char value[MAX_VALUE])
{
    static const char *const numbers[] = { OSSL_CIPHER_PARAM_KEYLEN,
                                           OSSL_CIPHER_PARAM_IVLEN,
                                           OSSL_CIPHER_PARAM_AEAD_TAGLEN,
                                           OSSL_CIPHER_PARAM_PADDING,
                                           OSSL_CIPHER_PARAM_NUM,
                                           OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD,
                                           OSSL_CIPHER_PARAM_TLS_VERSION,
                                           OSSL_CIPHER_PARAM_TLS_MAC_SIZE,
                                           OSSL_CIPHER_PARAM_MODE,
                                           OSSL_CIPHER_PARAM_BLOCK_SIZE,
                                           "nonsense" };
    static const char *const octets[] = { OSSL_CIPHER_PARAM_IV, OSSL_CIPHER_PARAM_UPDATED_IV, "none" };
    static const unsigned char types[] = { OSSL_PARAM_UNSIGNED_INTEGER, OSSL_PARAM_INTEGER, OSSL_PARAM_UTF8_STRING };
    unsigned key = next(p), shape = next(p);
    OSSL_PARAM param = { .data = value, .return_size = OSSL_PARAM_UNMODIFIED };

    memset(value, 0, MAX_VALUE);
    value[0] = (unsigned char)next(p);
    value[1] = (unsigned char)(next(p) % 4);
    if (key & 1) {
        param.key = octets[key / 2 % 3];
        param.data_type = shape & 1 ? OSSL_PARAM_OCTET_STRING : types[shape / 2 % 3];
        param.data_size = shape & 8 ? MAX_IV : shape / 16;
    } else {
        param.key = numbers[key / 2 % 11];
        param.data_type = types[shape % 4 == 3 ? 2 : shape & 1];
        param.data_size = shape & 8 ? 8 : 4;
    }
    return param;
}

static void op_set_param(struct program *p)
{
    unsigned char value[MAX_VALUE];
    const OSSL_PARAM params[] = { choose_param(p, value), OSSL_PARAM_END };
    int result[SIDES];

    /*
     * default: 3.5 bounds "num", which means nothing; the key's length of GCM was once not looked at. What libssl sets,
     * it sets before any data.
     */
    if (strcmp(params[0].key, OSSL_CIPHER_PARAM_NUM) == 0 || strcmp(params[0].key, OSSL_CIPHER_PARAM_KEYLEN) == 0 ||
        (p->partial && strncmp(params[0].key, "tls", 3) == 0))
        return;
    for (int side = 0; side < SIDES; side++)
        result[side] = EVP_CIPHER_CTX_set_params(p->ctx[side], params);
    agree(p, "set a parameter", result);
    if (result[OURS] <= 0)
        return;
    if (strcmp(params[0].key, OSSL_CIPHER_PARAM_IVLEN) == 0)
        p->iv_known = !is_gcm(p);
    if (strcmp(params[0].key, OSSL_CIPHER_PARAM_TLS_VERSION) == 0)
        p->records = !is_gcm(p) && (value[0] | value[1]) != 0;
}

static void op_get_param(struct program *p)
{
    unsigned char value[SIDES][MAX_VALUE];
    const uint8_t *code = p->code;
    OSSL_PARAM params[SIDES][2];
    int result[SIDES];

    for (int side = 0; side < SIDES; side++) {
        p->code = code;
        params[side][0] = choose_param(p, value[side]);
        params[side][1] = (OSSL_PARAM)OSSL_PARAM_END;
    }
    if (iv_missing(p) || (is_gcm(p) && !p->iv_known))
        return;
    for (int side = 0; side < SIDES; side++)
        result[side] = EVP_CIPHER_CTX_get_params(p->ctx[side], params[side]);
    agree(p, "get a parameter", result);
    if (result[OURS] <= 0)
        return;
    if (params[OURS][0].return_size != params[ORACLE][0].return_size)
        differs(p, "a parameter's size", (long)params[OURS][0].return_size, (long)params[ORACLE][0].return_size);
    agree_bytes(p, "a parameter's bytes", (unsigned char *const[]){ value[OURS], value[ORACLE] }, MAX_VALUE);
}

static void (*const ops[])(struct program *) = {
    op_init,  op_init,        op_update,  op_update,  op_update,    op_final,     op_cipher,
    op_reset, op_counting_iv, op_set_tag, op_get_tag, op_iv_length, op_copy,      op_padding,
    op_ask,   op_counting_iv, op_asn1,    op_record,  op_set_param, op_get_param,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct program p = { .code = data, .end = data + size };

    ERR_clear_error();
    for (int side = 0; side < SIDES; side++)
        p.ctx[side] = EVP_CIPHER_CTX_new();
    while (p.code < p.end) {
        if (p.has_cipher)
            ops[next(&p) % (sizeof ops / sizeof ops[0])](&p);
        else
            op_init(&p);
    }
    for (int side = 0; side < SIDES; side++)
        EVP_CIPHER_CTX_free(p.ctx[side]);
    return 0;
}

/* Memory that nobody has written to shows in what comes out. */
static void *filled_malloc(size_t size, const char *file, int line)
{
    void *memory = malloc(size);

    (void)file, (void)line;
    return memory != NULL ? memset(memory, FILLING, size) : NULL;
}

static void *filled_realloc(void *memory, size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return realloc(memory, size);
}

static void filled_free(void *memory, const char *file, int line)
{
    (void)file, (void)line;
    free(memory);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static OSSL_LIB_CTX *libctx[SIDES];
    const char *kernel = getenv("AESOP_FUZZ_KERNEL");
    struct support_random random;

    (void)argc;
    (void)argv;
    if (!support_cpu_runs(kernel != NULL ? kernel : "aesni")) {
        printf("left out: this CPU cannot run it\n");
        exit(SUPPORT_EXIT_SKIPPED);
    }
    if (!CRYPTO_set_mem_functions(filled_malloc, filled_realloc, filled_free))
        exit(1);
    libctx[OURS] = support_ctx_aesop(kernel);
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
