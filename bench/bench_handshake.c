/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What do constraints cost a TLS handshake, evaluated each time and from memory, with plenty of memory and with
 * hardly any? What does libaesop-fetch.so do for handshakes?
 *
 * Client and server share a thread and shake hands through memory. Each row is measured by a process of its own, in
 * which the policies take turns with the same contexts, so that they differ in nothing else: one thread by its CPU
 * time, several by the clock on the wall. Handshakes per second without constraints, and the ratios to that (above 1 is
 * faster).
 */
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/err.h>

#include "aesop/resolver.h"
#include "bench/bench.h"
#include "bench/evaluating_policy.h"
#include "tls_pair.h"

enum { POLICIES = 3, THREADS_MAX = 16, ROUNDS_MAX = 201, SLICES_MAX = 8000, HANDSHAKES_MIN = 6, CAPACITY_SMALL = 16 };

/* ---- one handshake ---- */

struct scene {
    const struct tls_settings *settings;
    const struct tls_identity *identity;
    OSSL_LIB_CTX *libctx;
    AESOP_RESOLVER *resolver; /* NULL: no constraints, and OpenSSL's own callback */
    int (*callback)(const SSL *, const SSL_CTX *, int, int, int, void *, void *);
    int resumed, anew;
    SSL_CTX *client, *server;
    SSL_SESSION *session;
};

static void constrain(SSL_CTX *ctx, const struct scene *s)
{
    SSL_CTX_set_security_callback(ctx, s->callback);
    SSL_CTX_set0_security_ex_data(ctx, s->resolver);
}

static SSL_CTX *context(const struct scene *s, const struct tls_identity *identity)
{
    SSL_CTX *ctx = tls_context(s->libctx, s->settings, identity);

    bench_check(ctx != NULL, "context");
    return ctx;
}

static void shake_hands(const struct scene *s, SSL_SESSION **session)
{
    SSL_CTX *client = s->anew ? context(s, NULL) : s->client, *server = s->anew ? context(s, s->identity) : s->server;
    /* A session ends with a connection that is not closed by an alert: each gets a copy. */
    SSL_SESSION *copy = s->session != NULL ? SSL_SESSION_dup(s->session) : NULL;
    struct tls_pair pair;

    if (s->anew) {
        constrain(client, s);
        constrain(server, s);
    }
    bench_check(tls_pair_open(&pair, client, server, copy), "handshake");
    bench_check(SSL_session_reused(pair.client) == (s->session != NULL), "resumption");
    if (session != NULL)
        *session = SSL_SESSION_dup(SSL_get_session(pair.client));
    tls_pair_close(&pair);
    SSL_SESSION_free(copy);
    if (s->anew) {
        SSL_CTX_free(client);
        SSL_CTX_free(server);
    }
}

/* The kept contexts are everybody's. */
static void impose(const struct scene *s)
{
    constrain(s->client, s);
    constrain(s->server, s);
}

static void run_handshakes(void *arg, size_t count)
{
    impose(arg);
    for (size_t i = 0; i < count; i++)
        shake_hands(arg, NULL);
}

/* The first scene gets contexts and session, the others have the same. */
static void prepare(struct scene *s, const struct scene *first)
{
    if (s != first) {
        s->client = first->client;
        s->server = first->server;
        s->session = first->session;
        return;
    }
    s->client = context(s, NULL);
    s->server = context(s, s->identity);
    if (s->resolver == NULL)
        s->callback = SSL_CTX_get_security_callback(s->client);
    impose(s);
    if (s->resumed)
        shake_hands(s, &s->session);
}

/* ---- a process that measures one row ---- */

static struct tls_identity make_identity(OSSL_LIB_CTX *libctx, const char *key)
{
    EVP_PKEY *pkey = strcmp(key, "rsa") == 0 ? EVP_PKEY_Q_keygen(libctx, NULL, "RSA", (size_t)2048)
                                             : EVP_PKEY_Q_keygen(libctx, NULL, "EC", "P-256");
    struct tls_identity identity = { 0 };

