/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of provider/params.h. */
#include <stdio.h>
#include <string.h>

#include <openssl/params.h>

#include "check.h"
#include "provider/params.h"
#include "support.h"

static const struct {
    const char *key;
    enum aesop_param param;
} keys[] = {
    { "aead", AESOP_PARAM_AEAD },
    { "blocksize", AESOP_PARAM_BLOCKSIZE },
    { "cts", AESOP_PARAM_CTS },
    { "custom-iv", AESOP_PARAM_CUSTOM_IV },
    { "encrypt-then-mac", AESOP_PARAM_ENC_THEN_MAC },
    { "has-randkey", AESOP_PARAM_HAS_RAND_KEY },
    { "iv", AESOP_PARAM_IV },
    { "iv-generated", AESOP_PARAM_IV_GENERATED },
    { "ivlen", AESOP_PARAM_IVLEN },
    { "keylen", AESOP_PARAM_KEYLEN },
    { "mode", AESOP_PARAM_MODE },
    { "num", AESOP_PARAM_NUM },
    { "padding", AESOP_PARAM_PADDING },
    { "tag", AESOP_PARAM_TAG },
    { "taglen", AESOP_PARAM_TAGLEN },
    { "tls-multi", AESOP_PARAM_TLS1_MULTIBLOCK },
    { "tlsaad", AESOP_PARAM_TLS_AAD },
    { "tlsaadpad", AESOP_PARAM_TLS_AAD_PAD },
    { "tlsivfixed", AESOP_PARAM_TLS_IV_FIXED },
    { "tlsivgen", AESOP_PARAM_TLS_IV_GEN },
    { "tlsivinv", AESOP_PARAM_TLS_IV_INV },
    { "tls-mac", AESOP_PARAM_TLS_MAC },
    { "tls-mac-size", AESOP_PARAM_TLS_MAC_SIZE },
    { "tls-version", AESOP_PARAM_TLS_VERSION },
    { "updated-iv", AESOP_PARAM_UPDATED_IV },
};
enum { KEYS = sizeof keys / sizeof *keys };

static enum aesop_param right_answer(const char *key)
{
    for (size_t i = 0; i < KEYS; i++)
        if (strcmp(keys[i].key, key) == 0)
            return keys[i].param;
    return AESOP_PARAM_UNKNOWN;
}

/* Asks for a key that ends right before unreadable memory. */
static void ask(const char *key)
{
    struct support_guarded g = support_guarded_alloc(strlen(key) + 1, 1);

    if (g.data == NULL)
        return;
    strcpy((char *)g.data, key);
    CHECK(aesop_param_find((char *)g.data) == right_answer(key), "\"%s\" is taken for %d", key,
          aesop_param_find((char *)g.data));
    support_guarded_free(&g);
}

static void test_find(void)
{
    for (size_t i = 0; i < KEYS; i++) {
        CU_ASSERT_EQUAL(aesop_param_find(keys[i].key), keys[i].param);
        ask(keys[i].key);
    }
}

/* Every beginning of a key, every key with more behind, and every key with one character another. */
static void test_near_misses(void)
{
    static const char others[] = "aeimnstz-AIT0 \x80";
    char key[32];

    for (size_t i = 0; i < KEYS; i++) {
        size_t len = strlen(keys[i].key);

        for (size_t cut = 0; cut < len; cut++) {
            snprintf(key, sizeof key, "%.*s", (int)cut, keys[i].key);
            ask(key);
        }
        for (const char *other = others; *other != '\0'; other++) {
            snprintf(key, sizeof key, "%s%c", keys[i].key, *other);
            ask(key);
            for (size_t at = 0; at < len; at++) {
                snprintf(key, sizeof key, "%s", keys[i].key);
                key[at] = *other;
                ask(key);
            }
        }
    }
}

/* Keys of OpenSSL that are not a cipher's, or not ours. */
static void test_strangers(void)
{
    static const char *const strangers[] = { "",
                                             "cipher",
                                             "digest",
                                             "mackey",
                                             "randkey",
                                             "speed",
                                             "keybits",
                                             "rounds",
                                             "algorithm-id",
                                             "tls-negotiated-version",
                                             "tls1multi_maxsndfrag",
                                             "pipeline-tag",
                                             "a-very-long-name-that-no-one-has-ever-given-to-a-parameter" };

    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        CHECK(aesop_param_find(strangers[i]) == AESOP_PARAM_UNKNOWN, "%s", strangers[i]);
}

