/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS records of AES-CBC ("tls-version" set), compared with the default provider: what is padded, what is stripped,
 * what becomes of every kind of bad padding. That the time does not tell is checked under valgrind, see
 * test_constant_time.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/prov_ssl.h>
#include <openssl/proverr.h>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define HAVE_MEMCHECK 1
#else
#define HAVE_MEMCHECK 0
#endif

#include "check.h"
#include "provider/tls_cbc.h"
#include "support.h"

enum { BLOCK = 16, MAC_MAX = AESOP_TLS_MAX_MAC_BYTES, RECORD_MAX = BLOCK + 16384 + MAC_MAX + 256 + BLOCK };

static const struct version {
    const char *name;
    int number; /* as libssl passes it */
    size_t explicit_iv;
    int free_padding;
} versions[] = {
    { "SSL 3.0", SSL3_VERSION, 0, 1 },       { "TLS 1.0", TLS1_VERSION, 0, 0 },
    { "TLS 1.1", TLS1_1_VERSION, BLOCK, 0 }, { "TLS 1.2", TLS1_2_VERSION, BLOCK, 0 },
    { "DTLS 1.0", DTLS1_VERSION, BLOCK, 0 }, { "DTLS 1.2", DTLS1_2_VERSION, BLOCK, 0 },
    { "old DTLS", DTLS1_BAD_VER, BLOCK, 0 },
};
enum { VERSIONS = sizeof versions / sizeof *versions };

static const size_t mac_lens[] = { 0, 20, 32, 48, 16, 64 };
enum { MAC_LENS = sizeof mac_lens / sizeof *mac_lens };

/* A context, and what its last record came to. */
struct side {
    OSSL_LIB_CTX *libctx;
    EVP_CIPHER *cipher;
    EVP_CIPHER_CTX *ctx;
    int ret, reason, len;
    unsigned char record[RECORD_MAX], mac[MAC_MAX];
};

static struct side ours, theirs;
static unsigned char key[32], iv[BLOCK], text[RECORD_MAX];

static int side_open(struct side *side, OSSL_LIB_CTX *libctx, const char *properties)
{
    side->libctx = libctx;
    side->cipher = libctx != NULL ? EVP_CIPHER_fetch(libctx, "AES-256-CBC", properties) : NULL;
    side->ctx = EVP_CIPHER_CTX_new();
    return side->cipher != NULL;
}

static void side_close(struct side *side)
{
    EVP_CIPHER_CTX_free(side->ctx);
    EVP_CIPHER_free(side->cipher);
    support_ctx_free(side->libctx);
}

static int suite_open(void)
{
    struct support_random random;

    support_random_seed(&random, support_seed());
    support_random_bytes(&random, key, sizeof key);
    support_random_bytes(&random, iv, sizeof iv);
    support_random_bytes(&random, text, sizeof text);
    return !side_open(&ours, support_ctx_chosen(), "provider=aesop") ||
           !side_open(&theirs, support_ctx_default(), "provider=default");
}

static int suite_close(void)
{
    side_close(&ours);
    side_close(&theirs);
    return 0;
}

/* ---- records ---- */

/* The key, the IV and the TLS parameters, in the types that libssl uses. */
static int side_init(struct side *side, int encrypt, int version, size_t mac_len)
{
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_int(OSSL_CIPHER_PARAM_TLS_VERSION, &version),
        OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_TLS_MAC_SIZE, &mac_len),
        OSSL_PARAM_END,
    };

    return EVP_CipherInit_ex2(side->ctx, side->cipher, key, iv, encrypt, NULL) &&
           EVP_CIPHER_CTX_set_params(side->ctx, params);
}

