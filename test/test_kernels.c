/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel sets, the chunks that feed them and the choice among them, without EVP in the way. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define HAVE_MEMCHECK 1
#else
#define HAVE_MEMCHECK 0
#endif

#include "check.h"
#include "ciphers/chunk.h"
#include "ciphers/cpu.h"
#include "ciphers/dispatch.h"
#include "provider/provider.h"
#include "support.h"

enum {
    BLOCK = AESOP_BLOCK_BYTES,
    GUARDED_MAX = 4096, /* every length up to here */
    CHUNK = 4096,
    TEXT_MAX = 1 << 16,
    AAD_MAX = 1 << 12
};

static const size_t key_sizes[] = { 16, 24, 32 };
enum { KEY_SIZES = sizeof key_sizes / sizeof *key_sizes };

/* ---- the sets that this CPU can run ---- */

enum { SETS_MAX = 8 };
static const struct aesop_kernels *sets[SETS_MAX];
static size_t set_count;

static OSSL_LIB_CTX *default_ctx;
static EVP_CIPHER *reference_ciphers[2][KEY_SIZES]; /* GCM, CBC */

static struct {
    unsigned char key[32], iv[128], aad[AAD_MAX], text[TEXT_MAX];
} material;

static int suite_open(void)
{
    static const char *const names[2][KEY_SIZES] = { { "AES-128-GCM", "AES-192-GCM", "AES-256-GCM" },
                                                     { "AES-128-CBC", "AES-192-CBC", "AES-256-CBC" } };
    const uint32_t features = aesop_cpu_features() | AESOP_CPU_FAST_CLMUL; /* to run, no set needs that */
    struct support_random random;

    support_random_seed(&random, support_seed());
    support_random_bytes(&random, &material, sizeof material);
    set_count = 0;
    for (const struct aesop_kernel_choice *c = aesop_kernel_choices; c->kernels != NULL; c++) {
        const int offered = (features & c->needs) == c->needs;

        if (offered != support_cpu_runs(c->kernels->name))
            return 1; /* or a fault in cpu.c would hide a set */
        if (offered && set_count < SETS_MAX)
            sets[set_count++] = c->kernels;
        else
            support_skip(c->kernels->name, "this CPU cannot run it");
    }
    default_ctx = support_ctx_default();
    if (default_ctx == NULL)
        return 1;
    for (int mode = 0; mode < 2; mode++)
        for (size_t i = 0; i < KEY_SIZES; i++)
            if ((reference_ciphers[mode][i] = EVP_CIPHER_fetch(default_ctx, names[mode][i], NULL)) == NULL)
                return 1;
    return 0;
}

static int suite_close(void)
{
    for (int mode = 0; mode < 2; mode++)
        for (size_t i = 0; i < KEY_SIZES; i++)
            EVP_CIPHER_free(reference_ciphers[mode][i]);
    support_ctx_free(default_ctx);
    return 0;
}

/* That set for runs of any length. */
static struct aesop_dispatch alone(const struct aesop_kernels *k, size_t chunk)
{
    return (struct aesop_dispatch){ .kernels = k, .narrow = k, .chunk = chunk, .nt_bytes = SIZE_MAX };
}

/* The same with its output past the caches wherever that can be. */
static struct aesop_dispatch alone_nt(const struct aesop_kernels *k)
{
    return (struct aesop_dispatch){ .kernels = k, .narrow = k, .chunk = CHUNK };
}

/* That set, and any for short runs, and either way to memory. */
static struct aesop_dispatch mixed(const struct aesop_kernels *k, struct support_random *random)
{
    struct aesop_dispatch d = alone(k, CHUNK);

    d.narrow = sets[support_random_below(random, set_count)];
    d.nt_bytes = support_random_below(random, 2) ? 0 : SIZE_MAX;
    return d;
}

/* ---- references ---- */

static size_t key_index(size_t key_bytes)
{
    return key_bytes / 8 - 2;
}

static void default_gcm(size_t key_bytes, const unsigned char *iv, size_t iv_len, size_t aad_len, unsigned char *out,
                        size_t len, unsigned char tag[16])
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    OSSL_PARAM iv_params[] = { OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_AEAD_IVLEN, &iv_len), OSSL_PARAM_END };
    OSSL_PARAM tag_params[] = { OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, tag, 16),
                                OSSL_PARAM_END };
    unsigned char none[16];
    int n;

    CU_ASSERT(EVP_EncryptInit_ex2(ctx, reference_ciphers[0][key_index(key_bytes)], NULL, NULL, iv_params) &&
              EVP_EncryptInit_ex2(ctx, NULL, material.key, iv, NULL) &&
              EVP_EncryptUpdate(ctx, NULL, &n, material.aad, (int)aad_len) &&
              EVP_EncryptUpdate(ctx, out, &n, material.text, (int)len) && EVP_EncryptFinal_ex(ctx, none, &n) &&
              EVP_CIPHER_CTX_get_params(ctx, tag_params));
    EVP_CIPHER_CTX_free(ctx);
}

static void default_cbc(size_t key_bytes, unsigned char *out, size_t len)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int n;

    CU_ASSERT(EVP_EncryptInit_ex2(ctx, reference_ciphers[1][key_index(key_bytes)], material.key, material.iv, NULL) &&
              EVP_CIPHER_CTX_set_padding(ctx, 0) && EVP_EncryptUpdate(ctx, out, &n, material.text, (int)len) &&
              n == (int)len);
    EVP_CIPHER_CTX_free(ctx);
}

/* SP 800-38D, 6.2: inc32. */
static void increment32(unsigned char counter[16])
{
    for (int i = 15; i >= 12 && ++counter[i] == 0; i--)
        continue;
}

/* Counter mode, one block at a time. */
static void plain_ctr(const struct aesop_kernels *k, const struct aesop_aes_key *aes, const unsigned char counter[16],
                      unsigned char *out, const unsigned char *in, size_t len)
{
    unsigned char next[16], keystream[16];

    memcpy(next, counter, 16);
    for (size_t i = 0; i < len; i++) {
        if (i % 16 == 0) {
            k->aes_enc_block(aes, keystream, next);
            increment32(next);
        }
        out[i] = in[i] ^ keystream[i % 16];
    }
}

/* A whole message through chunk.h. */
static void gcm_message(struct aesop_dispatch d, size_t key_bytes, const unsigned char *iv, size_t iv_len,
                        const unsigned char *aad, size_t aad_len, unsigned char *out, const unsigned char *in,
                        size_t len, unsigned char tag[16], int enc)
{
    struct aesop_gcm gcm;

    aesop_gcm_set_key(&d, &gcm, material.key, key_bytes);
    if (len % 2 != 0) /* as if the key had served before, with all tables */
        d.kernels->gcm_powers(&gcm.key, d.kernels->max_powers);
    aesop_gcm_start(&d, &gcm, iv, iv_len);
    CU_ASSERT_EQUAL(aesop_gcm_aad(&d, &gcm, aad, aad_len), 1);
    CU_ASSERT_EQUAL((enc ? aesop_gcm_encrypt : aesop_gcm_decrypt)(&d, &gcm, out, in, len), 1);
    aesop_gcm_tag(&d, &gcm, tag);
}

/* ---- examples of the standards ---- */

/* Hexadecimal digits to bytes. Returns how many. */
static size_t unhex(unsigned char *out, const char *hex)
{
    size_t n = strlen(hex) / 2;

    for (size_t i = 0; i < n; i++) {
        const char digits[3] = { hex[2 * i], hex[2 * i + 1], '\0' };

        out[i] = (unsigned char)strtoul(digits, NULL, 16);
    }
    return n;
}

/* FIPS 197, appendices A (the last round key) and C (one block). */
static void test_fips197(void)
{
    static const struct {
        const char *key, *last_round_key;
    } schedules[] = {
        { "2b7e151628aed2a6abf7158809cf4f3c", "d014f9a8c9ee2589e13f0cc8b6630ca6" },
        { "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b", "e98ba06f448c773c8ecc720401002202" },
        { "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4", "fe4890d1e6188d0b046df344706c631e" },
    };
    static const char key_hex[] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    static const char *const ciphertexts[] = { "69c4e0d86a7b0430d8cdb78070b4c55a", "dda97ca4864cdfe06eaf70a0ec0d7191",
                                               "8ea2b7ca516745bfeafc49904b496089" };
    unsigned char key[32], plain[16], cipher[16], out[16], iv[16], last[16];
    struct aesop_aes_key aes;

    unhex(plain, "00112233445566778899aabbccddeeff");
    for (size_t s = 0; s < set_count; s++) {
        for (size_t i = 0; i < KEY_SIZES; i++) {
            size_t key_bytes = unhex(key, schedules[i].key);

            unhex(last, schedules[i].last_round_key);
            sets[s]->aes_expand_enc(&aes, key, key_bytes);
            CU_ASSERT_EQUAL(aes.rounds, key_bytes / 4 + 6);
            CHECK(memcmp(aes.round_keys[aes.rounds], last, 16) == 0, "%s, AES-%zu", sets[s]->name, key_bytes * 8);

            unhex(key, key_hex);
            unhex(cipher, ciphertexts[i]);
            sets[s]->aes_expand_enc(&aes, key, key_bytes);
            sets[s]->aes_enc_block(&aes, out, plain);
            CHECK(memcmp(out, cipher, 16) == 0, "%s, AES-%zu", sets[s]->name, key_bytes * 8);
            memset(iv, 0, sizeof iv);
            sets[s]->aes_expand_dec(&aes, key, key_bytes);
            sets[s]->cbc_dec(&aes, out, cipher, 16, iv);
            CHECK(memcmp(out, plain, 16) == 0, "%s, AES-%zu, decryption", sets[s]->name, key_bytes * 8);
        }
    }
}

/* SP 800-38A, F.2. */
static void test_sp800_38a(void)
{
    static const char plain_hex[] = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
                                    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";
    static const struct {
        const char *key, *cipher;
    } cases[] = {
        { "2b7e151628aed2a6abf7158809cf4f3c", "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"
                                              "73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7" },
        { "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
          "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a"
          "571b242012fb7ae07fa9baac3df102e008b0e27988598881d920a9e64f5615cd" },
        { "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
          "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d"
          "39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b" },
    };
    unsigned char key[32], iv[16], plain[64], cipher[64], out[64];
    struct aesop_aes_key aes;

    unhex(plain, plain_hex);
    for (size_t s = 0; s < set_count; s++) {
        for (size_t i = 0; i < KEY_SIZES; i++) {
            size_t key_bytes = unhex(key, cases[i].key);

            unhex(cipher, cases[i].cipher);
            unhex(iv, "000102030405060708090a0b0c0d0e0f");
            sets[s]->aes_expand_enc(&aes, key, key_bytes);
            sets[s]->cbc_enc(&aes, out, plain, sizeof out, iv);
            CHECK(memcmp(out, cipher, sizeof out) == 0, "%s, AES-%zu", sets[s]->name, key_bytes * 8);
            CU_ASSERT_EQUAL(memcmp(iv, cipher + 48, 16), 0);
            unhex(iv, "000102030405060708090a0b0c0d0e0f");
            sets[s]->aes_expand_dec(&aes, key, key_bytes);
            sets[s]->cbc_dec(&aes, out, out, sizeof out, iv);
            CHECK(memcmp(out, plain, sizeof out) == 0, "%s, AES-%zu, decryption", sets[s]->name, key_bytes * 8);
            CU_ASSERT_EQUAL(memcmp(iv, cipher + 48, 16), 0);
        }
    }
}

