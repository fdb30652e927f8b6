/* SPDX-License-Identifier: Apache-2.0 */
/* The AEAD filter as a BIO: retries, errors of the next BIO, chains, reset, re-keying, seeking, copies, parameters. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/err.h>

#include "check.h"
#include "stream_util.h"
#include "support.h"

#define TEXT_MAX 3000
#define STREAM_MAX (2 * TEXT_MAX)

static unsigned char text[TEXT_MAX], stream[STREAM_MAX], out[STREAM_MAX];

static size_t make_stream(const struct stream_case *c, size_t len)
{
    size_t stream_len;

    CU_ASSERT_FATAL(len <= sizeof text);
    CU_ASSERT(stream_run(stream_filter(c, 1), STREAM_WRITE, (struct stream_mem){ 0 }, 0, stream, sizeof stream,
                         &stream_len, text, len) == 0);
    return stream_len;
}

/* ---- retries and errors of the next BIO ---- */

#define SOME_TEXT 170

static const struct stream_case with_fixed_iv[] = {
    { .cipher = "AES-128-GCM", .segment = 41, .buffer = 64, .iv_len = 16 + 7 },
    { .cipher = "AES-256-GCM", .segment = 100, .buffer = 1000, .iv_len = 32 + 7, .aad_len = 7 },
    { .cipher = "AES-128-GCM", .message = 1, .buffer = 64, .iv_len = 12 },
    { .cipher = "AES-128-GCM", .message = 1, .buffer = 64, .iv_len = 12, .no_hold = 1 },
};
#define FIXED (sizeof with_fixed_iv / sizeof with_fixed_iv[0])

/* The next BIO blocks once at each byte of what passes through it, and at every other call. */
static void test_retries(void)
{
    static const size_t pieces[] = { 0, 1, 33 };

    for (size_t i = 0; i < FIXED; i++)
        for (int encrypt = 0; encrypt < 2; encrypt++) {
            const struct stream_case *c = &with_fixed_iv[i];
            static unsigned char whole[STREAM_MAX];
            const size_t stream_len = make_stream(c, SOME_TEXT);
            const size_t in_len = encrypt ? SOME_TEXT : stream_len, expected_len = encrypt ? stream_len : SOME_TEXT;
            const unsigned char *in = encrypt ? text : whole, *expected = encrypt ? whole : text;

            memcpy(whole, stream, stream_len);
            for (int side = 0; side < 2; side++)
                for (size_t p = 0; p < 3; p++)
                    for (size_t at = 0; at <= (side == STREAM_READ ? in_len : expected_len); at++) {
                        const struct stream_mem m = {
                            .block_at = at, .block = at == 0, .piece = at % 3 == 1 ? 7 : 0, .seekable = 1
                        };
                        size_t out_len;
                        int reason;

                        if (c->no_hold && side == STREAM_WRITE && !encrypt)
                            continue;
                        reason = stream_run(stream_filter(c, encrypt), side, m, pieces[p], out, sizeof out, &out_len,
                                            in, in_len);
                        CHECK(reason == 0 && out_len == expected_len && memcmp(out, expected, out_len) == 0,
                              "case %zu, %s, side %d, pieces of %zu, blocked at %zu: reason %d, %zu bytes", i,
                              encrypt ? "encrypt" : "decrypt", side, pieces[p], at, reason, out_len);
                    }
        }
}

/* The next BIO fails at each byte. */
static void test_next_fails(void)
{
    for (size_t i = 0; i < FIXED; i++)
        for (int encrypt = 0; encrypt < 2; encrypt++)
            for (int side = 0; side < 2; side++) {
                const struct stream_case *c = &with_fixed_iv[i];
                static unsigned char whole[STREAM_MAX];
                const size_t stream_len = make_stream(c, SOME_TEXT);
                const size_t in_len = encrypt ? SOME_TEXT : stream_len, expected_len = encrypt ? stream_len : SOME_TEXT;
                const unsigned char *in = encrypt ? text : whole, *expected = encrypt ? whole : text;

                memcpy(whole, stream, stream_len);
                if (c->no_hold && side == STREAM_WRITE && !encrypt)
                    continue;
                for (size_t at = 1; at < (side == STREAM_READ ? in_len : expected_len); at++) {
                    size_t out_len;
                    const int reason =
                        stream_run(stream_filter(c, encrypt), side, (struct stream_mem){ .fail_at = at, .seekable = 1 },
                                   0, out, sizeof out, &out_len, in, in_len);

                    CHECK(reason == AESOP_STREAM_R_NEXT_BIO && out_len <= expected_len &&
                              memcmp(out, expected, out_len) == 0,
                          "case %zu, %s, side %d, fails at %zu: reason %d, %zu bytes", i,
                          encrypt ? "encrypt" : "decrypt", side, at, reason, out_len);
                }
            }
}

/*
 * A message that had room in the caller's memory has to wait in the filter's when the source blocks. Where it is too
 * long for that, that is an error, not a retry.
 */
static void test_blocked_and_failed(void)
{
    const struct stream_case c = { .cipher = "AES-256-GCM", .message = 1, .buffer = 64, .hold = 100 };
    struct stream_mem m = { .data = stream, .len = make_stream(&c, 600), .block_at = 400 };
    BIO *b = BIO_push(stream_filter(&c, 0), stream_mem_bio(&m));

    CHECK(BIO_read(b, out, 1000) < 0 && stream_error() == AESOP_STREAM_R_HOLD_LIMIT && !BIO_should_retry(b), "at once");
    CHECK(BIO_read(b, out, 1000) < 0 && stream_error() == AESOP_STREAM_R_HOLD_LIMIT && !BIO_should_retry(b), "sticky");
    BIO_free_all(b);
}