static void *get_mac(EVP_CIPHER_CTX *ctx, size_t *mac_len)
{
    void *mac = NULL;
    OSSL_PARAM params[] = { OSSL_PARAM_construct_octet_ptr(OSSL_CIPHER_PARAM_TLS_MAC, &mac, MAC_MAX), OSSL_PARAM_END };

    CU_ASSERT_EQUAL(EVP_CIPHER_CTX_get_params(ctx, params), 1);
    *mac_len = params[0].return_size;
    return mac;
}

/* One record through one side. */
static void side_record(struct side *side, const unsigned char *record, size_t len, size_t mac_len)
{
    size_t got = 0;
    const void *mac;

    ERR_clear_error();
    memset(side->mac, 0, sizeof side->mac);
    memcpy(side->record, record, len);
    side->ret = EVP_CipherUpdate(side->ctx, side->record, &side->len, side->record, (int)len);
    side->reason = ERR_GET_REASON(ERR_peek_last_error());
    if (!side->ret || EVP_CIPHER_CTX_is_encrypting(side->ctx) || mac_len == 0)
        return;
    mac = get_mac(side->ctx, &got);
    if (CHECK(mac != NULL && got == mac_len, "a MAC of %zu bytes, %zu expected", got, mac_len))
        memcpy(side->mac, mac, mac_len);
}

/* Raw CBC: what a peer that may cheat puts on the wire. */
static void seal_raw(unsigned char *out, const unsigned char *in, size_t len)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int n;

    CU_ASSERT_EQUAL_FATAL(EVP_CipherInit_ex2(ctx, theirs.cipher, key, iv, 1, NULL), 1);
    EVP_CIPHER_CTX_set_padding(ctx, 0);
    CU_ASSERT_EQUAL_FATAL(EVP_CipherUpdate(ctx, out, &n, in, (int)len), 1);
    EVP_CIPHER_CTX_free(ctx);
}

/* The rules of tls_cbc.c once more, written to be read: the padding is right, and leaves room for the MAC. */
static int padding_is_right(const struct version *version, size_t mac_len, const unsigned char *plain, size_t len)
{
    size_t pad_len = plain[len - 1];

    len -= version->explicit_iv;
    plain += version->explicit_iv;
    if (mac_len + pad_len + 1 > len)
        return 0;
    if (version->free_padding)
        return pad_len < BLOCK;
    for (size_t i = 0; i < pad_len; i++)
        if (plain[len - 2 - i] != pad_len)
            return 0;
    return 1;
}

/* Opens a record of that plaintext on both sides and compares what becomes of it. Returns whether its padding is right.
 */
static int check_open(const struct version *version, size_t mac_len, const unsigned char *plain, size_t len)
{
    static unsigned char sealed[RECORD_MAX];
    int right = len >= version->explicit_iv + mac_len + 1 && padding_is_right(version, mac_len, plain, len), same;
    unsigned char first_mac[MAC_MAX];

    seal_raw(sealed, plain, len);
    CU_ASSERT(side_init(&ours, 0, version->number, mac_len) && side_init(&theirs, 0, version->number, mac_len));
    side_record(&ours, sealed, len, mac_len);
    side_record(&theirs, sealed, len, mac_len);
    same = ours.ret == theirs.ret && ours.reason == theirs.reason &&
           (!ours.ret || (ours.len == theirs.len && memcmp(ours.record, plain, len) == 0));
    if (right)
        same = same && ours.ret && memcmp(ours.mac, plain + version->explicit_iv + ours.len, mac_len) == 0 &&
               memcmp(ours.mac, theirs.mac, mac_len) == 0;
    CHECK(same, "seed %llu: %s, MAC of %zu, %zu bytes, pad_len %d: returned %d/%d, %d/%d bytes",
          (unsigned long long)support_seed(), version->name, mac_len, len, len > 0 ? plain[len - 1] : -1, ours.ret,
          theirs.ret, ours.len, theirs.len);
    if (right || !ours.ret)
        return right;

    /* A random MAC: another one every time. */
    memcpy(first_mac, ours.mac, mac_len);
    CU_ASSERT(EVP_CipherInit_ex2(ours.ctx, NULL, NULL, NULL, 0, NULL));
    side_record(&ours, sealed, len, mac_len);
    CHECK(ours.ret && memcmp(ours.mac, first_mac, mac_len) != 0 && memcmp(ours.mac, theirs.mac, mac_len) != 0,
          "%s: the MAC for bad padding is not random", version->name);
    return 0;
}

