/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Authenticated encryption as a filter BIO.
 *
 * AESOP_BIO_f_aead() goes into any BIO chain. Data written to it is encrypted or decrypted and written to the next BIO;
 * data read from it is read from the next BIO and encrypted or decrypted. One filter serves one stream on one side at a
 * time: the first read, write or flush decides which side.
 *
 *     BIO *b = BIO_new(AESOP_BIO_f_aead());
 *     if (b == NULL || !AESOP_BIO_set_aead(b, cipher, key, key_len, 1, NULL))
 *         ...                             the error queue says why
 *     BIO_push(b, destination);
 *     BIO_write(b, ...);                  as often as there is data
 *     if (BIO_flush(b) <= 0)              ends the stream: without it a reader reports truncation
 *         ...
 *
 * No plaintext leaves a decrypting filter before it is verified (unless AESOP_STREAM_PARAM_RELEASE_UNVERIFIED asks for
 * that).
 *
 * Formats
 *
 *   Segmented (default): what Tink calls AES-GCM-HKDF streaming, byte for byte, for AES-128-GCM and AES-256-GCM.
 *
 *       | n (1 byte) | salt (k) | prefix (7) | segment 0 | segment 1 | ... | last segment |
 *
 *       n = 8 + k = bytes of the header                  segment = ciphertext | tag (16)
 *
 *     k is the cipher's key length. The segments' key is HKDF(key, salt, info = associated data) (RFC 5869); segment i
 *     has the IV `prefix | i (4 bytes, big-endian) | 1 if it is the last, else 0`. Every segment but the last occupies
 *     exactly the segment size, with the header counted as a part of segment 0. Any length, in constant memory;
 *     changes, truncation, and segments moved, dropped, repeated or added are found before a byte of the segment
 *     concerned is released. At most 2^32 segments. Ciphers with another key length, and ChaCha20-Poly1305, get the
 *     same format with their own k; other software may not know those.
 *
 *   Message: one AEAD message, `iv | ciphertext | tag`, or `ciphertext | tag` where the iv is a parameter. Nothing is
 *     released before the tag at the end is verified. Decrypted text waits in memory that is reserved at set-up and
 *     touched as used, up to the hold limit. A longer message is read twice where the next BIO is a source that can
 *     seek (the first time to verify, the second time to release), and refused otherwise.
 *
 * BIO calls
 *
 *   BIO_flush
 *     Write side: the end of the stream. The last segment, or the tag, is made or verified once and everything is
 *     written out; then the next BIO is flushed. A later write is refused with AESOP_STREAM_R_FINISHED. A flush before
 *     anything was written makes the stream of the empty text. Read side: passed on.
 *
 *   BIO_read
 *     Returns what is ready before it reads from the next BIO again, and ends where what comes next would have to be
 *     copied but not by the next call: possibly less than asked for. 0 at the end, which is reported only after the
 *     stream's end was verified; -1 on errors.
 *
 *   BIO_reset
 *     Starts a new stream with the same key and associated data, and resets the next BIO (whose result it returns).
 *     An encrypting filter takes a new salt or iv.
 *
 *   BIO_seek, BIO_tell
 *     Offsets in the plaintext; where a segmented stream is decrypted on the read side and the next BIO is a source
 *     that can seek (file, descriptor, memory; not another filter). The stream starts where the source stood at the
 *     first read. Every segment is verified as it is read; what lies between is not. BIO_seek returns the offset,
 *     or -1. An offset behind the end reads as the end.
 *
 *   BIO_dup_chain
 *     The copy has the same set-up and is at the start of a stream of its own.
 *
 *   BIO_pending, BIO_wpending
 *     Bytes that are ready in the filter, otherwise the next BIO's answer.
 *
 *   BIO_eof
 *     1 at the end and after an error.
 *
 *   BIO_gets, BIO_puts
 *     Not supported (-2): a BIO_f_buffer() in front of the filter has them.
 *
 * Where the next BIO asks to retry, so does the filter; nothing is lost or repeated. A BIO_s_mem() that runs empty does
 * so too, unless BIO_set_mem_eof_return(b, 0) was called; memory that cannot be written to (BIO_new_mem_buf) ends.
 * Sources in memory are read where they lie, without a copy.
 *
 * Errors are sticky: once a stream has failed, all calls fail with the same reason until BIO_reset or AESOP_BIO_rekey.
 * Calls that come at the wrong time (AESOP_STREAM_R_FINISHED, _OTHER_SIDE, _NOT_SET_UP, or no next BIO yet) are refused
 * and change nothing. Each error is raised on the OpenSSL error queue in the library "aesop stream", with a text that
 * names segment and byte offset. A caller's buffer may hold zeros where the failed bytes would have been.
 *
 * Memory: set-up allocates everything. Reading, writing, flushing, resetting and re-keying allocate nothing, neither
 * here nor in libcrypto, as far as the cipher's provider does not (aesop does not, default only for OCB); a failure
 * allocates its error text. A filter with default sizes takes about 130 KiB, and address space for the hold limit
 * where messages are decrypted. Keys and buffers are wiped on free. A caller's buffer that has room for a segment is
 * encrypted from, or decrypted into, directly.
 *
 * Speed: beside the cipher's own work a stream costs 100 to 190 ns (3 GHz), which 16 KiB of AES-128-GCM repay 6 to 10
 * times. A segmented stream that is encrypted takes a new key besides, by the format: HKDF's eight rounds of SHA-256
 * and the cipher's key set-up are about as much as these 16 KiB. AESOP_STREAM_PARAM_SALT_STREAMS shares them. Pieces
 * of a segment or more are not copied; with smaller ones copying halves the rate for data beyond the fast caches.
 *
 * Threads: a BIO belongs to one thread at a time.
 */
