/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resolver says what EVP_..._fetch says: by every name, under every query, whatever comes and goes, in little
 * memory.
 */
#include "check.h"
#include "scarce.h"
#include "support.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/kdf.h>
#include <openssl/provider.h>

#include "aesop/resolver.h"
#include "cache/resolver.h"

/* ---- helpers ---- */

/* default, and aesop by name in the module's folder but not loaded yet. */
static OSSL_LIB_CTX *ctx_with_search_path(void)
{
    OSSL_LIB_CTX *ctx = support_ctx_default();

    CU_ASSERT_TRUE_FATAL(ctx != NULL && OSSL_PROVIDER_set_default_search_path(ctx, support_module_dir()));
    return ctx;
}

static AESOP_RESOLVER *resolver_for(OSSL_LIB_CTX *ctx, size_t entries)
{
    AESOP_RESOLVER *r = AESOP_RESOLVER_new(ctx, entries, 0, 0);

    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    return r;
}

static AESOP_RESOLVER_STATS stats_of(AESOP_RESOLVER *r)
{
    AESOP_RESOLVER_STATS stats;

    AESOP_RESOLVER_get_stats(r, &stats);
    return stats;
}

/* The provider that serves a cipher, "" for none. */
static const char *served_by(AESOP_RESOLVER *r, const char *cipher, const char *properties)
{
    const EVP_CIPHER *c = AESOP_RESOLVER_get0_cipher(r, cipher, properties);

    return c == NULL ? "" : OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(c));
}

/* What the resolver says of a cipher is what a fetch says, and no error stays behind. Returns whether there is one. */
static int same_as_fetch(AESOP_RESOLVER *r, OSSL_LIB_CTX *ctx, const char *cipher, const char *properties)
{
    EVP_CIPHER *fetched = EVP_CIPHER_fetch(ctx, cipher, properties);
    const int found = fetched != NULL;

    ERR_clear_error();
    CHECK(AESOP_RESOLVER_get0_cipher(r, cipher, properties) == fetched, "%s, \"%s\": %s by a fetch", cipher,
          properties != NULL ? properties : "NULL", found ? "found" : "not found");
    CHECK(ERR_peek_error() == 0, "%s, \"%s\": an error is left", cipher, properties != NULL ? properties : "NULL");
    EVP_CIPHER_free(fetched);
    return found;
}

/* ---- every kind of method ---- */

