/* SPDX-License-Identifier: Apache-2.0 */
/* The provider's section of openssl.cnf, validated. Every setting is in openssl.cnf.example. */
#ifndef AESOP_PROVIDER_CONFIG_H
#define AESOP_PROVIDER_CONFIG_H

#include <stddef.h>

#include "cache/constraint.h"
#include "provider/core.h"

struct aesop_config {
    const char *kernel;                    /* a kernel set's name, or NULL for the fastest that this CPU has */
    size_t chunk;                          /* bytes of the longest run that is handed to a kernel, a multiple of 4096 */
    struct aesop_constraints *constraints; /* of what is not to be offered, or NULL */
};

/*
 * Reads and validates. Returns 1, or 0 with nothing held and an error raised that names the key, the value and what is
 * allowed.
 */
int aesop_config_read(struct aesop_config *config, const struct aesop_core *core);

/* Frees what the configuration holds. */
void aesop_config_clear(struct aesop_config *config);

#endif
