/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams that are not what was written: an error each time, the same one from then on, and nothing released that did
 * not verify.
 */
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>

#include "check.h"
#include "stream_util.h"
#include "streams/filter.h"
#include "support.h"

#define TEXT_MAX 2000
#define STREAM_MAX (TEXT_MAX + 700)

static unsigned char text[TEXT_MAX], stream[STREAM_MAX], changed[2 * STREAM_MAX], out[TEXT_MAX + 200];

/* Bytes of text that are in whole units in front of this byte of the stream. */
static size_t text_before(const struct stream_case *c, size_t byte)
{
    const size_t first = stream_first_text(c), other = stream_other_text(c), segment = other + 16;
    const size_t number = byte / segment;

    return c->message || number == 0 ? 0 : first + (number - 1) * other;
}

struct expected {
    const int *reasons; /* 0 at the end */
    size_t released;    /* at most */
};

static int among(const int *reasons, int reason)
{
    while (*reasons != 0 && *reasons != reason)
        reasons++;
    return *reasons != 0;
}

/* Zeros may lie where what failed would have gone, no byte of it. Returns the place of one, or the end. */
static size_t left_behind(size_t out_len)
{
    size_t i = out_len;

    while (i < sizeof out && (out[i] == 0xaa || out[i] == 0))
        i++;
    return i;
}

/* Decrypts on both sides, in large and small calls, and out of libcrypto's memory. */
static void check_refused(const struct stream_case *c, const unsigned char *data, size_t len, struct expected e,
                          const char *what, size_t where)
{
    static const size_t pieces[] = { 0, 5 };

    for (int way = 0; way < 6; way++) {
        const size_t piece = pieces[way >> 1 & 1];
        size_t out_len;
        int reason;

        reason = stream_run(stream_filter(c, 0), way & 1,
                            (struct stream_mem){ .seekable = way >> 1 & 1, .libcrypto = way >> 2 }, piece, out,
                            sizeof out, &out_len, data, len);
        CHECK(among(e.reasons, reason), "%s, segment %zu: %s %zu: way %d gives reason %d", c->cipher, c->segment, what,
              where, way, reason);
        CHECK(out_len <= e.released && memcmp(out, text, out_len) == 0,
              "%s, segment %zu: %s %zu: way %d released %zu of %zu", c->cipher, c->segment, what, where, way, out_len,
              e.released);
        CHECK(left_behind(out_len) == sizeof out, "%s, segment %zu: %s %zu: way %d left byte %zu", c->cipher,
              c->segment, what, where, way, left_behind(out_len));
    }
}

/* A stream of a few segments; its length. */
static size_t make_stream(const struct stream_case *c, size_t len, unsigned char *to)
{
    size_t stream_len;

    CU_ASSERT(stream_run(stream_filter(c, 1), STREAM_WRITE, (struct stream_mem){ 0 }, 0, to, STREAM_MAX, &stream_len,
                         text, len) == 0);
    return stream_len;
}

static size_t three_segments(const struct stream_case *c)
{
    return c->message ? 150 : stream_first_text(c) + stream_other_text(c) + stream_other_text(c) / 2 + 1;
}

#define REASONS(...) ((const int[]){ __VA_ARGS__, 0 })

/* Cases whose every bit and byte is tried. */
#define SMALL_STREAM 260

static void test_bits(void)
{
    for (size_t i = 0; i < stream_case_count; i++) {
        const struct stream_case *c = &stream_cases[i];
        const size_t len = make_stream(c, three_segments(c), stream);

        for (size_t bit = 0; bit<8 * len; bit += len> SMALL_STREAM ? 5 : 1) {
            const size_t byte = bit / 8;
            const int header = !c->message && byte == 0;

            memcpy(changed, stream, len);
            changed[byte] ^= (unsigned char)(1u << bit % 8);
            check_refused(
                c, changed, len,
                (struct expected){ header ? REASONS(AESOP_STREAM_R_BAD_HEADER) : REASONS(AESOP_STREAM_R_AUTHENTICATION),
                                   text_before(c, byte) },
                "bit", bit);
        }
    }
}

