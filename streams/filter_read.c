/* SPDX-License-Identifier: Apache-2.0 */
#include "streams/filter.h"

#include <limits.h>
#include <string.h>

#include <openssl/crypto.h>

#include <aesop/stream.h>

/* With less room a message comes by way of `out`: calling the cipher costs more than copying. */
#define LEAST_BYTES 2048

struct unit {
    struct aesop_octets in[2]; /* the second is empty */
    size_t len;
    int last;
    int in_place; /* in the memory of the source, already behind it */
};

/* Memory is read where it lies. */
static int in_memory(const struct aesop_filter *f, BIO *next)
{
    return f->origin >= 0 && BIO_method_type(next) == BIO_TYPE_MEM;
}

/* Reads from the source once. */
static enum progress fill(struct aesop_filter *f, BIO *b, BIO *next)
{
    const struct aesop_stream *s = &f->stream;
    /* Up to the end of a unit, and what must follow it: then no more than that has to be moved to the front. */
    size_t goal = f->header_missing + s->unit + (f->batch - s->full_unit) + s->lookahead;
    int n;

    if (f->in_pos > 0) {
        f->in_len -= f->in_pos;
        memmove(f->in, f->in + f->in_pos, f->in_len);
        f->in_pos = 0;
    }
    if (f->header_missing > 0 && f->seek_pending)
        goal = f->header_missing;
    if (goal > INT_MAX)
        goal = INT_MAX;
    n = BIO_read(next, f->in + f->in_len, (int)(goal - f->in_len));
    if (n > 0) {
        f->in_len += (size_t)n;
        return DONE;
    }
    if (BIO_should_retry(next)) {
        BIO_copy_next_retry(b);
        return BLOCKED;
    }
    if (n < 0) {
        aesop_stream_fail(&f->stream, AESOP_STREAM_R_NEXT_BIO, "reading from the next bio, at byte %llu of the text",
                          (unsigned long long)s->text_bytes);
        return FAILED;
    }
    f->ended = 1;
    return DONE;
}

/* Bytes of room from which on a unit goes straight to the caller. */
static size_t least_room(const struct aesop_filter *f)
{
    const struct aesop_stream *s = &f->stream;

    return s->config.format->any_unit && !aesop_filter_holding(f) && s->unit > LEAST_BYTES
               ? LEAST_BYTES
               : aesop_stream_out_bytes(s, s->unit, 0);
}

/* The first unit of the bytes that are there; the last one of the stream where these are all. */
static void set_unit(const struct aesop_filter *f, struct unit *u, const uint8_t *in, size_t there)
{
    const struct aesop_stream *s = &f->stream;
    size_t want = s->unit;

    /* Where a format leaves the choice, what the caller has room for. */
    if (s->config.format->any_unit && f->room >= least_room(f) && f->room < aesop_stream_out_bytes(s, want, 0))
        want = (f->room - (s->block_bytes - 1)) / 16 * 16;
    u->last = there < want + s->lookahead;
    u->len = u->last ? there : want;
    u->in[0] = (struct aesop_octets){ in, u->len };
    u->in[1] = (struct aesop_octets){ NULL, 0 };
}

/* Whether `in` holds the next unit. */
static int have_unit(const struct aesop_filter *f, struct unit *u)
{
    const size_t there = f->in_len - f->in_pos;

    if (f->header_missing > 0 || (there == 0 && !f->ended))
        return 0;
    set_unit(f, u, f->in + f->in_pos, there);
    u->in_place = 0;
    return !u->last || f->ended;
}

/* Takes the header out of `in`, or fails where it ends too early. */
static int read_header(struct aesop_filter *f)
{
    size_t taken;

    if (f->header_missing == 0)
        return 1;
    if (!aesop_filter_take_header(f, f->in + f->in_pos, f->in_len - f->in_pos, &taken))
        return 0;
    f->in_pos += taken;
    return f->header_missing == 0 || !f->ended || aesop_filter_fail_in_header(f);
}

