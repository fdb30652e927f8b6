/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libaesop-fetch.so, for LD_PRELOAD: stands between a program and libcrypto and answers EVP_..._fetch, and the fetch
 * hidden in EVP_...Init_ex with EVP_aes_128_gcm() and its like, from memory. What it does not know it asks libcrypto.
 *
 * Unlike the resolver of libaesop it loads no provider to watch what changes (which would change whom OpenSSL prefers
 * among equals): the calls that change something pass through here. It is not linked with libcrypto either, so that a
 * program without OpenSSL, or with one of its own inside, gets none; its symbols bear the version of libcrypto's, so
 * that programs of another release do not meet it. Callers that have a libcrypto under another name are passed on to
 * that.
 *
 * State is global because the program knows nothing of it.
 */
#define OPENSSL_SUPPRESS_DEPRECATED /* programs call deprecated functions too */

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/conf.h>
#include <openssl/core_dispatch.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/objects.h>
#include <openssl/provider.h>

#include "cache/table.h"

/* Not in the headers of every release, nor in every libcrypto: from 3.2 on, and up to 3.x. */
int OPENSSL_atexit(void (*handler)(void));
OSSL_PROVIDER *OSSL_PROVIDER_load_ex(OSSL_LIB_CTX *libctx, const char *name, OSSL_PARAM *params);
OSSL_PROVIDER *OSSL_PROVIDER_try_load_ex(OSSL_LIB_CTX *libctx, const char *name, OSSL_PARAM *params,
                                         int retain_fallbacks);

enum {
    CAPACITY = 2048,
    REFUSALS_MAX = 512,
    ERRORS_MAX = 4,
    PROBE_BYTES = 256, /* whether there is memory */
    CIPHER_OF_POINTER = 254,
    DIGEST_OF_POINTER = 255,
    PAGE_BITS = 12,
    CALLERS_BITS = 10,
    CALLERS = 1 << CALLERS_BITS,
    COPIES_MAX = 32,
};

#define TEXT_OF(macro) TEXT(macro)
#define TEXT(x) #x
#define LIBCRYPTO "libcrypto.so." TEXT_OF(OPENSSL_SHLIB_VERSION)

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- libcrypto's own functions ----
 *
 * A process may have several: wheels of Python bring one along, under a name of its own. The dynamic linker goes by
 * name and version of a symbol alone, so their users come here too.
 */

#define ORIGINALS(_) \
    _(EVP_EncryptInit_ex) \
    _(EVP_EncryptInit_ex2) \
    _(EVP_DecryptInit_ex) \
    _(EVP_DecryptInit_ex2) \
    _(EVP_CipherInit_ex) \
    _(EVP_CipherInit_ex2) \
    _(EVP_DigestInit_ex) \
    _(EVP_DigestInit_ex2) \
    _(EVP_CIPHER_get0_provider) \
    _(EVP_CIPHER_get_nid) \
    _(EVP_MD_CTX_get0_md) \
    _(EVP_MD_CTX_get1_md) \
    _(EVP_MD_CTX_md) \
    _(EVP_MD_CTX_set_flags) \
    _(EVP_MD_CTX_clear_flags) \
    _(EVP_MD_CTX_test_flags) \
    _(EVP_MD_get0_provider) \
    _(EVP_MD_get_type) \
    _(OBJ_nid2sn) \
    _(CRYPTO_malloc) \
    _(CRYPTO_free) \
    _(ERR_peek_error) \
    _(ERR_get_error_all) \
    _(ERR_new) \
    _(ERR_set_debug) \
    _(ERR_set_error) \
    _(OPENSSL_atexit) \
    _(OPENSSL_cleanup) \
    _(OPENSSL_init_crypto) \
    _(OSSL_PROVIDER_load) \
    _(OSSL_PROVIDER_load_ex) \
    _(OSSL_PROVIDER_try_load) \
    _(OSSL_PROVIDER_try_load_ex) \
    _(OSSL_PROVIDER_unload) \
    _(OSSL_LIB_CTX_free) \
    _(OSSL_LIB_CTX_load_config) \
    _(OSSL_LIB_CTX_set0_default) \
    _(EVP_set_default_properties) \
    _(EVP_default_properties_enable_fips) \
    _(CONF_modules_load) \
    _(CONF_modules_load_file) \
    _(CONF_modules_load_file_ex) \
    _(CONF_modules_unload)

