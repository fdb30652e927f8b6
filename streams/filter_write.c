/* SPDX-License-Identifier: Apache-2.0 */
#include "streams/filter.h"

#include <limits.h>
#include <string.h>

#include <openssl/crypto.h>

#include <aesop/stream.h>

/* Shorter writes of a message are gathered: calling the cipher costs more than copying them. */
#define DIRECT_BYTES 2048

/* Hands what is released to the next BIO. */
static enum progress drain(struct aesop_filter *f, BIO *b, BIO *next)
{
    while (f->out_pos < f->released) {
        const size_t n = f->released - f->out_pos;
        const int written = BIO_write(next, f->out + f->out_pos, n < INT_MAX ? (int)n : INT_MAX);

        if (written <= 0 && BIO_should_retry(next)) {
            BIO_copy_next_retry(b);
            return BLOCKED;
        }
        if (written <= 0) {
            aesop_stream_fail(&f->stream, AESOP_STREAM_R_NEXT_BIO, "writing %zu bytes to the next bio", n);
            return FAILED;
        }
        f->out_pos += (size_t)written;
    }
    if (f->released > 0)
        f->out_pos = f->out_len = f->released = 0;
    return DONE;
}

/* Makes room in `out` for a unit. */
static enum progress make_room(struct aesop_filter *f, BIO *b, BIO *next, size_t len, int last)
{
    if (aesop_filter_holding(f))
        return aesop_filter_hold_more(f, aesop_filter_text_bytes(f, len, last)) ? DONE : FAILED;
    if (f->out_capacity - f->out_len >= aesop_stream_out_bytes(&f->stream, len, last))
        return DONE;
    return drain(f, b, next);
}

/* Takes some of the caller's bytes, at least one unless blocked or failed. */
static enum progress write_some(struct aesop_filter *f, BIO *b, BIO *next, const uint8_t *data, size_t len,
                                size_t *taken)
{
    struct aesop_stream *s = &f->stream;
    const int any = s->config.format->any_unit;
    const size_t direct = any && s->unit > DIRECT_BYTES ? DIRECT_BYTES : s->unit;
    enum progress result;
    size_t n;

    *taken = 0;
    if (f->header_missing > 0)
        return aesop_filter_take_header(f, data, len, taken) ? DONE : FAILED;
    if (f->in_len == 0 && len >= direct + s->lookahead) {
        n = len - s->lookahead < s->unit ? len - s->lookahead : s->unit;
        result = make_room(f, b, next, n, 0);
        if (result != DONE)
            return result;
        *taken = n;
        return aesop_filter_unit(f, data, n, 0) ? DONE : FAILED;
    }
    n = f->in_len < s->unit ? f->in_len : s->unit;
    if ((n == s->unit || (any && n > 0 && len >= direct + s->lookahead)) && f->in_len - n + len >= s->lookahead) {
        result = make_room(f, b, next, n, 0);
        if (result != DONE)
            return result;
        if (!aesop_filter_unit(f, f->in, n, 0))
            return FAILED;
        f->in_len -= n;
        memmove(f->in, f->in + n, f->in_len);
        return DONE;
    }
    n = f->in_len < s->unit ? s->unit - f->in_len : len;
    *taken = n < len ? n : len;
    memcpy(f->in + f->in_len, data, *taken);
    f->in_len += *taken;
    return DONE;
}

int aesop_filter_write(BIO *b, const char *data, size_t len, size_t *written)
{
    struct aesop_filter *f = BIO_get_data(b);
    BIO *next = BIO_next(b);
    enum progress result = DONE;

    *written = 0;
    BIO_clear_retry_flags(b);
    if (f == NULL)
        return aesop_stream_refuse(AESOP_STREAM_R_NOT_SET_UP, "a write before AESOP_BIO_set_aead") - 1;
    if (!aesop_filter_enter(f, next, SIDE_WRITE))
        return -1;
    if (f->ended)
        return aesop_stream_refuse(AESOP_STREAM_R_FINISHED, "the flush after %llu bytes ended the stream",
                                   (unsigned long long)f->stream.text_bytes) -
               1;
    while (*written < len && result == DONE) {
        size_t taken;

        result = write_some(f, b, next, (const uint8_t *)data + *written, len - *written, &taken);
        *written += taken;
    }
    /* What fills the buffer goes out now, not with the next write. */
    if (result == DONE && !aesop_filter_holding(f) &&
        f->out_capacity - f->out_len < aesop_stream_out_bytes(&f->stream, f->stream.unit, 0))
        result = drain(f, b, next);
    if (result == FAILED) {
        *written = 0;
        return aesop_stream_raise(&f->stream) - 1;
    }
    if (*written == 0 && len > 0)
        return -1;
    BIO_clear_retry_flags(b);
    return 1;
}

/* Makes or verifies the end, once, and writes all out. */
static enum progress finish(struct aesop_filter *f, BIO *b, BIO *next)
{
    struct aesop_stream *s = &f->stream;

    if (f->header_missing > 0) {
        aesop_filter_fail_in_header(f);
        return FAILED;
    }
    f->ended = 1;
    /* A reader that keeps back a tag may have more than one unit. */
    while (!s->finished) {
        const int last = f->in_len < s->unit + s->lookahead;
        const size_t n = last ? f->in_len : s->unit;
        const enum progress result = make_room(f, b, next, n, last);

        if (result != DONE)
            return result;
        if (!aesop_filter_unit(f, f->in, n, last))
            return FAILED;
        f->in_len -= n;
        memmove(f->in, f->in + n, f->in_len);
    }
    return drain(f, b, next);
}

long aesop_filter_flush(struct aesop_filter *f, BIO *b, BIO *next)
{
    enum progress result;
    long flushed;

    BIO_clear_retry_flags(b);
    if (!aesop_filter_enter(f, next, SIDE_WRITE))
        return -1;
    result = finish(f, b, next);
    if (result == FAILED)
        aesop_stream_raise(&f->stream);
    if (result != DONE)
        return -1;
    flushed = BIO_ctrl(next, BIO_CTRL_FLUSH, 0, NULL);
    BIO_copy_next_retry(b);
    return flushed;
}