/* Test cases of the specification of GCM that was submitted to NIST. */
static void test_gcm_specification(void)
{
#define KEY16 "feffe9928665731c6d6a8f9467308308"
#define AAD20 "feedfacedeadbeeffeedfacedeadbeefabaddad2"
#define TEXT60 \
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657" \
    "ba637b39"
#define IV60 \
    "9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728c3c0c95156809539fcf0e2429a6b525416aedbf5a0de6a57" \
    "a637b39b"
    static const struct {
        int number;
        const char *key, *iv, *aad, *text, *cipher, *tag;
    } cases[] = {
        { 1, "00000000000000000000000000000000", "000000000000000000000000", "", "", "",
          "58e2fccefa7e3061367f1d57a4e7455a" },
        { 2, "00000000000000000000000000000000", "000000000000000000000000", "", "00000000000000000000000000000000",
          "0388dace60b6a392f328c2b971b2fe78", "ab6e47d42cec13bdf53a67b21257bddf" },
        { 4, KEY16, "cafebabefacedbaddecaf888", AAD20, TEXT60,
          "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0a"
          "ac973d58e091",
          "5bc94fbc3221a5db94fae95ae7121a47" },
        { 5, KEY16, "cafebabefacedbad", AAD20, TEXT60, NULL, "3612d2e79e3b0785561be14aaca2fccb" },
        { 6, KEY16, IV60, AAD20, TEXT60, NULL, "619cc5aefffe0bfa462af43c1699d050" },
        { 10, KEY16 "feffe9928665731c", "cafebabefacedbaddecaf888", AAD20, TEXT60, NULL,
          "2519498e80f1478f37ba55bd6d27618c" },
        { 16, KEY16 KEY16, "cafebabefacedbaddecaf888", AAD20, TEXT60, NULL, "76fc6ece0f4e1768cddf8853bb2d551b" },
    };
    unsigned char key[32], iv[64], aad[32], text[64], cipher[64], tag[16], out[64], got[16];

    for (size_t s = 0; s < set_count; s++) {
        const struct aesop_dispatch d = alone(sets[s], CHUNK);

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct aesop_gcm gcm;
            size_t key_bytes = unhex(key, cases[i].key), iv_len = unhex(iv, cases[i].iv);
            size_t aad_len = unhex(aad, cases[i].aad), len = unhex(text, cases[i].text);

            unhex(tag, cases[i].tag);
            aesop_gcm_set_key(&d, &gcm, key, key_bytes);
            aesop_gcm_start(&d, &gcm, iv, iv_len);
            CU_ASSERT(aesop_gcm_aad(&d, &gcm, aad, aad_len) && aesop_gcm_encrypt(&d, &gcm, out, text, len));
            aesop_gcm_tag(&d, &gcm, got);
            CHECK(memcmp(got, tag, 16) == 0, "%s, case %d", sets[s]->name, cases[i].number);
            if (cases[i].cipher != NULL) {
                unhex(cipher, cases[i].cipher);
                CHECK(memcmp(out, cipher, len) == 0, "%s, case %d", sets[s]->name, cases[i].number);
            }
            aesop_gcm_start(&d, &gcm, iv, iv_len);
            CU_ASSERT(aesop_gcm_aad(&d, &gcm, aad, aad_len) && aesop_gcm_decrypt(&d, &gcm, out, out, len));
            aesop_gcm_tag(&d, &gcm, got);
            CHECK(memcmp(got, tag, 16) == 0 && memcmp(out, text, len) == 0, "%s, case %d, decryption", sets[s]->name,
                  cases[i].number);
        }
    }
}

/* ---- the sets against default and each other ---- */

/* Encrypt on one instruction set, decrypt on another. */
static void test_across(void)
{
    static unsigned char want[TEXT_MAX], got[TEXT_MAX];
    int rounds = support_long() ? 5000 : 200;
    struct support_random random;

    support_random_seed(&random, support_seed() + 1);
    for (int round = 0; round < rounds; round++) {
        size_t key_bytes = key_sizes[support_random_below(&random, KEY_SIZES)];
        size_t iv_len = support_random_below(&random, 2) ? 12 : 1 + support_random_below(&random, 128);
        size_t aad_len = support_random_below(&random, support_random_below(&random, 2) ? 64 : AAD_MAX);
        size_t len = support_random_below(&random, support_random_below(&random, 2) ? 2048 : TEXT_MAX);
        unsigned char want_tag[16], tag[16], iv[16];
        struct aesop_aes_key aes;

        support_random_bytes(&random, material.key, sizeof material.key);
        support_random_bytes(&random, material.iv, sizeof material.iv);
        default_gcm(key_bytes, material.iv, iv_len, aad_len, want, len, want_tag);
        for (size_t a = 0; a < set_count; a++) {
            size_t b = support_random_below(&random, set_count);

            gcm_message(mixed(sets[a], &random), key_bytes, material.iv, iv_len, material.aad, aad_len, got,
                        material.text, len, tag, 1);
            CHECK(memcmp(got, want, len) == 0 && memcmp(tag, want_tag, 16) == 0,
                  "%s encrypts otherwise than default: round %d, key %zu, iv %zu, aad %zu, text %zu", sets[a]->name,
                  round, key_bytes, iv_len, aad_len, len);
            gcm_message(mixed(sets[b], &random), key_bytes, material.iv, iv_len, material.aad, aad_len, got, got, len,
                        tag, 0);
            CHECK(memcmp(got, material.text, len) == 0 && memcmp(tag, want_tag, 16) == 0,
                  "%s decrypts otherwise than %s encrypted: round %d, key %zu, iv %zu, aad %zu, text %zu",
                  sets[b]->name, sets[a]->name, round, key_bytes, iv_len, aad_len, len);
        }

        len &= ~(size_t)15;
        default_cbc(key_bytes, want, len);
        for (size_t a = 0; a < set_count; a++) {
            size_t b = support_random_below(&random, set_count);
            const struct aesop_dispatch da = alone(sets[a], CHUNK);
            const struct aesop_dispatch db = alone(sets[b], CHUNK);

            memcpy(iv, material.iv, 16);
            sets[a]->aes_expand_enc(&aes, material.key, key_bytes);
            aesop_cbc_encrypt(&da, &aes, got, material.text, len, iv);
            CHECK(memcmp(got, want, len) == 0 && memcmp(iv, len > 0 ? want + len - 16 : material.iv, 16) == 0,
                  "%s, CBC: round %d, key %zu, text %zu", sets[a]->name, round, key_bytes, len);
            memcpy(iv, material.iv, 16);
            sets[b]->aes_expand_dec(&aes, material.key, key_bytes);
            aesop_cbc_decrypt(&db, &aes, got, got, len, iv);
            CHECK(memcmp(got, material.text, len) == 0 && memcmp(iv, len > 0 ? want + len - 16 : material.iv, 16) == 0,
                  "%s, CBC decryption: round %d, key %zu, text %zu", sets[b]->name, round, key_bytes, len);
        }
    }
}

/* ---- memory ---- */

/* Two regions between unreadable pages; pieces of them are taken from the front, or so that they end at the end. */
static struct {
    struct support_guarded in, out;
} regions;

static int regions_open(void)
{
    if (suite_open() != 0)
        return 1;
    regions.in = support_guarded_alloc(GUARDED_MAX, 1);
    regions.out = support_guarded_alloc(GUARDED_MAX, 1);
    return regions.in.data == NULL || regions.out.data == NULL;
}

static int regions_close(void)
{
    support_guarded_free(&regions.in);
    support_guarded_free(&regions.out);
    return suite_close();
}

static unsigned char *piece(const struct support_guarded *g, size_t len, int at_end)
{
    return at_end ? g->data + g->size - len : g->data;
}

/* How input and output lie. */
static const struct {
    int in_at_end, out_at_end, in_place;
} layouts[] = { { 1, 1, 0 }, { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 1, 1, 1 }, { 0, 0, 1 } };
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

/* All of the region but the piece that was to be written. */
static int rest_untouched(const struct support_guarded *g, const unsigned char *from, size_t len, unsigned char filler)
{
    for (const unsigned char *p = g->data; p < g->data + g->size; p++)
        if ((p < from || p >= from + len) && *p != filler)
            return 0;
    return 1;
}

/* One function on memory that ends, or begins, at an unreadable page. Returns where the output is. */
static unsigned char *prepare(int layout, const unsigned char *source, size_t len, unsigned char **in)
{
    unsigned char *out;

    memset(regions.in.data, 0xee, regions.in.size);
    memset(regions.out.data, 0xee, regions.out.size);
    *in = piece(&regions.in, len, layouts[layout].in_at_end);
    out = layouts[layout].in_place ? *in : piece(&regions.out, len, layouts[layout].out_at_end);
    memcpy(*in, source, len);
    return out;
}

static void check_piece(const char *what, const char *set, int layout, size_t len, const unsigned char *out,
                        const unsigned char *want)
{
    const struct support_guarded *g = layouts[layout].in_place ? &regions.in : &regions.out;

    CHECK(memcmp(out, want, len) == 0, "%s, %s: %zu bytes, layout %d", what, set, len, layout);
    CHECK(rest_untouched(g, out, len, 0xee), "%s, %s: %zu bytes, layout %d: wrote outside", what, set, len, layout);
}

static void test_guarded_gcm(void)
{
    static unsigned char want[GUARDED_MAX];

    for (size_t len = 0; len <= GUARDED_MAX; len++) {
        size_t key_bytes = key_sizes[len % KEY_SIZES];
        unsigned char want_tag[16], tag[16], *in, *out;

        default_gcm(key_bytes, material.iv, 12, 0, want, len, want_tag);
        for (size_t s = 0; s < set_count; s++) {
            for (int layout = 0; layout < LAYOUTS; layout++) {
                /* All layouts where lengths are within two batches, one of them beyond. */
                if (len > 1100 && !support_long() && (len + s) % LAYOUTS != (size_t)layout)
                    continue;
                out = prepare(layout, material.text, len, &in);
                gcm_message(alone(sets[s], CHUNK), key_bytes, material.iv, 12, NULL, 0, out, in, len, tag, 1);
                check_piece("encryption", sets[s]->name, layout, len, out, want);
                CHECK(memcmp(tag, want_tag, 16) == 0, "%s: tag, %zu bytes, layout %d", sets[s]->name, len, layout);

                out = prepare(layout, want, len, &in);
                gcm_message(alone(sets[s], CHUNK), key_bytes, material.iv, 12, NULL, 0, out, in, len, tag, 0);
                check_piece("decryption", sets[s]->name, layout, len, out, material.text);
                CHECK(memcmp(tag, want_tag, 16) == 0, "%s: tag, %zu bytes, layout %d", sets[s]->name, len, layout);
            }
        }
    }
}

