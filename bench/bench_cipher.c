/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast is a cipher with aesop, and how much faster than with default?
 *
 * A message is what a protocol does with a kept key: IV-only init, 13 bytes of associated data, the data, the tag
 * (GCM); IV and data (CBC, padding off).
 *
 * Options: --cipher AES-128-GCM,... --direction encrypt,decrypt --size 16,... --kernel auto,aesni,...
 * --place apart|same (out and in), --init iv|key|cipher (what is set anew for each message), --offset BYTES (of out in
 * its page).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "bench/bench.h"
#include "bench/ceiling.h"
#include "bench/null_provider.h"

enum init { INIT_IV, INIT_KEY, INIT_CIPHER };
static const char *const init_names[] = { "iv", "key", "cipher" };

enum place { PLACE_APART, PLACE_SAME };
static const char *const place_names[] = { "apart", "same" };

/* Who serves: default is what the others are compared with. */
enum subject { DEFAULT, AESOP, NOBODY, SUBJECTS };

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

/* What stays the same from row to row. */
struct setting {
    OSSL_LIB_CTX *ctx[SUBJECTS];
    const char *cipher, *kernel;
    int encrypting;
    enum init init;
    enum place place;
    size_t offset;
    double ceiling; /* GB/s */
};

static void run_messages(void *arg, size_t count)
{
    struct message *m = arg;
    const EVP_CIPHER *cipher = m->init == INIT_CIPHER ? m->cipher : NULL;
    const unsigned char *key = m->init == INIT_IV ? NULL : m->key;
    int len;

    for (uint64_t number = 1; number <= count; number++) {
        memcpy(m->iv, &number, sizeof number);
        bench_check(EVP_CipherInit_ex(m->ctx, cipher, NULL, key, m->iv, m->encrypting), "init");
        if (!m->aead) {
            if (cipher != NULL)
                EVP_CIPHER_CTX_set_padding(m->ctx, 0);
            bench_check(EVP_CipherUpdate(m->ctx, m->out, &len, m->in, (int)m->size), "update");
            continue;
        }
        bench_check(EVP_CipherUpdate(m->ctx, NULL, &len, m->aad, sizeof m->aad), "associated data");
        bench_check(EVP_CipherUpdate(m->ctx, m->out, &len, m->in, (int)m->size), "update");
        if (m->encrypting) {
            bench_check(EVP_CipherFinal_ex(m->ctx, m->out, &len), "final");
            bench_check(EVP_CIPHER_CTX_ctrl(m->ctx, EVP_CTRL_AEAD_GET_TAG, 16, m->tag), "tag");
        } else {
            /* The tag is compared like any other; whether it is right costs nothing. */
            bench_check(EVP_CIPHER_CTX_ctrl(m->ctx, EVP_CTRL_AEAD_SET_TAG, 16, m->tag), "tag");
            EVP_CipherFinal_ex(m->ctx, m->out, &len);
        }
    }
}

static void message_open(struct message *m, OSSL_LIB_CTX *libctx, const struct setting *s, size_t size)
{
    *m = (struct message){ .size = size, .encrypting = s->encrypting, .init = s->init };
    m->cipher = EVP_CIPHER_fetch(libctx, s->cipher, NULL);
    m->ctx = EVP_CIPHER_CTX_new();
    bench_check(m->cipher != NULL && m->ctx != NULL, s->cipher);
    m->aead = EVP_CIPHER_get_mode(m->cipher) == EVP_CIPH_GCM_MODE;
    bench_check(EVP_CipherInit_ex(m->ctx, m->cipher, NULL, m->key, m->iv, m->encrypting), "init");
    EVP_CIPHER_CTX_set_padding(m->ctx, 0);
}

static void message_close(struct message *m)
{
    EVP_CIPHER_CTX_free(m->ctx);
    EVP_CIPHER_free(m->cipher);
}

static void heading(void)
{
    bench_row(
        "cipher\tdirection\tkernel\tbytes\tdefault_MB/s\taesop_MB/s\tratio\tceiling\tshare%%\tdefault_ns\taesop_ns"
        "\tevp_ns\tspread%%");
}

/*
 * Where a context happens to lie moves a small message by up to 5 ns, against the buffers and the other context: they
 * are opened anew at PLACES places, and the medians over these count.
 */
enum { PLACES = 5, PLACE_STEP_BYTES = 1232, FEW_BYTES = 65536 };

struct figures {
    double ns[SUBJECTS], ratio, spread;
};