/* A cut at a segment's end, or one that leaves less than a tag, is recognised; otherwise the segment merely fails. */
static void test_truncation(void)
{
    for (size_t i = 0; i < stream_case_count; i++) {
        const struct stream_case *c = &stream_cases[i];
        const size_t lengths[] = { three_segments(c), stream_first_text(c) + stream_other_text(c) };

        for (size_t l = 0; l < (c->message ? 1 : 2); l++) {
            const size_t len = make_stream(c, lengths[l], stream), header = stream_header_bytes(c);
            const size_t tag = c->tag > 0 ? c->tag : 16;

            for (size_t cut = 0; cut < len; cut++) {
                const size_t start = c->message || cut < c->segment ? header : cut / c->segment * c->segment;
                const int recognised = cut < header || (!c->message && cut % c->segment == 0) || cut - start < tag;

                check_refused(c, stream, cut,
                              (struct expected){ recognised ? REASONS(AESOP_STREAM_R_TRUNCATED)
                                                            : REASONS(AESOP_STREAM_R_AUTHENTICATION),
                                                 c->message || cut == 0 ? 0 : text_before(c, cut - 1) },
                              "cut to", cut);
            }
        }
    }
}

/* The source fails amid a message, part of which is decrypted already. */
static void test_source_fails(void)
{
    const struct stream_case c = { .cipher = "AES-256-GCM", .message = 1, .buffer = 64 };
    const size_t len = make_stream(&c, 600, stream);

    for (size_t at = 1; at < len; at++) {
        size_t out_len;
        const int reason = stream_run(stream_filter(&c, 0), STREAM_READ, (struct stream_mem){ .fail_at = at }, 0, out,
                                      sizeof out, &out_len, stream, len);

        CHECK(reason == AESOP_STREAM_R_NEXT_BIO && out_len == 0 && left_behind(0) == sizeof out,
              "at %zu: reason %d, %zu bytes, left byte %zu", at, reason, out_len, left_behind(0));
    }
}

/* A segment that was rightly taken for the last one, and is none when more follows. */
static void test_state_behind_last(void)
{
    const struct stream_case c = { .cipher = "AES-128-GCM", .segment = 4096 };
    struct stream_mem m = { .data = out, .capacity = sizeof out };
    const size_t len = make_stream(&c, 1000, stream);
    BIO *b = BIO_push(stream_filter(&c, 0), stream_mem_bio(&m));
    AESOP_STREAM_STATE state;

    CU_ASSERT_EQUAL(BIO_write(b, stream, (int)len), (int)len);
    CU_ASSERT(BIO_write(b, "x", 1) < 0 && stream_error() == AESOP_STREAM_R_TRAILING_DATA);
    CU_ASSERT(AESOP_BIO_get_aead_state(b, &state));
    CHECK(state.reason == AESOP_STREAM_R_TRAILING_DATA && !state.finished && state.segments == 0 && state.bytes == 0 &&
              m.len == 0,
          "reason %d, finished %d, %d segments, %d bytes, %zu released", state.reason, state.finished,
          (int)state.segments, (int)state.bytes, m.len);
    BIO_free_all(b);
}

static void test_appended(void)
{
    for (size_t i = 0; i < stream_case_count; i++) {
        const struct stream_case *c = &stream_cases[i];
        /* The last segment full, so that what follows is a segment of its own. */
        const size_t len = make_stream(c, c->message ? 150 : stream_first_text(c) + stream_other_text(c), stream);

        memcpy(changed, stream, len);
        memset(changed + len, 0, 300);
        for (size_t more = 1; more < 300; more += more < 20 ? 1 : 31)
            check_refused(c, changed, len + more,
                          (struct expected){ c->message ? REASONS(AESOP_STREAM_R_AUTHENTICATION)
                                                        : REASONS(AESOP_STREAM_R_TRAILING_DATA),
                                             text_before(c, len - 1) },
                          "appended", more);
    }
}

struct piece {
    const unsigned char *data;
    size_t len;
};

