/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of libaesop-fetch.so, linked into this program and so in front of libcrypto's, in many threads: while
 * providers come and go, and with library contexts that are made and freed. Meant for the sanitizers; what programs see
 * is apps/preload.sh's matter. And what cannot be seen from without: callers, forks amid a fetch, memory that fails,
 * what is left of a context.
 */
#include "check.h"
#include "scarce.h"
#include "support.h"

#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/core_dispatch.h>
#include <openssl/err.h>
#include <openssl/kdf.h>
#include <openssl/provider.h>

enum { THREADS = 4 };

struct stage {
    OSSL_LIB_CTX *ctx;
    atomic_int over;
    atomic_ulong asked, wrong;
};

static int served_by(EVP_CIPHER *cipher, const char *provider)
{
    return cipher != NULL && strcmp(OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher)), provider) == 0;
}

/* One after the other all that the library stands before, in a context that others change at this moment. */
static unsigned long ask(OSSL_LIB_CTX *ctx)
{
    static const unsigned char key[16], iv[16];
    unsigned long wrong = 0;
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(ctx, "AES-128-GCM", "provider=default");
    EVP_CIPHER *either = EVP_CIPHER_fetch(ctx, "AES-128-GCM", "?provider=aesop");
    EVP_CIPHER *none = EVP_CIPHER_fetch(ctx, "no-such-cipher", NULL);
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    EVP_MD_CTX *m = EVP_MD_CTX_new();

    wrong += !served_by(cipher, "default");
    wrong += !served_by(either, "default") && !served_by(either, "aesop");
    wrong += none != NULL || ERR_GET_REASON(ERR_peek_last_error()) != ERR_R_UNSUPPORTED;
    ERR_clear_error();
    wrong += EVP_EncryptInit_ex(c, EVP_aes_128_cbc(), NULL, key, iv) != 1 ||
             EVP_EncryptInit_ex(c, cipher, NULL, key, iv) != 1;
    wrong += EVP_DigestInit_ex(m, EVP_sha256(), NULL) != 1 || EVP_MD_CTX_get0_md(m) != EVP_sha256();
    wrong += !EVP_MD_CTX_test_flags(m, 0x40000000); /* a method was handed in */
    EVP_CIPHER_CTX_free(c);
    EVP_MD_CTX_free(m);
    EVP_CIPHER_free(cipher);
    EVP_CIPHER_free(either);
    return wrong;
}

/* In the context of all, and now and then in one of its own. */
static void *go_on_asking(void *arg)
{
    struct stage *s = arg;
    unsigned long wrong = 0;

    while (!atomic_load_explicit(&s->over, memory_order_relaxed)) {
        wrong += ask(s->ctx);
        if (atomic_fetch_add(&s->asked, 1) % 64 == 0) {
            OSSL_LIB_CTX *own = OSSL_LIB_CTX_new();

            for (int i = 0; i < 3; i++)
                wrong += ask(own);
            OSSL_LIB_CTX *before = OSSL_LIB_CTX_set0_default(own);
            wrong += ask(NULL);
            OSSL_LIB_CTX_set0_default(before);
            OSSL_LIB_CTX_free(own);
        }
    }
    atomic_fetch_add(&s->wrong, wrong);
    OPENSSL_thread_stop();
    return NULL;
}

static void everything_at_once(void)
{
    struct stage s = { .ctx = support_ctx_default() };
    const unsigned long least = support_long() ? 100000 : 2000;
    pthread_t ids[THREADS];

    CU_ASSERT_TRUE_FATAL(s.ctx != NULL && OSSL_PROVIDER_set_default_search_path(s.ctx, support_module_dir()));
    for (int i = 0; i < THREADS; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&ids[i], NULL, go_on_asking, &s), 0);
    for (int i = 0; i < 100 || atomic_load(&s.asked) < least; i++) {
        OSSL_PROVIDER *aesop = OSSL_PROVIDER_load(s.ctx, "aesop");
        EVP_CIPHER *cipher = EVP_CIPHER_fetch(s.ctx, "AES-256-CBC", "provider=aesop");

        CHECK(served_by(cipher, "aesop"), "round %d", i);
        EVP_CIPHER_free(cipher);
        OSSL_PROVIDER_unload(aesop);
    }
    atomic_store(&s.over, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    CHECK(atomic_load(&s.wrong) == 0, "%lu of %lu answers are wrong", atomic_load(&s.wrong), atomic_load(&s.asked));
    support_ctx_free(s.ctx);
}

/* ---- callers ---- */