/* explicit IV, text, MAC, then pad_len + 1 bytes of padding; payload_len is rounded up to what makes whole blocks. */
static size_t make_record(unsigned char *plain, const struct version *version, size_t mac_len, size_t payload_len,
                          unsigned pad_len)
{
    size_t len = version->explicit_iv + payload_len + mac_len + pad_len + 1;

    len += (BLOCK - len % BLOCK) % BLOCK;
    memcpy(plain, text, len);
    memset(plain + len - pad_len - 1, (int)pad_len, pad_len + 1);
    return len;
}

/* ---- tests ---- */

/* Two records after each other: TLS 1.0 chains the second to the first. */
static void test_seal(void)
{
    for (size_t v = 0; v < VERSIONS; v++) {
        CU_ASSERT(side_init(&ours, 1, versions[v].number, 20) && side_init(&theirs, 1, versions[v].number, 20));
        for (size_t len = 0; len <= 16384; len = len < 330 ? len + 1 : len + 16384 - 330) {
            side_record(&ours, text, len, 20);
            side_record(&theirs, text, len, 20);
            CHECK(ours.ret == theirs.ret && ours.len == theirs.len && (size_t)ours.len == len / BLOCK * BLOCK + BLOCK &&
                      memcmp(ours.record, theirs.record, (size_t)ours.len) == 0,
                  "%s, %zu bytes: returned %d/%d, %d/%d bytes", versions[v].name, len, ours.ret, theirs.ret, ours.len,
                  theirs.len);
        }
    }
}

/* Every padding length, for records that are nothing else, short ones, and the longest. */
static void test_open(void)
{
    static const size_t payload_lens[] = { 0, 1, 16, 100, 300 };
    unsigned char plain[RECORD_MAX];

    for (size_t v = 0; v < VERSIONS; v++)
        for (size_t m = 0; m < MAC_LENS; m++)
            for (unsigned pad_len = 0; pad_len < 256; pad_len++) {
                size_t payload_len = payload_lens[pad_len % (sizeof payload_lens / sizeof *payload_lens)];
                size_t len = make_record(plain, &versions[v], mac_lens[m], payload_len, pad_len);

                CU_ASSERT_EQUAL(check_open(&versions[v], mac_lens[m], plain, len),
                                !versions[v].free_padding || pad_len < BLOCK);
                if (pad_len % 64 == 63) {
                    len = make_record(plain, &versions[v], mac_lens[m], 16384, pad_len);
                    check_open(&versions[v], mac_lens[m], plain, len);
                }
            }
}

/* Every payload length 0 to 300 with the padding that fits it. */
static void test_lengths(void)
{
    unsigned char plain[RECORD_MAX];

    for (size_t v = 0; v < VERSIONS; v++)
        for (size_t m = 0; m < MAC_LENS; m++)
            for (size_t payload_len = 0; payload_len <= 300; payload_len++) {
                unsigned pad_len = BLOCK - 1 - (unsigned)(payload_len + mac_lens[m]) % BLOCK;
                size_t len = make_record(plain, &versions[v], mac_lens[m], payload_len, pad_len);

                CU_ASSERT_EQUAL(check_open(&versions[v], mac_lens[m], plain, len), 1);
                CU_ASSERT_EQUAL((size_t)ours.len, payload_len);
            }
}

