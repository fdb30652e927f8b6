/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast is one large payload, in one call and in chunks? From some chunk size on the curve must be flat. memcpy of
 * the same buffers, in the same run, shows what memory allows.
 */
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "bench/bench.h"
#include "bench/ceiling.h"

struct payload {
    EVP_CIPHER *cipher;
    EVP_CIPHER_CTX *ctx;
    unsigned char *out;
    const unsigned char *in;
    size_t size, chunk;
    int encrypting;
};

static void run_payloads(void *arg, size_t count)
{
    const struct payload *p = arg;
    unsigned char iv[16] = { 0 };
    int len;

    for (size_t i = 0; i < count; i++) {
        iv[0]++;
        bench_check(EVP_CipherInit_ex(p->ctx, NULL, NULL, NULL, iv, p->encrypting), "init");
        for (size_t at = 0; at < p->size; at += p->chunk) {
            const size_t left = p->size - at;

            bench_check(
                EVP_CipherUpdate(p->ctx, p->out + at, &len, p->in + at, (int)(left < p->chunk ? left : p->chunk)),
                "update");
        }
        /* Decryption of GCM fails here: there is no tag to compare with, which costs nothing. */
        EVP_CipherFinal_ex(p->ctx, p->out, &len);
    }
}

static void run_memcpy(void *arg, size_t count)
{
    const struct payload *p = arg;

    for (size_t i = 0; i < count; i++) {
        memcpy(p->out, p->in, p->size);
        __asm__ volatile("" ::: "memory");
    }
}

static void payload_open(struct payload *p, OSSL_LIB_CTX *libctx, const char *cipher, int encrypting)
{
    static const unsigned char key[32];

    p->encrypting = encrypting;
    p->cipher = EVP_CIPHER_fetch(libctx, cipher, NULL);
    p->ctx = EVP_CIPHER_CTX_new();
    bench_check(p->cipher != NULL && EVP_CipherInit_ex(p->ctx, p->cipher, NULL, key, NULL, encrypting), cipher);
    EVP_CIPHER_CTX_set_padding(p->ctx, 0);
}

static void payload_close(struct payload *p)
{
    EVP_CIPHER_CTX_free(p->ctx);
    EVP_CIPHER_free(p->cipher);
}

/*
 * stock and ours are open; the copy is of the same bytes. It has a turn of its own: between the two it would leave the
 * caches as neither of them does.
 */
static void row(const char *cipher, struct payload *stock, struct payload *ours, double ceiling, size_t chunk)
{
    struct bench_subject subjects[] = {
        { .run = run_payloads, .arg = stock },
        { .run = run_payloads, .arg = ours },
    };
    struct bench_subject copy = { .run = run_memcpy, .arg = ours };
    const double size = (double)ours->size;
    char name[24] = "whole";

    stock->chunk = ours->chunk = chunk == 0 ? ours->size : chunk;
    if (chunk != 0)
        snprintf(name, sizeof name, "%zu", chunk);
    bench_measure(subjects, 2, bench_seconds());
    bench_measure(&copy, 1, bench_seconds() / 2);

    const double gb = size / subjects[1].median;
    bench_row("%s\t%s\t%s\t%.1f\t%.1f\t%.2f\t%.2f\t%.2f\t%.0f\t%.2f\t%.1f", cipher,
              ours->encrypting ? "encrypt" : "decrypt", name, 1e9 / subjects[0].median, 1e9 / subjects[1].median,
              subjects[1].ratio, size / subjects[0].median, gb, 100 * gb / ceiling, size / copy.median,
              bench_spread(&subjects[1]));
}

int main(int argc, char **argv)
{
    static const struct bench_option options[] = {
        { "cipher", "AES-128-GCM,AES-256-GCM,AES-128-CBC,AES-256-CBC", .words = BENCH_CIPHERS, .list = 1 },
        { "direction", BENCH_DIRECTIONS, .words = BENCH_DIRECTIONS, .list = 1 },
        { "size", "30000000", "bytes of the payload", .least = 1, .most = BENCH_MAX_BYTES },
        { "chunk", "0,512,1024,4096,16384,65536,262144,1048576,8388608", "bytes in a call; 0 is all",
          .most = BENCH_MAX_BYTES, .list = 1 },
        { .name = NULL },
    };

    bench_init(argc, argv, "How fast is one large payload, in one call and in chunks?", options);
    const struct bench_list *ciphers = bench_list("cipher"), *directions = bench_list("direction");
    const struct bench_list *chunks = bench_list("chunk");
    const size_t size = bench_number("size");
    OSSL_LIB_CTX *default_ctx = bench_ctx_default(), *aesop_ctx = bench_ctx_aesop("auto");
    unsigned char *in = bench_alloc(size), *out = bench_alloc(size);

    printf("# payloads of %zu bytes\n", size);
    bench_row(
        "cipher\tdirection\tchunk\tdefault_op/s\taesop_op/s\tratio\tdefault_GB/s\taesop_GB/s\tshare%%\tmemcpy_GB/s"
        "\tspread%%");
    for (size_t pair = 0; pair < ciphers->count * directions->count; pair++) {
        const char *cipher = ciphers->items[pair / directions->count];
        const int encrypting = strcmp(directions->items[pair % directions->count], "encrypt") == 0;
        const double ceiling = ceiling_of(cipher, "auto", encrypting);
        struct payload stock = { .in = in, .out = out, .size = bench_text_bytes(cipher, size) }, ours = stock;

        payload_open(&stock, default_ctx, cipher, encrypting);
        payload_open(&ours, aesop_ctx, cipher, encrypting);
        for (size_t i = 0; i < chunks->count; i++)
            row(cipher, &stock, &ours, ceiling, chunks->numbers[i]);
        payload_close(&stock);
        payload_close(&ours);
    }
    free(in);
    free(out);
    OSSL_LIB_CTX_free(aesop_ctx);
    OSSL_LIB_CTX_free(default_ctx);
    return 0;
}