#if defined(__x86_64__) && defined(DLFO_STRUCT_HAS_EH_DBASE)
enum { APART = 4 << 20, PAGE = 4096 };
static unsigned char *far_apart;
static atomic_ulong callers_looked_up;

/* The linker puts it in the place of _dl_find_object, by which the library finds whose code calls. */
int __real__dl_find_object(void *address, struct dl_find_object *found);
int __wrap__dl_find_object(void *address, struct dl_find_object *found);

int __wrap__dl_find_object(void *address, struct dl_find_object *found)
{
    if (far_apart != NULL && (uintptr_t)address - (uintptr_t)far_apart < APART + PAGE)
        atomic_fetch_add(&callers_looked_up, 1);
    return __real__dl_find_object(address, found);
}

typedef EVP_MD *call_through(OSSL_LIB_CTX *ctx, const char *name, const char *properties,
                             EVP_MD *(*function)(OSSL_LIB_CTX *, const char *, const char *));

/* Code that calls from pages of its own, which are any number of 4 MiB apart: each is looked up once. */
static void callers_far_apart(void)
{
    enum { CALLS = 1000 };
    static const unsigned char code[] = { 0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3 };
    call_through *call[2];

    far_apart = mmap(NULL, APART + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CU_ASSERT_TRUE_FATAL(far_apart != MAP_FAILED);
    for (size_t i = 0; i < 2; i++) {
        unsigned char *page = far_apart + i * APART;

        CU_ASSERT_EQUAL_FATAL(mprotect(page, PAGE, PROT_READ | PROT_WRITE), 0);
        memcpy(page, code, sizeof code);
        CU_ASSERT_EQUAL_FATAL(mprotect(page, PAGE, PROT_READ | PROT_EXEC), 0);
        memcpy(&call[i], &page, sizeof page);
    }
    for (size_t i = 0; i < CALLS; i++) {
        EVP_MD *md = call[i % 2](NULL, "SHA256", NULL, EVP_MD_fetch);

        CU_ASSERT_PTR_NOT_NULL(md);
        EVP_MD_free(md);
    }
    /* Twice where it comes to stand where the other stood. */
    CHECK(callers_looked_up >= 2 && callers_looked_up <= 4, "%lu look-ups for two callers", callers_looked_up);
    munmap(far_apart, APART + PAGE);
}
#else
static void callers_far_apart(void)
{
    support_skip("callers far apart", "the test is for x86-64 and glibc 2.35 or later");
}
#endif

/* ---- forks ---- */

/* A thread that stops when it has taken its lock of that number, until the forking one wants that, or has forked. */
struct holder {
    int number, taken;
    pthread_mutex_t *held;
    OSSL_LIB_CTX *ctx;
    pthread_t forking;
    sem_t holds, may_go_on;
};
static struct holder *_Atomic holder;
static _Thread_local int is_holder;

/* The linker puts it in the place of pthread_mutex_lock in the library, and in this program. */
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    struct holder *h = atomic_load(&holder);
    int result;

    if (h != NULL && pthread_equal(h->forking, pthread_self()) && h->held == mutex)
        sem_post(&h->may_go_on);
    result = __real_pthread_mutex_lock(mutex);
    if (is_holder && h->taken++ == h->number) {
        h->held = mutex;
        sem_post(&h->holds);
        sem_wait(&h->may_go_on);
    }
    return result;
}

static void *hold(void *arg)
{
    struct holder *h = arg;

    is_holder = 1;
    EVP_KDF_free(EVP_KDF_fetch(h->ctx, "HKDF", "?fork=parent"));
    is_holder = 0;
    return NULL;
}

/* A child asks what is new to the library, whatever lock another thread of its parent had at that moment. */
static void forks_amid_a_fetch(void)
{
    enum { LOCKS = 2, SECONDS = 10 };

    for (int i = 0; i < LOCKS; i++) {
        struct holder h = { .number = i, .ctx = support_ctx_default(), .forking = pthread_self() };
        pthread_t id;
        pid_t child;
        int status;

        EVP_KDF_free(EVP_KDF_fetch(h.ctx, "HKDF", NULL));
        sem_init(&h.holds, 0, 0);
        sem_init(&h.may_go_on, 0, 0);
        atomic_store(&holder, &h);
        CU_ASSERT_EQUAL_FATAL(pthread_create(&id, NULL, hold, &h), 0);
        sem_wait(&h.holds);
        child = fork();
        if (child == 0) {
            alarm(SECONDS);
            /* Not by _exit, where ThreadSanitizer takes the parent's threads for leaks. */
            syscall(SYS_exit_group, EVP_KDF_fetch(h.ctx, "HKDF", "?fork=child") == NULL);
        }
        sem_post(&h.may_go_on); /* where nobody wanted a lock */
        pthread_join(id, NULL);
        atomic_store(&holder, NULL);
        CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
        CHECK(status == 0, "lock %d: the child's status is %#x", i, status);
        CHECK(h.taken == LOCKS, "a fetch takes %d locks", h.taken);
        sem_destroy(&h.holds);
        sem_destroy(&h.may_go_on);
        support_ctx_free(h.ctx);
    }
}

