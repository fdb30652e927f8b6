/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include <openssl/bio.h>
#include <openssl/crypto.h>

#include <aesop/stream.h>

#include "cli/cli.h"
#include "cli/work.h"

/* Several default segments for each system call. */
enum { BUFFER_BYTES = 1 << 18 };

static int copy_all(struct cli_work *work, BIO *filter, BIO *source, char *buffer, size_t len)
{
    AESOP_STREAM_STATE state;
    size_t n;

    for (;;) {
        errno = 0;
        if (BIO_read_ex(filter, buffer, len, &n) > 0) {
            if (work->output != NULL) {
                const int status = cli_output_write(work->output, buffer, n);

                if (status != CLI_OK)
                    return status;
            }
            cli_progress_add(&work->progress, n);
            continue;
        }
        if (BIO_should_retry(filter)) {
            if (errno != EINTR)
                cli_wait_for(work->input->fd, POLLIN);
            continue;
        }
        break;
    }
    {
        struct cli_trouble trouble = { .error = errno, .input_bytes = BIO_number_read(source) };

        if (!AESOP_BIO_get_aead_state(filter, &state))
            return cli_fail_crypto(CLI_SYSTEM, "%s", work->input->name);
        work->segments = state.segments;
        if (state.finished && state.reason == 0)
            return CLI_OK;
        trouble.reason = state.reason;
        trouble.segment = state.segments;
        cli_progress_stop(&work->progress);
        return cli_work_report(work, &trouble);
    }
}

int cli_work_sequentially(struct cli_work *work)
{
    BIO *source = BIO_new_fd(work->input->fd, BIO_NOCLOSE), *filter = BIO_new(AESOP_BIO_f_aead());
    size_t len = work->segment_bytes > BUFFER_BYTES ? work->segment_bytes : BUFFER_BYTES;
    char *buffer = OPENSSL_malloc(len);
    OSSL_PARAM params[CLI_WORK_PARAMS + 1];
    size_t i = 0;
    int status = CLI_SYSTEM;

    cli_work_params(params, work);
    while (params[i].key != NULL)
        i++;
    params[i++] = OSSL_PARAM_construct_size_t(AESOP_STREAM_PARAM_BUFFER_SIZE, &len);
    params[i] = OSSL_PARAM_construct_end();
    if (source == NULL || filter == NULL || buffer == NULL ||
        !AESOP_BIO_set_aead(filter, work->cipher, work->key->bytes, work->key->len, work->encrypt, params))
        cli_fail_crypto(CLI_SYSTEM, "%s", work->input->name);
    else
        status = copy_all(work, BIO_push(filter, source), source, buffer, len);
    BIO_free(filter);
    BIO_free(source);
    OPENSSL_clear_free(buffer, len);
    return status;
}