/* Filters without a next BIO, without set-up, on both sides at once. */
static void test_misuse(void)
{
    const struct stream_case *c = &stream_cases[0];
    struct stream_mem m = { .data = out, .capacity = sizeof out };
    BIO *b = BIO_new(AESOP_BIO_f_aead());
    AESOP_STREAM_STATE state;
    char byte;

    ERR_clear_error();
    CHECK(BIO_write(b, "x", 1) < 0 && stream_error() == AESOP_STREAM_R_NOT_SET_UP, "write before set-up");
    CHECK(BIO_read(b, &byte, 1) < 0 && stream_error() == AESOP_STREAM_R_NOT_SET_UP, "read before set-up");
    BIO_push(b, BIO_new_mem_buf("somewhere", 9));
    CHECK(BIO_flush(b) <= 0 && stream_error() == AESOP_STREAM_R_NOT_SET_UP, "flush before set-up");
    CHECK(BIO_seek(b, 5) < 0 && stream_error() == AESOP_STREAM_R_NOT_SET_UP && BIO_tell(BIO_next(b)) == 0,
          "seek before set-up");
    CHECK(BIO_tell(b) < 0 && stream_error() == AESOP_STREAM_R_NOT_SET_UP, "tell before set-up");
    CHECK(!AESOP_BIO_get_aead_state(b, &state) && stream_error() == AESOP_STREAM_R_NOT_SET_UP, "state before set-up");
    CHECK(!AESOP_BIO_rekey(b, NULL, 0, NULL) && stream_error() == AESOP_STREAM_R_NOT_SET_UP, "re-keying before set-up");
    BIO_free_all(b);

    b = BIO_new(BIO_s_mem());
    CHECK(!AESOP_BIO_set_aead(b, stream_cipher(c->cipher), stream_key, 16, 1, NULL) &&
              stream_error() == AESOP_STREAM_R_NOT_SET_UP && !AESOP_BIO_get_aead_state(b, &state),
          "another kind of BIO");
    BIO_free(b);
    ERR_clear_error();

    b = stream_filter(c, 1);
    CHECK(!AESOP_BIO_set_aead(b, stream_cipher(c->cipher), stream_key, 16, 1, NULL) &&
              stream_error() == AESOP_STREAM_R_NOT_SET_UP,
          "set up twice");
    CHECK(BIO_write(b, "x", 1) < 0 && stream_error() == AESOP_STREAM_R_NEXT_BIO, "write without a next BIO");
    CHECK(BIO_read(b, &byte, 1) < 0 && stream_error() == AESOP_STREAM_R_NEXT_BIO, "read without a next BIO");
    CHECK(BIO_flush(b) <= 0 && stream_error() == AESOP_STREAM_R_NEXT_BIO, "flush without a next BIO");
    BIO_push(b, stream_mem_bio(&m));
    CHECK(BIO_write(b, "x", 1) == 1, "a next BIO, then it works");
    CHECK(BIO_read(b, &byte, 1) < 0 && stream_error() == AESOP_STREAM_R_OTHER_SIDE, "read while being written");
    CHECK(BIO_write(b, "x", 0) <= 0 && BIO_write(b, "y", 1) == 1 && BIO_flush(b) == 1, "and goes on");
    BIO_free_all(b);
}

/* ---- chains ---- */

static void test_chains(void)
{
    for (size_t i = 0; i < stream_case_count; i++)
        for (int kind = 0; kind < 3; kind++) {
            const struct stream_case *c = &stream_cases[i];
            BIO *mem = BIO_new(BIO_s_mem()), *b = mem;
            char *data;
            long len;
            size_t got = 0, n;

            /* aead -> base64, buffer or nothing -> memory */
            if (kind > 0)
                b = BIO_push(BIO_new(kind == 1 ? BIO_f_base64() : BIO_f_buffer()), b);
            b = BIO_push(stream_filter(c, 1), b);
            for (size_t at = 0; at < 600; at += 60)
                CU_ASSERT(BIO_write(b, text + at, 60) == 60);
            CHECK(BIO_flush(b) == 1, "flush of a chain");
            BIO_up_ref(mem);
            BIO_free_all(b);
            len = BIO_get_mem_data(mem, &data);
            CHECK(len > 600, "%ld bytes in the sink", len);

            b = BIO_new_mem_buf(data, (int)len);
            if (kind > 0)
                b = BIO_push(BIO_new(kind == 1 ? BIO_f_base64() : BIO_f_buffer()), b);
            b = BIO_push(stream_filter(c, 0), b);
            while (BIO_read_ex(b, out + got, 97, &n))
                got += n;
            CHECK(got == 600 && memcmp(out, text, got) == 0 && stream_error() == 0, "%s, chain %d: %zu bytes",
                  c->cipher, kind, got);
            BIO_free_all(b);
            BIO_free_all(mem);
        }
}

/* aead -> aead -> memory, and a pipe between two processes' ends. */
static void test_nested_and_pipe(void)
{
    const struct stream_case *c = &stream_cases[0], *d = &stream_cases[1];
    struct stream_mem m = { .data = stream, .capacity = sizeof stream };
    BIO *b = BIO_push(stream_filter(c, 1), BIO_push(stream_filter(d, 1), stream_mem_bio(&m)));
    size_t got = 0, n;
    int fds[2];

    CU_ASSERT(BIO_write(b, text, 500) == 500 && BIO_flush(b) == 1);
    BIO_free_all(b);
    b = BIO_push(stream_filter(c, 0), BIO_push(stream_filter(d, 0), stream_mem_bio(&m)));
    while (BIO_read_ex(b, out + got, 300, &n))
        got += n;
    CHECK(got == 500 && memcmp(out, text, got) == 0, "nested: %zu bytes", got);
    BIO_free_all(b);

    CU_ASSERT_FATAL(pipe(fds) == 0);
    b = BIO_push(stream_filter(c, 1), BIO_new_fd(fds[1], BIO_CLOSE));
    CU_ASSERT(BIO_write(b, text, TEXT_MAX) == TEXT_MAX && BIO_flush(b) == 1);
    BIO_free_all(b);
    b = BIO_push(stream_filter(c, 0), BIO_new_fd(fds[0], BIO_CLOSE));
    got = 0;
    CHECK(BIO_seek(b, 5) < 0, "a pipe does not seek");
    while (BIO_read_ex(b, out + got, 700, &n))
        got += n;
    CHECK(got == TEXT_MAX && memcmp(out, text, got) == 0, "pipe: %zu bytes", got);
    BIO_free_all(b);
}

