/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What does it cost to find an implementation, or to learn that an algorithm is permitted, from OpenSSL and from the
 * resolver, and do threads stand in each other's way?
 *
 * Nanoseconds per call and thread, by the clock on the wall, for 1, 2 and 4 threads that ask the same question at
 * once; "scale" is what they get done together, one thread being 1. Each figure is the median of short rounds, and
 * the questions take turns. Where there are CPUs enough, a round in which another process got one of them is
 * repeated. Under LD_PRELOAD=libaesop-fetch.so, fetches and inits show what that library does for them.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "aesop/resolver.h"
#include "bench/bench.h"

enum { THREADS_MAX = 64, ROUNDS_MAX = 1000, BATCH = 64, ATTEMPTS = 100 };

static OSSL_LIB_CTX *libctx;
static AESOP_RESOLVER *resolver, *full; /* the latter is always about to evict */
static AESOP_RESOLVER *own[THREADS_MAX];
static unsigned disturbed; /* rounds that never ran side by side */

/* ---- the questions; each asks it BATCH times ---- */

static void fetch_hit(unsigned thread)
{
    (void)thread;
    for (int i = 0; i < BATCH; i++)
        EVP_CIPHER_free(EVP_CIPHER_fetch(libctx, "AES-128-GCM", NULL));
}

static void fetch_miss(unsigned thread)
{
    (void)thread;
    for (int i = 0; i < BATCH; i++)
        EVP_CIPHER_free(EVP_CIPHER_fetch(libctx, "AES-128-OCB3", NULL));
}

/* A query that was not asked before, as often as it is possible to think of one. */
static const char *new_query(char query[32], unsigned thread)
{
    static _Thread_local unsigned long number;

    snprintf(query, 32, "?x=%lu", (unsigned long)thread << 40 | ++number);
    return query;
}

static void fetch_new_query(unsigned thread)
{
    char query[32];

    for (int i = 0; i < BATCH; i++)
        EVP_CIPHER_free(EVP_CIPHER_fetch(libctx, "AES-128-GCM", new_query(query, thread)));
}

static void get0_hit(unsigned thread)
{
    (void)thread;
    for (int i = 0; i < BATCH; i++)
        bench_check(AESOP_RESOLVER_get0_cipher(resolver, "AES-128-GCM", NULL) != NULL, "get0");
}

static void get0_hit_query(unsigned thread)
{
    (void)thread;
    for (int i = 0; i < BATCH; i++)
        bench_check(AESOP_RESOLVER_get0_cipher(resolver, "AES-128-GCM", "provider=default") != NULL, "get0");
}

/* Nothing that threads share: as far as this scales, so do the CPUs of this machine at this moment. */
static void get0_hit_own(unsigned thread)
{
    if (own[thread] == NULL)
        bench_check((own[thread] = AESOP_RESOLVER_new(libctx, 0, 0, 0)) != NULL, "AESOP_RESOLVER_new");
    for (int i = 0; i < BATCH; i++)
        bench_check(AESOP_RESOLVER_get0_cipher(own[thread], "AES-128-GCM", NULL) != NULL, "get0");
}

static void get1_hit(unsigned thread)
{
    (void)thread;
    for (int i = 0; i < BATCH; i++)
        EVP_CIPHER_free(AESOP_RESOLVER_get1_cipher(resolver, "AES-128-GCM", NULL));
}

static void get0_miss(unsigned thread)
{
    (void)thread;
    for (int i = 0; i < BATCH; i++)
        bench_check(AESOP_RESOLVER_get0_cipher(resolver, "AES-128-OCB3", NULL) == NULL, "get0");
}

static void get0_new_query(unsigned thread)
{
    char query[32];

    for (int i = 0; i < BATCH; i++)
        bench_check(AESOP_RESOLVER_get0_cipher(full, "AES-128-GCM", new_query(query, thread)) != NULL, "get0");
}

static void permits_cached(unsigned thread)
{
    (void)thread;
    for (int i = 0; i < BATCH; i++)
        bench_check(AESOP_RESOLVER_permits(resolver, 0, "TLS_AES_128_GCM_SHA256", 0, 128, 0), "permits");
}

/* Sizes that were not asked for before. */
static void permits_uncached(unsigned thread)
{
    static _Thread_local unsigned bits;

    for (int i = 0; i < BATCH; i++)
        bench_check(AESOP_RESOLVER_permits(full, thread & 0xff, "TLS_AES_128_GCM_SHA256", ++bits, 128, 0), "permits");
}

