/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The EVP contract of AES-GCM, compared with the default provider.
 *
 * Most of it is told by scripts: words of the form verb[:argument]result, one EVP call each, where the result is
 *   +  success, with the error queue empty
 *   -  failure, with an error in the queue
 *   !  failure, with the error queue empty (a wrong tag, or none, and nothing else)
 *   ?  whatever default does
 * A script runs against aesop and default. Lengths and bytes that the calls return are logged; both logs must agree.
 * Messages and their tags: `text` takes the next bytes of one plaintext (decrypting: of its ciphertext), `settag`
 * sets the tag of 13 bytes of associated data and 32 of text under key 0 and IV 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/aes.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/provider.h>

#include "check.h"
#include "provider/core.h"
#include "support.h"

enum {
    KEYS = 2,
    IVS = 3,
    IV_MAX = 128,
    IV_DEFAULT = 12,
    TAG_MAX = 16,
    TEXT_MAX = 512,
    STANDARD_AAD = 13,
    STANDARD_TEXT = 32,
    EXPLICIT_IV = 8,
    FIXED_IV = 4
};

static const char *const names[] = { "AES-128-GCM", "AES-192-GCM", "AES-256-GCM" };
enum { NAMES = sizeof names / sizeof *names };

static OSSL_LIB_CTX *ours, *theirs;

/* What scripts work on; the same for every key size but for the last two. */
static struct {
    unsigned char key[KEYS][32], iv[IVS][IV_MAX], aad[64], plain[TEXT_MAX];
    unsigned char cipher[TEXT_MAX], tag[TAG_MAX];
} material;

static int suite_open(void)
{
    struct support_random random;

    support_random_seed(&random, support_seed());
    support_random_bytes(&random, &material, sizeof material);
    ours = support_ctx_chosen();
    theirs = support_ctx_default();
    return ours == NULL || theirs == NULL;
}

static int suite_close(void)
{
    support_ctx_free(ours);
    support_ctx_free(theirs);
    return 0;
}

/* ---- short forms of EVP calls ---- */

static int set_octets(EVP_CIPHER_CTX *ctx, const char *name, const void *octets, size_t len)
{
    OSSL_PARAM params[] = { OSSL_PARAM_construct_octet_string(name, (void *)octets, len), OSSL_PARAM_END };

    return EVP_CIPHER_CTX_set_params(ctx, params);
}

static int get_octets(EVP_CIPHER_CTX *ctx, const char *name, void *octets, size_t *len)
{
    OSSL_PARAM params[] = { OSSL_PARAM_construct_octet_string(name, octets, *len), OSSL_PARAM_END };
    int ok = EVP_CIPHER_CTX_get_params(ctx, params);

    *len = params[0].return_size;
    return ok;
}

static int set_size(EVP_CIPHER_CTX *ctx, const char *name, size_t value)
{
    OSSL_PARAM params[] = { OSSL_PARAM_construct_size_t(name, &value), OSSL_PARAM_END };

    return EVP_CIPHER_CTX_set_params(ctx, params);
}

/* (size_t)-1 where it cannot be got. */
static size_t get_size(EVP_CIPHER_CTX *ctx, const char *name)
{
    size_t value = 0;
    OSSL_PARAM params[] = { OSSL_PARAM_construct_size_t(name, &value), OSSL_PARAM_END };

    return EVP_CIPHER_CTX_get_params(ctx, params) ? value : (size_t)-1;
}

static int set_iv_len(EVP_CIPHER_CTX *ctx, size_t len)
{
    return set_size(ctx, OSSL_CIPHER_PARAM_AEAD_IVLEN, len);
}

static int get_tag(EVP_CIPHER_CTX *ctx, unsigned char *tag, size_t len)
{
    size_t got = len;

    return get_octets(ctx, OSSL_CIPHER_PARAM_AEAD_TAG, tag, &got) && got == len;
}

static int set_tag(EVP_CIPHER_CTX *ctx, const unsigned char *tag, size_t len)
{
    return set_octets(ctx, OSSL_CIPHER_PARAM_AEAD_TAG, tag, len);
}

static EVP_CIPHER_CTX *new_ctx(const EVP_CIPHER *cipher, const unsigned char *key, const unsigned char *iv, int enc)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();

    if (ctx != NULL && !EVP_CipherInit_ex2(ctx, cipher, key, iv, enc, NULL)) {
        EVP_CIPHER_CTX_free(ctx);
        ctx = NULL;
    }
    CU_ASSERT_PTR_NOT_NULL(ctx);
    return ctx;
}

static int update(EVP_CIPHER_CTX *ctx, unsigned char *out, const unsigned char *in, size_t len)
{
    int out_len = -1;

    return EVP_CipherUpdate(ctx, out, &out_len, in, (int)len) && out_len == (int)len;
}

static int final(EVP_CIPHER_CTX *ctx)
{
    unsigned char out[16];
    int out_len = -1;

    return EVP_CipherFinal_ex(ctx, out, &out_len) && out_len == 0;
}

/* Associated data, text, final. */
static int message(EVP_CIPHER_CTX *ctx, unsigned char *out, const unsigned char *in, size_t len)
{
    return update(ctx, NULL, material.aad, STANDARD_AAD) && update(ctx, out, in, len) && final(ctx);
}

/* Has default make the standard message of this key size. */
static int standard_message(const char *name)
{
    EVP_CIPHER *cipher = support_fetch(theirs, name, "default");
    EVP_CIPHER_CTX *ctx = new_ctx(cipher, material.key[0], material.iv[0], 1);
    int ok = ctx != NULL && message(ctx, material.cipher, material.plain, STANDARD_TEXT) &&
             get_tag(ctx, material.tag, TAG_MAX) &&
             /* and once more for the ciphertext of what scripts say beyond */
             EVP_CipherInit_ex2(ctx, NULL, NULL, material.iv[0], 1, NULL) &&
             message(ctx, material.cipher, material.plain, TEXT_MAX);

    CU_ASSERT(ok);
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
    return ok;
}

/* ---- scripts ---- */

struct run {
    EVP_CIPHER_CTX *ctx;
    const EVP_CIPHER *cipher;
    size_t position, aad_position; /* in the text and the associated data of the message */
    char log[8192];
    size_t log_len;
};

static void log_bytes(struct run *r, const unsigned char *p, size_t len)
{
    for (size_t i = 0; i < len && r->log_len + 3 < sizeof r->log; i++)
        r->log_len += (size_t)snprintf(r->log + r->log_len, sizeof r->log - r->log_len, "%02x", p[i]);
}

static void log_number(struct run *r, long n)
{
    if (r->log_len + 24 < sizeof r->log)
        r->log_len += (size_t)snprintf(r->log + r->log_len, sizeof r->log - r->log_len, " %ld ", n);
}

static int init(struct run *r, const EVP_CIPHER *cipher, const unsigned char *key, const unsigned char *iv, int enc,
                const OSSL_PARAM params[])
{
    r->position = r->aad_position = 0;
    return EVP_CipherInit_ex2(r->ctx, cipher, key, iv, enc, params);
}

static int word_enc(struct run *r, long arg)
{
    (void)arg;
    return init(r, r->cipher, NULL, NULL, 1, NULL);
}

static int word_dec(struct run *r, long arg)
{
    (void)arg;
    return init(r, r->cipher, NULL, NULL, 0, NULL);
}

static int word_direction(struct run *r, long arg)
{
    return init(r, NULL, NULL, NULL, (int)arg, NULL);
}

static int word_key(struct run *r, long arg)
{
    return init(r, NULL, material.key[arg], NULL, -1, NULL);
}

static int word_iv(struct run *r, long arg)
{
    return init(r, NULL, NULL, material.iv[arg], -1, NULL);
}

static int word_keyiv(struct run *r, long arg)
{
    return init(r, NULL, material.key[arg], material.iv[arg], -1, NULL);
}

/* Passing the cipher makes EVP free the context and make another. */
static int word_anew(struct run *r, long arg)
{
    return init(r, r->cipher, material.key[arg], material.iv[arg], -1, NULL);
}

static int word_none(struct run *r, long arg)
{
    (void)arg;
    return EVP_CipherInit_ex2(r->ctx, NULL, NULL, NULL, -1, NULL);
}

static int word_ivlen(struct run *r, long arg)
{
    return set_iv_len(r->ctx, (size_t)arg);
}

/* Key, IV and the IV's length in one call: EVP hands the length down twice (#22613). */
static int word_init_ivlen(struct run *r, long arg)
{
    size_t len = (size_t)arg;
    OSSL_PARAM params[] = { OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_AEAD_IVLEN, &len), OSSL_PARAM_END };

    return init(r, r->cipher, material.key[0], material.iv[0], -1, params);
}

static int log_update(struct run *r, const unsigned char *out, int ok, int out_len)
{
    log_number(r, ok ? out_len : -1);
    if (ok && out != NULL && out_len > 0)
        log_bytes(r, out, (size_t)out_len);
    return ok;
}

static const unsigned char *next_aad(struct run *r, long len)
{
    const unsigned char *aad = material.aad + r->aad_position;

    r->aad_position += (size_t)len;
    return aad;
}

