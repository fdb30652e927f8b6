/* SPDX-License-Identifier: Apache-2.0 */
/* The AEAD filter's formats: published vectors, another implementation, every side against every side. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <openssl/err.h>

#include "check.h"
#include "stream_util.h"
#include "streams/hkdf.h"
#include "support.h"

static OSSL_LIB_CTX *contexts[2];
static const char *const context_names[2] = { "aesop", "default" };

/* Calls check with the ciphers of aesop, then of default. */
static void with_each_context(void (*check)(const char *provider))
{
    for (int i = 0; i < 2; i++) {
        stream_use(contexts[i]);
        check(context_names[i]);
    }
}

/* ---- published vectors ---- */

/* OPENSSL_hexstr2buf refuses the empty string. */
static unsigned char *unhex(const char *hex, size_t *len)
{
    long n = 0;
    unsigned char *bytes = *hex == '\0' ? OPENSSL_zalloc(1) : OPENSSL_hexstr2buf(hex, &n);

    *len = (size_t)n;
    return bytes;
}

/* RFC 5869, appendix A: cases 1, 2 (long), 4 (SHA-1). */
static void test_hkdf(void)
{
    static const struct {
        const char *hash, *key, *salt, *info, *out;
    } vectors[] = {
        { "SHA256", "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "000102030405060708090a0b0c",
          "f0f1f2f3f4f5f6f7f8f9",
          "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865" },
        { "SHA-256", "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "", "",
          "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8" },
        { "SHA1", "0b0b0b0b0b0b0b0b0b0b0b", "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
          "085a01ea1b10f36933068b56efa5ad81a4f14b822f5b091568a9cdd4f155fda2c22e422478d305f3f896" },
    };

    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        size_t key_len, salt_len, info_len, out_len;
        unsigned char *key = unhex(vectors[i].key, &key_len), out[64];
        unsigned char *salt = unhex(vectors[i].salt, &salt_len);
        unsigned char *info = unhex(vectors[i].info, &info_len);
        unsigned char *expected = unhex(vectors[i].out, &out_len);

        aesop_hkdf(aesop_hash_find(vectors[i].hash), out, out_len, key, key_len, salt, salt_len, info, info_len);
        CHECK(memcmp(out, expected, out_len) == 0, "vector %zu", i);
        OPENSSL_free(key);
        OPENSSL_free(salt);
        OPENSSL_free(info);
        OPENSSL_free(expected);
    }
    CU_ASSERT_PTR_NULL(aesop_hash_find("MD5"));
}

