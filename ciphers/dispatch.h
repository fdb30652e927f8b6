/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernel sets there are, and which of them serves: decided once, when the provider loads. */
#ifndef AESOP_CIPHERS_DISPATCH_H
#define AESOP_CIPHERS_DISPATCH_H

#include "ciphers/chunk.h"

struct aesop_kernel_choice {
    const struct aesop_kernels *kernels;
    uint32_t needs; /* enum aesop_cpu_feature bits, all of them */
};

/* The sets that were compiled, the fastest first, ended by one without kernels. */
extern const struct aesop_kernel_choice aesop_kernel_choices[];

/*
 * Encrypts and decrypts known messages through every function of the set. Returns 1 where all answers are right.
 */
int aesop_kernels_self_test(const struct aesop_kernels *kernels);

typedef void aesop_kernels_failed_fn(void *arg, const struct aesop_kernels *kernels);

/*
 * The first set of `choices` that `features` allow, whose name is `name` (NULL: any) and that passes its self-test;
 * NULL where there is none. `failed` is told of each set that did not pass.
 */
const struct aesop_kernels *aesop_kernels_choose(const struct aesop_kernel_choice *choices, uint32_t features,
                                                 const char *name, aesop_kernels_failed_fn *failed, void *arg);

/* Chooses d->kernels that way, and d->narrow for short runs. Returns 1, or 0 with both NULL where there are none. */
int aesop_dispatch_choose(struct aesop_dispatch *d, const struct aesop_kernel_choice *choices, uint32_t features,
                          const char *name, aesop_kernels_failed_fn *failed, void *arg);

#if defined(__x86_64__)
extern const struct aesop_kernels aesop_kernels_vaes512, aesop_kernels_vaes256, aesop_kernels_vaes256_schoolbook,
    aesop_kernels_aesni;
#endif

#endif
