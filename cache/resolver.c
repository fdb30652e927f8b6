/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/resolver.h"

#include <inttypes.h>
#include <stdlib.h>

#include <openssl/core_dispatch.h>
#include <openssl/err.h>
#include <openssl/kdf.h>
#include <openssl/objects.h>

#include "cache/ascii.h"
#include "cache/watch.h"

enum { CAPACITY_DEFAULT = 1024, QUERY_MAX = 256, QUERY_ITEMS_MAX = 16, PROBE_BYTES = 256 };

/* ---- errors: a library of their own, since a provider may have got the number that ERR_LIB_USER is ---- */

static CRYPTO_ONCE error_once = CRYPTO_ONCE_STATIC_INIT;
static int error_number;

static void name_errors(void)
{
    static ERR_STRING_DATA name[] = { { 0, "aesop resolver" }, { 0, NULL } };

    error_number = ERR_get_next_error_library();
    name[0].error = ERR_PACK(error_number, 0, 0);
    ERR_load_strings(error_number, name);
}

static int error_library(void)
{
    return CRYPTO_THREAD_run_once(&error_once, name_errors) ? error_number : ERR_LIB_USER;
}

/* ---- operations: one row for each kind of method ---- */

struct aesop_operation {
    unsigned id;
    void *(*fetch)(OSSL_LIB_CTX *libctx, const char *algorithm, const char *properties);
    int (*up_ref)(void *method);
    void (*free)(void *method);
    const OSSL_PROVIDER *(*provider)(const void *method);
    int (*names_do_all)(const void *method, void (*visit)(const char *name, void *arg), void *arg);
};

