/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads, contexts that change threads in the middle of a message, fork while in use, concurrent loading. */
#include "support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/provider.h>

#if defined(__SANITIZE_ADDRESS__) /* gcc */
#define ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#define ADDRESS_SANITIZER __has_feature(address_sanitizer)
#else
#define ADDRESS_SANITIZER 0
#endif

#define THREADS 8
#define JOBS 60
#define MAX_TEXT 6000
#define CIPHERS 4

static const char *const cipher_names[CIPHERS] = { "AES-128-GCM", "AES-256-GCM", "AES-128-CBC", "AES-256-CBC" };

/* A message, and what default makes of it. Written before any thread starts. */
static struct job {
    unsigned which;
    unsigned char key[32], iv[16], text[MAX_TEXT], expected[MAX_TEXT + 16], tag[16];
    size_t len, expected_len;
} jobs[JOBS];

struct shared {
    OSSL_LIB_CTX *libctx;
    EVP_CIPHER *ciphers[CIPHERS];
    EVP_CIPHER_CTX *started; /* jobs[job] up to its middle */
    unsigned job;
    atomic_int stop;
    atomic_int failures;
};

struct worker {
    pthread_t thread;
    struct shared *shared;
    unsigned number;
};

static int is_gcm(const struct job *job)
{
    return job->which < CIPHERS / 2;
}

/* ---- one job ---- */

static int job_start(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, const struct job *job, int encrypt)
{
    return EVP_CipherInit_ex2(ctx, cipher, job->key, job->iv, encrypt, NULL);
}

/* Feeds the bytes from `from` to `to` of the job's input. */
static int job_feed(EVP_CIPHER_CTX *ctx, const struct job *job, int encrypt, unsigned char *out, size_t *out_len,
                    size_t from, size_t to)
{
    int len = 0, ok = EVP_CipherUpdate(ctx, out + *out_len, &len, (encrypt ? job->text : job->expected) + from,
                                       (int)(to - from));

    *out_len += (size_t)len;
    return ok;
}

/* Ends a message and compares out, which holds out_len bytes of it, from byte `skipped` on. */
static int job_end(EVP_CIPHER_CTX *ctx, const struct job *job, int encrypt, unsigned char *out, size_t out_len,
                   size_t skipped)
{
    const unsigned char *expected = (encrypt ? job->expected : job->text) + skipped;
    size_t expected_len = (encrypt ? job->expected_len : job->len) - skipped;
    unsigned char tag[16];
    int len;

    if (is_gcm(job) && !encrypt && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, (void *)job->tag) <= 0)
        return 0;
    if (!EVP_CipherFinal_ex(ctx, out + out_len, &len) || out_len + (size_t)len != expected_len ||
        memcmp(out, expected, expected_len) != 0)
        return 0;
    return !is_gcm(job) || !encrypt ||
           (EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag) > 0 && memcmp(tag, job->tag, 16) == 0);
}

static int job_run(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, const struct job *job, int encrypt, size_t split)
{
    unsigned char out[MAX_TEXT + 32];
    size_t out_len = 0, in_len = encrypt ? job->len : job->expected_len;

    if (split > in_len)
        split = in_len;
    return job_start(ctx, cipher, job, encrypt) && job_feed(ctx, job, encrypt, out, &out_len, 0, split) &&
           job_feed(ctx, job, encrypt, out, &out_len, split, in_len) && job_end(ctx, job, encrypt, out, out_len, 0);
}

static int make_jobs(void)
{
    OSSL_LIB_CTX *libctx = support_ctx_default();
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    struct support_random random;
    int ok = libctx != NULL && ctx != NULL;

    support_random_seed(&random, support_seed());
    for (unsigned i = 0; ok && i < JOBS; i++) {
        struct job *job = &jobs[i];
        EVP_CIPHER *cipher;
        int len = 0, final_len = 0;

        job->which = i % CIPHERS;
        job->len = support_random_below(&random, i % 3 == 0 ? 64 : MAX_TEXT);
        support_random_bytes(&random, job->key, sizeof job->key);
        support_random_bytes(&random, job->iv, sizeof job->iv);
        support_random_bytes(&random, job->text, job->len);
        cipher = EVP_CIPHER_fetch(libctx, cipher_names[job->which], NULL);
        ok = job_start(ctx, cipher, job, 1) && EVP_EncryptUpdate(ctx, job->expected, &len, job->text, (int)job->len) &&
             EVP_EncryptFinal_ex(ctx, job->expected + len, &final_len) &&
             (!is_gcm(job) || EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, job->tag) > 0);
        job->expected_len = (size_t)(len + final_len);
        EVP_CIPHER_free(cipher);
    }
    EVP_CIPHER_CTX_free(ctx);
    support_ctx_free(libctx);
    return ok;
}

/* ---- threads ---- */

