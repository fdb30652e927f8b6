/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers of a resolver while providers come and go, answers are forgotten and evicted, and constraints are
 * exchanged. Meant to run under ThreadSanitizer and AddressSanitizer too.
 */
#include "check.h"
#include "support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/provider.h>

#include "aesop/resolver.h"
#include "cache/resolver.h"

enum { READERS = 4 };

static const struct question {
    const char *cipher, *properties;
} questions[] = {
    { "AES-128-GCM", NULL },
    { "AES-128-GCM", "?provider=aesop" },
    { "aes-128-cbc", "provider=aesop" },
    { "AES-128-GCM", "provider=aesop" },
    { "id-aes256-GCM", NULL },
    { "ARIA-128-CBC", NULL },
    { "no-such-cipher", NULL },
    { "AES-192-CBC", "provider=default" },
    { "AES-256-CBC", "? provider = aesop" },
};
enum { QUESTIONS = sizeof questions / sizeof questions[0] };

struct stage {
    OSSL_LIB_CTX *ctx;
    AESOP_RESOLVER *large, *small;
    atomic_int over;
    atomic_ulong asked, wrong;
};

struct reader {
    struct stage *stage;
    uint64_t seed;
};

/* An answer may be of a moment ago, but it is a living method and one that the question allows. */
static int fits(const EVP_CIPHER *cipher, const struct question *q)
{
    const char *provider;

    if (cipher == NULL)
        return strcmp(q->cipher, "no-such-cipher") == 0 ||
               (q->properties != NULL && strcmp(q->properties, "provider=aesop") == 0);
    provider = OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher));
    return EVP_CIPHER_is_a(cipher, q->cipher) &&
           (q->properties == NULL || strncmp(q->properties, "provider=", 9) != 0 ||
            strcmp(q->properties + 9, provider) == 0);
}

static void *read_on(void *arg)
{
    const struct reader *reader = arg;
    struct stage *s = reader->stage;
    struct support_random random;
    unsigned long wrong = 0;

    support_random_seed(&random, reader->seed);
    while (!atomic_load_explicit(&s->over, memory_order_relaxed)) {
        const struct question *q = &questions[support_random_below(&random, QUESTIONS)];
        AESOP_RESOLVER *r = support_random_below(&random, 2) ? s->large : s->small;
        EVP_CIPHER *owned = AESOP_RESOLVER_get1_cipher(r, q->cipher, q->properties);
        const char *by = AESOP_RESOLVER_forbidden_by(r, 0, q->cipher, 128, 0, 0);

        wrong += !fits(AESOP_RESOLVER_get0_cipher(r, q->cipher, q->properties), q);
        wrong += !fits(owned, q);
        wrong += by != NULL && strcmp(by, "AES keySize < 256") != 0 && strcmp(by, "CBC") != 0;
        EVP_CIPHER_free(owned);
        atomic_fetch_add_explicit(&s->asked, 1, memory_order_relaxed);
    }
    atomic_fetch_add(&s->wrong, wrong);
    ERR_clear_error();
    return NULL;
}

static int is_loaded(const struct stage *s, const EVP_CIPHER *c)
{
    return OSSL_PROVIDER_available(s->ctx, OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(c)));
}

/*
 * What OpenSSL says: from its memory, and to a query of the same meaning that it has not heard before. With other
 * threads amid fetches these differ. Such a thread keeps a provider active that is being unloaded, and the methods stay
 * when it is done; and where it has a method in hand while the provider is unloaded and loaded again, it makes OpenSSL
 * remember that one beside the new one.
 */
struct said {
    EVP_CIPHER *from_memory, *anew;
};

static struct said openssl_says(const struct stage *s, const char *cipher, const char *properties)
{
    static unsigned number;
    char unheard[64];

    snprintf(unheard, sizeof unheard, "%s%s?test.number=%u", properties != NULL ? properties : "",
             properties != NULL ? "," : "", number++);
    return (struct said){ EVP_CIPHER_fetch(s->ctx, cipher, properties), EVP_CIPHER_fetch(s->ctx, cipher, unheard) };
}

static void said_free(const struct said *said)
{
    EVP_CIPHER_free(said->from_memory);
    EVP_CIPHER_free(said->anew);
}

