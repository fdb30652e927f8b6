/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The segmented format (stream.h of include/aesop draws it): what Tink calls AES-GCM-HKDF streaming.
 *
 * The header counts as a part of segment 0, so segment i > 0 begins at byte i * segment size of the stream.
 */
#include <string.h>

#include <openssl/crypto.h>

#include <aesop/stream.h>

#include "streams/stream.h"

#define IV_BYTES 12
#define PREFIX_BYTES 7
#define LAST_NUMBER UINT32_MAX

/* | header bytes (1) | salt (as long as the key) | prefix (7) | */
static uint8_t *salt_of(struct aesop_stream *s)
{
    return s->header + 1;
}

static const uint8_t *prefix_of(const struct aesop_stream *s)
{
    return s->header + 1 + s->cipher_key_bytes;
}

static size_t drawn_bytes(const struct aesop_stream *s)
{
    return s->cipher_key_bytes + PREFIX_BYTES;
}

static int segment_setup(struct aesop_stream *s)
{
    const struct aesop_stream_config *c = &s->config;

    s->header_bytes = 1 + drawn_bytes(s);
    if (s->header_bytes > AESOP_STREAM_MAX_HEADER || s->iv_bytes != IV_BYTES)
        return aesop_stream_refuse(AESOP_STREAM_R_BAD_CIPHER, "the segmented format needs an iv of 12 bytes");
    if (c->key.len < s->cipher_key_bytes)
        return aesop_stream_refuse(AESOP_STREAM_R_BAD_KEY,
                                   "the segmented format needs a key of %zu bytes or more, not %zu",
                                   s->cipher_key_bytes, c->key.len);
    if (c->tag_bytes != AESOP_STREAM_TAG_BYTES)
        return aesop_stream_refuse(AESOP_STREAM_R_BAD_PARAMETER, "tag-length: segments have tags of 16 bytes");
    if (c->segment_bytes <= s->header_bytes + AESOP_STREAM_TAG_BYTES)
        return aesop_stream_refuse(AESOP_STREAM_R_BAD_PARAMETER, "segment-size must be at least %zu",
                                   s->header_bytes + AESOP_STREAM_TAG_BYTES + 1);
    if (c->iv.data != NULL && (!c->encrypt || c->iv.len != drawn_bytes(s)))
        return aesop_stream_refuse(AESOP_STREAM_R_BAD_PARAMETER,
                                   "iv: segments are encrypted with salt and prefix, %zu bytes, and decrypted without",
                                   drawn_bytes(s));
    if (c->release_unverified)
        return aesop_stream_refuse(AESOP_STREAM_R_BAD_PARAMETER, "release-unverified: segments are always verified");
    s->full_unit = c->encrypt ? c->segment_bytes - AESOP_STREAM_TAG_BYTES : c->segment_bytes;
    s->lookahead = 1;
    return 1;
}

static void derive_key(struct aesop_stream *s)
{
    const struct aesop_stream_config *c = &s->config;
    const size_t n = s->cipher_key_bytes;

    /* Who rewinds a stream that is being read meets the same salt again. */
    if (!s->key_fresh && memcmp(s->salt, salt_of(s), n) == 0)
        return;
    aesop_hkdf(c->hash, s->segment_key, n, c->key.data, c->key.len, salt_of(s), n, c->aad.data, c->aad.len);
    s->segment_key_waits = 1;
    memcpy(s->salt, salt_of(s), n);
    s->key_fresh = 0;
}

static int start_segment(struct aesop_stream *s, const uint8_t *iv)
{
    if (!EVP_CipherInit_ex(s->ctx, NULL, NULL, s->segment_key_waits ? s->segment_key : NULL, iv, -1))
        return 0;
    if (s->segment_key_waits)
        OPENSSL_cleanse(s->segment_key, sizeof s->segment_key);
    s->segment_key_waits = 0;
    return 1;
}

static void segment_jump(struct aesop_stream *s, uint64_t number)
{
    s->number = number;
    s->unit = number > 0 ? s->full_unit : s->full_unit - s->header_bytes;
    s->text_bytes = number > 0 ? number * (s->config.segment_bytes - AESOP_STREAM_TAG_BYTES) - s->header_bytes : 0;
}

/* The same salt and key again, with another prefix. Returns 0 where it is time for a new salt. */
static int next_prefix(struct aesop_stream *s)
{
    if (aesop_random_forked(&s->random) || s->key_fresh || s->config.iv.data != NULL ||
        s->salt_served >= s->config.salt_streams) {
        s->salt_served = 1;
        return 0;
    }
    s->salt_served++;
    aesop_stream_count_up((uint8_t *)prefix_of(s), PREFIX_BYTES);
    return 1;
}

static int segment_start(struct aesop_stream *s)
{
    const struct aesop_stream_config *c = &s->config;

    segment_jump(s, 0);
    if (!c->encrypt)
        return 1;
    s->header[0] = (uint8_t)s->header_bytes;
    if (next_prefix(s))
        return 1;
    if (c->iv.data != NULL) {
        if (s->iv_used)
            return aesop_stream_fail(s, AESOP_STREAM_R_IV_USED, "a second stream with the same salt and prefix");
        s->iv_used = 1;
        memcpy(salt_of(s), c->iv.data, c->iv.len);
    } else if (!aesop_random_bytes(&s->random, salt_of(s), drawn_bytes(s))) {
        return aesop_stream_fail(s, AESOP_STREAM_R_CIPHER_FAILED, "no random bytes");
    }
    derive_key(s);
    return 1;
}

