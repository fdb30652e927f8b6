/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_util.h"

#include <string.h>

#include <openssl/err.h>

#include "check.h"
#include "support.h"

unsigned char stream_key[64];

const struct stream_case stream_cases[] = {
    { .cipher = "AES-128-GCM", .segment = 41, .buffer = 64 },
    { .cipher = "AES-256-GCM", .segment = 57, .buffer = 300, .hash = "SHA512", .aad_len = 20 },
    { .cipher = "AES-128-GCM", .segment = 128, .buffer = 64, .hash = "SHA512", .aad_len = 1 },
    { .cipher = "AES-256-GCM", .segment = 100, .buffer = 1000, .aad_len = 200 },
    { .cipher = "AES-128-GCM", .segment = 400, .buffer = 64, .aad_len = 2 },
    { .cipher = "ChaCha20-Poly1305", .segment = 77, .buffer = 64, .aad_len = 3 },
    { .cipher = "AES-128-GCM", .message = 1, .buffer = 64, .aad_len = 13 },
    { .cipher = "AES-256-GCM", .message = 1, .buffer = 100, .iv_len = 12, .tag = 12 },
    { .cipher = "AES-256-GCM", .message = 1, .buffer = 4096, .iv_len = 16, .aad_len = 1 },
    { .cipher = "ChaCha20-Poly1305", .message = 1, .buffer = 64, .aad_len = 20 },
#ifndef STREAM_SANITIZED
    /* libcrypto's AES-NI code of OCB reads behind its table of L (seen in 3.0.19, by valgrind). */
    { .cipher = "AES-128-OCB", .message = 1, .buffer = 64, .aad_len = 20 },
#endif
};
const size_t stream_case_count = sizeof stream_cases / sizeof stream_cases[0];

/* ---- filters ---- */

static struct {
    const char *name;
    EVP_CIPHER *cipher;
} ciphers[] = { { "AES-128-GCM", NULL },       { "AES-192-GCM", NULL }, { "AES-256-GCM", NULL },
                { "ChaCha20-Poly1305", NULL }, { "AES-128-OCB", NULL }, { "AES-128-CCM", NULL },
                { "AES-128-CBC", NULL } };

void stream_use(OSSL_LIB_CTX *ctx)
{
#ifdef STREAM_SANITIZED
    if (ctx != NULL)
        support_skip("streams with AES-OCB", "libcrypto's own code for it reads out of bounds");
#endif
    for (size_t i = 0; i < sizeof stream_key; i++)
        stream_key[i] = (unsigned char)i;
    for (size_t i = 0; i < sizeof ciphers / sizeof ciphers[0]; i++) {
        EVP_CIPHER_free(ciphers[i].cipher);
        ciphers[i].cipher = ctx == NULL ? NULL : EVP_CIPHER_fetch(ctx, ciphers[i].name, NULL);
    }
}

EVP_CIPHER *stream_cipher(const char *name)
{
    for (size_t i = 0; i < sizeof ciphers / sizeof ciphers[0]; i++)
        if (strcmp(ciphers[i].name, name) == 0)
            return ciphers[i].cipher;
    return NULL;
}

const OSSL_PARAM *stream_params(struct stream_params *p, const struct stream_case *c, int encrypt)
{
    OSSL_PARAM *to = p->list;

    p->c = *c;
    p->one = 1;
    p->zero = 0;
    for (size_t i = 0; i < sizeof p->aad; i++)
        p->aad[i] = (unsigned char)(0x80 + i);
    for (size_t i = 0; i < sizeof p->iv; i++)
        p->iv[i] = (unsigned char)(0xc0 + i);
    if (c->message)
        *to++ = OSSL_PARAM_construct_utf8_string(AESOP_STREAM_PARAM_FORMAT, (char *)AESOP_STREAM_FORMAT_MESSAGE, 0);
    if (c->hash != NULL)
        *to++ = OSSL_PARAM_construct_utf8_string(AESOP_STREAM_PARAM_DIGEST, (char *)c->hash, 0);
    if (c->segment > 0)
        *to++ = OSSL_PARAM_construct_size_t(AESOP_STREAM_PARAM_SEGMENT_SIZE, &p->c.segment);
    if (c->buffer > 0)
        *to++ = OSSL_PARAM_construct_size_t(AESOP_STREAM_PARAM_BUFFER_SIZE, &p->c.buffer);
    if (c->tag > 0)
        *to++ = OSSL_PARAM_construct_size_t(AESOP_STREAM_PARAM_TAG_LENGTH, &p->c.tag);
    if (c->hold > 0 || c->no_hold)
        *to++ = OSSL_PARAM_construct_size_t(AESOP_STREAM_PARAM_HOLD_LIMIT, c->no_hold ? &p->zero : &p->c.hold);
    if (c->unverified)
        *to++ = OSSL_PARAM_construct_int(AESOP_STREAM_PARAM_RELEASE_UNVERIFIED, &p->one);
    if (c->aad_len > 0)
        *to++ = OSSL_PARAM_construct_octet_string(AESOP_STREAM_PARAM_AAD, p->aad, c->aad_len);
    if (c->iv_len > 0 && (c->message || encrypt))
        *to++ =
            OSSL_PARAM_construct_octet_string(AESOP_STREAM_PARAM_IV, c->iv != NULL ? (void *)c->iv : p->iv, c->iv_len);
    *to = OSSL_PARAM_construct_end();
    return p->list;
}