/* What is ready leaves before the source is asked again: no read waits for a peer while it holds verified bytes. */
static void test_read_does_not_wait(void)
{
    const struct stream_case c = { .cipher = "AES-128-GCM", .segment = 100, .buffer = 64 };
    const size_t len = make_stream(&c, 400);
    struct stream_mem m = { .data = stream, .len = len, .block_at = 201 };
    BIO *b = BIO_push(stream_filter(&c, 0), stream_mem_bio(&m));
    int n = 0;

    for (int i = 0; n < 144 && i < 9; i++) {
        const int more = BIO_read(b, out + n, 1000);

        if (!CHECK(more > 0, "bytes that are there are given out"))
            break;
        n += more;
    }
    CHECK(n == 60 + 84, "%d bytes before the source blocks", n);
    CHECK(BIO_read(b, out, 1) < 0 && BIO_should_retry(b), "then a retry");
    CHECK(BIO_read(b, out, 1) == 1, "then the rest");
    CHECK(BIO_pending(b) == 83, "BIO_pending says %d", (int)BIO_pending(b));
    BIO_free_all(b);
}

/* Memory that is still being written to ends in a retry, and is gone on with. */
static void test_growing_memory(void)
{
    for (size_t i = 0; i < stream_case_count; i++)
        for (size_t step = 1; step < 600; step += 37) {
            const struct stream_case *c = &stream_cases[i];
            const size_t len = make_stream(c, 600);
            BIO *memory = BIO_new(BIO_s_mem()), *b = BIO_push(stream_filter(c, 0), memory);
            size_t got = 0, n;

            for (size_t at = 0; at < len; at += step) {
                const size_t more = len - at < step ? len - at : step;

                CU_ASSERT(BIO_write(memory, stream + at, (int)more) == (int)more);
                while (BIO_read_ex(b, out + got, sizeof out - got, &n))
                    got += n;
                CHECK(BIO_should_retry(b), "the end of the memory is not the stream's, at %zu", at);
            }
            BIO_set_mem_eof_return(memory, 0);
            while (BIO_read_ex(b, out + got, sizeof out - got, &n))
                got += n;
            CHECK(got == 600 && memcmp(out, text, got) == 0 && BIO_read(b, out, 1) == 0 && stream_error() == 0,
                  "%s, steps of %zu: %zu bytes", c->cipher, step, got);
            BIO_free_all(b);
        }
}

/* ---- reset, re-keying, copies ---- */

static size_t read_rest(BIO *b, unsigned char *to, size_t capacity)
{
    size_t got = 0, n;

    while (got < capacity && BIO_read_ex(b, to + got, capacity - got, &n))
        got += n;
    return got;
}

static void test_reset(void)
{
    for (size_t i = 0; i < stream_case_count; i++) {
        const struct stream_case *c = &stream_cases[i];
        const size_t len = make_stream(c, 300);
        struct stream_mem m = { .data = stream, .len = len, .seekable = 1 };
        BIO *b = BIO_push(stream_filter(c, 0), stream_mem_bio(&m));

        /* in the middle, at the end, after an error */
        CU_ASSERT(BIO_read(b, out, 10) > 0);
        CU_ASSERT(BIO_reset(b) == 1);
        CHECK(read_rest(b, out, sizeof out) == 300 && memcmp(out, text, 300) == 0, "after a reset in the middle");
        CU_ASSERT(BIO_reset(b) == 1);
        stream[len - 1] ^= 1;
        CHECK(read_rest(b, out, sizeof out) < 300 && stream_error() == AESOP_STREAM_R_AUTHENTICATION, "changed");
        stream[len - 1] ^= 1;
        CHECK(BIO_read(b, out, 1) < 0 && stream_error() == AESOP_STREAM_R_AUTHENTICATION, "sticky");
        CU_ASSERT(BIO_reset(b) == 1);
        CHECK(read_rest(b, out, sizeof out) == 300 && memcmp(out, text, 300) == 0 && stream_error() == 0,
              "%s: after a reset behind an error", c->cipher);
        BIO_free_all(b);
    }
}

/* Streams one after the other into one sink, each with a salt or iv of its own. */
static void test_many_streams(void)
{
    for (size_t i = 0; i < stream_case_count; i++) {
        const struct stream_case *c = &stream_cases[i];
        struct stream_mem m = { .data = stream, .capacity = sizeof stream };
        BIO *b = BIO_push(stream_filter(c, 1), stream_mem_bio(&m));
        size_t first;
        int second;

        CU_ASSERT(BIO_write(b, text, 200) == 200 && BIO_flush(b) == 1);
        first = m.len;
        CU_ASSERT(BIO_reset(b) == 1);
        second = BIO_write(b, text, 200) == 200 && BIO_flush(b) == 1;
        if (c->iv_len > 0) {
            static unsigned char iv[16] = { 9 };
            const OSSL_PARAM params[] = { OSSL_PARAM_construct_octet_string(AESOP_STREAM_PARAM_IV, iv, c->iv_len),
                                          OSSL_PARAM_construct_end() };

            CHECK(!second && stream_error() == AESOP_STREAM_R_IV_USED, "an iv serves once");
            CHECK(AESOP_BIO_rekey(b, NULL, 0, NULL) && BIO_write(b, text, 200) < 0 &&
                      stream_error() == AESOP_STREAM_R_IV_USED,
                  "an iv serves once, re-keying or not");
            CHECK(AESOP_BIO_rekey(b, NULL, 0, params) && BIO_write(b, text, 200) == 200 && BIO_flush(b) == 1,
                  "another iv");
        } else {
            CHECK(second, "%s: a second stream", c->cipher);
        }
        CHECK(m.len == 2 * first && memcmp(stream, stream + first, first) != 0, "two streams alike");
        BIO_free_all(b);
        if (c->iv_len == 0) {
            size_t out_len;

            CHECK(stream_run(stream_filter(c, 0), STREAM_READ, (struct stream_mem){ 0 }, 0, out, sizeof out, &out_len,
                             memmove(stream, stream + first, first), first) == 0 &&
                      out_len == 200,
                  "the second stream");
        }
    }
}

