/* SPDX-License-Identifier: Apache-2.0 */
/* After set-up the AEAD filter allocates nothing: counted at malloc, so in libcrypto and the provider too. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>

#include "check.h"
#include "stream_util.h"
#include "support.h"

static unsigned long allocations;

#ifndef STREAM_SANITIZED
/* The C library's own, which the definitions below take the place of. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

#pragma GCC visibility push(default) /* for libcrypto to find them */

void *malloc(size_t size)
{
    __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
    return __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
    __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
    return __libc_realloc(p, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **p, size_t alignment, size_t size)
{
    *p = aligned_alloc(alignment, size);
    return *p != NULL ? 0 : ENOMEM;
}

#pragma GCC visibility pop
#endif

#define MESSAGES 10000
#define TEXT_MAX 700

static unsigned char text[TEXT_MAX], stream[2 * TEXT_MAX], out[2 * TEXT_MAX];

enum renewal { RESET, REKEY_SAME, REKEY_NEW, RENEWALS };

/* Starts the next stream, with the key of that number. */
static int renew(BIO *b, const struct stream_case *c, enum renewal how, size_t number)
{
    const size_t key_len = (size_t)EVP_CIPHER_get_key_length(stream_cipher(c->cipher));
    unsigned char key[64], aad[100];
    OSSL_PARAM params[3], *p = params;

    if (how == RESET)
        return BIO_reset(b) == 1;
    if (how == REKEY_SAME)
        return AESOP_BIO_rekey(b, NULL, 0, NULL);
    memset(key, (int)number, sizeof key);
    memset(aad, (int)number, sizeof aad);
    *p++ = OSSL_PARAM_construct_octet_string(AESOP_STREAM_PARAM_AAD, aad, number % sizeof aad);
    if (c->iv_len > 0)
        *p++ = OSSL_PARAM_construct_octet_string(AESOP_STREAM_PARAM_IV, key, c->iv_len);
    *p = OSSL_PARAM_construct_end();
    return AESOP_BIO_rekey(b, key, key_len, params);
}

static int move(BIO *b, enum stream_side side, const unsigned char *in, size_t len, size_t expected)
{
    size_t got = 0, n;

    if (side == STREAM_WRITE)
        return BIO_write_ex(b, in, len, &n) && n == len && BIO_flush(b) == 1;
    while (BIO_read_ex(b, out + got, sizeof out - got, &n))
        got += n;
    return got == expected;
}

static void check(const char *provider, const struct stream_case *c, int encrypt, enum stream_side side,
                  enum renewal how)
{
    struct stream_mem m = { .data = side == STREAM_WRITE ? out
                                    : encrypt            ? text
                                                         : stream,
                            .capacity = sizeof out,
                            .seekable = 1 };
    struct stream_mem made = { .data = stream, .capacity = sizeof stream };
    BIO *b = BIO_push(stream_filter(c, encrypt), stream_mem_bio(&m));
    BIO *writer = BIO_push(stream_filter(c, 1), stream_mem_bio(&made));
    const size_t tag = c->tag > 0 ? c->tag : 16;
    unsigned long before = allocations;
    size_t number;
    int ok = 1;

    for (number = 1; ok && number <= MESSAGES / RENEWALS + 1; number++) {
        const size_t len = number % TEXT_MAX;

        if (!encrypt) {
            made.len = 0;
            ok = renew(writer, c, how, number) && move(writer, STREAM_WRITE, text, len, 0);
        }
        m.pos = 0;
        m.len = side == STREAM_WRITE ? 0 : encrypt ? len : made.len;
        ok = ok && renew(b, c, how, number);
        if (encrypt) {
            const size_t segments =
                c->message || len <= stream_first_text(c)
                    ? 1
                    : 1 + (len - stream_first_text(c) + stream_other_text(c) - 1) / stream_other_text(c);

            ok = ok && move(b, side, text, len, stream_header_bytes(c) + len + tag * segments);
        } else {
            ok = ok && move(b, side, stream, made.len, len);
        }
    }
    before = allocations - before;
    CHECK(ok && ERR_peek_error() == 0, "%s %s, %s, side %d, renewal %d: message %zu failed", provider, c->cipher,
          encrypt ? "encrypt" : "decrypt", side, how, number);
    CHECK(before == 0, "%s %s, %s, side %d, renewal %d: %lu allocations", provider, c->cipher,
          encrypt ? "encrypt" : "decrypt", side, how, before);
    ERR_clear_error();
    BIO_free_all(b);
    BIO_free_all(writer);
}

/* The measuring device itself. */
static int counts(void)
{
    const unsigned long before = allocations;

    OPENSSL_free(OPENSSL_malloc(10));
    return allocations > before;
}

static void check_provider(const char *provider, OSSL_LIB_CTX *ctx)
{
    static const struct stream_case cases[] = {
        { .cipher = "AES-128-GCM", .segment = 200, .aad_len = 10 },
        { .cipher = "AES-256-GCM", .segment = 100, .buffer = 64, .hash = "SHA512" },
        { .cipher = "ChaCha20-Poly1305", .segment = 200 },
        { .cipher = "AES-128-GCM", .message = 1, .buffer = 256, .aad_len = 10 },
        { .cipher = "AES-256-GCM", .message = 1, .buffer = 64, .iv_len = 12 },
        { .cipher = "AES-256-GCM", .message = 1, .buffer = 64, .no_hold = 1 },
        { .cipher = "AES-256-GCM", .message = 1, .buffer = 64, .unverified = 1 },
        { .cipher = "ChaCha20-Poly1305", .message = 1, .buffer = 128 },
    };

    stream_use(ctx);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int encrypt = 0; encrypt < 2; encrypt++)
            for (int side = 0; side < 2; side++)
                for (int how = 0; how < RENEWALS; how++) {
                    const struct stream_case *c = &cases[i];
                    struct stream_case with = *c;

                    if (c->iv_len > 0 && how != REKEY_NEW)
                        continue; /* an iv serves once */
                    if (c->no_hold && side == STREAM_WRITE && !encrypt)
                        continue;
                    if (encrypt)
                        with.unverified = 0;
                    check(provider, &with, encrypt, side, how);
                }
}

static void test_allocations(void)
{
    OSSL_LIB_CTX *ctx;

#ifdef STREAM_SANITIZED
    support_skip("counting allocations", "the sanitizer has malloc");
    return;
#endif
    if (!CHECK(counts(), "malloc is counted"))
        return;
    ctx = support_ctx_aesop(NULL);
    check_provider("aesop", ctx);
    stream_use(NULL);
    support_ctx_free(ctx);
    ctx = support_ctx_default();
    check_provider("default", ctx);
    stream_use(NULL);
    support_ctx_free(ctx);
}

int main(int argc, char **argv)
{
    CU_pSuite suite;

    support_init(argc, argv);
    suite = CU_add_suite("stream-alloc", NULL, NULL);
    CU_add_test(suite, "no allocation after set-up", test_allocations);
    return support_run();
}