static int segment_take_header(struct aesop_stream *s)
{
    if (s->header[0] != s->header_bytes)
        return aesop_stream_fail(s, AESOP_STREAM_R_BAD_HEADER, "the stream begins with byte %u, a %s stream with %zu",
                                 s->header[0], EVP_CIPHER_get0_name(s->config.cipher), s->header_bytes);
    derive_key(s);
    return 1;
}

/* Returns 1, 0 where the tag is wrong, -1 where the cipher failed otherwise. */
static int run(struct aesop_stream *s, uint8_t *out, size_t *out_len, const struct aesop_octets in[2], uint8_t *tag,
               int last)
{
    uint8_t iv[IV_BYTES];
    size_t made = 0;
    int end = 0;

    memcpy(iv, prefix_of(s), PREFIX_BYTES);
    for (size_t i = 0; i < 4; i++)
        iv[PREFIX_BYTES + i] = (uint8_t)(s->number >> (24 - 8 * i));
    iv[IV_BYTES - 1] = last != 0;
    if (!start_segment(s, iv) || (!s->config.encrypt && !aesop_stream_set_tag(s, tag, AESOP_STREAM_TAG_BYTES)) ||
        !aesop_stream_update(s, out, &made, in))
        return -1;
    if (EVP_CipherFinal_ex(s->ctx, out + made, &end) <= 0)
        return s->config.encrypt ? -1 : 0;
    *out_len = made + (size_t)end;
    if (s->config.encrypt && !aesop_stream_get_tag(s, tag, AESOP_STREAM_TAG_BYTES))
        return -1;
    return 1;
}

/* Says what is wrong with a segment that does not verify; writes to out. */
static int fail_segment(struct aesop_stream *s, uint8_t *out, const struct aesop_octets in[2], size_t text,
                        uint8_t *tag, int last)
{
    const uint64_t first = s->number > 0 ? s->number * s->config.segment_bytes : s->header_bytes;
    const unsigned long long number = s->number, begin = first, end = first + text + AESOP_STREAM_TAG_BYTES;
    size_t ignored;
    /* The right bytes at the wrong place: the end where none is, or the reverse. */
    const int other = (!last || text + AESOP_STREAM_TAG_BYTES == s->unit) && run(s, out, &ignored, in, tag, !last) > 0;

    OPENSSL_cleanse(out, text);
    if (other && last)
        return aesop_stream_fail(s, AESOP_STREAM_R_TRUNCATED,
                                 "the stream ends after segment %llu, at byte %llu, which is not its last", number,
                                 end);
    if (other)
        return aesop_stream_fail(s, AESOP_STREAM_R_TRAILING_DATA,
                                 "segment %llu is the last, but more follows from byte %llu on", number, end);
    return aesop_stream_fail(s, AESOP_STREAM_R_AUTHENTICATION, "segment %llu, bytes %llu to %llu of the stream%s",
                             number, begin, end - 1,
                             number == 0 ? ": changed, or another key, associated data or segment size" : "");
}

static int segment_unit(struct aesop_stream *s, uint8_t *out, size_t *out_len, const struct aesop_octets in[2],
                        int last)
{
    const int encrypt = s->config.encrypt;
    struct aesop_octets part[2] = { in[0], in[1] };
    uint8_t tag[AESOP_STREAM_TAG_BYTES];
    size_t text = in[0].len + in[1].len;
    int result;

    *out_len = 0;
    if (s->number > LAST_NUMBER || (s->number == LAST_NUMBER && !last))
        return aesop_stream_fail(s, AESOP_STREAM_R_TOO_LONG, "a stream has at most 2^32 segments");
    if (!encrypt) {
        if (text < sizeof tag)
            return aesop_stream_fail(s, AESOP_STREAM_R_TRUNCATED, "%zu bytes are no segment %llu", text,
                                     (unsigned long long)s->number);
        text -= sizeof tag;
        aesop_stream_cut_tag(part, tag, sizeof tag);
    }
    result = run(s, out, out_len, part, tag, last);
    if (result == 0)
        return fail_segment(s, out, part, text, tag, last);
    if (result < 0) {
        OPENSSL_cleanse(out, text);
        return aesop_stream_fail(s, AESOP_STREAM_R_CIPHER_FAILED, "at segment %llu", (unsigned long long)s->number);
    }
    if (encrypt) {
        memcpy(out + *out_len, tag, sizeof tag);
        *out_len += sizeof tag;
    }
    s->text_bytes += text;
    s->number++;
    s->unit = s->full_unit;
    s->finished = last;
    return 1;
}

const struct aesop_format aesop_format_segmented = {
    .name = AESOP_STREAM_FORMAT_SEGMENTED,
    .setup = segment_setup,
    .start = segment_start,
    .take_header = segment_take_header,
    .unit = segment_unit,
    .jump = segment_jump,
};