/* Tink's own, from AesGcmHkdfStreamingTestUtil of tink-java (Apache-2.0, Google). */
static const struct {
    const char *cipher, *hash, *key;
    size_t segment;
    const char *text, *aad, *stream;
} tink[] = {
    { "AES-128-GCM", "SHA1", "6eb56cdc726dfbe5d57f2fcdc6e9345b", 64,
      "This is a fairly long plaintext. It is of the exact length to create three output blocks. ", "616164",
      "1893b3af5e14ab378d065addfc8484da642c0862877baea8"
      "db92d9c77406a406168478821c4298eab3e6d531277f4c1a051714faebcaefcbca7b7be05e9445ea"
      "a0bb2904153398a25084dd80ae0edcd1c3079fcea2cd3770630ee36f7539207b8ec9d754956d486b71cdf989f0ed6fba6779b63558be0a66"
      "e668df14"
      "e1603cd2"
      "af8944844078345286d0b292e772e7190775c51a0f83e40c0b75821027e7e538e111" },
    { "AES-128-GCM", "SHA1", "6eb56cdc726dfbe5d57f2fcdc6e9345b", 64, "", "",
      "18ec99b2c3884194023bd41bb9bff309205354c750fa0cb3c0d02609abf71f88eaeaa48d7deca27f" },
    { "AES-128-GCM", "SHA256", "6eb56cdc726dfbe5d57f2fcdc6e9345b", 64, "", "",
      "18be78bce0cab6fd38a9041eea8ab0ffc4cf17e3c00b661d3927f5f79069f41a210fedc40b25648c" },
    { "AES-128-GCM", "SHA512", "6eb56cdc726dfbe5d57f2fcdc6e9345b", 64, "", "",
      "18fec8139ccb406e0f140d7e2bcc41e1b899bc1b121574cc31d1c78ed2ca1cdf324665b8dce21095" },
    { "AES-128-GCM", "SHA1", "00112233445566778899aabbccddeeff6eb56cdc726dfbe5d57f2fcdc6e9345b", 64, "", "",
      "180880e85a24207a7b72cefde26306ed09d7d76e58104b751d005a3ffd72dd6151f0d9c8ccf163f7" },
    { "AES-256-GCM", "SHA1", "00112233445566778899aabbccddeeff6eb56cdc726dfbe5d57f2fcdc6e9345b", 128, "", "",
      "28fae780c70a82d1256c8303a1261ac6a98cf557b4e173967a62f3c149517ba5b2431da93b3c6e90f508b34dc14bfda59bab05681c6ad3f"
      "a" },
    { "AES-256-GCM", "SHA1", "00112233445566778899aabbccddeeff6eb56cdc726dfbe5d57f2fcdc6e9345b", 120,
      "BLOCK 1.BLOCK 2.BLOCK 3.BLOCK 4.BLOCK 5.BLOCK 6.BLOCK 7.BLOCK 8.", "00010203",
      "28782994617714a80fa085e15051a16854522330d6d0f26c049b2192f09cdd98b2eb90c753bfff277a29e54fa4afb15d648c28477eb07f01"
      "2535c767"
      "f5fdce24ffffae318480c1d37357d6d3c511159318afa09ef38aa3f5456fd7817c5c02dd6e1a7fef174c8bd24e38b5982ac105497c0101ac"
      "5581fe"
      "5b" },
};

static void check_tink_vector(const char *provider, size_t i, int encrypt, enum stream_side side)
{
    size_t key_len, aad_len, stream_len;
    unsigned char *key = unhex(tink[i].key, &key_len), *aad = unhex(tink[i].aad, &aad_len);
    unsigned char *stream = unhex(tink[i].stream, &stream_len), out[512];
    size_t segment = tink[i].segment, text_len = strlen(tink[i].text), out_len, expected_len;
    const unsigned char *expected = encrypt ? stream : (const unsigned char *)tink[i].text;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_size_t(AESOP_STREAM_PARAM_SEGMENT_SIZE, &segment),
        OSSL_PARAM_construct_utf8_string(AESOP_STREAM_PARAM_DIGEST, (char *)tink[i].hash, 0),
        OSSL_PARAM_construct_octet_string(AESOP_STREAM_PARAM_AAD, aad, aad_len),
        encrypt ? OSSL_PARAM_construct_octet_string(AESOP_STREAM_PARAM_IV, stream + 1, stream[0] - 1u)
                : OSSL_PARAM_construct_end(),
        OSSL_PARAM_construct_end(),
    };
    BIO *b = BIO_new(AESOP_BIO_f_aead());
    int reason;

    CU_ASSERT(AESOP_BIO_set_aead(b, stream_cipher(tink[i].cipher), key, key_len, encrypt, params));
    expected_len = encrypt ? stream_len : text_len;
    reason = encrypt ? stream_run(b, side, (struct stream_mem){ 0 }, 0, out, sizeof out, &out_len,
                                  (const unsigned char *)tink[i].text, text_len)
                     : stream_run(b, side, (struct stream_mem){ 0 }, 0, out, sizeof out, &out_len, stream, stream_len);
    CHECK(reason == 0 && out_len == expected_len && memcmp(out, expected, out_len) == 0,
          "%s: Tink's vector %zu, %s, %s: reason %d, %zu bytes of %zu", provider, i, encrypt ? "encrypt" : "decrypt",
          side == STREAM_READ ? "read" : "write", reason, out_len, expected_len);
    OPENSSL_free(key);
    OPENSSL_free(aad);
    OPENSSL_free(stream);
}

