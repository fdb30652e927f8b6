/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aesop against the default provider: the same EVP calls on both, one by one, and whatever EVP hands back (result,
 * length, bytes, tag, IV) must be equal. The oracle works in buffers of its own; ours works in guarded memory of
 * exactly the right size, in place, or with its output behind its input.
 */
#include "support.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/params.h>

enum { OURS, ORACLE, SIDES };

#define ARENA_BYTES ((size_t)2 << 20) /* a multiple of the page: both ends of the arena are guarded to the byte */
#define MAX_TEXT (ARENA_BYTES / 2)
#define MAX_AAD 512
#define MAX_IV 128
#define CANARY_BYTES 64
#define CANARY 0xa5
#define CIPHERS 6 /* three of GCM, then three of CBC */
#define NEAR_BOUNDARY 17
#define GCM_LIMIT ((UINT64_C(1) << 36) - 32) /* SP 800-38D, 5.2.1.1 */

static const char *const cipher_names[CIPHERS] = { "AES-128-GCM", "AES-192-GCM", "AES-256-GCM",
                                                   "AES-128-CBC", "AES-192-CBC", "AES-256-CBC" };

enum placement {
    AT_END,         /* input and output each end at an unreadable page */
    AT_START,       /* ... begin behind one */
    IN_PLACE_END,   /* one buffer that ends there */
    IN_PLACE_START, /* one buffer that begins there: for CBC the output then falls behind as blocks are held back */
    LAGGING,        /* one buffer, the output `in_offset` bytes before the input */
    ALIGNED,        /* input and output at chosen offsets from a page */
    IN_PIECES       /* each update in place, so that its output is ahead of its input where CBC has held bytes back */
};
static const char *const placement_names[] = { "at end",  "at start", "in place at end", "in place at start",
                                               "lagging", "aligned",  "in pieces" };

/* Calls of EVP_CipherInit_ex2 that lead to a message: what each is given. 0 ends the list. */
enum { CIPHER = 1, KEY = 2, IV = 4, IVLEN_PARAM = 8, IVLEN_CTRL = 16 };
#define MAX_INIT_CALLS 5
static const unsigned char fresh_inits[][MAX_INIT_CALLS] = {
    { CIPHER, IVLEN_CTRL, KEY | IV },  { CIPHER | KEY | IV | IVLEN_PARAM },  { CIPHER, IVLEN_CTRL, KEY, IV },
    { CIPHER, IVLEN_CTRL, IV, KEY },   { CIPHER | KEY, IVLEN_CTRL, IV },     { CIPHER, KEY | IVLEN_PARAM, IV },
    { CIPHER | IVLEN_PARAM, IV, KEY }, { CIPHER, IVLEN_CTRL, KEY | IV, IV },
};
/* On a context that has served a message with the same cipher. The first keeps the key. */
static const unsigned char reuse_inits[][MAX_INIT_CALLS] = {
    { IVLEN_CTRL, IV },         { IVLEN_CTRL, KEY | IV }, { IVLEN_CTRL, KEY, IV },
    { IVLEN_PARAM | KEY | IV }, { IVLEN_CTRL, IV, KEY },
};

struct message {
    unsigned which; /* of cipher_names */
    int encrypt;
    const unsigned char *init; /* one of the lists above */
    unsigned char key[32], iv[MAX_IV];
    size_t iv_len, aad_len, text_len, tag_len;
    int padding;   /* CBC */
    int genuine;   /* decryption: of something that was encrypted, text_len is the plaintext's length */
    int flip_tag;  /* GCM decryption must fail */
    int early_tag; /* GCM decryption: the tag is set before the data */
    int split;     /* updates of random lengths */
    int copy;      /* to another context in the middle */
    int ask_iv;    /* compare iv and updated-iv */
    int late_aad;  /* GCM: associated data once there was text, which ends the message */
    int go_on;     /* one more update after final */
    enum placement placement;
    size_t in_offset, out_offset;
};

struct duel {
    const char *kernel, *suite;
    uint64_t seed; /* that repeats the running message, with the suite's name */
    struct support_random random;
    EVP_CIPHER *ciphers[SIDES][CIPHERS];
    EVP_CIPHER_CTX *ctx[SIDES], *spare[SIDES], *maker;
    struct support_guarded in_arena, out_arena;
    /* of the oracle */
    unsigned char *in, *out, *aad;
    unsigned char tag[16];
    size_t in_len, out_max; /* of the running message */
    const char *differs;    /* the step at which the sides parted, or NULL */
    int values[SIDES];      /* what they said there */
    unsigned long messages, finished;
};

static int is_gcm(const struct message *m)
{
    return m->which < CIPHERS / 2;
}

/* ---- steps: each is done on both sides and returns whether both succeeded ---- */

static int agree(struct duel *d, const char *step, int ours, int oracle)
{
    if (ours != oracle && d->differs == NULL) {
        d->differs = step;
        d->values[OURS] = ours;
        d->values[ORACLE] = oracle;
    }
    return d->differs == NULL;
}

static int agree_bytes(struct duel *d, const char *step, const unsigned char *ours, const unsigned char *oracle,
                       size_t len)
{
    size_t i = 0;

    if (memcmp(ours, oracle, len) == 0)
        return 1;
    while (ours[i] == oracle[i])
        i++;
    agree(d, step, -1 - (int)i, 0); /* says where */
    return 0;
}