/* Streams put together from segments of one or two streams. */
static void test_segments_moved(void)
{
    static unsigned char other_stream[STREAM_MAX];

    for (size_t i = 0; i < stream_case_count; i++) {
        const struct stream_case *c = &stream_cases[i];
        const size_t n = c->segment;
        /* Five segments; the last is full too, so that lengths betray nothing. */
        const size_t text_len = stream_first_text(c) + 4 * stream_other_text(c);
        const size_t header = stream_header_bytes(c);
        const unsigned char *s = stream, *o = other_stream;
        const struct {
            const char *what;
            struct piece pieces[8];
            int good;          /* segments in front of the fault */
            int ends_too_soon; /* seen as such */
        } made[] = {
            { "0 and 1 swapped",
              { { s, header }, { s + n, n }, { s + header, n - header }, { s + 2 * n, 3 * n } },
              0,
              0 },
            { "1 and 2 swapped", { { s, n }, { s + 2 * n, n }, { s + n, n }, { s + 3 * n, 2 * n } }, 1, 0 },
            { "3 and 4 swapped", { { s, 3 * n }, { s + 4 * n, n }, { s + 3 * n, n } }, 3, 0 },
            { "1 dropped", { { s, n }, { s + 2 * n, 3 * n } }, 1, 0 },
            { "3 dropped", { { s, 3 * n }, { s + 4 * n, n } }, 3, 0 },
            { "4 dropped", { { s, 4 * n } }, 3, 1 },
            { "1 repeated", { { s, 2 * n }, { s + n, 4 * n } }, 2, 0 },
            { "last repeated", { { s, 5 * n }, { s + 4 * n, n } }, 4, 2 },
            { "2 from another stream", { { s, 2 * n }, { o + 2 * n, n }, { s + 3 * n, 2 * n } }, 2, 0 },
            { "last from another stream", { { s, 4 * n }, { o + 4 * n, n } }, 4, 0 },
            { "another stream appended", { { s, 5 * n }, { o, 5 * n } }, 4, 2 },
            { "another stream's segment appended", { { s, 5 * n }, { o + 4 * n, n } }, 4, 2 },
            { "another stream's header", { { o, header }, { s + header, 5 * n - header } }, 0, 0 },
        };

        if (c->message)
            continue;
        make_stream(c, text_len, other_stream);
        CU_ASSERT_EQUAL(make_stream(c, text_len, stream), 5 * n);
        for (size_t m = 0; m < sizeof made / sizeof made[0]; m++) {
            size_t len = 0;

            for (size_t p = 0; made[m].pieces[p].len > 0; p++) {
                memcpy(changed + len, made[m].pieces[p].data, made[m].pieces[p].len);
                len += made[m].pieces[p].len;
            }
            check_refused(c, changed, len,
                          (struct expected){ made[m].ends_too_soon == 1   ? REASONS(AESOP_STREAM_R_TRUNCATED)
                                             : made[m].ends_too_soon == 2 ? REASONS(AESOP_STREAM_R_TRAILING_DATA)
                                                                          : REASONS(AESOP_STREAM_R_AUTHENTICATION),
                                             text_before(c, (size_t)made[m].good * n) },
                          made[m].what, m);
        }
    }
}

static void test_wrong_key(void)
{
    for (size_t i = 0; i < stream_case_count; i++) {
        const struct stream_case *c = &stream_cases[i];
        const struct expected e = { REASONS(AESOP_STREAM_R_AUTHENTICATION), 0 };
        struct stream_case with = *c;
        const size_t len = make_stream(c, three_segments(c), stream);
        static const unsigned char other_iv[64] = { 1 };

        stream_key[3] ^= 0x10;
        check_refused(c, stream, len, e, "wrong key", 0);
        stream_key[3] ^= 0x10;
        with.aad_len = c->aad_len + 1;
        check_refused(&with, stream, len, e, "longer associated data", 0);
        if (c->aad_len > 0) {
            with.aad_len = c->aad_len - 1;
            check_refused(&with, stream, len, e, "shorter associated data", 0);
        }
        with = *c;
        with.iv = other_iv;
        if (c->iv_len > 0)
            check_refused(&with, stream, len, e, "wrong iv", 0);
        with = *c;
        with.hash = c->hash == NULL ? "SHA512" : "SHA256";
        with.segment++;
        if (!c->message)
            check_refused(&with, stream, len, e, "other segment size", 0);
        with.segment--;
        if (!c->message)
            check_refused(&with, stream, len, e, "other hash", 0);
    }
}

/* A stream for another key length is told from a changed one. */
static void test_header(void)
{
    const struct stream_case small = { .cipher = "AES-128-GCM", .segment = 100 },
                             large = { .cipher = "AES-256-GCM", .segment = 100 };
    const size_t len = make_stream(&small, 200, stream);

    check_refused(&large, stream, len, (struct expected){ REASONS(AESOP_STREAM_R_BAD_HEADER), 0 }, "for AES-128", 0);
}