static void check_tink(const char *provider)
{
    for (size_t i = 0; i < sizeof tink / sizeof tink[0]; i++)
        for (int encrypt = 0; encrypt < 2; encrypt++)
            for (int side = 0; side < 2; side++)
                check_tink_vector(provider, i, encrypt, side);
}

static void test_tink_vectors(void)
{
    with_each_context(check_tink);
}

/* ---- another implementation ---- */

/* Python has a libcrypto of its own: what says where this program's keeps its files is not for it. */
#define PYTHON "env -u OPENSSL_CONF -u OPENSSL_MODULES -u LD_LIBRARY_PATH /usr/bin/python3"

static int write_file(const char *path, const unsigned char *data, size_t len)
{
    BIO *b = BIO_new_file(path, "wb");
    const int ok = b != NULL && (len == 0 || BIO_write(b, data, (int)len) == (int)len);

    BIO_free(b);
    return ok;
}

static size_t read_file(const char *path, unsigned char *data, size_t capacity)
{
    BIO *b = BIO_new_file(path, "rb");
    size_t len = 0, n;

    while (b != NULL && BIO_read_ex(b, data + len, capacity - len, &n))
        len += n;
    BIO_free(b);
    return len;
}

/* Runs tink_stream.py; returns its exit status. */
static int run_python(const char *verb, const struct stream_case *c, const char *in, const char *out)
{
    char command[2048], key[80] = "", aad[512] = "-";
    const int key_bytes = EVP_CIPHER_get_key_length(stream_cipher(c->cipher));

    for (int i = 0; i < key_bytes; i++)
        snprintf(key + 2 * i, 3, "%02x", stream_key[i]);
    for (size_t i = 0; i < c->aad_len; i++)
        snprintf(aad + 2 * i, 3, "%02x", (unsigned)(0x80 + i) & 0xff);
    snprintf(command, sizeof command, PYTHON " '%s/test/tink_stream.py' %s %s %d %zu %s %s < %s > %s 2>/dev/null",
             AESOP_SOURCE_DIR, verb, c->hash != NULL ? c->hash : "SHA256", key_bytes, c->segment, key, aad, in, out);
    return system(command);
}

#define PYTHON_MAX (4 * 1048576)

static void check_python(const struct stream_case *c, size_t len, const char *dir)
{
    static unsigned char text[PYTHON_MAX], stream[PYTHON_MAX], out[PYTHON_MAX];
    char in_path[128], out_path[128];
    struct support_random random;
    size_t stream_len, out_len;
    int reason;

    snprintf(in_path, sizeof in_path, "%s/in", dir);
    snprintf(out_path, sizeof out_path, "%s/out", dir);
    support_random_seed(&random, support_seed() + len);
    support_random_bytes(&random, text, len);

    reason = stream_run(stream_filter(c, 1), STREAM_WRITE, (struct stream_mem){ 0 }, 0, stream, sizeof stream,
                        &stream_len, text, len);
    CHECK(reason == 0 && write_file(in_path, stream, stream_len) && run_python("decrypt", c, in_path, out_path) == 0 &&
              read_file(out_path, out, sizeof out) == len && memcmp(out, text, len) == 0,
          "Python reads %s, segment %zu, %zu bytes", c->cipher, c->segment, len);

    CHECK(write_file(in_path, text, len) && run_python("encrypt", c, in_path, out_path) == 0, "Python writes");
    stream_len = read_file(out_path, stream, sizeof stream);
    reason = stream_run(stream_filter(c, 0), STREAM_READ, (struct stream_mem){ 0 }, 0, out, sizeof out, &out_len,
                        stream, stream_len);
    CHECK(reason == 0 && out_len == len && memcmp(out, text, len) == 0,
          "what Python wrote: %s, segment %zu, %zu bytes: reason %d, %zu bytes", c->cipher, c->segment, len, reason,
          out_len);

    stream[stream_len / 2] ^= 1;
    CHECK(write_file(in_path, stream, stream_len) && run_python("decrypt", c, in_path, out_path) != 0,
          "Python refuses a changed stream");
}