static void test_rekey(void)
{
    for (size_t i = 0; i < stream_case_count; i++) {
        const struct stream_case *c = &stream_cases[i];
        const size_t key_len = (size_t)EVP_CIPHER_get_key_length(stream_cipher(c->cipher));
        unsigned char key[32], aad[250] = { 1, 2, 3 };
        const OSSL_PARAM params[] = { OSSL_PARAM_construct_octet_string(AESOP_STREAM_PARAM_AAD, aad, sizeof aad),
                                      OSSL_PARAM_construct_end() };
        struct stream_case other = *c;
        struct stream_mem m = { .data = stream, .capacity = sizeof stream, .seekable = 1 };
        BIO *b;

        if (c->iv_len > 0)
            continue;
        memset(key, 0x77, sizeof key);
        b = BIO_push(stream_filter(c, 1), stream_mem_bio(&m));
        CU_ASSERT(BIO_write(b, text, 10) == 10);
        CHECK(AESOP_BIO_rekey(b, key, key_len, params), "re-key");
        m.len = 0;
        CU_ASSERT(BIO_write(b, text, 300) == 300 && BIO_flush(b) == 1);
        BIO_free_all(b);

        /* The old key and data do not read it, the new ones do. */
        b = BIO_push(stream_filter(&other, 0), stream_mem_bio(&m));
        CHECK(BIO_read(b, out, 10) < 0 && stream_error() == AESOP_STREAM_R_AUTHENTICATION, "read with the old key");
        m.pos = 0;
        CHECK(AESOP_BIO_rekey(b, key, key_len, NULL) && BIO_read(b, out, 10) < 0 &&
                  stream_error() == AESOP_STREAM_R_AUTHENTICATION,
              "new key, old associated data");
        m.pos = 0;
        CHECK(AESOP_BIO_rekey(b, NULL, 0, params) && read_rest(b, out, sizeof out) == 300 &&
                  memcmp(out, text, 300) == 0,
              "%s: new key, new associated data", c->cipher);
        BIO_free_all(b);
    }
}

static void test_rekey_refused(void)
{
    const struct stream_case *c = &stream_cases[0], *message = &stream_cases[7];
    static unsigned char bytes[600];
    const OSSL_PARAM long_aad[] = { OSSL_PARAM_construct_octet_string(AESOP_STREAM_PARAM_AAD, bytes, 257),
                                    OSSL_PARAM_construct_end() };
    const OSSL_PARAM iv[] = { OSSL_PARAM_construct_octet_string(AESOP_STREAM_PARAM_IV, bytes, 11),
                              OSSL_PARAM_construct_end() };
    size_t size = 100;
    const OSSL_PARAM segment[] = { OSSL_PARAM_construct_size_t(AESOP_STREAM_PARAM_SEGMENT_SIZE, &size),
                                   OSSL_PARAM_construct_end() };
    const size_t len = make_stream(c, 300);
    struct stream_mem m = { .data = stream, .len = len };
    BIO *b = BIO_push(stream_filter(c, 0), stream_mem_bio(&m));
    BIO *d = stream_filter(message, 1);

    CU_ASSERT(BIO_read(b, out, 1) == 1);
    CHECK(!AESOP_BIO_rekey(b, bytes, 15, NULL) && stream_error() == AESOP_STREAM_R_BAD_KEY, "key too short");
    CHECK(!AESOP_BIO_rekey(b, bytes, 257, NULL) && stream_error() == AESOP_STREAM_R_BAD_KEY, "key too long");
    CHECK(!AESOP_BIO_rekey(b, NULL, 0, long_aad) && stream_error() == AESOP_STREAM_R_BAD_PARAMETER, "aad too long");
    CHECK(!AESOP_BIO_rekey(b, NULL, 0, iv) && stream_error() == AESOP_STREAM_R_BAD_PARAMETER, "iv where none was");
    CHECK(!AESOP_BIO_rekey(b, NULL, 0, segment) && stream_error() == AESOP_STREAM_R_BAD_PARAMETER, "segment size");
    CHECK(!AESOP_BIO_rekey(d, NULL, 0, iv) && stream_error() == AESOP_STREAM_R_BAD_PARAMETER, "iv of another length");
    CHECK(!AESOP_BIO_rekey(d, bytes, 33, NULL) && stream_error() == AESOP_STREAM_R_BAD_KEY, "key of another length");
    CHECK(read_rest(b, out + 1, sizeof out - 1) == 299 && memcmp(out, text, 300) == 0, "nothing has changed");
    BIO_free_all(b);
    BIO_free(d);
}

static void test_dup(void)
{
    for (size_t i = 0; i < stream_case_count; i++) {
        const struct stream_case *c = &stream_cases[i];
        BIO *b = BIO_push(stream_filter(c, 1), BIO_new(BIO_s_mem())), *copy;
        char *data[2];
        long len[2];

        CU_ASSERT(BIO_write(b, text, 200) == 200);
        copy = BIO_dup_chain(b);
        CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
        CU_ASSERT(BIO_flush(b) == 1);
        len[0] = BIO_get_mem_data(BIO_next(b), &data[0]);
        if (c->iv_len > 0) {
            CHECK(BIO_write(copy, text, 200) < 0 && stream_error() == AESOP_STREAM_R_IV_USED,
                  "a copy must not reuse the iv");
        } else {
            CU_ASSERT(BIO_write(copy, text, 200) == 200 && BIO_flush(copy) == 1);
            len[1] = BIO_get_mem_data(BIO_next(copy), &data[1]);
            CHECK(len[0] == len[1] && memcmp(data[0], data[1], (size_t)len[0]) != 0,
                  "a copy with a salt or iv of its own");
            memcpy(stream, data[1], (size_t)len[1]);
        }
        BIO_free_all(copy);
        if (c->iv_len == 0) {
            struct stream_mem m = { .data = stream, .len = (size_t)len[1] };
            BIO *reader = stream_filter(c, 0);

            BIO_free_all(b);
            b = BIO_dup_chain(reader);
            BIO_free_all(reader);
            BIO_push(b, stream_mem_bio(&m));
            CHECK(read_rest(b, out, sizeof out) == 200 && memcmp(out, text, 200) == 0, "a reader's copy");
        }
        BIO_free_all(b);
    }
    {
        BIO *b = BIO_new(AESOP_BIO_f_aead()), *copy = BIO_dup_chain(b);

        CHECK(copy != NULL && BIO_write(copy, "x", 1) < 0, "a copy of a filter that was not set up");
        BIO_free_all(b);
        BIO_free_all(copy);
        ERR_clear_error();
    }
}

