/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What does the AEAD filter cost beside one EVP call over the same bytes?
 *
 * An operation is one stream: started anew, moved through the filter in the caller's pieces of `buffer` bytes, ended.
 * Write side: into the null BIO. Read side: out of a memory BIO that is rewound.
 *
 *     evp      the plain calls: IV-only init, the data in one update, final, tag; key kept; room for the header
 *     evp+bio  the same with what the filter's neighbours do to it: one BIO_write of the result, or one BIO_read
 *     filter   the AEAD filter
 *
 * A segmented stream that is encrypted has a salt of its own, hence a new key: HKDF, key schedule and powers of H
 * are in its figures and not in those of evp; --salt-streams shares them. A reader that meets the same salt again keeps
 * the key. A message that is read in pieces has to be copied, since it waits for its tag.
 */
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include <aesop/stream.h>

#include "bench/bench.h"
#include "bench/ceiling.h"

static unsigned long allocations;

static void *count_malloc(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    allocations++;
    return malloc(size);
}

static void *count_realloc(void *p, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    allocations++;
    return realloc(p, size);
}

static void count_free(void *p, const char *file, int line)
{
    (void)file;
    (void)line;
    free(p);
}

struct operation {
    const char *format, *direction, *side;
    EVP_CIPHER *cipher;
    size_t size, piece;
    double ceiling; /* GB/s */
    size_t header;  /* bytes in front of the ciphertext: evp has it at the same place in its cache lines */
    int encrypt, read_side;
    unsigned char key[32], iv[12], tag[16];
    EVP_CIPHER_CTX *ctx;
    BIO *filter, *end;       /* end: the null BIO or the memory */
    BIO *evp_end;            /* the same for evp+bio */
    const unsigned char *in; /* what the filter takes */
    size_t in_len;
    unsigned char *out_memory, *evp_memory, *evp_mid_memory, *out, *evp_in, *evp_mid;
};

static void evp(struct operation *o, const unsigned char *in)
{
    unsigned char *to = o->encrypt ? o->out + o->header : o->out;
    int n;

    o->iv[0]++;
    if (!o->encrypt)
        o->iv[0] = 0;
    bench_check(EVP_CipherInit_ex(o->ctx, NULL, NULL, NULL, o->iv, -1) &&
                    (o->encrypt || EVP_CIPHER_CTX_ctrl(o->ctx, EVP_CTRL_AEAD_SET_TAG, 16, o->tag) > 0) &&
                    EVP_CipherUpdate(o->ctx, to, &n, in, (int)o->size) && EVP_CipherFinal_ex(o->ctx, to + n, &n) > 0 &&
                    (!o->encrypt || EVP_CIPHER_CTX_ctrl(o->ctx, EVP_CTRL_AEAD_GET_TAG, 16, o->tag) > 0),
                "EVP");
}

static void run_evp(void *arg, size_t count)
{
    struct operation *o = arg;

    while (count-- > 0)
        evp(o, o->evp_in);
}

static void run_evp_bio(void *arg, size_t count)
{
    struct operation *o = arg;

    while (count-- > 0) {
        if (o->read_side) {
            BIO_reset(o->evp_end);
            bench_check(BIO_read(o->evp_end, o->evp_mid, (int)o->size) == (int)o->size, "BIO_read");
            evp(o, o->evp_mid);
        } else {
            evp(o, o->evp_in);
            bench_check(BIO_write(o->evp_end, o->out, (int)o->size) == (int)o->size, "BIO_write");
        }
    }
}

static void run_filter(void *arg, size_t count)
{
    struct operation *o = arg;

    while (count-- > 0) {
        size_t n, done = 0;

        bench_check(AESOP_BIO_rekey(o->filter, NULL, 0, NULL), "new stream");
        if (o->read_side) {
            BIO_reset(o->end);
            while (BIO_read_ex(o->filter, o->out + done, o->piece, &n))
                done += n;
            bench_check(BIO_eof(o->filter) && done >= o->size, "read");
        } else {
            for (; done < o->in_len; done += n) {
                n = o->in_len - done < o->piece ? o->in_len - done : o->piece;
                bench_check(BIO_write_ex(o->filter, o->in + done, n, &n), "write");
            }
            bench_check(BIO_flush(o->filter) > 0, "flush");
        }
    }
}