/* Whoever has loaded or unloaded a provider gets from the resolver what OpenSSL says then. */
static int as_openssl_says(const struct stage *s, AESOP_RESOLVER *r, const char *cipher, const char *properties)
{
    const struct said before = openssl_says(s, cipher, properties);
    EVP_CIPHER *answer = AESOP_RESOLVER_get1_cipher(r, cipher, properties);
    const struct said after = openssl_says(s, cipher, properties);
    const int right =
        answer == before.from_memory || answer == before.anew || answer == after.from_memory || answer == after.anew;

    said_free(&before);
    EVP_CIPHER_free(answer);
    said_free(&after);
    return right;
}

/*
 * How many answers are remembered, all of ciphers, whose provider is not loaded. OpenSSL counts a provider as unloaded
 * and tells the watcher under one lock: what is remembered still, is so under a generation of the past.
 */
static int stale_answers(const struct stage *s, const AESOP_RESOLVER *r)
{
    int stale = 0;

    for (size_t i = 0; i < r->answers->capacity; i++) {
        struct aesop_slot *slot = &r->answers->slots[i];
        const uint64_t generation = AESOP_RESOLVER_generation(r);
        const struct aesop_key any = { .words = 0 };
        uint64_t value;

        if (aesop_slot_read(&value, slot, &any, generation) && value != 0 &&
            !is_loaded(s, (const EVP_CIPHER *)(uintptr_t)value))
            stale += AESOP_RESOLVER_generation(r) == generation;
    }
    return stale;
}

static void change(struct stage *s, int round)
{
    AESOP_RESOLVER *const resolvers[] = { s->large, s->small };
    OSSL_PROVIDER *aesop = OSSL_PROVIDER_load(s->ctx, "aesop");

    if (!CHECK(aesop != NULL, "round %d", round))
        return;
    for (int i = 0; i < 2; i++) {
        const EVP_CIPHER *c = AESOP_RESOLVER_get0_cipher(resolvers[i], "AES-128-GCM", "provider=aesop");

        CHECK(c != NULL, "round %d: loaded, resolver %d", round, i);
        CHECK(as_openssl_says(s, resolvers[i], "AES-128-GCM", "?provider=aesop"), "round %d: loaded, resolver %d",
              round, i);
    }
    if (round % 3 == 0)
        AESOP_RESOLVER_flush(s->small);
    CHECK(AESOP_RESOLVER_set_constraints(resolvers[round % 2], round % 4 < 2 ? "AES keySize < 256" : "CBC"), "round %d",
          round);
    OSSL_PROVIDER_unload(aesop);
    for (int i = 0; i < 2; i++) {
        static const char *const queries[] = { "provider=aesop", "?provider=aesop" };

        for (int q = 0; q < 2; q++)
            CHECK(as_openssl_says(s, resolvers[i], "AES-128-GCM", queries[q]), "round %d: unloaded, resolver %d, %s",
                  round, i, queries[q]);
        CHECK(stale_answers(s, resolvers[i]) == 0, "round %d: resolver %d remembers what is unloaded", round, i);
    }
}

/* With nobody amid a fetch: what a fetch finds, and OpenSSL's memory only where that is of no provider loaded. */
static void check_quiet(const struct stage *s, AESOP_RESOLVER *r, const struct question *q)
{
    const struct said said = openssl_says(s, q->cipher, q->properties);
    const EVP_CIPHER *answer = AESOP_RESOLVER_get0_cipher(r, q->cipher, q->properties);

    CHECK(answer == said.anew || (said.anew != NULL && !is_loaded(s, said.anew) && answer == said.from_memory),
          "%s, %s", q->cipher, q->properties != NULL ? q->properties : "no properties");
    said_free(&said);
}