/* An init with a cipher that was fetched once, and with the constant of old, which fetches it each time. */
static void init(const EVP_CIPHER *cipher)
{
    static _Thread_local EVP_CIPHER_CTX *ctx;
    static const unsigned char key[16], iv[12];

    if (ctx == NULL)
        bench_check((ctx = EVP_CIPHER_CTX_new()) != NULL, "EVP_CIPHER_CTX_new");
    for (int i = 0; i < BATCH; i++)
        bench_check(EVP_EncryptInit_ex(ctx, cipher, NULL, key, iv), "init");
}

static void init_prefetched(unsigned thread)
{
    static _Thread_local EVP_CIPHER *cipher;

    (void)thread;
    if (cipher == NULL)
        bench_check((cipher = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL)) != NULL, "fetch");
    init(cipher);
}

static void init_constant(unsigned thread)
{
    (void)thread;
    init(EVP_aes_128_gcm());
}

/* own: a resolver for each thread; new: a query, or a size, that was not asked about before */
static const struct question {
    const char *name;
    void (*ask)(unsigned thread);
} questions[] = {
    { "fetch hit", fetch_hit },          { "fetch miss", fetch_miss },     { "fetch new", fetch_new_query },
    { "init fetched", init_prefetched }, { "init const", init_constant },  { "get0 hit", get0_hit },
    { "get0 own", get0_hit_own },        { "get0 query", get0_hit_query }, { "get0 miss", get0_miss },
    { "get0 new", get0_new_query },      { "get1 hit", get1_hit },         { "permits", permits_cached },
    { "permits new", permits_uncached },
};
enum { QUESTIONS = sizeof questions / sizeof questions[0] };

/* ---- rounds ---- */

struct round {
    const struct question *question;
    double seconds;
    atomic_uint missing; /* threads that have not come to the start; they wait for it awake */
};

struct asker {
    struct round *round;
    unsigned number;
    double begin, end;
    unsigned long count;
    long preempted;
};

