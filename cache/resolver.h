/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the resolver know of each other. */
#ifndef AESOP_CACHE_RESOLVER_H
#define AESOP_CACHE_RESOLVER_H

#include "aesop/resolver.h"

#include <pthread.h>
#include <stdatomic.h>

#include <openssl/provider.h>

#include "cache/constraint.h"
#include "cache/table.h"

typedef int aesop_security_fn(const SSL *ssl, const SSL_CTX *ctx, int operation, int bits, int nid, void *other,
                              void *ex);

/* A method that was handed out, with the one reference that the resolver has to it. */
struct aesop_kept {
    void *method;
    const struct aesop_operation *operation;
};

/* Both are tls_policy.c's: a handshake asks about some seventy code points, in twenty words, and as many suites. */
#define AESOP_POLICY_WORDS 256
#define AESOP_POLICY_SUITES 256
#define AESOP_POLICY_ERAS_MAX 2048 /* that remembered decisions can tell apart */

/* Constraints in force, now or once: all stay until the resolver goes, for whoever is still reading one. */
struct aesop_policy {
    struct aesop_policy *earlier;
    struct aesop_constraints *constraints;
    uint64_t stamp; /* of the decisions made under it */
    int has_days, has_usages, remembers;
    _Alignas(16) _Atomic uint64_t words[AESOP_POLICY_WORDS];
    _Atomic uintptr_t suites[AESOP_POLICY_SUITES];
};

/* How many days of the list have come by then: decisions made in one era hold as long as it lasts. 0: now. */
static inline unsigned aesop_policy_era(const struct aesop_policy *policy, time_t *when)
{
    if (!policy->has_days)
        return 0;
    if (*when == 0)
        *when = time(NULL);
    return aesop_constraints_era(policy->constraints, *when);
}

struct aesop_resolver_st {
    /* Read by every call, written seldom. */
    _Atomic uint64_t *generation; /* the watcher's, or own_generation */
    struct aesop_table *answers, *decisions;
    struct aesop_policy *_Atomic policy;
    aesop_security_fn *_Atomic level_check; /* OpenSSL's own, once it has been looked up */
    OSSL_LIB_CTX *libctx;
    OSSL_PROVIDER *watch; /* NULL without one */
    _Atomic uint64_t own_generation;
    size_t capacity, bytes;

    /* Written where OpenSSL or the constraints had to be asked: away from what others read. */
    _Alignas(64) _Atomic uint64_t fetches;
    _Atomic uint64_t evaluations;
    pthread_mutex_t lock;
    struct aesop_kept *kept;
    size_t kept_count, kept_room;
};

#endif