static struct figures measure_at(const struct setting *s, size_t size, unsigned char *out, const unsigned char *in,
                                 size_t count, size_t place, double seconds)
{
    struct message messages[SUBJECTS];
    struct bench_subject subjects[SUBJECTS];
    void *gaps[SUBJECTS];
    struct figures figures = { .ns = { NAN, NAN, NAN } };

    for (size_t i = 0; i < count; i++) {
        gaps[i] = malloc(1 + (i + 1) * place * PLACE_STEP_BYTES);
        message_open(&messages[i], s->ctx[i], s, size);
        messages[i].in = in;
        messages[i].out = out;
        subjects[i] = (struct bench_subject){ .run = run_messages, .arg = &messages[i] };
    }
    bench_measure(subjects, count, seconds);
    for (size_t i = 0; i < count; i++) {
        figures.ns[i] = subjects[i].median;
        message_close(&messages[i]);
        free(gaps[i]);
    }
    figures.ratio = subjects[AESOP].ratio;
    figures.spread = bench_spread(&subjects[AESOP]);
    return figures;
}

static struct figures measure(const struct setting *s, size_t size, size_t count)
{
    unsigned char *in = bench_alloc(size), *out = bench_alloc(size + s->offset);
    const size_t places = size <= FEW_BYTES ? PLACES : 1;
    double ns[SUBJECTS][PLACES], ratios[PLACES], spreads[PLACES];
    struct figures figures;

    for (size_t place = 0; place < places; place++) {
        figures = measure_at(s, size, s->place == PLACE_SAME ? in : out + s->offset, in, count, place,
                             bench_seconds() / (double)places);
        for (size_t i = 0; i < SUBJECTS; i++)
            ns[i][place] = figures.ns[i];
        ratios[place] = figures.ratio;
        spreads[place] = figures.spread;
    }
    for (size_t i = 0; i < count; i++)
        figures.ns[i] = bench_median(ns[i], places);
    figures.ratio = bench_median(ratios, places);
    figures.spread = bench_median(spreads, places);
    free(in);
    free(out);
    return figures;
}

static void row(const struct setting *s, size_t size)
{
    /* The provider that does nothing, which shows what EVP costs, does nothing for AES-128 alone. */
    const size_t count = strncmp(s->cipher, "AES-128", 7) == 0 ? SUBJECTS : NOBODY;
    const struct figures figures = measure(s, size, count);
    const double *ns = figures.ns;

    bench_row("%s\t%s\t%s\t%zu\t%.0f\t%.0f\t%.2f\t%.0f\t%.0f\t%.1f\t%.1f\t%.1f\t%.1f", s->cipher,
              s->encrypting ? "encrypt" : "decrypt", s->kernel, size, (double)size * 1e3 / ns[DEFAULT],
              (double)size * 1e3 / ns[AESOP], figures.ratio, s->ceiling * 1e3,
              100 * (double)size / ns[AESOP] / s->ceiling, ns[DEFAULT], ns[AESOP], ns[NOBODY], figures.spread);
}

int main(int argc, char **argv)
{
    bench_init(argc, argv, "How fast is a cipher through EVP with aesop, and with default?");
    const struct bench_list ciphers = bench_option_list("cipher", "AES-128-GCM,AES-256-GCM,AES-128-CBC,AES-256-CBC");
    const struct bench_list directions = bench_option_list("direction", "encrypt,decrypt");
    const struct bench_list kernels = bench_option_list("kernel", "auto");
    const struct bench_list sizes =
        bench_option_list("size", "16,64,256,1024,1350,4096,8192,16384,65536,1048576,16777216,67108864");
    struct setting s = {
        .init = (enum init)bench_option_choice("init", init_names, 3),
        .place = (enum place)bench_option_choice("place", place_names, 2),
        .offset = strtoul(bench_option("offset", "0"), NULL, 10),
        .ctx = { [DEFAULT] = bench_ctx_default(), [NOBODY] = null_provider_ctx() },
    };

    heading();
    for (size_t k = 0; k < kernels.count; k++) {
        s.kernel = kernels.items[k];
        if (ceiling_loops_of(s.kernel) == NULL) {
            printf("# %s: not on this CPU\n", s.kernel);
            continue;
        }
        s.ctx[AESOP] = bench_ctx_aesop(s.kernel);
        bench_check(s.ctx[AESOP] != NULL, "aesop");
        for (size_t pair = 0; pair < ciphers.count * directions.count; pair++) {
            s.cipher = ciphers.items[pair / directions.count];
            s.encrypting = strcmp(directions.items[pair % directions.count], "encrypt") == 0;
            s.ceiling = ceiling_of_direction(s.cipher, s.kernel, s.encrypting);
            for (size_t i = 0; i < sizes.count; i++) {
                const size_t size = strtoul(sizes.items[i], NULL, 10);

                row(&s, strstr(s.cipher, "CBC") != NULL ? size / 16 * 16 : size);
            }
        }
        OSSL_LIB_CTX_free(s.ctx[AESOP]);
    }
    OSSL_LIB_CTX_free(s.ctx[DEFAULT]);
    OSSL_LIB_CTX_free(s.ctx[NOBODY]);
    return 0;
}
