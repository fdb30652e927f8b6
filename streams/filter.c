/* SPDX-License-Identifier: Apache-2.0 */
#include "streams/filter.h"

#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include <aesop/stream.h>

/* ---- set-up ---- */

static int round_up(size_t *size, size_t to)
{
    if (*size > SIZE_MAX - to)
        return 0;
    *size = (*size + to - 1) / to * to;
    return 1;
}

/* Ciphers are fastest where their vectors do not straddle cache lines. */
#define LINE_BYTES 64

/* Memory that starts a cache line; *block is what is to be freed. */
static uint8_t *alloc_lines(size_t size, uint8_t **block)
{
    *block = OPENSSL_malloc(size + LINE_BYTES);
    return *block == NULL ? NULL : *block + (LINE_BYTES - (uintptr_t)*block % LINE_BYTES);
}

static int filter_alloc(struct aesop_filter *f)
{
    const struct aesop_stream *s = &f->stream;
    const struct aesop_stream_config *c = &s->config;
    const size_t units = c->buffer_bytes > s->full_unit ? c->buffer_bytes / s->full_unit : 1;

    f->batch = units * s->full_unit;
    f->in_capacity = s->header_bytes + f->batch + s->lookahead;
    f->out_capacity = LINE_BYTES + units * aesop_stream_out_bytes(s, s->full_unit + s->lookahead, c->encrypt);
    f->hold = c->format == &aesop_format_message && !c->encrypt && !c->release_unverified;
    f->in = f->in_own = alloc_lines(f->in_capacity, &f->in_block);
    if (f->hold) {
        /* Reserved, not used: the kernel gives pages as they are written to. */
        if (f->out_capacity < c->hold_bytes + s->block_bytes)
            f->out_capacity = c->hold_bytes + s->block_bytes;
        round_up(&f->out_capacity, (size_t)sysconf(_SC_PAGESIZE));
        f->out =
            mmap(NULL, f->out_capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (f->out == MAP_FAILED)
            f->out = NULL;
    } else {
        f->out = alloc_lines(f->out_capacity, &f->out_block);
    }
    if (f->in == NULL || f->out == NULL)
        return aesop_stream_refuse(AESOP_STREAM_R_NO_MEMORY, "buffers of %zu and %zu bytes", f->in_capacity,
                                   f->out_capacity);
    return 1;
}

void aesop_filter_free(struct aesop_filter *f)
{
    if (f == NULL)
        return;
    OPENSSL_clear_free(f->in_block, f->in_capacity + LINE_BYTES);
    if (f->out != NULL && f->hold) {
        OPENSSL_cleanse(f->out, f->out_high);
        munmap(f->out, f->out_capacity);
    } else {
        OPENSSL_clear_free(f->out_block, f->out_capacity + LINE_BYTES);
    }
    aesop_stream_close(&f->stream);
    OPENSSL_clear_free(f, sizeof *f);
}

struct aesop_filter *aesop_filter_new(const struct aesop_stream_config *config)
{
    struct aesop_filter *f = OPENSSL_zalloc(sizeof *f);

    if (f == NULL) {
        aesop_stream_refuse(AESOP_STREAM_R_NO_MEMORY, "for a filter");
        return NULL;
    }
    if (!aesop_stream_open(&f->stream, config) || !filter_alloc(f)) {
        aesop_filter_free(f);
        return NULL;
    }
    return f;
}

/* ---- a stream's life ---- */

void aesop_filter_restart(struct aesop_filter *f)
{
    f->side = SIDE_NONE;
    f->in = f->in_own;
    f->in_pos = f->in_len = 0;
    f->out_pos = f->out_len = f->released = 0;
    f->header_missing = f->stream.config.encrypt ? 0 : f->stream.header_bytes;
    f->ended = f->verify_only = f->seek_pending = f->sought = 0;
    f->skip = f->position = f->gathered = 0;
    f->stream.reason = 0;
    f->stream.finished = 0;
    f->stream.number = f->stream.text_bytes = 0;
}

int aesop_filter_holding(const struct aesop_filter *f)
{
    return f->hold && !f->stream.second_pass;
}

static int seekable(BIO *b)
{
    /* A filter passes seeks on, unaware of what it has buffered. */
    return b != NULL && (BIO_method_type(b) & BIO_TYPE_SOURCE_SINK) != 0;
}

/* Where a source stands, or -1 where it does not seek. BIO_tell and BIO_seek are macros that cut to int. */
static int64_t source_tell(BIO *next)
{
    return seekable(next) ? BIO_ctrl(next, BIO_C_FILE_TELL, 0, NULL) : -1;
}

/*
 * Sockets and pairs of BIOs say 0 to what they do not know: when asked for their place, and to a seek, even to no place
 * at all. Files are not asked that: the few that have such a place would go there.
 */
static int64_t find_origin(BIO *next)
{
    const int64_t at = source_tell(next);
    const int type = BIO_method_type(next);

    if (at != 0 || type == BIO_TYPE_MEM || type == BIO_TYPE_FILE || type == BIO_TYPE_FD)
        return at;
    return BIO_ctrl(next, BIO_C_FILE_SEEK, -1, NULL) < 0 ? 0 : -1;
}

int aesop_source_seek(struct aesop_filter *f, BIO *next, int64_t offset)
{
    if (f->origin < 0 || offset > LONG_MAX || BIO_ctrl(next, BIO_C_FILE_SEEK, (long)offset, NULL) < 0 ||
        source_tell(next) != offset)
        return 0;
    f->in_pos = f->in_len = 0;
    f->ended = 0;
    return 1;
}

int aesop_filter_enter(struct aesop_filter *f, BIO *next, enum aesop_filter_side side)
{
    struct aesop_stream *s = &f->stream;

    if (s->reason != 0)
        return aesop_stream_raise(s);
    if (next == NULL)
        return aesop_stream_refuse(AESOP_STREAM_R_NEXT_BIO, "there is no next bio");
    if (f->side == side)
        return 1;
    if (f->side != SIDE_NONE)
        return aesop_stream_refuse(AESOP_STREAM_R_OTHER_SIDE, "the filter is being %s",
                                   f->side == SIDE_READ ? "read" : "written");
    if (!aesop_stream_start(s))
        return aesop_stream_raise(s);
    f->side = side;
    f->origin = side == SIDE_READ ? find_origin(next) : -1;
    f->memory_end = -1;
    if (s->config.encrypt) {
        /* In front of the cache line where the ciphertext will start. */
        f->out_pos = LINE_BYTES - s->header_bytes;
        f->out_len = f->released = LINE_BYTES;
        memcpy(f->out + f->out_pos, s->header, s->header_bytes);
    }
    return 1;
}

int aesop_filter_take_header(struct aesop_filter *f, const uint8_t *data, size_t len, size_t *taken)
{
    struct aesop_stream *s = &f->stream;

    *taken = len < f->header_missing ? len : f->header_missing;
    memcpy(s->header + s->header_bytes - f->header_missing, data, *taken);
    f->header_missing -= *taken;
    return f->header_missing > 0 || s->config.format->take_header(s);
}

int aesop_filter_fail_in_header(struct aesop_filter *f)
{
    return aesop_stream_fail(&f->stream, AESOP_STREAM_R_TRUNCATED, "the stream ends within its header of %zu bytes",
                             f->stream.header_bytes);
}

int aesop_filter_unit(struct aesop_filter *f, const struct aesop_octets in[2], int last)
{
    struct aesop_stream *s = &f->stream;
    size_t made;
    const int ok = s->config.format->unit(s, f->out + f->out_len, &made, in, last);

    if (!ok && aesop_filter_holding(f)) {
        OPENSSL_cleanse(f->out, f->out_high);
        f->out_len = 0;
    }
    if (!ok)
        return 0;
    f->out_len += made;
    if (f->out_len > f->out_high)
        f->out_high = f->out_len;
    if (!aesop_filter_holding(f) || s->finished)
        f->released = f->out_len;
    return 1;
}

size_t aesop_filter_text_bytes(const struct aesop_filter *f, size_t len, int last)
{
    const size_t tag = f->stream.config.tag_bytes;

    return !last ? len : len > tag ? len - tag : 0;
}

int aesop_filter_hold_more(struct aesop_filter *f, size_t text_bytes)
{
    const size_t limit = f->stream.config.hold_bytes;

    if (!f->verify_only && f->out_len <= limit && text_bytes <= limit - f->out_len)
        return 1;
    f->out_len = 0; /* of a message that is read twice, only the tag counts now */
    if (!f->verify_only)
        OPENSSL_cleanse(f->out, f->out_high);
    f->verify_only = 1;
    return f->origin >= 0 ||
           aesop_stream_fail(&f->stream, AESOP_STREAM_R_HOLD_LIMIT,
                             "more than the %zu bytes of hold-limit, and no source to read twice", limit);
}