/* The list that is meant, and every list that differs from it in one thing. */
static void test_alone(void)
{
    static const char *const others[] = { "", "i", "ivle", "ivlem", "ivlen2", "Ivlen", "tvlen", "keylen" };
    size_t value = 0;
    OSSL_PARAM list[3] = { OSSL_PARAM_size_t("ivlen", &value), OSSL_PARAM_END, OSSL_PARAM_END };
#define ALONE(params) aesop_param_alone(params, "ivlen", OSSL_PARAM_UNSIGNED_INTEGER, sizeof value)

    CU_ASSERT_TRUE(ALONE(list));
    CU_ASSERT_FALSE(aesop_param_alone(list, "ivle", OSSL_PARAM_UNSIGNED_INTEGER, sizeof value));
    CU_ASSERT_FALSE(ALONE(NULL));
    CU_ASSERT_FALSE(ALONE(list + 1));

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct support_guarded g = support_guarded_alloc(strlen(others[i]) + 1, 1);

        if (g.data == NULL)
            return;
        list[0].key = strcpy((char *)g.data, others[i]);
        CHECK(!ALONE(list), "\"%s\"", others[i]);
        support_guarded_free(&g);
    }
    list[0].key = "ivlen";
    list[0].data_type = OSSL_PARAM_INTEGER;
    CU_ASSERT_FALSE(ALONE(list));
    list[0].data_type = OSSL_PARAM_UNSIGNED_INTEGER;
    list[0].data_size = sizeof value - 1;
    CU_ASSERT_FALSE(ALONE(list));
    list[0].data_size = sizeof value;
    list[0].data = NULL;
    CU_ASSERT_FALSE(ALONE(list));
    list[0].data = &value;
    list[1].key = "keylen";
    CU_ASSERT_FALSE(ALONE(list));
    list[1].key = NULL;
    CU_ASSERT_TRUE(ALONE(list));
#undef ALONE
}

/* ---- integers ---- */

enum { DATA_MAX = 16, MARGIN = 8, FILLER = 0xa5 };

/* Data of a parameter at any alignment, with bytes around it that must stay. */
struct frame {
    unsigned char bytes[MARGIN + DATA_MAX + MARGIN];
    OSSL_PARAM param;
};

static void frame_open(struct frame *f, unsigned type, const void *value, size_t size, size_t misaligned)
{
    memset(f->bytes, FILLER, sizeof f->bytes);
    f->param = (OSSL_PARAM){ "number", type, f->bytes + MARGIN / 2 + misaligned, size, OSSL_PARAM_UNMODIFIED };
    if (value != NULL)
        memcpy(f->param.data, value, size);
}

static int frame_untouched_but(const struct frame *f, size_t written)
{
    const unsigned char *data = f->param.data;

    for (size_t i = 0; i < sizeof f->bytes; i++)
        if ((f->bytes + i < data || f->bytes + i >= data + written) && f->bytes[i] != FILLER)
            return 0;
    return 1;
}

/* A signed integer of no bytes at all: libcrypto looks for its sign in front of it. */
static int undefined_in_libcrypto(unsigned type, size_t size)
{
    return type == OSSL_PARAM_INTEGER && size == 0;
}

/* Data of every type and width, read by libcrypto and by us. */
static void test_get(void)
{
    static const double reals[] = { 0.0,
                                    -0.0,
                                    1.0,
                                    16.0,
                                    0.5,
                                    -1.0,
                                    4294967296.5,
                                    0x1p53,
                                    0x1p63,
                                    0x1.8p63,
                                    0x1p64,
                                    1e300,
                                    -1e300,
                                    __builtin_inf(),
                                    __builtin_nan("") };
    enum { PATTERNS = 5 * DATA_MAX + 2, REALS = sizeof reals / sizeof *reals };

    for (int pattern = 0; pattern < PATTERNS + REALS; pattern++) {
        static const unsigned char tops[] = { 0x01, 0x7f, 0x80, 0xff };
        unsigned char bytes[DATA_MAX] = { 0 };

        if (pattern >= PATTERNS)
            memcpy(bytes, &reals[pattern - PATTERNS], sizeof *reals);
        else if (pattern < 4 * DATA_MAX) /* one byte that is not 0 */
            bytes[pattern % DATA_MAX] = tops[pattern / DATA_MAX];
        else /* so many of 0xff from the low end */
            memset(bytes, 0xff, (size_t)(pattern - 4 * DATA_MAX) % (DATA_MAX + 1));
        for (unsigned type = 0; type <= 8; type++) {
            for (size_t size = 0; size <= DATA_MAX; size++) {
                size_t misaligned = (size_t)pattern % 8, got = 77, want = 77;
                struct frame f;
                int fits;

                if (undefined_in_libcrypto(type, size))
                    continue;
                frame_open(&f, type, bytes, size, misaligned);
                fits = OSSL_PARAM_get_size_t(&f.param, &want);
                CHECK(aesop_param_get_size(&f.param, &got) == fits && got == (fits ? want : 77),
                      "pattern %d, type %u, size %zu: %zx, libcrypto %d %zx", pattern, type, size, got, fits, want);
            }
        }
    }
}

