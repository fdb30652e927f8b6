/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constant-time helpers: no branch and no memory index depends on a value that goes through these.
 *
 * A mask is all ones for "yes" and all zeros for "no". Lengths are public everywhere.
 */
#ifndef AESOP_CIPHERS_CT_H
#define AESOP_CIPHERS_CT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Hides from the compiler that a mask has two values only, which it would take as an invitation to branch. */
static inline size_t aesop_ct_hide(size_t value)
{
    __asm__("" : "+r"(value));
    return value;
}

/* The mask of a < b. */
static inline size_t aesop_ct_lt(size_t a, size_t b)
{
    /* The borrow of a - b, for all values: Hacker's Delight, 2-13. */
    size_t borrow = (~a & b) | ((~a | b) & (a - b));

    return aesop_ct_hide(0 - (borrow >> (8 * sizeof(size_t) - 1)));
}

/* The mask of a == b. */
static inline size_t aesop_ct_eq(size_t a, size_t b)
{
    return aesop_ct_lt(a ^ b, 1);
}

/* a where the mask is set, b where it is not. */
static inline size_t aesop_ct_select(size_t mask, size_t a, size_t b)
{
    return b ^ (mask & (a ^ b));
}

/* Returns 1 where the len bytes are equal, otherwise 0. */
static inline int aesop_ct_equal(const void *a, const void *b, size_t len)
{
    const unsigned char *x = a, *y = b;
    size_t difference = 0, at = 0, u, v;

    for (; len - at >= sizeof u; at += sizeof u) {
        memcpy(&u, x + at, sizeof u);
        memcpy(&v, y + at, sizeof v);
        difference |= u ^ v;
    }
    for (; at < len; at++)
        difference |= x[at] ^ y[at];
    return aesop_ct_eq(difference, 0) & 1;
}

#endif