static int word_aad(struct run *r, long arg)
{
    int out_len = -1;
    int ok = EVP_CipherUpdate(r->ctx, NULL, &out_len, next_aad(r, arg), (int)arg);

    return log_update(r, NULL, ok, out_len);
}

static const unsigned char *next_text(struct run *r, long len)
{
    const unsigned char *text = EVP_CIPHER_CTX_is_encrypting(r->ctx) ? material.plain : material.cipher;

    text += r->position;
    r->position += (size_t)len;
    return text;
}

static int word_text(struct run *r, long arg)
{
    unsigned char out[TEXT_MAX];
    int out_len = -1;
    int ok = EVP_CipherUpdate(r->ctx, out, &out_len, next_text(r, arg), (int)arg);

    return log_update(r, out, ok, out_len);
}

static int word_nothing(struct run *r, long arg)
{
    unsigned char out[16];
    int out_len = -1;
    int ok = EVP_CipherUpdate(r->ctx, arg ? out : NULL, &out_len, NULL, 0);

    return log_update(r, out, ok, out_len);
}

/* A length without bytes, as programs tell it to CCM; for associated data where arg is 0. */
static int word_length(struct run *r, long arg)
{
    unsigned char out[32];
    int out_len = -1;
    int ok = EVP_CipherUpdate(r->ctx, arg ? out : NULL, &out_len, NULL, sizeof out);

    return log_update(r, out, ok, out_len);
}

static int word_final(struct run *r, long arg)
{
    unsigned char out[16];
    int out_len = -1;
    int ok = EVP_CipherFinal_ex(r->ctx, out, &out_len);

    (void)arg;
    r->position = r->aad_position = 0;
    return log_update(r, out, ok, out_len);
}

static int log_octets(struct run *r, const char *name, long len)
{
    unsigned char octets[256] = { 0 };
    size_t got = (size_t)len;
    int ok = get_octets(r->ctx, name, octets, &got);

    if (ok) {
        log_number(r, (long)got);
        log_bytes(r, octets, got);
    }
    return ok;
}

static int word_tag(struct run *r, long arg)
{
    return log_octets(r, OSSL_CIPHER_PARAM_AEAD_TAG, arg);
}

static int word_settag(struct run *r, long arg)
{
    return set_tag(r->ctx, material.tag, (size_t)arg);
}

static int word_badtag(struct run *r, long arg)
{
    unsigned char tag[TAG_MAX];

    memcpy(tag, material.tag, TAG_MAX);
    tag[arg - 1] ^= 0x01;
    return set_tag(r->ctx, tag, (size_t)arg);
}

static int word_nulltag(struct run *r, long arg)
{
    return set_tag(r->ctx, NULL, (size_t)arg);
}

static int word_getiv(struct run *r, long arg)
{
    return log_octets(r, OSSL_CIPHER_PARAM_IV, arg);
}

static int word_getuiv(struct run *r, long arg)
{
    return log_octets(r, OSSL_CIPHER_PARAM_UPDATED_IV, arg);
}

/* The same two as pointers. */
static int word_ptriv(struct run *r, long arg)
{
    static const char *const which[] = { OSSL_CIPHER_PARAM_IV, OSSL_CIPHER_PARAM_UPDATED_IV };
    void *octets = NULL;
    OSSL_PARAM params[] = { OSSL_PARAM_construct_octet_ptr(which[arg], &octets, IV_MAX), OSSL_PARAM_END };
    int ok = EVP_CIPHER_CTX_get_params(r->ctx, params);

    if (ok && octets != NULL) {
        log_number(r, (long)params[0].return_size);
        log_bytes(r, octets, params[0].return_size);
    }
    return ok;
}

static int word_lengths(struct run *r, long arg)
{
    (void)arg;
    log_number(r, EVP_CIPHER_CTX_get_key_length(r->ctx));
    log_number(r, EVP_CIPHER_CTX_get_iv_length(r->ctx));
    log_number(r, EVP_CIPHER_CTX_get_tag_length(r->ctx));
    log_number(r, EVP_CIPHER_CTX_get_block_size(r->ctx));
    return 1;
}

static int word_keylen(struct run *r, long arg)
{
    return set_size(r->ctx, OSSL_CIPHER_PARAM_KEYLEN, (size_t)arg);
}

static int word_setkeylen(struct run *r, long arg)
{
    return EVP_CIPHER_CTX_set_key_length(r->ctx, (int)arg) > 0;
}

/* A parameter that nobody knows, or none at all. */
static int word_unknown(struct run *r, long arg)
{
    int value = 1;
    OSSL_PARAM params[] = { OSSL_PARAM_construct_int("tagged", &value), OSSL_PARAM_END };

    return EVP_CIPHER_CTX_set_params(r->ctx, arg ? NULL : params) &&
           EVP_CIPHER_CTX_get_params(r->ctx, arg ? NULL : params);
}

/* EVP_Cipher: the length, or -1. */
static int log_cipher(struct run *r, const unsigned char *out, int got)
{
    log_number(r, got);
    if (out != NULL && got > 0)
        log_bytes(r, out, (size_t)got);
    return got >= 0;
}

static int word_cipher(struct run *r, long arg)
{
    unsigned char out[TEXT_MAX];

    return log_cipher(r, out, EVP_Cipher(r->ctx, out, next_text(r, arg), (unsigned)arg));
}

static int word_cipher_aad(struct run *r, long arg)
{
    return log_cipher(r, NULL, EVP_Cipher(r->ctx, NULL, next_aad(r, arg), (unsigned)arg));
}

static int word_cipher_final(struct run *r, long arg)
{
    unsigned char out[16];

    r->position = r->aad_position = 0;
    return log_cipher(r, NULL, EVP_Cipher(r->ctx, arg ? out : NULL, NULL, 0));
}

/* -1 stands for the whole IV. On encryption any other length leaves a random IV: no log can agree. */
static int word_fixed(struct run *r, long arg)
{
    return EVP_CIPHER_CTX_ctrl(r->ctx, EVP_CTRL_AEAD_SET_IV_FIXED, (int)arg, material.iv[0]) > 0;
}

/* The 13 bytes of TLS 1.2: sequence number, type, version, length of the record. Logs the size of the tag. */
static int word_tlsaad(struct run *r, long arg)
{
    unsigned char aad[EVP_AEAD_TLS1_AAD_LEN];
    int pad;

    memcpy(aad, material.aad, sizeof aad);
    aad[11] = (unsigned char)(arg >> 8);
    aad[12] = (unsigned char)arg;
    pad = EVP_CIPHER_CTX_ctrl(r->ctx, EVP_CTRL_AEAD_TLS1_AAD, sizeof aad, aad);
    log_number(r, pad > 0 ? pad : -1);
    return pad > 0;
}

static int word_tlsaad_size(struct run *r, long arg)
{
    return EVP_CIPHER_CTX_ctrl(r->ctx, EVP_CTRL_AEAD_TLS1_AAD, (int)arg, material.aad) > 0;
}

/* One record in place; all of the buffer is logged, so that what a failure leaves behind is compared too. */
static int word_record(struct run *r, long arg)
{
    unsigned char record[TEXT_MAX];
    int got;

    memcpy(record, material.cipher, sizeof record);
    got = EVP_Cipher(r->ctx, record, record, (unsigned)arg);
    log_number(r, got);
    log_bytes(r, record, (size_t)arg);
    return got >= 0;
}

static int word_record_update(struct run *r, long arg)
{
    unsigned char record[TEXT_MAX];
    int got = -1, ok;

    memcpy(record, material.cipher, sizeof record);
    ok = EVP_CipherUpdate(r->ctx, record, &got, record, (int)arg);
    log_number(r, ok ? got : -1);
    log_bytes(r, record, (size_t)arg);
    return ok;
}

static int word_record_apart(struct run *r, long arg)
{
    unsigned char out[TEXT_MAX];

    return log_cipher(r, out, EVP_Cipher(r->ctx, out, material.cipher, (unsigned)arg));
}

static int word_gen(struct run *r, long arg)
{
    unsigned char iv[IV_MAX] = { 0 };
    int ok = EVP_CIPHER_CTX_ctrl(r->ctx, EVP_CTRL_GCM_IV_GEN, (int)arg, iv) > 0;

    if (ok)
        log_bytes(r, iv, sizeof iv);
    return ok;
}

static int word_inv(struct run *r, long arg)
{
    return EVP_CIPHER_CTX_ctrl(r->ctx, EVP_CTRL_GCM_SET_IV_INV, (int)arg, material.iv[0] + FIXED_IV) > 0;
}