static int shared_init(struct shared *shared, OSSL_LIB_CTX *libctx)
{
    int ok = 1;

    memset(shared, 0, sizeof *shared);
    shared->libctx = libctx;
    for (int i = 0; libctx != NULL && i < CIPHERS; i++) {
        shared->ciphers[i] = support_fetch(libctx, cipher_names[i], "aesop");
        ok &= shared->ciphers[i] != NULL;
    }
    return ok;
}

static void shared_free(struct shared *shared)
{
    for (int i = 0; i < CIPHERS; i++)
        EVP_CIPHER_free(shared->ciphers[i]);
}

static void start_workers(struct worker *workers, unsigned count, struct shared *shared, void *(*work)(void *))
{
    for (unsigned i = 0; i < count; i++) {
        workers[i].shared = shared;
        workers[i].number = i;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            perror("pthread_create");
            _exit(1);
        }
    }
}

static void join_workers(struct worker *workers, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        pthread_join(workers[i].thread, NULL);
}

static unsigned rounds(unsigned short_form)
{
    return support_long() ? 20 * short_form : short_form;
}

/* Random jobs on a context of its own, every eighth with a cipher that it fetches itself. */
static int random_jobs(struct shared *shared, unsigned number, unsigned count)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    struct support_random random;
    int failures = 0;

    support_random_seed(&random, support_seed() + number);
    for (unsigned i = 0; i < count && !shared->stop; i++) {
        const struct job *job = &jobs[support_random_below(&random, JOBS)];
        EVP_CIPHER *fetched = i % 8 == 0 ? EVP_CIPHER_fetch(shared->libctx, cipher_names[job->which], NULL) : NULL;
        const EVP_CIPHER *cipher = fetched != NULL ? fetched : shared->ciphers[job->which];
        size_t split = support_random_below(&random, job->len + 1);

        failures += !job_run(ctx, cipher, job, (int)support_random_below(&random, 2), split);
        EVP_CIPHER_free(fetched);
    }
    EVP_CIPHER_CTX_free(ctx);
    return failures;
}

static void *own_context(void *arg)
{
    struct worker *worker = arg;

    worker->shared->failures += random_jobs(worker->shared, worker->number, rounds(400));
    return NULL;
}

static void own_contexts(OSSL_LIB_CTX *libctx, const char *kernel)
{
    struct worker workers[THREADS];
    struct shared shared;

    (void)kernel;
    if (shared_init(&shared, libctx)) {
        start_workers(workers, THREADS, &shared, own_context);
        join_workers(workers, THREADS);
        CU_ASSERT_EQUAL(shared.failures, 0);
    }
    shared_free(&shared);
}

/* Duplicates the context that the main thread has started, and ends the message in this thread. */
static void *finish_copy(void *arg)
{
    struct worker *worker = arg;
    struct shared *shared = worker->shared;
    const struct job *job = &jobs[shared->job];
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    unsigned char out[MAX_TEXT + 32];
    size_t out_len = 0, half = job->len / 2, skipped = is_gcm(job) ? half : half / 16 * 16;

    shared->failures +=
        !(EVP_CIPHER_CTX_copy(ctx, shared->started) && job_feed(ctx, job, 1, out, &out_len, half, job->len) &&
          job_end(ctx, job, 1, out, out_len, skipped));
    EVP_CIPHER_CTX_free(ctx);
    return NULL;
}

static void copies(OSSL_LIB_CTX *libctx, const char *kernel)
{
    struct worker workers[THREADS];
    unsigned char out[MAX_TEXT + 32];
    struct shared shared;
    int ok;

    (void)kernel;
    ok = shared_init(&shared, libctx);
    shared.started = EVP_CIPHER_CTX_new();
    for (unsigned round = 0; ok && round < rounds(JOBS); round++) {
        const struct job *job = &jobs[round % JOBS];
        size_t out_len = 0;

        shared.job = round % JOBS;
        ok = job_start(shared.started, shared.ciphers[job->which], job, 1) &&
             job_feed(shared.started, job, 1, out, &out_len, 0, job->len / 2);
        start_workers(workers, THREADS, &shared, finish_copy);
        join_workers(workers, THREADS);
        /* The original has not noticed. */
        ok = ok && job_feed(shared.started, job, 1, out, &out_len, job->len / 2, job->len) &&
             job_end(shared.started, job, 1, out, out_len, 0);
    }
    CU_ASSERT(ok);
    CU_ASSERT_EQUAL(shared.failures, 0);
    EVP_CIPHER_CTX_free(shared.started);
    shared_free(&shared);
}

static void *until_stopped(void *arg)
{
    struct worker *worker = arg;

    worker->shared->failures += random_jobs(worker->shared, worker->number, UINT32_MAX);
    return NULL;
}