static long times_preempted(void)
{
    struct rusage usage;

    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

static void *ask_for_a_while(void *arg)
{
    struct asker *a = arg;

    a->round->question->ask(a->number);
    atomic_fetch_sub(&a->round->missing, 1);
    while (atomic_load(&a->round->missing) != 0)
        continue;
    a->preempted = times_preempted();
    a->begin = bench_now();
    do {
        a->round->question->ask(a->number);
        a->count += BATCH;
        a->end = bench_now();
    } while (a->end - a->begin < a->round->seconds);
    a->preempted = times_preempted() - a->preempted;
    return NULL;
}

/*
 * ns per call and thread, from the first one's start to the last one's end; *together: they ran side by side all the
 * time.
 */
static double run_once(int *together, const struct question *question, unsigned threads, double seconds)
{
    struct round round = { .question = question, .seconds = seconds };
    struct asker askers[THREADS_MAX];
    pthread_t ids[THREADS_MAX];
    double begin = 0, end = 0, longest = 0;
    unsigned long count = 0;
    long preempted = 0;

    atomic_init(&round.missing, threads);
    for (unsigned i = 0; i < threads; i++) {
        askers[i] = (struct asker){ .round = &round, .number = i };
        bench_check(pthread_create(&ids[i], NULL, ask_for_a_while, &askers[i]) == 0, "pthread_create");
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        begin = i == 0 || askers[i].begin < begin ? askers[i].begin : begin;
        end = i == 0 || askers[i].end > end ? askers[i].end : end;
        longest = fmax(longest, askers[i].end - askers[i].begin);
        count += askers[i].count;
        preempted += askers[i].preempted;
    }
    *together = threads > sysconf(_SC_NPROCESSORS_ONLN) || (preempted == 0 && end - begin < 1.1 * longest);
    return (end - begin) * 1e9 * threads / (double)count;
}

/* With a CPU for each thread, rounds in which they did not all run from start to end are repeated. */
static double run_round(const struct question *question, unsigned threads, double seconds)
{
    double ns = 0;
    int together = 0;

    for (int i = 0; i < ATTEMPTS && !together; i++)
        ns = run_once(&together, question, threads, seconds);
    if (!together)
        disturbed++;
    return ns;
}

static void print_threads(const struct bench_list *threads, size_t rounds, double seconds)
{
    static double ns[QUESTIONS][BENCH_LIST_MAX][ROUNDS_MAX];

    for (size_t r = 0; r < rounds; r++)
        for (size_t q = 0; q < QUESTIONS; q++)
            for (size_t t = 0; t < threads->count; t++)
                ns[q][t][r] = run_round(&questions[q], (unsigned)threads->numbers[t], seconds);
    bench_row("question\tthreads\tns\tscale");
    for (size_t q = 0; q < QUESTIONS; q++) {
        double one = 0;

        for (size_t t = 0; t < threads->count; t++) {
            const double middle = bench_median(ns[q][t], rounds);

            if (t == 0)
                one = middle;
            bench_row("%s\t%zu\t%.1f\t%.2f", questions[q].name, threads->numbers[t], middle,
                      (double)threads->numbers[t] * one / middle);
        }
    }
}

/* ---- memory, and how well a little of it serves ---- */

/* Of 64 questions number k is asked with a probability of about 1 / k, as names in programs are. */
static unsigned skewed(uint64_t *state)
{
    static double sums[64];

    if (sums[0] == 0)
        for (int k = 0; k < 64; k++)
            sums[k] = (k > 0 ? sums[k - 1] : 0) + 1.0 / (k + 1);
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const double x = (double)(*state >> 11) / 9007199254740992.0 * sums[63];
    unsigned k = 0;
    while (sums[k] < x)
        k++;
    return k;
}

static void print_capacities(void)
{
    static const size_t capacities[] = { 1, 4, 16, 32, 64, 128, 1024 };

    bench_row("capacity\tbytes\tper entry\thit rate%%");
    for (size_t i = 0; i < sizeof capacities / sizeof capacities[0]; i++) {
        AESOP_RESOLVER *r = AESOP_RESOLVER_new(libctx, capacities[i], 0, AESOP_RESOLVER_NO_WATCH);
        AESOP_RESOLVER_STATS stats;
        uint64_t state = 1;
        const int asked = 20000;

        bench_check(r != NULL, "AESOP_RESOLVER_new");
        for (int n = 0; n < asked; n++) {
            char name[32];

            snprintf(name, sizeof name, "cipher-%u", skewed(&state));
            AESOP_RESOLVER_get0_cipher(r, name, NULL);
        }
        AESOP_RESOLVER_get_stats(r, &stats);
        bench_row("%zu\t%zu\t%zu\t%.1f", capacities[i], stats.bytes, stats.bytes / 2 / capacities[i],
                  100.0 * (1 - (double)stats.fetches / asked));
        AESOP_RESOLVER_free(r);
    }
}

int main(int argc, char **argv)
{
    static const struct bench_option options[] = {
        { "tables", "threads,memory", .words = "threads,memory", .list = 1 },
        { "threads", "1,2,4", .least = 1, .most = THREADS_MAX, .list = 1 },
        { "rounds", "31", .least = 1, .most = ROUNDS_MAX },
        { "microseconds", "300", "of a round", .least = 1, .most = 1000000 },
        { .name = NULL },
    };

    bench_init(argc, argv, "an implementation or a decision, from OpenSSL and from the resolver", options);
    const struct bench_list *tables = bench_list("tables");
    libctx = bench_ctx_default();
    resolver = AESOP_RESOLVER_new(libctx, 0, 0, 0);
    full = AESOP_RESOLVER_new(libctx, 16, 0, 0);
    bench_check(resolver != NULL && full != NULL, "AESOP_RESOLVER_new");
    bench_check(AESOP_RESOLVER_set_constraints(resolver, BENCH_CONSTRAINTS), "constraints");
    bench_check(AESOP_RESOLVER_set_constraints(full, BENCH_CONSTRAINTS), "constraints");
    for (size_t i = 0; i < tables->count; i++) {
        if (strcmp(tables->items[i], "threads") == 0)
            print_threads(bench_list("threads"), bench_number("rounds"), (double)bench_number("microseconds") * 1e-6);
        else
            print_capacities();
    }
    if (disturbed > 0)
        printf("# %u rounds were disturbed by other processes: scale is too low\n", disturbed);
    AESOP_RESOLVER_free(resolver);
    AESOP_RESOLVER_free(full);
    for (size_t i = 0; i < THREADS_MAX; i++)
        AESOP_RESOLVER_free(own[i]);
    OSSL_LIB_CTX_free(libctx);
    return 0;
}
