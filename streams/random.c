/* SPDX-License-Identifier: Apache-2.0 */
#include "streams/random.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include <openssl/crypto.h>

/* getrandom of up to 256 bytes is never interrupted. */
struct aesop_random_page {
    size_t left; /* unused bytes, at the end of stock */
    uint8_t stock[256];
};

static int draw(uint8_t *out, size_t len)
{
    ssize_t n;

    do
        n = getrandom(out, len, 0);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)len;
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
