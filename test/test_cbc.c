/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The EVP contract of AES-CBC, compared with the default provider: every call is made on a context of ours and on one
 * of default's, and what it returns, what it writes, the reason of its error and what the context's parameters say
 * afterwards must agree.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/proverr.h>
#include <openssl/provider.h>

#include "check.h"
#include "support.h"

enum { BLOCK = 16, TEXT_MAX = 6000, UPDATE_MAX = 1000, CANARY = 0xa5 };

static const char *const names[] = { "AES-128-CBC", "AES-192-CBC", "AES-256-CBC" };
enum { NAMES = sizeof names / sizeof *names };

static OSSL_LIB_CTX *ours, *theirs;
static EVP_CIPHER *our_ciphers[NAMES], *their_ciphers[NAMES];
static unsigned char key[2][32], iv[2][BLOCK], text[TEXT_MAX];

static int suite_open(void)
{
    struct support_random random;

    support_random_seed(&random, support_seed());
    support_random_bytes(&random, key, sizeof key);
    support_random_bytes(&random, iv, sizeof iv);
    support_random_bytes(&random, text, sizeof text);
    ours = support_ctx_chosen();
    theirs = support_ctx_default();
    if (ours == NULL || theirs == NULL)
        return 1;
    for (size_t i = 0; i < NAMES; i++) {
        our_ciphers[i] = EVP_CIPHER_fetch(ours, names[i], "provider=aesop");
        their_ciphers[i] = EVP_CIPHER_fetch(theirs, names[i], "provider=default");
        if (our_ciphers[i] == NULL || their_ciphers[i] == NULL)
            return 1;
    }
    return 0;
}

static int suite_close(void)
{
    for (size_t i = 0; i < NAMES; i++) {
        EVP_CIPHER_free(our_ciphers[i]);
        EVP_CIPHER_free(their_ciphers[i]);
    }
    support_ctx_free(ours);
    support_ctx_free(theirs);
    return 0;
}

/* ---- a step on both sides ---- */

struct step {
    enum verb {
        INIT,   /* cipher, key, iv: whether they are passed; n: 1 encrypts, 0 decrypts, -1 keeps the direction */
        UPDATE, /* n bytes of in, all at once */
        FINAL,
        PADDING, /* n */
        NUM,     /* n */
        CIPHER,  /* EVP_Cipher of n bytes of in */
        COPY     /* go on with a copy of the context */
    } verb;
    int n;
    int cipher, key, iv;
    const unsigned char *in;
};

static const char *const verbs[] = { "init", "update", "final", "padding", "num", "EVP_Cipher", "copy" };

/* What can be seen of a step. */
struct seen {
    int ret, reason, out_len;
    char explanation[80]; /* of the error, which Ruby and others show */
    unsigned char out[UPDATE_MAX + 2 * BLOCK];
    struct state {
        size_t key_len, iv_len;
        unsigned padding, num;
        unsigned char iv[BLOCK], updated_iv[BLOCK];
    } state;
};

struct side {
    const EVP_CIPHER *cipher;
    EVP_CIPHER_CTX *ctx;
    struct seen seen;
};

struct pair {
    struct side ours, theirs;
    size_t which; /* of names */
    int key_set, encrypts;
    char trace[600]; /* of the steps so far */
};

static void get_state(EVP_CIPHER_CTX *ctx, struct state *state)
{
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_KEYLEN, &state->key_len),
        OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_IVLEN, &state->iv_len),
        OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_PADDING, &state->padding),
        OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_NUM, &state->num),
        OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_IV, state->iv, sizeof state->iv),
        OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_UPDATED_IV, state->updated_iv, sizeof state->updated_iv),
        OSSL_PARAM_END,
    };

    memset(state, 0, sizeof *state);
    CU_ASSERT_EQUAL(EVP_CIPHER_CTX_get_params(ctx, params), 1);
}