static void test_guarded_aad(void)
{
    for (size_t len = 0; len <= GUARDED_MAX; len++) {
        size_t key_bytes = key_sizes[len % KEY_SIZES];
        unsigned char want_tag[16], tag[16], *in;

        default_gcm(key_bytes, material.iv, 12, len < AAD_MAX ? len : AAD_MAX, NULL, 0, want_tag);
        for (size_t s = 0; s < set_count; s++) {
            for (int layout = 0; layout < 2; layout++) {
                prepare(layout, material.aad, len, &in);
                gcm_message(alone(sets[s], CHUNK), key_bytes, material.iv, 12, in, len, NULL, NULL, 0, tag, 1);
                CHECK(memcmp(tag, want_tag, 16) == 0, "%s: %zu bytes of associated data, layout %d", sets[s]->name, len,
                      layout);
            }
        }
    }
}

/* Keys and IVs too are read to their end and no further. */
static void test_guarded_key_and_iv(void)
{
    for (size_t iv_len = 1; iv_len <= sizeof material.iv; iv_len++) {
        size_t key_bytes = key_sizes[iv_len % KEY_SIZES];
        unsigned char want[40], want_tag[16], out[40], tag[16];

        default_gcm(key_bytes, material.iv, iv_len, 0, want, sizeof want, want_tag);
        for (size_t s = 0; s < set_count; s++) {
            const struct aesop_dispatch d = alone(sets[s], CHUNK);

            for (int at_end = 0; at_end < 2; at_end++) {
                unsigned char *key = piece(&regions.in, key_bytes, at_end);
                unsigned char *iv = piece(&regions.out, iv_len, at_end);
                struct aesop_gcm gcm;

                memcpy(key, material.key, key_bytes);
                memcpy(iv, material.iv, iv_len);
                aesop_gcm_set_key(&d, &gcm, key, key_bytes);
                aesop_gcm_start(&d, &gcm, iv, iv_len);
                CU_ASSERT(aesop_gcm_encrypt(&d, &gcm, out, material.text, sizeof out));
                aesop_gcm_tag(&d, &gcm, tag);
                CHECK(memcmp(out, want, sizeof out) == 0 && memcmp(tag, want_tag, 16) == 0,
                      "%s: IV of %zu bytes, key of %zu", sets[s]->name, iv_len, key_bytes);
            }
        }
    }
}

static void test_guarded_cbc(void)
{
    static unsigned char want[GUARDED_MAX];

    for (size_t i = 0; i < KEY_SIZES; i++) {
        default_cbc(key_sizes[i], want, GUARDED_MAX);
        for (size_t len = 0; len <= GUARDED_MAX; len += 16) {
            for (size_t s = 0; s < set_count; s++) {
                for (int layout = 0; layout < LAYOUTS; layout++) {
                    unsigned char iv[16], *in, *out;
                    struct aesop_aes_key aes;

                    memcpy(iv, material.iv, 16);
                    out = prepare(layout, material.text, len, &in);
                    sets[s]->aes_expand_enc(&aes, material.key, key_sizes[i]);
                    sets[s]->cbc_enc(&aes, out, in, len, iv);
                    check_piece("CBC encryption", sets[s]->name, layout, len, out, want);

                    memcpy(iv, material.iv, 16);
                    out = prepare(layout, want, len, &in);
                    sets[s]->aes_expand_dec(&aes, material.key, key_sizes[i]);
                    sets[s]->cbc_dec(&aes, out, in, len, iv);
                    check_piece("CBC decryption", sets[s]->name, layout, len, out, material.text);
                    CU_ASSERT_EQUAL(memcmp(iv, len > 0 ? want + len - 16 : material.iv, 16), 0);
                }
            }
        }
    }
}

/* Input and output at every alignment to each other. */
static void test_alignments(void)
{
    static const size_t lengths[] = { 16, 112, 128, 256, 512, 528, 1024, 1040 };
    unsigned char want[1040], want_tag[16], cbc[1040], tag[16], iv[16];
    struct aesop_aes_key aes;

    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        size_t len = lengths[l];

        default_gcm(16, material.iv, 12, 0, want, len, want_tag);
        default_cbc(16, cbc, len);
        for (size_t s = 0; s < set_count; s++) {
            sets[s]->aes_expand_dec(&aes, material.key, 16);
            for (size_t at = 0; at < 64 * 64; at += support_long() ? 1 : 7) {
                unsigned char *in = regions.in.data + at % 64, *out = regions.out.data + at / 64;

                memcpy(in, material.text, len);
                gcm_message(alone(sets[s], CHUNK), 16, material.iv, 12, NULL, 0, out, in, len, tag, 1);
                CHECK(memcmp(out, want, len) == 0 && memcmp(tag, want_tag, 16) == 0, "%s: %zu bytes, %zu to %zu",
                      sets[s]->name, len, at % 64, at / 64);
                memcpy(in, cbc, len);
                memcpy(iv, material.iv, 16);
                sets[s]->cbc_dec(&aes, out, in, len, iv);
                CHECK(memcmp(out, material.text, len) == 0, "%s: CBC, %zu bytes, %zu to %zu", sets[s]->name, len,
                      at % 64, at / 64);
            }
        }
    }
}

/* The layer above takes buffers that overlap in any way (#7941). */
static void test_overlaps(void)
{
    enum { LEN = 1040, ROOM = LEN + 2 * 600 };
    static const int distances[] = { -600, -512, -257, -256, -64, -17, -16, -15, -1,  0,  1,
                                     15,   16,   17,   33,   64,  255, 256, 257, 512, 600 };
    unsigned char room[ROOM], want[LEN], cbc[LEN], want_tag[16], iv[16];
    struct aesop_aes_key enc, dec;

    default_gcm(16, material.iv, 12, 0, want, LEN, want_tag);
    default_cbc(16, cbc, LEN);
    for (size_t s = 0; s < set_count; s++) {
        const struct aesop_dispatch d = alone(sets[s], CHUNK);

        sets[s]->aes_expand_enc(&enc, material.key, 16);
        sets[s]->aes_expand_dec(&dec, material.key, 16);
        for (size_t i = 0; i < sizeof distances / sizeof *distances; i++) {
            unsigned char *in = room + 600, *out = in + distances[i], tag[16];

            memcpy(in, material.text, LEN);
            gcm_message(alone(sets[s], CHUNK), 16, material.iv, 12, NULL, 0, out, in, LEN, tag, 1);
            CHECK(memcmp(out, want, LEN) == 0 && memcmp(tag, want_tag, 16) == 0, "%s: output %d bytes on",
                  sets[s]->name, distances[i]);
            memcpy(in, want, LEN);
            gcm_message(alone(sets[s], CHUNK), 16, material.iv, 12, NULL, 0, out, in, LEN, tag, 0);
            CHECK(memcmp(out, material.text, LEN) == 0 && memcmp(tag, want_tag, 16) == 0,
                  "%s: decryption, output %d bytes on", sets[s]->name, distances[i]);
            memcpy(in, material.text, LEN);
            memcpy(iv, material.iv, 16);
            aesop_cbc_encrypt(&d, &enc, out, in, LEN, iv);
            CHECK(memcmp(out, cbc, LEN) == 0, "%s: CBC, output %d bytes on", sets[s]->name, distances[i]);
            memcpy(in, cbc, LEN);
            memcpy(iv, material.iv, 16);
            aesop_cbc_decrypt(&d, &dec, out, in, LEN, iv);
            CHECK(memcmp(out, material.text, LEN) == 0, "%s: CBC decryption, output %d bytes on", sets[s]->name,
                  distances[i]);
        }
    }
}

/* ---- counters, runs, limits ---- */

static void put_counter32(unsigned char counter[16], uint32_t value)
{
    for (int i = 0; i < 4; i++)
        counter[12 + i] = (unsigned char)(value >> (24 - 8 * i));
}

static uint32_t get_counter32(const unsigned char counter[16])
{
    return (uint32_t)counter[12] << 24 | (uint32_t)counter[13] << 16 | (uint32_t)counter[14] << 8 | counter[15];
}

/* With as many powers of H as a batch needs, or all. */
static void counter_carries(int all_powers, uint32_t counter_is_secret)
{
    static unsigned char want[64 * 1024], got[64 * 1024];
    static const uint32_t ends[] = { 0x100, 0x200, 0x10000, 0x1000000, 0x80000000, 0 /* 2^32 */ };
    static const size_t blocks[] = { 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 33, 64, 65, 127, 255, 256, 257, 300, 512, 600 };

    for (size_t s = 0; s < set_count; s++) {
        const struct aesop_kernels *k = sets[s];
        struct aesop_gcm_key key;
        struct aesop_aes_key aes;

        k->gcm_expand(&key, material.key, 16);
        k->gcm_powers(&key, all_powers ? k->max_powers : k->batch_blocks);
        k->aes_expand_enc(&aes, material.key, 16);
        for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
            for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
                /* The run ends this many blocks behind the carry. */
                for (uint32_t behind = 0; behind <= blocks[b]; behind += 1 + behind / 3) {
                    size_t len = blocks[b] * 16;
                    uint32_t first = ends[e] + behind - (uint32_t)blocks[b];
                    struct aesop_gcm_state state = { .counter_is_secret = counter_is_secret };

                    memcpy(state.counter, material.iv, 12);
                    put_counter32(state.counter, first);
                    plain_ctr(k, &aes, state.counter, want, material.text, len);
                    k->gcm_enc(&key, &state, got, material.text, len);
                    CHECK(memcmp(got, want, len) == 0, "%s: %zu blocks from %08x", k->name, blocks[b], first);
                    CHECK(get_counter32(state.counter) == ends[e] + behind &&
                              memcmp(state.counter, material.iv, 12) == 0,
                          "%s: counter after %zu blocks from %08x is %08x", k->name, blocks[b], first,
                          get_counter32(state.counter));

                    put_counter32(state.counter, first);
                    k->gcm_dec(&key, &state, got, want, len);
                    CHECK(memcmp(got, material.text, len) == 0, "%s: decryption of %zu blocks from %08x", k->name,
                          blocks[b], first);
                }
            }
        }
    }
}

