/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast is a cipher with aesop, and how much faster than with default?
 *
 * A message is what a protocol does with a kept key: IV-only init, 13 bytes of associated data, the data, the tag (GCM); IV
 * and data (CBC, padding off). Options: --cipher AES-128-GCM,... --direction encrypt,decrypt --size 16,... --kernel auto,...
 * --place apart|same (buffers), --init iv|key|cipher (what is set anew for each message), --offset BYTES (of out).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>

#include "bench/bench.h"
#include "bench/null_provider.h"

enum init { INIT_IV, INIT_KEY, INIT_CIPHER };

struct message {
    EVP_CIPHER *cipher;
    EVP_CIPHER_CTX *ctx;
    unsigned char *out;
    const unsigned char *in;
    size_t size;
    enum init init;
    int encrypting, aead;
    unsigned char key[32], iv[16], aad[13], tag[16];
};

static void check(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "%s failed\n", what);
        ERR_print_errors_fp(stderr);
        exit(1);
    }
}

static void run_messages(void *arg, size_t count)
{
    struct message *m = arg;
    uint64_t number = 0;
    int len;

    for (size_t i = 0; i < count; i++) {
        const EVP_CIPHER *cipher = m->init == INIT_CIPHER ? m->cipher : NULL;
        const unsigned char *key = m->init == INIT_IV ? NULL : m->key;

        number++;
        memcpy(m->iv, &number, sizeof number);
        check(EVP_CipherInit_ex(m->ctx, cipher, NULL, key, m->iv, m->encrypting), "init");
        if (!m->aead) {
            if (cipher != NULL)
                EVP_CIPHER_CTX_set_padding(m->ctx, 0);
            check(EVP_CipherUpdate(m->ctx, m->out, &len, m->in, (int)m->size), "update");
            continue;
        }
        check(EVP_CipherUpdate(m->ctx, NULL, &len, m->aad, sizeof m->aad), "associated data");
        check(EVP_CipherUpdate(m->ctx, m->out, &len, m->in, (int)m->size), "update");
        if (m->encrypting) {
            check(EVP_CipherFinal_ex(m->ctx, m->out, &len), "final");
            check(EVP_CIPHER_CTX_ctrl(m->ctx, EVP_CTRL_AEAD_GET_TAG, 16, m->tag), "tag");
        } else {
            /* The tag is compared like any other; whether it is right costs nothing. */
            check(EVP_CIPHER_CTX_ctrl(m->ctx, EVP_CTRL_AEAD_SET_TAG, 16, m->tag), "tag");
            EVP_CipherFinal_ex(m->ctx, m->out, &len);
        }
    }
}

static struct message *message_new(OSSL_LIB_CTX *libctx, const char *cipher, size_t size, int encrypting, enum init init)
{
    struct message *m = calloc(1, sizeof *m);

    check(m != NULL, "calloc");
    m->cipher = EVP_CIPHER_fetch(libctx, cipher, NULL);
    m->ctx = EVP_CIPHER_CTX_new();
    check(m->cipher != NULL && m->ctx != NULL, cipher);
    m->size = size;
    m->encrypting = encrypting;
    m->init = init;
    m->aead = EVP_CIPHER_get_mode(m->cipher) == EVP_CIPH_GCM_MODE;
    check(EVP_CipherInit_ex(m->ctx, m->cipher, NULL, m->key, m->iv, encrypting), "init");
    EVP_CIPHER_CTX_set_padding(m->ctx, 0);
    return m;
}

static void message_free(struct message *m)
{
    EVP_CIPHER_CTX_free(m->ctx);
    EVP_CIPHER_free(m->cipher);
    free(m);
}

/* The items of a comma-separated list, one by one; the list is consumed. */
static char *next_item(char **list)
{
    return strsep(list, ",");
}

int main(int argc, char **argv)
{
    bench_init(argc, argv, "cipher throughput through EVP, aesop against default, MB/s");
    char *ciphers = strdup(bench_option("cipher", "AES-128-GCM,AES-256-GCM,AES-128-CBC,AES-256-CBC"));
    const char *directions = bench_option("direction", "encrypt,decrypt"), *init_name = bench_option("init", "iv");
    const char *sizes = bench_option("size", "16,64,256,1024,1350,4096,8192,16384,65536,1048576");
    const char *kernels = bench_option("kernel", "auto");
    const int same_place = strcmp(bench_option("place", "apart"), "same") == 0;
    const size_t offset = strtoul(bench_option("offset", "0"), NULL, 10);
    const enum init init = strcmp(init_name, "key") == 0 ? INIT_KEY : strcmp(init_name, "cipher") == 0 ? INIT_CIPHER : INIT_IV;

    bench_row("cipher\tdirection\tkernel\tbytes\tdefault\taesop\tratio\tdefault_ns\taesop_ns\tevp_ns\tspread%%");
    for (char *cipher; (cipher = next_item(&ciphers)) != NULL;) {
        for (char *d = strdup(directions), *direction; (direction = next_item(&d)) != NULL;) {
            for (char *k = strdup(kernels), *kernel; (kernel = next_item(&k)) != NULL;) {
                OSSL_LIB_CTX *stock = bench_ctx_default(), *ours = bench_ctx_aesop(kernel), *null = null_provider_ctx();

                if (ours == NULL)
                    return 1;
                for (char *s = strdup(sizes), *size_text; (size_text = next_item(&s)) != NULL;) {
                    const size_t size = strtoul(size_text, NULL, 10);
                    const int encrypting = strcmp(direction, "encrypt") == 0;
                    struct message *a = message_new(stock, cipher, size, encrypting, init);
                    struct message *b = message_new(ours, cipher, size, encrypting, init);
                    struct message *c = message_new(null, cipher, size, encrypting, init);
                    unsigned char *in = aligned_alloc(4096, (size + 8191) / 4096 * 4096);
                    unsigned char *out = same_place ? NULL : aligned_alloc(4096, (size + offset + 8191) / 4096 * 4096);

                    check(in != NULL && (same_place || out != NULL), "aligned_alloc");
                    memset(in, 1, size);
                    a->in = b->in = c->in = in;
                    a->out = b->out = c->out = same_place ? in : out + offset;

                    /* The provider that does nothing has AES-128 alone; it shows what EVP costs. */
                    const int with_null = strncmp(cipher, "AES-128", 7) == 0;
                    struct bench_subject subjects[] = {
                        {.name = "default", .run = run_messages, .arg = a},
                        {.name = "aesop", .run = run_messages, .arg = b},
                        {.name = "null", .run = run_messages, .arg = c},
                    };
                    bench_measure(subjects, with_null ? 3 : 2, bench_seconds());
                    bench_row("%s\t%s\t%s\t%zu\t%.0f\t%.0f\t%.2f\t%.1f\t%.1f\t%.1f\t%.1f", cipher, direction, kernel, size,
                              (double)size * 1e3 / subjects[0].median, (double)size * 1e3 / subjects[1].median,
                              subjects[1].ratio, subjects[0].median, subjects[1].median,
                              with_null ? subjects[2].median : NAN,
                              100 * (subjects[1].quartile3 - subjects[1].quartile1) / subjects[1].median);
                    message_free(a);
                    message_free(b);
                    message_free(c);
                    free(in);
                    free(out);
                }
                OSSL_LIB_CTX_free(ours);
                OSSL_LIB_CTX_free(stock);
                OSSL_LIB_CTX_free(null);
            }
        }
    }
    return 0;
}
