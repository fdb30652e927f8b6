/* SPDX-License-Identifier: Apache-2.0 */
/* seal, open and verify: what they share is the larger part. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/provider.h>
#include <openssl/rand.h>

#include <aesop/stream.h>

#include "cli/cli.h"
#include "cli/served.h"
#include "cli/work.h"

enum { DEFAULT_LOG_N = 17, DEFAULT_R = 8, DEFAULT_P = 1 };

static size_t processors(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;

    return n > 0 ? (size_t)n : 1;
}

/* --- what the command line, or the header, says about the format -------------------------------------------------- */

static int header_from_options(struct cli_header *h, const struct cli_options *o)
{
    *h = (struct cli_header){
        .cipher = cli_cipher_find(o->cipher),
        .message = o->message,
        .segment_bytes = o->message             ? 0
                         : o->segment_bytes > 0 ? o->segment_bytes
                                                : AESOP_STREAM_DEFAULT_SEGMENT,
    };
    if (h->cipher == NULL)
        return CLI_USAGE;
    if (o->message && o->segment_bytes > 0)
        return cli_fail(CLI_USAGE, "--segment-size: a message has no segments");
    if (o->raw && o->key_file == NULL)
        return cli_fail(CLI_USAGE, "--raw needs a key file: there is no header for a passphrase's salt");
    if (o->key_file != NULL && (o->pass != NULL || o->work_factor > 0))
        return cli_fail(CLI_USAGE, "--%s: there is a key file already", o->pass != NULL ? "pass" : "work-factor");
    return CLI_OK;
}

static int choose_scrypt(struct cli_header *h, const struct cli_options *o)
{
    h->kdf = CLI_KDF_SCRYPT;
    h->log_n = o->work_factor > 0 ? (uint8_t)o->work_factor : DEFAULT_LOG_N;
    h->r = DEFAULT_R;
    h->p = DEFAULT_P;
    if (RAND_bytes(h->salt, sizeof h->salt) != 1)
        return cli_fail_crypto(CLI_SYSTEM, "no random bytes");
    return CLI_OK;
}

/* Takes the header out of the input. */
static int read_header(struct cli_header *h, uint8_t encoded[CLI_HEADER_BYTES], struct cli_input *input,
                       const struct cli_options *o)
{
    const ssize_t n = cli_read_full(input->fd, encoded, CLI_HEADER_BYTES);
    const char *wrong;

    if (n < 0)
        return cli_fail(CLI_SYSTEM, "%s: %s", input->name, strerror(errno));
    if (n < CLI_HEADER_BYTES)
        return cli_fail(CLI_NOT_AUTHENTIC, "%s: the input ends at byte %lld, within the header: the rest is missing",
                        input->name, (long long)(input->at + n));
    wrong = cli_header_decode(h, encoded);
    if (wrong != NULL)
        return cli_fail(CLI_NOT_AUTHENTIC, "%s: %s", input->name, wrong);
    input->at += CLI_HEADER_BYTES;
    if (h->kdf == CLI_KDF_NONE && o->key_file == NULL)
        return cli_fail(CLI_USAGE, "%s: sealed with a key file, not a passphrase; see --key", input->name);
    if (h->kdf == CLI_KDF_SCRYPT && o->key_file != NULL)
        return cli_fail(CLI_USAGE, "%s: sealed with a passphrase, not a key file; see --pass", input->name);
    return CLI_OK;
}