/* Every byte of every padding wrong; all versions and MACs take turns, in the long form each does it all. */
static void test_corrupted(void)
{
    unsigned turn = 0, refused = 0;
    unsigned char plain[RECORD_MAX];

    for (unsigned pad_len = 0; pad_len < 256; pad_len++)
        for (unsigned byte = 0; byte <= pad_len; byte++)
            for (unsigned i = 0; i < (support_long() ? VERSIONS * MAC_LENS : 1); i++, turn++) {
                const struct version *version = &versions[turn % VERSIONS];
                size_t mac_len = mac_lens[turn / VERSIONS % MAC_LENS];
                size_t len = make_record(plain, version, mac_len, turn % 50, pad_len);

                plain[len - 1 - byte] ^= 1 << turn % 8;
                refused += !check_open(version, mac_len, plain, len);
            }
    CU_ASSERT(refused > turn / 2);
}

/* Records of any content and of every number of blocks, those too short for MAC and padding included. */
static void test_garbage(void)
{
    unsigned char plain[RECORD_MAX];
    struct support_random random;

    support_random_seed(&random, support_seed());
    for (size_t v = 0; v < VERSIONS; v++)
        for (size_t m = 0; m < MAC_LENS; m++)
            for (size_t len = 0; len <= 24 * BLOCK; len += BLOCK) {
                /* default reads in front of the record */
                if (len == 0 && versions[v].explicit_iv > 0) {
                    CU_ASSERT(side_init(&ours, 0, versions[v].number, mac_lens[m]));
                    side_record(&ours, plain, len, mac_lens[m]);
                    CU_ASSERT_EQUAL(ours.ret, 0);
                    continue;
                }
                support_random_bytes(&random, plain, len);
                check_open(&versions[v], mac_lens[m], plain, len);
                /* the longest padding that the record has room for, without its MAC and with it, and one byte more */
                for (unsigned n = 0; n < 4 && len > MAC_MAX + BLOCK; n++) {
                    size_t pad = len - versions[v].explicit_iv - (n & 1 ? mac_lens[m] : 0) + (n >> 1);

                    if (pad > 256 || pad > len)
                        continue;
                    memset(plain + len - pad, (int)(pad - 1), pad);
                    check_open(&versions[v], mac_lens[m], plain, len);
                }
            }
}

/* The parameters as integers of every type; a record decrypts all the same. */
static void test_types(void)
{
    static const struct {
        unsigned type;
        size_t size;
    } types[] = {
        { OSSL_PARAM_INTEGER, sizeof(int32_t) },
        { OSSL_PARAM_UNSIGNED_INTEGER, sizeof(uint32_t) },
        { OSSL_PARAM_INTEGER, sizeof(int64_t) },
        { OSSL_PARAM_UNSIGNED_INTEGER, sizeof(uint64_t) },
    };
    unsigned char plain[RECORD_MAX], sealed[RECORD_MAX];
    size_t len = make_record(plain, &versions[3], 32, 40, 7);

    seal_raw(sealed, plain, len);
    for (size_t v = 0; v < sizeof types / sizeof *types; v++)
        for (size_t m = 0; m < sizeof types / sizeof *types; m++) {
            union {
                uint32_t narrow;
                uint64_t wide;
            } version, mac_len;
            OSSL_PARAM params[] = {
                { OSSL_CIPHER_PARAM_TLS_VERSION, types[v].type, &version, types[v].size, 0 },
                { OSSL_CIPHER_PARAM_TLS_MAC_SIZE, types[m].type, &mac_len, types[m].size, 0 },
                OSSL_PARAM_END,
            };

            if (types[v].size == sizeof version.narrow)
                version.narrow = TLS1_2_VERSION;
            else
                version.wide = TLS1_2_VERSION;
            if (types[m].size == sizeof mac_len.narrow)
                mac_len.narrow = 32;
            else
                mac_len.wide = 32;
            /* with the init itself */
            CU_ASSERT_EQUAL(EVP_CipherInit_ex2(ours.ctx, ours.cipher, key, iv, 0, params), 1);
            side_record(&ours, sealed, len, 32);
            CHECK(ours.ret && (size_t)ours.len == len - BLOCK - 32 - 8 &&
                      memcmp(ours.mac, plain + BLOCK + ours.len, 32) == 0,
                  "version of type %zu, MAC size of type %zu", v, m);
        }
}