static void test_python(void)
{
    static const struct stream_case cases[] = {
        { .cipher = "AES-128-GCM", .segment = 41, .aad_len = 5 },
        { .cipher = "AES-256-GCM", .segment = 57, .hash = "SHA512" },
        { .cipher = "AES-128-GCM", .segment = 4096, .hash = "SHA512" },
        { .cipher = "AES-256-GCM", .segment = 4096, .aad_len = 40 },
        { .cipher = "AES-128-GCM", .segment = 1048576, .aad_len = 7 },
        { .cipher = "AES-256-GCM", .segment = 1048576, .hash = "SHA512" },
    };
    char dir[] = "/tmp/aesop-stream-XXXXXX", path[128];

    if (system(PYTHON " -c 'import cryptography' >/dev/null 2>&1") != 0) {
        support_skip("Tink streams in Python", "needs python3-cryptography");
        return;
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
    stream_use(contexts[0]);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const size_t first = stream_first_text(&cases[i]);

        check_python(&cases[i], first + 2 * stream_other_text(&cases[i]), dir); /* a full last segment */
        check_python(&cases[i], first + stream_other_text(&cases[i]) + 1, dir);
        if (i < 2)
            check_python(&cases[i], 0, dir);
    }
    snprintf(path, sizeof path, "rm -r %s", dir);
    CU_ASSERT(system(path) == 0);
}

/* ---- every side against every side ---- */

#define TEXT_MAX 3000
static unsigned char text[TEXT_MAX];

/* The stream that a message or segments must be, by plain EVP calls. */
static void check_message_by_evp(const struct stream_case *c, const unsigned char *stream, size_t stream_len,
                                 size_t len)
{
    struct stream_params p;
    const size_t header = stream_header_bytes(c), tag_len = c->tag > 0 ? c->tag : 16;
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    unsigned char out[TEXT_MAX + 32];
    int n = 0, end = 0, ok;

    stream_params(&p, c, 0);
    ok = EVP_DecryptInit_ex(ctx, stream_cipher(c->cipher), NULL, NULL, NULL) &&
         EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, c->iv_len > 0 ? (int)c->iv_len : 12, NULL) > 0 &&
         EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, (int)tag_len, (void *)(stream + stream_len - tag_len)) > 0 &&
         EVP_DecryptInit_ex(ctx, NULL, NULL, stream_key, c->iv_len > 0 ? p.iv : stream) &&
         (c->aad_len == 0 || EVP_DecryptUpdate(ctx, NULL, &n, p.aad, (int)c->aad_len));
    n = 0;
    ok = ok && stream_len == header + len + tag_len &&
         (len == 0 || EVP_DecryptUpdate(ctx, out, &n, stream + header, (int)len)) &&
         EVP_DecryptFinal_ex(ctx, out + n, &end) > 0;
    CHECK(ok && (size_t)n + (size_t)end == len && memcmp(out, text, len) == 0, "%s, message of %zu bytes by EVP",
          c->cipher, len);
    EVP_CIPHER_CTX_free(ctx);
}

static void check_round_trip(const char *provider, const struct stream_case *c, size_t len, size_t piece,
                             struct stream_mem behaviour)
{
    static unsigned char stream[2 * TEXT_MAX + 2000], out[TEXT_MAX + 100];
    size_t stream_len, out_len;

    for (int way = 0; way < 4; way++) {
        int reason =
            stream_run(stream_filter(c, 1), way & 1, behaviour, piece, stream, sizeof stream, &stream_len, text, len);

        CHECK(reason == 0, "%s %s: encrypt %zu bytes: reason %d", provider, c->cipher, len, reason);
        if (c->message)
            check_message_by_evp(c, stream, stream_len, len);
        reason =
            stream_run(stream_filter(c, 0), way >> 1, behaviour, piece, out, sizeof out, &out_len, stream, stream_len);
        CHECK(reason == 0 && out_len == len && memcmp(out, text, len) == 0,
              "%s %s segment %zu buffer %zu: %zu bytes in pieces of %zu, way %d: reason %d, %zu bytes", provider,
              c->cipher, c->segment, c->buffer, len, piece, way, reason, out_len);
    }
}