static const struct {
    const char *verb;
    int (*run)(struct run *r, long arg);
} verbs[] = {
    { "enc", word_enc },
    { "dec", word_dec },
    { "direction", word_direction },
    { "key", word_key },
    { "iv", word_iv },
    { "keyiv", word_keyiv },
    { "anew", word_anew },
    { "none", word_none },
    { "ivlen", word_ivlen },
    { "initivlen", word_init_ivlen },
    { "aad", word_aad },
    { "text", word_text },
    { "nothing", word_nothing },
    { "length", word_length },
    { "final", word_final },
    { "tag", word_tag },
    { "settag", word_settag },
    { "badtag", word_badtag },
    { "nulltag", word_nulltag },
    { "getiv", word_getiv },
    { "getuiv", word_getuiv },
    { "ptriv", word_ptriv },
    { "lengths", word_lengths },
    { "keylen", word_keylen },
    { "setkeylen", word_setkeylen },
    { "unknown", word_unknown },
    { "cipher", word_cipher },
    { "cipheraad", word_cipher_aad },
    { "cipherfinal", word_cipher_final },
    { "fixed", word_fixed },
    { "tlsaad", word_tlsaad },
    { "tlsaadsize", word_tlsaad_size },
    { "record", word_record },
    { "recordupdate", word_record_update },
    { "recordapart", word_record_apart },
    { "gen", word_gen },
    { "inv", word_inv },
};

struct word {
    int (*run)(struct run *r, long arg);
    long arg;
    char want;
};

/* Takes the next word off a script. Returns 0 at its end. */
static int next_word(const char **script, struct word *word)
{
    char verb[24] = "";
    int used = 0;

    word->run = NULL;
    word->arg = 0;
    *script += strspn(*script, " ");
    if (sscanf(*script, "%23[a-z]%n", verb, &used) != 1)
        return 0;
    *script += used;
    if (**script == ':')
        word->arg = strtol(*script + 1, (char **)script, 10);
    word->want = **script;
    (*script)++;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verbs[i].verb, verb) == 0)
            word->run = verbs[i].run;
    if (word->run == NULL || strchr("+-!?", word->want) == NULL) {
        printf("    no such word: %s%c\n", verb, word->want);
        abort();
    }
    return 1;
}

static int is_wanted(char want, int ok)
{
    int raised = ERR_peek_error() != 0;

    switch (want) {
    case '+':
        return ok && !raised;
    case '-':
        return !ok && raised;
    case '!':
        return !ok && !raised;
    default:
        return 1;
    }
}

/* Runs one word. Results are asserted where it is aesop that works, and that of default must succeed or fail alike. */
static int run_word(struct run *r, const struct word *word, int is_ours)
{
    int ok;

    ERR_clear_error();
    ok = word->run(r, word->arg) > 0;
    log_number(r, ok);
    if (is_ours)
        return is_wanted(word->want, ok);
    return word->want == '?' || ok == (word->want == '+');
}

static struct run *run_new(const EVP_CIPHER *cipher)
{
    struct run *r = calloc(1, sizeof *r);

    if (r == NULL || (r->ctx = EVP_CIPHER_CTX_new()) == NULL)
        abort();
    r->cipher = cipher;
    return r;
}

static void run_free(struct run *r)
{
    EVP_CIPHER_CTX_free(r->ctx);
    free(r);
}

static struct run *run_script(const EVP_CIPHER *cipher, const char *script, int is_ours)
{
    struct run *r = run_new(cipher);
    const char *rest = script;
    struct word word;

    for (int i = 1; next_word(&rest, &word); i++) {
        int as_wanted = run_word(r, &word, is_ours);
        unsigned long error = ERR_peek_error();

        if (!CHECK(as_wanted, "%s: word %d of \"%s\", wanted %c: %s", is_ours ? "aesop" : "default", i, script,
                   word.want, error != 0 ? ERR_reason_error_string(error) : "no error raised"))
            break;
    }
    return r;
}

/* A copy of the context is made after `at` words; from there on the original and the copy do the same in turn. */
static struct run *run_with_copy(const EVP_CIPHER *cipher, const char *script, int at, struct run **copy)
{
    struct run *r = run_new(cipher);
    const char *rest = script;
    struct word word;
    int words = 0;

    *copy = NULL;
    while (next_word(&rest, &word)) {
        run_word(r, &word, 1);
        if (*copy != NULL)
            run_word(*copy, &word, 1);
        if (++words == at) {
            *copy = run_new(cipher);
            EVP_CIPHER_CTX_free((*copy)->ctx);
            **copy = *r;
            (*copy)->ctx = EVP_CIPHER_CTX_new();
            if (!CHECK(EVP_CIPHER_CTX_copy((*copy)->ctx, r->ctx), "copy after word %d of \"%s\"", at, script))
                break;
        }
    }
    return r;
}

static void compare_logs(const struct run *a, const struct run *b, const char *what, const char *script)
{
    size_t same = 0;

    while (a->log[same] != '\0' && a->log[same] == b->log[same])
        same++;
    CHECK(a->log[same] == b->log[same], "%s: logs of \"%s\" differ at %zu: %.80s | %.80s", what, script, same,
          a->log + same, b->log + same);
}

