/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter, under AddressSanitizer. An input is a program: a format, pieces in which a good stream is written, edits
 * of it, then calls that read it. Whatever comes out must be the text that was written, at its place; a stream that was
 * changed must not reach its end.
 */
#include "stream_util.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>

/* The filter takes short pieces and long ones on different ways: sizes are small, or so many times that. */
#define SCALE 16
#define TEXT_MAX (700 * SCALE)
#define STREAM_MAX (2000 * SCALE)

static unsigned char text[TEXT_MAX];

/* The running program. */
struct program {
    const uint8_t *code, *end;
    unsigned scale; /* 1 or SCALE */
};

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned next(struct program *p)
{
    return p->code < p->end ? *p->code++ : 0;
}

static unsigned next2(struct program *p)
{
    const unsigned high = next(p);

    return high << 8 | next(p);
}

static size_t next_size(struct program *p)
{
    return 1 + next2(p) % 1000 * p->scale;
}

static void wrong(const char *what, size_t where)
{
    fprintf(stderr, "%s at byte %zu\n", what, where);
    abort();
}

/* Changes, cuts, drops, moves, repeats bytes. */
static size_t edit(struct program *p, unsigned char *stream, size_t len, const struct stream_case *c)
{
    for (unsigned edits = next(p) % 4; edits > 0; edits--) {
        const unsigned kind = next(p), segment = c->message ? 64 : (unsigned)c->segment;
        size_t from = next2(p), n = next2(p);

        /* On segments' borders as a rule: elsewhere any change is alike. */
        if (kind & 8) {
            from = from % 8 * segment;
            n = n % 8 * segment;
        }
        from = len == 0 ? 0 : from % len;
        n = n % (len - from + 1);
        switch (kind % 4) {
        case 0:
            if (len > 0)
                stream[from] ^= (unsigned char)n;
            break;
        case 1:
            len = from;
            break;
        case 2:
            memmove(stream + from, stream + from + n, len - from - n);
            len -= n;
            break;
        case 3:
            if (len + n <= STREAM_MAX) {
                memmove(stream + from + n, stream + from, len - from);
                len += n;
            }
            break;
        }
    }
    return len;
}

/* Reads in pieces and seeks; returns whether the end was reached by reading on. */
static int read_side(struct program *p, BIO *b, size_t text_len)
{
    size_t at = 0;

    for (int calls = 0; calls < 200; calls++) {
        const unsigned kind = next(p);
        const size_t want = kind & 1 ? 1 + next(p) : next_size(p);
        unsigned char *out;
        int n;

        if (kind % 16 == 15) {
            const size_t to = next2(p) % (TEXT_MAX + 50);

            if (BIO_ctrl(b, BIO_C_FILE_SEEK, (long)to, NULL) >= 0)
                at = to;
            continue;
        }
        /* From the heap and of the right size, for AddressSanitizer. */
        out = malloc(want);
        n = BIO_read(b, out, (int)want);
        if (n > 0 && (at + (size_t)n > text_len || memcmp(out, text + at, (size_t)n) != 0))
            wrong("other text", at);
        free(out);
        if (n > 0)
            at += (size_t)n;
        else if (!BIO_should_retry(b))
            return n == 0;
    }
    return 0;
}

static int write_side(struct program *p, BIO *b, const struct stream_mem *m, const unsigned char *stream, size_t len,
                      size_t text_len)
{
    int ok = 1;

    while (len > 0 && ok) {
        size_t want = next_size(p);
        unsigned char *in;
        int n;

        want = want < len ? want : len;
        in = malloc(want);
        memcpy(in, stream, want);
        n = BIO_write(b, in, (int)want);
        free(in);
        ok = n > 0;
        stream += ok ? n : 0;
        len -= ok ? (size_t)n : 0;
    }
    ok = ok && BIO_flush(b) > 0;
    if (m->len > text_len || memcmp(m->data, text, m->len) != 0)
        wrong("other text", m->len);
    return ok;
}