static void side_step(struct side *side, const struct step *step)
{
    struct seen *seen = &side->seen;
    const char *explanation = "";
    EVP_CIPHER_CTX *copy;
    int flags;

    ERR_clear_error();
    memset(seen, 0, sizeof *seen);
    memset(seen->out, CANARY, sizeof seen->out);
    switch (step->verb) {
    case INIT:
        seen->ret =
            EVP_CipherInit_ex2(side->ctx, step->cipher ? side->cipher : NULL, step->key ? key[step->key - 1] : NULL,
                               step->iv ? iv[step->iv - 1] : NULL, step->n, NULL);
        break;
    case UPDATE:
        seen->ret = EVP_CipherUpdate(side->ctx, seen->out, &seen->out_len, step->in, step->n);
        break;
    case FINAL:
        seen->ret = EVP_CipherFinal_ex(side->ctx, seen->out, &seen->out_len);
        break;
    case PADDING:
        seen->ret = EVP_CIPHER_CTX_set_padding(side->ctx, step->n);
        break;
    case NUM:
        seen->ret = EVP_CIPHER_CTX_set_num(side->ctx, step->n);
        break;
    case CIPHER:
        seen->ret = EVP_Cipher(side->ctx, seen->out, step->in, (unsigned)step->n);
        seen->out_len = seen->ret < 0 ? 0 : seen->ret;
        break;
    case COPY:
        copy = EVP_CIPHER_CTX_new();
        seen->ret = EVP_CIPHER_CTX_copy(copy, side->ctx);
        EVP_CIPHER_CTX_free(side->ctx);
        side->ctx = copy;
        break;
    }
    seen->reason = ERR_GET_REASON(ERR_peek_last_error_data(&explanation, &flags));
    snprintf(seen->explanation, sizeof seen->explanation, "%s", explanation);
    get_state(side->ctx, &seen->state);
}

static int untouched(const unsigned char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] != CANARY)
            return 0;
    return 1;
}

static void pair_open(struct pair *pair, size_t which)
{
    *pair = (struct pair){ .ours = { .cipher = our_ciphers[which], .ctx = EVP_CIPHER_CTX_new() },
                           .theirs = { .cipher = their_ciphers[which], .ctx = EVP_CIPHER_CTX_new() },
                           .which = which };
}

static void pair_close(struct pair *pair)
{
    EVP_CIPHER_CTX_free(pair->ours.ctx);
    EVP_CIPHER_CTX_free(pair->theirs.ctx);
}

/* The same reason for a failure; none after a success, where OpenSSL 3.5 can leave one. */
static int same_reason(int ret, int ours_reason, int theirs_reason)
{
    return ours_reason == (ret > 0 ? 0 : theirs_reason);
}

static int same_error(const struct seen *ours, const struct seen *theirs)
{
    return same_reason(ours->ret, ours->reason, theirs->reason) &&
           (ours->ret > 0 || strcmp(ours->explanation, theirs->explanation) == 0);
}

/* Does a step on both sides and compares. Returns whether all agreed. */
static int pair_step(struct pair *pair, struct step step)
{
    struct seen *a = &pair->ours.seen, *b = &pair->theirs.seen;
    size_t traced = strlen(pair->trace);
    int turned = step.verb == INIT && step.n >= 0 && step.n != pair->encrypts;

    snprintf(pair->trace + traced, sizeof pair->trace - traced, " %s(%d,%d%d%d)", verbs[step.verb], step.n, step.cipher,
             step.key, step.iv);
    if (step.verb == INIT) {
        pair->encrypts = step.n >= 0 ? step.n : pair->encrypts;
        pair->key_set = step.key ? step.key : step.cipher ? 0 : pair->key_set;
    }
    side_step(&pair->ours, &step);
    /* Turned round without a key, default goes on with the key schedule of the other direction: we do not. */
    if (turned && !step.key)
        step.key = pair->key_set;
    side_step(&pair->theirs, &step);
    return CHECK(a->ret == b->ret && same_error(a, b) && a->out_len == b->out_len &&
                     memcmp(a->out, b->out, (size_t)a->out_len) == 0 &&
                     untouched(a->out + a->out_len, sizeof a->out - (size_t)a->out_len) &&
                     memcmp(&a->state, &b->state, sizeof a->state) == 0,
                 "seed %llu %s:%s: returned %d/%d reason %d/%d (%s) length %d/%d state %d",
                 (unsigned long long)support_seed(), names[pair->which], pair->trace, a->ret, b->ret, a->reason,
                 b->reason, a->explanation, a->out_len, b->out_len, memcmp(&a->state, &b->state, sizeof a->state));
}

/* ---- tests with both sides ---- */