static const char *const same_as_default[] = {
    /* A message in one piece, in pieces, and without any. */
    "enc+ keyiv+ lengths+ aad:13+ text:32+ final+ tag:16+ lengths+",
    "enc+ keyiv+ aad:1+ aad:0+ aad:12+ aad:20+ text:1+ text:15+ text:17+ text:0+ text:31+ text:64+ final+ tag:16+",
    "enc+ keyiv+ final+ tag:16+",
    "enc+ keyiv+ aad:20+ final+ tag:16+",
    "enc+ keyiv+ text:20+ final+ tag:16+",
    "enc+ keyiv+ nothing:0+ aad:13+ nothing:1+ text:32+ nothing:1+ final+ tag:16+",
    "dec+ keyiv+ aad:13+ text:32+ settag:16+ final+",
    "dec+ keyiv+ aad:5+ aad:8+ text:1+ text:30+ text:1+ settag:16+ final+",
    /* Key and IV in every order; a call without either changes nothing. */
    "enc+ key+ iv+ aad:13+ text:32+ final+ tag:16+",
    "enc+ iv+ key+ aad:13+ text:32+ final+ tag:16+",
    "enc+ iv:1+ key:1+ iv+ key+ aad:13+ text:32+ final+ tag:16+",
    "enc+ none+ key+ none+ iv+ none+ aad:13+ none+ text:16+ none+ text:16+ final+ tag:16+",
    "enc+ keyiv:1+ anew+ aad:13+ text:32+ final+ tag:16+",
    "enc+ keyiv+ aad:13+ text:20+ enc+ keyiv:1+ text:16+ final+ tag:16+",
    "dec+ iv+ settag:16+ key+ aad:13+ text:32+ final+",
    /* Turning round. */
    "enc+ key+ direction:0+ iv+ aad:13+ text:32+ settag:16+ final+",
    "dec+ key+ direction:1+ iv+ aad:13+ text:32+ final+ tag:16+",
    /* Without key or IV there is no message; without a tag it has no end. */
    "enc+ text:16-",
    "enc+ iv+ text:16-",
    "enc+ iv+ aad:16-",
    "enc+ iv+ final-",
    "dec+ key+ text:16-",
    "dec+ key+ aad:16-",
    "dec+ key+ settag:16+ final-",
    "dec+ keyiv+ final!",
    "dec+ keyiv+ aad:13+ text:32+ final!",
    /* An IV serves once. A new key is no new IV. */
    "enc+ keyiv+ text:16+ final+ tag:16+ text:16- final- iv:1+ text:16+ final+ tag:16+",
    "enc+ keyiv+ text:16+ final+ aad:16-",
    "enc+ keyiv+ text:16+ final+ none+ text:16-",
    "enc+ keyiv+ text:16+ final+ key:1+ text:16- iv:1+ text:16+ final+ tag:16+",
    "enc+ keyiv+ text:16+ final+ ivlen:12+ text:16-",
    "dec+ keyiv+ aad:13+ text:32+ settag:16+ final+ text:32-",
    "dec+ keyiv+ aad:13+ text:32+ settag:16+ final+ iv+ aad:13+ text:32+ settag:16+ final+",
    /* A new IV in the middle starts a new message. */
    "enc+ keyiv+ aad:13+ text:20+ iv:1+ text:16+ final+ tag:16+",
    "enc+ keyiv+ aad:13+ iv:1+ text:16+ final+ tag:16+",
    "enc+ key+ iv:1+ iv+ text:16+ final+ tag:16+",
    "enc+ keyiv:1+ keyiv+ aad:13+ aad:3+ text:5+ text:27+ final+ tag:16+",
    "enc+ key:1+ iv+ key+ text:16+ final+ tag:16+",
    "enc+ key+ iv+ direction:0+ text:32+ settag:16+ final!",
    "dec+ key+ iv+ direction:1+ aad:13+ text:32+ final+ tag:16+",
    "enc+ key+ iv+ ivlen:13+ text:16- ivlen:12+ text:16- iv+ text:16+ final+ tag:16+",
    /* Associated data ends where text begins. */
    "enc+ keyiv+ aad:13+ text:16+ aad:4-",
    "enc+ keyiv+ text:0+ aad:13+ text:32+ final+ tag:16+",
    /* A length without bytes ends the message. */
    "enc+ keyiv+ length:0+ tag:16+ aad:13- iv+ text:16+ final+ tag:16+",
    "enc+ keyiv+ aad:13+ text:32+ length:1+ tag:16+ text:16-",
    "enc+ keyiv+ final+ length:0- length:1-",
    "enc+ length:0- iv+ length:0-",
    "dec+ keyiv+ length:0? aad:13+ length:1? text:32+ settag:16+ length:1+ text:16-",
    "enc+ key+ fixed:-1+ tlsaad:40+ length:1-",
    /* IV lengths; one that changes invalidates the IV, one that stays does not. */
    "enc+ ivlen:16+ lengths+ keyiv+ aad:13+ text:32+ final+ tag:16+ getiv:16+",
    "enc+ ivlen:1+ keyiv+ text:32+ final+ tag:16+",
    "enc+ ivlen:128+ keyiv+ text:32+ final+ tag:16+ getiv:128+ lengths+",
    "enc+ ivlen:0- lengths+ keyiv+ text:16+ final+ tag:16+",
    "enc+ ivlen:129- lengths+ keyiv+ text:16+ final+ tag:16+",
    "enc+ keyiv+ ivlen:12+ aad:13+ text:32+ final+ tag:16+",
    "enc+ keyiv+ ivlen:16+ text:16- iv+ text:16+ final+ tag:16+",
    "enc+ keyiv+ ivlen:16+ ivlen:12+ text:16- iv:1+ text:16+ final+ tag:16+",
    "enc+ keyiv+ text:16+ ivlen:12+ text:16+ final+ tag:16+",
    "enc+ keyiv+ text:16+ ivlen:8+ text:16-",
    "enc+ initivlen:12+ aad:13+ text:32+ final+ tag:16+",
    "enc+ initivlen:16+ lengths+ aad:13+ text:32+ final+ tag:16+",
    "enc+ initivlen:1+ aad:13+ text:32+ final+ tag:16+",
    "enc+ initivlen:128+ aad:13+ text:32+ final+ tag:16+",
    "enc+ initivlen:129-",
    "enc+ initivlen:0-",
    "dec+ initivlen:12+ aad:13+ settag:16+ text:32+ final+",
    /* Getting the IV, which does not move. */
    "enc+ keyiv+ getiv:12+ getuiv:12+ text:20+ getiv:12+ getuiv:12+ final+ getiv:12+ getuiv:12+",
    "enc+ keyiv+ getiv:16+ getuiv:128+ getiv:11- getuiv:11-",
    "enc+ keyiv+ ptriv:0+ ptriv:1+ text:20+ ptriv:1+",
    "dec+ key+ getiv:12? getuiv:12?",
    /* Tags of any size, set at any time before final; got after it, when encrypting only. */
    "enc+ keyiv+ aad:13+ text:32+ tag:16- final+ tag:0- tag:17- tag:1+ tag:2+ tag:3+ tag:4+ tag:8+ tag:15+ tag:16+",
    "enc+ settag:16- keyiv+ settag:16- text:16+ final+ tag:16+",
    "dec+ settag:16+ keyiv+ aad:13+ text:32+ final+",
    "dec+ keyiv+ settag:16+ aad:13+ text:32+ final+",
    "dec+ keyiv+ aad:13+ settag:16+ text:32+ final+",
    "dec+ keyiv+ aad:13+ text:16+ settag:16+ text:16+ final+ tag:16-",
    "dec+ keyiv+ badtag:16+ aad:13+ text:32+ settag:16+ final+",
    "dec+ keyiv+ aad:13+ text:32+ settag:1+ lengths+ final+",
    "dec+ keyiv+ settag:0- settag:17- nulltag:16- lengths+ aad:13+ text:32+ final!",
    "dec+ keyiv+ aad:13+ text:32+ settag:16+ final+ iv+ aad:13+ text:32+ final+",
    /* A wrong tag raises nothing. */
    "dec+ keyiv+ aad:13+ text:32+ badtag:16+ final!",
    "dec+ keyiv+ aad:13+ text:32+ badtag:1+ final!",
    "dec+ keyiv+ aad:12+ text:32+ settag:16+ final!",
    "dec+ keyiv+ aad:13+ text:31+ settag:16+ final!",
    "dec+ keyiv+ settag:16+ final!",
    "dec+ keyiv:1+ aad:13+ text:32+ settag:12+ final!",
    "dec+ keyiv+ aad:13+ text:32+ badtag:16+ final! iv+ aad:13+ text:32+ settag:16+ final+",
    /* Parameters that nobody knows, and one that must not change. */
    "enc+ unknown+ keyiv+ unknown+ text:16+ unknown+ final+ unknown+ tag:16+",
    "enc+ setkeylen:5? lengths+ setkeylen:0? lengths+ keyiv+ text:16+ final+ tag:16+",
    /* EVP_Cipher, as OpenSSH calls it. */
    "enc+ keyiv+ cipheraad:13+ cipher:32+ cipherfinal:0+ tag:16+",
    "enc+ keyiv+ cipheraad:4+ cipheraad:9+ cipher:5+ cipher:27+ cipherfinal:1+ tag:16+",
    "enc+ keyiv+ aad:13+ cipher:16+ text:16+ cipherfinal:0+ tag:16+ cipher:16? cipherfinal:0? iv+ cipher:16+",
    "dec+ keyiv+ settag:16+ cipheraad:13+ cipher:32+ cipherfinal:0+",
    "dec+ keyiv+ cipheraad:13+ cipher:32+ badtag:16+ cipherfinal:0!",
    "dec+ keyiv+ settag:16+ cipherfinal:0!",
    "dec+ keyiv+ settag:16+ cipherfinal:1!",
    "dec+ keyiv+ cipheraad:4+ cipher:16+ cipherfinal:0?",
    "enc+ iv+ cipher:16?",
    /* As OpenSSH generates its IVs. */
    "enc+ key+ fixed:-1+ gen:1+ cipheraad:4+ cipher:32+ cipherfinal:0+ tag:16+ "
    "gen:1+ cipheraad:4+ cipher:32+ cipherfinal:0+ tag:16+",
    /* IV generation: what comes out is the end of the IV; its last 8 bytes count up. */
    "enc+ key+ fixed:-1+ gen:12+ text:16+ final+ tag:16+ gen:8+ text:16+ final+ tag:16+ gen:0+ gen:13+ gen:1+ "
    "getiv:12+",
    "enc+ key+ gen:8-",
    "enc+ fixed:-1+ gen:8-",
    "enc+ keyiv+ gen:8-",
    "enc+ key+ fixed:-1+ iv+ gen:8?",
    "dec+ key+ fixed:-1+ gen:12+ getiv:12+",
    "dec+ key+ fixed:4+ inv:8+ aad:13+ text:32+ settag:16+ final+",
    "dec+ key+ inv:8-",
    "dec+ fixed:4+ inv:8-",
    "enc+ key+ fixed:-1+ inv:8-",
    "dec+ key+ fixed:3- fixed:0- fixed:5- fixed:12-",
    "dec+ ivlen:16+ key+ fixed:8+ fixed:9- fixed:4+ fixed:3-",
    "dec+ ivlen:8+ key+ fixed:4-",
    "enc+ ivlen:16+ key+ fixed:-1+ gen:16+ gen:16+ text:32+ final+ tag:16+",
    "enc+ ivlen:8+ key+ fixed:-1+ gen:8+ gen:8+ text:32+ final+ tag:16+",
    /* TLS 1.2 records: sealing them. */
    "enc+ key+ fixed:-1+ tlsaad:40+ record:56+ tlsaad:40+ record:56+ tlsaad:8+ record:24+ getiv:12+",
    "enc+ key+ fixed:-1+ tlsaad:40+ recordupdate:56+ tlsaad:264+ recordupdate:280+",
    "enc+ key+ fixed:-1+ tlsaad:40+ recordapart:56-",
    "enc+ key+ fixed:-1+ tlsaad:8+ record:23-",
    "enc+ key+ fixed:-1+ tlsaad:7-",
    "enc+ key+ fixed:-1+ tlsaadsize:12-",
    "enc+ key+ fixed:-1+ tlsaadsize:14-",
    "enc+ key+ tlsaad:40+ record:56-",
    "enc+ fixed:-1+ tlsaad:40+ record:56-",
    "enc+ key+ fixed:-1+ tlsaad:40+ record:56+ text:16- iv+ text:16+ final+ tag:16+",
    /* Without its record */
    "enc+ key+ fixed:-1+ tlsaad:40+ final? tag:16? iv+ text:16+ final+ tag:16+",
    "dec+ key+ fixed:4+ tlsaad:56+ settag:16+ final? iv+ text:16+ settag:16+ final!",
    /* Bytes of an IV that nobody has set */
    "enc+ iv:1+ ivlen:128+ key+ fixed:-1? getiv:128?",
    "dec+ key+ fixed:4+ getiv:12? gen:12?",
    /* And records that are none: the plaintext is wiped. */
    "dec+ key+ fixed:4+ tlsaad:56+ record:56! tlsaad:24+ record:24!",
    "dec+ key+ fixed:4+ tlsaad:300+ recordupdate:300?",
    "dec+ key+ fixed:4+ tlsaad:23-",
    "dec+ key+ fixed:4+ tlsaad:24+ record:23-",
    "dec+ key+ tlsaad:56+ record:56-",
};

