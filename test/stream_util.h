/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the AEAD filter share: filters by description, a source and sink that misbehaves, whole runs. */
#ifndef AESOP_TEST_STREAM_UTIL_H
#define AESOP_TEST_STREAM_UTIL_H

#include <stddef.h>
#include <stdint.h>

#include <openssl/bio.h>
#include <openssl/evp.h>

#include <aesop/stream.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STREAM_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STREAM_SANITIZED 1
#endif
#endif

/* Zeros stand for the defaults. */
struct stream_case {
    const char *cipher;
    const char *hash;
    size_t segment, buffer;
    int message;
    size_t tag, hold;
    int no_hold; /* hold limit 0 */
    int unverified;
    size_t aad_len;
    size_t iv_len; /* an iv by parameter, for messages */
    const unsigned char *iv;
};

/* The cases that most tests go through, small ones; their number. */
extern const struct stream_case stream_cases[];
extern const size_t stream_case_count;

/* Key bytes 0, 1, 2, ..., associated data likewise from 0x80 on, iv from 0xc0 on. */
extern unsigned char stream_key[64];

/* Chooses the library context that ciphers come from, and fetches them. */
void stream_use(OSSL_LIB_CTX *ctx);
EVP_CIPHER *stream_cipher(const char *name);
/* A filter that is set up, or NULL with a failed check. */
BIO *stream_filter(const struct stream_case *c, int encrypt);
/* Parameters of a case; storage for them. */
struct stream_params {
    OSSL_PARAM list[12];
    struct stream_case c;
    int one;
    size_t zero;
    unsigned char aad[256], iv[64];
};
const OSSL_PARAM *stream_params(struct stream_params *p, const struct stream_case *c, int encrypt);

/* Bytes of text in segment 0, and in the others; for messages of a buffer. */
size_t stream_first_text(const struct stream_case *c);
size_t stream_other_text(const struct stream_case *c);
size_t stream_header_bytes(const struct stream_case *c);

/* Memory as a source or sink. */
struct stream_mem {
    unsigned char *data;
    size_t len, capacity;
    size_t pos;      /* of reading */
    size_t piece;    /* a call moves at most so many bytes; 0: all */
    int block;       /* every other call asks to retry */
    size_t block_at; /* asks to retry once when it gets to this byte, and moves no byte across; 0: never */
    size_t fail_at;  /* fails there; 0: never */
    int seekable;
    int flushes;
    int blocked;
    int libcrypto; /* none of the above: reading is from a BIO_new_mem_buf() */
};
BIO *stream_mem_bio(struct stream_mem *m);

enum stream_side { STREAM_READ, STREAM_WRITE };

/*
 * Moves all of in through the filter, which is freed with the chain. The caller's calls move `piece` bytes (0: all at
 * once). m: how the other end behaves (data is set by this function). out: room of out_capacity, filled with 0xaa
 * beforehand; *out_len: what was released. Retries are repeated. Returns 0 or the reason of the error, checked to be
 * sticky.
 */
int stream_run(BIO *filter, enum stream_side side, struct stream_mem behaviour, size_t piece, unsigned char *out,
               size_t out_capacity, size_t *out_len, const unsigned char *in, size_t in_len);

/* A program of one suite over the ciphers of aesop, with `text` filled by the seed. Returns main's status. */
struct stream_test {
    const char *name; /* NULL ends the list */
    void (*run)(void);
};
int stream_main(int argc, char **argv, const char *suite, const struct stream_test tests[], unsigned char *text,
                size_t text_len);

/* Reason of the newest error of libaesop in the queue, which is emptied; 0: none. */
int stream_error(void);

#endif
