/* SPDX-License-Identifier: Apache-2.0 */
/* The TLS policy of libaesop without its memory: the constraints are gone through for every question. */
#ifndef AESOP_BENCH_EVALUATING_POLICY_H
#define AESOP_BENCH_EVALUATING_POLICY_H

#include "aesop/resolver.h"

/* For a resolver that has its constraints. */
void evaluating_prepare(AESOP_RESOLVER *resolver);

int evaluating_security_callback(const SSL *ssl, const SSL_CTX *ctx, int operation, int bits, int nid, void *other,
                                 void *resolver);

#endif