/* ---- memory that fails ---- */

/* Whatever allocation of libcrypto fails, once or from then on: afterwards the answer is libcrypto's own. */
static void memory_fails(void)
{
    EVP_MD *(*original)(OSSL_LIB_CTX * ctx, const char *name, const char *properties);
    void *symbol = dlsym(RTLD_NEXT, "EVP_MD_fetch");

    CU_ASSERT_PTR_NOT_NULL_FATAL(symbol);
    memcpy(&original, &symbol, sizeof symbol);
    for (fails_once = 0; fails_once < 2; fails_once++) {
        allocations_failed = 1;
        for (long n = 0; n < 500 && allocations_failed; n++) {
            OSSL_LIB_CTX *ctx = support_ctx_default();
            EVP_MD *ours, *theirs;

            /* Digests are there: libcrypto leaks where it fails to make methods. */
            EVP_MD_free(EVP_MD_fetch(ctx, "SHA1", NULL));
            allocations_failed = 0;
            allocations_left = n;
            EVP_MD_free(EVP_MD_fetch(ctx, "sha256", "?provider=default"));
            allocations_left = -1;
            ERR_clear_error();
            theirs = original(ctx, "sha256", "?provider=default");
            ours = EVP_MD_fetch(ctx, "sha256", "?provider=default");
            CHECK(ours != NULL && ours == theirs, "allocation %ld, %s", n, fails_once ? "once" : "and all later ones");
            EVP_MD_free(ours);
            EVP_MD_free(theirs);
            ERR_clear_error();
            support_ctx_free(ctx);
        }
        CU_ASSERT_FALSE(allocations_failed);
    }
}

/* ---- a libcrypto that says no, and then yes ---- */

static int questions, refusals, teardowns;

static void *kdf_new(void *provctx)
{
    return provctx;
}

static void kdf_free(void *kdf)
{
    (void)kdf;
}

static int kdf_derive(void *kdf, unsigned char *key, size_t key_len, const OSSL_PARAM params[])
{
    (void)kdf, (void)key, (void)key_len, (void)params;
    return 0;
}

static const OSSL_ALGORITHM *query(void *provctx, int operation, int *no_cache)
{
    static const OSSL_DISPATCH kdf[] = {
        { OSSL_FUNC_KDF_NEWCTX, (void (*)(void))kdf_new },
        { OSSL_FUNC_KDF_FREECTX, (void (*)(void))kdf_free },
        { OSSL_FUNC_KDF_DERIVE, (void (*)(void))kdf_derive },
        { 0, NULL },
    };
    static const OSSL_ALGORITHM algorithms[] = { { "FICKLE", "provider=fickle", kdf, "" }, { NULL, NULL, NULL, NULL } };

    (void)provctx;
    *no_cache = 1;
    if (operation != OSSL_OP_KDF)
        return NULL;
    questions++;
    return questions > refusals ? algorithms : NULL;
}

static void teardown(void *provctx)
{
    (void)provctx;
    teardowns++;
}

static int fickle_init(const OSSL_CORE_HANDLE *core, const OSSL_DISPATCH *in, const OSSL_DISPATCH **out, void **provctx)
{
    static const OSSL_DISPATCH functions[] = { { OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))query },
                                               { OSSL_FUNC_PROVIDER_TEARDOWN, (void (*)(void))teardown },
                                               { 0, NULL } };

    (void)in;
    *out = functions;
    *provctx = (void *)core;
    return 1;
}