/* From every lowest byte, over an overflow or two of it, whole blocks and not. */
static void counter_starts(uint32_t upper)
{
    enum { LEN_MAX = 530 * 16 };
    static unsigned char want[LEN_MAX], got[LEN_MAX];
    static const size_t lens[] = { 81 * 16, 240 * 16 + 5, 255 * 16, 256 * 16, 257 * 16 + 1, 273 * 16, LEN_MAX - 1 };

    for (size_t s = 0; s < set_count; s++) {
        const struct aesop_kernels *k = sets[s];
        struct aesop_gcm_key key;

        k->gcm_expand(&key, material.key, 32);
        k->gcm_powers(&key, k->max_powers);
        for (uint32_t low = 0; low < 256; low++) {
            struct aesop_gcm_state state = { .counter_is_secret = 0 };

            memcpy(state.counter, material.iv, 12);
            put_counter32(state.counter, upper | low);
            plain_ctr(k, &key.aes, state.counter, want, material.text, LEN_MAX);
            for (size_t l = 0; l < sizeof lens / sizeof *lens; l++) {
                put_counter32(state.counter, upper | low);
                k->gcm_enc(&key, &state, got, material.text, lens[l]);
                CHECK(memcmp(got, want, lens[l]) == 0, "%s: %zu bytes from %08x", k->name, lens[l], upper | low);
                put_counter32(state.counter, upper | low);
                k->gcm_dec(&key, &state, got, want, lens[l]);
                CHECK(memcmp(got, material.text, lens[l]) == 0, "%s: decryption of %zu bytes from %08x", k->name,
                      lens[l], upper | low);
            }
        }
    }
}

/* Every way in which a byte of the counter overflows within a run, and its 32 bits (SP 800-38D, 6.5). */
static void test_counter_carries(void)
{
    counter_starts(0x0000ff00);
    counter_starts(0xffffff00);
    counter_carries(0, 0);
    counter_carries(1, 0);
    counter_carries(1, 1);
}

/* Above the kernels the wrap of the 32 bits is nothing special, wherever in a message it comes. */
static void test_counter_wraps(void)
{
    enum { BEFORE_MAX = 70 };
    static unsigned char want[16 * 1024], got[16 * 1024];

    for (size_t s = 0; s < set_count; s++) {
        const struct aesop_dispatch d = alone(sets[s], CHUNK);
        struct aesop_gcm gcm;
        struct aesop_aes_key aes;

        sets[s]->aes_expand_enc(&aes, material.key, 32);
        aesop_gcm_set_key(&d, &gcm, material.key, 32);
        for (uint32_t before = 1; before <= BEFORE_MAX; before++) {
            for (size_t len = 1; len <= sizeof got; len += len < 64 ? 13 : 509) {
                aesop_gcm_start(&d, &gcm, material.iv, 12);
                put_counter32(gcm.state.counter, -before);
                plain_ctr(sets[s], &aes, gcm.state.counter, want, material.text, len);
                CU_ASSERT(aesop_gcm_encrypt(&d, &gcm, got, material.text, len));
                CHECK(memcmp(got, want, len) == 0, "%s: %zu bytes, wrap after %u blocks", sets[s]->name, len, before);
                aesop_gcm_start(&d, &gcm, material.iv, 12);
                put_counter32(gcm.state.counter, -before);
                CU_ASSERT(aesop_gcm_decrypt(&d, &gcm, got, want, len));
                CHECK(memcmp(got, material.text, len) == 0, "%s: decryption of %zu bytes, wrap after %u blocks",
                      sets[s]->name, len, before);
            }
        }
    }
}

/* The same bytes come out whatever the chunk is, and wherever updates cut the message. */
static void test_runs(void)
{
    static const size_t chunks[] = { 4096, 8192, 1 << 20 };
    static unsigned char want[TEXT_MAX], got[TEXT_MAX];
    struct support_random random;
    unsigned char want_tag[16], tag[16];

    support_random_seed(&random, support_seed() + 2);
    default_gcm(16, material.iv, 12, AAD_MAX, want, TEXT_MAX, want_tag);
    for (size_t s = 0; s < set_count; s++) {
        for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++) {
            for (int round = 0; round < (support_long() ? 2000 : 60); round++) {
                size_t most = (size_t)1 << (1 + support_random_below(&random, 15));
                int enc = round % 2;
                const unsigned char *in = enc ? material.text : want;
                struct aesop_dispatch d = mixed(sets[s], &random);
                struct aesop_gcm gcm;

                d.chunk = chunks[c];
                aesop_gcm_set_key(&d, &gcm, material.key, 16);
                aesop_gcm_start(&d, &gcm, material.iv, 12);
                for (size_t at = 0, n; at < AAD_MAX; at += n) {
                    n = support_random_below(&random, most + 1);
                    n = n < AAD_MAX - at ? n : AAD_MAX - at;
                    CU_ASSERT(aesop_gcm_aad(&d, &gcm, material.aad + at, n));
                }
                for (size_t at = 0, n; at < TEXT_MAX; at += n) {
                    n = support_random_below(&random, most + 1);
                    n = n < TEXT_MAX - at ? n : TEXT_MAX - at;
                    CU_ASSERT((enc ? aesop_gcm_encrypt : aesop_gcm_decrypt)(&d, &gcm, got + at, in + at, n));
                }
                aesop_gcm_tag(&d, &gcm, tag);
                CHECK(memcmp(got, enc ? want : material.text, TEXT_MAX) == 0 && memcmp(tag, want_tag, 16) == 0,
                      "%s: chunk %zu, round %d, pieces up to %zu", sets[s]->name, chunks[c], round, most);
            }
        }
    }
}

/* Powers of H that were made for a short message serve a longer one, and what was made before stays. */
static void test_powers(void)
{
    for (size_t s = 0; s < set_count; s++) {
        const struct aesop_kernels *k = sets[s];
        struct aesop_gcm_key all, step;

        CU_ASSERT(k->batch_blocks >= 1 && k->batch_blocks <= k->max_powers && k->max_powers <= AESOP_GCM_MAX_POWERS);
        k->gcm_expand(&all, material.key, 16);
        CU_ASSERT(all.powers >= 1);
        k->gcm_powers(&all, k->max_powers);
        CU_ASSERT_EQUAL(all.powers, k->max_powers);
        k->gcm_expand(&step, material.key, 16);
        for (uint32_t n = 1; n <= k->max_powers; n++) {
            k->gcm_powers(&step, n);
            CHECK(step.powers >= n && step.powers <= k->max_powers, "%s: %u powers, %u asked for", k->name, step.powers,
                  n);
            CHECK(memcmp(step.h[AESOP_GCM_MAX_POWERS - n], all.h[AESOP_GCM_MAX_POWERS - n], (size_t)n * BLOCK) == 0,
                  "%s: %u powers step by step", k->name, n);
        }
    }
}

/* SP 800-38D, 5.2.1.1: 2^36 - 32 bytes of text, 2^61 - 1 of associated data. Refused before anything is done. */
static void test_limits(void)
{
    unsigned char out[64], before[64];

    for (size_t s = 0; s < set_count; s++) {
        const struct aesop_dispatch d = alone(sets[s], CHUNK);
        struct aesop_gcm gcm, copy;

        memset(&gcm, 0, sizeof gcm); /* all of it is compared */

        for (int enc = 0; enc < 2; enc++) {
            int (*crypt)(const struct aesop_dispatch *, struct aesop_gcm *, uint8_t *, const uint8_t *, size_t) =
                enc ? aesop_gcm_encrypt : aesop_gcm_decrypt;

            aesop_gcm_set_key(&d, &gcm, material.key, 16);
            aesop_gcm_start(&d, &gcm, material.iv, 12);
            gcm.text_bytes = AESOP_GCM_MAX_TEXT_BYTES - 48;
            memset(out, 0xee, sizeof out);
            memcpy(before, out, sizeof out);
            copy = gcm;
            CU_ASSERT_EQUAL(crypt(&d, &gcm, out, material.text, 49), 0);
            CU_ASSERT_EQUAL(crypt(&d, &gcm, out, material.text, SIZE_MAX), 0);
            CU_ASSERT_EQUAL(memcmp(&gcm, &copy, sizeof gcm), 0);
            CU_ASSERT_EQUAL(memcmp(out, before, sizeof out), 0);
            CU_ASSERT_EQUAL(crypt(&d, &gcm, out, material.text, 48), 1);
            CU_ASSERT_EQUAL(gcm.text_bytes, AESOP_GCM_MAX_TEXT_BYTES);
            CU_ASSERT_EQUAL(crypt(&d, &gcm, out, material.text, 1), 0);
            CU_ASSERT_EQUAL(crypt(&d, &gcm, out, material.text, 0), 1);
        }

        aesop_gcm_start(&d, &gcm, material.iv, 12);
        gcm.aad_bytes = AESOP_GCM_MAX_AAD_BYTES - 47;
        copy = gcm;
        CU_ASSERT_EQUAL(aesop_gcm_aad(&d, &gcm, material.aad, 48), 0);
        CU_ASSERT_EQUAL(aesop_gcm_aad(&d, &gcm, material.aad, SIZE_MAX), 0);
        CU_ASSERT_EQUAL(memcmp(&gcm, &copy, sizeof gcm), 0);
        CU_ASSERT_EQUAL(aesop_gcm_aad(&d, &gcm, material.aad, 47), 1);
        CU_ASSERT_EQUAL(gcm.aad_bytes, AESOP_GCM_MAX_AAD_BYTES);
        CU_ASSERT_EQUAL(aesop_gcm_aad(&d, &gcm, material.aad, 1), 0);
    }
}

/* ---- the choice ---- */

/* Sets that claim another's name and need, and do their work with functions that this CPU has. */
enum { CHOICES_MAX = SETS_MAX };
static struct {
    struct aesop_kernels kernels[CHOICES_MAX];
    struct aesop_kernel_choice choices[CHOICES_MAX + 1];
} disguised;

static void disguise(void)
{
    size_t n = 0;

    for (; aesop_kernel_choices[n].kernels != NULL && n < CHOICES_MAX; n++) {
        disguised.kernels[n] = *sets[set_count - 1];
        disguised.kernels[n].name = aesop_kernel_choices[n].kernels->name;
        disguised.choices[n] = (struct aesop_kernel_choice){ &disguised.kernels[n], aesop_kernel_choices[n].needs };
    }
    disguised.choices[n].kernels = NULL;
}

/* The nth set of that name that the features allow, from 0. */
static const struct aesop_kernels *disguised_set(const char *name, uint32_t features, int nth)
{
    for (const struct aesop_kernel_choice *c = disguised.choices; c->kernels != NULL; c++)
        if (strcmp(c->kernels->name, name) == 0 && (c->needs & ~features) == 0 && nth-- == 0)
            return c->kernels;
    return NULL;
}

