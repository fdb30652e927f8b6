/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much faster are TLS records? A client writes records, a server in the same thread reads them, through memory:
 * what one core encrypts, authenticates, decrypts and verifies, with all that libssl does around it. No kernel TLS.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/ceiling.h"
#include "test/tls_pair.h"

enum side { DEFAULT, AESOP, SIDES };

struct connection {
    SSL_CTX *client, *server;
    struct tls_pair pair;
    unsigned char *out;
    const unsigned char *in;
    size_t size;
};

static void run_records(void *arg, size_t count)
{
    struct connection *c = arg;

    for (size_t i = 0; i < count; i++)
        bench_check(tls_transfer(c->pair.client, c->pair.server, c->out, c->in, c->size), "record");
}

static void connection_open(struct connection *c, OSSL_LIB_CTX *libctx, const struct tls_settings *settings,
                            const struct tls_identity *identity)
{
    c->client = tls_context(libctx, settings, NULL);
    c->server = tls_context(libctx, settings, identity);
    bench_check(c->client != NULL && c->server != NULL, settings->suite->name);
    bench_check(tls_pair_open(&c->pair, c->client, c->server, NULL), settings->suite->name);
}

static void connection_close(struct connection *c)
{
    tls_pair_close(&c->pair);
    SSL_CTX_free(c->client);
    SSL_CTX_free(c->server);
}

/*
 * TLS 1.2 and 1.3, and of the suites with CBC those that libssl gives to a CBC cipher: with HMAC-SHA1 and no
 * encrypt-then-MAC it takes default's combined implementation.
 */
static int is_measured(const struct tls_settings *s)
{
    return (s->version == TLS1_2_VERSION || s->version == TLS1_3_VERSION) && (s->suite->mac == NULL || s->etm);
}

static void row(const struct tls_settings *settings, struct connection connections[SIDES], double ceiling, size_t size)
{
    struct bench_subject subjects[SIDES];

    for (int i = 0; i < SIDES; i++) {
        connections[i].size = size;
        subjects[i] = (struct bench_subject){ .run = run_records, .arg = &connections[i] };
    }
    bench_measure(subjects, SIDES, bench_seconds());

    const double gb = (double)size / subjects[AESOP].median;
    bench_row("%s\t%s\t%s\t%zu\t%.3f\t%.3f\t%.2f\t%.0f\t%.1f", tls_version_name(settings->version),
              settings->suite->cipher, settings->suite->mac != NULL ? settings->suite->mac : "-", size,
              (double)size / subjects[DEFAULT].median, gb, subjects[AESOP].ratio, 100 * gb / ceiling,
              bench_spread(&subjects[AESOP]));
}

int main(int argc, char **argv)
{
    static const struct bench_option options[] = {
        { "size", "1400,16384", "bytes in a record", .least = 1, .most = SSL3_RT_MAX_PLAIN_LENGTH, .list = 1 },
        { .name = NULL },
    };

    bench_init(argc, argv, "How many GB/s of TLS records does one core write and read?", options);
    const struct bench_list *sizes = bench_list("size");
    OSSL_LIB_CTX *libctx[SIDES] = { bench_ctx_default(), bench_ctx_aesop("auto") };
    unsigned char *in = bench_alloc(SSL3_RT_MAX_PLAIN_LENGTH), *out = bench_alloc(SSL3_RT_MAX_PLAIN_LENGTH);
    struct tls_identity identity;

    bench_check(tls_identity_make(&identity, libctx[DEFAULT]), "certificate");
    bench_row("version\tcipher\tmac\tbytes\tdefault_GB/s\taesop_GB/s\tratio\tshare%%\tspread%%");
    for (size_t i = 0; i < tls_table_len; i++) {
        const struct tls_settings *settings = &tls_table[i];
        struct connection connections[SIDES] = { { .in = in, .out = out }, { .in = in, .out = out } };

        if (!is_measured(settings))
            continue;
        for (int side = 0; side < SIDES; side++)
            connection_open(&connections[side], libctx[side], settings, &identity);
        /* Each byte is encrypted and decrypted. */
        const double ceiling = 1 / (1 / ceiling_of(settings->suite->cipher, "auto", 1) +
                                    1 / ceiling_of(settings->suite->cipher, "auto", 0));
        for (size_t s = 0; s < sizes->count; s++)
            row(settings, connections, ceiling, sizes->numbers[s]);
        for (int side = 0; side < SIDES; side++)
            connection_close(&connections[side]);
    }
    tls_identity_free(&identity);
    free(in);
    free(out);
    for (int side = 0; side < SIDES; side++)
        OSSL_LIB_CTX_free(libctx[side]);
    return 0;
}