/* passphrase: empty where the terminal is to be asked. */
static int obtain_key(struct cli_key *key, char passphrase[CLI_MAX_PASSPHRASE_BYTES], const struct cli_header *h,
                      const struct cli_options *o, const struct cli_work *work)
{
    int status = CLI_OK;

    if (o->key_file == NULL) {
        if (passphrase[0] == '\0')
            status = cli_passphrase_read(passphrase, NULL, work->encrypt);
        return status == CLI_OK ? cli_key_derive(key, work->resolver, passphrase, h) : status;
    }
    status = cli_key_read(key, o->key_file, o->quiet);
    /* Segments have keys derived from a longer one; a message has this one. */
    if (status == CLI_OK && (h->message ? key->len != h->cipher->key_bytes : key->len < h->cipher->key_bytes))
        status = cli_fail(CLI_USAGE, "key file %s: %zu bytes, where %s needs %zu%s", o->key_file, key->len,
                          h->cipher->name, h->cipher->key_bytes, h->message ? "" : " or more");
    return status;
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

static void tell_result(struct cli_work *work, const struct cli_options *o)
{
    const double seconds = cli_progress_stop(&work->progress);
    char done[16], rate[16];

    if (!o->verbose)
        return;
    cli_bytes_text(done, (double)work->progress.done);
    cli_bytes_text(rate, seconds > 0 ? (double)work->progress.done / seconds : 0);
    fprintf(stderr, "aesop: %s in %.2f s, %s/s, %llu segments\n", done, seconds, rate,
            (unsigned long long)work->segments);
}

static int run_work(struct cli_work *work, const struct cli_options *o, const struct cli_header *h)
{
    const EVP_CIPHER *cipher = AESOP_RESOLVER_get0_cipher(work->resolver, h->cipher->name, NULL);
    const int parallel = cli_work_is_parallel(work);
    int status;

    if (cipher == NULL)
        return cli_fail_crypto(CLI_SYSTEM, "no provider serves %s; \"aesop doctor\" looks into that", h->cipher->name);
    work->cipher = cipher;
    work->threads = !parallel ? 1 : o->threads > 0 ? o->threads : processors();
    if (o->verbose) {
        const OSSL_PROVIDER *provider = EVP_CIPHER_get0_provider(cipher);
        const char *kernel = cli_provider_kernel(provider);

        fprintf(stderr, "aesop: %s is served by the provider %s%s%s; threads: %zu\n", h->cipher->name,
                OSSL_PROVIDER_get0_name(provider), kernel != NULL ? ", kernel " : "", kernel != NULL ? kernel : "",
                work->threads);
    }
    cli_progress_start(&work->progress, work->input->size > 0 ? (uint64_t)(work->input->size - work->input->at) : 0,
                       o->quiet);
    status = parallel ? cli_work_in_parallel(work) : cli_work_sequentially(work);
    tell_result(work, o);
    return status;
}

enum job { JOB_SEAL, JOB_OPEN, JOB_VERIFY };

static int check_format_options(const struct cli_options *o)
{
    if (!o->raw && (o->cipher != NULL || o->message || o->segment_bytes > 0))
        return cli_fail(CLI_USAGE, "--%s: the header says that; it is only needed with --raw",
                        o->cipher != NULL ? "cipher"
                        : o->message      ? "message"
                                          : "segment-size");
    return CLI_OK;
}

/* Header, associated data, key, in that order: nobody is asked for a passphrase before the input is known as ours. */
static int prepare(struct cli_work *work, struct cli_header *h, struct cli_key *key, char *passphrase, uint8_t **aad,
                   const struct cli_options *o)
{
    const size_t header_bytes = o->raw ? 0 : CLI_HEADER_BYTES, text = o->aad != NULL ? strlen(o->aad) : 0;
    int status = CLI_OK;

    *aad = OPENSSL_zalloc(header_bytes + text + 1);
    if (*aad == NULL)
        return cli_fail(CLI_SYSTEM, "out of memory");
    if (!work->encrypt && !o->raw)
        status = read_header(h, *aad, work->input, o);
    else if (o->key_file == NULL)
        status = choose_scrypt(h, o);
    if (status == CLI_OK)
        status = obtain_key(key, passphrase, h, o, work);
    if (status != CLI_OK)
        return status;
    if (work->encrypt && !o->raw)
        cli_header_encode(*aad, h);
    if (text > 0)
        memcpy(*aad + header_bytes, o->aad, text);
    work->message = h->message;
    work->segment_bytes = h->segment_bytes;
    work->key = key;
    work->aad = *aad;
    work->aad_len = header_bytes + text;
    if (work->encrypt && !o->raw)
        status = cli_output_write(work->output, *aad, CLI_HEADER_BYTES);
    return status;
}

enum { RESOLVED = 4 }; /* a cipher and a KDF */

static int run(const struct cli_options *o, enum job job)
{
    struct cli_input input = { .fd = -1 };
    struct cli_output output;
    struct cli_header header;
    struct cli_key key = { .len = 0 };
    struct cli_work work = { .resolver = AESOP_RESOLVER_new(NULL, RESOLVED, 0, AESOP_RESOLVER_NO_WATCH),
                             .encrypt = job == JOB_SEAL,
                             .input = &input,
                             .output = job == JOB_VERIFY ? NULL : &output };
    char passphrase[CLI_MAX_PASSPHRASE_BYTES] = "";
    uint8_t *aad = NULL;
    int status = header_from_options(&header, o);

    if (work.resolver == NULL)
        status = cli_fail_crypto(CLI_SYSTEM, "no memory for the resolver");
    if (status == CLI_OK && job != JOB_SEAL)
        status = check_format_options(o);
    /* On standard input it is what comes first. */
    if (status == CLI_OK && o->key_file == NULL && o->pass != NULL)
        status = cli_passphrase_read(passphrase, o->pass, job == JOB_SEAL);
    if (status == CLI_OK)
        status = cli_input_open(&input, o->input);
    if (status != CLI_OK)
        goto done;
    if (job != JOB_VERIFY)
        status = cli_output_open(&output, o->output, o->force, 0666, job == JOB_SEAL);
    if (status == CLI_OK) {
        status = prepare(&work, &header, &key, passphrase, &aad, o);
        if (status == CLI_OK)
            status = run_work(&work, o, &header);
        if (job != JOB_VERIFY)
            status = cli_output_close(&output, status);
    }
    if (status == CLI_OK && job == JOB_VERIFY && !o->quiet)
        printf("%s: verified\n", input.name);
    cli_input_close(&input);
done:
    OPENSSL_cleanse(&key, sizeof key);
    OPENSSL_cleanse(passphrase, sizeof passphrase);
    OPENSSL_free(aad);
    AESOP_RESOLVER_free(work.resolver);
    return status;
}

int cli_seal(const struct cli_options *options)
{
    return run(options, JOB_SEAL);
}

int cli_open(const struct cli_options *options)
{
    return run(options, JOB_OPEN);
}

int cli_verify(const struct cli_options *options)
{
    return run(options, JOB_VERIFY);
}
