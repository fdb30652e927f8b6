/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AESOP_CIPHERS_WIPE_H
#define AESOP_CIPHERS_WIPE_H

#include <stddef.h>
#include <string.h>

/* Overwrites with zeros; the barrier tells the compiler that somebody reads them. */
static inline void aesop_wipe(void *p, size_t len)
{
    memset(p, 0, len);
    __asm__ volatile("" : : "r"(p) : "memory");
}

#endif
