/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream without input and output: what a format does with bytes, and what it fails with.
 *
 *     setup.c      parameters -> struct aesop_stream_config -> struct aesop_stream
 *     segment.c, message.c   the formats, one struct of functions each
 *     hkdf.c, random.c, errors.c   what these need
 *     bio_aead.c, filter.c, filter_read.c, filter_write.c   the BIO (filter.h): where bytes come from and go to
 *
 * The caller cuts the input into units. All but the last have `unit` bytes and are handed over only when at least
 * `lookahead` bytes are known to follow; the last has up to unit + lookahead - 1.
 */
#ifndef AESOP_STREAMS_STREAM_H
#define AESOP_STREAMS_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include <openssl/evp.h>
#include <openssl/params.h>

#include "streams/hkdf.h"
#include "streams/random.h"

#define AESOP_STREAM_TAG_BYTES 16
#define AESOP_STREAM_MAX_HEADER 64

struct aesop_stream;

struct aesop_octets {
    const uint8_t *data; /* NULL: not given */
    size_t len;
};

struct aesop_format {
    const char *name;
    int any_unit; /* a unit may also be shorter than `unit` */
    /* Set-up: checks and completes sizes. */
    int (*setup)(struct aesop_stream *s);
    /* A new stream: sets header_bytes, unit, ...; on encryption makes the header. */
    int (*start)(struct aesop_stream *s);
    /* Decryption: s->header is complete. */
    int (*take_header)(struct aesop_stream *s);
    /*
     * Encrypts or decrypts one unit, which may lie in two places; out has room for aesop_stream_out_bytes and overlaps
     * with no input, unless it is where the first part lies. On failure nothing of the unit is left in out.
     */
    int (*unit)(struct aesop_stream *s, uint8_t *out, size_t *out_len, const struct aesop_octets in[2], int last);
    /* The unit that comes next is the one of that number (segments only, else NULL). */
    void (*jump)(struct aesop_stream *s, uint64_t number);
};

extern const struct aesop_format aesop_format_segmented, aesop_format_message;

/* What a caller asked for. Borrows its bytes. */
struct aesop_stream_config {
    const EVP_CIPHER *cipher;
    int encrypt;
    const struct aesop_format *format;
    const struct aesop_hash *hash;
    size_t segment_bytes, buffer_bytes, tag_bytes, hold_bytes, salt_streams;
    int release_unverified;
    struct aesop_octets key, aad, iv;
};

/* Fills in defaults and what params say. Returns 1, or 0 with an error raised. */
int aesop_stream_config_read(struct aesop_stream_config *c, const OSSL_PARAM params[]);
/* The same for re-keying: only aad and iv. */
int aesop_stream_config_read_rekey(struct aesop_stream_config *c, const OSSL_PARAM params[]);

struct aesop_stream {
    struct aesop_stream_config config; /* its bytes are ours, in memory of `capacity` */
    size_t key_capacity, aad_capacity;
    EVP_CIPHER_CTX *ctx;
    struct aesop_random random;
    size_t cipher_key_bytes, iv_bytes, block_bytes;
    int key_fresh; /* the key has not been derived from or set since it changed */
    int iv_used;
    uint8_t given_iv[AESOP_STREAM_MAX_HEADER];

    uint8_t header[AESOP_STREAM_MAX_HEADER];
    size_t header_bytes;
    size_t full_unit; /* of the stream's middle */
    size_t unit, lookahead;
    uint64_t number;     /* of the next segment */
    uint64_t text_bytes; /* plaintext in the units so far */
    int finished;        /* the last unit is done */
    int second_pass;     /* message: verified before */
    int reason;          /* sticky */
    char reason_text[200];
    size_t salt_served;               /* segmented: streams so far that were encrypted with this salt */
    uint8_t salt[EVP_MAX_KEY_LENGTH]; /* segmented: of the key that ctx has, or gets with the next segment */
    uint8_t segment_key[EVP_MAX_KEY_LENGTH];
    int segment_key_waits; /* for the next segment's init: one call sets key and iv for less than two */
};

/* Makes a stream from a configuration; s is zeros. Returns 1, or 0 with an error raised and s free of resources. */
int aesop_stream_open(struct aesop_stream *s, const struct aesop_stream_config *config);
void aesop_stream_close(struct aesop_stream *s);
/* Back to the start of a stream. */
int aesop_stream_start(struct aesop_stream *s);
/* New values of what is given in c. Returns 1, or 0 with an error raised and nothing changed. */
int aesop_stream_rekey(struct aesop_stream *s, const struct aesop_stream_config *c);

/* The next number, big-endian. */
void aesop_stream_count_up(uint8_t *number, size_t len);
/* EVP_CipherUpdate over both parts; adds to *made. */
int aesop_stream_update(struct aesop_stream *s, uint8_t *out, size_t *made, const struct aesop_octets in[2]);
/* Takes the tag off the end of both parts, which are long enough. */
void aesop_stream_cut_tag(struct aesop_octets in[2], uint8_t *tag, size_t len);
/* The cipher's tag. By parameters: EVP_CIPHER_CTX_ctrl makes the same of it, at more cost. */
int aesop_stream_set_tag(struct aesop_stream *s, const uint8_t *tag, size_t len);
int aesop_stream_get_tag(struct aesop_stream *s, uint8_t *tag, size_t len);

/* Bytes of room that a unit's output needs. */
size_t aesop_stream_out_bytes(const struct aesop_stream *s, size_t in_len, int last);

/* Ends the stream: records the reason and a text for aesop_stream_raise. Returns 0. */
int aesop_stream_fail(struct aesop_stream *s, int reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Raises what ended the stream: once in each call that the caller sees fail. Returns 0. */
int aesop_stream_raise(const struct aesop_stream *s);
/* Raises an error without a stream (set-up). Returns 0. */
int aesop_stream_refuse(int reason, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