#ifndef AESOP_STREAM_H
#define AESOP_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef AESOP_EXPORT
#define AESOP_EXPORT __attribute__((visibility("default")))
#endif

/*
 * Parameters of AESOP_BIO_set_aead. A name that is not among them, a value of another type or out of range is refused.
 * Byte strings are copied.
 */

/* UTF-8 string: AESOP_STREAM_FORMAT_SEGMENTED (default) or AESOP_STREAM_FORMAT_MESSAGE. */
#define AESOP_STREAM_PARAM_FORMAT "format"
#define AESOP_STREAM_FORMAT_SEGMENTED "segmented"
#define AESOP_STREAM_FORMAT_MESSAGE "message"

/*
 * size_t: bytes of a segment with its tag; header + 17 to AESOP_STREAM_MAX_BYTES, default AESOP_STREAM_DEFAULT_SEGMENT.
 * Both sides must agree on it: it does not stand in the stream.
 */
#define AESOP_STREAM_PARAM_SEGMENT_SIZE "segment-size"

/*
 * size_t: bytes that are read from or written to the next BIO at a time, 64 to AESOP_STREAM_MAX_BYTES, default
 * AESOP_STREAM_DEFAULT_BUFFER. Rounded down to whole segments, up to one at least. By measurement (bench_stream): up to
 * 16 KiB the cost of each segment shows, from 256 KiB on the buffers leave the fast caches.
 */
#define AESOP_STREAM_PARAM_BUFFER_SIZE "buffer-size"

/* Octet string: associated data, default empty. Both formats. */
#define AESOP_STREAM_PARAM_AAD "aad"

/* UTF-8 string: hash of the segmented format's HKDF: "SHA256" (default), "SHA512", or "SHA1". */
#define AESOP_STREAM_PARAM_DIGEST "digest"

/*
 * Octet string.
 * Message format: the iv, 1 to 16 bytes as the cipher permits, which then does not stand in the stream. By default it
 * has the cipher's own iv length and stands in front of the ciphertext; it is random for the first message of a filter,
 * a key or a forked child, and counts up from there (SP 800-38D, 8.2.2). Segmented format, encryption only:
 * `salt | prefix` (k + 7 bytes) in place of random ones, for tests. An iv given here serves one encryption: a second
 * stream is refused until AESOP_BIO_rekey brings another.
 */
#define AESOP_STREAM_PARAM_IV "iv"

/*
 * size_t: how many streams in a row an encrypting segmented filter gives the same salt, 1 (default, as Tink) to 65536.
 * They then share a derived key, which saves its derivation and set-up (0.8 us), and differ in the prefix, which counts
 * up from a random start. Shows to all who see two streams that one filter wrote both. A forked child, a duplicate and
 * a re-keyed filter begin with a salt of their own.
 */
#define AESOP_STREAM_PARAM_SALT_STREAMS "salt-streams"

/* size_t: bytes of the message format's tag, 4 to 16 as the cipher permits; default 16. */
#define AESOP_STREAM_PARAM_TAG_LENGTH "tag-length"

/*
 * size_t: the longest plaintext, in bytes, that is held back in memory while a message is decrypted; default
 * AESOP_STREAM_DEFAULT_HOLD. 0: none, each message is read twice.
 */
#define AESOP_STREAM_PARAM_HOLD_LIMIT "hold-limit"

/*
 * int: 1 releases the plaintext of a message BEFORE it is verified. Whoever reads it must be able to undo all that was
 * done with it when the error comes at the end. Default 0.
 */
#define AESOP_STREAM_PARAM_RELEASE_UNVERIFIED "release-unverified"