/* Init, updates, finals, parameters and copies in any order. */
static void test_walks(void)
{
    unsigned walks = support_long() ? 200000 : 3000;

    for (unsigned i = 0; i < walks; i++) {
        struct support_random random;
        struct pair pair;
        int bad_decrypt = 0, agreed;

        support_random_seed(&random, support_seed() + i);
        pair_open(&pair, support_random_below(&random, NAMES));
        /* the first init decides about the direction */
        agreed = pair_step(&pair, (struct step){ .verb = INIT,
                                                 .cipher = 1,
                                                 .n = (int)support_random_below(&random, 2),
                                                 .key = (int)support_random_below(&random, 3),
                                                 .iv = (int)support_random_below(&random, 3) });
        for (unsigned n = 0; n < 14 && agreed; n++) {
            static const enum verb often[] = { INIT,  UPDATE,  UPDATE, UPDATE, UPDATE, FINAL,
                                               FINAL, PADDING, NUM,    CIPHER, COPY };
            struct step step = { .verb = often[support_random_below(&random, sizeof often / sizeof *often)] };

            /* What a context holds after bad padding is nobody's business. */
            if (bad_decrypt)
                step.verb = INIT;
            switch (step.verb) {
            case INIT:
                step.n = (int)support_random_below(&random, 3) - 1;
                step.cipher = support_random_below(&random, 8) == 0;
                step.key = support_random_below(&random, 2) ? (int)support_random_below(&random, 3) : 0;
                step.iv = (int)support_random_below(&random, 3);
                break;
            case UPDATE:
                step.n = (int)support_random_below(&random, support_random_below(&random, 8) ? 50 : UPDATE_MAX);
                step.in = text + support_random_below(&random, 64);
                break;
            case PADDING:
                step.n = (int)support_random_below(&random, 2);
                break;
            case NUM:
                step.n = (int)support_random_below(&random, BLOCK);
                break;
            case CIPHER:
                step.n = BLOCK * (int)support_random_below(&random, 5);
                step.in = text;
                break;
            default:
                break;
            }
            agreed = pair_step(&pair, step);
            bad_decrypt = pair.ours.seen.reason == PROV_R_BAD_DECRYPT && !pair.ours.seen.ret;
        }
        pair_close(&pair);
        if (!agreed)
            break;
    }
}

/* What default makes of the first len bytes of a text; returns the length. */
static size_t reference(size_t which, int encrypt, int padding, unsigned char *out, const unsigned char *in, size_t len)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int n = 0, last = 0;

    CU_ASSERT_EQUAL_FATAL(EVP_CipherInit_ex2(ctx, their_ciphers[which], key[0], iv[0], encrypt, NULL), 1);
    EVP_CIPHER_CTX_set_padding(ctx, padding);
    CU_ASSERT_EQUAL_FATAL(EVP_CipherUpdate(ctx, out, &n, in, (int)len), 1);
    CU_ASSERT_EQUAL_FATAL(EVP_CipherFinal_ex(ctx, out + n, &last), 1);
    EVP_CIPHER_CTX_free(ctx);
    return (size_t)(n + last);
}

static void check_split(size_t which, int encrypt, int padding, const unsigned char *in, size_t len, size_t split)
{
    struct pair pair;

    pair_open(&pair, which);
    (void)(pair_step(&pair, (struct step){ .verb = INIT, .cipher = 1, .key = 1, .iv = 1, .n = encrypt }) &&
           pair_step(&pair, (struct step){ .verb = PADDING, .n = padding }) &&
           pair_step(&pair, (struct step){ .verb = UPDATE, .in = in, .n = (int)split }) &&
           pair_step(&pair, (struct step){ .verb = UPDATE, .in = in + split, .n = (int)(len - split) }) &&
           pair_step(&pair, (struct step){ .verb = FINAL })
           /* again, with nothing passed: the same message */
           && pair_step(&pair, (struct step){ .verb = INIT, .n = -1 }) &&
           pair_step(&pair, (struct step){ .verb = UPDATE, .in = in, .n = (int)len }) &&
           pair_step(&pair, (struct step){ .verb = FINAL }));
    pair_close(&pair);
}

/* Every length and every split of it; with padding off that includes the lengths that final refuses. */
static void test_splits(void)
{
    for (size_t len = 0; len <= (support_long() ? 200 : 3 * BLOCK + 1); len++) {
        size_t which = len % NAMES;
        unsigned char sealed[TEXT_MAX + BLOCK];
        size_t sealed_len = reference(which, 1, 1, sealed, text, len);

        for (size_t split = 0; split <= len; split++)
            for (int padding = 0; padding <= 1; padding++) {
                check_split(which, 1, padding, text, len, split);
                check_split(which, 0, padding, sealed, len, split);
            }
        for (size_t split = 0; split <= sealed_len; split++)
            check_split(which, 0, 1, sealed, sealed_len, split);
    }
}