/* Encrypts the text, in pieces while the program says how long. Returns the stream's length. */
static size_t write_good(struct program *p, const struct stream_case *c, unsigned char *stream, size_t text_len)
{
    struct stream_mem m = { .data = stream, .capacity = STREAM_MAX };
    BIO *b = BIO_push(stream_filter(c, 1), stream_mem_bio(&m));
    size_t at = 0;

    for (unsigned pieces = next(p) % 8; at < text_len;) {
        const size_t left = text_len - at, want = pieces > 0 ? next_size(p) : left, n = want < left ? want : left;

        if (BIO_write(b, text + at, (int)n) != (int)n)
            wrong("no stream", at);
        at += n;
        if (pieces > 0)
            pieces--;
    }
    if (BIO_flush(b) <= 0)
        wrong("no stream", at);
    BIO_free_all(b);
    return m.len;
}

static void read_good(const struct stream_case *c, const unsigned char *stream, size_t len, size_t text_len)
{
    static unsigned char out[TEXT_MAX + 1];
    BIO *b = BIO_push(stream_filter(c, 0), BIO_new_mem_buf(stream, (int)len));
    size_t at = 0;
    int n;

    while ((n = BIO_read(b, out + at, (int)(sizeof out - at))) > 0)
        at += (size_t)n;
    if (n < 0 || at != text_len || memcmp(out, text, at) != 0)
        wrong("a good stream has not passed", at);
    BIO_free_all(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char good[STREAM_MAX], stream[STREAM_MAX], out[STREAM_MAX];
    struct program p = { data, data + size, 1 };
    struct stream_case with = stream_cases[next(&p) % stream_case_count];
    const unsigned flags = next(&p);
    const struct stream_case *c = &with;
    struct stream_mem m;
    size_t text_len, good_len, len;
    BIO *b;
    int ended;

    p.scale = next(&p) % 2 != 0 ? SCALE : 1;
    with.segment *= p.scale;
    with.buffer *= p.scale;
    text_len = next2(&p) % 700 * p.scale + next(&p) % p.scale;
    good_len = write_good(&p, c, good, text_len);
    read_good(c, good, good_len, text_len);
    memcpy(stream, good, good_len);
    len = edit(&p, stream, good_len, c);

    if (c->message && flags & 64)
        with.no_hold = 1;
    if (c->message && flags & 128)
        with.hold = 100;
    b = stream_filter(&with, 0);
    if (flags & 1) {
        m = (struct stream_mem){ .data = out, .capacity = sizeof out };
        BIO_push(b, stream_mem_bio(&m));
        ended = write_side(&p, b, &m, stream, len, text_len);
    } else if (flags & 2 && len > 0) {
        BIO_push(b, BIO_new_mem_buf(stream, (int)len));
        ended = read_side(&p, b, text_len);
    } else {
        m = (struct stream_mem){ .data = stream,
                                 .len = len,
                                 .seekable = flags >> 2 & 1,
                                 .piece = flags & 8 ? 1 + next(&p) : 0,
                                 .block = flags >> 4 & 1,
                                 .block_at = flags & 32 ? next2(&p) % STREAM_MAX : 0 };
        BIO_push(b, stream_mem_bio(&m));
        ended = read_side(&p, b, text_len);
    }
    /* A seek past a change does not meet it. */
    if (ended && (c->message || flags & 1) && (len != good_len || memcmp(stream, good, len) != 0))
        wrong("a changed stream has passed", len);
    BIO_free_all(b);
    ERR_clear_error();
    return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct support_random random;

    (void)argc;
    (void)argv;
    stream_use(support_ctx_aesop(getenv("AESOP_FUZZ_KERNEL")));
    support_random_seed(&random, 1);
    support_random_bytes(&random, text, sizeof text);
    return 0;
}