static void count_failed(void *arg, const struct aesop_kernels *kernels)
{
    (void)kernels;
    ++*(int *)arg;
}

/* On any CPU that could be: the features decide, all of them, and nothing is offered where there is no AES. */
static void test_choice_by_features(void)
{
    enum {
        AES = AESOP_CPU_AESNI,
        AVX2 = AESOP_CPU_AVX2,
        VAES = AESOP_CPU_VAES,
        AVX512 = AESOP_CPU_AVX512,
        FAST = AESOP_CPU_FAST_CLMUL,
        ANY = ~0u
    };
    static const struct {
        uint32_t features;
        const char *want; /* NULL: none */
    } cpus[] = {
        { 0, NULL },
        { AES, "aesni" },
        { AES | AVX2, "aesni" },
        { AES | AVX512, "aesni" },
        { AES | VAES, "aesni" },
        { AES | AVX2 | AVX512, "aesni" },
        { AES | AVX2 | VAES, "vaes256" },
        { AES | AVX2 | VAES | FAST, "vaes256" },
        { AES | FAST, "aesni" },
        { AES | AVX2 | VAES | AVX512, "vaes512" },
        /* AES-NI masked off while the wide instructions stay on gave another project wrong ciphertext. */
        { AVX2, NULL },
        { VAES, NULL },
        { AVX2 | VAES, NULL },
        { AVX2 | VAES | AVX512, NULL },
        { AVX2 | VAES | AVX512 | FAST, NULL },
    };

    if (set_count == 0)
        return;
    disguise();
    for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++) {
        int failed = 0;
        const struct aesop_kernels *got =
            aesop_kernels_choose(disguised.choices, cpus[i].features, NULL, count_failed, &failed);

        CHECK(cpus[i].want == NULL ? got == NULL : got != NULL && strcmp(got->name, cpus[i].want) == 0,
              "features %x: %s, not %s", cpus[i].features, got != NULL ? got->name : "none",
              cpus[i].want != NULL ? cpus[i].want : "none");
        CU_ASSERT_EQUAL(failed, 0);
        for (size_t n = 0; support_kernels[n] != NULL; n++) {
            const char *name = support_kernels[n];

            got = aesop_kernels_choose(disguised.choices, cpus[i].features, name, count_failed, &failed);
            CHECK(got == disguised_set(name, cpus[i].features, 0), "%s forced, features %x", name, cpus[i].features);
        }
        CU_ASSERT_PTR_NULL(aesop_kernels_choose(disguised.choices, cpus[i].features, "aes", count_failed, &failed));
        CU_ASSERT_PTR_NULL(aesop_kernels_choose(disguised.choices, cpus[i].features, "", count_failed, &failed));
    }

    /* Of the two with 256 bits the second is for CPUs whose multiplications are slow. */
    CU_ASSERT_PTR_NOT_NULL(disguised_set("vaes256", ANY, 1));
    CU_ASSERT_PTR_EQUAL(disguised_set("vaes256", ANY & ~FAST, 0), disguised_set("vaes256", ANY, 1));
    CU_ASSERT_PTR_EQUAL(disguised_set("vaes256", AES | AVX2 | VAES, 0), disguised_set("vaes256", ANY, 1));
}

static void test_choice_here(void)
{
    int failed = 0;
    const uint32_t features = aesop_cpu_features();
    const struct aesop_kernels *chosen =
        aesop_kernels_choose(aesop_kernel_choices, features, NULL, count_failed, &failed);
    const struct aesop_kernel_choice *first = aesop_kernel_choices;

    while (first->kernels != NULL && (first->needs & ~features) != 0)
        first++;
    CU_ASSERT_EQUAL(failed, 0);
    CU_ASSERT_PTR_EQUAL(chosen, first->kernels);
    CU_ASSERT_EQUAL(chosen == NULL, set_count == 0);
    for (size_t s = 0; s < set_count; s++)
        CHECK(aesop_kernels_self_test(sets[s]) == 1, "%s fails its self-test", sets[s]->name);
}

/* ---- broken sets: each function in turn does its work and then flips one bit of the result ---- */

static const struct aesop_kernels *sound;

static void broken_expand_enc(struct aesop_aes_key *key, const uint8_t *user_key, size_t key_bytes)
{
    sound->aes_expand_enc(key, user_key, key_bytes);
    key->round_keys[key->rounds][3] ^= 0x20;
}

static void broken_expand_dec(struct aesop_aes_key *key, const uint8_t *user_key, size_t key_bytes)
{
    sound->aes_expand_dec(key, user_key, key_bytes);
    key->round_keys[key->rounds][3] ^= 0x20;
}

static void broken_enc_block(const struct aesop_aes_key *key, uint8_t out[16], const uint8_t in[16])
{
    sound->aes_enc_block(key, out, in);
    out[15] ^= 0x01;
}

static void broken_cbc_enc(const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in, size_t len, uint8_t iv[16])
{
    sound->cbc_enc(key, out, in, len, iv);
    if (len > 0)
        out[len - 1] ^= 0x01;
}

static void broken_cbc_dec(const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in, size_t len, uint8_t iv[16])
{
    sound->cbc_dec(key, out, in, len, iv);
    if (len > 0)
        out[0] ^= 0x80;
}

static void broken_cbc_dec_nt(const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in, size_t len,
                              uint8_t iv[16])
{
    sound->cbc_dec_nt(key, out, in, len, iv);
    out[0] ^= 0x80;
}

static void broken_cbc_iv(const struct aesop_aes_key *key, uint8_t *out, const uint8_t *in, size_t len, uint8_t iv[16])
{
    sound->cbc_dec(key, out, in, len, iv);
    iv[0] ^= 0x80;
}

static void broken_gcm_expand(struct aesop_gcm_key *key, const uint8_t *user_key, size_t key_bytes)
{
    sound->gcm_expand(key, user_key, key_bytes);
    key->h[AESOP_GCM_MAX_POWERS - 1][0] ^= 0x01;
}

static void broken_gcm_powers(struct aesop_gcm_key *key, uint32_t count)
{
    sound->gcm_powers(key, count);
    if (count > 1)
        key->h[AESOP_GCM_MAX_POWERS - count][0] ^= 0x01;
}

static int broken_gcm_start(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, const uint8_t *iv,
                            size_t iv_len)
{
    sound->gcm_start(key, state, iv, iv_len);
    state->counter[0] ^= 0x80;
    return 1;
}

/* The way of IVs that are not 96 bits long. */
static int broken_gcm_start_long(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, const uint8_t *iv,
                                 size_t iv_len)
{
    sound->gcm_start(key, state, iv, iv_len);
    if (iv_len != 12)
        state->counter[0] ^= 0x80;
    return 1;
}

static int broken_gcm_hash(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, const uint8_t *in,
                           size_t len)
{
    sound->gcm_hash(key, state, in, len);
    state->ghash[0] ^= 0x01;
    return 1;
}

static int broken_gcm_enc(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, uint8_t *out,
                          const uint8_t *in, size_t len)
{
    sound->gcm_enc(key, state, out, in, len);
    state->ghash[15] ^= 0x01;
    return 1;
}

static int broken_gcm_enc_text(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, uint8_t *out,
                               const uint8_t *in, size_t len)
{
    sound->gcm_enc(key, state, out, in, len);
    out[len / 2] ^= 0x01;
    return 1;
}

static int broken_gcm_dec(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, uint8_t *out,
                          const uint8_t *in, size_t len)
{
    sound->gcm_dec(key, state, out, in, len);
    state->ghash[15] ^= 0x01;
    return 1;
}

static int broken_gcm_dec_text(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, uint8_t *out,
                               const uint8_t *in, size_t len)
{
    sound->gcm_dec(key, state, out, in, len);
    out[len - 1] ^= 0x01;
    return 1;
}

static void broken_gcm_enc_nt(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, uint8_t *out,
                              const uint8_t *in, size_t len)
{
    sound->gcm_enc_nt(key, state, out, in, len);
    state->ghash[15] ^= 0x01;
}

static void broken_gcm_dec_nt(const struct aesop_gcm_key *key, struct aesop_gcm_state *state, uint8_t *out,
                              const uint8_t *in, size_t len)
{
    sound->gcm_dec_nt(key, state, out, in, len);
    out[len - 1] ^= 0x01;
}

static int broken_gcm_tag(const struct aesop_gcm_key *key, const struct aesop_gcm_state *state, uint8_t tag[16],
                          uint64_t aad_bytes, uint64_t text_bytes)
{
    sound->gcm_tag(key, state, tag, aad_bytes, text_bytes);
    tag[15] ^= 0x01;
    return 1;
}

/* What is not NULL replaces the sound function. */
static const struct {
    const char *what;
    struct aesop_kernels with;
} faults[] = {
    { "aes_expand_enc", { .aes_expand_enc = broken_expand_enc } },
    { "aes_expand_dec", { .aes_expand_dec = broken_expand_dec } },
    { "aes_enc_block", { .aes_enc_block = broken_enc_block } },
    { "cbc_enc", { .cbc_enc = broken_cbc_enc } },
    { "cbc_dec", { .cbc_dec = broken_cbc_dec } },
    { "iv of cbc_dec", { .cbc_dec = broken_cbc_iv } },
    { "cbc_dec_nt", { .cbc_dec_nt = broken_cbc_dec_nt } },
    { "gcm_expand", { .gcm_expand = broken_gcm_expand } },
    { "gcm_powers", { .gcm_powers = broken_gcm_powers } },
    { "gcm_start", { .gcm_start = broken_gcm_start } },
    { "gcm_start of a long iv", { .gcm_start = broken_gcm_start_long } },
    { "gcm_hash", { .gcm_hash = broken_gcm_hash } },
    { "ghash of gcm_enc", { .gcm_enc = broken_gcm_enc } },
    { "gcm_enc", { .gcm_enc = broken_gcm_enc_text } },
    { "ghash of gcm_dec", { .gcm_dec = broken_gcm_dec } },
    { "gcm_dec", { .gcm_dec = broken_gcm_dec_text } },
    { "gcm_enc_nt", { .gcm_enc_nt = broken_gcm_enc_nt } },
    { "gcm_dec_nt", { .gcm_dec_nt = broken_gcm_dec_nt } },
    { "gcm_tag", { .gcm_tag = broken_gcm_tag } },
};

static void break_set(struct aesop_kernels *k, const struct aesop_kernels *with)
{
#define REPLACE(function) k->function = with->function != NULL ? with->function : k->function
    REPLACE(aes_expand_enc);
    REPLACE(aes_expand_dec);
    REPLACE(aes_enc_block);
    REPLACE(cbc_enc);
    REPLACE(cbc_dec);
    REPLACE(cbc_dec_nt);
    REPLACE(gcm_expand);
    REPLACE(gcm_powers);
    REPLACE(gcm_start);
    REPLACE(gcm_hash);
    REPLACE(gcm_enc);
    REPLACE(gcm_dec);
    REPLACE(gcm_enc_nt);
    REPLACE(gcm_dec_nt);
    REPLACE(gcm_tag);
#undef REPLACE
}