/*
 * An update whose output lies upon its input, `distance` bytes from it, while the context holds `pending` bytes: the
 * result is that of separate buffers, and nothing but the reported bytes is written.
 */
static void check_overlap(size_t which, int encrypt, int padding, size_t pending, size_t len, int distance,
                          const unsigned char *in, const unsigned char *expected)
{
    static unsigned char arena[TEXT_MAX + 8 * BLOCK], before[sizeof arena];
    unsigned char first[2 * BLOCK];
    unsigned char *at = arena + 4 * BLOCK, *out = at + distance;
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int first_len = 0, n = 0;

    memset(arena, CANARY, sizeof arena);
    memcpy(at, in + pending, len);
    memcpy(before, arena, sizeof arena);
    CU_ASSERT_EQUAL(EVP_CipherInit_ex2(ctx, our_ciphers[which], key[0], iv[0], encrypt, NULL), 1);
    EVP_CIPHER_CTX_set_padding(ctx, padding);
    CU_ASSERT_EQUAL(EVP_CipherUpdate(ctx, first, &first_len, in, (int)pending), 1);
    CU_ASSERT_EQUAL(EVP_CipherUpdate(ctx, out, &n, at, (int)len), 1);
    CHECK(memcmp(first, expected, (size_t)first_len) == 0 && memcmp(out, expected + first_len, (size_t)n) == 0 &&
              memcmp(arena, before, (size_t)(out - arena)) == 0 &&
              memcmp(out + n, before + (out + n - arena), sizeof arena - (size_t)(out + n - arena)) == 0,
          "%s encrypt %d padding %d: %zu pending, %zu bytes, output at %d", names[which], encrypt, padding, pending,
          len, distance);
    EVP_CIPHER_CTX_free(ctx);
}

static void test_overlap(void)
{
    static const size_t lengths[] = { 0, 1, 15, 16, 17, 31, 32, 33, 79, 256, 257, 1000, 5000 };
    static unsigned char expected[TEXT_MAX];
    size_t whole = sizeof expected / BLOCK * BLOCK;

    for (int encrypt = 0; encrypt <= 1; encrypt++) {
        reference(0, encrypt, 0, expected, text, whole);
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            for (size_t pending = 0; pending <= BLOCK; pending++)
                for (int distance = -2 * BLOCK - 1; distance <= 2 * BLOCK + 1; distance++)
                    /* the short form: every 8th, and the neighbours of those */
                    if (support_long() || (distance + 33) % 8 <= 2)
                        check_overlap(0, encrypt, (int)(pending + i) % 2, pending, lengths[i], distance, text,
                                      expected);
    }
}

/* PKCS#7: every padding length, right, and with every byte of the last block changed. */
static void test_padding(void)
{
    unsigned accepted = 0, refused = 0;

    for (unsigned value = 0; value < 256; value++)
        for (unsigned wrong = 0; wrong <= BLOCK; wrong++) {
            unsigned char plain[2 * BLOCK], sealed[2 * BLOCK];
            size_t pad = value < BLOCK ? value : BLOCK;
            struct pair pair;

            memcpy(plain, text, sizeof plain);
            memset(plain + sizeof plain - pad, (int)value, pad);
            plain[sizeof plain - 1] = (unsigned char)value;
            if (wrong < BLOCK)
                plain[BLOCK + wrong] ^= 0x80 >> value % 8;
            reference(value % NAMES, 1, 0, sealed, plain, sizeof plain);

            pair_open(&pair, value % NAMES);
            pair_step(&pair, (struct step){ .verb = INIT, .cipher = 1, .key = 1, .iv = 1, .n = 0 });
            pair_step(&pair, (struct step){ .verb = UPDATE, .in = sealed, .n = sizeof sealed });
            pair_step(&pair, (struct step){ .verb = FINAL });
            if (pair.ours.seen.ret) {
                accepted++;
            } else {
                refused++;
                CU_ASSERT_EQUAL(pair.ours.seen.reason, PROV_R_BAD_DECRYPT);
            }
            pair_close(&pair);
        }
    CU_ASSERT(accepted > BLOCK && refused > 200);
}