static void check_round_trips(const char *provider)
{
    static const size_t pieces[] = { 0, 1, 7, 64, 500, 2100 };
    struct support_random random;

    support_random_seed(&random, support_seed());
    support_random_bytes(&random, text, sizeof text);
    for (size_t i = 0; i < stream_case_count; i++) {
        const struct stream_case *c = &stream_cases[i];
        const size_t first = stream_first_text(c), other = stream_other_text(c);
        const size_t lengths[] = { 0,
                                   1,
                                   first - 1,
                                   first,
                                   first + 1,
                                   first + other - 1,
                                   first + other,
                                   first + other + 1,
                                   first + 3 * other,
                                   first + 4 * other + 5,
                                   TEXT_MAX };

        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++)
            for (size_t p = 0; p < sizeof pieces / sizeof pieces[0]; p++) {
                const struct stream_mem behaviour = {
                    .piece = p % 2 ? 13 : 0, .block = p % 3 == 2, .seekable = p % 2, .libcrypto = p % 3 == 1
                };

                if (lengths[l] <= TEXT_MAX)
                    check_round_trip(provider, c, lengths[l], pieces[p], behaviour);
            }
    }
}

static void test_round_trips(void)
{
    with_each_context(check_round_trips);
}

/* Every length, one piece. */
static void test_every_length(void)
{
    stream_use(contexts[0]);
    for (size_t i = 0; i < stream_case_count; i++)
        for (size_t len = 0; len < 400; len++)
            check_round_trip("aesop", &stream_cases[i], len, 0, (struct stream_mem){ .libcrypto = len % 2 });
}

/* ---- large segments, defaults ---- */

static void test_large(void)
{
    static const struct stream_case cases[] = {
        { .cipher = "AES-128-GCM" },
        { .cipher = "AES-256-GCM", .segment = 1048576, .hash = "SHA512" },
        { .cipher = "AES-128-GCM", .segment = 4096, .buffer = 1000000 },
        { .cipher = "AES-192-GCM", .segment = 10000 },
        { .cipher = "AES-128-GCM", .message = 1, .buffer = 65536 },
        { .cipher = "AES-256-GCM", .message = 1, .buffer = 1048576, .hold = 5000000 },
        { .cipher = "AES-256-GCM", .message = 1, .buffer = 8192, .hold = 1000 }, /* read twice */
        { .cipher = "AES-128-GCM", .message = 1, .buffer = 8192, .no_hold = 1 },
    };
    static const size_t pieces[] = { 0, 4096, 100000 };
    const size_t len = 3000001, capacity = len + 100000;
    unsigned char *in = malloc(len), *stream = malloc(capacity), *out = malloc(capacity);
    struct support_random random;

    support_random_seed(&random, support_seed());
    support_random_bytes(&random, in, len);
    stream_use(contexts[0]);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t p = 0; p < sizeof pieces / sizeof pieces[0]; p++)
            for (int way = 0; way < 4; way++) {
                const struct stream_case *c = &cases[i];
                const int twice = c->no_hold || c->hold == 1000;
                size_t stream_len, out_len;
                int reason = stream_run(stream_filter(c, 1), way & 1, (struct stream_mem){ 0 }, pieces[p], stream,
                                        capacity, &stream_len, in, len);

                CHECK(reason == 0, "encrypt %s: %d", c->cipher, reason);
                reason = stream_run(stream_filter(c, 0), way >> 1, (struct stream_mem){ .seekable = 1 }, pieces[p], out,
                                    capacity, &out_len, stream, stream_len);
                if (twice && way >> 1 == STREAM_WRITE)
                    CHECK(reason == AESOP_STREAM_R_HOLD_LIMIT && out_len == 0, "hold limit: %d", reason);
                else
                    CHECK(reason == 0 && out_len == len && memcmp(in, out, len) == 0,
                          "case %zu, pieces of %zu, way %d: %d", i, pieces[p], way, reason);
                if (twice && way == 0) {
                    reason = stream_run(stream_filter(c, 0), STREAM_READ, (struct stream_mem){ 0 }, 8192, out, capacity,
                                        &out_len, stream, stream_len);
                    CHECK(reason == AESOP_STREAM_R_HOLD_LIMIT && out_len == 0, "hold limit without seeking: %d",
                          reason);
                }
            }
    free(in);
    free(stream);
    free(out);
}