static int init(struct duel *d, const struct message *m)
{
    size_t iv_len = m->iv_len;
    OSSL_PARAM params[] = { OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_IVLEN, &iv_len), OSSL_PARAM_END };

    for (const unsigned char *call = m->init; *call != 0; call++) {
        int result[SIDES];

        if (*call == IVLEN_CTRL && !is_gcm(m))
            continue;
        for (int side = 0; side < SIDES; side++) {
            if (*call == IVLEN_CTRL)
                result[side] = EVP_CIPHER_CTX_ctrl(d->ctx[side], EVP_CTRL_AEAD_SET_IVLEN, (int)iv_len, NULL);
            else
                result[side] = EVP_CipherInit_ex2(d->ctx[side], *call & CIPHER ? d->ciphers[side][m->which] : NULL,
                                                  *call & KEY ? m->key : NULL, *call & IV ? m->iv : NULL, m->encrypt,
                                                  *call & IVLEN_PARAM && is_gcm(m) ? params : NULL);
        }
        if (!agree(d, "init", result[OURS], result[ORACLE]) || result[OURS] <= 0)
            return 0;
    }
    return is_gcm(m) || agree(d, "set_padding", EVP_CIPHER_CTX_set_padding(d->ctx[OURS], m->padding),
                              EVP_CIPHER_CTX_set_padding(d->ctx[ORACLE], m->padding));
}

/* Compares the IVs that EVP reports. */
static int ask_iv(struct duel *d)
{
    unsigned char iv[SIDES][MAX_IV] = { { 0 } };
    int len[SIDES], result[SIDES];

    for (int side = 0; side < SIDES; side++)
        len[side] = EVP_CIPHER_CTX_get_iv_length(d->ctx[side]);
    if (!agree(d, "iv length", len[OURS], len[ORACLE]))
        return 0;
    for (int side = 0; side < SIDES; side++)
        result[side] = EVP_CIPHER_CTX_get_original_iv(d->ctx[side], iv[side], (size_t)len[side]);
    if (!agree(d, "iv", result[OURS], result[ORACLE]) || !agree_bytes(d, "iv", iv[OURS], iv[ORACLE], MAX_IV))
        return 0;
    for (int side = 0; side < SIDES; side++)
        result[side] = EVP_CIPHER_CTX_get_updated_iv(d->ctx[side], iv[side], (size_t)len[side]);
    return agree(d, "updated iv", result[OURS], result[ORACLE]) &&
           agree_bytes(d, "updated iv", iv[OURS], iv[ORACLE], MAX_IV);
}

static int copy(struct duel *d)
{
    for (int side = 0; side < SIDES; side++) {
        EVP_CIPHER_CTX *original = d->ctx[side];

        if (!agree(d, "copy", EVP_CIPHER_CTX_copy(d->spare[side], original), 1))
            return 0;
        EVP_CIPHER_CTX_reset(original);
        d->ctx[side] = d->spare[side];
        d->spare[side] = original;
    }
    return 1;
}

static int has_one_buffer(const struct message *m)
{
    return m->placement == IN_PLACE_END || m->placement == IN_PLACE_START || m->placement == LAGGING;
}

/* One update. out[] NULL means associated data; otherwise out_pos moves on. */
static int update(struct duel *d, const struct message *m, const char *step, unsigned char *const out[SIDES],
                  size_t *out_pos, const unsigned char *const in[SIDES], size_t len)
{
    const int in_piece = out != NULL && m->placement == IN_PIECES;
    int out_len[SIDES] = { 0 }, result[SIDES];
    size_t behind;

    for (int side = 0; side < SIDES; side++) {
        unsigned char *to = out == NULL ? NULL : out[side] + *out_pos;
        const unsigned char *from = in[side];

        if (side == OURS && in_piece)
            from = memcpy(to, from, len);
        result[side] = EVP_CipherUpdate(d->ctx[side], to, &out_len[side], from, (int)len);
        if (side == OURS && in_piece && result[side] > 0 && (size_t)out_len[side] < len) {
            agree_bytes(d, "the piece behind its output", to + out_len[side], in[side] + out_len[side],
                        len - (size_t)out_len[side]);
            memset(to + out_len[side], CANARY, len - (size_t)out_len[side]);
        }
    }
    if (!agree(d, step, result[OURS], result[ORACLE]) || result[OURS] <= 0)
        return 0;
    if (!agree(d, "update's length", out_len[OURS], out_len[ORACLE]))
        return 0;
    if (out == NULL)
        return 1;
    /* Nothing may be written behind the bytes that were reported; in place, the input is there. */
    behind = has_one_buffer(m) ? 0 : d->out_max - *out_pos - (size_t)out_len[OURS];
    if (behind > CANARY_BYTES)
        behind = CANARY_BYTES;
    if (!agree_bytes(d, "update's bytes", out[OURS] + *out_pos, out[ORACLE] + *out_pos, (size_t)out_len[OURS] + behind))
        return 0;
    *out_pos += (size_t)out_len[OURS];
    return 1;
}

static size_t next_split(struct duel *d, const struct message *m, size_t left)
{
    static const size_t limits[] = { 1, 2, 17, 33, 100, 600, 5000 };
    size_t len = left;

    if (m->split) {
        len = support_random_below(&d->random,
                                   limits[support_random_below(&d->random, sizeof limits / sizeof limits[0])] + 1);
        if (support_random_below(&d->random, 4) == 0)
            len = len * 16; /* whole blocks */
    }
    return len < left ? len : left;
}

static int set_tag(struct duel *d, const struct message *m)
{
    int result[SIDES];

    for (int side = 0; side < SIDES; side++)
        result[side] = EVP_CIPHER_CTX_ctrl(d->ctx[side], EVP_CTRL_AEAD_SET_TAG, (int)m->tag_len, d->tag);
    return agree(d, "set tag", result[OURS], result[ORACLE]);
}

/* One more update, of 32 bytes, after final. */
static void go_on(struct duel *d, const struct message *m)
{
    unsigned char more[SIDES][64];
    unsigned char *out[SIDES] = { more[OURS], more[ORACLE] };
    const unsigned char *in[SIDES] = { d->aad, d->aad };
    size_t pos = 0;

    memset(more, CANARY, sizeof more);
    d->out_max = sizeof more[0];
    if (m->flip_tag) {
        /* Here default goes on to decrypt. An IV serves once, and nothing comes out behind a wrong tag. */
        int len, result = EVP_CipherUpdate(d->ctx[OURS], more[OURS], &len, d->aad, 32);

        agree(d, "update after a wrong tag", result, 0);
        agree_bytes(d, "bytes after a wrong tag", more[OURS], more[ORACLE], sizeof more[0]);
    } else {
        update(d, m, "update after final", out, &pos, in, 32);
    }
}