/* Numbers into data of every type and width, written by libcrypto and by us. */
static void test_set(void)
{
    static const uint64_t values[] = { 0,
                                       1,
                                       16,
                                       0x7f,
                                       0x80,
                                       0xff,
                                       0x100,
                                       0x7fffff,
                                       0x800000,
                                       0xffffff,
                                       0x7fffffff,
                                       0x80000000,
                                       0xffffffff,
                                       0x100000000,
                                       (UINT64_C(1) << 53) - 1,
                                       UINT64_C(1) << 53,
                                       INT64_MAX,
                                       1 + (uint64_t)INT64_MAX,
                                       UINT64_MAX };

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        for (unsigned type = 0; type <= 8; type++) {
            for (size_t size = 0; size <= DATA_MAX; size++) {
                for (int as_uint = 0; as_uint <= (values[i] <= UINT32_MAX); as_uint++) {
                    struct frame ours, theirs;
                    int ok, want;

                    if (undefined_in_libcrypto(type, size))
                        continue;
                    frame_open(&ours, type, NULL, size, i % 8);
                    frame_open(&theirs, type, NULL, size, i % 8);
                    ok = as_uint ? aesop_param_set_uint(&ours.param, (unsigned)values[i])
                                 : aesop_param_set_size(&ours.param, (size_t)values[i]);
                    want = as_uint ? OSSL_PARAM_set_uint(&theirs.param, (unsigned)values[i])
                                   : OSSL_PARAM_set_size_t(&theirs.param, (size_t)values[i]);
                    CHECK(ok == want, "%llx, type %u, size %zu: libcrypto %d", (unsigned long long)values[i], type,
                          size, want);
                    CU_ASSERT(frame_untouched_but(&ours, ok ? size : 0));
                    CU_ASSERT(memcmp(ours.bytes, theirs.bytes, sizeof ours.bytes) == 0);
                    CU_ASSERT(!ok || ours.param.return_size == theirs.param.return_size);
                }
            }
        }
    }
}

static void test_no_data(void)
{
    size_t got = 77;
    OSSL_PARAM p = { "number", OSSL_PARAM_UNSIGNED_INTEGER, NULL, 0, OSSL_PARAM_UNMODIFIED };

    /* As libcrypto's own helper answers. */
    CU_ASSERT(aesop_param_set_size(&p, 5));
    CU_ASSERT_EQUAL(p.return_size, sizeof(size_t));
    CU_ASSERT(aesop_param_set_uint(&p, 5));
    CU_ASSERT_EQUAL(p.return_size, sizeof(unsigned));
    p.data_type = OSSL_PARAM_REAL;
    CU_ASSERT(aesop_param_set_uint(&p, 5));
    CU_ASSERT_EQUAL(p.return_size, sizeof(double));
    p.data_type = OSSL_PARAM_UNSIGNED_INTEGER;
    p.data_size = 8;
    CU_ASSERT_FALSE(aesop_param_get_size(&p, &got));
    CU_ASSERT_EQUAL(got, 77);
    p.data_type = OSSL_PARAM_UTF8_STRING;
    CU_ASSERT_FALSE(aesop_param_set_size(&p, 5));
}

/* ---- octets and strings ---- */

