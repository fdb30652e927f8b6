/* SPDX-License-Identifier: Apache-2.0 */
#include <openssl/crypto.h>

#include <aesop/stream.h>

#include "streams/filter.h"

static long filter_dup(const struct aesop_filter *f, BIO *to)
{
    struct aesop_filter *copy = aesop_filter_new(&f->stream.config);

    if (copy == NULL)
        return 0;
    copy->stream.iv_used = copy->stream.config.encrypt && copy->stream.config.iv.data != NULL;
    aesop_filter_restart(copy);
    BIO_set_data(to, copy);
    BIO_set_init(to, 1);
    return 1;
}

/* Before set-up: nothing is passed on that would pass for the filter's own. */
static long control_unset(BIO *next, int command, long number, void *pointer)
{
    switch (command) {
    case BIO_CTRL_DUP:
        return 1;
    case BIO_CTRL_FLUSH:
    case BIO_C_FILE_SEEK:
    case BIO_C_FILE_TELL:
        return aesop_stream_refuse(AESOP_STREAM_R_NOT_SET_UP, "a flush or seek before AESOP_BIO_set_aead") - 1;
    }
    return next == NULL ? 0 : BIO_ctrl(next, command, number, pointer);
}

static long filter_ctrl(BIO *b, int command, long number, void *pointer)
{
    struct aesop_filter *f = BIO_get_data(b);
    BIO *next = BIO_next(b);
    size_t ready;
    long result;

    if (f == NULL)
        return control_unset(next, command, number, pointer);
    ready = f->released - f->out_pos;
    switch (command) {
    case BIO_CTRL_RESET:
        aesop_filter_restart(f);
        return next == NULL ? 1 : BIO_ctrl(next, command, number, pointer);
    case BIO_CTRL_FLUSH:
        return f->side == SIDE_READ ? BIO_ctrl(next, command, number, pointer) : aesop_filter_flush(f, b, next);
    case BIO_CTRL_EOF:
        return f->stream.reason != 0 || (f->side == SIDE_READ && f->stream.finished && ready == 0);
    case BIO_CTRL_PENDING:
        if (f->side == SIDE_READ && ready > 0)
            return (long)ready;
        break;
    case BIO_CTRL_WPENDING:
        if (f->side == SIDE_WRITE && ready > 0)
            return (long)ready;
        break;
    case BIO_C_FILE_SEEK:
        return aesop_filter_seek(f, next, number);
    case BIO_C_FILE_TELL:
        return aesop_filter_tell(f);
    case BIO_CTRL_DUP:
        return filter_dup(f, pointer);
    case BIO_C_DO_STATE_MACHINE:
        if (next == NULL)
            break;
        BIO_clear_retry_flags(b);
        result = BIO_ctrl(next, command, number, pointer);
        BIO_copy_next_retry(b);
        return result;
    }
    return next == NULL ? 0 : BIO_ctrl(next, command, number, pointer);
}

static long filter_callback_ctrl(BIO *b, int command, BIO_info_cb *callback)
{
    return BIO_next(b) == NULL ? 0 : BIO_callback_ctrl(BIO_next(b), command, callback);
}

static int filter_destroy(BIO *b)
{
    if (b == NULL)
        return 0;
    aesop_filter_free(BIO_get_data(b));
    BIO_set_data(b, NULL);
    BIO_set_init(b, 0);
    return 1;
}

/* ---- the method ---- */

static CRYPTO_ONCE once = CRYPTO_ONCE_STATIC_INIT;
static BIO_METHOD *method;
static int method_type;

static void make_method(void)
{
    const int type = BIO_get_new_index() | BIO_TYPE_FILTER;
    BIO_METHOD *m = BIO_meth_new(type, "aesop aead");

    if (m == NULL || !BIO_meth_set_write_ex(m, aesop_filter_write) || !BIO_meth_set_read_ex(m, aesop_filter_read) ||
        !BIO_meth_set_ctrl(m, filter_ctrl) || !BIO_meth_set_callback_ctrl(m, filter_callback_ctrl) ||
        !BIO_meth_set_destroy(m, filter_destroy)) {
        BIO_meth_free(m);
        return;
    }
    method = m;
    method_type = type;
}

const BIO_METHOD *AESOP_BIO_f_aead(void)
{
    return CRYPTO_THREAD_run_once(&once, make_method) ? method : NULL;
}

struct aesop_filter *aesop_filter_of(BIO *b)
{
    return b != NULL && method != NULL && BIO_method_type(b) == method_type ? BIO_get_data(b) : NULL;
}

/* ---- the public calls ---- */

int AESOP_BIO_set_aead(BIO *b, const EVP_CIPHER *cipher, const unsigned char *key, size_t key_len, int encrypt,
                       const OSSL_PARAM params[])
{
    struct aesop_stream_config config = { .cipher = cipher, .encrypt = encrypt != 0, .key = { key, key_len } };
    struct aesop_filter *f;

    if (b == NULL || method == NULL || BIO_method_type(b) != method_type || BIO_get_data(b) != NULL)
        return aesop_stream_refuse(AESOP_STREAM_R_NOT_SET_UP, "not a fresh BIO of AESOP_BIO_f_aead");
    if (!aesop_stream_config_read(&config, params))
        return 0;
    f = aesop_filter_new(&config);
    if (f == NULL)
        return 0;
    aesop_filter_restart(f);
    BIO_set_data(b, f);
    BIO_set_init(b, 1);
    return 1;
}

int AESOP_BIO_rekey(BIO *b, const unsigned char *key, size_t key_len, const OSSL_PARAM params[])
{
    struct aesop_stream_config config = { .key = { key, key_len } };
    struct aesop_filter *f = aesop_filter_of(b);

    if (f == NULL)
        return aesop_stream_refuse(AESOP_STREAM_R_NOT_SET_UP, "re-keying before AESOP_BIO_set_aead");
    if (!aesop_stream_config_read_rekey(&config, params) || !aesop_stream_rekey(&f->stream, &config))
        return 0;
    aesop_filter_restart(f);
    return 1;
}

int AESOP_BIO_get_aead_state(BIO *b, AESOP_STREAM_STATE *state)
{
    const struct aesop_filter *f = aesop_filter_of(b);

    if (f == NULL)
        return aesop_stream_refuse(AESOP_STREAM_R_NOT_SET_UP, "asked before AESOP_BIO_set_aead");
    *state = (AESOP_STREAM_STATE){ f->stream.reason, f->stream.finished, f->stream.number, f->stream.text_bytes };
    if (f->side == SIDE_WRITE && state->finished && !f->ended) {
        /* A guess (filter_write.c). */
        state->finished = 0;
        state->segments--;
        state->bytes -= f->out_len - f->released - (f->stream.config.encrypt ? f->stream.config.tag_bytes : 0);
    }
    return 1;
}