/* What a context refuses, and the reason it gives. */
static void test_refusals(void)
{
    static const struct {
        const char *what;
        int encrypt, key, padding, data_len;
        enum verb verb;
        int ret, reason;
    } cases[] = {
        { "update without key", 1, 0, 1, -1, UPDATE, 0, PROV_R_NO_KEY_SET },
        { "final without key", 1, 0, 1, -1, FINAL, 0, PROV_R_NO_KEY_SET },
        { "EVP_Cipher without key", 0, 0, 1, -1, CIPHER, -1, PROV_R_NO_KEY_SET },
        { "nothing, padding off", 1, 1, 0, -1, FINAL, 1, 0 },
        { "a partial block, encrypting without padding", 1, 1, 0, 5, FINAL, 0, PROV_R_WRONG_FINAL_BLOCK_LENGTH },
        { "a partial block, decrypting without padding", 0, 1, 0, 5, FINAL, 0, PROV_R_WRONG_FINAL_BLOCK_LENGTH },
        { "a partial block, decrypting with padding", 0, 1, 1, 21, FINAL, 0, PROV_R_WRONG_FINAL_BLOCK_LENGTH },
        { "nothing, decrypting with padding", 0, 1, 1, -1, FINAL, 0, PROV_R_WRONG_FINAL_BLOCK_LENGTH },
    };

    for (size_t which = 0; which < NAMES; which++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct pair pair;

            pair_open(&pair, which);
            pair_step(&pair,
                      (struct step){ .verb = INIT, .cipher = 1, .key = cases[i].key, .iv = 1, .n = cases[i].encrypt });
            pair_step(&pair, (struct step){ .verb = PADDING, .n = cases[i].padding });
            if (cases[i].data_len >= 0)
                pair_step(&pair, (struct step){ .verb = UPDATE, .in = text, .n = cases[i].data_len });
            pair_step(&pair, (struct step){ .verb = cases[i].verb, .in = text, .n = 2 * BLOCK });
            CHECK(pair.ours.seen.ret == cases[i].ret && pair.ours.seen.reason == cases[i].reason, "%s: %d, reason %d",
                  cases[i].what, pair.ours.seen.ret, pair.ours.seen.reason);
            pair_close(&pair);
        }
}

/* The direction can change without the key; default's answer to that is wrong, so it is no oracle here. */
static void test_turn(void)
{
    for (size_t which = 0; which < NAMES; which++) {
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        unsigned char sealed[64], opened[64], expected[64];
        int n;

        reference(which, 1, 0, expected, text, sizeof expected);
        CU_ASSERT_EQUAL(EVP_CipherInit_ex2(ctx, our_ciphers[which], key[0], iv[0], 0, NULL), 1);
        EVP_CIPHER_CTX_set_padding(ctx, 0);
        for (int i = 0; i < 3; i++) {
            CU_ASSERT_EQUAL(EVP_CipherInit_ex2(ctx, NULL, NULL, NULL, 1, NULL), 1);
            CU_ASSERT_EQUAL(EVP_CipherUpdate(ctx, sealed, &n, text, sizeof sealed), 1);
            CU_ASSERT_EQUAL(memcmp(sealed, expected, sizeof sealed), 0);
            CU_ASSERT_EQUAL(EVP_CipherInit_ex2(ctx, NULL, NULL, NULL, 0, NULL), 1);
            CU_ASSERT_EQUAL(EVP_CipherUpdate(ctx, opened, &n, sealed, sizeof sealed), 1);
            CU_ASSERT_EQUAL(memcmp(opened, text, sizeof opened), 0);
        }
        EVP_CIPHER_CTX_free(ctx);
    }
}

/* EVP leaves partial blocks of EVP_Cipher undefined (default writes up to 15 bytes too many): refused, untouched. */
static void test_cipher_partial(void)
{
    for (int encrypt = 0; encrypt <= 1; encrypt++)
        for (unsigned len = 0; len <= 3 * BLOCK; len++) {
            EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
            unsigned char out[4 * BLOCK];
            int ret;

            memset(out, CANARY, sizeof out);
            ERR_clear_error();
            CU_ASSERT_EQUAL(EVP_CipherInit_ex2(ctx, our_ciphers[0], key[0], iv[0], encrypt, NULL), 1);
            ret = EVP_Cipher(ctx, out, text, len);
            if (len % BLOCK == 0)
                CHECK(ret == (int)len && untouched(out + len, sizeof out - len), "%u bytes: %d", len, ret);
            else
                CHECK(ret == -1 && untouched(out, sizeof out) &&
                          ERR_GET_REASON(ERR_peek_last_error()) == PROV_R_WRONG_FINAL_BLOCK_LENGTH,
                      "%u bytes: %d", len, ret);
            EVP_CIPHER_CTX_free(ctx);
        }
}

