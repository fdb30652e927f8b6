/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chunk is a run of segments that one thread takes at a time: read, sealed or opened, written. Its place in both
 * files follows from its number, since every segment but the last has the same size:
 *
 *     plaintext            | 0        | 1            | 2            |       0 is shorter by the stream's header
 *     stream     | header  | 0     tag| 1         tag| 2         tag|       i > 0 starts at i * segment size
 *
 * Chunks are taken in order. So when one fails, all before it are under way or done, and the first failure of the file
 * is found whichever thread is faster.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#include <aesop/stream.h>

#include "cli/cli.h"
#include "cli/work.h"
#include "streams/stream.h"

/* Input and output of a chunk stay in the second-level cache. */
enum { CHUNK_BYTES = 1 << 18 };
/* Below that, and for files that do not know their size (/proc), the filter serves. */
enum { LEAST_BYTES = 1 << 20 };

struct crew {
    struct cli_work *work;
    struct aesop_stream_config config;
    uint8_t header[AESOP_STREAM_MAX_HEADER];
    size_t header_bytes;
    uint64_t in_end; /* of the input, counted from where the stream or its text starts */
    uint64_t segments, per_chunk;

    pthread_mutex_t lock; /* of what follows, and of the progress */
    uint64_t next;        /* segment that nobody has taken */
    int failed;
    struct cli_trouble trouble; /* the one of the lowest segment */
};

int cli_work_is_parallel(const struct cli_work *work)
{
    return !work->message && work->input->size - work->input->at >= LEAST_BYTES &&
           (work->output == NULL || work->output->is_new);
}

static uint64_t text_start(const struct crew *c, uint64_t segment)
{
    return segment > 0 ? segment * (c->config.segment_bytes - AESOP_STREAM_TAG_BYTES) - c->header_bytes : 0;
}

static uint64_t stream_start(const struct crew *c, uint64_t segment)
{
    return segment > 0 ? segment * c->config.segment_bytes : c->header_bytes;
}

static uint64_t in_start(const struct crew *c, uint64_t segment)
{
    if (segment >= c->segments)
        return c->in_end;
    return c->config.encrypt ? text_start(c, segment) : stream_start(c, segment);
}

static uint64_t out_start(const struct crew *c, uint64_t segment)
{
    return c->config.encrypt ? stream_start(c, segment) : text_start(c, segment);
}

static void fail(struct crew *c, const struct cli_trouble *trouble)
{
    pthread_mutex_lock(&c->lock);
    if (!c->failed || trouble->segment < c->trouble.segment)
        c->trouble = *trouble;
    c->failed = 1;
    pthread_mutex_unlock(&c->lock);
}

static int fail_input_output(struct crew *c, uint64_t segment, int error, int writing)
{
    const struct cli_trouble trouble = {
        .reason = AESOP_STREAM_R_NEXT_BIO, .segment = segment, .error = error, .writing = writing
    };

    fail(c, &trouble);
    return 0;
}

/* Returns 1 with a chunk's first segment, or 0 where there is nothing left to do. */
static int take_chunk(struct crew *c, uint64_t *first, uint64_t bytes_done)
{
    int taken = 0;

    pthread_mutex_lock(&c->lock);
    cli_progress_add(&c->work->progress, bytes_done);
    if (!c->failed && c->next < c->segments) {
        *first = c->next;
        c->next = c->segments - c->next > c->per_chunk ? c->next + c->per_chunk : c->segments;
        taken = 1;
    }
    pthread_mutex_unlock(&c->lock);
    return taken;
}

static int run_chunk(struct crew *c, struct aesop_stream *s, uint64_t first, uint8_t *in, uint8_t *out)
{
    const struct cli_work *work = c->work;
    const uint64_t end = c->segments - first > c->per_chunk ? first + c->per_chunk : c->segments;
    const uint64_t start = in_start(c, first);
    const size_t len = (size_t)(in_start(c, end) - start);
    const ssize_t got = cli_read_full_at(work->input->fd, in, len, work->input->at + (off_t)start);
    size_t made = 0;

    if (got < 0 || (size_t)got != len)
        return fail_input_output(c, first, got < 0 ? errno : 0, 0);
    s->config.format->jump(s, first);
    for (uint64_t i = first; i < end; i++) {
        const uint64_t at = in_start(c, i);
        const struct aesop_octets segment[2] = { { in + (at - start), (size_t)(in_start(c, i + 1) - at) } };
        size_t n;

        if (!s->config.format->unit(s, out + made, &n, segment, i + 1 == c->segments)) {
            fail(c, &(struct cli_trouble){ .reason = s->reason, .segment = i, .input_bytes = c->in_end });
            return 0;
        }
        made += n;
    }
    if (work->output != NULL &&
        !cli_output_write_at(work->output, out, made, work->output->at + (off_t)out_start(c, first)))
        return fail_input_output(c, first, errno, 1);
    return 1;
}