/* What record mode refuses, as default does. */
static void test_refusals(void)
{
    static unsigned char other[RECORD_MAX];
    static const struct {
        const char *what;
        int version;
        size_t mac_len;
        int encrypt, padding, len, elsewhere;
        int ret;
    } cases[] = {
        { "a record", TLS1_2_VERSION, 20, 1, 1, 64, 0, 1 },
        { "an empty record", TLS1_VERSION, 20, 1, 1, 0, 0, 1 },
        { "not in place", TLS1_2_VERSION, 20, 1, 1, 64, 1, 0 },
        { "not in place, decrypting", TLS1_2_VERSION, 20, 0, 1, 64, 1, 0 },
        { "padding off", TLS1_2_VERSION, 20, 1, 0, 64, 0, 0 },
        { "padding off, decrypting", TLS1_2_VERSION, 20, 0, 0, 64, 0, 0 },
        { "a partial block, decrypting", TLS1_2_VERSION, 20, 0, 1, 65, 0, 0 },
        { "no version of TLS, encrypting", 0x304, 20, 1, 1, 64, 0, 1 },
        { "no version of TLS, decrypting", 0x304, 20, 0, 1, 64, 0, 0 },
        { "a MAC that no hash has", TLS1_2_VERSION, 65, 0, 1, 256, 0, 0 },
        { "a MAC without end", TLS1_2_VERSION, SIZE_MAX, 0, 1, 256, 0, 0 },
        { "a MAC without end of TLS 1.0", TLS1_VERSION, SIZE_MAX - 1, 0, 1, 256, 0, 0 },
        { "nothing but an explicit IV", TLS1_2_VERSION, 0, 0, 1, BLOCK, 0, 0 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int s = 0; s < 2; s++) {
            struct side *side = s == 0 ? &ours : &theirs;
            int n = -1, ret;

            /* default computes with SIZE_MAX + 1 */
            if (s == 1 && cases[i].mac_len > RECORD_MAX)
                continue;
            CU_ASSERT(side_init(side, cases[i].encrypt, cases[i].version, cases[i].mac_len));
            EVP_CIPHER_CTX_set_padding(side->ctx, cases[i].padding);
            memcpy(side->record, text, 256);
            ERR_clear_error();
            ret =
                EVP_CipherUpdate(side->ctx, cases[i].elsewhere ? other : side->record, &n, side->record, cases[i].len);
            CHECK(ret == cases[i].ret &&
                      (ret || ERR_GET_REASON(ERR_peek_last_error()) == PROV_R_CIPHER_OPERATION_FAILED),
                  "%s: %s: %d", s == 0 ? "aesop" : "default", cases[i].what, ret);
            EVP_CIPHER_CTX_set_padding(side->ctx, 1);
            ERR_clear_error();
            ret = EVP_CipherFinal_ex(side->ctx, side->record, &n);
            CHECK(!ret && ERR_GET_REASON(ERR_peek_last_error()) == PROV_R_CIPHER_OPERATION_FAILED, "final after %s: %d",
                  cases[i].what, ret);
        }
}

/* "tls-mac" is NULL before the first record; the copy of a context has its own, and other random ones. */
static void test_mac(void)
{
    unsigned char plain[RECORD_MAX], sealed[RECORD_MAX], macs[3][20];
    const struct version *version = &versions[3];
    size_t len = make_record(plain, version, 20, 40, 7), mac_len;
    EVP_CIPHER_CTX *copies[2] = { EVP_CIPHER_CTX_new() };
    const unsigned char *mac, *copied;
    unsigned char as_string[20];
    OSSL_PARAM params[] = { OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_TLS_MAC, as_string, sizeof as_string),
                            OSSL_PARAM_END };

    seal_raw(sealed, plain, len);
    CU_ASSERT(side_init(&ours, 0, version->number, 20));
    CU_ASSERT_PTR_NULL(get_mac(ours.ctx, &mac_len));
    CU_ASSERT_EQUAL(EVP_CIPHER_CTX_get_params(ours.ctx, params), 0);
    ERR_clear_error();

    side_record(&ours, sealed, len, 20);
    mac = get_mac(ours.ctx, &mac_len);
    CU_ASSERT_EQUAL(EVP_CIPHER_CTX_copy(copies[0], ours.ctx), 1);
    copied = get_mac(copies[0], &mac_len);
    CU_ASSERT(copied != mac && mac_len == 20);
    EVP_CIPHER_CTX_reset(ours.ctx);
    CU_ASSERT_EQUAL(memcmp(copied, plain + BLOCK + ours.len, 20), 0);

    /* Neither a refused record nor another size leaves the MAC of the record before. */
    for (int i = 0; i < 2; i++) {
        unsigned char record[BLOCK] = { 0 };
        size_t size = 32;
        OSSL_PARAM other[] = { OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_TLS_MAC_SIZE, &size), OSSL_PARAM_END };
        int n;

        CU_ASSERT(side_init(&ours, 0, version->number, 20));
        side_record(&ours, sealed, len, 20);
        CU_ASSERT_PTR_NOT_NULL(get_mac(ours.ctx, &mac_len));
        CU_ASSERT(i == 0 ? !EVP_CipherUpdate(ours.ctx, record, &n, record, sizeof record)
                         : EVP_CIPHER_CTX_set_params(ours.ctx, other));
        CU_ASSERT_PTR_NULL(get_mac(ours.ctx, &mac_len));
        ERR_clear_error();
    }

    plain[len - 2] ^= 1;
    seal_raw(sealed, plain, len);
    CU_ASSERT(side_init(&ours, 0, version->number, 20));
    side_record(&ours, sealed, len, 20); /* draws the key of the random MACs, which no copy has */
    EVP_CIPHER_CTX_free(copies[0]);
    for (int i = 0; i < 2; i++) {
        copies[i] = EVP_CIPHER_CTX_new();
        CU_ASSERT_EQUAL(EVP_CIPHER_CTX_copy(copies[i], ours.ctx), 1);
    }
    for (int i = 0; i < 3; i++) {
        EVP_CIPHER_CTX *ctx = i < 2 ? copies[i] : ours.ctx;
        unsigned char record[RECORD_MAX];
        int n;

        memcpy(record, sealed, len);
        CU_ASSERT_EQUAL(EVP_CipherInit_ex2(ctx, NULL, NULL, NULL, 0, NULL), 1);
        CU_ASSERT_EQUAL(EVP_CipherUpdate(ctx, record, &n, record, (int)len), 1);
        memcpy(macs[i], get_mac(ctx, &mac_len), 20);
        for (int j = 0; j < i; j++)
            CU_ASSERT_NOT_EQUAL(memcmp(macs[i], macs[j], 20), 0);
    }
    EVP_CIPHER_CTX_free(copies[0]);
    EVP_CIPHER_CTX_free(copies[1]);
}