static size_t key_bytes(const struct stream_case *c)
{
    return (size_t)EVP_CIPHER_get_key_length(stream_cipher(c->cipher));
}

BIO *stream_filter(const struct stream_case *c, int encrypt)
{
    struct stream_params p;
    BIO *b = BIO_new(AESOP_BIO_f_aead());

    if (!AESOP_BIO_set_aead(b, stream_cipher(c->cipher), stream_key, key_bytes(c), encrypt,
                            stream_params(&p, c, encrypt))) {
        ERR_print_errors_fp(stdout);
        BIO_free(b);
        CU_FAIL("set-up of a filter");
        return NULL;
    }
    return b;
}

size_t stream_header_bytes(const struct stream_case *c)
{
    return !c->message ? 8 + key_bytes(c) : c->iv_len > 0 ? 0 : 12;
}

size_t stream_other_text(const struct stream_case *c)
{
    const size_t segment = c->segment > 0 ? c->segment : AESOP_STREAM_DEFAULT_SEGMENT;

    return c->message ? c->buffer / 16 * 16 : segment - 16;
}

size_t stream_first_text(const struct stream_case *c)
{
    return c->message ? stream_other_text(c) : stream_other_text(c) - stream_header_bytes(c);
}

/* ---- the other end ---- */

/* How far a call may go from byte `at` on: bytes, 0 with *result set where none. */
static size_t allowed(BIO *b, struct stream_mem *m, size_t at, size_t wanted, int *result)
{
    BIO_clear_retry_flags(b);
    *result = -1;
    if (m->fail_at > 0 && at >= m->fail_at)
        return 0;
    if ((m->block && !m->blocked) || (m->block_at > 0 && !m->blocked && at == m->block_at)) {
        m->blocked = 1;
        BIO_set_flags(b, BIO_FLAGS_SHOULD_RETRY | BIO_FLAGS_READ | BIO_FLAGS_WRITE);
        return 0;
    }
    if (m->block)
        m->blocked = 0;
    if (m->piece > 0 && wanted > m->piece)
        wanted = m->piece;
    if (m->block_at > at && wanted > m->block_at - at)
        wanted = m->block_at - at;
    if (m->fail_at > at && wanted > m->fail_at - at)
        wanted = m->fail_at - at;
    return wanted;
}

static int mem_read(BIO *b, char *data, int len)
{
    struct stream_mem *m = BIO_get_data(b);
    int result;
    size_t n = allowed(b, m, m->pos, (size_t)len, &result);

    if (n == 0)
        return result;
    if (m->pos >= m->len)
        return 0;
    if (n > m->len - m->pos)
        n = m->len - m->pos;
    memcpy(data, m->data + m->pos, n);
    m->pos += n;
    return (int)n;
}

static int mem_write(BIO *b, const char *data, int len)
{
    struct stream_mem *m = BIO_get_data(b);
    int result;
    size_t n = allowed(b, m, m->len, (size_t)len, &result);

    if (n == 0)
        return result;
    if (n > m->capacity - m->len)
        return -1;
    memcpy(m->data + m->len, data, n);
    m->len += n;
    return (int)n;
}

static long mem_ctrl(BIO *b, int command, long number, void *pointer)
{
    struct stream_mem *m = BIO_get_data(b);

    (void)pointer;
    switch (command) {
    case BIO_CTRL_FLUSH:
        m->flushes++;
        return 1;
    case BIO_CTRL_RESET:
        m->pos = 0;
        return 1;
    case BIO_CTRL_PENDING:
        return m->pos < m->len ? (long)(m->len - m->pos) : 0;
    case BIO_C_FILE_TELL:
        return m->seekable ? (long)m->pos : -1;
    case BIO_C_FILE_SEEK:
        if (!m->seekable || number < 0)
            return -1;
        /* Like a file: one may stand behind its end. */
        m->pos = (size_t)number;
        return number;
    }
    return 0;
}

BIO *stream_mem_bio(struct stream_mem *m)
{
    static BIO_METHOD *method;
    BIO *b;

    if (method == NULL) {
        method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "test memory");
        BIO_meth_set_read(method, mem_read);
        BIO_meth_set_write(method, mem_write);
        BIO_meth_set_ctrl(method, mem_ctrl);
    }
    b = BIO_new(method);
    BIO_set_data(b, m);
    BIO_set_init(b, 1);
    return b;
}

/* ---- runs ---- */