/* Opens a stream like the crew's. Encryption: the first one's random header becomes everyone's. */
static int open_stream(struct crew *c, struct aesop_stream *s)
{
    if (!aesop_stream_open(s, &c->config))
        return 0;
    if (aesop_stream_start(s)) {
        if (c->config.encrypt)
            return 1;
        memcpy(s->header, c->header, c->header_bytes);
        if (s->config.format->take_header(s))
            return 1;
    }
    return 0;
}

static void *run_worker(void *arg)
{
    struct crew *c = arg;
    const size_t len = (size_t)c->per_chunk * c->config.segment_bytes;
    struct aesop_stream stream = { .ctx = NULL };
    uint8_t *in = OPENSSL_malloc(len), *out = OPENSSL_malloc(len);
    uint64_t first, bytes = 0;

    if (in == NULL || out == NULL || !open_stream(c, &stream)) {
        fail(c, &(struct cli_trouble){ .reason = stream.reason != 0 ? stream.reason : AESOP_STREAM_R_NO_MEMORY });
    } else {
        while (take_chunk(c, &first, bytes) && run_chunk(c, &stream, first, in, out))
            bytes = in_start(c, first + c->per_chunk) - in_start(c, first);
    }
    aesop_stream_close(&stream);
    OPENSSL_clear_free(in, len);
    OPENSSL_clear_free(out, len);
    return NULL;
}

/* The stream's header: made, and written; or read. Leaves the config such that all make the same one. */
static int prepare_header(struct crew *c)
{
    struct cli_work *work = c->work;
    struct aesop_stream stream = { .ctx = NULL };
    int ok = 0;

    if (!aesop_stream_open(&stream, &c->config) || !aesop_stream_start(&stream))
        goto done;
    c->header_bytes = stream.header_bytes;
    if (!c->config.encrypt) {
        const ssize_t n = cli_read_full_at(work->input->fd, c->header, c->header_bytes, work->input->at);

        ok = n == (ssize_t)c->header_bytes || fail_input_output(c, 0, n < 0 ? errno : 0, 0);
        goto done;
    }
    memcpy(c->header, stream.header, c->header_bytes);
    c->config.iv = (struct aesop_octets){ c->header + 1, c->header_bytes - 1 };
    ok = cli_output_write_at(work->output, c->header, c->header_bytes, work->output->at) ||
         fail_input_output(c, 0, errno, 1);
done:
    if (!ok && !c->failed)
        fail(c, &(struct cli_trouble){ .reason = stream.reason });
    aesop_stream_close(&stream);
    return ok;
}

static void count_segments(struct crew *c)
{
    const uint64_t bytes = (uint64_t)(c->work->input->size - c->work->input->at);
    const uint64_t text = c->config.segment_bytes - AESOP_STREAM_TAG_BYTES;

    c->in_end = bytes;
    c->segments = c->config.encrypt ? (bytes + c->header_bytes + text - 1) / text
                                    : (bytes + c->config.segment_bytes - 1) / c->config.segment_bytes;
    c->per_chunk = c->config.segment_bytes < CHUNK_BYTES ? CHUNK_BYTES / c->config.segment_bytes : 1;
}

static void run_workers(struct crew *c)
{
    const uint64_t chunks = (c->segments + c->per_chunk - 1) / c->per_chunk;
    const size_t count = chunks < c->work->threads ? (size_t)chunks : c->work->threads;
    pthread_t *threads = OPENSSL_zalloc(count * sizeof *threads);
    size_t started = 0;

    /* This thread is one of them; with fewer than wanted the work takes longer, no more. */
    while (threads != NULL && started + 1 < count && pthread_create(&threads[started], NULL, run_worker, c) == 0)
        started++;
    run_worker(c);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    OPENSSL_free(threads);
}

int cli_work_in_parallel(struct cli_work *work)
{
    struct crew crew = { .work = work, .lock = PTHREAD_MUTEX_INITIALIZER };
    OSSL_PARAM params[CLI_WORK_PARAMS];

    cli_work_params(params, work);
    if (!aesop_stream_config_read(&crew.config, params))
        return cli_fail_crypto(CLI_SYSTEM, "%s", work->input->name);
    crew.config.cipher = work->cipher;
    crew.config.encrypt = work->encrypt;
    crew.config.key = (struct aesop_octets){ work->key->bytes, work->key->len };
    if (prepare_header(&crew)) {
        count_segments(&crew);
        run_workers(&crew);
    }
    work->segments = crew.segments;
    if (!crew.failed && !cli_input_is_unchanged(work->input))
        fail_input_output(&crew, crew.segments, 0, 0);
    if (!crew.failed)
        return CLI_OK;
    cli_progress_stop(&work->progress);
    return cli_work_report(work, &crew.trouble);
}