static BIO *make_filter(const struct operation *o, int encrypt)
{
    size_t segment = bench_number("segment"), buffer = bench_number("filter-buffer");
    size_t streams = bench_number("salt-streams");
    const OSSL_PARAM params[] = { OSSL_PARAM_construct_utf8_string(AESOP_STREAM_PARAM_FORMAT, (char *)o->format, 0),
                                  OSSL_PARAM_construct_size_t(AESOP_STREAM_PARAM_SEGMENT_SIZE, &segment),
                                  OSSL_PARAM_construct_size_t(AESOP_STREAM_PARAM_BUFFER_SIZE, &buffer),
                                  OSSL_PARAM_construct_size_t(AESOP_STREAM_PARAM_SALT_STREAMS, &streams),
                                  OSSL_PARAM_construct_end() };
    BIO *b = BIO_new(AESOP_BIO_f_aead());

    bench_check(AESOP_BIO_set_aead(b, o->cipher, o->key, (size_t)EVP_CIPHER_get_key_length(o->cipher), encrypt, params),
                "set-up");
    return b;
}

/* A row of the table. */
static void measure(struct operation *o)
{
    struct bench_subject subjects[] = { { .run = run_evp, .arg = o },
                                        { .run = run_evp_bio, .arg = o },
                                        { .run = run_filter, .arg = o } };
    unsigned char *text = bench_alloc(o->size);
    BIO *made = BIO_new(BIO_s_mem()), *writer;
    unsigned long before;
    char *stream;
    long stream_len;

    o->encrypt = strcmp(o->direction, "encrypt") == 0;
    o->read_side = strcmp(o->side, "read") == 0;
    writer = BIO_push(make_filter(o, 1), made);
    bench_check(BIO_write(writer, text, (int)o->size) == (int)o->size && BIO_flush(writer) == 1, "a stream to decrypt");
    stream_len = BIO_get_mem_data(made, &stream);

    o->in = o->encrypt ? text : (unsigned char *)stream;
    o->in_len = o->encrypt ? o->size : (size_t)stream_len;
    /* Not where stores meet the loads that follow them in their pages (bench_place): that is the kernels' question. */
    o->out_memory = bench_alloc(o->size + (size_t)stream_len + o->piece + 2048);
    o->out = o->out_memory + 2048;
    o->header = o->format[0] == 'm' ? 12 : 8 + (size_t)EVP_CIPHER_get_key_length(o->cipher);
    o->evp_memory = bench_alloc(o->size + o->header);
    o->evp_mid_memory = bench_alloc(o->size + o->header);
    o->evp_in = o->evp_memory + (o->encrypt ? 0 : o->header);
    o->evp_mid = o->evp_mid_memory + (o->encrypt ? 0 : o->header);
    o->end = o->read_side ? BIO_new_mem_buf(o->in, (int)o->in_len) : BIO_new(BIO_s_null());
    o->evp_end = o->read_side ? BIO_new_mem_buf(o->evp_in, (int)o->size) : BIO_new(BIO_s_null());
    o->filter = BIO_push(make_filter(o, o->encrypt), o->end);
    o->ctx = EVP_CIPHER_CTX_new();
    bench_check(EVP_CipherInit_ex(o->ctx, o->cipher, NULL, o->key, o->iv, 1), "EVP");
    if (!o->encrypt) {
        /* What evp decrypts. */
        o->encrypt = 1;
        o->iv[0] = 0xff;
        evp(o, text);
        memcpy(o->evp_in, o->out + o->header, o->size);
        o->encrypt = 0;
        bench_check(EVP_CipherInit_ex(o->ctx, o->cipher, NULL, o->key, o->iv, 0), "EVP");
    }

    before = allocations;
    run_filter(o, 10);
    before = allocations - before;
    bench_measure(subjects, 3, bench_seconds());

    const double bytes = (double)o->size, gb = bytes / subjects[2].median;
    bench_row("%zu\t%zu\t%s\t%s\t%s\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.0f\t%.1f\t%.1f", o->size, o->piece,
              o->format, o->direction, o->side, 1e9 / subjects[2].median, gb, bytes / subjects[0].median,
              bytes / subjects[1].median, subjects[2].ratio, subjects[2].ratio / subjects[1].ratio,
              100 * gb / o->ceiling, bench_spread(&subjects[2]), (double)before / 10);

    EVP_CIPHER_CTX_free(o->ctx);
    BIO_free_all(o->filter);
    BIO_free_all(writer);
    BIO_free(o->evp_end);
    free(o->out_memory);
    free(o->evp_memory);
    free(o->evp_mid_memory);
    free(text);
}