/* Released unverified only on demand: all of the text, then the error. */
static void test_release_unverified(void)
{
    struct stream_case c = { .cipher = "AES-128-GCM", .message = 1, .buffer = 64 };
    const size_t len = make_stream(&c, 500, stream);

    stream[len - 1] ^= 1;
    c.unverified = 1;
    for (int side = 0; side < 2; side++) {
        size_t out_len;
        const int reason =
            stream_run(stream_filter(&c, 0), side, (struct stream_mem){ 0 }, 0, out, sizeof out, &out_len, stream, len);

        CHECK(reason == AESOP_STREAM_R_AUTHENTICATION && out_len > 300 && memcmp(out, text, out_len) == 0,
              "release-unverified: reason %d, %zu bytes", reason, out_len);
    }
    stream[len - 1] ^= 1;
    for (int side = 0; side < 2; side++) {
        size_t out_len;
        const int reason =
            stream_run(stream_filter(&c, 0), side, (struct stream_mem){ 0 }, 0, out, sizeof out, &out_len, stream, len);

        CHECK(reason == 0 && out_len == 500 && memcmp(out, text, out_len) == 0, "release-unverified, good: %d", reason);
    }
}

/* A source that changes between the reading that verifies and the one that releases. */
static void test_source_changed(void)
{
    const struct stream_case c = { .cipher = "AES-128-GCM", .message = 1, .buffer = 64, .no_hold = 1 };
    const size_t len = make_stream(&c, 500, stream);
    struct stream_mem m = { .data = stream, .len = len, .seekable = 1 };
    BIO *b = BIO_push(stream_filter(&c, 0), stream_mem_bio(&m));
    size_t total = 0, n;

    CHECK(BIO_read_ex(b, out, 10, &n) && n == 10 && memcmp(out, text, n) == 0, "verified, then released");
    stream[len - 20] ^= 1;
    while (BIO_read_ex(b, out, sizeof out, &n))
        total += n;
    CHECK(stream_error() == AESOP_STREAM_R_SOURCE_CHANGED && total < 490, "changed behind the first reading: %zu",
          total);
    BIO_free_all(b);
}

/* The last number is 2^32 - 1, and only the last segment may have it. */
static void test_segment_limit(void)
{
    const struct stream_case c = { .cipher = "AES-128-GCM", .segment = 41, .buffer = 64 };

    for (int too_long = 0; too_long < 2; too_long++) {
        struct stream_mem m = { .data = out, .capacity = sizeof out };
        BIO *b = BIO_push(stream_filter(&c, 1), stream_mem_bio(&m));
        struct aesop_filter *f = aesop_filter_of(b);
        AESOP_STREAM_STATE state;
        int ok;

        CU_ASSERT(BIO_write(b, text, 1) == 1); /* starts the stream */
        CU_ASSERT_PTR_NOT_NULL_FATAL(f);
        f->in_len = 0;
        f->stream.number = UINT32_MAX;
        f->stream.unit = f->stream.full_unit;
        ok = BIO_write(b, text, 25 + too_long) == 25 + too_long && BIO_flush(b) == 1;
        CHECK(ok == !too_long && stream_error() == (too_long ? AESOP_STREAM_R_TOO_LONG : 0), "segment 2^32 - 1: %d",
              ok);
        CU_ASSERT(AESOP_BIO_get_aead_state(b, &state));
        CHECK(ok == (state.segments == UINT64_C(1) << 32), "segments: %llu", (unsigned long long)state.segments);
        CHECK(ok ? m.len == stream_header_bytes(&c) + 41 : m.len <= stream_header_bytes(&c), "%zu bytes", m.len);
        BIO_free_all(b);
    }
}

/* GCM ends at 2^36 - 32 bytes. */
static void test_message_limit(void)
{
    const struct stream_case c = { .cipher = "AES-128-GCM", .message = 1, .buffer = 64 };
    BIO *b = BIO_push(stream_filter(&c, 1), BIO_new(BIO_s_null()));
    struct aesop_filter *f = aesop_filter_of(b);

    CU_ASSERT(BIO_write(b, text, 1) == 1);
    f->stream.text_bytes = (UINT64_C(1) << 36) - 32 - 64;
    CHECK(BIO_write(b, text, 63) == 63, "up to the limit");
    CHECK((BIO_write(b, text, 1) < 0 || BIO_flush(b) <= 0) && stream_error() == AESOP_STREAM_R_TOO_LONG,
          "a message beyond the limit");
    BIO_free_all(b);
}