/* A copy and its original go on alone, each from where they were. */
static void test_copy(void)
{
    for (size_t which = 0; which < NAMES; which++)
        for (int encrypt = 0; encrypt <= 1; encrypt++)
            for (size_t split = 0; split <= 3 * BLOCK; split++) {
                unsigned char expected[128], a[160], b[160];
                EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new(), *copy = EVP_CIPHER_CTX_new();
                int n, m, last;

                reference(which, encrypt, 0, expected, text, sizeof expected);
                EVP_CipherInit_ex2(ctx, our_ciphers[which], key[0], iv[0], encrypt, NULL);
                EVP_CIPHER_CTX_set_padding(ctx, 0);
                CU_ASSERT_EQUAL(EVP_CipherUpdate(ctx, a, &n, text, (int)split), 1);
                CU_ASSERT_EQUAL(EVP_CIPHER_CTX_copy(copy, ctx), 1);
                memcpy(b, a, (size_t)n);
                CU_ASSERT_EQUAL(EVP_CipherUpdate(ctx, a + n, &m, text + split, (int)(sizeof expected - split)), 1);
                CU_ASSERT_EQUAL(EVP_CipherFinal_ex(ctx, a + n + m, &last), 1);
                /* a new key for the original is none for the copy */
                EVP_CipherInit_ex2(ctx, NULL, key[1], iv[1], !encrypt, NULL);
                EVP_CIPHER_CTX_free(ctx);
                CU_ASSERT_EQUAL(EVP_CipherUpdate(copy, b + n, &m, text + split, (int)(sizeof expected - split)), 1);
                EVP_CIPHER_CTX_free(copy);
                CHECK(memcmp(a, expected, sizeof expected) == 0 && memcmp(b, expected, sizeof expected) == 0,
                      "%s encrypt %d, copied after %zu bytes", names[which], encrypt, split);
            }
}

/* ---- parameters ---- */

/* A number as a parameter of every type that can carry it. */
union number {
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
};

static const struct number_type {
    unsigned type;
    size_t size;
} number_types[] = {
    { OSSL_PARAM_INTEGER, 4 },
    { OSSL_PARAM_UNSIGNED_INTEGER, 4 },
    { OSSL_PARAM_INTEGER, 8 },
    { OSSL_PARAM_UNSIGNED_INTEGER, 8 },
};
enum { NUMBER_TYPES = sizeof number_types / sizeof *number_types };

static OSSL_PARAM number_param(const char *name, const struct number_type *type, union number *number, int64_t value)
{
    OSSL_PARAM p = { name, type->type, number, type->size, OSSL_PARAM_UNMODIFIED };

    number->i64 = value; /* little-endian or not: truncated below where it is not */
    if (type->size == sizeof number->i32)
        number->i32 = (int32_t)value;
    return p;
}

/* Sets or gets one parameter on both sides, on fresh contexts; compares what comes of it. Returns ours. */
static int both_params(OSSL_PARAM *a, OSSL_PARAM *b, int set)
{
    int ret[2], reason[2], same_size;

    for (int i = 0; i < 2; i++) {
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        OSSL_PARAM params[] = { i == 0 ? *a : *b, OSSL_PARAM_END };

        ERR_clear_error();
        CU_ASSERT_EQUAL(EVP_CipherInit_ex2(ctx, i == 0 ? our_ciphers[1] : their_ciphers[1], key[0], iv[0], 1, NULL), 1);
        ret[i] = set ? EVP_CIPHER_CTX_set_params(ctx, params) : EVP_CIPHER_CTX_get_params(ctx, params);
        reason[i] = ERR_GET_REASON(ERR_peek_last_error());
        (i == 0 ? a : b)->return_size = params[0].return_size;
        EVP_CIPHER_CTX_free(ctx);
    }
    /* what is left in return_size by a failure for the wrong type says nothing */
    same_size = a->return_size == b->return_size || (!ret[0] && a->data_type == OSSL_PARAM_INTEGER);
    CHECK(ret[0] == ret[1] && same_reason(ret[0], reason[0], reason[1]) && same_size,
          "%s %s, type %u of %zu bytes: returned %d/%d, reason %d/%d, size %zd/%zd", set ? "set" : "get", a->key,
          a->data_type, a->data_size, ret[0], ret[1], reason[0], reason[1], (ssize_t)a->return_size,
          (ssize_t)b->return_size);
    return ret[0];
}