/* Every call that a message takes between init and its end. */
static void exchange(struct duel *d, const struct message *m, unsigned char *const out[SIDES],
                     const unsigned char *const in[SIDES])
{
    int final_len[SIDES] = { -2, -2 }, result[SIDES];
    size_t out_pos = 0, pos, len, copy_at = m->copy ? support_random_below(&d->random, d->in_len + 1) : SIZE_MAX;
    unsigned char tag[SIDES][16] = { { 0 } };
    int verifies = is_gcm(m) && !m->encrypt;

    if (!init(d, m) || (m->ask_iv && !ask_iv(d)) || (verifies && m->early_tag && !set_tag(d, m)))
        return;
    for (pos = 0; is_gcm(m) && pos < m->aad_len; pos += len) {
        const unsigned char *aad[SIDES] = { d->aad + pos, d->aad + pos };

        len = next_split(d, m, m->aad_len - pos);
        if (!update(d, m, "aad", NULL, NULL, aad, len))
            return;
    }
    /* A message of no bytes sees one empty update, as many callers make. */
    pos = 0;
    do {
        const unsigned char *from[SIDES] = { in[OURS] + pos, in[ORACLE] + pos };

        len = next_split(d, m, d->in_len - pos);
        if (pos + len >= copy_at) {
            copy_at = SIZE_MAX;
            if (!copy(d))
                return;
        }
        if (!update(d, m, "update", out, &out_pos, from, len))
            return;
        pos += len;
    } while (pos < d->in_len);
    if (m->late_aad && d->in_len > 0) {
        const unsigned char *aad[SIDES] = { d->aad, d->aad };

        agree(d, "aad after text is refused", update(d, m, "aad after text", NULL, NULL, aad, 1), 0);
        return;
    }
    if (verifies && !m->early_tag && !set_tag(d, m))
        return;

    ERR_clear_error();
    result[ORACLE] = EVP_CipherFinal_ex(d->ctx[ORACLE], out[ORACLE] + out_pos, &final_len[ORACLE]);
    ERR_clear_error();
    result[OURS] = EVP_CipherFinal_ex(d->ctx[OURS], out[OURS] + out_pos, &final_len[OURS]);
    if (!agree(d, "final", result[OURS], result[ORACLE]))
        return;
    if (verifies && !agree(d, "final is as the tag is", result[OURS], !m->flip_tag))
        return;
    if (verifies && !agree(d, "a wrong tag leaves the error queue empty", ERR_peek_error() != 0, 0))
        return;
    if (result[OURS] &&
        (!agree(d, "final's length", final_len[OURS], final_len[ORACLE]) ||
         !agree_bytes(d, "final's bytes", out[OURS] + out_pos, out[ORACLE] + out_pos, (size_t)final_len[OURS])))
        return;
    d->finished += (unsigned)result[OURS];
    if (result[OURS] && is_gcm(m) && m->encrypt) {
        for (int side = 0; side < SIDES; side++)
            result[side] = EVP_CIPHER_CTX_ctrl(d->ctx[side], EVP_CTRL_AEAD_GET_TAG, (int)m->tag_len, tag[side]);
        if (!agree(d, "get tag", result[OURS], result[ORACLE]) ||
            !agree_bytes(d, "tag", tag[OURS], tag[ORACLE], sizeof tag[0]))
            return;
    }
    if (m->ask_iv && !ask_iv(d))
        return;
    /* After bad padding nobody may care. */
    if (m->go_on && (result[OURS] || m->flip_tag))
        go_on(d, m);
}

/* ---- one message: where its bytes lie ---- */

static int untouched(const unsigned char *p, const unsigned char *end)
{
    while (p < end && *p == CANARY)
        p++;
    return p == end;
}

/* Encrypts d->out_max bytes of plaintext in d->in with default, so that d->in, d->tag hold what decrypts to it. */
static void make_genuine(struct duel *d, const struct message *m)
{
    int len = 0, final_len = 0;

    EVP_CIPHER_CTX_reset(d->maker);
    EVP_EncryptInit_ex2(d->maker, d->ciphers[ORACLE][m->which], NULL, NULL, NULL);
    if (is_gcm(m))
        EVP_CIPHER_CTX_ctrl(d->maker, EVP_CTRL_AEAD_SET_IVLEN, (int)m->iv_len, NULL);
    EVP_EncryptInit_ex2(d->maker, NULL, m->key, m->iv, NULL);
    if (is_gcm(m))
        EVP_EncryptUpdate(d->maker, NULL, &len, d->aad, (int)m->aad_len);
    else
        EVP_CIPHER_CTX_set_padding(d->maker, m->padding);
    EVP_EncryptUpdate(d->maker, d->in, &len, d->in, (int)m->text_len);
    EVP_EncryptFinal_ex(d->maker, d->in + len, &final_len);
    d->in_len = (size_t)(len + final_len);
    if (is_gcm(m))
        EVP_CIPHER_CTX_ctrl(d->maker, EVP_CTRL_AEAD_GET_TAG, 16, d->tag);
}

static void describe(const struct duel *d, const struct message *m)
{
    printf("    %s: %s %s: %s: aesop %d, default %d\n", d->kernel, cipher_names[m->which],
           m->encrypt ? "encrypt" : "decrypt", d->differs, d->values[OURS], d->values[ORACLE]);
    printf("      text %zu, aad %zu, iv %zu, tag %zu, %s, offsets %zu/%zu\n", m->text_len, m->aad_len, m->iv_len,
           m->tag_len, placement_names[m->placement], m->in_offset, m->out_offset);
    printf("      init");
    for (const unsigned char *call = m->init; *call != 0; call++)
        printf(" %d", *call);
    printf(", padding %d, genuine %d, flip tag %d, early tag %d, split %d, copy %d, ask iv %d, late aad %d, go on %d\n",
           m->padding, m->genuine, m->flip_tag, m->early_tag, m->split, m->copy, m->ask_iv, m->late_aad, m->go_on);
    printf("      repeat with: --kernel %s --seed %llu %s\n", d->kernel, (unsigned long long)d->seed, d->suite);
}