/* Byte of the source where a segment starts. */
static int64_t segment_offset(const struct aesop_filter *f, uint64_t number)
{
    const struct aesop_stream *s = &f->stream;

    return f->origin + (int64_t)(number > 0 ? number * s->config.segment_bytes : s->header_bytes);
}

/* Segment 0 is shorter by the header: with that added to offsets all are of one length. */
static void seek_now(struct aesop_filter *f, BIO *next)
{
    struct aesop_stream *s = &f->stream;
    const uint64_t text = s->config.segment_bytes - s->config.tag_bytes;
    const uint64_t at = f->position + s->header_bytes, number = at / text;

    f->seek_pending = 0;
    f->there_segment = 0;
    f->missing_segment = number;
    if (!aesop_source_seek(f, next, segment_offset(f, number))) {
        /* Memory does not go behind its end, where seek_last will find that it is. */
        f->in_pos = f->in_len = 0;
        f->ended = 1;
    }
    s->config.format->jump(s, number);
    f->skip = number > 0 ? at % text : f->position;
}

/* Where a source in memory stands that has so many bytes left. */
static long memory_at(struct aesop_filter *f, BIO *next, long there)
{
    if (!BIO_test_flags(next, BIO_FLAGS_MEM_RDONLY))
        return BIO_ctrl(next, BIO_C_FILE_TELL, 0, NULL);
    /* The end of what cannot be written to stays where it is, and this is the first look at it. */
    if (f->memory_end < 0)
        f->memory_end = (long)f->origin + there;
    return f->memory_end - there;
}

/*
 * Takes the header, and the next unit, out of a source in memory without a copy; the memory stays as it is during a
 * call. BLOCKED where that cannot be had.
 */
static enum progress lend_unit(struct aesop_filter *f, BIO *next, struct unit *u)
{
    long at, there;
    char *memory, byte;

    if ((there = BIO_get_mem_data(next, &memory)) <= 0)
        return BLOCKED;
    at = memory_at(f, next, there);
    if (f->header_missing > 0) {
        size_t taken;

        if (!aesop_filter_take_header(f, (uint8_t *)memory, (size_t)there, &taken))
            return FAILED;
        memory += taken;
        there -= (long)taken;
        at += (long)taken;
    }
    set_unit(f, u, (const uint8_t *)memory, (size_t)there);
    u->in_place = 1;
    if (f->header_missing == 0 && !f->seek_pending &&
        BIO_ctrl(next, BIO_C_FILE_SEEK, at + (long)u->len, NULL) == at + (long)u->len) {
        if (!u->last)
            return DONE;
        /* Whether that is the end, or more will be written later, a source that can be written to tells only a read. */
        f->ended = BIO_test_flags(next, BIO_FLAGS_MEM_RDONLY) || BIO_read(next, &byte, 1) == 0;
        if (f->ended)
            return DONE;
    }
    BIO_ctrl(next, BIO_C_FILE_SEEK, at, NULL);
    return BLOCKED;
}

/* Waits for the next unit. */
static enum progress get_unit(struct aesop_filter *f, BIO *b, BIO *next, struct unit *u)
{
    for (;;) {
        enum progress result;

        if (f->seek_pending && f->header_missing == 0)
            seek_now(f, next);
        if (have_unit(f, u))
            return DONE;
        if (in_memory(f, next) && f->in_pos == f->in_len && !f->ended) {
            result = lend_unit(f, next, u);
            if (result != BLOCKED)
                return result;
            if (f->seek_pending && f->header_missing == 0)
                continue;
        }
        result = fill(f, b, next);
        if (result != DONE)
            return result;
        if (!read_header(f))
            return FAILED;
    }
}

/*
 * Nothing is where a seek led to. That is the end only if the stream has a verified last segment, so find and read it.
 * 32 probes at most, of a byte each.
 */
static enum progress seek_last(struct aesop_filter *f, BIO *b, BIO *next)
{
    struct aesop_stream *s = &f->stream;