static int compare_blocks(const void *a, const void *b)
{
    return memcmp(a, b, BLOCK);
}

/* Many bad records: no random MAC, nor any 16 bytes of one, comes twice. */
static void test_random_macs(void)
{
    enum { RECORDS = 300 };
    static unsigned char seen[RECORDS * MAC_MAX / BLOCK][BLOCK];
    unsigned char plain[RECORD_MAX], sealed[RECORD_MAX];
    size_t len = make_record(plain, &versions[1], MAC_MAX, 40, 7), count = 0;

    plain[len - 2] ^= 1;
    seal_raw(sealed, plain, len);
    CU_ASSERT(side_init(&ours, 0, versions[1].number, MAC_MAX));
    for (int i = 0; i < RECORDS; i++) {
        CU_ASSERT(EVP_CipherInit_ex2(ours.ctx, NULL, NULL, NULL, 0, NULL));
        side_record(&ours, sealed, len, MAC_MAX);
        for (size_t part = 0; part < MAC_MAX; part += BLOCK)
            memcpy(seen[count++], ours.mac + part, BLOCK);
    }
    qsort(seen, count, sizeof *seen, compare_blocks);
    for (size_t i = 1; i < count; i++)
        CU_ASSERT_NOT_EQUAL(memcmp(seen[i - 1], seen[i], BLOCK), 0);
}