/* The message that is under way, for a crash: an access beyond a guarded end. */
static struct {
    struct duel *duel;
    const struct message *message;
} running;

static void crashed(int signal_number)
{
    signal(signal_number, SIG_DFL);
    if (running.duel != NULL) {
        running.duel->differs = "crashed";
        describe(running.duel, running.message);
    }
    raise(signal_number);
}

/* Runs one message on both sides; text and associated data come from d->random. Returns 0, described, if they differ.
 */
static int run_message(struct duel *d, const struct message *m)
{
    unsigned char *out[SIDES] = { NULL, d->out };
    const unsigned char *in[SIDES] = { NULL, d->in };
    unsigned char *in_arena = d->in_arena.data, *out_arena = d->out_arena.data, *ours;
    unsigned char *arena_end, *canary_front, *canary_behind;
    size_t buffer_len;

    d->differs = NULL;
    d->messages++;
    support_random_bytes(&d->random, d->aad, m->aad_len < 32 ? 32 : m->aad_len);
    support_random_bytes(&d->random, d->in, m->text_len);
    support_random_bytes(&d->random, d->tag, sizeof d->tag);
    d->in_len = m->text_len;
    d->out_max = m->text_len;
    if (!m->encrypt && m->genuine)
        make_genuine(d, m);
    else if (m->encrypt && !is_gcm(m) && m->padding)
        d->out_max = (m->text_len / 16 + 1) * 16;
    if (m->flip_tag)
        d->tag[support_random_below(&d->random, m->tag_len)] ^=
            (unsigned char)(1 << support_random_below(&d->random, 8));

    buffer_len = d->in_len > d->out_max ? d->in_len : d->out_max;
    switch (m->placement) {
    case AT_END:
        out[OURS] = out_arena + ARENA_BYTES - d->out_max;
        ours = in_arena + ARENA_BYTES - d->in_len;
        break;
    case AT_START:
        out[OURS] = out_arena;
        ours = in_arena;
        break;
    case IN_PLACE_END:
        out[OURS] = ours = out_arena + ARENA_BYTES - buffer_len;
        break;
    case IN_PLACE_START:
        out[OURS] = ours = out_arena;
        break;
    case LAGGING:
        out[OURS] = out_arena;
        ours = out_arena + m->in_offset;
        break;
    default:
        out[OURS] = out_arena + m->out_offset;
        ours = in_arena + m->in_offset;
        break;
    }
    in[OURS] = ours;
    arena_end = out_arena + ARENA_BYTES;
    canary_front = out[OURS] - out_arena < CANARY_BYTES ? out_arena : out[OURS] - CANARY_BYTES;
    canary_behind = has_one_buffer(m) ? ours + buffer_len : out[OURS] + d->out_max;
    if (arena_end - canary_behind > CANARY_BYTES)
        arena_end = canary_behind + CANARY_BYTES;
    memset(canary_front, CANARY, (size_t)(arena_end - canary_front));
    memset(d->out, CANARY, d->out_max);
    memcpy(ours, d->in, d->in_len);

    running.duel = d;
    running.message = m;
    exchange(d, m, out, in);
    running.duel = NULL;

    agree(d, "bytes before the output are untouched", untouched(canary_front, out[OURS]), 1);
    agree(d, "bytes behind the output are untouched", untouched(canary_behind, arena_end), 1);
    if (!has_one_buffer(m))
        agree_bytes(d, "the input is untouched", ours, d->in, d->in_len);
    if (d->differs != NULL)
        describe(d, m);
    return d->differs == NULL;
}

/* ---- the tests ---- */

static void duel_free(struct duel *d)
{
    for (int side = 0; side < SIDES; side++) {
        for (int i = 0; i < CIPHERS; i++)
            EVP_CIPHER_free(d->ciphers[side][i]);
        EVP_CIPHER_CTX_free(d->ctx[side]);
        EVP_CIPHER_CTX_free(d->spare[side]);
    }
    EVP_CIPHER_CTX_free(d->maker);
    support_guarded_free(&d->in_arena);
    support_guarded_free(&d->out_arena);
    free(d->in);
    free(d->out);
    free(d->aad);
}

static OSSL_LIB_CTX *default_ctx;

static int duel_init(struct duel *d, OSSL_LIB_CTX *aesop, const char *kernel, const char *suite)
{
    int ok;

    memset(d, 0, sizeof *d);
    d->kernel = kernel;
    d->suite = suite;
    d->seed = support_seed();
    support_random_seed(&d->random, d->seed);
    d->in = malloc(MAX_TEXT + 64);
    d->out = malloc(MAX_TEXT + 64);
    d->aad = malloc(MAX_AAD);
    d->in_arena = support_guarded_alloc(ARENA_BYTES, 0);
    d->out_arena = support_guarded_alloc(ARENA_BYTES, 0);
    d->maker = EVP_CIPHER_CTX_new();
    ok = d->in != NULL && d->out != NULL && d->aad != NULL && d->in_arena.data != NULL && d->out_arena.data != NULL;
    for (int side = 0; side < SIDES; side++) {
        d->ctx[side] = EVP_CIPHER_CTX_new();
        d->spare[side] = EVP_CIPHER_CTX_new();
        for (int i = 0; i < CIPHERS; i++) {
            d->ciphers[side][i] =
                support_fetch(side == OURS ? aesop : default_ctx, cipher_names[i], side == OURS ? "aesop" : "default");
            ok &= d->ciphers[side][i] != NULL;
        }
    }
    CU_ASSERT(ok);
    if (!ok)
        duel_free(d);
    return ok;
}

