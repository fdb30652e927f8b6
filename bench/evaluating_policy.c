/* SPDX-License-Identifier: Apache-2.0 */
#define AESOP_RESOLVER_security_callback evaluating_security_callback
#define AESOP_RESOLVER_permits evaluating_permits
#include "cache/tls_policy.c"

#include "bench/evaluating_policy.h"

int AESOP_RESOLVER_permits(AESOP_RESOLVER *r, unsigned usage, const char *algorithm, unsigned key_bits,
                           unsigned tag_bits, time_t when)
{
    const struct aesop_policy *policy = atomic_load_explicit(&r->policy, memory_order_acquire);
    const struct aesop_constraint_question question = { algorithm, usage, key_bits, tag_bits, when };

    return policy == NULL || aesop_constraints_forbid(policy->constraints, &question) == NULL;
}

void evaluating_prepare(AESOP_RESOLVER *r)
{
    atomic_load(&r->policy)->remembers = 0;
}
