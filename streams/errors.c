/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>

#include <openssl/crypto.h>
#include <openssl/err.h>

#include <aesop/stream.h>

#include "streams/stream.h"

static ERR_STRING_DATA strings[] = {
    { ERR_PACK(0, 0, AESOP_STREAM_R_AUTHENTICATION), "does not verify" },
    { ERR_PACK(0, 0, AESOP_STREAM_R_TRUNCATED), "truncated" },
    { ERR_PACK(0, 0, AESOP_STREAM_R_TRAILING_DATA), "data after the end" },
    { ERR_PACK(0, 0, AESOP_STREAM_R_BAD_HEADER), "bad header" },
    { ERR_PACK(0, 0, AESOP_STREAM_R_HOLD_LIMIT), "message longer than the hold limit" },
    { ERR_PACK(0, 0, AESOP_STREAM_R_SOURCE_CHANGED), "source changed between two readings" },
    { ERR_PACK(0, 0, AESOP_STREAM_R_TOO_LONG), "too long" },
    { ERR_PACK(0, 0, AESOP_STREAM_R_FINISHED), "write after the end" },
    { ERR_PACK(0, 0, AESOP_STREAM_R_OTHER_SIDE), "in use on the other side" },
    { ERR_PACK(0, 0, AESOP_STREAM_R_IV_USED), "iv has served" },
    { ERR_PACK(0, 0, AESOP_STREAM_R_NEXT_BIO), "next bio failed" },
    { ERR_PACK(0, 0, AESOP_STREAM_R_CIPHER_FAILED), "cipher failed" },
    { ERR_PACK(0, 0, AESOP_STREAM_R_NOT_SET_UP), "not set up" },
    { ERR_PACK(0, 0, AESOP_STREAM_R_BAD_PARAMETER), "bad parameter" },
    { ERR_PACK(0, 0, AESOP_STREAM_R_BAD_CIPHER), "cipher not usable" },
    { ERR_PACK(0, 0, AESOP_STREAM_R_BAD_KEY), "bad key" },
    { ERR_PACK(0, 0, AESOP_STREAM_R_NO_MEMORY), "out of memory" },
    { 0, NULL },
};
static ERR_STRING_DATA library_name[] = { { 0, "aesop stream" }, { 0, NULL } };

static CRYPTO_ONCE once = CRYPTO_ONCE_STATIC_INIT;
static int library;

static void load_strings(void)
{
    library = ERR_get_next_error_library();
    library_name[0].error = ERR_PACK(library, 0, 0);
    ERR_load_strings(library, strings);
    ERR_load_strings(library, library_name);
}

int AESOP_STREAM_ERR_lib(void)
{
    return CRYPTO_THREAD_run_once(&once, load_strings) ? library : ERR_LIB_USER;
}

static void report(int reason, const char *format, va_list args)
{
    const int lib = AESOP_STREAM_ERR_lib();

    ERR_new();
    ERR_vset_error(lib, reason, format, args);
}

int aesop_stream_refuse(int reason, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    report(reason, format, args);
    va_end(args);
    return 0;
}

int aesop_stream_fail(struct aesop_stream *s, int reason, const char *format, ...)
{
    va_list args;

    s->reason = reason;
    va_start(args, format);
    vsnprintf(s->reason_text, sizeof s->reason_text, format, args);
    va_end(args);
    return 0;
}

int aesop_stream_raise(const struct aesop_stream *s)
{
    return aesop_stream_refuse(s->reason, "%s", s->reason_text);
}