/* A message without anything special, of random key and iv. */
static struct message plain_message(struct duel *d, unsigned which, int encrypt, size_t text_len)
{
    struct message m = { .which = which,
                         .encrypt = encrypt,
                         .init = fresh_inits[0],
                         .iv_len = which < CIPHERS / 2 ? 12 : 16,
                         .aad_len = 13,
                         .text_len = text_len,
                         .tag_len = 16,
                         .genuine = 1,
                         .padding = 1 };

    support_random_bytes(&d->random, m.key, sizeof m.key);
    support_random_bytes(&d->random, m.iv, sizeof m.iv);
    return m;
}

/* Every placement that says something about bounds, both directions. Returns 0 at the first difference. */
static int run_length(struct duel *d, size_t len)
{
    for (unsigned which = 0; which < CIPHERS; which++)
        for (int encrypt = 0; encrypt < 2; encrypt++)
            for (int placement = AT_END; placement <= IN_PLACE_START; placement++) {
                struct message m = plain_message(d, which, encrypt, len);

                m.placement = (enum placement)placement;
                m.padding = len % 16 != 0 || placement % 2;
                if (!run_message(d, &m))
                    return 0;
            }
    return 1;
}

/* Says how many messages ran; each test's check. */
static void conclude(struct duel *d, int ok)
{
    printf("    %s: %s: %lu messages, %lu to a successful end\n", d->kernel, d->suite, d->messages, d->finished);
    CU_ASSERT(ok);
    CU_ASSERT(d->finished > 0);
}

static void lengths(OSSL_LIB_CTX *aesop, const char *kernel)
{
    size_t sweep = support_long() ? 4096 + NEAR_BOUNDARY : 1024 + NEAR_BOUNDARY;
    size_t done = 0;
    struct duel d;
    int ok = 1;

    if (!duel_init(&d, aesop, kernel, "lengths"))
        return;
    for (; ok && done <= sweep; done++)
        ok = run_length(&d, done);
    for (size_t multiple = 1280; ok && multiple <= 16384; multiple += multiple < 5120   ? 256
                                                                      : multiple < 8192 ? 1024
                                                                                        : 4096)
        for (size_t len = multiple - NEAR_BOUNDARY; ok && len <= multiple + NEAR_BOUNDARY; len++)
            if (len >= done)
                ok = run_length(&d, len);
    /* Around the chunks that the module may have been configured with, and by which it cuts by itself. */
    for (size_t power = 32768; ok && power <= MAX_TEXT / 2; power *= 2)
        for (size_t len = power - 16; ok && len <= power + NEAR_BOUNDARY; len += support_long() ? 1 : 11)
            ok = run_length(&d, len);
    conclude(&d, ok);
    duel_free(&d);
}

static void alignments(OSSL_LIB_CTX *aesop, const char *kernel)
{
    static const size_t texts[] = { 1, 15, 16, 17, 31, 64, 100, 255, 256, 257, 512, 527, 1024, 1350, 4096 };
    struct duel d;
    int ok;

    if (!duel_init(&d, aesop, kernel, "alignments"))
        return;
    ok = 1;
    for (size_t i = 0; ok && i < sizeof texts / sizeof texts[0]; i++)
        for (size_t align = 0; ok && align < 64 * 3; align++)
            for (unsigned which = 0; ok && which < CIPHERS; which += support_long() ? 1 : 2)
                for (int encrypt = 0; ok && encrypt < 2; encrypt++) {
                    struct message m = plain_message(&d, which, encrypt, texts[i]);

                    /* the input alone, the output alone, both */
                    m.placement = ALIGNED;
                    m.in_offset = align < 64 || align >= 128 ? align % 64 : 0;
                    m.out_offset = align >= 64 ? align % 64 : 0;
                    ok = run_message(&d, &m);
                }
    /* The output behind the input by every distance up to more than the widest batch. */
    for (size_t i = 0; ok && i < sizeof texts / sizeof texts[0]; i++)
        for (size_t lag = 0; ok && lag < 600; lag += lag < 80 ? 1 : 13)
            for (unsigned which = 0; ok && which < CIPHERS; which += support_long() ? 1 : 2)
                for (int encrypt = 0; ok && encrypt < 2; encrypt++) {
                    struct message m = plain_message(&d, which, encrypt, texts[i]);

                    m.placement = LAGGING;
                    m.in_offset = lag;
                    ok = run_message(&d, &m);
                }
    conclude(&d, ok);
    duel_free(&d);
}

static size_t random_length(struct support_random *r)
{
    size_t limit = 0;

    switch (support_random_below(r, 8)) {
    case 0:
    case 1:
        limit = 40;
        break;
    case 2:
    case 3:
        limit = 300;
        break;
    case 4:
    case 5:
        limit = 2000;
        break;
    case 6: /* around a boundary */
        limit = support_random_below(r, 34) + 256 * (1 + support_random_below(r, 48)) - NEAR_BOUNDARY;
        return limit;
    default:
        limit = support_random_below(r, 50) == 0 ? 150000 : 10000;
        break;
    }
    return support_random_below(r, limit + 1);
}

static struct message random_message(struct duel *d, const struct message *before)
{
    struct support_random *r = &d->random;
    unsigned which = before != NULL ? before->which : (unsigned)support_random_below(r, CIPHERS);
    struct message m = plain_message(d, which, (int)support_random_below(r, 2), random_length(r));
    int gcm = is_gcm(&m);