/* ---- pieces of any size ---- */

#define PIECES_TEXT 40000

/* Sizes around those where the filter changes its way. */
static size_t any_piece(struct support_random *r, const struct stream_case *c, size_t left)
{
    const size_t unit = c->message ? c->buffer : c->segment;
    const size_t sizes[] = { 1 + support_random_below(r, 300),
                             2040 + support_random_below(r, 20),
                             unit - 40 + support_random_below(r, 60),
                             unit / 2,
                             unit,
                             1 + support_random_below(r, PIECES_TEXT) };
    const size_t n = sizes[support_random_below(r, sizeof sizes / sizeof sizes[0])];

    return n < left ? n : left;
}

/* In through a filter that has served before, in pieces; returns the bytes that came out, or 0 with a failed check. */
static size_t in_pieces(struct support_random *r, const struct stream_case *c, BIO *filter, enum stream_side side,
                        struct stream_mem *m, unsigned char *in, size_t in_len, unsigned char *out, size_t capacity)
{
    BIO *next =
        side == STREAM_READ && support_random_below(r, 2) ? BIO_new_mem_buf(in, (int)in_len) : stream_mem_bio(m);
    size_t done = 0, n = 0;
    int ok = AESOP_BIO_rekey(filter, NULL, 0, NULL);

    *m = (struct stream_mem){ .data = side == STREAM_READ ? in : out,
                              .len = side == STREAM_READ ? in_len : 0,
                              .capacity = capacity,
                              .seekable = 1 };
    BIO_push(filter, next);
    if (side == STREAM_WRITE) {
        for (; ok && done < in_len; done += n)
            ok = BIO_write_ex(filter, in + done, any_piece(r, c, in_len - done), &n);
        ok = ok && BIO_flush(filter) == 1;
        done = m->len;
    } else {
        while (BIO_read_ex(filter, out + done, any_piece(r, c, capacity - done), &n))
            done += n;
        ok = BIO_eof(filter) && stream_error() == 0;
    }
    BIO_pop(filter);
    BIO_free(next);
    return CHECK(ok, "%s, %s, side %d", c->cipher, c->message ? "message" : "segments", side) ? done : 0;
}

static void check_pieces(const char *provider)
{
    static const struct stream_case cases[] = {
        { .cipher = "AES-128-GCM", .segment = 5000 },
        { .cipher = "AES-256-GCM", .segment = 8192, .buffer = 64, .aad_len = 20 },
        { .cipher = "ChaCha20-Poly1305", .segment = 6000 },
        { .cipher = "AES-128-GCM", .message = 1, .buffer = 4096 },
        { .cipher = "AES-256-GCM", .message = 1, .buffer = 10000, .no_hold = 1 },
        { .cipher = "AES-128-GCM", .message = 1, .buffer = 4096, .unverified = 1 },
        { .cipher = "ChaCha20-Poly1305", .message = 1, .buffer = 4096 },
#ifndef STREAM_SANITIZED
        { .cipher = "AES-128-OCB", .message = 1, .buffer = 4096, .unverified = 1 },
#endif
    };
    static unsigned char text[PIECES_TEXT], stream[PIECES_TEXT + 4096], back[PIECES_TEXT + 4096];
    struct support_random r;

    support_random_seed(&r, support_seed());
    support_random_bytes(&r, text, sizeof text);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct stream_case *c = &cases[i];
        BIO *filters[2] = { stream_filter(c, 0), stream_filter(c, 1) };
        struct stream_mem m;

        for (int round = 0; round < 200; round++) {
            const size_t len = support_random_below(&r, PIECES_TEXT) + 1;
            const enum stream_side made = support_random_below(&r, 2) ? STREAM_READ : STREAM_WRITE;
            /* What is read twice needs a source. */
            const enum stream_side read = c->no_hold || support_random_below(&r, 2) ? STREAM_READ : STREAM_WRITE;
            size_t n;

            n = in_pieces(&r, c, filters[1], made, &m, text, len, stream, sizeof stream);
            n = in_pieces(&r, c, filters[0], read, &m, stream, n, back, sizeof back);
            if (!CHECK(n == len && memcmp(back, text, len) == 0, "%s, case %zu, round %d: %zu bytes of %zu", provider,
                       i, round, n, len))
                break;
        }
        BIO_free(filters[0]);
        BIO_free(filters[1]);
    }
}