#define AESOP_STREAM_DEFAULT_SEGMENT ((size_t)65536)
#define AESOP_STREAM_DEFAULT_BUFFER ((size_t)65536)
#define AESOP_STREAM_DEFAULT_HOLD ((size_t)67108864)
#define AESOP_STREAM_MAX_BYTES ((size_t)1073741824)

/* Reasons, as ERR_GET_REASON gives them for errors of the library AESOP_STREAM_ERR_lib(). */

/* A segment or message does not verify: it was changed or moved, or key or associated data are not the writer's. */
#define AESOP_STREAM_R_AUTHENTICATION 100
/* The stream ends before its last segment, or within the header or a tag. */
#define AESOP_STREAM_R_TRUNCATED 101
/* Data follows the last segment. */
#define AESOP_STREAM_R_TRAILING_DATA 102
/* The first byte is not this cipher's header length: not such a stream, or for another key length. */
#define AESOP_STREAM_R_BAD_HEADER 103
/* The message is longer than the hold limit and the source cannot seek. */
#define AESOP_STREAM_R_HOLD_LIMIT 104
/* The second reading of a message met other bytes than the first, or the source refused to seek. */
#define AESOP_STREAM_R_SOURCE_CHANGED 105
/* More than 2^32 segments, or a message beyond the cipher's limit. */
#define AESOP_STREAM_R_TOO_LONG 106
/* A write after the flush that ended the stream. */
#define AESOP_STREAM_R_FINISHED 107
/* A read from a filter that is being written, or the reverse. */
#define AESOP_STREAM_R_OTHER_SIDE 108
/* A second encryption with the iv of AESOP_STREAM_PARAM_IV. */
#define AESOP_STREAM_R_IV_USED 109
/* The next BIO failed, or there is none; its own errors stand before this one. */
#define AESOP_STREAM_R_NEXT_BIO 110
/* EVP or the system's random source failed. */
#define AESOP_STREAM_R_CIPHER_FAILED 111
/* A call before AESOP_BIO_set_aead, or a second set-up. */
#define AESOP_STREAM_R_NOT_SET_UP 112
/* A parameter with no such name, of another type or out of range. */
#define AESOP_STREAM_R_BAD_PARAMETER 113
/* No AEAD cipher that takes its text piece by piece, or none for this format, iv or tag. */
#define AESOP_STREAM_R_BAD_CIPHER 114
/* No key, or one of a wrong length. */
#define AESOP_STREAM_R_BAD_KEY 115
/* Set-up found no memory; later calls need none. */
#define AESOP_STREAM_R_NO_MEMORY 116

/* The filter. Valid for the life of the process; NULL only where libcrypto has no memory. */
AESOP_EXPORT const BIO_METHOD *AESOP_BIO_f_aead(void);

/* The number of the error library, for ERR_GET_LIB. */
AESOP_EXPORT int AESOP_STREAM_ERR_lib(void);

/*
 * Sets a filter up, once. cipher: an AEAD cipher that takes its text piece by piece (GCM, ChaCha20-Poly1305, OCB; not
 * CCM, SIV); it is kept by reference. key: copied; in the message format as long as the cipher's key, in the segmented
 * format at least as long. encrypt: 1 or 0. params: may be NULL. Returns 1, or 0 with an error raised and the filter
 * unusable as before.
 */
AESOP_EXPORT int AESOP_BIO_set_aead(BIO *b, const EVP_CIPHER *cipher, const unsigned char *key, size_t key_len,
                                    int encrypt, const OSSL_PARAM params[]);

/*
 * Starts a new stream and drops what is left of the old one and its error; the next BIO is not touched. key: NULL keeps
 * the old one. params: NULL, or AESOP_STREAM_PARAM_AAD and _IV, where one that is absent keeps its value (an iv that
 * has served stays used). Allocates nothing: key and associated data may be as long as at set-up, or
 * AESOP_STREAM_REKEY_BYTES; the iv must be as long as at set-up. Returns 1, or 0 with an error raised and nothing
 * changed.
 */
AESOP_EXPORT int AESOP_BIO_rekey(BIO *b, const unsigned char *key, size_t key_len, const OSSL_PARAM params[]);
#define AESOP_STREAM_REKEY_BYTES 256

/* How far a stream has come. */
typedef struct {
    int reason;        /* 0, or the AESOP_STREAM_R_... that ended it */
    int finished;      /* 1: the end was made (encryption) or verified (decryption) */
    uint64_t segments; /* made or verified; the number of the failed one where reason says so. Messages: 0 */
    uint64_t bytes;    /* of plaintext, in those; with BIO_seek: up to the end of the last segment that was read */
} AESOP_STREAM_STATE;

/* Returns 1, or 0 with an error raised where b is no filter that was set up. */
AESOP_EXPORT int AESOP_BIO_get_aead_state(BIO *b, AESOP_STREAM_STATE *state);

#ifdef __cplusplus
}
#endif

#endif