    m.init = fresh_inits[support_random_below(r, sizeof fresh_inits / sizeof fresh_inits[0])];
    if (before != NULL && support_random_below(r, 4) != 0)
        m.init = reuse_inits[support_random_below(r, sizeof reuse_inits / sizeof reuse_inits[0])];
    if (m.init == reuse_inits[0]) {
        m.encrypt = before->encrypt;
        memcpy(m.key, before->key, sizeof m.key);
    }
    if (gcm && support_random_below(r, 2))
        m.iv_len = 1 + support_random_below(r, MAX_IV);
    m.aad_len = support_random_below(r, 3) == 0 ? 0 : support_random_below(r, 301);
    m.tag_len = support_random_below(r, 2) ? 16 : 1 + support_random_below(r, 16);
    m.padding = (int)support_random_below(r, 2);
    m.genuine = gcm || support_random_below(r, 4) != 0;
    if (!gcm && !m.padding && (support_random_below(r, 4) != 0 || m.genuine))
        m.text_len &= ~(size_t)15;
    m.flip_tag = gcm && !m.encrypt && support_random_below(r, 4) == 0;
    m.early_tag = (int)support_random_below(r, 2);
    m.split = support_random_below(r, 3) != 0;
    m.copy = support_random_below(r, 8) == 0;
    m.ask_iv = support_random_below(r, 8) == 0;
    m.late_aad = gcm && support_random_below(r, 32) == 0;
    m.go_on = support_random_below(r, 8) == 0;
    m.placement = (enum placement)support_random_below(r, IN_PIECES + 1);
    m.in_offset = support_random_below(r, 64);
    m.out_offset = support_random_below(r, 64);
    return m;
}

/* Number n of a run with seed s is the first of a run with seed s + n. */
static void random_messages(OSSL_LIB_CTX *aesop, const char *kernel)
{
    unsigned long rounds = support_long() ? 500000 : 20000;
    struct duel d;
    int ok = 1;

    if (!duel_init(&d, aesop, kernel, "random"))
        return;
    for (unsigned long n = 0; ok && n < rounds; n++) {
        struct message m;
        int follow_ups;

        d.seed = support_seed() + n;
        support_random_seed(&d.random, d.seed);
        for (int side = 0; side < SIDES; side++)
            EVP_CIPHER_CTX_reset(d.ctx[side]);
        m = random_message(&d, NULL);
        ok = run_message(&d, &m);
        follow_ups = (int)support_random_below(&d.random, 4);
        while (ok && follow_ups-- > 0) {
            m = random_message(&d, &m);
            ok = run_message(&d, &m);
        }
    }
    conclude(&d, ok);
    CU_ASSERT(!ok || d.finished > d.messages / 2);
    duel_free(&d);
}

/* ---- the 32-bit counter ---- */

/* GF(2^128) as SP 800-38D, 6.3 defines it: bit 0 is the leftmost one of byte 0. */
static void gf_multiply(unsigned char product[16], const unsigned char x[16], const unsigned char y[16])
{
    unsigned char z[16] = { 0 }, v[16];

    memcpy(v, y, 16);
    for (int i = 0; i < 128; i++) {
        int lowest = v[15] & 1;

        for (int j = 0; j < 16 && (x[i / 8] >> (7 - i % 8)) & 1; j++)
            z[j] ^= v[j];
        for (int j = 15; j >= 0; j--)
            v[j] = (unsigned char)(v[j] >> 1 | (j > 0 ? v[j - 1] << 7 : 0));
        v[0] ^= lowest ? 0xe1 : 0;
    }
    memcpy(product, z, 16);
}

/* x^(2^128 - 2) */
static void gf_invert(unsigned char inverse[16], const unsigned char x[16])
{
    unsigned char power[16], result[16];

    gf_multiply(power, x, x);
    memcpy(result, power, 16);
    for (int i = 2; i < 128; i++) {
        gf_multiply(power, power, power);
        gf_multiply(result, result, power);
    }
    memcpy(inverse, result, 16);
}

/*
 * The 16-byte IV that makes GCM start from the counter block j0. SP 800-38D, 7.1: J0 = ((IV * H) ^ L) * H, where L is
 * the block that says 128 bits.
 */
static void iv_for_counter(unsigned char iv[16], const unsigned char j0[16], const unsigned char h_inverse[16])
{
    gf_multiply(iv, j0, h_inverse);
    iv[15] ^= 128;
    gf_multiply(iv, iv, h_inverse);
}

static int ecb_block(unsigned char out[16], const unsigned char in[16], const unsigned char *key, unsigned which)
{
    static const char *const names[] = { "AES-128-ECB", "AES-192-ECB", "AES-256-ECB" };
    EVP_CIPHER *ecb = EVP_CIPHER_fetch(default_ctx, names[which], NULL);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int len = 0, ok;

    ok = EVP_EncryptInit_ex2(ctx, ecb, key, NULL, NULL) && EVP_EncryptUpdate(ctx, out, &len, in, 16) && len == 16;
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(ecb);
    return ok;
}

/* A message whose first counter block after J0 has its low bits at `first`. */
static void set_counter(struct message *m, const unsigned char h_inverse[16], uint32_t first)
{
    unsigned char j0[16];
    uint32_t low = first - 1;

    memcpy(j0, m->key, 12); /* anything */
    for (int i = 0; i < 4; i++)
        j0[12 + i] = (unsigned char)(low >> (24 - 8 * i));
    m->iv_len = 16;
    iv_for_counter(m->iv, j0, h_inverse);
}

/* The test's own check: with such an IV, GCM of zeros is ECB of the counters that were asked for, wrapped at 32 bits.
 */
static void check_counter_iv(struct duel *d, struct message *m, const unsigned char h_inverse[16])
{
    unsigned char counter[16], expected[16], text[48] = { 0 };
    int len;

    set_counter(m, h_inverse, UINT32_MAX - 1);
    memcpy(counter, m->key, 12);
    EVP_CIPHER_CTX_reset(d->maker);
    CU_ASSERT(EVP_EncryptInit_ex2(d->maker, d->ciphers[ORACLE][m->which], NULL, NULL, NULL));
    CU_ASSERT(EVP_CIPHER_CTX_ctrl(d->maker, EVP_CTRL_AEAD_SET_IVLEN, 16, NULL) > 0);
    CU_ASSERT(EVP_EncryptInit_ex2(d->maker, NULL, m->key, m->iv, NULL));
    CU_ASSERT(EVP_EncryptUpdate(d->maker, text, &len, text, sizeof text));
    for (uint32_t i = 0; i < 3; i++) {
        memset(counter + 12, i < 2 ? 0xff : 0, 4);
        if (i == 0)
            counter[15] = 0xfe;
        CU_ASSERT(ecb_block(expected, counter, m->key, m->which));
        CU_ASSERT(memcmp(text + 16 * i, expected, 16) == 0);
    }
}

