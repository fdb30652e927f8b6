/* SPDX-License-Identifier: Apache-2.0 */
#include "streams/filter.h"

#include <limits.h>
#include <string.h>

#include <openssl/crypto.h>

#include <aesop/stream.h>

/* Shorter writes of a message are gathered: calling the cipher costs more than copying them. */
#define DIRECT_BYTES 2048
/* From here on it pays to try a last segment where it lies. */
#define GUESS_BYTES 256

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
    /* Bytes may be gathered behind, or a last segment wait for the flush. */
    if (f->out_len == f->released && (f->in_len == 0 || f->in == f->in_own))
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

/*
 * Chooses where the bytes of a unit are gathered: where its output will be, so that one buffer less passes through the
 * cache. Not where output runs ahead of input (OCB); nor ciphertext, of which a segment that fails is looked at twice.
 */
static enum progress begin_gathering(struct aesop_filter *f, BIO *b, BIO *next)
{
    const struct aesop_stream *s = &f->stream;
    enum progress result;

    f->in = f->in_own;
    if (!s->config.encrypt || s->block_bytes > 1)
        return DONE;
    result = make_room(f, b, next, s->unit + s->lookahead, 1);
    if (result == DONE)
        f->in = f->out + f->out_len;
    return result;
}

static int may_guess(const struct aesop_filter *f, size_t len)
{
    const struct aesop_stream *s = &f->stream;

    return !f->guess_fails && !s->config.format->any_unit && len >= GUESS_BYTES && len < s->unit &&
           (!s->config.encrypt || EVP_CIPHER_get_mode(s->config.cipher) == EVP_CIPH_GCM_MODE);
}

/*
 * A write that may be all the rest of a stream is taken as its last segment where it lies, without a copy. Decryption:
 * if it verifies, it is that. Encryption: until more is written. It leaves with the flush, so that data behind it can
 * still be refused, or go on the segment. A caller who writes in pieces makes the guess fail once, and not again.
 */
static int guess_last(struct aesop_filter *f, const uint8_t *data, size_t len)
{
    const size_t released = f->released;

    if (!aesop_filter_unit(f, (const struct aesop_octets[2]){ { data, len } }, 1)) {
        f->stream.reason = 0;
        f->guess_fails = 1;
        return 0;
    }
    f->released = released;
    return 1;
}

/*
 * Encryption: more after the segment that was guessed to be the last. GCM's ciphertext, encrypted again, is the text,
 * and that lies where it would have been gathered. Nobody saw the ciphertext, so its iv has not served.
 */
static enum progress undo_last(struct aesop_filter *f)
{
    struct aesop_stream *s = &f->stream;
    const struct aesop_format *format = s->config.format;
    const uint64_t number = s->number - 1;
    const size_t text = f->out_len - f->released - s->config.tag_bytes;
    size_t made;

    f->guess_fails = 1;
    f->out_len = f->released;
    f->in = f->out + f->out_len;
    format->jump(s, number);
    if (!format->unit(s, f->in, &made, (const struct aesop_octets[2]){ { f->in, text } }, 1))
        return FAILED;
    format->jump(s, number);
    s->finished = 0;
    f->in_len = f->first_piece = text;
    f->gathered++;
    return DONE;
}

/* Decryption: more after the segment that was guessed to be the last, rightly. */
static enum progress fail_behind_last(struct aesop_filter *f)
{
    struct aesop_stream *s = &f->stream;
    const size_t unreleased = f->out_len - f->released;

    OPENSSL_cleanse(f->out + f->released, unreleased);
    f->out_len = f->released;
    s->text_bytes -= unreleased;
    s->number--;
    s->finished = 0;
    aesop_stream_fail(s, AESOP_STREAM_R_TRAILING_DATA, "segment %llu is the last, but more follows",
                      (unsigned long long)s->number);
    return FAILED;
}

/*
 * The segment that was begun, or not yet, with the caller's bytes that are its rest: these are not copied. More than
 * that follows, or (decryption) as a rule will. Returns 0 where it does not verify.
 */
static int complete_segment(struct aesop_filter *f, const uint8_t *data, size_t rest)
{
    const struct aesop_octets parts[] = { { f->in, f->in_len }, { data, rest } };

    if (!aesop_filter_unit(f, parts, 0))
        return 0;
    f->in_len = 0;
    return 1;
}

/* Takes some of the caller's bytes, at least one unless blocked or failed. */
static enum progress write_some(struct aesop_filter *f, BIO *b, BIO *next, const uint8_t *data, size_t len,
                                size_t *taken)
{
    struct aesop_stream *s = &f->stream;
    const int any = s->config.format->any_unit;
    const size_t direct = any && s->unit > DIRECT_BYTES ? DIRECT_BYTES : s->unit;
    enum progress result;
    size_t n, rest;

    *taken = 0;
    if (s->finished)
        return s->config.encrypt ? undo_last(f) : fail_behind_last(f);
    if (f->header_missing > 0)
        return aesop_filter_take_header(f, data, len, taken) ? DONE : FAILED;
    if (f->in_len == 0 && len >= direct + s->lookahead) {
        n = len - s->lookahead < s->unit ? len - s->lookahead : s->unit;
        result = make_room(f, b, next, n, 0);
        if (result != DONE)
            return result;
        *taken = n;
        return aesop_filter_unit(f, (const struct aesop_octets[2]){ { data, n } }, 0) ? DONE : FAILED;
    }
    n = f->in_len < s->unit ? f->in_len : s->unit;
    if ((n == s->unit || (any && n > 0 && len >= direct + s->lookahead)) && f->in_len - n + len >= s->lookahead) {
        result = make_room(f, b, next, n, 0);
        if (result != DONE)
            return result;
        if (!aesop_filter_unit(f, (const struct aesop_octets[2]){ { f->in, n } }, 0))
            return FAILED;
        f->in_len -= n;
        memmove(f->in, f->in + n, f->in_len);
        return DONE;
    }
    rest = s->unit - n;
    if (!any && rest >= DIRECT_BYTES && len >= rest + (s->config.encrypt ? s->lookahead : 0)) {
        result = make_room(f, b, next, s->unit, 0);
        if (result != DONE)
            return result;
        if (complete_segment(f, data, rest)) {
            *taken = rest;
            return DONE;
        }
        if (len >= rest + s->lookahead)
            return FAILED;
        s->reason = 0;
    }
    if (f->in_len == 0 && may_guess(f, len)) {
        /* A whole one, for what may follow. */
        result = make_room(f, b, next, s->unit + s->lookahead, 1);
        if (result != DONE)
            return result;
        if (guess_last(f, data, len)) {
            *taken = len;
            return DONE;
        }
    }
    if (f->in_len == 0) {
        result = begin_gathering(f, b, next);
        if (result != DONE)
            return result;
        f->first_piece = len;
        f->gathered++;
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
    if (f->in_len > 0 && f->in_len == f->first_piece && f->gathered == 1)
        f->guess_fails = 0;
    /* A reader that keeps back a tag may have more than one unit. */
    while (!s->finished) {
        const int last = f->in_len < s->unit + s->lookahead;
        const size_t n = last ? f->in_len : s->unit;
        const enum progress result = make_room(f, b, next, n, last);

        if (result != DONE)
            return result;
        if (!aesop_filter_unit(f, (const struct aesop_octets[2]){ { f->in, n } }, last))
            return FAILED;
        f->in_len -= n;
        memmove(f->in, f->in + n, f->in_len);
    }
    f->released = f->out_len;
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