/* A child process that inherits a filter must not take the parent's salts or ivs. */
static void check_fork(const struct stream_case *c)
{
    const size_t header_bytes = stream_header_bytes(c);
    struct stream_mem m = { .data = stream, .capacity = sizeof stream };
    BIO *b = BIO_push(stream_filter(c, 1), stream_mem_bio(&m));
    unsigned char header[64];
    int fds[2], status;
    pid_t child;

    CU_ASSERT_FATAL(pipe(fds) == 0);
    CU_ASSERT(BIO_write(b, text, 10) == 10 && BIO_flush(b) == 1 && BIO_reset(b) == 1); /* the stock is filled */
    m.len = 0;
    child = fork();
    if (child == 0)
        _exit(!(BIO_write(b, text, 10) == 10 && BIO_flush(b) == 1 &&
                write(fds[1], stream, header_bytes) == (ssize_t)header_bytes));
    CU_ASSERT(BIO_write(b, text, 10) == 10 && BIO_flush(b) == 1);
    CU_ASSERT(waitpid(child, &status, 0) == child && status == 0);
    CU_ASSERT(read(fds[0], header, sizeof header) == (ssize_t)header_bytes);
    CHECK(memcmp(header, stream, header_bytes) != 0, "%s: parent and child took the same salt or iv", c->cipher);
    close(fds[0]);
    close(fds[1]);
    BIO_free_all(b);
}

static void test_fork(void)
{
    for (size_t i = 0; i < stream_case_count; i++)
        if (stream_cases[i].iv_len == 0)
            check_fork(&stream_cases[i]);
}

/* The distance from a to b, numbers of 12 bytes, where it fits into 16 bits; otherwise -1. */
static int iv_distance(const unsigned char *a, const unsigned char *b)
{
    uint64_t low[2];
    unsigned high[2];

    for (int i = 0; i < 2; i++) {
        const unsigned char *iv = i == 0 ? a : b;

        high[i] = 0;
        low[i] = 0;
        for (int k = 0; k < 4; k++)
            high[i] = high[i] << 8 | iv[k];
        for (int k = 4; k < 12; k++)
            low[i] = low[i] << 8 | iv[k];
    }
    high[1] -= low[1] < low[0];
    return high[1] == high[0] && low[1] - low[0] < 65536 ? (int)(low[1] - low[0]) : -1;
}

/* A key's first message has a random iv, the others count up from it. */
static void test_message_ivs(void)
{
    const struct stream_case c = { .cipher = "AES-128-GCM", .message = 1 };
    struct stream_mem m = { .data = stream, .capacity = sizeof stream };
    BIO *b = BIO_push(stream_filter(&c, 1), stream_mem_bio(&m));
    unsigned char ivs[6][12];

    for (int i = 0; i < 6; i++) {
        BIO *writer = b;

        m.len = 0;
        if (i == 3)
            CU_ASSERT(AESOP_BIO_rekey(b, stream_key, 16, NULL));
        if (i == 5)
            writer = BIO_push(stream_filter(&c, 1), stream_mem_bio(&m));
        CU_ASSERT(BIO_write(writer, text, 10) == 10 && BIO_flush(writer) == 1 && BIO_reset(writer) == 1);
        memcpy(ivs[i], stream, 12);
        if (writer != b)
            BIO_free_all(writer);
    }
    CHECK(iv_distance(ivs[0], ivs[1]) == 1 && iv_distance(ivs[1], ivs[2]) == 1, "messages of one key");
    CHECK(iv_distance(ivs[2], ivs[3]) < 0 && iv_distance(ivs[3], ivs[4]) == 1, "another key");
    CHECK(iv_distance(ivs[4], ivs[5]) < 0 && iv_distance(ivs[2], ivs[5]) < 0, "another filter");
    BIO_free_all(b);
}

/* Bytes that may turn out not to be the last: the state does not say that they are. */
static void test_state_before_flush(void)
{
    const struct stream_case c = { .cipher = "AES-128-GCM", .segment = 2000 };
    struct stream_mem m = { .data = out, .capacity = sizeof out };
    const size_t stream_len = make_stream(&c, 1000);
    AESOP_STREAM_STATE state;

    for (int encrypt = 0; encrypt < 2; encrypt++) {
        BIO *b = BIO_push(stream_filter(&c, encrypt), stream_mem_bio(&m));
        const unsigned char *in = encrypt ? text : stream;
        const int header = encrypt ? 0 : 24, len = (int)(encrypt ? 1000 : stream_len);

        m.len = 0;
        CU_ASSERT(BIO_write(b, in, header) == header || header == 0);
        CU_ASSERT(BIO_write(b, in + header, len - header) == len - header);
        CHECK(AESOP_BIO_get_aead_state(b, &state) && !state.finished && state.segments == 0 && state.bytes == 0,
              "before the flush: finished %d, segments %llu, bytes %llu", state.finished,
              (unsigned long long)state.segments, (unsigned long long)state.bytes);
        CU_ASSERT(BIO_flush(b) == 1);
        CHECK(AESOP_BIO_get_aead_state(b, &state) && state.finished && state.segments == 1 && state.bytes == 1000,
              "after the flush: finished %d, segments %llu, bytes %llu", state.finished,
              (unsigned long long)state.segments, (unsigned long long)state.bytes);
        BIO_free_all(b);
    }
}