/* What there is to do with a kind of method. */
struct operation {
    void *(*fetch)(OSSL_LIB_CTX *libctx, const char *algorithm, const char *properties);
    int (*up_ref)(void *method);
    void (*free)(void *method);
};
enum { CIPHER, DIGEST, MAC, KDF, RAND, KEYMGMT, KEM, KEYEXCH, SIGNATURE, ASYM_CIPHER, KINDS };
static const char *const kinds[KINDS] = { "EVP_CIPHER",  "EVP_MD",  "EVP_MAC",     "EVP_KDF",       "EVP_RAND",
                                          "EVP_KEYMGMT", "EVP_KEM", "EVP_KEYEXCH", "EVP_SIGNATURE", "EVP_ASYM_CIPHER" };

struct originals {
#define POINTER(name) __typeof__(&name) name;
    ORIGINALS(POINTER)
#undef POINTER
    struct operation operations[KINDS];
    atomic_int cleaned_up;
};

/* The first is the one that we answer for. Each is there from when it is known which library of the process it is. */
static struct originals copies[COPIES_MAX];
static struct link_map *_Atomic maps[COPIES_MAX];
static struct originals *const libcrypto = &copies[0];
static struct aesop_table *answers;

/*
 * Whose calls come from a page: its number << 8 | place in copies[], 0: nothing yet. A page belongs to one library. Its
 * place is that of its last bits, so that the pages of a library stand side by side, or, where another's stands there,
 * one elsewhere.
 */
static _Atomic uint64_t callers[CALLERS];

static inline _Atomic uint64_t *first_place(uint64_t page)
{
    return &callers[page % CALLERS];
}

static inline _Atomic uint64_t *second_place(uint64_t page)
{
    return &callers[page * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CALLERS_BITS)];
}

/* dlsym's answer is data to C, so it is copied into the pointer to a function. */
static void look_up(void *pointer, void *handle, const char *name, const char *suffix)
{
    char symbol[64];
    void *address;

    snprintf(symbol, sizeof symbol, "%s%s", name, suffix);
    address = dlsym(handle, symbol);
    memcpy(pointer, &address, sizeof address);
}

/* The library that the address lies in, or NULL. */
static struct link_map *map_of(const void *address)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE /* from glibc 2.35 on; dladdr goes through all symbols of the library */
    struct dl_find_object found;

    return _dl_find_object((void *)address, &found) == 0 ? found.dlfo_link_map : NULL;
#else
    Dl_info info;
    struct link_map *map;

    return dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 ? map : NULL;
#endif
}

static void load_originals(struct originals *o, void *handle)
{
#define LOOK_UP(name) look_up(&o->name, handle, #name, "");
    ORIGINALS(LOOK_UP)
#undef LOOK_UP
    for (size_t i = 0; i < KINDS; i++) {
        look_up(&o->operations[i].fetch, handle, kinds[i], "_fetch");
        look_up(&o->operations[i].up_ref, handle, kinds[i], "_up_ref");
        look_up(&o->operations[i].free, handle, kinds[i], "_free");
    }
}

/*
 * For whoever writes to what is here, the table of answers apart. It is none to ask the dynamic linker under: that has
 * a lock of its own, and holds it while constructors run, which may call us.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A fork waits until no other thread has a lock: it would stay locked in the child. */
static void before_fork(void)
{
    pthread_mutex_lock(&lock);
    if (answers != NULL)
        pthread_mutex_lock(&answers->lock);
}

static void after_fork(void)
{
    if (answers != NULL)
        pthread_mutex_unlock(&answers->lock);
    pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}

/*
 * Notes that libcrypto at that place or behind, unless it is noted. Returns where; COPIES_MAX: nowhere.
 * Takes over the handle, by which what is noted stays in memory.
 */
static size_t add_copy(size_t i, void *handle, struct link_map *map)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct originals o = { 0 };
    int is_new;

    pthread_once(&once, watch_forks);
    load_originals(&o, handle);
    pthread_mutex_lock(&lock);
    while (i < COPIES_MAX && maps[i] != NULL && maps[i] != map)
        i++;
    is_new = i < COPIES_MAX && maps[i] == NULL;
    if (is_new) {
        copies[i] = o;
        if (i == 0)
            answers = aesop_table_new(CAPACITY); /* where there is no memory nothing is remembered */
        maps[i] = map;
    }
    pthread_mutex_unlock(&lock);
    if (!is_new)
        dlclose(handle);
    return i;
}

/*
 * The function of that name that the caller would have called without us, or NULL. We are the caller where a function
 * of libcrypto that we called ends in a call of another one.
 */
