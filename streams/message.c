/* SPDX-License-Identifier: Apache-2.0 */
/* The message format: | iv, unless it is a parameter | ciphertext | tag | */
#include <string.h>

#include <openssl/crypto.h>

#include <aesop/stream.h>

#include "streams/stream.h"

/* Bytes of text. SP 800-38D, 5.2.1.1; RFC 8439, 2.8; OCB has none that could be reached. */
static uint64_t text_limit(const EVP_CIPHER *cipher)
{
    switch (EVP_CIPHER_get_mode(cipher)) {
    case EVP_CIPH_GCM_MODE:
        return (UINT64_C(1) << 36) - 32;
    case EVP_CIPH_STREAM_CIPHER:
        return (UINT64_C(1) << 38) - 64;
    default:
        return UINT64_MAX;
    }
}

static int message_setup(struct aesop_stream *s)
{
    const struct aesop_stream_config *c = &s->config;

    if (c->key.len != s->cipher_key_bytes)
        return aesop_stream_refuse(AESOP_STREAM_R_BAD_KEY, "%s needs a key of %zu bytes, not %zu",
                                   EVP_CIPHER_get0_name(c->cipher), s->cipher_key_bytes, c->key.len);
    if (c->iv.data != NULL)
        s->iv_bytes = c->iv.len;
    if (s->iv_bytes > EVP_MAX_IV_LENGTH)
        return aesop_stream_refuse(AESOP_STREAM_R_BAD_PARAMETER, "iv must be of at most %d bytes", EVP_MAX_IV_LENGTH);
    s->header_bytes = c->iv.data != NULL ? 0 : s->iv_bytes;
    s->unit = s->full_unit = c->buffer_bytes / 16 * 16;
    s->lookahead = c->encrypt ? 0 : c->tag_bytes;
    return 1;
}

static int begin(struct aesop_stream *s, const uint8_t *iv)
{
    const struct aesop_stream_config *c = &s->config;
    int n;

    if (!EVP_CipherInit_ex(s->ctx, NULL, NULL, s->key_fresh ? c->key.data : NULL, iv, -1) ||
        (c->aad.len > 0 && !EVP_CipherUpdate(s->ctx, NULL, &n, c->aad.data, (int)c->aad.len)))
        return aesop_stream_fail(s, AESOP_STREAM_R_CIPHER_FAILED, "at the start of a message");
    s->key_fresh = 0;
    return 1;
}

static int message_start(struct aesop_stream *s)
{
    const struct aesop_stream_config *c = &s->config;

    if (!c->encrypt)
        return c->iv.data != NULL ? begin(s, c->iv.data) : 1;
    if (c->iv.data != NULL) {
        if (s->iv_used)
            return aesop_stream_fail(s, AESOP_STREAM_R_IV_USED, "a second message with the same iv");
        s->iv_used = 1;
        return begin(s, c->iv.data);
    }
    /* SP 800-38D, 8.2.2: random for a key's first message, then the next number. A forked child starts anew. */
    if (!aesop_random_forked(&s->random) && !s->key_fresh)
        aesop_stream_count_up(s->header, s->header_bytes);
    else if (!aesop_random_bytes(&s->random, s->header, s->header_bytes))
        return aesop_stream_fail(s, AESOP_STREAM_R_CIPHER_FAILED, "no random bytes");
    return begin(s, s->header);
}

static int message_take_header(struct aesop_stream *s)
{
    return begin(s, s->header);
}

static int fail_message(struct aesop_stream *s, uint64_t text)
{
    if (s->second_pass)
        return aesop_stream_fail(s, AESOP_STREAM_R_SOURCE_CHANGED,
                                 "the message verified when it was read first, not now");
    return aesop_stream_fail(s, AESOP_STREAM_R_AUTHENTICATION,
                             "message of %llu bytes: changed, cut, or another key, iv or associated data",
                             (unsigned long long)text);
}

static int message_unit(struct aesop_stream *s, uint8_t *out, size_t *out_len, const struct aesop_octets in[2],
                        int last)
{
    const struct aesop_stream_config *c = &s->config;
    struct aesop_octets part[2] = { in[0], in[1] };
    const size_t in_len = in[0].len + in[1].len;
    uint8_t tag[AESOP_STREAM_TAG_BYTES];
    size_t text = in_len;
    int end = 0;

    *out_len = 0;
    if (!c->encrypt && last) {
        if (in_len < c->tag_bytes)
            return aesop_stream_fail(s, AESOP_STREAM_R_TRUNCATED, "%zu bytes where a tag of %zu ends the message",
                                     in_len, c->tag_bytes);
        text -= c->tag_bytes;
        aesop_stream_cut_tag(part, tag, c->tag_bytes);
    }
    if (text > text_limit(c->cipher) - s->text_bytes)
        return aesop_stream_fail(s, AESOP_STREAM_R_TOO_LONG, "%s takes at most %llu bytes in a message",
                                 EVP_CIPHER_get0_name(c->cipher), (unsigned long long)text_limit(c->cipher));
    if (!aesop_stream_update(s, out, out_len, part) ||
        (!c->encrypt && last && !aesop_stream_set_tag(s, tag, c->tag_bytes)))
        goto failed;
    if (last && EVP_CipherFinal_ex(s->ctx, out + *out_len, &end) <= 0) {
        if (c->encrypt)
            goto failed;
        OPENSSL_cleanse(out, aesop_stream_out_bytes(s, in_len, last));
        *out_len = 0;
        return fail_message(s, s->text_bytes + text);
    }
    *out_len += (size_t)end;
    if (c->encrypt && last) {
        if (!aesop_stream_get_tag(s, out + *out_len, c->tag_bytes))
            goto failed;
        *out_len += c->tag_bytes;
    }
    s->text_bytes += text;
    s->finished = last;
    return 1;
failed:
    OPENSSL_cleanse(out, aesop_stream_out_bytes(s, in_len, last));
    *out_len = 0;
    return aesop_stream_fail(s, AESOP_STREAM_R_CIPHER_FAILED, "at byte %llu of the message",
                             (unsigned long long)s->text_bytes);
}

const struct aesop_format aesop_format_message = {
    .name = AESOP_STREAM_FORMAT_MESSAGE,
    .any_unit = 1,
    .setup = message_setup,
    .start = message_start,
    .take_header = message_take_header,
    .unit = message_unit,
};