/* Streams that share a salt: the prefix tells them apart, and a reader needs nothing to know. */
static void test_salt_streams(void)
{
    const struct stream_case *c = &stream_cases[0];
    size_t three = 3, segment = c->segment;
    const OSSL_PARAM params[] = { OSSL_PARAM_construct_size_t(AESOP_STREAM_PARAM_SALT_STREAMS, &three),
                                  OSSL_PARAM_construct_size_t(AESOP_STREAM_PARAM_SEGMENT_SIZE, &segment),
                                  OSSL_PARAM_construct_end() };
    static unsigned char streams[10][300];
    struct stream_mem m = { .capacity = sizeof streams[0] };
    BIO *b = BIO_new(AESOP_BIO_f_aead()), *reader = stream_filter(c, 0);
    int fds[2], status;
    pid_t child;

    CU_ASSERT_FATAL(pipe(fds) == 0);
    CU_ASSERT_FATAL(AESOP_BIO_set_aead(b, stream_cipher(c->cipher), stream_key, 16, 1, params));
    BIO_push(b, stream_mem_bio(&m));
    BIO_push(reader, stream_mem_bio(&m));
    for (int i = 0; i < 10; i++) {
        m.data = streams[i];
        m.len = m.pos = 0;
        CU_ASSERT(AESOP_BIO_rekey(b, i == 8 ? stream_key : NULL, 16, NULL));
        if (i == 7) {
            child = fork();
            if (child == 0)
                _exit(!(BIO_write(b, text, 100) == 100 && BIO_flush(b) == 1 && write(fds[1], streams[i], 24) == 24));
            CU_ASSERT(waitpid(child, &status, 0) == child && status == 0);
        }
        CU_ASSERT(BIO_write(b, text, 100) == 100 && BIO_flush(b) == 1);
        CU_ASSERT(AESOP_BIO_rekey(reader, NULL, 0, NULL));
        CHECK(read_rest(reader, out, sizeof out) == 100 && memcmp(out, text, 100) == 0, "stream %d", i);
        for (int j = 0; j < i; j++) {
            const int same = i < 8 ? j / 3 == i / 3 : j >= 8; /* re-keyed at 8 */

            CHECK((memcmp(streams[i] + 1, streams[j] + 1, 16) == 0) == same, "salts of streams %d and %d", j, i);
            CHECK(memcmp(streams[i] + 17, streams[j] + 17, 7) != 0, "prefixes of streams %d and %d", j, i);
        }
    }
    CU_ASSERT(read(fds[0], out, 24) == 24);
    CHECK(memcmp(out + 1, streams[6] + 1, 16) != 0, "a forked child has a salt of its own");
    close(fds[0]);
    close(fds[1]);
    BIO_free_all(b);
    BIO_free_all(reader);
}

/* ---- seeking ---- */

static void check_seek(BIO *b, size_t offset, size_t len, size_t text_len, const char *what)
{
    const size_t expected = offset >= text_len ? 0 : text_len - offset < len ? text_len - offset : len;
    size_t got = 0, n;

    CHECK(BIO_ctrl(b, BIO_C_FILE_SEEK, (long)offset, NULL) >= 0, "%s: seek to %zu", what, offset);
    CHECK(BIO_tell(b) == (int)offset, "%s: tell after seek", what);
    CHECK(!BIO_eof(b) && BIO_ctrl_pending(b) == BIO_ctrl_pending(BIO_next(b)), "%s: nothing is ready after seek", what);
    while (got < len && BIO_read_ex(b, out + got, len - got, &n))
        got += n;
    CHECK(got == expected && (got == 0 || memcmp(out, text + offset, got) == 0) && ERR_peek_error() == 0,
          "%s: %zu bytes at %zu gave %zu", what, len, offset, got);
    CHECK(BIO_tell(b) == (int)(offset + got), "%s: tell after read", what);
}

static void test_seek(void)
{
    char path[] = "/tmp/aesop-stream-XXXXXX";
    const int fd = mkstemp(path);
    struct support_random random;

    CU_ASSERT_FATAL(fd >= 0);
    support_random_seed(&random, support_seed());
    for (size_t i = 0; i < stream_case_count; i++) {
        const struct stream_case *c = &stream_cases[i];
        const size_t text_len = stream_first_text(c) + 5 * stream_other_text(c) + (i % 2 ? 0 : 7);
        const size_t prefix = 11;
        size_t len;

        if (c->message)
            continue;
        len = make_stream(c, text_len);
        /* The stream does not start at the source's start. */
        CU_ASSERT(pwrite(fd, "something..", prefix, 0) == 11 && pwrite(fd, stream, len, 11) == (ssize_t)len &&
                  ftruncate(fd, (off_t)(prefix + len)) == 0);
        for (int kind = 0; kind < 4; kind++) {
            static const char *const names[] = { "file", "descriptor", "test memory", "memory" };
            BIO *source = kind == 0 ? BIO_new_file(path, "rb") : kind == 1 ? BIO_new_fd(dup(fd), BIO_CLOSE) : NULL;
            struct stream_mem m = { .data = stream, .len = len, .seekable = 1, .piece = 50 };
            BIO *b = stream_filter(c, 0);

            if (kind == 2)
                source = stream_mem_bio(&m);
            else if (kind == 3)
                source = BIO_new_mem_buf(stream, (int)len);
            else
                CU_ASSERT(BIO_seek(source, (int)prefix) >= 0);
            BIO_push(b, source);
            CHECK(BIO_tell(b) == 0, "tell at the start");
            for (size_t offset = 0; offset < text_len + 3; offset++)
                check_seek(b, offset, 1, text_len, names[kind]);
            for (int n = 0; n < 300; n++)
                check_seek(b, support_random_below(&random, text_len + 20), support_random_below(&random, 300),
                           text_len, names[kind]);
            check_seek(b, 1000000000, 5, text_len, names[kind]);
            check_seek(b, 0, text_len, text_len, names[kind]);
            CHECK(BIO_read(b, out, 1) == 0 && BIO_eof(b), "the end after a seek");
            BIO_free_all(b);
        }
    }
    close(fd);
    unlink(path);
}

/* The search for the end is taken up again where the source blocks. */
static void test_seek_blocked(void)
{
    const struct stream_case *c = &stream_cases[0];
    const size_t text_len = stream_first_text(c) + 5 * stream_other_text(c) + 3, len = make_stream(c, text_len);

    for (size_t offset = 0; offset < text_len + 200; offset += 13) {
        struct stream_mem m = { .data = stream, .len = len, .seekable = 1, .block = 1 };
        BIO *b = BIO_push(stream_filter(c, 0), stream_mem_bio(&m));
        size_t got = 0;
        int n, retries = 0;

        CU_ASSERT(BIO_ctrl(b, BIO_C_FILE_SEEK, (long)offset, NULL) == (long)offset);
        while ((n = BIO_read(b, out + got, 1000)) > 0 || (BIO_should_retry(b) && ++retries < 1000))
            got += n > 0 ? (size_t)n : 0;
        CHECK(n == 0 && got == (offset < text_len ? text_len - offset : 0) &&
                  (got == 0 || memcmp(out, text + offset, got) == 0),
              "from %zu: %zu bytes, then %d", offset, got, n);
        BIO_free_all(b);
    }
}