#define KIND(name, TYPE, algorithm) \
    static void kind_##name(void) \
    { \
        OSSL_LIB_CTX *ctx = support_ctx_default(); \
        AESOP_RESOLVER *r = resolver_for(ctx, 0); \
        TYPE *fetched = TYPE##_fetch(ctx, algorithm, NULL); \
        TYPE *borrowed = AESOP_RESOLVER_get0_##name(r, algorithm, NULL); \
        TYPE *owned = AESOP_RESOLVER_get1_##name(r, algorithm, NULL); \
\
        CHECK(fetched != NULL, "%s", algorithm); \
        CHECK(borrowed == fetched && owned == fetched, "%s", algorithm); \
        CHECK(AESOP_RESOLVER_get0_##name(r, "no such " #name, NULL) == NULL, "%s", #name); \
        CHECK(AESOP_RESOLVER_get1_##name(r, "no such " #name, NULL) == NULL, "%s", #name); \
        CHECK(ERR_peek_error() == 0, "%s", #name); \
        CHECK(stats_of(r).fetches == 2, "%s: OpenSSL was asked %d times", #name, (int)stats_of(r).fetches); \
        CHECK(stats_of(r).methods == 1, "%s", #name); \
        TYPE##_free(fetched); \
        AESOP_RESOLVER_free(r); \
        /* The reference of get1 is the caller's. */ \
        CHECK(TYPE##_is_a(owned, algorithm), "%s", algorithm); \
        TYPE##_free(owned); \
        support_ctx_free(ctx); \
    }

KIND(cipher, EVP_CIPHER, "AES-128-GCM")
KIND(digest, EVP_MD, "SHA2-256")
KIND(mac, EVP_MAC, "HMAC")
KIND(kdf, EVP_KDF, "HKDF")
KIND(rand, EVP_RAND, "CTR-DRBG")
KIND(signature, EVP_SIGNATURE, "ECDSA")
KIND(keyexch, EVP_KEYEXCH, "ECDH")
KIND(kem, EVP_KEM, "RSA")
KIND(keymgmt, EVP_KEYMGMT, "RSA")

/* One name may be of several kinds. */
static void kinds_are_apart(void)
{
    OSSL_LIB_CTX *ctx = support_ctx_default();
    AESOP_RESOLVER *r = resolver_for(ctx, 0);
    const void *answers[] = { AESOP_RESOLVER_get0_keymgmt(r, "RSA", NULL),
                              AESOP_RESOLVER_get0_signature(r, "RSA", NULL), AESOP_RESOLVER_get0_kem(r, "RSA", NULL) };

    for (int i = 0; i < 3; i++)
        CHECK(answers[i] != NULL && answers[i] != answers[(i + 1) % 3], "answer %d", i);
    CU_ASSERT_PTR_NULL(AESOP_RESOLVER_get0_cipher(r, "RSA", NULL));
    CU_ASSERT_PTR_NULL(AESOP_RESOLVER_get0_digest(r, "AES-128-GCM", NULL));
    AESOP_RESOLVER_free(r);
    support_ctx_free(ctx);
}

/* ---- names and queries ---- */

static void names_of_one_cipher(void)
{
    static const char *const names[] = { "AES-128-GCM",   "aes-128-gcm",   "Aes-128-Gcm",
                                         "id-aes128-GCM", "ID-AES128-GCM", "2.16.840.1.101.3.4.1.6" };
    OSSL_LIB_CTX *ctx = support_ctx_default();

    for (size_t first = 0; first < sizeof names / sizeof names[0]; first++) {
        AESOP_RESOLVER *r = resolver_for(ctx, 0);
        const EVP_CIPHER *cipher = AESOP_RESOLVER_get0_cipher(r, names[first], NULL);

        CU_ASSERT_PTR_NOT_NULL(cipher);
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            CHECK(AESOP_RESOLVER_get0_cipher(r, names[i], NULL) == cipher, "%s after %s", names[i], names[first]);
        CHECK(stats_of(r).fetches == 1, "first %s: %d fetches", names[first], (int)stats_of(r).fetches);
        CU_ASSERT_EQUAL(stats_of(r).methods, 1);
        AESOP_RESOLVER_free(r);
    }
    support_ctx_free(ctx);
}

/* As a fetch: no answer, and no crash. */
static void no_name(void)
{
    OSSL_LIB_CTX *ctx = support_ctx_default();
    AESOP_RESOLVER *r = resolver_for(ctx, 0);

    for (int i = 0; i < 2; i++) {
        CU_ASSERT_PTR_NULL(AESOP_RESOLVER_get0_cipher(r, NULL, NULL));
        CU_ASSERT_PTR_NULL(AESOP_RESOLVER_get1_digest(r, NULL, "provider=default"));
        CU_ASSERT_PTR_NULL(AESOP_RESOLVER_get0_cipher(r, "", NULL));
    }
    CU_ASSERT_EQUAL(ERR_peek_error(), 0);
    AESOP_RESOLVER_free(r);
    support_ctx_free(ctx);
}

static void queries_that_are_one(void)
{
    static const char *const queries[] = {
        "provider=default,?fips=no", "?fips=no,provider=default",     " provider = default , ? fips = no ",
        "PROVIDER=DEFAULT,?FIPS=NO", "\tprovider=default,\n?fips=no",
    };
    OSSL_LIB_CTX *ctx = support_ctx_default();
    AESOP_RESOLVER *r = resolver_for(ctx, 0);

    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++)
        CHECK(same_as_fetch(r, ctx, "AES-256-CBC", queries[i]), "\"%s\"", queries[i]);
    CU_ASSERT_EQUAL(stats_of(r).fetches, 1);
    CU_ASSERT_TRUE(same_as_fetch(r, ctx, "AES-256-CBC", NULL));
    CU_ASSERT_TRUE(same_as_fetch(r, ctx, "AES-256-CBC", ""));
    CU_ASSERT_TRUE(same_as_fetch(r, ctx, "AES-256-CBC", "  "));
    CU_ASSERT_EQUAL(stats_of(r).fetches, 2);
    AESOP_RESOLVER_free(r);
    support_ctx_free(ctx);
}

/* Queries that look alike and are not: each right by itself, and after all others have been asked. */
static void queries_that_differ(void)
{
    static const char *const queries[] = {
        "provider=default",
        "provider!=default",
        "-provider",
        "provider",
        "?provider=aesop",
        "provider=aesop",
        "provider=",
        "provider default",
        "provider = default,",
        ",provider=default",
        "provider=def ault",
        "provider='default'",
        "provider=\"default\"",
        "provider='DEFAULT'",
        "provider=\"default",
        "provider! =default",
        "provider != default",
        "provider==default",
        "fips=yes",
        "fips",
        "-fips",
        "fips!=yes",
        "?-fips",
        "-?fips",
        "? fips = yes",
        "provider=default,provider=aesop",
        "provider=aesop,provider=default",
        "?fips=yes,-fips",
        "provider=?default",
        "1=1",
        "provider=default,,",
        "x.y=1",
        "?x.y=0x10",
        "x y",
        "=",
        "?",
        "-",
        "provider='de,fault'",
        "provider=default\x01",
        "Provider=Aesop",
        "?provider=default,?provider=aesop",
    };
    OSSL_LIB_CTX *ctx = ctx_with_search_path();
    OSSL_PROVIDER *aesop = OSSL_PROVIDER_load(ctx, "aesop");
    AESOP_RESOLVER *r = resolver_for(ctx, 0);
    unsigned found = 0;

    CU_ASSERT_PTR_NOT_NULL(aesop);
    for (int pass = 0; pass < 3; pass++)
        for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++)
            found += (unsigned)same_as_fetch(r, ctx, "AES-128-GCM", queries[i]);
    CHECK(found >= 30 && found < 3 * sizeof queries / sizeof queries[0], "%u found", found);
    AESOP_RESOLVER_free(r);
    OSSL_PROVIDER_unload(aesop);
    support_ctx_free(ctx);
}

/* Queries put together at random, in two contexts of memory: plenty and next to none. */
static void random_queries(void)
{
    static const char *const ciphers[] = { "AES-128-GCM", "aes-256-cbc", "ChaCha20-Poly1305", "no-such",
                                           "2.16.840.1.101.3.4.1.42" };
    static const char *const items[] = { "provider=default",
                                         "?provider=aesop",
                                         "provider = aesop",
                                         "fips=yes",
                                         "-fips",
                                         "? fips = no",
                                         "x!=1",
                                         "?x=1",
                                         "x",
                                         "output=der",
                                         "",
                                         "y='a b'",
                                         "FIPS = NO" };
    OSSL_LIB_CTX *ctx = ctx_with_search_path();
    OSSL_PROVIDER *aesop = OSSL_PROVIDER_load(ctx, "aesop");
    AESOP_RESOLVER *large = resolver_for(ctx, 0), *small = resolver_for(ctx, 5);
    const int count = support_long() ? 200000 : 4000;
    struct support_random random;

    support_random_seed(&random, support_seed());
    for (int i = 0; i < count; i++) {
        const char *cipher = ciphers[support_random_below(&random, sizeof ciphers / sizeof ciphers[0])];
        char query[256] = "";

        for (uint64_t n = support_random_below(&random, 4); n > 0; n--) {
            strcat(query, items[support_random_below(&random, sizeof items / sizeof items[0])]);
            strcat(query, n > 1 ? "," : "");
        }
        same_as_fetch(large, ctx, cipher, query);
        same_as_fetch(small, ctx, cipher, query);
    }
    CU_ASSERT_TRUE(stats_of(small).answers <= 5);
    CU_ASSERT_TRUE(stats_of(large).fetches < (uint64_t)count / 2 || count < 8000);
    AESOP_RESOLVER_free(large);
    AESOP_RESOLVER_free(small);
    OSSL_PROVIDER_unload(aesop);
    support_ctx_free(ctx);
}

static void misses_are_remembered(void)
{
    OSSL_LIB_CTX *ctx = support_ctx_default();
    AESOP_RESOLVER *r = resolver_for(ctx, 0);

    for (int i = 0; i < 10; i++) {
        CU_ASSERT_PTR_NULL(AESOP_RESOLVER_get0_cipher(r, "AES-129-GCM", NULL));
        CU_ASSERT_PTR_NULL(AESOP_RESOLVER_get0_cipher(r, "AES-128-GCM", "provider=nobody"));
    }
    CU_ASSERT_EQUAL(stats_of(r).fetches, 2);
    CU_ASSERT_EQUAL(stats_of(r).methods, 0);
    /* What stood in the error queue before stays there. */
    ERR_raise(ERR_LIB_USER, ERR_R_INTERNAL_ERROR);
    CU_ASSERT_PTR_NULL(AESOP_RESOLVER_get0_cipher(r, "AES-130-GCM", NULL));
    CU_ASSERT_EQUAL(ERR_GET_LIB(ERR_get_error()), ERR_LIB_USER);
    CU_ASSERT_EQUAL(ERR_peek_error(), 0);
    AESOP_RESOLVER_free(r);
    support_ctx_free(ctx);
}

/* Every length of name and of query, up to and beyond what an entry holds. */
static void long_questions(void)
{
    OSSL_LIB_CTX *ctx = support_ctx_default();
    AESOP_RESOLVER *r = resolver_for(ctx, 0);
    char name[120], query[400];

    for (size_t len = 1; len < sizeof name; len++) {
        memset(name, 'n', len);
        name[len] = '\0';
        for (int i = 0; i < 2; i++)
            CU_ASSERT_PTR_NULL(AESOP_RESOLVER_get0_cipher(r, name, NULL));
    }
    /* 88 lengths fit; the others are asked for each time. */
    CU_ASSERT_EQUAL(stats_of(r).fetches, 88 + 2 * (sizeof name - 1 - 88));
    CU_ASSERT_EQUAL(stats_of(r).answers, 88);
    for (size_t len = 0; len < sizeof query - 20; len++) {
        memset(query, 'q', len);
        strcpy(query + len, "=1");
        same_as_fetch(r, ctx, "AES-128-GCM", query); /* OpenSSL takes a query that it cannot parse for none */
        memmove(query + 1, query, len + 3);
        query[0] = '?';
        CU_ASSERT_TRUE(same_as_fetch(r, ctx, "AES-128-GCM", query));
    }
    AESOP_RESOLVER_free(r);
    support_ctx_free(ctx);
}

/* ---- answers from memory write nothing ---- */

/* Everything that threads share: if none of it changes, nobody's cache line is taken away. */
struct shared {
    struct aesop_resolver_st resolver;
    uint64_t index[64];
    struct aesop_slot slots[16];
};

static void copy_shared(struct shared *copy, const AESOP_RESOLVER *r, const struct aesop_table *t)
{
    memcpy(&copy->resolver, r, sizeof copy->resolver);
    memcpy(copy->index, (const void *)t->index, (t->mask + 1) * sizeof *copy->index);
    memcpy(copy->slots, t->slots, t->capacity * sizeof *copy->slots);
}

static void hits_write_nothing(void)
{
    static struct shared before, after;
    OSSL_LIB_CTX *ctx = support_ctx_default();
    AESOP_RESOLVER *r = resolver_for(ctx, 16);

    CU_ASSERT_TRUE(AESOP_RESOLVER_set_constraints(r, "RC4, AES keySize < 256"));
    for (int i = 0; i < 1000; i++) {
        CU_ASSERT_PTR_NOT_NULL(AESOP_RESOLVER_get0_cipher(r, "AES-128-GCM", NULL));
        CU_ASSERT_PTR_NOT_NULL(AESOP_RESOLVER_get0_digest(r, "SHA2-256", "provider=default"));
        CU_ASSERT_PTR_NULL(AESOP_RESOLVER_get0_cipher(r, "no-such-cipher", NULL));
        CU_ASSERT_FALSE(AESOP_RESOLVER_permits(r, 0, "AES-128-GCM", 0, 128, 0));
        /* The first answers are remembered, the second ones noted as in use. */
        if (i == 1) {
            copy_shared(&before, r, r->answers);
            CU_ASSERT_EQUAL(stats_of(r).fetches, 3);
        }
    }
    copy_shared(&after, r, r->answers);
    CU_ASSERT_EQUAL(memcmp(&before, &after, sizeof before), 0);
    copy_shared(&before, r, r->decisions);
    CU_ASSERT_FALSE(AESOP_RESOLVER_permits(r, 0, "AES-128-GCM", 0, 128, 0));
    copy_shared(&after, r, r->decisions);
    CU_ASSERT_EQUAL(memcmp(&before, &after, sizeof before), 0);
    AESOP_RESOLVER_free(r);
    support_ctx_free(ctx);
}

/* ---- memory ---- */

static void small_capacities(void)
{
    static const char *const ciphers[] = { "AES-128-GCM", "AES-192-GCM", "AES-256-GCM", "AES-128-CBC", "AES-192-CBC",
                                           "AES-256-CBC", "AES-128-CTR", "no-such-1",   "no-such-2",   "ARIA-128-CBC" };
    OSSL_LIB_CTX *ctx = support_ctx_default();
    struct support_random random;

    support_random_seed(&random, support_seed());
    for (size_t capacity = 1; capacity <= 17; capacity++) {
        AESOP_RESOLVER *r = resolver_for(ctx, capacity);

        CU_ASSERT_EQUAL(stats_of(r).capacity, capacity);
        for (int i = 0; i < 500; i++) {
            same_as_fetch(r, ctx, ciphers[support_random_below(&random, sizeof ciphers / sizeof ciphers[0])], NULL);
            if (i % 100 == 99)
                AESOP_RESOLVER_flush(r);
        }
        CHECK(stats_of(r).answers <= capacity, "%zu answers in %zu", stats_of(r).answers, capacity);
        CHECK(capacity >= 10 || stats_of(r).evictions > 0, "capacity %zu", capacity);
        CHECK(stats_of(r).methods == 8, "%zu methods", stats_of(r).methods);
        AESOP_RESOLVER_free(r);
    }
    support_ctx_free(ctx);
}

/* What is asked for often stays, whatever passes by. */
static void eviction_spares_the_used(void)
{
    OSSL_LIB_CTX *ctx = support_ctx_default();
    AESOP_RESOLVER *r = resolver_for(ctx, 8);
    char name[32];

    AESOP_RESOLVER_get0_cipher(r, "no-such-cipher", NULL);
    for (int i = 0; i < 100; i++) {
        AESOP_RESOLVER_get0_cipher(r, "no-such-cipher", NULL);
        snprintf(name, sizeof name, "passer-by-%d", i);
        AESOP_RESOLVER_get0_cipher(r, name, NULL);
    }
    CU_ASSERT_EQUAL(stats_of(r).fetches, 101);
    CU_ASSERT_EQUAL(stats_of(r).answers, 8);
    CU_ASSERT_EQUAL(stats_of(r).evictions, 101 - 8);
    AESOP_RESOLVER_free(r);
    support_ctx_free(ctx);
}

/* A flag of a later release, or a number in the wrong place, is not passed over. */
static void unknown_flags(void)
{
    OSSL_LIB_CTX *ctx = support_ctx_default();
    const char *data = NULL;
    char text[200];
    int flags;

    for (unsigned bit = 1; bit < 32; bit++) {
        CHECK(AESOP_RESOLVER_new(ctx, 0, 0, AESOP_RESOLVER_NO_WATCH | 1u << bit) == NULL, "bit %u", bit);
        const unsigned long error = ERR_get_error_all(NULL, NULL, NULL, &data, &flags);
        CU_ASSERT_STRING_EQUAL(ERR_lib_error_string(error), "aesop resolver");
        snprintf(text, sizeof text, "flags %#x: AESOP_RESOLVER_NO_WATCH (0x1) is the only one", 1 | 1u << bit);
        CU_ASSERT_STRING_EQUAL(data, text);
        CU_ASSERT_EQUAL(ERR_peek_error(), 0);
    }
    support_ctx_free(ctx);
}

/* A method's other names are remembered where nothing has to go for them. */
static void names_take_no_room(void)
{
    OSSL_LIB_CTX *ctx = support_ctx_default();
    AESOP_RESOLVER *r = resolver_for(ctx, 2);

    CU_ASSERT_PTR_NOT_NULL(AESOP_RESOLVER_get0_cipher(r, "AES-128-GCM", NULL));
    CU_ASSERT_EQUAL(stats_of(r).evictions, 0);
    AESOP_RESOLVER_free(r);
    support_ctx_free(ctx);
}

static void bounded_bytes(void)
{
    OSSL_LIB_CTX *ctx = support_ctx_default();
    size_t last = 0, smallest = 0;

    for (size_t bytes = 1; bytes < 100000; bytes += 97) {
        AESOP_RESOLVER *r = AESOP_RESOLVER_new(ctx, 0, bytes, 0);

        if (r == NULL) {
            CHECK(last == 0 && strcmp(ERR_lib_error_string(ERR_get_error()), "aesop resolver") == 0, "%zu bytes",
                  bytes);
            ERR_clear_error();
            continue;
        }
        if (smallest == 0)
            smallest = bytes;
        CHECK(stats_of(r).bytes <= bytes, "%zu bytes allocated of %zu", stats_of(r).bytes, bytes);
        CHECK(stats_of(r).capacity >= last && stats_of(r).capacity > 0, "%zu entries in %zu bytes",
              stats_of(r).capacity, bytes);
        last = stats_of(r).capacity;
        AESOP_RESOLVER_free(r);
    }
    CHECK(smallest > 97 && smallest < 2000 && last > 100 && last < 1024, "from %zu bytes on, %zu entries at last",
          smallest, last);
    AESOP_RESOLVER *r = AESOP_RESOLVER_new(ctx, 3, 1000000, 0);
    CU_ASSERT_EQUAL(stats_of(r).capacity, 3);
    AESOP_RESOLVER_free(r);
    /* As many as there is room for. */
    r = AESOP_RESOLVER_new(ctx, SIZE_MAX, 100000, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    CHECK(stats_of(r).capacity >= last && stats_of(r).bytes <= 100000, "%zu entries in %zu bytes", stats_of(r).capacity,
          stats_of(r).bytes);
    AESOP_RESOLVER_free(r);
    support_ctx_free(ctx);
}

/* ---- the table alone ---- */

static struct aesop_key key_of(const char *name)
{
    struct aesop_key key;

    aesop_key_start(&key, 1);
    CU_ASSERT(aesop_key_add_text(&key, name, strlen(name), AESOP_FOLD_CASE));
    aesop_key_finish(&key);
    return key;
}

static int table_has(struct aesop_table *t, const struct aesop_key *key, uint64_t stamp, uint64_t expected)
{
    uint64_t value;

    return aesop_table_get(&value, t, key, stamp) && value == expected;
}

/* An answer that was asked for before a change and comes after it. */
static void late_answers_are_dropped(void)
{
    struct aesop_table *t = aesop_table_new(4);
    const struct aesop_key key = key_of("name");

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    aesop_table_put(t, &key, 2, 22);
    aesop_table_put(t, &key, 1, 11);
    CU_ASSERT(table_has(t, &key, 2, 22));
    CU_ASSERT_FALSE(table_has(t, &key, 1, 11));
    aesop_table_free(t);
}

/* A slot that a writer is at has odd numbers, and may hold anything. */
static void slots_being_written_are_not_read(void)
{
    struct aesop_table *t = aesop_table_new(1);
    const struct aesop_key key = key_of("name");

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    aesop_table_put(t, &key, 1, 11);
    atomic_fetch_add(&t->slots[0].sequence, 1);
    CU_ASSERT_FALSE(table_has(t, &key, 1, 11));
    atomic_fetch_add(&t->slots[0].sequence, 1);
    CU_ASSERT(table_has(t, &key, 1, 11));
    aesop_table_free(t);
}

/* Of keys with one place in the index the first is evicted: the others are found still. */
static void evicted_among_others(void)
{
    struct aesop_table *t = aesop_table_new(3);
    struct aesop_key keys[] = { key_of("a"), key_of("b"), key_of("c"), key_of("d") };

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    keys[1].hash = keys[2].hash = keys[0].hash;
    keys[3].hash = keys[0].hash + 4; /* of eight places */
    for (size_t i = 0; i < 4; i++)
        aesop_table_put(t, &keys[i], 1, i);
    for (size_t i = 0; i < 4; i++)
        CHECK(table_has(t, &keys[i], 1, i) == (i > 0), "key %zu", i);
    CU_ASSERT_EQUAL(aesop_table_evictions(t), 1);
    aesop_table_free(t);
}

/* What was read and is true no more goes before what is true and was not read. */
static void the_untrue_goes_first(void)
{
    struct aesop_table *t = aesop_table_new(2);
    const struct aesop_key keys[] = { key_of("a"), key_of("b"), key_of("c") };

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    aesop_table_put(t, &keys[0], 1, 0);
    CU_ASSERT(table_has(t, &keys[0], 1, 0));
    aesop_table_put(t, &keys[1], 2, 1);
    aesop_table_put(t, &keys[2], 2, 2);
    CU_ASSERT(table_has(t, &keys[1], 2, 1) && table_has(t, &keys[2], 2, 2));
    CU_ASSERT_EQUAL(aesop_table_evictions(t), 0);
    aesop_table_free(t);
}

/* ---- truth ---- */

static void providers_come_and_go(void)
{
    OSSL_LIB_CTX *ctx = ctx_with_search_path();
    AESOP_RESOLVER *r = resolver_for(ctx, 0);

    for (int i = 0; i < 5; i++) {
        const uint64_t before = AESOP_RESOLVER_generation(r);

        CU_ASSERT_STRING_EQUAL(served_by(r, "AES-128-GCM", "provider=aesop"), "");
        CU_ASSERT_STRING_EQUAL(served_by(r, "AES-128-GCM", "?provider=aesop"), "default");
        OSSL_PROVIDER *aesop = OSSL_PROVIDER_load(ctx, "aesop");
        CU_ASSERT_PTR_NOT_NULL_FATAL(aesop);
        const uint64_t loaded = AESOP_RESOLVER_generation(r);
        CU_ASSERT_TRUE(loaded > before);
        CU_ASSERT_STRING_EQUAL(served_by(r, "AES-128-GCM", "provider=aesop"), "aesop");
        CU_ASSERT_STRING_EQUAL(served_by(r, "AES-128-GCM", "?provider=aesop"), "aesop");
        OSSL_PROVIDER_unload(aesop);
        CU_ASSERT_TRUE(AESOP_RESOLVER_generation(r) > loaded);
    }
    CU_ASSERT_STRING_EQUAL(served_by(r, "AES-128-GCM", "provider=aesop"), "");
    AESOP_RESOLVER_free(r);
    support_ctx_free(ctx);
}

static void default_properties_change(void)
{
    OSSL_LIB_CTX *ctx = ctx_with_search_path();
    OSSL_PROVIDER *aesop = OSSL_PROVIDER_load(ctx, "aesop");
    AESOP_RESOLVER *r = resolver_for(ctx, 0);
    static const struct {
        const char *properties, *served_by;
    } steps[] = { { "provider=default", "default" },
                  { "?provider=aesop", "aesop" },
                  { "provider=nobody", "" },
                  { "provider=aesop", "aesop" },
                  { "?provider=default", "default" } };

    CU_ASSERT_PTR_NOT_NULL(aesop);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        CU_ASSERT_TRUE(EVP_set_default_properties(ctx, steps[i].properties));
        CHECK(strcmp(served_by(r, "AES-128-CBC", NULL), steps[i].served_by) == 0, "%s: %s", steps[i].properties,
              served_by(r, "AES-128-CBC", NULL));
        same_as_fetch(r, ctx, "AES-128-CBC", NULL);
    }
    CU_ASSERT_TRUE(EVP_default_properties_enable_fips(ctx, 1));
    CU_ASSERT_STRING_EQUAL(served_by(r, "AES-128-CBC", NULL), "");
    CU_ASSERT_TRUE(EVP_default_properties_enable_fips(ctx, 0));
    CU_ASSERT_STRING_NOT_EQUAL(served_by(r, "AES-128-CBC", NULL), "");
    AESOP_RESOLVER_free(r);
    OSSL_PROVIDER_unload(aesop);
    support_ctx_free(ctx);
}

/* What is forgotten and asked again is counted as before, and its reference is one. */
static void asked_again(void)
{
    OSSL_LIB_CTX *ctx = support_ctx_aesop(NULL);
    AESOP_RESOLVER *r = resolver_for(ctx, 0);
    char module[1024];
    void *handle;
    size_t answers;

    CU_ASSERT_PTR_NOT_NULL(AESOP_RESOLVER_get0_cipher(r, "AES-128-GCM", NULL));
    answers = stats_of(r).answers;
    CU_ASSERT(answers > 0);
    for (int i = 0; i < 3; i++) {
        AESOP_RESOLVER_flush(r);
        CU_ASSERT_EQUAL(stats_of(r).answers, 0);
        CU_ASSERT_PTR_NOT_NULL(AESOP_RESOLVER_get0_cipher(r, "AES-128-GCM", NULL));
        CU_ASSERT_EQUAL(stats_of(r).answers, answers);
        CU_ASSERT_EQUAL(stats_of(r).methods, 1);
    }
    AESOP_RESOLVER_free(r);
    support_ctx_free(ctx);
    /* One too many would keep the module loaded. */
    snprintf(module, sizeof module, "%s/aesop.so", support_module_dir());
    handle = dlopen(module, RTLD_LAZY | RTLD_NOLOAD);
    CU_ASSERT_PTR_NULL(handle);
    if (handle != NULL)
        dlclose(handle);
}

/* Nobody tells it, until it is told. */
static void without_watch(void)
{
    OSSL_LIB_CTX *ctx = ctx_with_search_path();
    AESOP_RESOLVER *r = AESOP_RESOLVER_new(ctx, 0, 0, AESOP_RESOLVER_NO_WATCH);

    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    CU_ASSERT_FALSE(OSSL_PROVIDER_available(ctx, "aesop-watch"));
    CU_ASSERT_STRING_EQUAL(served_by(r, "AES-128-GCM", "provider=aesop"), "");
    OSSL_PROVIDER *aesop = OSSL_PROVIDER_load(ctx, "aesop");
    CU_ASSERT_STRING_EQUAL(served_by(r, "AES-128-GCM", "provider=aesop"), "");
    AESOP_RESOLVER_flush(r);
    CU_ASSERT_STRING_EQUAL(served_by(r, "AES-128-GCM", "provider=aesop"), "aesop");
    AESOP_RESOLVER_free(r);
    OSSL_PROVIDER_unload(aesop);
    support_ctx_free(ctx);
}

/* A borrowed method works after a flush, its eviction and the unloading of its provider. */
static void borrowed_methods_last(void)
{
    static const unsigned char key[16], iv[12];
    OSSL_LIB_CTX *ctx = ctx_with_search_path();
    OSSL_PROVIDER *aesop = OSSL_PROVIDER_load(ctx, "aesop");
    AESOP_RESOLVER *r = resolver_for(ctx, 1);
    EVP_CIPHER *cipher = AESOP_RESOLVER_get0_cipher(r, "AES-128-GCM", "provider=aesop");
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    unsigned char out[16];
    int len;

    CU_ASSERT_PTR_NOT_NULL_FATAL(cipher);
    AESOP_RESOLVER_get0_cipher(r, "AES-256-GCM", NULL);
    AESOP_RESOLVER_flush(r);
    OSSL_PROVIDER_unload(aesop);
    CU_ASSERT_STRING_EQUAL(served_by(r, "AES-128-GCM", "provider=aesop"), "");
    CU_ASSERT_EQUAL(EVP_EncryptInit_ex2(c, cipher, key, iv, NULL), 1);
    CU_ASSERT_EQUAL(EVP_EncryptUpdate(c, out, &len, key, sizeof key), 1);
    CU_ASSERT_EQUAL(len, 16);
    EVP_CIPHER_CTX_free(c);
    AESOP_RESOLVER_free(r);
    support_ctx_free(ctx);
}

/* The watcher takes no part in what serves: no algorithms, and the implicit default provider stays. */
static void watching_changes_nothing(void)
{
    OSSL_LIB_CTX *ctx = OSSL_LIB_CTX_new();
    AESOP_RESOLVER *r = resolver_for(ctx, 0);

    CU_ASSERT_STRING_EQUAL(served_by(r, "AES-128-GCM", NULL), "default");
    CU_ASSERT_STRING_EQUAL(served_by(r, "AES-128-GCM", "provider=aesop-watch"), "");
    AESOP_RESOLVER_free(r);
    CU_ASSERT_FALSE(OSSL_PROVIDER_available(ctx, "aesop-watch"));
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(ctx, "AES-128-GCM", NULL);
    CU_ASSERT_PTR_NOT_NULL(cipher);
    EVP_CIPHER_free(cipher);
    OSSL_LIB_CTX_free(ctx);
}

/* One after the other and side by side, in one context and in the default one. */
static void several_resolvers(void)
{
    OSSL_LIB_CTX *contexts[] = { ctx_with_search_path(), NULL };

    for (int i = 0; i < 2; i++) {
        for (int again = 0; again < 3; again++) {
            AESOP_RESOLVER *a = resolver_for(contexts[i], 0), *b = resolver_for(contexts[i], 0);

            CU_ASSERT_TRUE(same_as_fetch(a, contexts[i], "AES-128-GCM", NULL));
            CU_ASSERT_TRUE(same_as_fetch(b, contexts[i], "AES-128-GCM", NULL));
            AESOP_RESOLVER_free(a);
            if (i == 0) {
                CU_ASSERT_STRING_EQUAL(served_by(b, "AES-128-GCM", "provider=aesop"), "");
                OSSL_PROVIDER *aesop = OSSL_PROVIDER_load(contexts[i], "aesop");
                CU_ASSERT_STRING_EQUAL(served_by(b, "AES-128-GCM", "provider=aesop"), "aesop");
                OSSL_PROVIDER_unload(aesop);
            }
            CU_ASSERT_TRUE(same_as_fetch(b, contexts[i], "AES-128-GCM", NULL));
            AESOP_RESOLVER_free(b);
        }
    }
    AESOP_RESOLVER_free(NULL);
    support_ctx_free(contexts[0]);
}

/* ---- constraints ---- */

static void decisions_are_remembered(void)
{
    OSSL_LIB_CTX *ctx = support_ctx_default();
    AESOP_RESOLVER *r = resolver_for(ctx, 0);

    CU_ASSERT_TRUE(AESOP_RESOLVER_permits(r, 0, "RC4", 128, 0, 0));
    CU_ASSERT_TRUE(AESOP_RESOLVER_set_constraints(r, "RC4, AES keySize < 256, CBC usage TLSServer, GCM tagSize < 128"));
    for (int i = 0; i < 10; i++) {
        CU_ASSERT_FALSE(AESOP_RESOLVER_permits(r, 0, "RC4", 128, 0, 0));
        CU_ASSERT_FALSE(AESOP_RESOLVER_permits(r, 0, "AES-128-GCM", 128, 0, 0));
        CU_ASSERT_TRUE(AESOP_RESOLVER_permits(r, 0, "AES-256-GCM", 256, 0, 0));
        CU_ASSERT_TRUE(AESOP_RESOLVER_permits(r, 0, "AES-256-GCM", 256, 128, 0));
        CU_ASSERT_FALSE(AESOP_RESOLVER_permits(r, 0, "AES-256-GCM", 256, 96, 0));
        CU_ASSERT_TRUE(AESOP_RESOLVER_permits(r, AESOP_USAGE_TLS_CLIENT, "AES-256-CBC", 256, 0, 0));
        CU_ASSERT_FALSE(AESOP_RESOLVER_permits(r, AESOP_USAGE_TLS_SERVER, "AES-256-CBC", 256, 0, 0));
        CU_ASSERT_STRING_EQUAL(AESOP_RESOLVER_forbidden_by(r, 0, "aes-128-gcm", 128, 0, 0), "AES keySize < 256");
        CU_ASSERT_PTR_NULL(AESOP_RESOLVER_forbidden_by(r, 0, "AES-256-GCM", 256, 128, 0));
    }
    CU_ASSERT_EQUAL(stats_of(r).evaluations, 7);
    CU_ASSERT_EQUAL(stats_of(r).decisions, 7);
    /* Providers have no part in decisions. */
    AESOP_RESOLVER_flush(r);
    CU_ASSERT_FALSE(AESOP_RESOLVER_permits(r, 0, "RC4", 128, 0, 0));
    CU_ASSERT_EQUAL(stats_of(r).evaluations, 7);
    AESOP_RESOLVER_free(r);
    support_ctx_free(ctx);
}

static void constraints_are_exchanged(void)
{
    OSSL_LIB_CTX *ctx = support_ctx_default();
    AESOP_RESOLVER *r = resolver_for(ctx, 1);
    const char *by;
    char text[256];
    const char *data;
    int flags;

    CU_ASSERT_TRUE(AESOP_RESOLVER_set_constraints(r, "RC4"));
    by = AESOP_RESOLVER_forbidden_by(r, 0, "RC4", 0, 0, 0);
    CU_ASSERT_STRING_EQUAL(by, "RC4");
    CU_ASSERT_TRUE(AESOP_RESOLVER_set_constraints(r, "MD5"));
    CU_ASSERT_TRUE(AESOP_RESOLVER_permits(r, 0, "RC4", 0, 0, 0));
    CU_ASSERT_FALSE(AESOP_RESOLVER_permits(r, 0, "MD5", 0, 0, 0));
    CU_ASSERT_STRING_EQUAL(by, "RC4"); /* still readable */
    /* A bad list changes nothing, and the error tells where it is bad. */
    CU_ASSERT_FALSE(AESOP_RESOLVER_set_constraints(r, "RC4, AES keySize 256"));
    const unsigned long error = ERR_get_error_all(NULL, NULL, NULL, &data, &flags);
    CU_ASSERT_STRING_EQUAL(ERR_lib_error_string(error), "aesop resolver");
    snprintf(text, sizeof text, "%s", data);
    CU_ASSERT_STRING_EQUAL(text, "constraints, byte 17: expected one of <= < == != >= >, found \"256\"");
    CU_ASSERT_FALSE(AESOP_RESOLVER_permits(r, 0, "MD5", 0, 0, 0));
    CU_ASSERT_TRUE(AESOP_RESOLVER_permits(r, 0, "RC4", 0, 0, 0));
    CU_ASSERT_TRUE(AESOP_RESOLVER_set_constraints(r, NULL));
    CU_ASSERT_TRUE(AESOP_RESOLVER_permits(r, 0, "MD5", 0, 0, 0));
    AESOP_RESOLVER_free(r);
    support_ctx_free(ctx);
}

/* Sizes above all that lists can name are alike, and unlike the smaller ones. */
static void large_sizes(void)
{
    const unsigned large = 1u << 20;
    OSSL_LIB_CTX *ctx = support_ctx_default();
    AESOP_RESOLVER *r = resolver_for(ctx, 0);

    CU_ASSERT_TRUE(AESOP_RESOLVER_set_constraints(r, "GCM tagSize < 200, AES keySize < 200"));
    CU_ASSERT_FALSE(AESOP_RESOLVER_permits(r, 0, "AES-GCM", 256, 128, 0));
    CU_ASSERT_TRUE(AESOP_RESOLVER_permits(r, 0, "AES-GCM", 256, 128 + large, 0));
    CU_ASSERT_FALSE(AESOP_RESOLVER_permits(r, 0, "AES", 128, 0, 0));
    CU_ASSERT_TRUE(AESOP_RESOLVER_permits(r, 0, "AES", 128 + large, 0, 0));
    AESOP_RESOLVER_free(r);
    support_ctx_free(ctx);
}

/* A remembered decision ends with the day on which it would be another. */
static void days_pass(void)
{
    const time_t day = 1709164800; /* 2024-02-29 */
    OSSL_LIB_CTX *ctx = support_ctx_default();
    AESOP_RESOLVER *r = resolver_for(ctx, 0);

    CU_ASSERT_TRUE(AESOP_RESOLVER_set_constraints(r, "SHA1 denyAfter 2024-02-29, MD5 denyAfter 9999-12-31"));
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_TRUE(AESOP_RESOLVER_permits(r, 0, "SHA1", 0, 0, day - 1));
        CU_ASSERT_FALSE(AESOP_RESOLVER_permits(r, 0, "SHA1", 0, 0, day));
        CU_ASSERT_FALSE(AESOP_RESOLVER_permits(r, 0, "SHA1", 0, 0, day + 1000000));
        CU_ASSERT_FALSE(AESOP_RESOLVER_permits(r, 0, "SHA1", 0, 0, 0)); /* now */
        CU_ASSERT_TRUE(AESOP_RESOLVER_permits(r, 0, "MD5", 0, 0, 0));
    }
    CU_ASSERT_EQUAL(stats_of(r).evaluations, 3);
    AESOP_RESOLVER_free(r);
    support_ctx_free(ctx);
}

/* More days than remembered decisions can tell apart: none is remembered, and each is right. */
static void many_days_pass(void)
{
    enum { DAYS = AESOP_POLICY_ERAS_MAX, ENTRY = sizeof "MD5 denyAfter 2024-02-29," - 1 };
    const time_t first = 1709164800, day = 86400;
    OSSL_LIB_CTX *ctx = support_ctx_default();
    AESOP_RESOLVER *r = resolver_for(ctx, 0);
    char *list = malloc(DAYS * ENTRY + 1);

    CU_ASSERT_PTR_NOT_NULL_FATAL(list);
    for (int i = 0; i < DAYS; i++) {
        const time_t when = first + i * day;

        strftime(list + i * ENTRY, ENTRY + 1, i == 0 ? "MD5 denyAfter %Y-%m-%d," : "RC4 denyAfter %Y-%m-%d,",
                 gmtime(&when));
    }
    list[DAYS * ENTRY - 1] = '\0';
    CU_ASSERT_TRUE_FATAL(AESOP_RESOLVER_set_constraints(r, list));
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_TRUE(AESOP_RESOLVER_permits(r, 0, "MD5", 0, 0, first - 1));
        CU_ASSERT_FALSE(AESOP_RESOLVER_permits(r, 0, "MD5", 0, 0, first + DAYS * day));
    }
    CU_ASSERT_EQUAL(stats_of(r).evaluations, 4);
    CU_ASSERT_EQUAL(stats_of(r).decisions, 0);
    free(list);
    AESOP_RESOLVER_free(r);
    support_ctx_free(ctx);
}

/* Long names cannot be remembered, but are decided all the same. */
static void long_names_are_decided(void)
{
    OSSL_LIB_CTX *ctx = support_ctx_default();
    AESOP_RESOLVER *r = resolver_for(ctx, 0);
    char name[200] = "RC4";

    CU_ASSERT_TRUE(AESOP_RESOLVER_set_constraints(r, "RC4"));
    for (size_t len = 3; len < sizeof name - 1; len++) {
        CHECK(!AESOP_RESOLVER_permits(r, 0, name, 0, 0, 0), "%zu characters", len);
        name[len] = '-';
    }
    AESOP_RESOLVER_free(r);
    support_ctx_free(ctx);
}

/* What is fetched by its OID is forbidden by its name. */
static void identifiers_are_names(void)
{
    static const struct {
        const char *list, *algorithm;
        int forbidden;
    } verdicts[] = {
        { "AES keySize < 256", "2.16.840.1.101.3.4.1.6", 1 },  /* AES-128-GCM */
        { "AES keySize < 256", "2.16.840.1.101.3.4.1.46", 0 }, /* AES-256-GCM */
        { "SHA1", "1.3.14.3.2.26", 1 },                        /* SHA1 */
        { "SHA1withRSA", "1.2.840.113549.1.1.5", 1 },          /* sha1WithRSAEncryption */
        { "SHA1withRSA", "1.2.840.113549.1.1.11", 0 },         /* sha256WithRSAEncryption */
        { "RSASSA-PSS", "1.2.840.113549.1.1.10", 1 },          /* rsassaPss */
        { "2.16.840.1.101.3.4.1.6", "2.16.840.1.101.3.4.1.6", 1 },
        { "AES", "1.2.3.4.5.6.7.8", 0 },
        { "AES", "3DES", 0 },
    };
    OSSL_LIB_CTX *ctx = support_ctx_default();
    AESOP_RESOLVER *r = resolver_for(ctx, 0);

    for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++) {
        CU_ASSERT_TRUE(AESOP_RESOLVER_set_constraints(r, verdicts[i].list));
        for (int again = 0; again < 2; again++)
            CHECK(AESOP_RESOLVER_permits(r, 0, verdicts[i].algorithm, 0, 0, 0) != verdicts[i].forbidden, "\"%s\", %s",
                  verdicts[i].list, verdicts[i].algorithm);
    }
    CU_ASSERT_EQUAL(ERR_peek_error(), 0);
    AESOP_RESOLVER_free(r);
    support_ctx_free(ctx);
}

/* ---- a program that lets go of the library ---- */

/* libcrypto goes on having to do with it: with the provider that watches, and with texts of errors. */
static void unloaded_library(void)
{
    OSSL_LIB_CTX *ctx = support_ctx_default();
    void *library = dlopen(AESOP_LIBRARY, RTLD_NOW | RTLD_LOCAL), *symbol;
    AESOP_RESOLVER *(*make)(OSSL_LIB_CTX *, size_t, size_t, unsigned);
    void (*end)(AESOP_RESOLVER *);

    CU_ASSERT_PTR_NOT_NULL_FATAL(library);
    symbol = dlsym(library, "AESOP_RESOLVER_new");
    memcpy(&make, &symbol, sizeof symbol);
    symbol = dlsym(library, "AESOP_RESOLVER_free");
    memcpy(&end, &symbol, sizeof symbol);
    CU_ASSERT_TRUE_FATAL(symbol != NULL && make != NULL && make != AESOP_RESOLVER_new);
    CU_ASSERT_PTR_NULL(make(ctx, 0, 0, ~0u));
    end(make(ctx, 0, 0, 0));
    dlclose(library);
    CU_ASSERT_STRING_EQUAL(ERR_lib_error_string(ERR_get_error()), "aesop resolver");
    CU_ASSERT_TRUE(EVP_set_default_properties(ctx, "?some=thing"));
    support_ctx_free(ctx);
}

/* ---- memory that fails ---- */

/* Whatever allocation of libcrypto fails, once or from then on: afterwards the answer is the right one. */
static void memory_fails(void)
{
    for (fails_once = 0; fails_once < 2; fails_once++) {
        allocations_failed = 1;
        for (long n = 0; n < 500 && allocations_failed; n++) {
            OSSL_LIB_CTX *ctx = support_ctx_default();
            AESOP_RESOLVER *r = resolver_for(ctx, 0);

            AESOP_RESOLVER_get0_digest(r, "SHA1", NULL);
            allocations_failed = 0;
            allocations_left = n;
            AESOP_RESOLVER_get0_digest(r, "sha256", "?provider=default");
            AESOP_RESOLVER_get0_digest(r, "no-such", NULL);
            allocations_left = -1;
            CHECK(AESOP_RESOLVER_get0_digest(r, "sha256", "?provider=default") != NULL, "allocation %ld, %s", n,
                  fails_once ? "once" : "and all later ones");
            CU_ASSERT_PTR_NULL(AESOP_RESOLVER_get0_digest(r, "no-such", NULL));
            ERR_clear_error();
            AESOP_RESOLVER_free(r);
            support_ctx_free(ctx);
        }
        CU_ASSERT_FALSE(allocations_failed);
    }
}

int main(int argc, char **argv)
{
    const int scarce = scarce_install();

    support_init(argc, argv);
    CU_pSuite kinds = CU_add_suite("kinds", NULL, NULL);
    CU_ADD_TEST(kinds, kind_cipher);
    CU_ADD_TEST(kinds, kind_digest);
    CU_ADD_TEST(kinds, kind_mac);
    CU_ADD_TEST(kinds, kind_kdf);
    CU_ADD_TEST(kinds, kind_rand);
    CU_ADD_TEST(kinds, kind_signature);
    CU_ADD_TEST(kinds, kind_keyexch);
    CU_ADD_TEST(kinds, kind_kem);
    CU_ADD_TEST(kinds, kind_keymgmt);
    CU_ADD_TEST(kinds, kinds_are_apart);
    CU_pSuite names = CU_add_suite("names", NULL, NULL);
    CU_ADD_TEST(names, names_of_one_cipher);
    CU_ADD_TEST(names, no_name);
    CU_ADD_TEST(names, queries_that_are_one);
    CU_ADD_TEST(names, queries_that_differ);
    CU_ADD_TEST(names, random_queries);
    CU_ADD_TEST(names, misses_are_remembered);
    CU_ADD_TEST(names, long_questions);
    CU_pSuite memory = CU_add_suite("memory", NULL, NULL);
    CU_ADD_TEST(memory, hits_write_nothing);
    CU_ADD_TEST(memory, small_capacities);
    CU_ADD_TEST(memory, eviction_spares_the_used);
    CU_ADD_TEST(memory, names_take_no_room);
    CU_ADD_TEST(memory, bounded_bytes);
    CU_ADD_TEST(memory, unknown_flags);
    CU_ADD_TEST(memory, unloaded_library);
    if (scarce)
        CU_ADD_TEST(memory, memory_fails);
    else
        support_skip("memory that fails", "libcrypto allocated already");
    CU_pSuite table = CU_add_suite("table", NULL, NULL);
    CU_ADD_TEST(table, late_answers_are_dropped);
    CU_ADD_TEST(table, slots_being_written_are_not_read);
    CU_ADD_TEST(table, evicted_among_others);
    CU_ADD_TEST(table, the_untrue_goes_first);
    CU_pSuite truth = CU_add_suite("truth", NULL, NULL);
    CU_ADD_TEST(truth, providers_come_and_go);
    CU_ADD_TEST(truth, default_properties_change);
    CU_ADD_TEST(truth, asked_again);
    CU_ADD_TEST(truth, without_watch);
    CU_ADD_TEST(truth, borrowed_methods_last);
    CU_ADD_TEST(truth, watching_changes_nothing);
    CU_ADD_TEST(truth, several_resolvers);
    CU_pSuite constraints = CU_add_suite("constraints", NULL, NULL);
    CU_ADD_TEST(constraints, decisions_are_remembered);
    CU_ADD_TEST(constraints, constraints_are_exchanged);
    CU_ADD_TEST(constraints, large_sizes);
    CU_ADD_TEST(constraints, days_pass);
    CU_ADD_TEST(constraints, many_days_pass);
    CU_ADD_TEST(constraints, long_names_are_decided);
    CU_ADD_TEST(constraints, identifiers_are_names);
    return support_run();
}