/* A set with any fault fails its self-test, is reported, and the next one serves; none serves where all fail. */
static void test_broken_sets(void)
{
    for (size_t s = 0; s < set_count; s++) {
        sound = sets[s];
        for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
            struct aesop_kernels broken = *sound;
            const struct aesop_kernel_choice choices[] = { { &broken, 0 }, { sound, 0 }, { NULL, 0 } };
            const struct aesop_kernel_choice both_broken[] = { { &broken, 0 }, { &broken, 0 }, { NULL, 0 } };
            const char *what = faults[f].what;
            int failed = 0;

            break_set(&broken, &faults[f].with);
            CHECK(aesop_kernels_self_test(&broken) == 0, "%s with a broken %s passes", sound->name, what);
            CHECK(aesop_kernels_choose(choices, 0, NULL, count_failed, &failed) == sound && failed == 1,
                  "%s with a broken %s is not passed over", sound->name, what);
            failed = 0;
            CHECK(aesop_kernels_choose(both_broken, 0, NULL, count_failed, &failed) == NULL && failed == 2,
                  "%s with a broken %s serves", sound->name, what);
        }
    }
}

/* Short runs go to the narrow set where it is sound; no set is used that is not. */
static void test_narrow(void)
{
    struct aesop_kernels wide, narrow;
    struct aesop_dispatch d;

    if (set_count == 0)
        return;
    sound = sets[set_count - 1];
    for (int wide_broken = 0; wide_broken < 2; wide_broken++) {
        for (int narrow_broken = 0; narrow_broken < 2; narrow_broken++) {
            const struct aesop_kernel_choice choices[] = { { &wide, 0 }, { &narrow, 0 }, { NULL, 0 } };
            const struct aesop_kernels *serves = !wide_broken ? &wide : !narrow_broken ? &narrow : NULL;
            int failed = 0, ok;

            wide = narrow = *sound;
            wide.name = "vaes512";
            narrow.name = "aesni";
            if (wide_broken)
                wide.gcm_enc = broken_gcm_enc;
            if (narrow_broken)
                narrow.gcm_tag = broken_gcm_tag;
            ok = aesop_dispatch_choose(&d, choices, 0, NULL, count_failed, &failed);
            CU_ASSERT_EQUAL(ok, serves != NULL);
            CU_ASSERT_PTR_EQUAL(d.kernels, serves);
            CU_ASSERT_PTR_EQUAL(d.narrow, narrow_broken ? serves : &narrow);
            CU_ASSERT_EQUAL(failed, wide_broken + narrow_broken);

            /* Forced: that set or none. */
            ok = aesop_dispatch_choose(&d, choices, 0, "vaes512", count_failed, &failed);
            CU_ASSERT_EQUAL(ok, !wide_broken);
            CU_ASSERT_PTR_EQUAL(d.kernels, wide_broken ? NULL : &wide);
            CU_ASSERT_PTR_EQUAL(d.narrow, wide_broken ? NULL : narrow_broken ? &wide : &narrow);
        }
    }
}

/* ---- what is left behind ---- */

/*
 * Work is done twice on a stack of its own, with two keys and all else the same: what differs afterwards is a secret, or
 * as good as one, that a compiler spilled to a place that no code of ours wipes (#32254): round keys, powers of H, but
 * also a state of AES between two rounds or a sum of GHASH, from which the key or H can be computed. What an unoptimised
 * or instrumented build leaves there says nothing.
 */
#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
#define STACK_IS_TELLING 0
#elif defined(__has_feature)
#define STACK_IS_TELLING !(__has_feature(address_sanitizer) || __has_feature(memory_sanitizer))
#else
#define STACK_IS_TELLING 1
#endif

enum { STACK_BYTES = 64 * 1024 };

struct work {
    const struct aesop_kernels *k;
    size_t key_bytes, len;
    unsigned char key[32], text[20000], more[600], iv[32], tag[16];
    struct aesop_gcm gcm;
    struct aesop_aes_key enc, dec;
};

static void work_schedules(struct work *w)
{
    w->k->aes_expand_enc(&w->enc, w->key, w->key_bytes);
    w->k->aes_expand_dec(&w->dec, w->key, w->key_bytes);
    w->k->gcm_expand(&w->gcm.key, w->key, w->key_bytes);
    w->k->gcm_powers(&w->gcm.key, w->k->max_powers);
}

/* What is known of the tag or the ciphertext is in w, not on the stack. */
static void gcm_both_ways(struct work *w, const struct aesop_dispatch *d, size_t iv_len)
{
    for (int encrypt = 1; encrypt >= 0; encrypt--) {
        aesop_gcm_start(d, &w->gcm, w->iv, iv_len);
        aesop_gcm_aad(d, &w->gcm, w->more, w->len < sizeof w->more ? w->len : sizeof w->more);
        (encrypt ? aesop_gcm_encrypt : aesop_gcm_decrypt)(d, &w->gcm, w->text, w->text, w->len);
        aesop_gcm_tag(d, &w->gcm, w->tag);
    }
}

static void work_gcm(struct work *w)
{
    const struct aesop_dispatch d = alone(w->k, CHUNK);

    aesop_gcm_set_key(&d, &w->gcm, w->key, w->key_bytes);
    gcm_both_ways(w, &d, 12);
}

static void work_gcm_long_iv(struct work *w)
{
    const struct aesop_dispatch d = alone(w->k, CHUNK);

    aesop_gcm_set_key(&d, &w->gcm, w->key, w->key_bytes);
    gcm_both_ways(w, &d, sizeof w->iv);
}

static void work_gcm_nt(struct work *w)
{
    const struct aesop_dispatch d = alone_nt(w->k);

    aesop_gcm_set_key(&d, &w->gcm, w->key, w->key_bytes);
    gcm_both_ways(w, &d, 12);
}

static void cbc_both_ways(struct work *w, const struct aesop_dispatch *d)
{
    w->k->aes_expand_enc(&w->enc, w->key, w->key_bytes);
    w->k->aes_expand_dec(&w->dec, w->key, w->key_bytes);
    aesop_cbc_encrypt(d, &w->enc, w->text, w->text, w->len / 16 * 16, w->iv);
    aesop_cbc_decrypt(d, &w->dec, w->text, w->text, w->len / 16 * 16, w->iv);
}

static void work_cbc(struct work *w)
{
    const struct aesop_dispatch d = alone(w->k, CHUNK);

    cbc_both_ways(w, &d);
}

static void work_cbc_nt(struct work *w)
{
    const struct aesop_dispatch d = alone_nt(w->k);

    cbc_both_ways(w, &d);
}

static const struct {
    const char *name;
    void (*run)(struct work *w);
} works[] = { { "schedules", work_schedules },        { "GCM", work_gcm }, { "GCM with a long IV", work_gcm_long_iv },
              { "GCM past the caches", work_gcm_nt }, { "CBC", work_cbc }, { "CBC past the caches", work_cbc_nt } };

static struct on_stack {
    void (*run)(struct work *w);
    struct work *work;
    ucontext_t here, there;
} on_stack;

/* The compiler has to have that array in memory. */
#define MUST_EXIST(array) __asm__ volatile("" : : "r"(array) : "memory")

/* Leaves a gap, so that what is called after the work does not overwrite what the work left. */
__attribute__((noinline)) static void start_on_stack(void)
{
    unsigned char gap[4096];

    MUST_EXIST(gap);
    on_stack.run(on_stack.work);
    MUST_EXIST(gap);
}

/* Not by a thread: the C library gives the pages of a thread's stack back to the system. */
static void run_on_stack(unsigned char *stack, void (*run)(struct work *w), struct work *w)
{
    memset(stack, 0, STACK_BYTES);
    on_stack.run = run;
    on_stack.work = w;
    CU_ASSERT_FATAL(getcontext(&on_stack.there) == 0);
#if defined(__x86_64__)
    memset(on_stack.there.uc_mcontext.gregs, 0, sizeof on_stack.there.uc_mcontext.gregs); /* they would be saved */
#endif
    on_stack.there.uc_stack.ss_sp = stack;
    on_stack.there.uc_stack.ss_size = STACK_BYTES;
    on_stack.there.uc_link = &on_stack.here;
    makecontext(&on_stack.there, start_on_stack, 0);
    CU_ASSERT_FATAL(swapcontext(&on_stack.here, &on_stack.there) == 0);
}

/* What the search has to find: a part of a round key in a local variable. */
static void work_careless(struct work *w)
{
    unsigned char spilled[4];

    w->k->aes_expand_enc(&w->enc, w->key, w->key_bytes);
    memcpy(spilled, w->enc.round_keys[5], sizeof spilled);
    MUST_EXIST(spilled);
}

/* How many bytes of the stack hang on the key after work. */
static size_t count_secrets(unsigned char *stack, void (*run)(struct work *w), const struct aesop_kernels *k,
                            size_t key_bytes, size_t len)
{
    static unsigned char left[STACK_BYTES];
    static struct work w;
    size_t count = 0;

    for (int i = 0; i < 2; i++) {
        memset(&w, 0, sizeof w);
        w.k = k;
        w.key_bytes = key_bytes;
        w.len = len;
        memcpy(w.key, i == 0 ? material.key : material.text, key_bytes);
        run_on_stack(stack, run, &w);
        if (i == 0)
            memcpy(left, stack, STACK_BYTES);
    }
    for (size_t i = 0; i < STACK_BYTES; i++)
        count += left[i] != stack[i];
    return count;
}

/* Which takes what lies below the stack pointer for unreadable. */
static int under_valgrind(void)
{
    const char *preload = getenv("LD_PRELOAD");

    return preload != NULL && strstr(preload, "vgpreload") != NULL;
}

static void test_stack(void)
{
    static const size_t lengths[] = { 1, 16, 31, 64, 100, 200, 256, 300, 512, 600, 1024, 2100, 4100, 20000 };
    unsigned char *stack;

    if (!STACK_IS_TELLING || under_valgrind()) {
        support_skip("search of the stack", "this build keeps everything there, or valgrind forbids it");
        CU_PASS();
        return;
    }
    stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(stack != MAP_FAILED);
    for (size_t n = 0; n < set_count * KEY_SIZES; n++) {
        const struct aesop_kernels *set = sets[n / KEY_SIZES];
        const size_t key_bytes = key_sizes[n % KEY_SIZES];

        CU_ASSERT(count_secrets(stack, work_careless, set, key_bytes, 0) > 0);
        for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
            for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
                const size_t found = count_secrets(stack, works[i].run, set, key_bytes, lengths[l]);

                CHECK(found == 0, "%s, AES-%zu, %s of %zu bytes left %zu bytes on the stack that hang on the key",
                      set->name, key_bytes * 8, works[i].name, lengths[l], found);
            }
        }
    }
    munmap(stack, STACK_BYTES);
}