/* A source that was cut must not pass for a short one, wherever one seeks to. */
static void test_seek_in_cut_stream(void)
{
    const struct stream_case *c = &stream_cases[0];
    const size_t text_len = stream_first_text(c) + 5 * stream_other_text(c), len = make_stream(c, text_len);

    for (size_t cut = 0; cut < len; cut++)
        for (size_t offset = 0; offset < text_len + 100; offset += 9) {
            struct stream_mem m = { .data = stream, .len = cut, .seekable = 1 };
            BIO *b = BIO_push(stream_filter(c, 0), stream_mem_bio(&m));
            size_t got;
            int reason;

            CU_ASSERT(BIO_ctrl(b, BIO_C_FILE_SEEK, (long)offset, NULL) == (long)offset);
            got = read_rest(b, out, sizeof out);
            reason = stream_error();
            CHECK(reason == AESOP_STREAM_R_TRUNCATED || reason == AESOP_STREAM_R_AUTHENTICATION,
                  "cut to %zu, read from %zu: %zu bytes, reason %d", cut, offset, got, reason);
            CHECK(got == 0 || (offset + got <= text_len && memcmp(out, text + offset, got) == 0), "bytes are right");
            BIO_free_all(b);
        }
}

static void test_seek_refused(void)
{
    const struct stream_case *c = &stream_cases[0], *message = &stream_cases[6];
    struct stream_mem m = { .data = stream, .len = make_stream(c, 300), .seekable = 1 };
    BIO *b = BIO_push(stream_filter(message, 0), stream_mem_bio(&m));

    CHECK(BIO_seek(b, 1) < 0 && BIO_tell(b) < 0, "messages do not seek");
    BIO_free_all(b);
    b = BIO_push(stream_filter(c, 1), stream_mem_bio(&m));
    CHECK(BIO_seek(b, 1) < 0 && BIO_tell(b) < 0, "encryption does not seek");
    BIO_free_all(b);
    b = BIO_push(stream_filter(c, 0), stream_mem_bio(&m));
    CHECK(BIO_seek(b, -1) < 0, "negative offset");
    CHECK(BIO_ctrl(b, BIO_C_FILE_SEEK, 25L << 32, NULL) < 0, "an offset behind 2^32 segments");
    CHECK(BIO_read(b, out, 300) > 0, "reads on");
    BIO_free_all(b);
    /* A buffer has read ahead: its source's offset is not where it stands. */
    b = BIO_push(stream_filter(c, 0), BIO_push(BIO_new(BIO_f_buffer()), stream_mem_bio(&m)));
    CHECK(BIO_seek(b, 10) < 0, "through another filter");
    BIO_free_all(b);
    ERR_clear_error();
}

/* A source that gives the stream of a case and ends: one end of libcrypto's pair of BIOs, or a socket. */
static BIO *channel(int socket, BIO **other, const struct stream_case *c)
{
    const int len = (int)make_stream(c, 300);
    BIO *source = NULL;

    if (socket) {
        int ends[2];

        CU_ASSERT_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
        *other = BIO_new_socket(ends[0], BIO_CLOSE);
        source = BIO_new_socket(ends[1], BIO_CLOSE);
    } else {
        CU_ASSERT_FATAL(BIO_new_bio_pair(other, STREAM_MAX, &source, STREAM_MAX));
    }
    CU_ASSERT(BIO_write(*other, stream, len) == len);
    if (socket)
        shutdown((int)BIO_get_fd(*other, NULL), SHUT_WR);
    else
        (void)BIO_shutdown_wr(*other);
    return source;
}

/* Sources without a place answer "0" when they are asked for it, and to any seek. */
static void test_seek_without_place(void)
{
    for (int socket = 0; socket < 2; socket++) {
        const char *what = socket ? "socket" : "pair";
        const struct stream_case *c = &stream_cases[0];
        BIO *other, *b = BIO_push(stream_filter(c, 0), channel(socket, &other, c));
        size_t len;
        int reason;

        CHECK(BIO_seek(b, 0) < 0 && BIO_seek(b, 100) < 0, "%s: seek", what);
        CHECK(read_rest(b, out, sizeof out) == 300 && memcmp(out, text, 300) == 0, "%s: reads on", what);
        BIO_free_all(b);
        BIO_free(other);

        c = &with_fixed_iv[3];
        b = BIO_push(stream_filter(c, 0), channel(socket, &other, c));
        len = read_rest(b, out, 100); /* with room for all of it none would have to be held */
        reason = stream_error();
        CHECK(len == 0 && reason == AESOP_STREAM_R_HOLD_LIMIT, "%s: a message to be read twice: %zu bytes, reason %d",
              what, len, reason);
        BIO_free_all(b);
        BIO_free(other);
    }
}

/* ---- set-up ---- */

static void check_set_up(const char *cipher, size_t key_len, const OSSL_PARAM *params, int reason, const char *what)
{
    BIO *b = BIO_new(AESOP_BIO_f_aead());
    int ok, got;

    ERR_clear_error();
    ok = AESOP_BIO_set_aead(b, cipher == NULL ? NULL : stream_cipher(cipher), key_len == 0 ? NULL : stream_key, key_len,
                            1, params);
    got = stream_error();
    CHECK(ok == (reason == 0) && got == reason, "%s: %d, reason %d", what, ok, got);
    if (!ok)
        CHECK(AESOP_BIO_set_aead(b, stream_cipher("AES-128-GCM"), stream_key, 16, 1, NULL), "%s, then right", what);
    BIO_free(b);
}

static void check_size(const char *name, size_t value, int message, int ok)
{
    OSSL_PARAM params[] = { OSSL_PARAM_construct_size_t(name, &value),
                            OSSL_PARAM_construct_utf8_string(AESOP_STREAM_PARAM_FORMAT,
                                                             message ? (char *)"message" : (char *)"segmented", 0),
                            OSSL_PARAM_construct_end() };
    char what[100];

    snprintf(what, sizeof what, "%s = %zu", name, value);
    check_set_up("AES-128-GCM", 16, params, ok ? 0 : AESOP_STREAM_R_BAD_PARAMETER, what);
}