int stream_error(void)
{
    int reason = 0;

    for (unsigned long e = ERR_get_error(); e != 0; e = ERR_get_error())
        if (ERR_GET_LIB(e) == AESOP_STREAM_ERR_lib())
            reason = ERR_GET_REASON(e);
    return reason;
}

/* After a call failed: the reason, which must be the state's and that of each later call; they do nothing. */
static int failed(BIO *filter, enum stream_side side)
{
    AESOP_STREAM_STATE state = { 0 };
    unsigned char byte = 0x55;
    const int reason = stream_error();

    CHECK(AESOP_BIO_get_aead_state(filter, &state) && state.reason == reason, "state says %d, the error %d",
          state.reason, reason);
    for (int i = 0; i < 2; i++) {
        const int n = side == STREAM_READ ? BIO_read(filter, &byte, 1) : BIO_write(filter, &byte, 1);
        const int again = stream_error();

        CHECK(n < 0 && !BIO_should_retry(filter) && again == reason, "sticky: %d, reason %d then %d", n, reason, again);
    }
    CHECK(byte == 0x55, "a failed read wrote %02x", byte);
    if (side == STREAM_WRITE) {
        CHECK(BIO_flush(filter) <= 0 && stream_error() == reason, "sticky in flush");
    }
    CHECK(BIO_eof(filter) == 1, "BIO_eof after an error");
    return reason;
}

static int read_all(BIO *filter, size_t piece, unsigned char *out, size_t capacity, size_t *out_len)
{
    unsigned retries = 0;

    for (;;) {
        const size_t room = capacity - *out_len, want = piece > 0 && piece < room ? piece : room;
        size_t n;

        if (BIO_read_ex(filter, out + *out_len, want, &n)) {
            *out_len += n;
            retries = 0;
        } else if (BIO_should_retry(filter)) {
            if (!CHECK(++retries < 1000, "endless retries"))
                return -1;
        } else {
            break;
        }
    }
    if (ERR_peek_error() != 0)
        return failed(filter, STREAM_READ);
    CHECK(BIO_eof(filter) == 1, "BIO_eof at the end");
    CHECK(BIO_read(filter, out, 1) == 0 && ERR_peek_error() == 0, "the end stays the end");
    return 0;
}

static int write_all(BIO *filter, size_t piece, const unsigned char *in, size_t in_len)
{
    unsigned retries = 0;

    while (in_len > 0) {
        const size_t want = piece > 0 && piece < in_len ? piece : in_len;
        size_t n;

        if (BIO_write_ex(filter, in, want, &n)) {
            in += n;
            in_len -= n;
            retries = 0;
        } else if (!BIO_should_retry(filter)) {
            return failed(filter, STREAM_WRITE);
        } else if (!CHECK(++retries < 1000, "endless retries")) {
            return -1;
        }
    }
    while (BIO_flush(filter) <= 0) {
        if (!BIO_should_retry(filter))
            return failed(filter, STREAM_WRITE);
        if (!CHECK(++retries < 1000, "endless retries"))
            return -1;
    }
    CHECK(BIO_write(filter, "x", 1) < 0 && stream_error() == AESOP_STREAM_R_FINISHED, "a write after the flush");
    CHECK(BIO_flush(filter) == 1, "a second flush");
    return 0;
}

int stream_run(BIO *filter, enum stream_side side, struct stream_mem m, size_t piece, unsigned char *out,
               size_t out_capacity, size_t *out_len, const unsigned char *in, size_t in_len)
{
    int reason;

    *out_len = 0;
    if (filter == NULL)
        return -1;
    ERR_clear_error();
    memset(out, 0xaa, out_capacity);
    if (side == STREAM_READ) {
        m.data = (unsigned char *)in;
        m.len = in_len;
    } else {
        m.data = out;
        m.len = 0;
        m.capacity = out_capacity;
    }
    m.pos = 0;
    BIO_push(filter, side == STREAM_READ && m.libcrypto ? BIO_new_mem_buf(in, (int)in_len) : stream_mem_bio(&m));
    if (side == STREAM_READ) {
        reason = read_all(filter, piece, out, out_capacity, out_len);
    } else {
        reason = write_all(filter, piece, in, in_len);
        *out_len = m.len;
        CHECK(reason != 0 || m.flushes == 2, "%d flushes reached the next BIO", m.flushes);
    }
    BIO_free_all(filter);
    return reason;
}

int stream_main(int argc, char **argv, const char *suite, const struct stream_test tests[], unsigned char *text,
                size_t text_len)
{
    OSSL_LIB_CTX *ctx;
    struct support_random random;
    CU_pSuite added;
    int status;

    support_init(argc, argv);
    ctx = support_ctx_aesop(NULL);
    stream_use(ctx);
    support_random_seed(&random, support_seed());
    support_random_bytes(&random, text, text_len);
    added = CU_add_suite(suite, NULL, NULL);
    for (size_t i = 0; tests[i].name != NULL; i++)
        CU_add_test(added, tests[i].name, tests[i].run);
    status = support_run();
    stream_use(NULL);
    support_ctx_free(ctx);
    return status;
}