/* Where default of 3.0 is not the model. */
static const char *const ours_alone[] = {
    /* Sizes may be asked for without a buffer (#28232): the next table. A fixed part longer than the IV. */
    "enc+ ivlen:3+ key+ fixed:4-",
    "dec+ ivlen:3+ key+ fixed:4-",
    "dec+ ivlen:1+ key+ fixed:4-",
    /* An IV too short to hold a counter generates nothing. */
    "enc+ ivlen:7+ key+ fixed:-1? gen:7-",
    "enc+ ivlen:1+ key+ fixed:-1? gen:1-",
    "enc+ ivlen:4+ key+ fixed:-1? tlsaad:40? record:56-",
    "enc+ key+ fixed:-1+ ivlen:4+ gen:4-",
    "dec+ key+ fixed:-1+ ivlen:4+ inv:8-",
    "dec+ key+ fixed:4+ inv:13-",
    /* Fewer than 96 random bits are no IV. */
    "enc+ ivlen:11+ key+ text:16-",
    "enc+ ivlen:1+ key+ aad:16-",
    "enc+ ivlen:12+ key+ text:16+ final+",
    "enc+ ivlen:128+ key+ text:16+ final+",
    /* No parameters at all, on which default of 3.5 crashes. */
    "enc+ unknown:1+ keyiv+ unknown:1+ text:16+ unknown:1+ final+ unknown:1+ tag:16+",
    /* The length of the key is what it is; default does not even look. */
    "enc+ keylen:0- keylen:15- keylen:48- lengths+ keyiv+ text:16+ final+ tag:16+",
    /* Nothing is left of a failed message; the next one works. */
    "enc+ keyiv+ aad:13+ text:16+ aad:4- text:16+ final+ tag:16+",
    "enc+ key+ fixed:-1+ tlsaad:7- iv+ text:16+ final+ tag:16+",
};

static void test_scripts(void)
{
    for (size_t n = 0; n < NAMES; n++) {
        EVP_CIPHER *mine = support_fetch(ours, names[n], "aesop");
        EVP_CIPHER *reference = support_fetch(theirs, names[n], "default");

        if (mine != NULL && reference != NULL && standard_message(names[n])) {
            for (size_t i = 0; i < sizeof same_as_default / sizeof *same_as_default; i++) {
                struct run *a = run_script(mine, same_as_default[i], 1);
                struct run *b = run_script(reference, same_as_default[i], 0);

                compare_logs(a, b, names[n], same_as_default[i]);
                run_free(a);
                run_free(b);
            }
            for (size_t i = 0; i < sizeof ours_alone / sizeof *ours_alone; i++)
                run_free(run_script(mine, ours_alone[i], 1));
        }
        EVP_CIPHER_free(mine);
        EVP_CIPHER_free(reference);
    }
}

/* A copy made at any moment goes on as the original does, and neither disturbs the other. */
static void test_copies(void)
{
    for (size_t n = 0; n < NAMES; n++) {
        EVP_CIPHER *cipher = support_fetch(ours, names[n], "aesop");
        size_t scripts = sizeof same_as_default / sizeof *same_as_default;

        for (size_t i = 0; cipher != NULL && standard_message(names[n]) && i < scripts; i++) {
            const char *script = same_as_default[i];
            struct run *plain = run_script(cipher, script, 1), *copy;

            for (int at = 1;; at++) {
                struct run *original = run_with_copy(cipher, script, at, &copy);

                compare_logs(original, plain, "original", script);
                if (copy != NULL) {
                    compare_logs(copy, plain, "copy", script);
                    run_free(copy);
                }
                run_free(original);
                if (copy == NULL)
                    break;
            }
            run_free(plain);
        }
        EVP_CIPHER_free(cipher);
    }
}

/* A copy outlives its original. */
static void test_copy_outlives(void)
{
    EVP_CIPHER *cipher = support_fetch(ours, names[0], "aesop");
    unsigned char out[STANDARD_TEXT], tag[TAG_MAX];

    if (cipher != NULL && standard_message(names[0])) {
        EVP_CIPHER_CTX *ctx = new_ctx(cipher, material.key[0], material.iv[0], 1), *copy = EVP_CIPHER_CTX_new();

        CU_ASSERT(update(ctx, NULL, material.aad, 5));
        CU_ASSERT(EVP_CIPHER_CTX_copy(copy, ctx));
        EVP_CIPHER_CTX_free(ctx);
        CU_ASSERT(update(copy, NULL, material.aad + 5, STANDARD_AAD - 5));
        CU_ASSERT(update(copy, out, material.plain, STANDARD_TEXT) && final(copy) && get_tag(copy, tag, TAG_MAX));
        CU_ASSERT_EQUAL(memcmp(out, material.cipher, STANDARD_TEXT), 0);
        CU_ASSERT_EQUAL(memcmp(tag, material.tag, TAG_MAX), 0);
        EVP_CIPHER_CTX_free(copy);
    }
    EVP_CIPHER_free(cipher);
}

/* ---- what scripts cannot tell ---- */

static unsigned iv_generated(EVP_CIPHER_CTX *ctx)
{
    /* The name is younger than 3.0. */
    return (unsigned)get_size(ctx, "iv-generated");
}

/* Whether default, given that IV, opens what ctx has just sealed of the standard plaintext without associated data. */
static int opens(const EVP_CIPHER *reference, EVP_CIPHER_CTX *sealed, const unsigned char *iv, size_t iv_len,
                 const unsigned char *text)
{
    EVP_CIPHER_CTX *ctx = new_ctx(reference, NULL, NULL, 0);
    unsigned char tag[TAG_MAX], out[STANDARD_TEXT];
    int ok = set_iv_len(ctx, iv_len) && EVP_CipherInit_ex2(ctx, NULL, material.key[0], iv, 0, NULL) &&
             get_tag(sealed, tag, TAG_MAX) && set_tag(ctx, tag, TAG_MAX) && update(ctx, out, text, STANDARD_TEXT) &&
             final(ctx) && memcmp(out, material.plain, STANDARD_TEXT) == 0;

    EVP_CIPHER_CTX_free(ctx);
    return ok;
}

enum { MESSAGES = 64 };

/* Encrypting with a key alone makes a random IV of 96 bits, or of the length that was set, for every message. */
static void random_ivs(const EVP_CIPHER *mine, const EVP_CIPHER *reference, size_t iv_len, int early)
{
    unsigned char iv[MESSAGES][IV_MAX], updated[IV_MAX], text[STANDARD_TEXT];

    for (size_t i = 0; i < MESSAGES; i++) {
        EVP_CIPHER_CTX *ctx = new_ctx(mine, material.key[0], NULL, 1);
        size_t len = IV_MAX;

        memset(iv[i], 0, IV_MAX);
        CU_ASSERT(iv_len == IV_DEFAULT || set_iv_len(ctx, iv_len));
        CU_ASSERT_EQUAL(iv_generated(ctx), 0);
        if (early) /* the getter generates it (#29094) */
            CU_ASSERT(get_octets(ctx, early == 1 ? OSSL_CIPHER_PARAM_IV : OSSL_CIPHER_PARAM_UPDATED_IV, iv[i], &len));
        CU_ASSERT(update(ctx, text, material.plain, STANDARD_TEXT) && final(ctx));
        if (early)
            CU_ASSERT_EQUAL(len, iv_len);
        len = IV_MAX;
        CU_ASSERT(get_octets(ctx, OSSL_CIPHER_PARAM_UPDATED_IV, updated, &len) && len == iv_len);
        if (early)
            CU_ASSERT_EQUAL(memcmp(iv[i], updated, iv_len), 0);
        len = IV_MAX;
        CU_ASSERT(get_octets(ctx, OSSL_CIPHER_PARAM_IV, iv[i], &len) && len == iv_len);
        CU_ASSERT_EQUAL(memcmp(iv[i], updated, iv_len), 0);
        CU_ASSERT_EQUAL(iv_generated(ctx), 1);
        CU_ASSERT(opens(reference, ctx, iv[i], iv_len, text));
        for (size_t j = 0; j < i; j++)
            CU_ASSERT_NOT_EQUAL(memcmp(iv[i], iv[j], iv_len), 0);
        EVP_CIPHER_CTX_free(ctx);
    }
}

static void test_random_iv(void)
{
    EVP_CIPHER *mine = support_fetch(ours, names[0], "aesop"), *reference = support_fetch(theirs, names[0], "default");

    if (mine != NULL && reference != NULL) {
        for (int early = 0; early <= 2; early++) {
            random_ivs(mine, reference, IV_DEFAULT, early);
            random_ivs(mine, reference, 16, early);
        }
    }
    EVP_CIPHER_free(mine);
    EVP_CIPHER_free(reference);
}