static void *function_without_us(const char *name, const void *caller)
{
    const struct link_map *map = map_of(caller);
    void *handle = NULL, *function = NULL;

    /* A library sees what it is linked with. The program itself sees all that was loaded with it, us too. */
    if (map != NULL && *map->l_name != '\0')
        handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (handle != NULL) {
        function = dlsym(handle, name);
        dlclose(handle);
    }
    if (function != NULL && map_of(function) == map_of(copies))
        return NULL;
    return function != NULL ? function : dlsym(RTLD_NEXT, name);
}

/* NULL where the caller has none, and there is no LIBCRYPTO either. */
static struct originals *find_originals(const void *caller)
{
    static const char any[] = "EVP_CIPHER_fetch";
    const uint64_t page = (uintptr_t)caller >> PAGE_BITS;
    size_t i = 0;
    void *handle;
    struct link_map *map;
    uint64_t there;

    /* Whoever calls us has it loaded, but perhaps where only its own modules see it. */
    if (maps[0] == NULL && (handle = dlopen(LIBCRYPTO, RTLD_LAZY | RTLD_NOLOAD)) != NULL &&
        (map = map_of(dlsym(handle, any))) != NULL)
        add_copy(0, handle, map);
    map = map_of(function_without_us(any, caller));
    if (map != NULL) {
        while (i < COPIES_MAX && maps[i] != map)
            i++;
        if (i == COPIES_MAX && (handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD)) != NULL)
            i = add_copy(1, handle, map);
    }
    if (i == COPIES_MAX || maps[i] == NULL)
        return NULL;
    there = atomic_load_explicit(first_place(page), memory_order_relaxed);
    atomic_store_explicit(there == 0 || there >> 8 == page ? first_place(page) : second_place(page), page << 8 | i,
                          memory_order_release);
    return &copies[i];
}

static __attribute__((noinline)) struct originals *require_originals(const void *caller)
{
    const uint64_t page = (uintptr_t)caller >> PAGE_BITS;
    uint64_t known = atomic_load_explicit(first_place(page), memory_order_acquire);
    struct originals *found;

    if (known >> 8 != page)
        known = atomic_load_explicit(second_place(page), memory_order_acquire);
    if (known >> 8 == page)
        return &copies[known & 0xff];
    found = find_originals(caller);
    if (found == NULL) {
        fprintf(stderr, "libaesop-fetch: this process calls OpenSSL but has no " LIBCRYPTO "\n");
        abort();
    }
    return found;
}

/* What whoever calls would have called without us: libcrypto, or another for which nothing is remembered. */
static inline struct originals *originals_for(const void *caller)
{
    const uint64_t page = (uintptr_t)caller >> PAGE_BITS;
    const uint64_t known = atomic_load_explicit(first_place(page), memory_order_acquire);

    return known == page << 8 ? libcrypto : require_originals(caller);
}

static int count_unloaded(struct dl_phdr_info *info, size_t size, void *count)
{
    (void)size;
    *(unsigned long long *)count = info->dlpi_subs;
    return 1;
}

/* Where a library was the next may be, with another libcrypto: once one is unloaded, nothing is known of callers. */
int dlclose(void *handle)
{
    static _Atomic(unsigned long long) unloaded_before;
    unsigned long long unloaded = 0;
    int (*original)(void *handle), result;

    look_up(&original, RTLD_NEXT, "dlclose", "");
    result = original(handle);
    dl_iterate_phdr(count_unloaded, &unloaded);
    if (unloaded != unloaded_before) {
        for (size_t i = 0; i < CALLERS; i++)
            atomic_store_explicit(&callers[i], 0, memory_order_relaxed);
        unloaded_before = unloaded;
    }
    return result;
}

/*
 * When the process ends the C library calls OPENSSL_cleanup once for each copy, without a word which: those that are
 * not ours, the last first, and then ours. NULL: one that we have never met.
 */
static struct originals *originals_to_clean_up(const void *caller)
{
    size_t i = COPIES_MAX - 1;

    if (map_of(caller) == map_of(dlsym(RTLD_NEXT, "exit")))
        while (i > 0 && (maps[i] == NULL || atomic_exchange(&copies[i].cleaned_up, 1)))
            i--;
    else
        i = 0;
    return i > 0 ? &copies[i] : find_originals(caller);
}

/*
 * Other copies are called last thing, by a jump (hence -O2 in every build): where they jump to another of our functions
 * it is still their user that calls.
 */
#define OF_CALLER originals_for(__builtin_return_address(0))

/* ---- what is remembered ----
 *
 * A value of the table is a method, to which we have a reference, or a refusal with bit 0 set.
 */

