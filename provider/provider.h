/* SPDX-License-Identifier: Apache-2.0 */
/* The provider context, which every cipher context points to, and the dispatch tables of the ciphers. */
#ifndef AESOP_PROVIDER_PROVIDER_H
#define AESOP_PROVIDER_PROVIDER_H

#include "ciphers/chunk.h"
#include "provider/config.h"
#include "provider/core.h"

#define AESOP_CIPHERS 6

/* Written by OSSL_provider_init alone, read-only afterwards: threads and forks share it freely. */
struct aesop_provider {
    struct aesop_core core;
    struct aesop_config config;
    struct aesop_dispatch dispatch;            /* kernels is NULL where this CPU has none that we could use */
    const char *kernel_name;                   /* "none" then */
    OSSL_ALGORITHM ciphers[AESOP_CIPHERS + 1]; /* that are offered */
    char build_info[64];
};

extern const OSSL_DISPATCH aesop_aes128gcm_functions[];
extern const OSSL_DISPATCH aesop_aes192gcm_functions[];
extern const OSSL_DISPATCH aesop_aes256gcm_functions[];
extern const OSSL_DISPATCH aesop_aes128cbc_functions[];
extern const OSSL_DISPATCH aesop_aes192cbc_functions[];
extern const OSSL_DISPATCH aesop_aes256cbc_functions[];

#endif