/* What a caller does after a message with a random IV must never lead to a second one under that IV. */
static void test_random_iv_serves_once(void)
{
    static const char *const continuations[] = { "none+", "key+", "direction:1+", "ivlen:12+" };
    EVP_CIPHER *cipher = support_fetch(ours, names[0], "aesop");

    for (size_t i = 0; cipher != NULL && i < sizeof continuations / sizeof *continuations; i++) {
        struct run *r = run_script(cipher, "enc+ key+ text:16+ final+", 1);
        const char *rest = continuations[i];
        unsigned char first[IV_DEFAULT], second[IV_DEFAULT], out[16];
        size_t len = sizeof first;
        struct word word;

        CU_ASSERT(get_octets(r->ctx, OSSL_CIPHER_PARAM_IV, first, &len));
        while (next_word(&rest, &word))
            run_word(r, &word, 1);
        if (update(r->ctx, out, material.plain, sizeof out)) {
            len = sizeof second;
            CU_ASSERT(get_octets(r->ctx, OSSL_CIPHER_PARAM_IV, second, &len));
            CHECK(memcmp(first, second, sizeof first) != 0, "after \"%s\" the IV serves again", continuations[i]);
        }
        ERR_clear_error();
        run_free(r);
    }
    EVP_CIPHER_free(cipher);
}

static void test_iv_generated(void)
{
    static const struct {
        const char *script;
        unsigned want;
    } cases[] = {
        { "enc+ key+", 0 },
        { "enc+ keyiv+ text:16+", 0 },
        { "enc+ key+ text:16+", 1 },
        { "enc+ key+ text:16+ final+", 1 },
        { "enc+ key+ getiv:12+", 1 },
        { "enc+ key+ getiv:12+ iv+", 0 },
        { "enc+ key+ text:16+ final+ iv+ text:16+", 0 },
        { "enc+ ivlen:16+ key+ text:16+ final+", 1 },
        { "enc+ ivlen:16+ key+ text:16+ final+ iv+", 0 },
        { "dec+ keyiv+ aad:13+", 0 },
        { "enc+ key+ fixed:4+", 1 },
        { "enc+ key+ fixed:-1+", 0 },
        { "enc+ key+ text:16+ fixed:-1+", 0 },
    };
    EVP_CIPHER *cipher = support_fetch(ours, names[0], "aesop");

    for (size_t i = 0; cipher != NULL && i < sizeof cases / sizeof *cases; i++) {
        struct run *r = run_script(cipher, cases[i].script, 1);
        unsigned got = iv_generated(r->ctx);

        CHECK(got == cases[i].want, "iv-generated is %u after \"%s\"", got, cases[i].script);
        run_free(r);
    }
    EVP_CIPHER_free(cipher);
}

/* #28232: with no buffer, return_size tells how much is needed. */
static void test_size_queries(void)
{
    static const struct {
        const char *script, *param;
        size_t want; /* 0: refused */
    } cases[] = {
        { "enc+ keyiv+", OSSL_CIPHER_PARAM_IV, 12 },
        { "enc+ keyiv+", OSSL_CIPHER_PARAM_UPDATED_IV, 12 },
        { "enc+ ivlen:16+ keyiv+ text:16+", OSSL_CIPHER_PARAM_IV, 16 },
        { "enc+ ivlen:128+ keyiv+ text:16+ final+", OSSL_CIPHER_PARAM_UPDATED_IV, 128 },
        { "dec+ keyiv+", OSSL_CIPHER_PARAM_IV, 12 },
        { "enc+ keyiv+ text:16+ final+", OSSL_CIPHER_PARAM_AEAD_TAG, 16 },
        { "enc+ keyiv+ text:16+", OSSL_CIPHER_PARAM_AEAD_TAG, 0 },
        { "dec+ keyiv+ settag:12+", OSSL_CIPHER_PARAM_AEAD_TAG, 0 },
        { "enc+ keyiv+", OSSL_CIPHER_PARAM_KEYLEN, sizeof(size_t) },
        { "enc+ keyiv+", OSSL_CIPHER_PARAM_AEAD_IVLEN, sizeof(size_t) },
        { "enc+ keyiv+", OSSL_CIPHER_PARAM_AEAD_TAGLEN, sizeof(size_t) },
        { "enc+ keyiv+", "iv-generated", sizeof(unsigned) },
    };
    EVP_CIPHER *cipher = support_fetch(ours, names[0], "aesop");

    for (size_t i = 0; cipher != NULL && i < sizeof cases / sizeof *cases; i++) {
        struct run *r = run_script(cipher, cases[i].script, 1);
        unsigned type = cases[i].want == sizeof(size_t) || cases[i].want == sizeof(unsigned)
                            ? OSSL_PARAM_UNSIGNED_INTEGER
                            : OSSL_PARAM_OCTET_STRING;
        OSSL_PARAM params[] = { { cases[i].param, type, NULL, 0, OSSL_PARAM_UNMODIFIED }, OSSL_PARAM_END };
        int ok = EVP_CIPHER_CTX_get_params(r->ctx, params);

        if (cases[i].want == 0)
            CHECK(!ok, "size of %s told after \"%s\"", cases[i].param, cases[i].script);
        else
            CHECK(ok && params[0].return_size == cases[i].want, "size of %s after \"%s\": %d, %zu", cases[i].param,
                  cases[i].script, ok, params[0].return_size);
        ERR_clear_error();
        run_free(r);
    }
    EVP_CIPHER_free(cipher);
}

static void test_iv_lengths(void)
{
    for (size_t n = 0; n < NAMES; n++) {
        EVP_CIPHER *mine = support_fetch(ours, names[n], "aesop");
        EVP_CIPHER *reference = support_fetch(theirs, names[n], "default");

        for (int len = 1; mine != NULL && reference != NULL && len <= IV_MAX; len++) {
            char script[128];
            struct run *a, *b;

            snprintf(script, sizeof script, "enc+ ivlen:%d+ keyiv:1+ aad:13+ text:40+ final+ tag:16+ getiv:%d+", len,
                     len);
            a = run_script(mine, script, 1);
            b = run_script(reference, script, 0);
            compare_logs(a, b, names[n], script);
            run_free(a);
            run_free(b);
        }
        EVP_CIPHER_free(mine);
        EVP_CIPHER_free(reference);
    }
}

/* Every length of a tag, right and with every bit of it wrong; final by both ways. */
static void test_tags(void)
{
    EVP_CIPHER *cipher = support_fetch(ours, names[0], "aesop");
    unsigned char out[STANDARD_TEXT], tag[TAG_MAX];

    if (cipher == NULL || !standard_message(names[0]))
        return;
    for (size_t len = 1; len <= TAG_MAX; len++) {
        for (int bit = -1; bit < (int)len * 8; bit++) {
            for (int by_cipher = 0; by_cipher < 2; by_cipher++) {
                EVP_CIPHER_CTX *ctx = new_ctx(cipher, material.key[0], material.iv[0], 0);
                int verified;

                memcpy(tag, material.tag, TAG_MAX);
                if (bit >= 0)
                    tag[bit / 8] ^= (unsigned char)(1 << bit % 8);
                CU_ASSERT(set_tag(ctx, tag, len) && update(ctx, NULL, material.aad, STANDARD_AAD));
                CU_ASSERT(update(ctx, out, material.cipher, STANDARD_TEXT));
                ERR_clear_error();
                verified = by_cipher ? EVP_Cipher(ctx, NULL, NULL, 0) == 0 : final(ctx);
                CHECK(verified == (bit < 0), "tag of %zu bytes, bit %d wrong, EVP_Cipher %d", len, bit, by_cipher);
                CU_ASSERT_EQUAL(ERR_peek_error(), 0);
                EVP_CIPHER_CTX_free(ctx);
            }
        }
    }
    EVP_CIPHER_free(cipher);
}

/* #32741: default of 3.0 takes an empty call for the end of the associated data's last block. */
static void test_empty_calls(void)
{
    EVP_CIPHER *cipher = support_fetch(ours, names[0], "aesop");
    unsigned char out[STANDARD_TEXT], tag[TAG_MAX];

    if (cipher != NULL && standard_message(names[0])) {
        EVP_CIPHER_CTX *ctx = new_ctx(cipher, material.key[0], material.iv[0], 1);

        CU_ASSERT_EQUAL(EVP_Cipher(ctx, out, material.plain, 0), 0);
        CU_ASSERT(update(ctx, NULL, material.aad, 5));
        CU_ASSERT_EQUAL(EVP_Cipher(ctx, out, material.plain, 0), 0);
        CU_ASSERT_EQUAL(EVP_Cipher(ctx, NULL, material.aad, 0), 0);
        CU_ASSERT(update(ctx, out, material.plain, 0));
        CU_ASSERT(update(ctx, NULL, material.aad, 0));
        CU_ASSERT_EQUAL(EVP_Cipher(ctx, NULL, material.aad + 5, STANDARD_AAD - 5), STANDARD_AAD - 5);
        CU_ASSERT_EQUAL(EVP_Cipher(ctx, out, material.plain, 3), 3);
        CU_ASSERT_EQUAL(EVP_Cipher(ctx, out, material.plain, 0), 0);
        CU_ASSERT_EQUAL(EVP_Cipher(ctx, out + 3, material.plain + 3, STANDARD_TEXT - 3), STANDARD_TEXT - 3);
        CU_ASSERT_EQUAL(EVP_Cipher(ctx, out, material.plain, 0), 0);
        CU_ASSERT_EQUAL(EVP_Cipher(ctx, NULL, NULL, 0), 0);
        CU_ASSERT(get_tag(ctx, tag, TAG_MAX));
        CU_ASSERT_EQUAL(memcmp(out, material.cipher, STANDARD_TEXT), 0);
        CU_ASSERT_EQUAL(memcmp(tag, material.tag, TAG_MAX), 0);
        EVP_CIPHER_CTX_free(ctx);
    }
    EVP_CIPHER_free(cipher);
}