static void test_octet_string(void)
{
    static const unsigned char octets[12] = "twelve bytes";

    for (size_t size = 0; size <= DATA_MAX; size++) {
        int fits = size >= sizeof octets;
        struct frame f;

        frame_open(&f, OSSL_PARAM_OCTET_STRING, NULL, size, 1);
        CHECK(aesop_param_set_octets(&f.param, octets, sizeof octets) == fits, "size %zu", size);
        CU_ASSERT(frame_untouched_but(&f, fits ? sizeof octets : 0));
        CU_ASSERT(!fits || memcmp(f.param.data, octets, sizeof octets) == 0);
        CU_ASSERT(!fits || f.param.return_size == sizeof octets);
    }
}

static void test_octet_pointer(void)
{
    static const unsigned char octets[12] = "twelve bytes";
    const void *where = NULL;
    OSSL_PARAM p = { "octets", OSSL_PARAM_OCTET_PTR, &where, 16, OSSL_PARAM_UNMODIFIED };

    CU_ASSERT(aesop_param_set_octets(&p, octets, sizeof octets));
    CU_ASSERT_PTR_EQUAL(where, octets);
    CU_ASSERT_EQUAL(p.return_size, sizeof octets);
}

static void test_octets_without_data(void)
{
    static const unsigned char octets[12] = "twelve bytes";
    static const unsigned types[] = { OSSL_PARAM_OCTET_STRING, OSSL_PARAM_OCTET_PTR };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        for (size_t size = 0; size <= 16; size += 16) {
            OSSL_PARAM p = { "octets", types[i], NULL, size, OSSL_PARAM_UNMODIFIED };

            CHECK(aesop_param_set_octets(&p, octets, sizeof octets), "type %u, data_size %zu", types[i], size);
            CU_ASSERT_EQUAL(p.return_size, sizeof octets);
        }
    }
}

static void test_octets_of_other_types(void)
{
    for (unsigned type = 0; type <= 8; type++) {
        struct frame f;

        if (type == OSSL_PARAM_OCTET_STRING || type == OSSL_PARAM_OCTET_PTR)
            continue;
        frame_open(&f, type, NULL, DATA_MAX, 0);
        CHECK(!aesop_param_set_octets(&f.param, "abcdefgh", 8), "type %u", type);
        CU_ASSERT(frame_untouched_but(&f, 0));
    }
}

static void test_utf8_pointer(void)
{
    static const char text[] = "1.2.3";
    const char *where = NULL;
    OSSL_PARAM p = { "version", OSSL_PARAM_UTF8_PTR, &where, 0, OSSL_PARAM_UNMODIFIED };

    CU_ASSERT(aesop_param_set_utf8_ptr(&p, text));
    CU_ASSERT_PTR_EQUAL(where, text);
    CU_ASSERT_EQUAL(p.return_size, strlen(text));
    p.data = NULL;
    p.return_size = OSSL_PARAM_UNMODIFIED;
    CU_ASSERT(aesop_param_set_utf8_ptr(&p, text));
    CU_ASSERT_EQUAL(p.return_size, strlen(text));

    for (unsigned type = 0; type <= 8; type++) {
        struct frame f;

        if (type == OSSL_PARAM_UTF8_PTR)
            continue;
        frame_open(&f, type, NULL, DATA_MAX, 0);
        CHECK(!aesop_param_set_utf8_ptr(&f.param, text), "type %u", type);
        CU_ASSERT(frame_untouched_but(&f, 0));
    }
}

int main(int argc, char **argv)
{
    static CU_TestInfo find[] = { { "every key", test_find },
                                  { "near misses", test_near_misses },
                                  { "strangers", test_strangers },
                                  { "alone", test_alone },
                                  CU_TEST_INFO_NULL };
    static CU_TestInfo integers[] = {
        { "get", test_get }, { "set", test_set }, { "no data", test_no_data }, CU_TEST_INFO_NULL
    };
    static CU_TestInfo octets[] = {
        { "octet string", test_octet_string },   { "octet pointer", test_octet_pointer },
        { "no data", test_octets_without_data }, { "other types", test_octets_of_other_types },
        { "utf8 pointer", test_utf8_pointer },   CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = { { "find", NULL, NULL, NULL, NULL, find },
                              { "integers", NULL, NULL, NULL, NULL, integers },
                              { "octets", NULL, NULL, NULL, NULL, octets },
                              CU_SUITE_INFO_NULL };

    return support_main(argc, argv, suites);
}