    while (f->missing_segment - f->there_segment > 1) {
        const uint64_t middle = f->there_segment + (f->missing_segment - f->there_segment) / 2;
        char byte;
        int n;

        if (!aesop_source_seek(f, next, segment_offset(f, middle))) {
            f->missing_segment = middle;
            continue;
        }
        n = BIO_read(next, &byte, 1);
        if (n <= 0 && BIO_should_retry(next)) {
            BIO_copy_next_retry(b);
            f->ended = 1; /* to come here again, and go on */
            return BLOCKED;
        }
        if (n < 0)
            return aesop_stream_fail(s, AESOP_STREAM_R_NEXT_BIO, "looking for the last segment") - 1;
        if (n > 0)
            f->there_segment = middle;
        else
            f->missing_segment = middle;
    }
    f->ended = 0;
    if (!aesop_source_seek(f, next, segment_offset(f, f->there_segment)))
        return aesop_stream_fail(s, AESOP_STREAM_R_NEXT_BIO, "the source does not seek") - 1;
    s->config.format->jump(s, f->there_segment);
    f->skip = SIZE_MAX;
    return DONE;
}

/* One step of reading: a unit. */
static enum progress read_step(struct aesop_filter *f, BIO *b, BIO *next, uint8_t *data, size_t len, size_t *got)
{
    struct aesop_stream *s = &f->stream;
    enum progress result;
    struct unit u;

    *got = 0;
    result = get_unit(f, b, next, &u);
    if (result != DONE)
        return result;
    /* Reading on never stops in front of a segment, so this one was sought. */
    if (u.len == 0 && f->sought && s->number > 0)
        return seek_last(f, b, next);
    f->sought = 0;
    if (f->skip == 0 && len >= aesop_stream_out_bytes(s, u.len, u.last)) {
        if (!s->config.format->unit(s, data, got, u.in, u.last))
            return FAILED;
    } else {
        size_t n;

        f->out_pos = f->out_len = f->released = 0;
        if (!aesop_filter_unit(f, u.in, u.last))
            return FAILED;
        n = f->skip < f->out_len ? f->skip : f->out_len;
        f->out_pos = n;
        f->skip = s->finished ? 0 : f->skip - n;
    }
    f->in_pos += u.in_place ? 0 : u.len;
    return DONE;
}

/* Whether the message from this unit on will, as far as the source knows, fit into the caller's memory. */
static int message_fits(const struct aesop_filter *f, BIO *next, const struct unit *u, size_t len)
{
    const size_t known = u->in_place ? u->len : f->in_len - f->in_pos;
    const size_t pending = u->last ? 0 : BIO_ctrl_pending(next);

    return (u->last || pending > 0) && pending <= SIZE_MAX / 2 &&
           aesop_stream_out_bytes(&f->stream, known + pending, 1) <= len;
}

/* What was decrypted into the caller's memory goes on waiting in `out`. */
static int spill(struct aesop_filter *f, uint8_t *data, size_t made)
{
    const int ok = aesop_filter_hold_more(f, made);

    if (ok && !f->verify_only) {
        memcpy(f->out, data, made);
        f->out_len = made;
        f->out_high = made > f->out_high ? made : f->out_high;
    }
    OPENSSL_cleanse(data, made);
    return ok;
}

/* The message is verified. Once more from the start, to release it. */
static enum progress read_again(struct aesop_filter *f, BIO *next)
{
    struct aesop_stream *s = &f->stream;

    f->out_pos = f->out_len = f->released = 0;
    f->header_missing = s->header_bytes;
    if (!aesop_source_seek(f, next, f->origin))
        return aesop_stream_fail(s, AESOP_STREAM_R_SOURCE_CHANGED, "the source does not seek back") - 1;
    if (!aesop_stream_start(s))
        return FAILED;
    s->second_pass = 1;
    return DONE;
}

/*
 * Decrypts a whole message without releasing a byte: into `out`, or into the caller's memory where that is likely to
 * hold it all. Where it turns out not to, or the source blocks, what is there moves to `out`.
 */