/* #32258: the tag of an empty message is verified too, whichever way final is said. */
static void test_empty_message(void)
{
    EVP_CIPHER *mine = support_fetch(ours, names[0], "aesop"), *reference = support_fetch(theirs, names[0], "default");
    EVP_CIPHER_CTX *seal = new_ctx(reference, material.key[0], material.iv[0], 1);
    unsigned char tag[TAG_MAX], out[16];

    if (mine != NULL && seal != NULL && final(seal) && get_tag(seal, tag, TAG_MAX)) {
        for (int wrong = 0; wrong < 2; wrong++) {
            for (int how = 0; how < 3; how++) {
                EVP_CIPHER_CTX *ctx = new_ctx(mine, material.key[0], material.iv[0], 0);
                int ok;

                CU_ASSERT(set_tag(ctx, tag, TAG_MAX));
                ERR_clear_error();
                ok = how == 0 ? final(ctx) : EVP_Cipher(ctx, how == 1 ? NULL : out, NULL, 0) == 0;
                CHECK(ok == !wrong, "empty message, tag %s, way %d", wrong ? "wrong" : "right", how);
                CU_ASSERT_EQUAL(ERR_peek_error(), 0);
                EVP_CIPHER_CTX_free(ctx);
            }
            tag[7] ^= 0x10;
        }
    }
    EVP_CIPHER_CTX_free(seal);
    EVP_CIPHER_free(mine);
    EVP_CIPHER_free(reference);
}

/* ---- TLS 1.2 ---- */

enum { RECORD_EXTRA = EXPLICIT_IV + TAG_MAX, RECORD_PAYLOAD_MAX = 16384 };

static EVP_CIPHER_CTX *tls_ctx(const EVP_CIPHER *cipher, int enc)
{
    EVP_CIPHER_CTX *ctx = new_ctx(cipher, material.key[0], NULL, enc);

    CU_ASSERT(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IV_FIXED, FIXED_IV, material.iv[0]) > 0);
    return ctx;
}

/* Seals or opens a record in place. Returns what EVP_Cipher says, or would say. */
static int tls_record(EVP_CIPHER_CTX *ctx, unsigned char *record, size_t len, unsigned char sequence, int by_update)
{
    unsigned char aad[EVP_AEAD_TLS1_AAD_LEN] = { 0, 0, 0, 0, 0, 0, 0, sequence, 23, 3, 3 };
    size_t told = EVP_CIPHER_CTX_is_encrypting(ctx) ? len - TAG_MAX : len;
    int got = -1;

    aad[11] = (unsigned char)(told >> 8);
    aad[12] = (unsigned char)told;
    if (EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_TLS1_AAD, sizeof aad, aad) != TAG_MAX)
        return -2;
    if (!by_update)
        return EVP_Cipher(ctx, record, record, (unsigned)len);
    return EVP_CipherUpdate(ctx, record, &got, record, (int)len) ? got : -1;
}

static uint64_t explicit_part(const unsigned char *record)
{
    uint64_t n = 0;

    for (int i = 0; i < EXPLICIT_IV; i++)
        n = n << 8 | record[i];
    return n;
}

static void tls_exchange(const EVP_CIPHER *sealer, const EVP_CIPHER *opener, int by_update, int is_ours)
{
    static const size_t payloads[] = { 0, 1, 15, 16, 17, 100, 1350, 4096, 16383, RECORD_PAYLOAD_MAX };
    static unsigned char plain[RECORD_PAYLOAD_MAX], record[RECORD_PAYLOAD_MAX + RECORD_EXTRA], forged[sizeof record];
    EVP_CIPHER_CTX *seal = tls_ctx(sealer, 1), *open = tls_ctx(opener, 0);
    struct support_random random;
    uint64_t before = 0;

    support_random_seed(&random, support_seed());
    support_random_bytes(&random, plain, sizeof plain);
    for (unsigned char i = 0; i < sizeof payloads / sizeof *payloads; i++) {
        size_t payload = payloads[i], len = payload + RECORD_EXTRA;

        memcpy(record + EXPLICIT_IV, plain, payload);
        CU_ASSERT_EQUAL(tls_record(seal, record, len, i, by_update), (int)len);
        CHECK(i == 0 || explicit_part(record) == before + 1, "record %d: nonce %llx after %llx", i,
              (unsigned long long)explicit_part(record), (unsigned long long)before);
        before = explicit_part(record);

        /* In turn a byte of the nonce, the first of the text (or tag), the last of the tag, the sequence number. */
        for (int fault = 0; fault < 4; fault++) {
            memcpy(forged, record, len);
            if (fault < 3)
                forged[(const size_t[]){ 3, EXPLICIT_IV, len - 1 }[fault]] ^= 0x80;
            ERR_clear_error();
            CHECK(tls_record(open, forged, len, (unsigned char)(i + (fault == 3)), by_update) == -1,
                  "payload %zu, fault %d: accepted", payload, fault);
            if (is_ours)
                for (size_t at = 0; at < payload; at++)
                    if (forged[EXPLICIT_IV + at] != 0) {
                        CHECK(0, "payload %zu, fault %d: byte %zu not wiped", payload, fault, at);
                        break;
                    }
        }
        /* EVP_Cipher of default returns the length that it was given, here too. */
        CU_ASSERT_EQUAL(tls_record(open, record, len, i, by_update), (int)(by_update ? payload : len));
        CU_ASSERT_EQUAL(memcmp(record + EXPLICIT_IV, plain, payload), 0);
    }
    ERR_clear_error();
    EVP_CIPHER_CTX_free(seal);
    EVP_CIPHER_CTX_free(open);
}

static void test_tls_records(void)
{
    for (size_t n = 0; n < NAMES; n++) {
        EVP_CIPHER *mine = support_fetch(ours, names[n], "aesop");
        EVP_CIPHER *reference = support_fetch(theirs, names[n], "default");

        for (int by_update = 0; mine != NULL && reference != NULL && by_update < 2; by_update++) {
            tls_exchange(mine, reference, by_update, 0);
            tls_exchange(reference, mine, by_update, 1);
            tls_exchange(mine, mine, by_update, 1);
        }
        EVP_CIPHER_free(mine);
        EVP_CIPHER_free(reference);
    }
}

/* The part after the fixed one starts at random. */
static void test_tls_explicit_random(void)
{
    EVP_CIPHER *cipher = support_fetch(ours, names[0], "aesop");
    unsigned char iv[2][IV_DEFAULT] = { { 0 } };

    for (int i = 0; cipher != NULL && i < 2; i++) {
        EVP_CIPHER_CTX *ctx = tls_ctx(cipher, 1);
        size_t len = IV_DEFAULT;

        CU_ASSERT(get_octets(ctx, OSSL_CIPHER_PARAM_IV, iv[i], &len) && len == IV_DEFAULT);
        CU_ASSERT_EQUAL(memcmp(iv[i], material.iv[0], FIXED_IV), 0);
        EVP_CIPHER_CTX_free(ctx);
    }
    CU_ASSERT_NOT_EQUAL(memcmp(iv[0] + FIXED_IV, iv[1] + FIXED_IV, EXPLICIT_IV), 0);
    EVP_CIPHER_free(cipher);
}

/* The counting part carries over all of its 8 bytes, and not into the fixed part. */
static void test_iv_carry(void)
{
    EVP_CIPHER *mine = support_fetch(ours, names[0], "aesop"), *reference = support_fetch(theirs, names[0], "default");
    const EVP_CIPHER *const ciphers[] = { mine, reference };
    unsigned char iv[IV_DEFAULT], got[2][IV_DEFAULT];

    for (int ones = 0; mine != NULL && reference != NULL && ones <= EXPLICIT_IV; ones++) {
        memset(iv, 0x5a, sizeof iv);
        memset(iv + sizeof iv - ones, 0xff, (size_t)ones);
        for (int i = 0; i < 2; i++) {
            EVP_CIPHER_CTX *ctx = new_ctx(ciphers[i], material.key[0], NULL, 1);

            CU_ASSERT(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IV_FIXED, -1, iv) > 0);
            CU_ASSERT(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_IV_GEN, IV_DEFAULT, got[i]) > 0);
            CU_ASSERT_EQUAL(memcmp(got[i], iv, IV_DEFAULT), 0);
            CU_ASSERT(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_IV_GEN, IV_DEFAULT, got[i]) > 0);
            EVP_CIPHER_CTX_free(ctx);
        }
        CHECK(memcmp(got[0], got[1], IV_DEFAULT) == 0, "after an IV with %d bytes of ff at its end", ones);
    }
    EVP_CIPHER_free(mine);
    EVP_CIPHER_free(reference);
}

/* ---- parameters ---- */