static void test_parameters(void)
{
    unsigned char bytes[80] = { 0 };
    int two = 2, one = 1;
    const struct {
        OSSL_PARAM param;
        const char *what;
    } bad[] = {
        { OSSL_PARAM_construct_utf8_string(AESOP_STREAM_PARAM_FORMAT, (char *)"chunked", 0), "unknown format" },
        { OSSL_PARAM_construct_octet_string(AESOP_STREAM_PARAM_FORMAT, bytes, 4), "format as octets" },
        { OSSL_PARAM_construct_utf8_string(AESOP_STREAM_PARAM_DIGEST, (char *)"MD5", 0), "unknown digest" },
        { OSSL_PARAM_construct_utf8_string(AESOP_STREAM_PARAM_AAD, (char *)"text", 0), "aad as a string" },
        { OSSL_PARAM_construct_octet_string(AESOP_STREAM_PARAM_IV, bytes, 12), "iv that is no salt and prefix" },
        { OSSL_PARAM_construct_octet_string(AESOP_STREAM_PARAM_IV, bytes, 0), "empty iv" },
        { OSSL_PARAM_construct_int(AESOP_STREAM_PARAM_RELEASE_UNVERIFIED, &two), "flag of 2" },
        { OSSL_PARAM_construct_int(AESOP_STREAM_PARAM_RELEASE_UNVERIFIED, &one), "segments unverified" },
        { OSSL_PARAM_construct_int("segmentsize", &one), "unknown parameter" },
        { OSSL_PARAM_construct_utf8_string(AESOP_STREAM_PARAM_SEGMENT_SIZE, (char *)"4096", 0), "size as a string" },
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const OSSL_PARAM params[] = { bad[i].param, OSSL_PARAM_construct_end() };

        check_set_up("AES-128-GCM", 16, params, AESOP_STREAM_R_BAD_PARAMETER, bad[i].what);
    }
    check_set_up(NULL, 16, NULL, AESOP_STREAM_R_BAD_CIPHER, "no cipher");
    check_set_up("AES-128-CBC", 16, NULL, AESOP_STREAM_R_BAD_CIPHER, "CBC");
    check_set_up("AES-128-CCM", 16, NULL, AESOP_STREAM_R_BAD_CIPHER, "CCM");
    check_set_up("AES-128-GCM", 0, NULL, AESOP_STREAM_R_BAD_KEY, "no key");
    check_set_up("AES-128-GCM", 15, NULL, AESOP_STREAM_R_BAD_KEY, "short key");
    check_set_up("AES-128-GCM", 33, NULL, 0, "long key of a segmented stream");
    {
        const OSSL_PARAM params[] = { OSSL_PARAM_construct_utf8_string(AESOP_STREAM_PARAM_FORMAT, (char *)"message", 0),
                                      OSSL_PARAM_construct_end() };

        check_set_up("AES-128-GCM", 17, params, AESOP_STREAM_R_BAD_KEY, "long key of a message");
    }
    check_size(AESOP_STREAM_PARAM_SEGMENT_SIZE, 40, 0, 0);
    check_size(AESOP_STREAM_PARAM_SEGMENT_SIZE, 41, 0, 1);
    check_size(AESOP_STREAM_PARAM_SEGMENT_SIZE, AESOP_STREAM_MAX_BYTES + 1, 0, 0);
    check_size(AESOP_STREAM_PARAM_BUFFER_SIZE, 63, 0, 0);
    check_size(AESOP_STREAM_PARAM_BUFFER_SIZE, 64, 0, 1);
    check_size(AESOP_STREAM_PARAM_BUFFER_SIZE, AESOP_STREAM_MAX_BYTES + 1, 0, 0);
    check_size(AESOP_STREAM_PARAM_TAG_LENGTH, 12, 0, 0);
    check_size(AESOP_STREAM_PARAM_TAG_LENGTH, 12, 1, 1);
    check_size(AESOP_STREAM_PARAM_TAG_LENGTH, 17, 1, 0);
    check_size(AESOP_STREAM_PARAM_TAG_LENGTH, 3, 1, 0);
    /* A number may come in another width. */
    {
        int size = 4096;
        const OSSL_PARAM params[] = { OSSL_PARAM_construct_int(AESOP_STREAM_PARAM_SEGMENT_SIZE, &size),
                                      OSSL_PARAM_construct_end() };

        check_set_up("AES-128-GCM", 16, params, 0, "size as an int");
    }
}

/* Ciphers that EVP still hands out as static objects. */
static void test_static_cipher(void)
{
    BIO *b = BIO_new(AESOP_BIO_f_aead());
    struct stream_mem m = { .data = stream, .capacity = sizeof stream };

    CHECK(AESOP_BIO_set_aead(b, EVP_aes_256_gcm(), stream_key, 32, 1, NULL), "EVP_aes_256_gcm()");
    BIO_push(b, stream_mem_bio(&m));
    CHECK(BIO_write(b, text, 100) == 100 && BIO_flush(b) == 1 && m.len == 40 + 100 + 16, "%zu bytes", m.len);
    BIO_free_all(b);
}

static const struct stream_test tests[] = {
    { "retries at every byte", test_retries },
    { "next BIO fails at every byte", test_next_fails },
    { "a source that blocks, and then no room", test_blocked_and_failed },
    { "misuse", test_misuse },
    { "chains with base64 and buffer", test_chains },
    { "nested filters, a pipe", test_nested_and_pipe },
    { "reads do not wait with bytes in hand", test_read_does_not_wait },
    { "memory that grows", test_growing_memory },
    { "reset", test_reset },
    { "streams one after the other", test_many_streams },
    { "re-keying", test_rekey },
    { "re-keying refused", test_rekey_refused },
    { "BIO_dup_chain", test_dup },
    { "fork", test_fork },
    { "ivs of messages", test_message_ivs },
    { "state before the flush", test_state_before_flush },
    { "streams that share a salt", test_salt_streams },
    { "seeking", test_seek },
    { "seeking in a stream that was cut", test_seek_in_cut_stream },
    { "seeking in a source that blocks", test_seek_blocked },
    { "seeking refused", test_seek_refused },
    { "seeking in sources without a place", test_seek_without_place },
    { "parameters", test_parameters },
    { "a static cipher", test_static_cipher },
    { NULL, NULL },
};

int main(int argc, char **argv)
{
    return stream_main(argc, argv, "stream-io", tests, text, sizeof text);
}