static void test_numbers(void)
{
    static const char *const settable[] = { OSSL_CIPHER_PARAM_PADDING, OSSL_CIPHER_PARAM_TLS_VERSION,
                                            OSSL_CIPHER_PARAM_TLS_MAC_SIZE, OSSL_CIPHER_PARAM_NUM,
                                            OSSL_CIPHER_PARAM_KEYLEN };
    static const char *const gettable[] = { OSSL_CIPHER_PARAM_PADDING, OSSL_CIPHER_PARAM_KEYLEN,
                                            OSSL_CIPHER_PARAM_IVLEN, OSSL_CIPHER_PARAM_NUM };
    static const int64_t values[] = { 0, 1, 2, 15, 0x0303, -1, INT64_C(1) << 32 };

    for (size_t t = 0; t < NUMBER_TYPES; t++) {
        for (size_t i = 0; i < sizeof settable / sizeof *settable; i++)
            for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
                union number a, b;
                OSSL_PARAM pa, pb;

                /* A number beyond the block is one version's business (a later one refuses it). */
                if (i == 3 && values[v] >= BLOCK)
                    continue;
                pa = number_param(settable[i], &number_types[t], &a, values[v]);
                pb = number_param(settable[i], &number_types[t], &b, values[v]);
                /* and so is all ones as a number */
                if (i != 3 || values[v] >= 0)
                    both_params(&pa, &pb, 1);
            }
        for (size_t i = 0; i < sizeof gettable / sizeof *gettable; i++) {
            union number a = { .i64 = -1 }, b = { .i64 = -1 };
            OSSL_PARAM pa = { gettable[i], number_types[t].type, &a, number_types[t].size, OSSL_PARAM_UNMODIFIED };
            OSSL_PARAM pb = { gettable[i], number_types[t].type, &b, number_types[t].size, OSSL_PARAM_UNMODIFIED };

            CU_ASSERT_EQUAL(both_params(&pa, &pb, 0), 1);
            CHECK(memcmp(&a, &b, sizeof a) == 0, "get %s, type %zu: %lld/%lld", gettable[i], t, (long long)a.i64,
                  (long long)b.i64);

            pa.data = pb.data = NULL; /* its size */
            CU_ASSERT_EQUAL(both_params(&pa, &pb, 0), 1);
        }
    }
    /* what is no number */
    for (size_t i = 0; i < sizeof settable / sizeof *settable; i++) {
        OSSL_PARAM a = { settable[i], OSSL_PARAM_UTF8_STRING, "1", 1, 0 }, b = a;

        both_params(&a, &b, 1);
    }
}