/* In the child of a fork: 0 if the message that the parent had started ends well, and others do from start to end. */
static int child(struct shared *shared, unsigned char *out, size_t out_len)
{
    const struct job *job = &jobs[shared->job];

    alarm(60); /* a deadlock shall fail the test, not stop it */
    if (!job_feed(shared->started, job, 1, out, &out_len, job->len / 2, job->len) ||
        !job_end(shared->started, job, 1, out, out_len, 0))
        return 1;
    /* Nothing is fetched: another thread may have held libcrypto's lock when the process was split. */
    for (unsigned i = 0; i < JOBS; i++)
        if (!job_run(shared->started, shared->ciphers[jobs[i].which], &jobs[i], (int)i % 2, 100))
            return 2;
    return 0;
}

static void forks(OSSL_LIB_CTX *libctx, const char *kernel)
{
    struct worker workers[THREADS / 2];
    unsigned char out[MAX_TEXT + 32];
    struct shared shared;

    if (shared_init(&shared, libctx)) {
        shared.started = EVP_CIPHER_CTX_new();
        start_workers(workers, THREADS / 2, &shared, until_stopped);
        for (unsigned round = 0; round < rounds(12); round++) {
            const struct job *job = &jobs[round % JOBS];
            size_t out_len = 0;
            int status = -1;
            pid_t pid;

            shared.job = round % JOBS;
            CU_ASSERT(job_start(shared.started, shared.ciphers[job->which], job, 1));
            CU_ASSERT(job_feed(shared.started, job, 1, out, &out_len, 0, job->len / 2));
            pid = fork();
            if (pid == 0)
                _exit(child(&shared, out, out_len));
            /* The parent ends the same message. */
            CU_ASSERT(job_feed(shared.started, job, 1, out, &out_len, job->len / 2, job->len));
            CU_ASSERT(job_end(shared.started, job, 1, out, out_len, 0));
            CU_ASSERT_FATAL(pid > 0 && waitpid(pid, &status, 0) == pid);
            if (status != 0)
                printf("    %s: the child of round %u ended with status 0x%x\n", kernel, round, (unsigned)status);
            CU_ASSERT_EQUAL(status, 0);
        }
        shared.stop = 1;
        join_workers(workers, THREADS / 2);
        CU_ASSERT_EQUAL(shared.failures, 0);
        EVP_CIPHER_CTX_free(shared.started);
    }
    shared_free(&shared);
}

/*
 * Loads the module into a library context of this thread alone, uses it, unloads it. Not by a configuration file:
 * OpenSSL 3.0 keeps a list of those without a lock.
 */
static void *load_and_unload(void *arg)
{
    struct worker *worker = arg;

    for (unsigned round = 0; round < rounds(15); round++) {
        const struct job *job = &jobs[(worker->number + round) % JOBS];
        OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();
        OSSL_PROVIDER *aesop, *fallback;
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        EVP_CIPHER *cipher;

        OSSL_PROVIDER_set_default_search_path(libctx, support_module_dir());
        aesop = OSSL_PROVIDER_load(libctx, "aesop");
        fallback = OSSL_PROVIDER_load(libctx, "default");
        cipher = EVP_CIPHER_fetch(libctx, cipher_names[job->which], "provider=aesop");
        worker->shared->failures += !(aesop != NULL && fallback != NULL && cipher != NULL &&
                                      job_run(ctx, cipher, job, 1, 50) && job_run(ctx, cipher, job, 0, 500));
        EVP_CIPHER_CTX_free(ctx);
        EVP_CIPHER_free(cipher);
        if (aesop != NULL)
            OSSL_PROVIDER_unload(aesop);
        if (fallback != NULL)
            OSSL_PROVIDER_unload(fallback);
        OSSL_LIB_CTX_free(libctx);
    }
    return NULL;
}

static void test_own_contexts(void)
{
    support_each_kernel(NULL, own_contexts);
}

static void test_copies(void)
{
    support_each_kernel(NULL, copies);
}

static void test_forks(void)
{
    if (ADDRESS_SANITIZER)
        support_skip("fork while threads work", "AddressSanitizer's malloc does not survive it, with default either");
    else
        support_each_kernel(NULL, forks);
}

static void test_load_and_unload(void)
{
    struct worker workers[THREADS];
    struct shared shared;

    shared_init(&shared, NULL);
    start_workers(workers, THREADS, &shared, load_and_unload);
    join_workers(workers, THREADS);
    CU_ASSERT_EQUAL(shared.failures, 0);
}

static int suite_init(void)
{
    return !make_jobs();
}

static CU_TestInfo tests[] = {
    { "8 threads, own contexts", test_own_contexts },
    { "contexts copied into 8 threads mid-message", test_copies },
    { "fork while 4 threads work", test_forks },
    { "load and unload in 8 threads", test_load_and_unload },
    CU_TEST_INFO_NULL,
};

int main(int argc, char **argv)
{
    CU_SuiteInfo suites[] = { { "threads", suite_init, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL };

    return support_main(argc, argv, suites);
}