/* The errors that a failed fetch leaves, to be raised again. */
struct refusal {
    size_t count;
    struct {
        unsigned long code;
        char *file, *function, *data;
        int line;
    } errors[ERRORS_MAX];
};

static _Atomic uint64_t generation = 1;
static _Thread_local __attribute__((tls_model("initial-exec"))) OSSL_LIB_CTX *thread_default; /* NULL: the global one */

static struct kept {
    OSSL_LIB_CTX *libctx;
    const struct operation *operation;
    void *method;
} * kept;
static size_t kept_count, kept_room;
static struct refusal refusals[REFUSALS_MAX];
static size_t refusal_count;
static atomic_int at_exit; /* 0, 1: release is registered, 2: it has run and nothing is kept any more */

/* Takes one out that belongs to the context. */
static int take_kept(struct kept *taken, OSSL_LIB_CTX *libctx, int all)
{
    size_t i = 0;
    int found;

    pthread_mutex_lock(&lock);
    while (i < kept_count && !all && kept[i].libctx != libctx)
        i++;
    found = i < kept_count;
    if (found) {
        *taken = kept[i];
        kept[i] = kept[--kept_count];
    }
    if (all)
        at_exit = 2;
    pthread_mutex_unlock(&lock);
    return found;
}

/* Without the lock while freeing: a provider that goes with its last method may free a library context of its own. */
static void release(OSSL_LIB_CTX *libctx, int all)
{
    struct kept k = { 0 };

    atomic_fetch_add(&generation, 1);
    while (take_kept(&k, libctx, all))
        k.operation->free(k.method);
}

static void release_all(void)
{
    release(NULL, 1);
}

/* Takes a reference to the method unless there is one. Returns 0 where the method cannot be kept. */
static int keep(OSSL_LIB_CTX *libctx, const struct operation *operation, void *method)
{
    size_t i = 0;
    int ok, no = 0;

    /* 3.x cleans up when the process ends, 4.0 where the program asks for it. It asks the linker: without the lock. */
    if (at_exit == 0 && (libcrypto->OPENSSL_atexit == NULL || libcrypto->OPENSSL_atexit(release_all)))
        atomic_compare_exchange_strong(&at_exit, &no, 1);
    pthread_mutex_lock(&lock);
    ok = at_exit == 1;
    while (i < kept_count && kept[i].method != method)
        i++;
    if (ok && i == kept_count) {
        if (i == kept_room) {
            struct kept *more = realloc(kept, (2 * i + 16) * sizeof *more);

            if (more != NULL) {
                kept = more;
                kept_room = 2 * i + 16;
            }
        }
        ok = i < kept_room && operation->up_ref(method);
        if (ok)
            kept[kept_count++] = (struct kept){ libctx, operation, method };
    }
    pthread_mutex_unlock(&lock);
    return ok;
}

static char *copy(const char *text)
{
    return text == NULL || *text == '\0' ? NULL : strdup(text);
}

static int same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static int same_refusal(const struct refusal *a, const struct refusal *b)
{
    int same = a->count == b->count;

    for (size_t i = 0; same && i < a->count; i++)
        same = a->errors[i].code == b->errors[i].code && a->errors[i].line == b->errors[i].line &&
               same_text(a->errors[i].file, b->errors[i].file) &&
               same_text(a->errors[i].function, b->errors[i].function) &&
               same_text(a->errors[i].data, b->errors[i].data);
    return same;
}

static void refusal_clear(struct refusal *r)
{
    for (size_t i = 0; i < r->count; i++) {
        free(r->errors[i].file);
        free(r->errors[i].function);
        free(r->errors[i].data);
    }
}

static void raise_again(const struct refusal *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const unsigned long code = r->errors[i].code;

        libcrypto->ERR_new();
        libcrypto->ERR_set_debug(r->errors[i].file, r->errors[i].line, r->errors[i].function);
        libcrypto->ERR_set_error(ERR_GET_LIB(code), ERR_GET_REASON(code), r->errors[i].data != NULL ? "%s" : NULL,
                                 r->errors[i].data);
    }
}

/*
 * Takes the errors of a fetch out of the queue, which was empty before, and puts them back. Returns what is
 * remembered of them, or NULL where they are not such that the same question will fail again.
 */
