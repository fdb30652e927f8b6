/* SPDX-License-Identifier: Apache-2.0 */
/* Random bytes for salts and ivs that allocate nothing, from the kernel. */
#ifndef AESOP_STREAMS_RANDOM_H
#define AESOP_STREAMS_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/*
 * A stock, because a system call for each short message would cost as much as encrypting it. It lives in a page that
 * the kernel gives zeroed to a forked child, so that two processes never draw the same bytes.
 */
struct aesop_random {
    struct aesop_random_page *page; /* NULL: no stock, every draw is a system call */
};

void aesop_random_open(struct aesop_random *r);
void aesop_random_close(struct aesop_random *r);
/* Whether this may be another process than that of the last call; 1 where that cannot be known. */
int aesop_random_forked(struct aesop_random *r);
/* len is at most 64. Returns 1, or 0 where the kernel has none to give. */
int aesop_random_bytes(struct aesop_random *r, uint8_t *out, size_t len);

#endif