/* The IVs as string and as pointer, of every size; the size alone; unknown names; no parameters at all. */
static void test_octets(void)
{
    static const char *const ivs[] = { OSSL_CIPHER_PARAM_IV, OSSL_CIPHER_PARAM_UPDATED_IV };
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    unsigned char out[BLOCK], ours_out[2 * BLOCK], theirs_out[2 * BLOCK];
    void *pointer[2] = { NULL, NULL };
    int n, value = 0;

    for (size_t i = 0; i < 2; i++) {
        OSSL_PARAM a, b;

        for (size_t size = 0; size <= sizeof ours_out; size++) {
            memset(ours_out, CANARY, sizeof ours_out);
            memset(theirs_out, CANARY, sizeof theirs_out);
            a = OSSL_PARAM_construct_octet_string(ivs[i], ours_out, size);
            b = OSSL_PARAM_construct_octet_string(ivs[i], theirs_out, size);
            CU_ASSERT_EQUAL(both_params(&a, &b, 0), size >= BLOCK);
            CU_ASSERT_EQUAL(memcmp(ours_out, theirs_out, sizeof ours_out), 0);
        }
        a = b = OSSL_PARAM_construct_octet_string(ivs[i], NULL, 0);
        CU_ASSERT_EQUAL(both_params(&a, &b, 0), 1);
        a = b = OSSL_PARAM_construct_octet_ptr(ivs[i], NULL, 0);
        CU_ASSERT_EQUAL(both_params(&a, &b, 0), 1);
        for (size_t size = 0; size <= BLOCK; size += BLOCK) {
            a = OSSL_PARAM_construct_octet_ptr(ivs[i], &pointer[0], size);
            b = OSSL_PARAM_construct_octet_ptr(ivs[i], &pointer[1], size);
            CU_ASSERT_EQUAL(both_params(&a, &b, 0), 1);
            CU_ASSERT_EQUAL(a.return_size, BLOCK);
        }
        a = b = OSSL_PARAM_construct_int(ivs[i], &value);
        CU_ASSERT_EQUAL(both_params(&a, &b, 0), 0);
        a = b = OSSL_PARAM_construct_int("no-such-parameter", &value);
        CU_ASSERT_EQUAL(both_params(&a, &b, 0), 1);
        CU_ASSERT_EQUAL(both_params(&a, &b, 1), 1);
    }

    /* the pointers show what the strings copy */
    CU_ASSERT_EQUAL(EVP_CipherInit_ex2(ctx, our_ciphers[0], key[0], iv[0], 1, NULL), 1);
    CU_ASSERT_EQUAL(EVP_CipherUpdate(ctx, out, &n, text, sizeof out), 1);
    for (size_t i = 0; i < 2; i++) {
        OSSL_PARAM params[] = { OSSL_PARAM_construct_octet_ptr(ivs[i], &pointer[i], 0), OSSL_PARAM_END };

        CU_ASSERT_EQUAL(EVP_CIPHER_CTX_get_params(ctx, params), 1);
    }
    CU_ASSERT_EQUAL(memcmp(pointer[0], iv[0], BLOCK), 0);
    CU_ASSERT_EQUAL(memcmp(pointer[1], out, BLOCK), 0);

    CU_ASSERT_EQUAL(EVP_CIPHER_CTX_set_key_length(ctx, 24), 0);
    CU_ASSERT_EQUAL(EVP_CIPHER_CTX_set_key_length(ctx, 16), 1);
    CU_ASSERT_EQUAL(EVP_CIPHER_CTX_get_key_length(ctx), 16);
    EVP_CIPHER_CTX_free(ctx);
}

static int listed(const OSSL_PARAM *list, const OSSL_PARAM *wanted)
{
    for (; list->key != NULL; list++)
        if (strcmp(list->key, wanted->key) == 0)
            return 1;
    return 0;
}

/* The lists name what default's name, and the methods say the same. */
static void test_lists(void)
{
    static const OSSL_PARAM *(*const lists[])(const EVP_CIPHER *) = { EVP_CIPHER_gettable_params,
                                                                      EVP_CIPHER_gettable_ctx_params,
                                                                      EVP_CIPHER_settable_ctx_params };

    for (size_t which = 0; which < NAMES; which++) {
        EVP_CIPHER *a = our_ciphers[which], *b = their_ciphers[which];

        for (size_t i = 0; i < 3; i++)
            for (const OSSL_PARAM *p = lists[i](b); p->key != NULL; p++)
                CHECK(listed(lists[i](a), p), "list %zu lacks %s", i, p->key);
        CU_ASSERT_EQUAL(EVP_CIPHER_get_key_length(a), EVP_CIPHER_get_key_length(b));
        CU_ASSERT_EQUAL(EVP_CIPHER_get_iv_length(a), EVP_CIPHER_get_iv_length(b));
        CU_ASSERT_EQUAL(EVP_CIPHER_get_block_size(a), EVP_CIPHER_get_block_size(b));
        CU_ASSERT_EQUAL(EVP_CIPHER_get_mode(a), EVP_CIPHER_get_mode(b));
        CU_ASSERT_EQUAL(EVP_CIPHER_get_flags(a), EVP_CIPHER_get_flags(b));
        CU_ASSERT_EQUAL(EVP_CIPHER_get_nid(a), EVP_CIPHER_get_nid(b));
    }
}

int main(int argc, char **argv)
{
    static CU_TestInfo tests[] = {
        { "init, update, final, parameters, copies in any order", test_walks },
        { "every length, every split", test_splits },
        { "output upon input", test_overlap },
        { "PKCS#7 padding", test_padding },
        { "refusals", test_refusals },
        { "change of direction", test_turn },
        { "EVP_Cipher with partial blocks", test_cipher_partial },
        { "copies", test_copy },
        { "numbers", test_numbers },
        { "octets", test_octets },
        { "lists and traits", test_lists },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "cbc", suite_open, suite_close, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return support_main(argc, argv, suites);
}