/* Integers come in whatever type a caller has. */
static const struct {
    unsigned type;
    size_t size;
} integer_types[] = {
    { OSSL_PARAM_INTEGER, 4 },
    { OSSL_PARAM_INTEGER, 8 },
    { OSSL_PARAM_UNSIGNED_INTEGER, 4 },
    { OSSL_PARAM_UNSIGNED_INTEGER, 8 },
};
enum { INTEGER_TYPES = sizeof integer_types / sizeof *integer_types };

static void test_integer_types(void)
{
    static const struct {
        const char *name;
        uint64_t want;
    } gettable[] = {
        { OSSL_CIPHER_PARAM_KEYLEN, 16 },
        { OSSL_CIPHER_PARAM_AEAD_IVLEN, 12 },
        { OSSL_CIPHER_PARAM_AEAD_TAGLEN, 16 },
        { OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD, 16 },
        { "iv-generated", 0 },
    };
    EVP_CIPHER *cipher = support_fetch(ours, names[0], "aesop");

    for (size_t t = 0; cipher != NULL && t < INTEGER_TYPES; t++) {
        struct run *r = run_script(cipher, "enc+ key+ fixed:-1+ tlsaad:40+ record:56+ iv+", 1);
        unsigned char number[8];
        OSSL_PARAM params[2] = { { NULL, integer_types[t].type, number, integer_types[t].size, 0 }, OSSL_PARAM_END };

        for (size_t i = 0; i < sizeof gettable / sizeof *gettable; i++) {
            uint64_t got = 0;

            params[0].key = gettable[i].name;
            memset(number, 0xa5, sizeof number);
            CU_ASSERT(EVP_CIPHER_CTX_get_params(r->ctx, params));
            memcpy(&got, number, integer_types[t].size); /* little-endian: this machine is x86-64 */
            CHECK(got == gettable[i].want && params[0].return_size == integer_types[t].size, "%s, type %u, size %zu",
                  gettable[i].name, integer_types[t].type, integer_types[t].size);
            CU_ASSERT(integer_types[t].size == 8 || number[4] == 0xa5);
        }

        params[0].key = OSSL_CIPHER_PARAM_AEAD_IVLEN;
        memset(number, 0, sizeof number);
        number[0] = (unsigned char)(20 + t);
        CHECK(EVP_CIPHER_CTX_set_params(r->ctx, params), "type %u, size %zu", integer_types[t].type,
              integer_types[t].size);
        CU_ASSERT_EQUAL(EVP_CIPHER_CTX_get_iv_length(r->ctx), (int)(20 + t));
        /* -1 or the largest value, then 2^32 + 12 where there is room for it. */
        memset(number, 0xff, sizeof number);
        CU_ASSERT_FALSE(EVP_CIPHER_CTX_set_params(r->ctx, params));
        memcpy(number, (const unsigned char[]){ 12, 0, 0, 0, 1, 0, 0, 0 }, sizeof number);
        CU_ASSERT_EQUAL(EVP_CIPHER_CTX_set_params(r->ctx, params) != 0, integer_types[t].size == 4);
        ERR_clear_error();
        run_free(r);
    }
    EVP_CIPHER_free(cipher);
}

/* A value of the wrong type is refused, never taken for another. */
static void test_wrong_types(void)
{
    static const struct {
        const char *name;
        int set;
        unsigned type;
    } cases[] = {
        { OSSL_CIPHER_PARAM_AEAD_IVLEN, 1, OSSL_PARAM_UTF8_STRING },
        { OSSL_CIPHER_PARAM_AEAD_IVLEN, 1, OSSL_PARAM_OCTET_STRING },
        { OSSL_CIPHER_PARAM_AEAD_TAG, 1, OSSL_PARAM_UTF8_STRING },
        { OSSL_CIPHER_PARAM_AEAD_TAG, 1, OSSL_PARAM_UNSIGNED_INTEGER },
        { OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED, 1, OSSL_PARAM_UTF8_STRING },
        { OSSL_CIPHER_PARAM_AEAD_TLS1_AAD, 1, OSSL_PARAM_UNSIGNED_INTEGER },
        { OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV, 1, OSSL_PARAM_UTF8_STRING },
        { OSSL_CIPHER_PARAM_IV, 0, OSSL_PARAM_UTF8_STRING },
        { OSSL_CIPHER_PARAM_UPDATED_IV, 0, OSSL_PARAM_UNSIGNED_INTEGER },
        { OSSL_CIPHER_PARAM_KEYLEN, 0, OSSL_PARAM_OCTET_STRING },
        { OSSL_CIPHER_PARAM_AEAD_IVLEN, 0, OSSL_PARAM_UTF8_STRING },
        { OSSL_CIPHER_PARAM_AEAD_TLS1_GET_IV_GEN, 0, OSSL_PARAM_UNSIGNED_INTEGER },
    };
    EVP_CIPHER *cipher = support_fetch(ours, names[0], "aesop");

    for (size_t i = 0; cipher != NULL && i < sizeof cases / sizeof *cases; i++) {
        struct run *r = run_script(cipher, "dec+ key+ fixed:4+ iv+", 1);
        unsigned char data[16] = { 12, 0 };
        OSSL_PARAM params[] = { { cases[i].name, cases[i].type, data, 16, 0 }, OSSL_PARAM_END };

        ERR_clear_error();
        CHECK(!(cases[i].set ? EVP_CIPHER_CTX_set_params(r->ctx, params) : EVP_CIPHER_CTX_get_params(r->ctx, params)),
              "%s of type %u was accepted", cases[i].name, cases[i].type);
        CHECK(ERR_peek_error() != 0, "%s of type %u raised nothing", cases[i].name, cases[i].type);
        ERR_clear_error();
        run_free(r);
    }
    EVP_CIPHER_free(cipher);
}

/* Several at once, among strangers, in one array. */
static void test_parameter_arrays(void)
{
    EVP_CIPHER *cipher = support_fetch(ours, names[0], "aesop");
    size_t iv_len = 12, got_iv_len = 0, key_len = 0;
    int stranger = 7;
    unsigned char iv[IV_DEFAULT], out[STANDARD_TEXT];
    OSSL_PARAM set[] = { OSSL_PARAM_construct_int("ta", &stranger),
                         OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, material.tag, TAG_MAX),
                         OSSL_PARAM_construct_int("", &stranger),
                         OSSL_PARAM_construct_int("ivlength", &stranger),
                         OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_AEAD_IVLEN, &iv_len),
                         OSSL_PARAM_END };
    OSSL_PARAM get[] = { OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_AEAD_IVLEN, &got_iv_len),
                         OSSL_PARAM_construct_int("keyle", &stranger),
                         OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_IV, iv, sizeof iv),
                         OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_KEYLEN, &key_len), OSSL_PARAM_END };

    if (cipher != NULL && standard_message(names[0])) {
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();

        CU_ASSERT(EVP_CipherInit_ex2(ctx, cipher, material.key[0], material.iv[0], 0, set));
        CU_ASSERT(EVP_CIPHER_CTX_get_params(ctx, get));
        CU_ASSERT(got_iv_len == 12 && key_len == 16 && stranger == 7);
        CU_ASSERT_EQUAL(memcmp(iv, material.iv[0], sizeof iv), 0);
        CU_ASSERT(message(ctx, out, material.cipher, STANDARD_TEXT));
        EVP_CIPHER_CTX_free(ctx);
    }
    EVP_CIPHER_free(cipher);
}

int main(int argc, char **argv)
{
    static CU_TestInfo scripts[] = { { "scripts, compared with default", test_scripts },
                                     { "a copy at every step", test_copies },
                                     { "a copy outlives its original", test_copy_outlives },
                                     CU_TEST_INFO_NULL };
    static CU_TestInfo iv[] = { { "random IVs", test_random_iv },
                                { "a random IV serves once", test_random_iv_serves_once },
                                { "iv-generated", test_iv_generated },
                                { "IVs of 1 to 128 bytes", test_iv_lengths },
                                { "the counting part carries", test_iv_carry },
                                CU_TEST_INFO_NULL };
    static CU_TestInfo calls[] = { { "tags of 1 to 16 bytes, every bit wrong", test_tags },
                                   { "empty calls do nothing", test_empty_calls },
                                   { "empty messages are verified", test_empty_message },
                                   CU_TEST_INFO_NULL };
    static CU_TestInfo tls[] = { { "records between aesop and default", test_tls_records },
                                 { "the explicit nonce starts at random", test_tls_explicit_random },
                                 CU_TEST_INFO_NULL };
    static CU_TestInfo parameters[] = { { "sizes without a buffer", test_size_queries },
                                        { "integers of every type", test_integer_types },
                                        { "wrong types", test_wrong_types },
                                        { "arrays", test_parameter_arrays },
                                        CU_TEST_INFO_NULL };
    CU_SuiteInfo suites[] = { { "scripts", suite_open, suite_close, NULL, NULL, scripts },
                              { "iv", suite_open, suite_close, NULL, NULL, iv },
                              { "calls", suite_open, suite_close, NULL, NULL, calls },
                              { "tls", suite_open, suite_close, NULL, NULL, tls },
                              { "parameters", suite_open, suite_close, NULL, NULL, parameters },
                              CU_SUITE_INFO_NULL };

    return support_main(argc, argv, suites);
}