#if defined(__x86_64__)

/*
 * The upper halves of the registers that SSE code shares with AVX. Written and read by assembler, since what is around
 * is compiled for SSE and leaves them alone; a wide kernel has to leave zeros (vzeroupper), or all SSE code after it
 * crawls.
 */
enum { SHARED_REGISTERS = 16 };
#define EACH_REGISTER(_) _(0) _(1) _(2) _(3) _(4) _(5) _(6) _(7) _(8) _(9) _(10) _(11) _(12) _(13) _(14) _(15)

static void fill_upper_halves(void)
{
#define FILL(n) __asm__ volatile("vpcmpeqd %%ymm" #n ", %%ymm" #n ", %%ymm" #n ::: "xmm" #n);
    EACH_REGISTER(FILL)
#undef FILL
}

static void read_upper_halves(unsigned char halves[SHARED_REGISTERS][16])
{
#define READ(n) __asm__ volatile("vextractf128 $1, %%ymm" #n ", %0" : "=m"(*(unsigned char(*)[16])halves[n]));
    EACH_REGISTER(READ)
#undef READ
}

/* Every one is zeros, or what it was before the call: code for 128 bits leaves it so, and owes no vzeroupper. */
static int all_clean(unsigned char halves[SHARED_REGISTERS][16])
{
    for (size_t r = 0; r < SHARED_REGISTERS; r++)
        for (size_t i = 0; i < 16; i++)
            if (halves[r][i] != halves[r][0] || (halves[r][i] != 0 && halves[r][i] != 0xff))
                return 0;
    return 1;
}

static void test_upper_halves(void)
{
    static const size_t lengths[] = { 16, 17, 48, 100, 512, 1000, 4096 };
    unsigned char halves[SHARED_REGISTERS][16], out[4096], iv[16] = { 0 }, tag[16];
    struct aesop_gcm_key key;
    struct aesop_aes_key enc, dec;

#if !defined(__OPTIMIZE__)
    support_skip("upper halves of registers", "compilers put vzeroupper in when they optimise");
    CU_PASS();
    return;
#endif
    for (size_t s = 0; s < set_count; s++) {
        const struct aesop_kernels *k = sets[s];
        struct aesop_gcm_state state = { .ghash = { 0 } };

        if (strcmp(k->name, "aesni") == 0)
            continue;
#define AFTER(function, ...) \
    do { \
        fill_upper_halves(); \
        k->function(__VA_ARGS__); \
        read_upper_halves(halves); \
        CHECK(all_clean(halves), "%s: after " #function " of %zu bytes", k->name, lengths[l]); \
    } while (0)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            size_t len = lengths[l];

            AFTER(aes_expand_enc, &enc, material.key, 32);
            AFTER(aes_expand_dec, &dec, material.key, 32);
            AFTER(gcm_expand, &key, material.key, 32);
            AFTER(gcm_powers, &key, k->batch_blocks);
            AFTER(gcm_start, &key, &state, material.iv, 12);
            AFTER(gcm_start, &key, &state, material.iv, 64);
            AFTER(gcm_hash, &key, &state, material.text, len);
            AFTER(gcm_enc, &key, &state, out, material.text, len);
            AFTER(gcm_dec, &key, &state, out, material.text, len);
            AFTER(gcm_tag, &key, &state, tag, 0, 0);
            AFTER(cbc_enc, &enc, out, material.text, len / 16 * 16, iv);
            AFTER(cbc_dec, &dec, out, material.text, len / 16 * 16, iv);
        }
#undef AFTER
    }
}

#else

static void test_upper_halves(void)
{
    support_skip("upper halves of registers", "this CPU has no such registers");
    CU_PASS();
}

#endif

/* ---- memory that is given back ---- */

/* A core that remembers nothing but what it is told to search. */
static struct {
    int watching;
    unsigned freed, dirty_bytes;
    uint32_t last_error;
} fake_core;

static void *fake_malloc(size_t size, const char *file, int line)
{
    size_t *block = calloc(1, size + 64);

    (void)file, (void)line;
    if (block == NULL)
        return NULL;
    *block = size;
    return (unsigned char *)block + 64;
}

static void fake_free(void *p, const char *file, int line)
{
    unsigned char *bytes = p;

    (void)file, (void)line;
    if (p == NULL)
        return;
    if (fake_core.watching) {
        fake_core.freed++;
        for (size_t i = 0; i < *(size_t *)(bytes - 64); i++)
            fake_core.dirty_bytes += bytes[i] != 0;
    }
    free(bytes - 64);
}

static int fake_get_params(const OSSL_CORE_HANDLE *handle, OSSL_PARAM params[])
{
    (void)handle, (void)params;
    return 1;
}

static void fake_new_error(const OSSL_CORE_HANDLE *handle)
{
    (void)handle;
}

static void fake_error_debug(const OSSL_CORE_HANDLE *handle, const char *file, int line, const char *func)
{
    (void)handle, (void)file, (void)line, (void)func;
}

static void fake_vset_error(const OSSL_CORE_HANDLE *handle, uint32_t reason, const char *format, va_list args)
{
    (void)handle, (void)format, (void)args;
    fake_core.last_error = reason;
}

static const OSSL_DISPATCH fake_upcalls[] = {
    { OSSL_FUNC_CORE_GET_PARAMS, (void (*)(void))fake_get_params },
    { OSSL_FUNC_CORE_NEW_ERROR, (void (*)(void))fake_new_error },
    { OSSL_FUNC_CORE_SET_ERROR_DEBUG, (void (*)(void))fake_error_debug },
    { OSSL_FUNC_CORE_VSET_ERROR, (void (*)(void))fake_vset_error },
    { OSSL_FUNC_CRYPTO_MALLOC, (void (*)(void))fake_malloc },
    { OSSL_FUNC_CRYPTO_FREE, (void (*)(void))fake_free },
    { 0, NULL },
};

static void (*find_function(const OSSL_DISPATCH *table, int id))(void)
{
    while (table->function_id != 0 && table->function_id != id)
        table++;
    return table->function;
}

#define FUNCTION(table, id, name) OSSL_FUNC_##name##_fn *name = (OSSL_FUNC_##name##_fn *)find_function(table, id)

/* A whole message and half of another, in the original and in a copy; then all of both contexts must be zeros. */
static void check_freed(const OSSL_ALGORITHM *algorithm, void *provctx)
{
    const OSSL_DISPATCH *functions = algorithm->implementation;
    FUNCTION(functions, OSSL_FUNC_CIPHER_NEWCTX, cipher_newctx);
    FUNCTION(functions, OSSL_FUNC_CIPHER_FREECTX, cipher_freectx);
    FUNCTION(functions, OSSL_FUNC_CIPHER_DUPCTX, cipher_dupctx);
    FUNCTION(functions, OSSL_FUNC_CIPHER_ENCRYPT_INIT, cipher_encrypt_init);
    FUNCTION(functions, OSSL_FUNC_CIPHER_UPDATE, cipher_update);
    FUNCTION(functions, OSSL_FUNC_CIPHER_FINAL, cipher_final);
    size_t key_bytes = (size_t)atoi(algorithm->algorithm_names + 4) / 8;
    int is_gcm = strstr(algorithm->algorithm_names, "GCM") != NULL;
    size_t iv_bytes = is_gcm ? 12 : 16, n;
    unsigned char out[1024];
    void *ctx, *copy;

    CU_ASSERT_FATAL(cipher_newctx && cipher_freectx && cipher_dupctx && cipher_encrypt_init && cipher_update &&
                    cipher_final);
    ctx = cipher_newctx(provctx);
    CU_ASSERT_FATAL(ctx != NULL);
    CU_ASSERT(cipher_encrypt_init(ctx, material.key, key_bytes, material.iv, iv_bytes, NULL));
    CU_ASSERT(cipher_update(ctx, out, &n, sizeof out, material.text, 1000));
    CU_ASSERT(cipher_final(ctx, out, &n, sizeof out));
    CU_ASSERT(cipher_encrypt_init(ctx, NULL, 0, material.iv, iv_bytes, NULL));
    CU_ASSERT(cipher_update(ctx, out, &n, sizeof out, material.text, 1001));
    copy = cipher_dupctx(ctx);
    CU_ASSERT_FATAL(copy != NULL);

    fake_core.watching = 1;
    fake_core.freed = fake_core.dirty_bytes = 0;
    cipher_freectx(ctx);
    cipher_freectx(copy);
    cipher_freectx(NULL);
    fake_core.watching = 0;
    CU_ASSERT_EQUAL(fake_core.freed, 2);
    /* One byte in front of each says how far the block begins from the context. */
    CHECK(fake_core.dirty_bytes <= 2, "%s: %u bytes are not zero", algorithm->algorithm_names, fake_core.dirty_bytes);
}

/* Seals a TLS record of 16 bytes. */
static int seal_record(void *ctx, const OSSL_DISPATCH *functions)
{
    FUNCTION(functions, OSSL_FUNC_CIPHER_SET_CTX_PARAMS, cipher_set_ctx_params);
    FUNCTION(functions, OSSL_FUNC_CIPHER_UPDATE, cipher_update);
    unsigned char header[13] = { 0 }, record[8 + 16 + 16] = { 0 };
    const OSSL_PARAM params[] = {
        { OSSL_CIPHER_PARAM_AEAD_TLS1_AAD, OSSL_PARAM_OCTET_STRING, header, sizeof header, 0 }, OSSL_PARAM_END
    };
    size_t n;

    header[12] = 8 + 16;
    return cipher_set_ctx_params(ctx, params) && cipher_update(ctx, record, &n, sizeof record, record, sizeof record);
}

