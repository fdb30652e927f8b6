/* SPDX-License-Identifier: Apache-2.0 */
#include "streams/random.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include <openssl/crypto.h>

#define STOCK_BYTES 2040

struct aesop_random_page {
    int used;    /* 0 in a forked child */
    size_t left; /* unused bytes, at the end of stock */
    uint8_t stock[STOCK_BYTES];
};

static int draw(uint8_t *out, size_t len)
{
    while (len > 0) {
        const ssize_t n = getrandom(out, len, 0);

        if (n < 0 && errno != EINTR)
            return 0;
        if (n > 0) {
            out += n;
            len -= (size_t)n;
        }
    }
    return 1;
}

void aesop_random_open(struct aesop_random *r)
{
    r->page = NULL;
#ifdef MADV_WIPEONFORK
    void *page = mmap(NULL, sizeof *r->page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return;
    if (madvise(page, sizeof *r->page, MADV_WIPEONFORK) == 0)
        r->page = page;
    else
        munmap(page, sizeof *r->page);
#endif
}

void aesop_random_close(struct aesop_random *r)
{
    if (r->page == NULL)
        return;
    OPENSSL_cleanse(r->page, sizeof *r->page);
    munmap(r->page, sizeof *r->page);
    r->page = NULL;
}

int aesop_random_bytes(struct aesop_random *r, uint8_t *out, size_t len)
{
    struct aesop_random_page *page = r->page;
    uint8_t *from;

    if (page == NULL)
        return draw(out, len);
    if (page->left < len) {
        if (!draw(page->stock, sizeof page->stock))
            return 0;
        page->left = sizeof page->stock;
    }
    from = page->stock + sizeof page->stock - page->left;
    memcpy(out, from, len);
    OPENSSL_cleanse(from, len);
    page->left -= len;
    return 1;
}

int aesop_random_forked(struct aesop_random *r)
{
    const int forked = r->page == NULL || !r->page->used;

    if (r->page != NULL)
        r->page->used = 1;
    return forked;
}