/* The typed functions of EVP as functions of void *, one row of the table, and the two public functions. */
#define OPERATION(name, TYPE, operation_id) \
    static void *name##_fetch(OSSL_LIB_CTX *libctx, const char *algorithm, const char *properties) \
    { \
        return TYPE##_fetch(libctx, algorithm, properties); \
    } \
    static int name##_up_ref(void *method) \
    { \
        return TYPE##_up_ref(method); \
    } \
    static void name##_free(void *method) \
    { \
        TYPE##_free(method); \
    } \
    static const OSSL_PROVIDER *name##_provider(const void *method) \
    { \
        return TYPE##_get0_provider(method); \
    } \
    static int name##_names_do_all(const void *method, void (*visit)(const char *name, void *arg), void *arg) \
    { \
        return TYPE##_names_do_all(method, visit, arg); \
    } \
    static const struct aesop_operation name##_operation = { operation_id, name##_fetch,    name##_up_ref, \
                                                             name##_free,  name##_provider, name##_names_do_all }; \
    TYPE *AESOP_RESOLVER_get0_##name(AESOP_RESOLVER *r, const char *algorithm, const char *properties) \
    { \
        return resolve(r, &name##_operation, algorithm, properties); \
    } \
    TYPE *AESOP_RESOLVER_get1_##name(AESOP_RESOLVER *r, const char *algorithm, const char *properties) \
    { \
        TYPE *method = resolve(r, &name##_operation, algorithm, properties); \
        return method != NULL && TYPE##_up_ref(method) ? method : NULL; \
    }

/* ---- queries ----
 *
 * "provider = default,?fips=yes" and "?fips=yes,provider=default" are one question. Only the plain form is brought
 * into order: items without quotes, each name once. Anything else is left as it is and at worst remembered twice.
 */

struct query_item {
    char text[QUERY_MAX];
};

static int is_name_char(char c)
{
    return aesop_is_letter(c) || aesop_is_digit(c) || c == '_' || c == '.';
}

static const char *skip_space(const char *s)
{
    while (aesop_is_space(*s))
        s++;
    return s;
}

/*
 * Writes one item without spaces and in lower case; returns where it ends, or NULL where it is not of the plain form.
 */
static const char *query_item_read(char *out, const char *s)
{
    const char *start = out;

    s = skip_space(s);
    if (*s == '?' || *s == '-') {
        *out++ = *s;
        s = skip_space(s + 1);
    }
    if (!aesop_is_letter(*s))
        return NULL;
    while (is_name_char(*s) && out - start < QUERY_MAX / 2)
        *out++ = aesop_to_lower(*s++);
    s = skip_space(s);
    if (*s == '=' || (s[0] == '!' && s[1] == '=')) {
        if (*s == '!')
            *out++ = *s++;
        *out++ = *s++;
        s = skip_space(s);
        if (!is_name_char(*s))
            return NULL;
        while (is_name_char(*s) && out - start < QUERY_MAX - 1)
            *out++ = aesop_to_lower(*s++);
        s = skip_space(s);
    }
    *out = '\0';
    return *s == ',' || *s == '\0' ? s : NULL;
}

/* Orders by name, whatever sign stands before it. */
static int query_item_compare(const void *a, const void *b)
{
    const char *x = ((const struct query_item *)a)->text, *y = ((const struct query_item *)b)->text;

    return strcmp(x + strspn(x, "?-"), y + strspn(y, "?-"));
}

static size_t query_name_length(const char *item)
{
    return strcspn(item + strspn(item, "?-"), "!=");
}

/* Returns the query in its one form, in out or as it was. */
static const char *query_normalise(char out[QUERY_MAX], const char *query)
{
    struct query_item items[QUERY_ITEMS_MAX];
    size_t count = 0, len = 0;
    const char *s = query;

    if (*skip_space(s) == '\0')
        return "";
    for (;;) {
        if (count == QUERY_ITEMS_MAX || (s = query_item_read(items[count++].text, s)) == NULL)
            return query;
        if (*s == '\0')
            break;
        s++;
    }
    qsort(items, count, sizeof items[0], query_item_compare);
    for (size_t i = 0; i < count; i++) {
        const size_t n = strlen(items[i].text);

        if (i > 0) {
            const char *a = items[i - 1].text, *b = items[i].text;
            const size_t name = query_name_length(a);

            if (name == query_name_length(b) && memcmp(a + strspn(a, "?-"), b + strspn(b, "?-"), name) == 0)
                return query; /* which of two counts is OpenSSL's business */
        }
        if (len + n + 2 > QUERY_MAX)
            return query;
        if (i > 0)
            out[len++] = ',';
        memcpy(out + len, items[i].text, n + 1);
        len += n;
    }
    return out;
}

/* ---- asking OpenSSL ---- */

/* Takes over a reference that the caller owns. Returns 1, or 0 where there is no memory and the reference is gone. */
static int keep(AESOP_RESOLVER *r, const struct aesop_operation *operation, void *method)
{
    size_t i = 0;
    int ok = 1;

    pthread_mutex_lock(&r->lock);
    while (i < r->kept_count && r->kept[i].method != method)
        i++;
    if (i == r->kept_count && i == r->kept_room) {
        const size_t room = 2 * i + 16;
        struct aesop_kept *kept = realloc(r->kept, room * sizeof *kept);

        ok = kept != NULL;
        if (ok) {
            r->kept = kept;
            r->kept_room = room;
        }
    }
    if (ok && i == r->kept_count)
        r->kept[r->kept_count++] = (struct aesop_kept){ method, operation };
    else
        operation->free(method); /* there is one reference already */
    pthread_mutex_unlock(&r->lock);
    return ok;
}

/*
 * A query that OpenSSL has never seen and that means the same: it then cannot answer from its own memory, which it
 * clears a moment after it has told the watcher of a new provider. In that moment we would remember the old answer as
 * a new one. The property is one that no algorithm has, and optional.
 */
static char *query_unheard(const char *query, uint64_t generation)
{
    char *unheard = NULL;

    if (query == NULL)
        query = "";
    if (asprintf(&unheard, "%s%s?aesop.generation=%" PRIu64, query, *skip_space(query) == '\0' ? "" : ",", generation) <
        0)
        return NULL;
    return unheard;
}

static int is_loaded(AESOP_RESOLVER *r, const OSSL_PROVIDER *provider)
{
    return OSSL_PROVIDER_available(r->libctx, OSSL_PROVIDER_get0_name(provider));
}

/* Returns a method with a reference, or NULL; *lasting says whether the answer holds until the next generation. */
static void *fetch(int *lasting, AESOP_RESOLVER *r, const struct aesop_operation *operation, const char *algorithm,
                   const char *properties, uint64_t generation)
{
    char *unheard = r->watch != NULL ? query_unheard(properties, generation) : NULL;
    void *method;

    atomic_fetch_add_explicit(&r->fetches, 1, memory_order_relaxed);
    ERR_set_mark();
    method = operation->fetch(r->libctx, algorithm, unheard != NULL ? unheard : properties);
    /* Where memory fails OpenSSL may say that there is no such algorithm: who says so twice, with memory, knows. */
    if (method == NULL)
        method = operation->fetch(r->libctx, algorithm, unheard != NULL ? unheard : properties);
    if (method == NULL) {
        void *memory = OPENSSL_malloc(PROBE_BYTES);

        *lasting = memory != NULL && ERR_GET_REASON(ERR_peek_last_error()) == ERR_R_UNSUPPORTED;
        OPENSSL_free(memory);
    } else {
        *lasting = r->watch == NULL || is_loaded(r, operation->provider(method));
        /*
         * A provider that is being unloaded has told the watcher already, but its methods can still be found for a
         * moment, or for good where another thread's fetch kept it active meanwhile: then OpenSSL's answer counts, this
         * once.
         */
        if (!*lasting) {
            operation->free(method);
            method = operation->fetch(r->libctx, algorithm, properties);
        }
    }
    ERR_pop_to_mark();
    if (r->watch != NULL && unheard == NULL)
        *lasting = 0; /* there was no memory to ask so that the answer had to be new */
    free(unheard);
    return method;
}

/* ---- answers ---- */

AESOP_INLINE int answer_key(struct aesop_key *key, const struct aesop_operation *operation, const char *algorithm,
                            const char *properties)
{
    aesop_key_start(key, operation->id);
    if (algorithm == NULL || !aesop_key_add_text(key, algorithm, strlen(algorithm), AESOP_FOLD_CASE) ||
        (properties != NULL && !aesop_key_add_text(key, properties, strlen(properties), AESOP_FOLD_NOTHING)))
        return 0;
    aesop_key_finish(key);
    return 1;
}

struct other_name {
    AESOP_RESOLVER *resolver;
    const struct aesop_operation *operation;
    const char *properties;
    uint64_t generation;
    void *method;
};

/* All names of a method lead to it; they are remembered as long as they take no room that is needed. */
static void remember_name(const char *name, void *arg)
{
    const struct other_name *o = arg;
    struct aesop_table *t = o->resolver->answers;
    struct aesop_key key;

    if (aesop_table_count(t, o->generation) < o->resolver->capacity / 2 &&
        answer_key(&key, o->operation, name, o->properties))
        aesop_table_put(t, &key, o->generation, (uintptr_t)o->method);
}

/*
 * The long way, for a spelling that is not remembered (key, NULL where it is too long to be). Errors of OpenSSL are
 * dropped: NULL is an answer like any other.
 */
static __attribute__((noinline)) void *resolve_anew(AESOP_RESOLVER *r, const struct aesop_operation *operation,
                                                    const char *algorithm, const char *properties,
                                                    const struct aesop_key *key, uint64_t generation)
{
    char buffer[QUERY_MAX];
    const char *normal = query_normalise(buffer, properties != NULL ? properties : "");
    struct aesop_key normal_key;
    const int has_normal_key = answer_key(&normal_key, operation, algorithm, *normal != '\0' ? normal : NULL);
    uint64_t value;
    void *method;
    int lasting;

    if (has_normal_key && aesop_table_get(&value, r->answers, &normal_key, generation)) {
        if (key != NULL)
            aesop_table_put(r->answers, key, generation, value);
        return (void *)(uintptr_t)value;
    }
    method = fetch(&lasting, r, operation, algorithm, properties, generation);
    if (method != NULL && !keep(r, operation, method))
        return NULL;
    if (!lasting)
        return method;
    if (method != NULL && has_normal_key) {
        struct other_name other = { r, operation, *normal != '\0' ? normal : NULL, generation, method };

        operation->names_do_all(method, remember_name, &other);
    }
    if (has_normal_key)
        aesop_table_put(r->answers, &normal_key, generation, (uintptr_t)method);
    if (key != NULL)
        aesop_table_put(r->answers, key, generation, (uintptr_t)method);
    return method;
}

AESOP_INLINE void *resolve(AESOP_RESOLVER *r, const struct aesop_operation *operation, const char *algorithm,
                           const char *properties)
{
    /* Before the question is put: whatever changes from now on makes the answer a thing of the past. */
    const uint64_t generation = atomic_load_explicit(r->generation, memory_order_acquire);
    struct aesop_key key;
    const int has_key = answer_key(&key, operation, algorithm, properties);
    uint64_t value;

    if (has_key && aesop_table_get(&value, r->answers, &key, generation))
        return (void *)(uintptr_t)value;
    return resolve_anew(r, operation, algorithm, properties, has_key ? &key : NULL, generation);
}

OPERATION(cipher, EVP_CIPHER, OSSL_OP_CIPHER)
OPERATION(digest, EVP_MD, OSSL_OP_DIGEST)
OPERATION(mac, EVP_MAC, OSSL_OP_MAC)
OPERATION(kdf, EVP_KDF, OSSL_OP_KDF)
OPERATION(rand, EVP_RAND, OSSL_OP_RAND)
OPERATION(signature, EVP_SIGNATURE, OSSL_OP_SIGNATURE)
OPERATION(keyexch, EVP_KEYEXCH, OSSL_OP_KEYEXCH)
OPERATION(kem, EVP_KEM, OSSL_OP_KEM)
OPERATION(keymgmt, EVP_KEYMGMT, OSSL_OP_KEYMGMT)

/* ---- constraints ---- */

_Static_assert(AESOP_USAGE_TLS_SERVER == AESOP_CONSTRAINT_TLS_SERVER &&
                   AESOP_USAGE_TLS_CLIENT == AESOP_CONSTRAINT_TLS_CLIENT &&
                   AESOP_USAGE_SIGNED_JAR == AESOP_CONSTRAINT_SIGNED_JAR &&
                   AESOP_USAGE_CERTIFICATE_SIGNATURE == AESOP_CONSTRAINT_CERTIFICATE_SIGNATURE &&
                   AESOP_USAGE_HANDSHAKE_SIGNATURE == AESOP_CONSTRAINT_HANDSHAKE_SIGNATURE,
               "uses are passed on as they are");

int AESOP_RESOLVER_set_constraints(AESOP_RESOLVER *r, const char *list)
{
    struct aesop_constraint_error error;
    struct aesop_policy *policy = calloc(1, sizeof *policy);

    if (policy == NULL || (policy->constraints = aesop_constraints_parse(&error, list != NULL ? list : "")) == NULL) {
        if (policy == NULL || strcmp(error.expected, "memory") == 0)
            ERR_raise(error_library(), ERR_R_MALLOC_FAILURE);
        else
            ERR_raise_data(error_library(), ERR_R_PASSED_INVALID_ARGUMENT,
                           "constraints, byte %zu: expected %s, found \"%.20s\"", error.position, error.expected,
                           list + error.position);
        free(policy);
        return 0;
    }
    policy->has_days = aesop_constraints_have_days(policy->constraints);
    policy->has_usages = aesop_constraints_have_usages(policy->constraints);
    policy->remembers = aesop_constraints_era(policy->constraints, INT64_MAX) < AESOP_POLICY_ERAS_MAX;
    pthread_mutex_lock(&r->lock);
    policy->earlier = atomic_load_explicit(&r->policy, memory_order_relaxed);
    policy->stamp = policy->earlier != NULL ? policy->earlier->stamp + 1 : 1;
    atomic_store_explicit(&r->policy, policy, memory_order_release);
    pthread_mutex_unlock(&r->lock);
    return 1;
}

/* All that a decision hangs on but the algorithm; sizes above what a list can hold are alike. */
static inline uint64_t decision_kind(unsigned usage, unsigned key_bits, unsigned tag_bits, unsigned era)
{
    const uint64_t most = (1 << 20) - 1;

    _Static_assert(AESOP_CONSTRAINT_BITS_MAX < (1 << 20) - 1, "sizes have 20 bits each");
    _Static_assert(AESOP_POLICY_ERAS_MAX <= 1 << 11, "eras have what is left of 56");
    return (usage & 0x1f) | (key_bits < most ? key_bits : most) << 5 | (tag_bits < most ? tag_bits : most) << 25 |
           (uint64_t)era << 45;
}

/* The name of what an OID stands for: constraints know names alone. NULL where it is none, or unknown. */
static const char *name_of_oid(const char *algorithm)
{
    int nid = NID_undef;

    if (aesop_is_digit(*algorithm) && strchr(algorithm, '.') != NULL) {
        ERR_set_mark();
        nid = OBJ_txt2nid(algorithm);
        ERR_pop_to_mark();
    }
    return nid != NID_undef ? OBJ_nid2ln(nid) : NULL;
}

static __attribute__((noinline)) const char *decide_anew(AESOP_RESOLVER *r, const struct aesop_policy *policy,
                                                         const struct aesop_constraint_question *question,
                                                         const struct aesop_key *key)
{
    const char *forbidding = aesop_constraints_forbid(policy->constraints, question);
    const char *name = forbidding == NULL ? name_of_oid(question->algorithm) : NULL;

    if (name != NULL) {
        struct aesop_constraint_question by_name = *question;

        by_name.algorithm = name;
        forbidding = aesop_constraints_forbid(policy->constraints, &by_name);
    }
    atomic_fetch_add_explicit(&r->evaluations, 1, memory_order_relaxed);
    if (key != NULL && policy->remembers)
        aesop_table_put(r->decisions, key, policy->stamp, (uintptr_t)forbidding);
    return forbidding;
}

AESOP_INLINE const char *decide(AESOP_RESOLVER *r, unsigned usage, const char *algorithm, unsigned key_bits,
                                unsigned tag_bits, time_t when)
{
    const struct aesop_policy *policy = atomic_load_explicit(&r->policy, memory_order_acquire);
    struct aesop_key key;
    uint64_t value;
    int has_key;

    if (policy == NULL)
        return NULL;
    /* A day of the list that comes makes new questions of the old ones. */
    aesop_key_start(&key, decision_kind(usage, key_bits, tag_bits, aesop_policy_era(policy, &when)));
    has_key = aesop_key_add_text(&key, algorithm, strlen(algorithm), AESOP_FOLD_CASE_OF_WORDS);
    aesop_key_finish(&key);
    if (has_key && aesop_table_get(&value, r->decisions, &key, policy->stamp))
        return (const char *)(uintptr_t)value;
    const struct aesop_constraint_question question = { algorithm, usage, key_bits, tag_bits, when };
    return decide_anew(r, policy, &question, has_key ? &key : NULL);
}

const char *AESOP_RESOLVER_forbidden_by(AESOP_RESOLVER *r, unsigned usage, const char *algorithm, unsigned key_bits,
                                        unsigned tag_bits, time_t when)
{
    return decide(r, usage, algorithm, key_bits, tag_bits, when);
}

int AESOP_RESOLVER_permits(AESOP_RESOLVER *r, unsigned usage, const char *algorithm, unsigned key_bits,
                           unsigned tag_bits, time_t when)
{
    return decide(r, usage, algorithm, key_bits, tag_bits, when) == NULL;
}

/* ---- life ---- */

/* The most entries, up to `entries`, that two tables may have in so many bytes. */
static size_t capacity_within(size_t entries, size_t bytes)
{
    size_t low = 0, high = entries;

    if (bytes == 0)
        return entries;
    while (low < high) {
        const size_t middle = low + (high - low + 1) / 2;

        if (2 * aesop_table_bytes(middle) <= bytes)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

AESOP_RESOLVER *AESOP_RESOLVER_new(OSSL_LIB_CTX *libctx, size_t entries, size_t bytes, unsigned flags)
{
    const size_t most = entries == 0 ? CAPACITY_DEFAULT : entries < UINT32_MAX ? entries : UINT32_MAX - 1;
    const size_t capacity = capacity_within(most, bytes);
    AESOP_RESOLVER *r;

    if ((flags & ~AESOP_RESOLVER_NO_WATCH) != 0) {
        ERR_raise_data(error_library(), ERR_R_PASSED_INVALID_ARGUMENT,
                       "flags %#x: AESOP_RESOLVER_NO_WATCH (%#x) is the only one", flags, AESOP_RESOLVER_NO_WATCH);
        return NULL;
    }
    if (capacity == 0) {
        ERR_raise_data(error_library(), ERR_R_PASSED_INVALID_ARGUMENT, "%zu bytes: one entry takes %zu", bytes,
                       2 * aesop_table_bytes(1));
        return NULL;
    }
    if ((r = aligned_alloc(_Alignof(AESOP_RESOLVER), sizeof *r)) == NULL) {
        ERR_raise(error_library(), ERR_R_MALLOC_FAILURE);
        return NULL;
    }
    memset(r, 0, sizeof *r);
    pthread_mutex_init(&r->lock, NULL);
    r->libctx = libctx;
    r->capacity = capacity;
    r->bytes = 2 * aesop_table_bytes(capacity);
    atomic_init(&r->own_generation, 1);
    r->generation = &r->own_generation;
    r->answers = aesop_table_new(capacity);
    r->decisions = aesop_table_new(capacity);
    if (r->answers == NULL || r->decisions == NULL) {
        ERR_raise(error_library(), ERR_R_MALLOC_FAILURE);
        goto fail;
    }
    if ((flags & AESOP_RESOLVER_NO_WATCH) == 0 && (r->watch = aesop_watch_load(&r->generation, libctx)) == NULL)
        goto fail;
    return r;
fail:
    AESOP_RESOLVER_free(r);
    return NULL;
}

void AESOP_RESOLVER_free(AESOP_RESOLVER *r)
{
    struct aesop_policy *policy, *earlier;

    if (r == NULL)
        return;
    for (size_t i = 0; i < r->kept_count; i++)
        r->kept[i].operation->free(r->kept[i].method);
    free(r->kept);
    for (policy = atomic_load(&r->policy); policy != NULL; policy = earlier) {
        earlier = policy->earlier;
        aesop_constraints_free(policy->constraints);
        free(policy);
    }
    aesop_table_free(r->answers);
    aesop_table_free(r->decisions);
    if (r->watch != NULL)
        OSSL_PROVIDER_unload(r->watch);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

void AESOP_RESOLVER_flush(AESOP_RESOLVER *r)
{
    atomic_fetch_add_explicit(r->generation, 1, memory_order_acq_rel);
}

uint64_t AESOP_RESOLVER_generation(const AESOP_RESOLVER *r)
{
    return atomic_load_explicit(r->generation, memory_order_acquire);
}

void AESOP_RESOLVER_get_stats(AESOP_RESOLVER *r, AESOP_RESOLVER_STATS *stats)
{
    const struct aesop_policy *policy = atomic_load_explicit(&r->policy, memory_order_acquire);

    *stats = (AESOP_RESOLVER_STATS){
        .capacity = r->capacity,
        .bytes = r->bytes,
        .answers = aesop_table_count(r->answers, AESOP_RESOLVER_generation(r)),
        .decisions = policy != NULL ? aesop_table_count(r->decisions, policy->stamp) : 0,
        .fetches = atomic_load_explicit(&r->fetches, memory_order_relaxed),
        .evaluations = atomic_load_explicit(&r->evaluations, memory_order_relaxed),
        .evictions = aesop_table_evictions(r->answers) + aesop_table_evictions(r->decisions),
    };
    pthread_mutex_lock(&r->lock);
    stats->methods = r->kept_count;
    pthread_mutex_unlock(&r->lock);
}