static const struct refusal *record_refusal(void)
{
    struct refusal r = { 0 };
    const struct refusal *recorded = NULL;
    const char *file, *function, *data;
    unsigned long code;
    int line, flags, lasting = 0;
    size_t i = 0;
    void *memory;

    while (r.count < ERRORS_MAX && (code = libcrypto->ERR_get_error_all(&file, &line, &function, &data, &flags)) != 0) {
        r.errors[r.count].code = code;
        r.errors[r.count].line = line;
        r.errors[r.count].file = copy(file);
        r.errors[r.count].function = copy(function);
        r.errors[r.count].data = (flags & ERR_TXT_STRING) != 0 ? copy(data) : NULL;
        lasting = ERR_GET_LIB(code) == ERR_LIB_EVP && ERR_GET_REASON(code) == ERR_R_UNSUPPORTED;
        r.count++;
    }
    memory = libcrypto->CRYPTO_malloc(PROBE_BYTES, __FILE__, __LINE__);
    lasting = lasting && memory != NULL && libcrypto->ERR_peek_error() == 0;
    libcrypto->CRYPTO_free(memory, __FILE__, __LINE__);
    raise_again(&r);
    pthread_mutex_lock(&lock);
    while (lasting && i < refusal_count && !same_refusal(&refusals[i], &r))
        i++;
    if (lasting && i < refusal_count) {
        recorded = &refusals[i];
        refusal_clear(&r);
    } else if (lasting && i < REFUSALS_MAX) {
        refusals[refusal_count++] = r;
        recorded = &refusals[i];
    } else {
        refusal_clear(&r);
    }
    pthread_mutex_unlock(&lock);
    return recorded;
}

/* ---- fetching ---- */

static void clear_errors(void)
{
    while (libcrypto->ERR_get_error_all(NULL, NULL, NULL, NULL, NULL) != 0)
        continue;
}

/* The long way, with libcrypto; remembers its answer under the key unless that is NULL. */
static __attribute__((noinline)) void *fetch_anew(const struct operation *operation, OSSL_LIB_CTX *libctx,
                                                  const char *algorithm, const char *properties,
                                                  const struct aesop_key *key, uint64_t stamp)
{
    const int no_errors = libcrypto->ERR_peek_error() == 0;
    void *method = operation->fetch(libctx, algorithm, properties);

    if (key == NULL)
        return method;
    /* Where memory fails libcrypto may say that there is no such algorithm: only who says so twice knows. */
    if (method == NULL && no_errors) {
        clear_errors();
        method = operation->fetch(libctx, algorithm, properties);
    }
    if (method != NULL) {
        if (keep(libctx != NULL ? libctx : thread_default, operation, method))
            aesop_table_put(answers, key, stamp, (uintptr_t)method);
    } else if (no_errors) {
        const struct refusal *refusal = record_refusal();

        if (refusal != NULL)
            aesop_table_put(answers, key, stamp, (uintptr_t)refusal | 1);
    }
    return method;
}

static inline void *fetch(const struct originals *o, size_t kind, OSSL_LIB_CTX *libctx, const char *algorithm,
                          const char *properties)
{
    const struct operation *operation = &o->operations[kind];
    const uint64_t stamp = atomic_load_explicit(&generation, memory_order_acquire);
    struct aesop_key key;
    uint64_t value;
    int has_key = algorithm != NULL;

    if (o != libcrypto)
        return operation->fetch(libctx, algorithm, properties);
    aesop_key_start(&key, kind + 1);
    aesop_key_add_number(&key, (uintptr_t)(libctx != NULL ? libctx : thread_default));
    has_key = has_key && answers != NULL &&
              aesop_key_add_text(&key, algorithm, strlen(algorithm), AESOP_FOLD_NOTHING) &&
              (properties == NULL || aesop_key_add_text(&key, properties, strlen(properties), AESOP_FOLD_NOTHING));
    aesop_key_finish(&key);
    if (has_key && aesop_table_get(&value, answers, &key, stamp)) {
        if ((value & 1) != 0) {
            raise_again((const struct refusal *)(uintptr_t)(value - 1));
            return NULL;
        }
        if (operation->up_ref((void *)(uintptr_t)value))
            return (void *)(uintptr_t)value;
    }
    return fetch_anew(operation, libctx, algorithm, properties, has_key ? &key : NULL, stamp);
}

#define FETCH(TYPE, kind) \
    TYPE *TYPE##_fetch(OSSL_LIB_CTX *libctx, const char *algorithm, const char *properties) \
    { \
        return fetch(OF_CALLER, kind, libctx, algorithm, properties); \
    }

FETCH(EVP_CIPHER, CIPHER)
FETCH(EVP_MD, DIGEST)
FETCH(EVP_MAC, MAC)
FETCH(EVP_KDF, KDF)
FETCH(EVP_RAND, RAND)
FETCH(EVP_KEYMGMT, KEYMGMT)
FETCH(EVP_KEM, KEM)
FETCH(EVP_KEYEXCH, KEYEXCH)
FETCH(EVP_SIGNATURE, SIGNATURE)
FETCH(EVP_ASYM_CIPHER, ASYM_CIPHER)