/*
 * Messages that pass the counters at which a carry leaves the low 8, 16, 24 bits, and the one at which 32 bits wrap,
 * after every number of blocks up to several batches of the widest kernel and around the smallest chunk.
 */
static void counters(OSSL_LIB_CTX *aesop, const char *kernel)
{
    static const uint32_t overflows[] = { 0, 0x00000100, 0x7fffff00, 0xabcd0000, 0x01000000 };
    static const size_t tails[] = { 0, 16, 5, 700, 4096 };
    const unsigned char zero[16] = { 0 };
    struct duel d;
    int ok = 1;

    if (!duel_init(&d, aesop, kernel, "counters"))
        return;
    for (unsigned which = 0; ok && which < CIPHERS / 2; which++) {
        struct message m = plain_message(&d, which, 1, 0);
        unsigned char h[16], h_inverse[16], one[16];

        CU_ASSERT(ecb_block(h, zero, m.key, which));
        gf_invert(h_inverse, h);
        gf_multiply(one, h, h_inverse);
        CU_ASSERT(one[0] == 0x80 && memcmp(one + 1, zero, 15) == 0);
        check_counter_iv(&d, &m, h_inverse);
        for (size_t i = 0; ok && i < sizeof overflows / sizeof overflows[0]; i++)
            for (uint32_t blocks = 0; ok && blocks < 270; blocks += blocks < 140 || blocks >= 250 ? 1 : 11) {
                set_counter(&m, h_inverse, overflows[i] - blocks);
                for (size_t tail = 0; ok && tail < sizeof tails / sizeof tails[0]; tail++)
                    for (int variant = 0; ok && variant < 4; variant++) {
                        m.text_len = blocks * 16 + tails[tail];
                        m.encrypt = variant & 1;
                        m.split = variant >> 1;
                        m.placement = variant == 3 ? IN_PLACE_END : AT_END;
                        ok = run_message(&d, &m);
                        if (!ok)
                            printf("      first counter %08x\n", overflows[i] - blocks);
                    }
            }
    }
    conclude(&d, ok);
    duel_free(&d);
}

/* ---- the long form: sizes that do not fit an int, or 32 bits ---- */

static int enough_memory(const char *what, uint64_t bytes)
{
    if ((uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) > bytes + bytes / 8)
        return 1;
    support_skip(what, "not enough free memory");
    return 0;
}

/* The same key and iv whenever this is called. */
static int start(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, int encrypt)
{
    static const unsigned char key[32] = "a key", iv[16] = "an iv";

    return EVP_CIPHER_CTX_reset(ctx) && EVP_CipherInit_ex2(ctx, cipher, key, iv, encrypt, NULL) &&
           EVP_CIPHER_CTX_set_padding(ctx, 0);
}

/*
 * One GCM message of total bytes, in steps that leave partial blocks, encrypted by both and decrypted by ours. The
 * plaintext is one piece over and over.
 */
static void stream(struct duel *d, unsigned which, uint64_t total)
{
    enum { STEP = (64 << 20) - 5 };
    unsigned char *plain = malloc(STEP), *out[SIDES] = { malloc(STEP), malloc(STEP) }, tag[SIDES][16] = { { 0 } };
    EVP_CIPHER_CTX *decrypt = d->spare[OURS];
    int len = 0, ok = plain != NULL && out[OURS] != NULL && out[ORACLE] != NULL;

    if (ok)
        support_random_bytes(&d->random, plain, STEP);
    ok = ok && start(d->ctx[OURS], d->ciphers[OURS][which], 1) && start(d->ctx[ORACLE], d->ciphers[ORACLE][which], 1) &&
         start(decrypt, d->ciphers[OURS][which], 0);
    for (uint64_t left = total; ok && left > 0; left -= (uint64_t)len) {
        size_t n = left < STEP ? (size_t)left : STEP;

        for (int side = 0; ok && side < SIDES; side++)
            ok = EVP_CipherUpdate(d->ctx[side], out[side], &len, plain, (int)n) && len == (int)n;
        ok = ok && memcmp(out[OURS], out[ORACLE], n) == 0 &&
             EVP_CipherUpdate(decrypt, out[OURS], &len, out[OURS], len) && len == (int)n &&
             memcmp(out[OURS], plain, n) == 0;
    }
    CU_ASSERT(ok);
    if (total == GCM_LIMIT) {
        /* In a copy, since the failure may end the message. */
        CU_ASSERT(EVP_CIPHER_CTX_copy(d->spare[ORACLE], d->ctx[OURS]));
        CU_ASSERT(!EVP_CipherUpdate(d->spare[ORACLE], out[OURS], &len, plain, 1));
    }
    for (int side = 0; ok && side < SIDES; side++)
        ok = EVP_CipherFinal_ex(d->ctx[side], out[side], &len) &&
             EVP_CIPHER_CTX_ctrl(d->ctx[side], EVP_CTRL_AEAD_GET_TAG, 16, tag[side]) > 0;
    CU_ASSERT(ok && memcmp(tag[OURS], tag[ORACLE], 16) == 0);
    CU_ASSERT(EVP_CIPHER_CTX_ctrl(decrypt, EVP_CTRL_AEAD_SET_TAG, 16, tag[ORACLE]) > 0);
    CU_ASSERT(EVP_CipherFinal_ex(decrypt, out[OURS], &len));
    printf("    %s: %s: one message of %llu bytes\n", d->kernel, cipher_names[which], (unsigned long long)total);
    free(plain);
    free(out[OURS]);
    free(out[ORACLE]);
}

