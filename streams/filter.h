/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter BIO: moves bytes between a stream (stream.h), the caller and the next BIO.
 *
 *     write side   caller -> in (what does not fill a unit yet; a place in `out` where the cipher permits) -> unit
 *                  -> out -> next BIO
 *     read side    next BIO -> in -> unit -> out (what the caller has no room for) -> caller
 *
 * A unit is taken from the caller's memory, or put there, where a whole one fits: then `in`, or `out`, is left out.
 * A message that waits for its tag lies in `out`, unreleased.
 */
#ifndef AESOP_STREAMS_FILTER_H
#define AESOP_STREAMS_FILTER_H

#include <stddef.h>
#include <stdint.h>

#include <openssl/bio.h>

#include "streams/stream.h"

enum aesop_filter_side { SIDE_NONE, SIDE_READ, SIDE_WRITE };

/* Where it FAILED, the stream has recorded why; where it is BLOCKED, the retry flags of the BIO are set. */
enum progress { FAILED = -1, BLOCKED = 0, DONE = 1 };

struct aesop_filter {
    struct aesop_stream stream;
    enum aesop_filter_side side;
    size_t header_missing; /* bytes of it that decryption still waits for */
    int ended;             /* no input follows what `in` holds */

    uint8_t *in_own; /* in, where it is not in out */
    uint8_t *in;     /* bytes in_pos to in_len are unprocessed */
    size_t in_pos, in_len, in_capacity;
    uint8_t *in_block, *out_block; /* what they are part of */
    size_t batch;                  /* of full units that are read at a time */
    size_t room;                   /* read side: of the caller, for the next unit */

    uint8_t *out; /* bytes out_pos to released are ready to leave, those up to out_len wait */
    size_t out_pos, released, out_len, out_capacity;
    size_t out_high; /* hold: no byte above was ever written */

    int guess_fails;    /* callers write the last segment in pieces: it is not tried before the flush */
    size_t first_piece; /* bytes of the write that began what `in` holds */
    size_t gathered;    /* segments of this stream that `in` has held */

    int hold;        /* messages wait in `out`, which is mapped, until they are verified */
    int verify_only; /* this one is too long for that, so it is read twice */

    int64_t origin;                          /* where the stream starts in a source that can seek, or -1 */
    long memory_end;                         /* of a source in memory that stays as it is, or -1: not known yet */
    uint64_t position;                       /* of the next byte that is read, in the text */
    int seek_pending;                        /* to position */
    int sought;                              /* and no unit was read since */
    uint64_t there_segment, missing_segment; /* the last one is the first, or between them, if nothing is at position */
    size_t skip;                             /* bytes of the next unit in front of position */
};

struct aesop_filter *aesop_filter_new(const struct aesop_stream_config *config);
void aesop_filter_free(struct aesop_filter *f);
/* The filter of a BIO of AESOP_BIO_f_aead(), or NULL. */
struct aesop_filter *aesop_filter_of(BIO *b);
/* Drops what is left of a stream; the next call starts one. */
void aesop_filter_restart(struct aesop_filter *f);

/* At the head of every call. Returns 1, or 0 with an error raised. */
int aesop_filter_enter(struct aesop_filter *f, BIO *next, enum aesop_filter_side side);
/* Takes header bytes from data. */
int aesop_filter_take_header(struct aesop_filter *f, const uint8_t *data, size_t len, size_t *taken);
int aesop_filter_fail_in_header(struct aesop_filter *f);
/* Where this message waits for its tag. */
int aesop_filter_holding(const struct aesop_filter *f);
/* Room in the held memory for so much more, or the decision to read twice, or an error. */
int aesop_filter_hold_more(struct aesop_filter *f, size_t text_bytes);
/* Appends a unit to `out`, which has the room. */
int aesop_filter_unit(struct aesop_filter *f, const struct aesop_octets in[2], int last);
/* Bytes of text in a unit of ciphertext. */
size_t aesop_filter_text_bytes(const struct aesop_filter *f, size_t len, int last);

/* Returns 1 where the source stands at the offset now. */
int aesop_source_seek(struct aesop_filter *f, BIO *next, int64_t offset);

/* The BIO's calls. */
int aesop_filter_write(BIO *b, const char *data, size_t len, size_t *written);
int aesop_filter_read(BIO *b, char *data, size_t len, size_t *read);
long aesop_filter_flush(struct aesop_filter *f, BIO *b, BIO *next);
long aesop_filter_seek(struct aesop_filter *f, BIO *next, long offset);
long aesop_filter_tell(const struct aesop_filter *f);

#endif