/* RFC 5288, 3: one explicit IV for each record, and there are 2^64 of them. */
static void check_last_record(const OSSL_ALGORITHM *algorithm, void *provctx)
{
    const OSSL_DISPATCH *functions = algorithm->implementation;
    FUNCTION(functions, OSSL_FUNC_CIPHER_NEWCTX, cipher_newctx);
    FUNCTION(functions, OSSL_FUNC_CIPHER_FREECTX, cipher_freectx);
    FUNCTION(functions, OSSL_FUNC_CIPHER_ENCRYPT_INIT, cipher_encrypt_init);
    const size_t key_bytes = (size_t)atoi(algorithm->algorithm_names + 4) / 8;
    const OSSL_PARAM fixed[] = { { OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED, OSSL_PARAM_OCTET_STRING, material.iv, 4, 0 },
                                 OSSL_PARAM_END };
    void *ctx = cipher_newctx(provctx);
    uint64_t *records = (uint64_t *)ctx + 1; /* where a context counts them, behind its first pointer */

    CU_ASSERT(cipher_encrypt_init(ctx, material.key, key_bytes, NULL, 0, fixed));
    CU_ASSERT(seal_record(ctx, functions) && seal_record(ctx, functions));
    CU_ASSERT_EQUAL_FATAL(*records, 2);
    *records = UINT64_MAX - 1;
    CU_ASSERT(seal_record(ctx, functions));
    for (int i = 0; i < 3; i++) {
        fake_core.last_error = 0;
        CHECK(!seal_record(ctx, functions), "%s: a record too many", algorithm->algorithm_names);
        CU_ASSERT_EQUAL(fake_core.last_error & 0x7fffff, AESOP_R_TOO_MANY_RECORDS);
    }
    /* A new key may serve as many. */
    CU_ASSERT(cipher_encrypt_init(ctx, material.key, key_bytes, NULL, 0, fixed) && seal_record(ctx, functions));
    cipher_freectx(ctx);
}

static void test_provider_alone(void)
{
    const OSSL_DISPATCH *functions = NULL;
    void *provctx = NULL;

    CU_ASSERT_FATAL(OSSL_provider_init(NULL, fake_upcalls, &functions, &provctx));
    {
        FUNCTION(functions, OSSL_FUNC_PROVIDER_QUERY_OPERATION, provider_query_operation);
        FUNCTION(functions, OSSL_FUNC_PROVIDER_TEARDOWN, provider_teardown);
        const OSSL_ALGORITHM *algorithm;
        int no_cache = -1;

        algorithm = provider_query_operation(provctx, OSSL_OP_CIPHER, &no_cache);
        CU_ASSERT_EQUAL(no_cache, 0);
        CU_ASSERT_EQUAL(algorithm != NULL, set_count > 0);
        for (; algorithm != NULL && algorithm->algorithm_names != NULL; algorithm++) {
            check_freed(algorithm, provctx);
            if (strstr(algorithm->algorithm_names, "GCM") != NULL)
                check_last_record(algorithm, provctx);
        }

        /* As on a CPU without AES: nothing is offered, so that default serves. */
        ((struct aesop_provider *)provctx)->dispatch.kernels = NULL;
        CU_ASSERT_PTR_NULL(provider_query_operation(provctx, OSSL_OP_CIPHER, &no_cache));
        CU_ASSERT_EQUAL(no_cache, 0);
        provider_teardown(provctx);
    }
}

/* Outputs past the caches are those through them, whatever their length and place; nothing else is written. */
static void test_past_caches(void)
{
    enum { MARGIN = 128, LENGTHS = 2400, MARK = 0x5a };
    static _Alignas(64) unsigned char out[MARGIN + LENGTHS + MARGIN];
    static unsigned char want[LENGTHS];
    unsigned char tag[16], want_tag[16], iv[16], want_iv[16];
    struct aesop_aes_key aes;

    for (size_t s = 0; s < set_count; s++) {
        const struct aesop_dispatch through = alone(sets[s], CHUNK), past = alone_nt(sets[s]);

        sets[s]->aes_expand_dec(&aes, material.key, 16);
        for (size_t len = 1; len <= LENGTHS; len += len < 600 ? 1 : 7) {
            unsigned char *to = out + MARGIN - len % 5 * 16;

            for (int enc = 0; enc < 2; enc++) {
                memset(out, MARK, sizeof out);
                gcm_message(through, 16, material.iv, 12, material.text, 13, want, material.text, len, want_tag, enc);
                gcm_message(past, 16, material.iv, 12, material.text, 13, to, material.text, len, tag, enc);
                CHECK(memcmp(to, want, len) == 0 && memcmp(tag, want_tag, 16) == 0, "%s, GCM, %zu bytes, encrypts: %d",
                      sets[s]->name, len, enc);
                CHECK(to[-1] == MARK && to[len] == MARK, "%s, GCM, %zu bytes", sets[s]->name, len);
            }
            if (len % 16 != 0)
                continue;
            memset(out, MARK, sizeof out);
            memcpy(iv, material.iv, 16);
            memcpy(want_iv, material.iv, 16);
            aesop_cbc_decrypt(&through, &aes, want, material.text, len, want_iv);
            aesop_cbc_decrypt(&past, &aes, to, material.text, len, iv);
            CHECK(memcmp(to, want, len) == 0 && memcmp(iv, want_iv, 16) == 0 && to[len] == MARK, "%s, CBC, %zu bytes",
                  sets[s]->name, len);
        }
    }
}

#if HAVE_MEMCHECK
/* A GCM message of which key and text are declared undefined, the way of the text given. */
static void secret_message(const struct aesop_kernels *k, size_t key_bytes, size_t iv_len, size_t len, int warm,
                           int (*crypt)(const struct aesop_dispatch *, struct aesop_gcm *, uint8_t *, const uint8_t *,
                                        size_t))
{
    static unsigned char text[8192];
    const struct aesop_dispatch d = alone(k, CHUNK);
    unsigned char key[32], tag[16], taint[16];
    struct aesop_gcm gcm;

    memcpy(key, material.key, sizeof key);
    memcpy(text, material.text, len);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(key, sizeof key);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(text, len);
    aesop_gcm_set_key(&d, &gcm, key, key_bytes);
    if (warm)
        k->gcm_powers(&gcm.key, k->max_powers);
    aesop_gcm_start(&d, &gcm, material.iv, iv_len);
    aesop_gcm_aad(&d, &gcm, material.aad, 45);
    crypt(&d, &gcm, text, text, len);
    aesop_gcm_tag(&d, &gcm, tag);

    /* The secrets did get as far as the results, or nothing was tested. */
    (void)VALGRIND_GET_VBITS(tag, taint, sizeof tag);
    CU_ASSERT(taint[0] == 0xff && taint[15] == 0xff);
    (void)VALGRIND_GET_VBITS(gcm.state.counter, taint, sizeof gcm.state.counter);
    CHECK((taint[15] != 0) == (iv_len != 12), "iv of %zu bytes: whether the counter is a secret", iv_len);
    (void)VALGRIND_MAKE_MEM_DEFINED(text, len);
}

static void secret_cbc(const struct aesop_kernels *k, size_t key_bytes, size_t len)
{
    static unsigned char text[8192];
    const struct aesop_dispatch d = alone(k, CHUNK);
    unsigned char key[32], iv[16], taint[16];
    struct aesop_aes_key enc, dec;

    memcpy(key, material.key, sizeof key);
    memcpy(iv, material.iv, sizeof iv);
    memcpy(text, material.text, len);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(key, sizeof key);
    k->aes_expand_enc(&enc, key, key_bytes);
    k->aes_expand_dec(&dec, key, key_bytes);
    aesop_cbc_encrypt(&d, &enc, text, text, len, iv);
    aesop_cbc_decrypt(&d, &dec, text, text, len, iv);
    (void)VALGRIND_GET_VBITS(text, taint, sizeof taint);
    CU_ASSERT(taint[0] == 0xff && taint[15] == 0xff);
    (void)VALGRIND_MAKE_MEM_DEFINED(text, len);
}
#endif

/* memcheck reports every branch and every address that depends on undefined bytes: what an attacker could time. */
static void test_constant_time(void)
{
#if HAVE_MEMCHECK
    static const size_t iv_lens[] = { 12, 16, 60 }, lens[] = { 16, 33, 80, 700, 5003 };
    unsigned errors = VALGRIND_COUNT_ERRORS;

    if (!RUNNING_ON_VALGRIND) {
        support_skip("constant time of the kernels", "this is not valgrind");
        return;
    }
    for (size_t s = 0; s < set_count; s++) {
        for (size_t z = 0; z < KEY_SIZES; z++) {
            for (size_t l = 0; l < sizeof lens / sizeof *lens; l++) {
                for (size_t i = 0; i < sizeof iv_lens / sizeof *iv_lens; i++) {
                    secret_message(sets[s], key_sizes[z], iv_lens[i], lens[l], l % 2, aesop_gcm_encrypt);
                    secret_message(sets[s], key_sizes[z], iv_lens[i], lens[l], l % 2 == 0, aesop_gcm_decrypt);
                }
                secret_cbc(sets[s], key_sizes[z], lens[l] / 16 * 16);
            }
        }
    }
    CHECK(VALGRIND_COUNT_ERRORS == errors, "memcheck reports secrets that decide (above)");
#else
    support_skip("constant time of the kernels", "built without valgrind's headers");
#endif
}

int main(int argc, char **argv)
{
    static CU_TestInfo standards[] = { { "FIPS 197", test_fips197 },
                                       { "SP 800-38A", test_sp800_38a },
                                       { "specification of GCM", test_gcm_specification },
                                       CU_TEST_INFO_NULL };
    static CU_TestInfo agreement[] = { { "across instruction sets and with default", test_across },
                                       { "runs and updates", test_runs },
                                       { "powers of H", test_powers },
                                       { "carries in the counter", test_counter_carries },
                                       { "the counter wraps", test_counter_wraps },
                                       { "limits of a message", test_limits },
                                       { "past the caches", test_past_caches },
                                       CU_TEST_INFO_NULL };
    static CU_TestInfo memory[] = { { "GCM text of 0 to 4096 bytes", test_guarded_gcm },
                                    { "associated data of 0 to 4096 bytes", test_guarded_aad },
                                    { "keys and IVs", test_guarded_key_and_iv },
                                    { "CBC of 0 to 4096 bytes", test_guarded_cbc },
                                    { "alignments", test_alignments },
                                    { "overlaps", test_overlaps },
                                    CU_TEST_INFO_NULL };
    static CU_TestInfo choice[] = { { "by features and name", test_choice_by_features },
                                    { "on this CPU", test_choice_here },
                                    { "broken sets", test_broken_sets },
                                    { "the set for short runs", test_narrow },
                                    CU_TEST_INFO_NULL };
    static CU_TestInfo leftovers[] = { { "the stack", test_stack },
                                       { "upper halves of registers", test_upper_halves },
                                       { "constant time", test_constant_time },
                                       { "a provider without OpenSSL", test_provider_alone },
                                       CU_TEST_INFO_NULL };
    CU_SuiteInfo suites[] = { { "standards", suite_open, suite_close, NULL, NULL, standards },
                              { "agreement", suite_open, suite_close, NULL, NULL, agreement },
                              { "memory", regions_open, regions_close, NULL, NULL, memory },
                              { "choice", suite_open, suite_close, NULL, NULL, choice },
                              { "leftovers", suite_open, suite_close, NULL, NULL, leftovers },
                              CU_SUITE_INFO_NULL };

    return support_main(argc, argv, suites);
}