    bench_check(pkey != NULL && tls_identity_make_with(&identity, libctx, pkey), "certificate");
    EVP_PKEY_free(pkey);
    return identity;
}

struct thread {
    struct scene *scene;
    double seconds;
    unsigned long count;
    double begin, end;
};

static void *shake_for_a_while(void *arg)
{
    struct thread *t = arg;

    t->begin = bench_now();
    do {
        shake_hands(t->scene, NULL);
        t->count++;
        t->end = bench_now();
    } while (t->end - t->begin < t->seconds);
    OPENSSL_thread_stop();
    return NULL;
}

/* Handshakes per second of all threads together. */
static double rate_of_threads(struct scene *scene, unsigned threads, double seconds)
{
    struct thread all[THREADS_MAX];
    pthread_t ids[THREADS_MAX];
    double rate = 0;

    impose(scene);
    for (unsigned i = 0; i < threads; i++) {
        all[i] = (struct thread){ .scene = scene, .seconds = seconds };
        bench_check(pthread_create(&ids[i], NULL, shake_for_a_while, &all[i]) == 0, "pthread_create");
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        rate += (double)all[i].count / (all[i].end - all[i].begin);
    }
    return rate;
}

static void measure_threads(struct scene scenes[], size_t count, unsigned threads)
{
    static double rates[POLICIES][ROUNDS_MAX], ratios[POLICIES][ROUNDS_MAX];
    size_t rounds = 0;

    for (const double end = bench_now() + bench_seconds(); rounds < ROUNDS_MAX && (rounds < 5 || bench_now() < end);
         rounds++)
        for (size_t i = 0; i < count; i++) {
            rates[i][rounds] = rate_of_threads(&scenes[i], threads, 0.02);
            ratios[i][rounds] = rates[i][rounds] / rates[0][rounds];
        }
    printf("row %.1f", bench_median(rates[0], rounds));
    for (size_t i = 1; i < count; i++)
        printf(" %.4f", bench_median(ratios[i], rounds));
    printf("\n");
}

/*
 * Slices of a millisecond or some handshakes, so that a policy's memory is in the caches as if it held always, and in
 * an order that changes. Of each policy the faster half counts, since what disturbs only makes slower: a full
 * handshake takes 5 % more or less from one time to the next, and policies differ by less than one.
 */
static void measure_thread(struct scene scenes[], size_t count)
{
    static double times[POLICIES][SLICES_MAX];
    struct bench_subject subjects[POLICIES];
    double fast[POLICIES] = { 0 };
    size_t rounds = 0, handshakes;
    uint64_t random = 1;

    for (size_t i = 0; i < count; i++)
        subjects[i] = (struct bench_subject){ .run = run_handshakes, .arg = &scenes[i] };
    handshakes = (size_t)fmax(1e6 / bench_once(&subjects[0], 10), HANDSHAKES_MIN);
    for (const double end = bench_now() + bench_seconds(); rounds < SLICES_MAX && (rounds < 5 || bench_now() < end);
         rounds++) {
        size_t order[POLICIES] = { 0 };

        for (size_t i = 1; i < count; i++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            const size_t j = (size_t)(random >> 33) % (i + 1);
            order[i] = order[j];
            order[j] = i;
        }
        for (size_t i = 0; i < count; i++)
            times[order[i]][rounds] = bench_once(&subjects[order[i]], handshakes);
    }
    for (size_t i = 0; i < count; i++) {
        bench_median(times[i], rounds); /* sorts them */
        for (size_t n = 0; n < (rounds + 1) / 2; n++)
            fast[i] += times[i][n] / (double)((rounds + 1) / 2);
    }
    printf("row %.1f", 1e9 / fast[0]);
    for (size_t i = 1; i < count; i++)
        printf(" %.4f", fast[0] / fast[i]);
    printf("\n");
}