/* The text of an error says what and where. */
static void test_error_text(void)
{
    const struct stream_case c = { .cipher = "AES-128-GCM", .segment = 100 };
    const size_t len = make_stream(&c, 300, stream);
    const char *data;
    size_t out_len;
    int flags;
    struct stream_mem m = { .data = stream, .len = len };
    BIO *b = BIO_push(stream_filter(&c, 0), stream_mem_bio(&m));
    AESOP_STREAM_STATE state;
    unsigned long e;

    stream[250] ^= 1;
    while (BIO_read_ex(b, out, sizeof out, &out_len))
        ;
    e = ERR_peek_last_error_data(&data, &flags);
    CHECK(strcmp(ERR_lib_error_string(e), "aesop stream") == 0 &&
              strcmp(ERR_reason_error_string(e), "does not verify") == 0,
          "error strings");
    CHECK((flags & ERR_TXT_STRING) != 0 && strstr(data, "segment 2, bytes 200 to 299") != NULL, "error text: %s", data);
    CU_ASSERT(AESOP_BIO_get_aead_state(b, &state));
    CHECK(state.segments == 2 && state.bytes == 100 - 24 - 16 + 84 && !state.finished,
          "state: segment %llu, %llu bytes", (unsigned long long)state.segments, (unsigned long long)state.bytes);
    ERR_clear_error();
    BIO_free_all(b);
}

/* Large segments, written in pieces of exactly one: the filter takes such a piece before it knows of a next one. */
static void test_pieces_of_a_segment(void)
{
    enum { SEGMENT = 4096, COUNT = 4, FIRST = SEGMENT - 24 - 16, OTHER = SEGMENT - 16 };
    const struct stream_case c = { .cipher = "AES-128-GCM", .segment = SEGMENT };
    static unsigned char long_text[COUNT * SEGMENT], whole[COUNT * SEGMENT], back[COUNT * SEGMENT];
    const size_t text_len = FIRST + (COUNT - 1) * OTHER;
    size_t len, n;

    for (size_t i = 0; i < sizeof long_text; i++)
        long_text[i] = (unsigned char)(i >> 5 ^ i);
    CU_ASSERT(stream_run(stream_filter(&c, 1), STREAM_WRITE, (struct stream_mem){ 0 }, SEGMENT, whole, sizeof whole,
                         &len, long_text, text_len) == 0);
    CHECK(len == sizeof whole, "%zu bytes in whole segments", len);
    for (size_t there = 0; there <= COUNT; there++) {
        const size_t expected = there == 0 ? 0 : FIRST + (there - 1) * OTHER;
        const int reason = stream_run(stream_filter(&c, 0), STREAM_WRITE, (struct stream_mem){ 0 }, SEGMENT, back,
                                      sizeof back, &n, whole, there * SEGMENT);

        CHECK(reason == (there == COUNT ? 0 : AESOP_STREAM_R_TRUNCATED), "%zu segments: reason %d", there, reason);
        CHECK(n <= expected && (there < COUNT || n == expected) && memcmp(back, long_text, n) == 0,
              "%zu segments: %zu bytes released", there, n);
    }
    for (size_t bad = 0; bad < COUNT; bad++) {
        int reason;

        whole[bad * SEGMENT + 100] ^= 1;
        reason = stream_run(stream_filter(&c, 0), STREAM_WRITE, (struct stream_mem){ 0 }, SEGMENT, back, sizeof back,
                            &n, whole, len);
        CHECK(reason == AESOP_STREAM_R_AUTHENTICATION, "segment %zu changed: reason %d", bad, reason);
        CHECK(n <= (bad == 0 ? 0 : FIRST + (bad - 1) * OTHER) && memcmp(back, long_text, n) == 0,
              "segment %zu changed: %zu bytes released", bad, n);
        whole[bad * SEGMENT + 100] ^= 1;
    }
}

static const struct stream_test tests[] = {
    { "every bit", test_bits },
    { "truncation at every byte", test_truncation },
    { "the source fails", test_source_fails },
    { "data appended", test_appended },
    { "state behind the last segment", test_state_behind_last },
    { "segments moved, dropped, repeated, foreign", test_segments_moved },
    { "wrong key, associated data, iv, sizes", test_wrong_key },
    { "header of another cipher", test_header },
    { "pieces of a segment", test_pieces_of_a_segment },
    { "release-unverified", test_release_unverified },
    { "source changed between two readings", test_source_changed },
    { "2^32 segments", test_segment_limit },
    { "message limit", test_message_limit },
    { "error texts", test_error_text },
    { NULL, NULL },
};

int main(int argc, char **argv)
{
    return stream_main(argc, argv, "stream-faults", tests, text, sizeof text);
}