/* The longest update that EVP's int allows, in place, there and back. */
static void one_update(struct duel *d, unsigned which)
{
    unsigned char *text[SIDES] = { malloc(INT_MAX), malloc(INT_MAX) };
    int len[SIDES] = { INT_MAX, INT_MAX }, ok = text[OURS] != NULL && text[ORACLE] != NULL;

    if (ok) {
        support_random_bytes(&d->random, text[OURS], INT_MAX);
        memcpy(text[ORACLE], text[OURS], INT_MAX);
    }
    for (int encrypt = 1; ok && encrypt >= 0; encrypt--) {
        for (int side = 0; ok && side < SIDES; side++)
            ok = start(d->ctx[side], d->ciphers[side][which], encrypt) &&
                 EVP_CipherUpdate(d->ctx[side], text[side], &len[side], text[side], len[side]);
        ok = ok && len[OURS] == len[ORACLE] && memcmp(text[OURS], text[ORACLE], (size_t)len[OURS]) == 0;
    }
    CU_ASSERT(ok);
    printf("    %s: %s: updates of 2^31-1 bytes in place\n", d->kernel, cipher_names[which]);
    free(text[OURS]);
    free(text[ORACLE]);
}

/* One update that is large enough for aesop to write its output past the caches, there and back. */
static void large_update(struct duel *d, unsigned which)
{
    enum { SIZE = (20 << 20) + 112 };
    unsigned char *plain = malloc(SIZE), *out[SIDES] = { malloc(SIZE), malloc(SIZE) }, *back = malloc(SIZE);
    int len[SIDES], ok = plain != NULL && out[OURS] != NULL && out[ORACLE] != NULL && back != NULL;

    if (ok)
        support_random_bytes(&d->random, plain, SIZE);
    for (int side = 0; ok && side < SIDES; side++)
        ok = start(d->ctx[side], d->ciphers[side][which], 1) &&
             EVP_CipherUpdate(d->ctx[side], out[side], &len[side], plain, SIZE) && len[side] == SIZE;
    CU_ASSERT(ok && memcmp(out[OURS], out[ORACLE], SIZE) == 0);
    ok = ok && start(d->ctx[OURS], d->ciphers[OURS][which], 0) &&
         EVP_CipherUpdate(d->ctx[OURS], back, &len[OURS], out[ORACLE], SIZE) && len[OURS] == SIZE;
    CU_ASSERT(ok && memcmp(back, plain, SIZE) == 0);
    free(plain);
    free(out[OURS]);
    free(out[ORACLE]);
    free(back);
}

static void large(OSSL_LIB_CTX *aesop, const char *kernel)
{
    struct duel d;

    if (!duel_init(&d, aesop, kernel, "huge"))
        return;
    for (unsigned which = 0; which < CIPHERS; which++)
        large_update(&d, which);
    duel_free(&d);
}

static void huge(OSSL_LIB_CTX *aesop, const char *kernel)
{
    struct duel d;

    if (!duel_init(&d, aesop, kernel, "huge"))
        return;
    stream(&d, 0, (uint64_t)5 << 30);
    stream(&d, 2, GCM_LIMIT);
    if (enough_memory("updates of 2^31-1 bytes", (uint64_t)2 * INT_MAX))
        for (unsigned which = 0; which < CIPHERS; which += 2)
            one_update(&d, which);
    duel_free(&d);
}

/* ---- CUnit ---- */

/* Runs of 4 KiB are the shortest that the configuration allows: most messages are then cut into several. */
#define SMALL_CHUNKS "chunk = 4096\n"

static void test_lengths(void)
{
    support_each_kernel(NULL, lengths);
}

static void test_lengths_in_chunks(void)
{
    support_each_kernel(SMALL_CHUNKS, lengths);
}

static void test_alignments(void)
{
    support_each_kernel(NULL, alignments);
}

static void test_counters(void)
{
    support_each_kernel(SMALL_CHUNKS, counters);
}

static void test_random(void)
{
    support_each_kernel(NULL, random_messages);
}

static void test_random_in_chunks(void)
{
    support_each_kernel(SMALL_CHUNKS, random_messages);
}

static void test_large(void)
{
    support_each_kernel(NULL, large);
}

static void test_huge(void)
{
    if (support_long())
        support_each_kernel(NULL, huge);
    else
        support_skip("messages of 5 GiB and 64 GiB, updates of 2^31-1 bytes", "only with --long");
}

static int suite_init(void)
{
    default_ctx = support_ctx_default();
    return default_ctx == NULL;
}

static int suite_cleanup(void)
{
    support_ctx_free(default_ctx);
    return 0;
}

static CU_TestInfo length_tests[] = {
    { "every length, guarded", test_lengths },
    { "the same, cut into small chunks", test_lengths_in_chunks },
    CU_TEST_INFO_NULL,
};
static CU_TestInfo alignment_tests[] = { { "every alignment and overlap", test_alignments }, CU_TEST_INFO_NULL };
static CU_TestInfo counter_tests[] = { { "counter overflows", test_counters }, CU_TEST_INFO_NULL };
static CU_TestInfo random_tests[] = {
    { "random messages", test_random },
    { "the same, cut into small chunks", test_random_in_chunks },
    CU_TEST_INFO_NULL,
};
static CU_TestInfo huge_tests[] = {
    { "updates of 20 MiB", test_large },
    { "huge messages", test_huge },
    CU_TEST_INFO_NULL,
};

int main(int argc, char **argv)
{
    CU_SuiteInfo suites[] = {
        { "lengths", suite_init, suite_cleanup, NULL, NULL, length_tests },
        { "alignments", suite_init, suite_cleanup, NULL, NULL, alignment_tests },
        { "counters", suite_init, suite_cleanup, NULL, NULL, counter_tests },
        { "random", suite_init, suite_cleanup, NULL, NULL, random_tests },
        { "huge", suite_init, suite_cleanup, NULL, NULL, huge_tests },
        CU_SUITE_INFO_NULL,
    };
    struct sigaction before;

    support_init(argc, argv);
    /* A sanitizer has its own handler, which knows more. */
    if (sigaction(SIGSEGV, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        signal(SIGSEGV, crashed);
    CU_register_suites(suites);
    return support_run();
}