static int measure_row(void)
{
    const int tls13 = strcmp(bench_text("version"), "1.3") == 0;
    const int rsa = strcmp(bench_text("key"), "rsa") == 0;
    const unsigned threads = (unsigned)bench_number("threads");
    const rlim_t limit = bench_number("limit");
    const size_t choice = bench_number("policy");
    const size_t first = choice == 0 ? 0 : choice - 1, policies = choice == 0 ? POLICIES : 1;
    const struct tls_suite suite = { .name = tls13 ? "TLS_AES_128_GCM_SHA256"
                                             : rsa ? "ECDHE-RSA-AES128-GCM-SHA256"
                                                   : "ECDHE-ECDSA-AES128-GCM-SHA256" };
    const struct tls_settings settings = { .version = tls13 ? TLS1_3_VERSION : TLS1_2_VERSION,
                                           .suite = &suite,
                                           .etm = 1 };
    struct scene scenes[POLICIES];

    if (limit != 0)
        bench_check(setrlimit(RLIMIT_AS, &(struct rlimit){ limit, limit }) == 0, "setrlimit");
    OSSL_LIB_CTX *libctx = bench_ctx_default();
    struct tls_identity identity = make_identity(libctx, rsa ? "rsa" : "ecdsa");
    for (size_t i = 0; i < policies; i++) {
        const size_t policy = first + i;

        scenes[i] = (struct scene){
            .settings = &settings,
            .identity = &identity,
            .libctx = libctx,
            .callback = policy == 1 ? evaluating_security_callback : AESOP_RESOLVER_security_callback,
            .resumed = strcmp(bench_text("session"), "resumed") == 0,
            .anew = strcmp(bench_text("context"), "anew") == 0,
        };
        if (policy > 0) {
            /* Constraints have nothing to do with providers, so none need be watched. */
            scenes[i].resolver = AESOP_RESOLVER_new(libctx, bench_number("capacity"), 0, AESOP_RESOLVER_NO_WATCH);
            bench_check(scenes[i].resolver != NULL &&
                            AESOP_RESOLVER_set_constraints(scenes[i].resolver, BENCH_CONSTRAINTS),
                        "constraints");
            if (policy == 1)
                evaluating_prepare(scenes[i].resolver);
        }
        prepare(&scenes[i], &scenes[0]);
        run_handshakes(&scenes[i], 3);
    }
    if (threads > 1)
        measure_threads(scenes, policies, threads);
    else
        measure_thread(scenes, policies);
    return 0;
}

/* ---- the process that asks for rows ---- */

struct row {
    const char *version, *key, *session, *context, *threads;
    const char *policy;
    size_t capacity, limit;
    const char *preload; /* NULL: without */
    double seconds;
};

/* Fills rate (handshakes per second, then ratios to that). Returns 0 where the process failed. */
static int ask(double rate[POLICIES], const struct row *r)
{
    char command[2 * PATH_MAX], self[PATH_MAX], line[256];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    int found = 0;

    bench_check(n > 0, "readlink");
    self[n] = '\0';
    snprintf(command, sizeof command,
             "%s%s '%s' --row 1 --version %s --key %s --session %s --context %s --threads %s --policy %s "
             "--capacity %zu --limit %zu --seconds %g%s",
             r->preload != NULL ? "LD_PRELOAD=" : "", r->preload != NULL ? r->preload : "", self, r->version, r->key,
             r->session, r->context, r->threads, r->policy, r->capacity, r->limit, r->seconds,
             r->limit > 0 ? " 2>/dev/null" : ""); /* without memory it says much */
    FILE *answer = popen(command, "r");
    bench_check(answer != NULL, "popen");
    while (fgets(line, sizeof line, answer) != NULL)
        if (sscanf(line, "row %lf %lf %lf", &rate[0], &rate[1], &rate[2]) >= 1)
            found = 1;
    return pclose(answer) == 0 && found;
}