/* ---- constant time ---- */

/* Kernels with no AES in them: what unpad costs does not depend on the MAC it does not return. */
#if HAVE_MEMCHECK
static void copy_block(const struct aesop_aes_key *aes, uint8_t out[BLOCK], const uint8_t in[BLOCK])
{
    (void)aes;
    memcpy(out, in, BLOCK);
}
#endif

/*
 * Under valgrind the plaintext of a record is declared undefined: memcheck then reports every branch and every address
 * that depends on it, which is what an attacker could time.
 */
static void test_constant_time(void)
{
#if HAVE_MEMCHECK
    static const struct aesop_kernels kernels = { .name = "none", .aes_enc_block = copy_block };
    unsigned char plain[RECORD_MAX];
    unsigned errors = VALGRIND_COUNT_ERRORS;

    if (!RUNNING_ON_VALGRIND) {
        support_skip("constant time of unpadding", "this is not valgrind");
        return;
    }
    for (size_t v = 0; v < VERSIONS; v++)
        for (size_t m = 0; m < MAC_LENS; m++)
            for (unsigned pad_len = 0; pad_len < 256; pad_len += 15)
                for (int wrong = 0; wrong < 2; wrong++) {
                    size_t len = make_record(plain, &versions[v], mac_lens[m], 300, pad_len), payload_len;
                    struct aesop_tls_random_mac random = { 0 };
                    uint8_t mac[MAC_MAX] = { 0 }, taint[MAC_MAX] = { 0 };
                    int ret;

                    plain[len - 1] ^= wrong;
                    (void)VALGRIND_MAKE_MEM_UNDEFINED(plain, len);
                    ret = aesop_tls_cbc_unpad(&random, &kernels, mac, mac_lens[m], &payload_len, plain, len,
                                              (unsigned)versions[v].number);
                    /* the secret did get as far as the result, or nothing was tested */
                    (void)VALGRIND_GET_VBITS(mac, taint, sizeof mac);
                    CU_ASSERT(mac_lens[m] == 0 || taint[mac_lens[m] - 1] == 0xff);
                    (void)VALGRIND_MAKE_MEM_DEFINED(&ret, sizeof ret);
                    (void)VALGRIND_MAKE_MEM_DEFINED(plain, len);
                    CU_ASSERT(mac_lens[m] == 0 || ret == 1);
                }
    CHECK(VALGRIND_COUNT_ERRORS == errors, "memcheck reports secrets that decide (above)");
#else
    support_skip("constant time of unpadding", "built without valgrind's headers");
#endif
}

int main(int argc, char **argv)
{
    static CU_TestInfo tests[] = {
        { "padding", test_seal },
        { "every padding length", test_open },
        { "every payload length", test_lengths },
        { "every padding byte wrong", test_corrupted },
        { "garbage and short records", test_garbage },
        { "types of the parameters", test_types },
        { "refusals", test_refusals },
        { "tls-mac and copies", test_mac },
        { "random MACs", test_random_macs },
        { "constant time", test_constant_time },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "tls_cbc", suite_open, suite_close, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    mallopt(M_PERTURB, 0x5a); /* what a copy does not set is the same in all copies */
    return support_main(argc, argv, suites);
}