static void test_pieces(void)
{
    with_each_context(check_pieces);
}

/* ---- without limits ---- */

struct zeros {
    uint64_t bytes;
    int others; /* bytes that are not 0 were met */
};

static int zeros_write(BIO *b, const char *data, int len)
{
    struct zeros *z = BIO_get_data(b);

    z->others |= data[0] != 0 || memcmp(data, data + 1, (size_t)len - 1) != 0;
    z->bytes += (uint64_t)len;
    return len;
}

static long zeros_ctrl(BIO *b, int command, long number, void *pointer)
{
    (void)b;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

/* Zeros -> encrypt -> decrypt -> zeros: 100 GiB in the long form, in the memory that the first MiB takes. */
static void test_endless(void)
{
    static char block[1048576];
    const uint64_t total = (support_long() ? UINT64_C(100) << 30 : UINT64_C(1) << 28) + 1;
    const struct stream_case c = { .cipher = "AES-128-GCM" };
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "zeros");
    struct zeros z = { 0, 0 };
    struct rusage start = { 0 }, end;
    AESOP_STREAM_STATE state;
    BIO *sink, *b;

    stream_use(contexts[0]);
    BIO_meth_set_write(method, zeros_write);
    BIO_meth_set_ctrl(method, zeros_ctrl);
    sink = BIO_new(method);
    BIO_set_data(sink, &z);
    BIO_set_init(sink, 1);
    b = BIO_push(stream_filter(&c, 1), BIO_push(stream_filter(&c, 0), sink));
    for (uint64_t left = total; left > 0;) {
        const int n = left < sizeof block ? (int)left : (int)sizeof block;

        if (!CHECK(BIO_write(b, block, n) == n, "write with %llu bytes to go", (unsigned long long)left))
            break;
        left -= (uint64_t)n;
        if (start.ru_maxrss == 0)
            getrusage(RUSAGE_SELF, &start);
    }
    CHECK(BIO_flush(b) == 1 && z.bytes == total && !z.others, "%llu bytes of %llu, others than 0: %d",
          (unsigned long long)z.bytes, (unsigned long long)total, z.others);
    CHECK(AESOP_BIO_get_aead_state(b, &state) && state.bytes == total && state.finished, "state");
    getrusage(RUSAGE_SELF, &end);
    CHECK(end.ru_maxrss - start.ru_maxrss < 1024, "memory grew by %ld KiB", end.ru_maxrss - start.ru_maxrss);
    BIO_free_all(b);
    BIO_meth_free(method);
}

int main(int argc, char **argv)
{
    int status;
    CU_pSuite suite;

    support_init(argc, argv);
    contexts[0] = support_ctx_aesop(NULL);
    contexts[1] = support_ctx_default();
    suite = CU_add_suite("stream", NULL, NULL);
    CU_add_test(suite, "HKDF of RFC 5869", test_hkdf);
    CU_add_test(suite, "Tink's vectors", test_tink_vectors);
    CU_add_test(suite, "streams from and for another implementation", test_python);
    CU_add_test(suite, "round trips on every side, in pieces", test_round_trips);
    CU_add_test(suite, "every length", test_every_length);
    CU_add_test(suite, "large segments and messages", test_large);
    CU_add_test(suite, "filters that serve again, pieces of any size", test_pieces);
    CU_add_test(suite, "length without limit", test_endless);
    status = support_run();
    stream_use(NULL);
    support_ctx_free(contexts[0]);
    support_ctx_free(contexts[1]);
    return status;
}