static void everything_at_once(void)
{
    struct stage s = { .ctx = support_ctx_default() };
    struct reader readers[READERS];
    pthread_t ids[READERS];
    const int rounds = support_long() ? 3000 : 100;
    const unsigned long enough = 1000;

    CU_ASSERT_TRUE(OSSL_PROVIDER_set_default_search_path(s.ctx, support_module_dir()));
    s.large = AESOP_RESOLVER_new(s.ctx, 0, 0, 0);
    s.small = AESOP_RESOLVER_new(s.ctx, 3, 0, 0);
    CU_ASSERT_TRUE_FATAL(s.large != NULL && s.small != NULL);
    for (int i = 0; i < READERS; i++) {
        readers[i] = (struct reader){ &s, support_seed() + (uint64_t)i };
        CU_ASSERT_EQUAL_FATAL(pthread_create(&ids[i], NULL, read_on, &readers[i]), 0);
    }
    /* A busy machine may let the readers wait. */
    for (int i = 0; i < rounds || atomic_load(&s.asked) < enough; i++)
        change(&s, i);
    atomic_store(&s.over, 1);
    for (int i = 0; i < READERS; i++)
        pthread_join(ids[i], NULL);
    CHECK(atomic_load(&s.wrong) == 0, "%lu of %lu answers are wrong (seed %llu)", atomic_load(&s.wrong),
          atomic_load(&s.asked), (unsigned long long)support_seed());
    ERR_clear_error();
    for (int i = 0; i < QUESTIONS; i++) {
        check_quiet(&s, s.large, &questions[i]);
        check_quiet(&s, s.small, &questions[i]);
    }
    ERR_clear_error();
    AESOP_RESOLVER_free(s.large);
    AESOP_RESOLVER_free(s.small);
    support_ctx_free(s.ctx);
}

/* ---- the table alone: one slot, two keys, and every value says to which key and stamp it belongs ---- */

struct table_stage {
    struct aesop_table *table;
    atomic_ulong stamp;
    atomic_int over;
    atomic_ulong looked_up, hits, torn;
};

static void number_key(struct aesop_key *key, uint64_t number)
{
    char text[40];

    aesop_key_start(key, 1);
    memset(text, 'a' + (int)(number % 26), sizeof text);
    aesop_key_add_text(key, text, sizeof text, 0);
    aesop_key_finish(key);
}

static uint64_t value_for(uint64_t number, uint64_t stamp)
{
    return number << 32 | stamp;
}

static void *look_up(void *arg)
{
    struct table_stage *s = arg;
    unsigned long hits = 0, torn = 0;
    struct aesop_key key;
    uint64_t value;

    for (uint64_t n = 0; !atomic_load_explicit(&s->over, memory_order_relaxed); n++) {
        const uint64_t stamp = atomic_load(&s->stamp);

        if (n % 1000 == 0)
            atomic_fetch_add_explicit(&s->looked_up, 1000, memory_order_relaxed);
        number_key(&key, n % 2);
        if (aesop_table_get(&value, s->table, &key, stamp)) {
            hits++;
            torn += value != value_for(n % 2, stamp);
        }
    }
    atomic_fetch_add(&s->hits, hits);
    atomic_fetch_add(&s->torn, torn);
    return NULL;
}

static void one_slot(void)
{
    struct table_stage s = { .table = aesop_table_new(1) };
    pthread_t ids[2];
    struct aesop_key key;
    const uint64_t count = support_long() ? 20000000 : 1000000;
    uint64_t n = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(s.table);
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&ids[i], NULL, look_up, &s), 0);
    for (; n < count || atomic_load_explicit(&s.looked_up, memory_order_relaxed) < count; n++) {
        const uint64_t stamp = n / 8 + 1;

        atomic_store(&s.stamp, stamp);
        number_key(&key, n % 2);
        aesop_table_put(s.table, &key, stamp, value_for(n % 2, stamp));
    }
    atomic_store(&s.over, 1);
    for (int i = 0; i < 2; i++)
        pthread_join(ids[i], NULL);
    CHECK(atomic_load(&s.torn) == 0, "%lu of %lu values belong to another key", atomic_load(&s.torn),
          atomic_load(&s.hits));
    CU_ASSERT_EQUAL(aesop_table_count(s.table, (n - 1) / 8 + 1), 1);
    aesop_table_free(s.table);
}

int main(int argc, char **argv)
{
    support_init(argc, argv);
    CU_pSuite suite = CU_add_suite("threads", NULL, NULL);
    CU_ADD_TEST(suite, everything_at_once);
    CU_ADD_TEST(suite, one_slot);
    return support_run();
}