int main(int argc, char **argv)
{
    static const struct bench_option options[] = {
        { "cipher", "AES-128-GCM", .words = "AES-128-GCM,AES-192-GCM,AES-256-GCM" },
        { "size", "16384,1048576", "bytes of text in a stream", .least = 1, .most = BENCH_MAX_BYTES, .list = 1 },
        { "buffer", "128,512,2048,8192,32768,131072,1048576", "bytes of the caller's", .least = 1,
          .most = BENCH_MAX_BYTES, .list = 1 },
        { "format", "segmented,message", .words = "segmented,message", .list = 1 },
        { "direction", BENCH_DIRECTIONS, .words = BENCH_DIRECTIONS, .list = 1 },
        { "side", "write,read", .words = "write,read", .list = 1 },
        { "segment", "65536", "bytes, with the tag", .least = 57, .most = BENCH_MAX_BYTES },
        { "filter-buffer", "65536", "bytes of the filter's own", .least = 64, .most = BENCH_MAX_BYTES },
        { "salt-streams", "1", "how many share a salt", .least = 1, .most = 65536 },
        { "provider", "aesop", .words = "aesop,default" },
        { .name = NULL },
    };

    /* Before anything allocates. The provider's memory comes from libcrypto as well. */
    bench_check(CRYPTO_set_mem_functions(count_malloc, count_realloc, count_free), "counting allocations");
    bench_init(argc, argv, "What does the AEAD filter cost beside one EVP call over the same bytes?", options);
    const struct bench_list *sizes = bench_list("size"), *buffers = bench_list("buffer");
    const struct bench_list *formats = bench_list("format"), *directions = bench_list("direction");
    const struct bench_list *sides = bench_list("side");
    OSSL_LIB_CTX *ctx = strcmp(bench_text("provider"), "default") == 0 ? bench_ctx_default() : bench_ctx_aesop("auto");
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(ctx, bench_text("cipher"), NULL);

    const double ceiling = ceiling_of(bench_text("cipher"), "auto", 1);

    bench_check(cipher != NULL, bench_text("cipher"));

    bench_row("size\tbuffer\tformat\tdirection\tside\tops/s\tGB/s\tevp "
              "GB/s\tevp+bio\t/evp\t/evp+bio\tshare%%\tspread%%\tallocs/op");
    for (size_t s = 0; s < sizes->count; s++)
        for (size_t f = 0; f < formats->count; f++)
            for (size_t d = 0; d < directions->count; d++)
                for (size_t e = 0; e < sides->count; e++)
                    for (size_t b = 0; b < buffers->count; b++)
                        measure(&(struct operation){ .cipher = cipher,
                                                     .size = sizes->numbers[s],
                                                     .ceiling = ceiling,
                                                     .piece = buffers->numbers[b],
                                                     .format = formats->items[f],
                                                     .direction = directions->items[d],
                                                     .side = sides->items[e] });
    EVP_CIPHER_free(cipher);
    OSSL_LIB_CTX_free(ctx);
    return 0;
}