/* The n-th combination of what the options list, NULL after the last. */
static const struct row *combination(size_t n)
{
    static struct row row;
    static const struct {
        const char *name, **value;
    } lists[] = { { "session", &row.session },
                  { "key", &row.key },
                  { "version", &row.version },
                  { "context", &row.context },
                  { "threads", &row.threads } };

    row = (struct row){ .policy = "all", .seconds = bench_seconds() };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const struct bench_list *list = bench_list(lists[i].name);

        *lists[i].value = list->items[n % list->count];
        n /= list->count;
    }
    return n == 0 ? &row : NULL;
}

static void print_policies(void)
{
    const struct row *r;
    double rate[POLICIES];

    bench_row("version\tkey\tsession\tcontext\tthreads\tnone\tevaluated\tcached");
    for (size_t n = 0; (r = combination(n)) != NULL; n++) {
        bench_check(ask(rate, r), "the process of a row");
        bench_row("%s\t%s\t%s\t%s\t%s\t%.0f\t%.3f\t%.3f", r->version, r->key, r->session, r->context, r->threads,
                  rate[0], rate[1], rate[2]);
    }
}

/* The dynamic linker goes on without what it cannot load. */
static void check_preload(const char *library)
{
    if (access(library, R_OK) != 0 || strpbrk(library, " :'") != NULL)
        bench_refuse("preload", library, "a file that can be read, without blanks, colons and quotes in its path");
}

/* With and without in turn; the best of each, for what disturbs only makes slower. */
static void print_preload(const char *library, unsigned repeats)
{
    const struct row *r;

    bench_row("version\tkey\tsession\tcontext\tthreads\tstock\tpreload\tratio");
    for (size_t n = 0; (r = combination(n)) != NULL; n++) {
        struct row row = *r;
        double best[2] = { 0, 0 }, rate[POLICIES];

        row.policy = "none";
        row.seconds /= 2;
        for (unsigned i = 0; i < 2 * repeats; i++) {
            row.preload = i % 2 == 1 ? library : NULL;
            bench_check(ask(rate, &row), "the process of a row");
            best[i % 2] = fmax(best[i % 2], rate[0]);
        }
        bench_row("%s\t%s\t%s\t%s\t%s\t%.0f\t%.0f\t%.3f", r->version, r->key, r->session, r->context, r->threads,
                  best[0], best[1], best[1] / best[0]);
    }
}

enum { MEMORY_STEP = 256 * 1024 };

static int works_each_time(const struct row *r, unsigned repeats)
{
    double rate[POLICIES];

    for (unsigned n = 0; n < repeats; n++)
        if (!ask(rate, r))
            return 0;
    return 1;
}

/*
 * The least RLIMIT_AS, in steps, under which handshakes without constraints work each time, and for as long as they are
 * measured: libssl takes more with the first hundreds of them, and not always the same.
 */
static size_t least_memory(struct row row, unsigned repeats)
{
    size_t fails = 0, works = (size_t)256 * 1024 * 1024;

    row.policy = "none";
    row.seconds = bench_seconds() / 3;
    while (works - fails > MEMORY_STEP) {
        row.limit = (fails + works) / 2 / MEMORY_STEP * MEMORY_STEP;
        if (works_each_time(&row, repeats))
            works = row.limit;
        else
            fails = row.limit;
    }
    return works;
}