/* That there is no such algorithm is remembered where libcrypto says so twice running. */
static void misses_are_said_twice(void)
{
    static const struct {
        int refusals, found, questions; /* found at once; questions after two fetches */
    } cases[] = { { 0, 1, 1 }, { 1, 1, 2 }, { 2, 0, 2 }, { 100, 0, 2 } };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        OSSL_LIB_CTX *ctx = OSSL_LIB_CTX_new();
        OSSL_PROVIDER *fickle = NULL;

        if (OSSL_PROVIDER_add_builtin(ctx, "fickle", fickle_init))
            fickle = OSSL_PROVIDER_load(ctx, "fickle");
        CU_ASSERT_PTR_NOT_NULL_FATAL(fickle);
        questions = 0;
        refusals = cases[i].refusals;
        for (int again = 0; again < 2; again++) {
            EVP_KDF *kdf = EVP_KDF_fetch(ctx, "FICKLE", NULL);

            CHECK((kdf != NULL) == cases[i].found, "%d refusals", refusals);
            CHECK((ERR_peek_error() == 0) == cases[i].found, "%d refusals", refusals);
            ERR_clear_error();
            EVP_KDF_free(kdf);
        }
        CHECK(questions == cases[i].questions, "%d refusals, %d questions", refusals, questions);
        OSSL_PROVIDER_unload(fickle);
        OSSL_LIB_CTX_free(ctx);
    }
}

/* ---- library contexts ---- */

/* What is remembered of a context goes with it: a method more would keep its provider. */
static void contexts_leave_nothing(void)
{
    OSSL_LIB_CTX *ctx = OSSL_LIB_CTX_new();
    OSSL_PROVIDER *fickle;
    EVP_KDF *kdf;

    CU_ASSERT_TRUE_FATAL(OSSL_PROVIDER_add_builtin(ctx, "fickle", fickle_init));
    fickle = OSSL_PROVIDER_load(ctx, "fickle");
    refusals = teardowns = 0;
    kdf = EVP_KDF_fetch(ctx, "FICKLE", NULL);
    CU_ASSERT_PTR_NOT_NULL(kdf);
    EVP_KDF_free(kdf);
    OSSL_PROVIDER_unload(fickle);
    CU_ASSERT_EQUAL(teardowns, 0);
    OSSL_LIB_CTX_free(ctx);
    CU_ASSERT_EQUAL(teardowns, 1);
}

/* NULL is the thread's context, which another NULL leaves as it is. */
static void contexts_of_a_thread(void)
{
    OSSL_LIB_CTX *ctx = OSSL_LIB_CTX_new(), *before;
    OSSL_PROVIDER *fickle;

    CU_ASSERT_TRUE_FATAL(OSSL_PROVIDER_add_builtin(ctx, "fickle", fickle_init));
    fickle = OSSL_PROVIDER_load(ctx, "fickle");
    refusals = 0;
    /* Remembered of the other context, if not the first time: that may be libcrypto's first work there. */
    for (int again = 0; again < 2; again++) {
        ERR_clear_error();
        CU_ASSERT_PTR_NULL(EVP_KDF_fetch(NULL, "FICKLE", NULL));
    }
    ERR_clear_error();
    before = OSSL_LIB_CTX_set0_default(ctx);
    for (int again = 0; again < 2; again++) {
        EVP_KDF *kdf = EVP_KDF_fetch(NULL, "FICKLE", NULL);

        CHECK(kdf != NULL, "round %d", again);
        EVP_KDF_free(kdf);
        CU_ASSERT_PTR_EQUAL(OSSL_LIB_CTX_set0_default(NULL), ctx);
    }
    OSSL_LIB_CTX_set0_default(before);
    CU_ASSERT_PTR_NULL(EVP_KDF_fetch(NULL, "FICKLE", NULL));
    ERR_clear_error();
    OSSL_PROVIDER_unload(fickle);
    OSSL_LIB_CTX_free(ctx);
}

int main(int argc, char **argv)
{
    const int scarce = scarce_install();

    support_init(argc, argv);
    CU_pSuite threads = CU_add_suite("threads", NULL, NULL);
    CU_ADD_TEST(threads, everything_at_once);
    CU_pSuite callers = CU_add_suite("callers", NULL, NULL);
    CU_ADD_TEST(callers, callers_far_apart);
    CU_pSuite forks = CU_add_suite("forks", NULL, NULL);
    CU_ADD_TEST(forks, forks_amid_a_fetch);
    CU_pSuite misses = CU_add_suite("misses", NULL, NULL);
    CU_ADD_TEST(misses, misses_are_said_twice);
    CU_pSuite contexts = CU_add_suite("contexts", NULL, NULL);
    CU_ADD_TEST(contexts, contexts_leave_nothing);
    CU_ADD_TEST(contexts, contexts_of_a_thread);
    CU_pSuite memory = CU_add_suite("memory", NULL, NULL);
    if (scarce)
        CU_ADD_TEST(memory, memory_fails);
    else
        support_skip("memory that fails", "libcrypto allocated already");
    return support_run();
}