/* ---- the fetch hidden in an init ----
 *
 * EVP_aes_128_gcm() and its like are constants of libcrypto. An init with one fetches its short name, with an empty
 * query, in the default context; we hand in what it would find. A program's own method (EVP_CIPHER_meth_new) is none
 * of them.
 */

/*
 * A digest's context tells which one it was given, constant or method. So that it still does, a context that was
 * handed a method bears a flag that OpenSSL has no use for, and we tell the constant.
 */
#define HANDED_IN 0x40000000

static struct {
    const void *constant;
    const void *_Atomic method; /* NULL where the list ends */
} handed_in[256];

/* Whether the pair stands in the list now. */
static int note_handed_in(const void *constant, const void *method)
{
    size_t i = 0;

    pthread_mutex_lock(&lock);
    while (i < COUNT(handed_in) && handed_in[i].method != NULL && handed_in[i].method != method)
        i++;
    if (i < COUNT(handed_in) && handed_in[i].method == NULL) {
        handed_in[i].constant = constant;
        atomic_store_explicit(&handed_in[i].method, method, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return i < COUNT(handed_in) && handed_in[i].constant == constant;
}

static int is_constant(const void *method)
{
    return map_of(method) == maps[0];
}

static __attribute__((noinline)) const void *find_implicit(size_t kind, const void *given, int nid,
                                                           const char *nameless, const struct aesop_key *key,
                                                           uint64_t stamp)
{
    const struct operation *operation = &libcrypto->operations[kind];
    const void *answer = given;

    if (answers == NULL)
        return given;
    if (is_constant(given)) {
        void *method;

        /* No errors here: where there is nothing to hand in, the init will raise its own. */
        if (libcrypto->ERR_peek_error() != 0)
            return given;
        method = operation->fetch(NULL, nid != NID_undef ? libcrypto->OBJ_nid2sn(nid) : nameless, "");
        if (method == NULL)
            clear_errors();
        if (method == NULL || !keep(thread_default, operation, method) ||
            (kind == DIGEST && !note_handed_in(given, method)))
            return given;
        operation->free(method); /* a reference is kept */
        answer = method;
    }
    aesop_table_put(answers, key, stamp, (uintptr_t)answer);
    return answer;
}

static inline const void *implicit(size_t kind, unsigned key_kind, const void *given, int nid, const char *nameless)
{
    const uint64_t stamp = atomic_load_explicit(&generation, memory_order_acquire);
    struct aesop_key key;
    uint64_t value;

    aesop_key_start(&key, key_kind);
    aesop_key_add_number(&key, (uintptr_t)given);
    aesop_key_add_number(&key, (uintptr_t)thread_default);
    aesop_key_finish(&key);
    if (answers != NULL && aesop_table_get(&value, answers, &key, stamp))
        return (const void *)(uintptr_t)value;
    return find_implicit(kind, given, nid, nameless, &key, stamp);
}

static inline const EVP_CIPHER *implicit_cipher(const struct originals *o, const EVP_CIPHER *cipher,
                                                const ENGINE *engine)
{
    if (o != libcrypto || cipher == NULL || engine != NULL || libcrypto->EVP_CIPHER_get0_provider(cipher) != NULL)
        return cipher;
    return implicit(CIPHER, CIPHER_OF_POINTER, cipher, libcrypto->EVP_CIPHER_get_nid(cipher), "NULL");
}

static inline const EVP_MD *implicit_digest(const EVP_MD *digest, const ENGINE *engine)
{
    if (digest == NULL || engine != NULL || libcrypto->EVP_MD_get0_provider(digest) != NULL)
        return digest;
    return implicit(DIGEST, DIGEST_OF_POINTER, digest, libcrypto->EVP_MD_get_type(digest), "UNDEF");
}

int EVP_EncryptInit_ex(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, ENGINE *engine, const unsigned char *key,
                       const unsigned char *iv)
{
    const struct originals *o = OF_CALLER;

    cipher = implicit_cipher(o, cipher, engine);
    return o->EVP_EncryptInit_ex(ctx, cipher, engine, key, iv);
}

int EVP_EncryptInit_ex2(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, const unsigned char *key,
                        const unsigned char *iv, const OSSL_PARAM params[])
{
    const struct originals *o = OF_CALLER;

    cipher = implicit_cipher(o, cipher, NULL);
    return o->EVP_EncryptInit_ex2(ctx, cipher, key, iv, params);
}

int EVP_DecryptInit_ex(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, ENGINE *engine, const unsigned char *key,
                       const unsigned char *iv)
{
    const struct originals *o = OF_CALLER;

    cipher = implicit_cipher(o, cipher, engine);
    return o->EVP_DecryptInit_ex(ctx, cipher, engine, key, iv);
}

int EVP_DecryptInit_ex2(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, const unsigned char *key,
                        const unsigned char *iv, const OSSL_PARAM params[])
{
    const struct originals *o = OF_CALLER;

    cipher = implicit_cipher(o, cipher, NULL);
    return o->EVP_DecryptInit_ex2(ctx, cipher, key, iv, params);
}

int EVP_CipherInit_ex(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, ENGINE *engine, const unsigned char *key,
                      const unsigned char *iv, int encrypting)
{
    const struct originals *o = OF_CALLER;

    cipher = implicit_cipher(o, cipher, engine);
    return o->EVP_CipherInit_ex(ctx, cipher, engine, key, iv, encrypting);
}

int EVP_CipherInit_ex2(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, const unsigned char *key, const unsigned char *iv,
                       int encrypting, const OSSL_PARAM params[])
{
    const struct originals *o = OF_CALLER;

    cipher = implicit_cipher(o, cipher, NULL);
    return o->EVP_CipherInit_ex2(ctx, cipher, key, iv, encrypting, params);
}

static const EVP_MD *given_digest(const struct originals *o, const EVP_MD_CTX *ctx, const EVP_MD *in_use)
{
    if (o != libcrypto || in_use == NULL || !libcrypto->EVP_MD_CTX_test_flags(ctx, HANDED_IN))
        return in_use;
    for (size_t i = 0; i < COUNT(handed_in); i++) {
        const void *method = atomic_load_explicit(&handed_in[i].method, memory_order_acquire);

        if (method == NULL || method == in_use)
            return method == NULL ? in_use : handed_in[i].constant;
    }
    return in_use;
}

static int note_init(EVP_MD_CTX *ctx, const EVP_MD *given, const EVP_MD *used, int ok)
{
    if (given != used)
        libcrypto->EVP_MD_CTX_set_flags(ctx, HANDED_IN);
    else if (given != NULL)
        libcrypto->EVP_MD_CTX_clear_flags(ctx, HANDED_IN);
    return ok;
}

int EVP_DigestInit_ex(EVP_MD_CTX *ctx, const EVP_MD *digest, ENGINE *engine)
{
    const struct originals *o = OF_CALLER;
    const EVP_MD *used;

    if (o != libcrypto)
        return o->EVP_DigestInit_ex(ctx, digest, engine);
    used = implicit_digest(digest, engine);
    return note_init(ctx, digest, used, libcrypto->EVP_DigestInit_ex(ctx, used, engine));
}

int EVP_DigestInit_ex2(EVP_MD_CTX *ctx, const EVP_MD *digest, const OSSL_PARAM params[])
{
    const struct originals *o = OF_CALLER;
    const EVP_MD *used;

    if (o != libcrypto)
        return o->EVP_DigestInit_ex2(ctx, digest, params);
    used = implicit_digest(digest, NULL);
    return note_init(ctx, digest, used, libcrypto->EVP_DigestInit_ex2(ctx, used, params));
}

const EVP_MD *EVP_MD_CTX_get0_md(const EVP_MD_CTX *ctx)
{
    const struct originals *o = OF_CALLER;

    return given_digest(o, ctx, o->EVP_MD_CTX_get0_md(ctx));
}

const EVP_MD *EVP_MD_CTX_md(const EVP_MD_CTX *ctx)
{
    const struct originals *o = OF_CALLER;

    return given_digest(o, ctx, o->EVP_MD_CTX_md(ctx));
}

/* A constant counts no references. */
EVP_MD *EVP_MD_CTX_get1_md(EVP_MD_CTX *ctx)
{
    const struct originals *o = OF_CALLER;
    EVP_MD *in_use = o->EVP_MD_CTX_get1_md(ctx);
    const EVP_MD *given = given_digest(o, ctx, in_use);

    if (given != in_use)
        libcrypto->operations[DIGEST].free(in_use);
    return (EVP_MD *)given;
}

/* ---- what changes answers ----
 *
 * All is forgotten after the call: whatever was remembered while it lasted is too.
 */

static void changed(void)
{
    atomic_fetch_add_explicit(&generation, 1, memory_order_acq_rel);
}

#define CHANGES(RESULT, name, parameters, arguments) \
    RESULT name parameters \
    { \
        const struct originals *o = OF_CALLER; \
        if (o != libcrypto) \
            return o->name arguments; \
        RESULT result = o->name arguments; \
        changed(); \
        return result; \
    }

CHANGES(OSSL_PROVIDER *, OSSL_PROVIDER_load, (OSSL_LIB_CTX * libctx, const char *name), (libctx, name))
/*
 * A libcrypto may lack these two, and a program may ask dlsym whether it does: they are for those that were linked with
 * one that has them. (Whom dlsym gives libcrypto's passes us by.)
 */
#if OPENSSL_VERSION_MAJOR == 3 && OPENSSL_VERSION_MINOR < 2
__asm__(".symver OSSL_PROVIDER_load_ex, OSSL_PROVIDER_load_ex@OPENSSL_3.2.0");
__asm__(".symver OSSL_PROVIDER_try_load_ex, OSSL_PROVIDER_try_load_ex@OPENSSL_3.2.0");
#endif
CHANGES(OSSL_PROVIDER *, OSSL_PROVIDER_load_ex, (OSSL_LIB_CTX * libctx, const char *name, OSSL_PARAM *params),
        (libctx, name, params))
CHANGES(OSSL_PROVIDER *, OSSL_PROVIDER_try_load, (OSSL_LIB_CTX * libctx, const char *name, int retain_fallbacks),
        (libctx, name, retain_fallbacks))
CHANGES(OSSL_PROVIDER *, OSSL_PROVIDER_try_load_ex,
        (OSSL_LIB_CTX * libctx, const char *name, OSSL_PARAM *params, int retain_fallbacks),
        (libctx, name, params, retain_fallbacks))
CHANGES(int, OSSL_PROVIDER_unload, (OSSL_PROVIDER * provider), (provider))
CHANGES(int, OSSL_LIB_CTX_load_config, (OSSL_LIB_CTX * libctx, const char *file), (libctx, file))
CHANGES(int, EVP_set_default_properties, (OSSL_LIB_CTX * libctx, const char *properties), (libctx, properties))
CHANGES(int, EVP_default_properties_enable_fips, (OSSL_LIB_CTX * libctx, int enable), (libctx, enable))
CHANGES(int, CONF_modules_load, (const CONF *conf, const char *name, unsigned long flags), (conf, name, flags))
CHANGES(int, CONF_modules_load_file, (const char *file, const char *name, unsigned long flags), (file, name, flags))
CHANGES(int, CONF_modules_load_file_ex,
        (OSSL_LIB_CTX * libctx, const char *file, const char *name, unsigned long flags), (libctx, file, name, flags))

void CONF_modules_unload(int all)
{
    const struct originals *o = OF_CALLER;

    o->CONF_modules_unload(all);
    if (o == libcrypto)
        changed();
}

/* libssl calls this all the time; the configuration file is read the first time only. */
int OPENSSL_init_crypto(uint64_t options, const OPENSSL_INIT_SETTINGS *settings)
{
    static atomic_int configured;
    const struct originals *o = OF_CALLER;
    int result;

    if (o != libcrypto)
        return o->OPENSSL_init_crypto(options, settings);
    result = libcrypto->OPENSSL_init_crypto(options, settings);
    if ((options & OPENSSL_INIT_LOAD_CONFIG) != 0 && !configured && !atomic_exchange(&configured, 1))
        changed();
    return result;
}

void OPENSSL_cleanup(void)
{
    struct originals *o = originals_to_clean_up(__builtin_return_address(0));

    if (o == libcrypto)
        release(NULL, 1);
    if (o != NULL)
        o->OPENSSL_cleanup();
}

/* Methods that outlive their context would dangle. Nobody else may use it any more. */
void OSSL_LIB_CTX_free(OSSL_LIB_CTX *libctx)
{
    const struct originals *o = OF_CALLER;

    if (o == libcrypto && libctx != NULL)
        release(libctx, 0);
    o->OSSL_LIB_CTX_free(libctx);
}

/* From now on NULL means that context, in this thread. */
OSSL_LIB_CTX *OSSL_LIB_CTX_set0_default(OSSL_LIB_CTX *libctx)
{
    const struct originals *o = OF_CALLER;
    OSSL_LIB_CTX *before;

    if (o != libcrypto)
        return o->OSSL_LIB_CTX_set0_default(libctx);
    before = libcrypto->OSSL_LIB_CTX_set0_default(libctx);
    if (before != NULL && libctx != NULL)
        thread_default = libctx;
    return before;
}