/* Each policy in a process of its own, which has the memory for itself; in turn, the best of each. */
static void print_limit(const struct row *r, const char *name, unsigned repeats)
{
    static const char *const policies[POLICIES] = { "none", "evaluated", "cached" };
    double best[POLICIES] = { 0 }, rate[POLICIES];
    char ratios[2][16], limit[16];

    for (unsigned n = 0; n < repeats; n++)
        for (size_t i = 0; i < POLICIES; i++) {
            struct row row = *r;

            row.policy = policies[i];
            if (ask(rate, &row) && rate[0] > best[i])
                best[i] = rate[0];
        }
    for (size_t i = 0; i < 2; i++)
        snprintf(ratios[i], sizeof ratios[i], best[i + 1] > 0 ? "%.3f" : "failed", best[i + 1] / best[0]);
    snprintf(limit, sizeof limit, r->limit > 0 ? "%.1f" : "-", (double)r->limit / 1048576);
    bench_row("%s\t%s\t%s\t%s\t%s\t%.0f\t%s\t%s", r->session, r->version, r->context, name, limit, best[0], ratios[0],
              ratios[1]);
}

/* Resumption x version x memory, one thread and the first key, with no more than a few decisions remembered. */
static void print_memory(unsigned repeats)
{
    static const struct {
        const char *name;
        double factor; /* of the least that works, 0: no limit */
    } limits[] = { { "least", 1 }, { "1.25 x", 1.25 }, { "2 x", 2 }, { "no limit", 0 } };
    const struct row *r;
    const char *key = combination(0)->key, *threads = combination(0)->threads;

    bench_row("session\tversion\tcontext\tmemory\tMiB\tnone\tevaluated\tcached");
    for (size_t n = 0; (r = combination(n)) != NULL; n++) {
        if (strcmp(r->key, key) != 0 || strcmp(r->threads, threads) != 0)
            continue;
        const size_t least = least_memory(*r, 2 * repeats);

        for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
            const struct row row = { .version = r->version,
                                     .key = r->key,
                                     .session = r->session,
                                     .context = r->context,
                                     .threads = r->threads,
                                     .capacity = CAPACITY_SMALL,
                                     .seconds = bench_seconds() / 3,
                                     .limit = (size_t)(limits[i].factor * (double)least) };

            print_limit(&row, limits[i].name, repeats);
        }
    }
}

int main(int argc, char **argv)
{
    static const struct bench_option options[] = {
        { "tables", "policy,memory,preload", .words = "policy,memory,preload", .list = 1 },
        { "version", "1.2,1.3", .words = "1.2,1.3", .list = 1 },
        { "key", "ecdsa,rsa", .words = "ecdsa,rsa", .list = 1 },
        { "session", "full,resumed", .words = "full,resumed", .list = 1 },
        { "context", "kept,anew", "an SSL_CTX for all handshakes or for each", .words = "kept,anew", .list = 1 },
        { "threads", "1,2", .least = 1, .most = THREADS_MAX, .list = 1 },
        { "preload", AESOP_FETCH_LIBRARY, .says = "the library" },
        { "repeats", "3", "of processes that are compared", .least = 1, .most = 100 },
        /* What it starts itself with */
        { "row", "0", "1 measures one row in this process, the first values of the lists", .most = 1 },
        { "policy", "all", .words = "all,none,evaluated,cached" },
        { "capacity", "0", "of the resolver; 0 is its own choice", .most = 65536 },
        { "limit", "0", "bytes of address space; 0 is none", .most = 1e15 },
        { .name = NULL },
    };

    bench_init(argc, argv, "TLS handshakes: constraints, memory, preloaded fetches", options);
    if (bench_number("row") == 1)
        return measure_row();
    const unsigned repeats = (unsigned)bench_number("repeats");
    const struct bench_list *tables = bench_list("tables");
    for (size_t i = 0; i < tables->count; i++)
        if (strcmp(tables->items[i], "preload") == 0)
            check_preload(bench_text("preload"));
    for (size_t i = 0; i < tables->count; i++) {
        if (strcmp(tables->items[i], "policy") == 0)
            print_policies();
        else if (strcmp(tables->items[i], "memory") == 0)
            print_memory(repeats);
        else
            print_preload(bench_text("preload"), repeats);
    }
    return 0;
}