static enum progress read_held(struct aesop_filter *f, BIO *b, BIO *next, uint8_t *data, size_t len, size_t *got)
{
    struct aesop_stream *s = &f->stream;
    int first = f->out_len == 0 && !f->verify_only, direct = 0;
    size_t made = 0; /* in the caller's memory */
    struct unit u;

    *got = 0;
    for (; !s->finished; first = 0) {
        enum progress result = get_unit(f, b, next, &u);

        if (result == DONE && first)
            direct = message_fits(f, next, &u, len);
        if (result == BLOCKED && direct && !spill(f, data, made))
            result = FAILED;
        if (result == FAILED)
            OPENSSL_cleanse(data, made);
        if (result != DONE)
            return result;
        if (direct && len - made >= aesop_stream_out_bytes(s, u.len, u.last)) {
            size_t n;

            if (!s->config.format->unit(s, data + made, &n, u.in, u.last)) {
                OPENSSL_cleanse(data, made);
                return FAILED;
            }
            made += n;
        } else {
            if (direct && !spill(f, data, made))
                return FAILED;
            direct = 0;
            made = 0;
            if (!aesop_filter_hold_more(f, aesop_filter_text_bytes(f, u.len, u.last)) ||
                !aesop_filter_unit(f, u.in, u.last))
                return FAILED;
        }
        f->in_pos += u.in_place ? 0 : u.len;
    }
    *got = made;
    return f->verify_only ? read_again(f, next) : DONE;
}

int aesop_filter_read(BIO *b, char *data, size_t len, size_t *read)
{
    struct aesop_filter *f = BIO_get_data(b);
    BIO *next = BIO_next(b);
    enum progress result = DONE;

    *read = 0;
    BIO_clear_retry_flags(b);
    if (f == NULL)
        return aesop_stream_refuse(AESOP_STREAM_R_NOT_SET_UP, "a read before AESOP_BIO_set_aead") - 1;
    if (!aesop_filter_enter(f, next, SIDE_READ))
        return -1;
    while (*read < len) {
        const size_t ready = f->released - f->out_pos, room = len - *read;
        size_t n = ready < room ? ready : room;
        struct unit u;

        if (n > 0) {
            memcpy(data + *read, f->out + f->out_pos, n);
            f->out_pos += n;
            *read += n;
            f->position += n;
            continue;
        }
        if (f->stream.finished)
            break;
        f->room = room;
        /* The next unit would have to be copied now, but not with the next call. */
        if (*read > 0 && room < least_room(f) && len >= least_room(f))
            break;
        /* The source may block: what is there goes out first. */
        if (*read > 0 && !have_unit(f, &u) && !in_memory(f, next))
            break;
        result = aesop_filter_holding(f) ? read_held(f, b, next, (uint8_t *)data + *read, room, &n)
                                         : read_step(f, b, next, (uint8_t *)data + *read, room, &n);
        if (result != DONE)
            break;
        *read += n;
        f->position += n;
    }
    if (*read > 0 || result == FAILED)
        BIO_clear_retry_flags(b);
    /* What comes behind good bytes, a failure too, is told with the next call. */
    if (*read > 0)
        return 1;
    if (result == FAILED)
        aesop_stream_raise(&f->stream);
    return result == DONE ? 0 : -1;
}

long aesop_filter_seek(struct aesop_filter *f, BIO *next, long offset)
{
    struct aesop_stream *s = &f->stream;
    const uint64_t text = s->config.segment_bytes - s->config.tag_bytes;

    if (s->config.format->jump == NULL || s->config.encrypt || offset < 0 ||
        ((uint64_t)offset + s->header_bytes) / text > UINT32_MAX || !aesop_filter_enter(f, next, SIDE_READ) ||
        f->origin < 0)
        return -1;
    f->position = (uint64_t)offset;
    f->seek_pending = f->sought = 1;
    f->out_pos = f->out_len = f->released = 0;
    s->finished = 0;
    return offset;
}

long aesop_filter_tell(const struct aesop_filter *f)
{
    const struct aesop_stream *s = &f->stream;

    return s->config.format->jump == NULL || s->config.encrypt || f->side == SIDE_WRITE ? -1 : (long)f->position;
}
