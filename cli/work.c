/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/work.h"

#include <stdio.h>
#include <string.h>

#include <openssl/err.h>

#include <aesop/stream.h>

#include "cli/cli.h"

void cli_work_params(OSSL_PARAM params[CLI_WORK_PARAMS], const struct cli_work *work)
{
    const char *format = work->message ? AESOP_STREAM_FORMAT_MESSAGE : AESOP_STREAM_FORMAT_SEGMENTED;
    OSSL_PARAM *p = params;

    *p++ = OSSL_PARAM_construct_utf8_string(AESOP_STREAM_PARAM_FORMAT, (char *)format, 0);
    *p++ = OSSL_PARAM_construct_octet_string(AESOP_STREAM_PARAM_AAD, (void *)work->aad, work->aad_len);
    if (!work->message)
        *p++ = OSSL_PARAM_construct_size_t(AESOP_STREAM_PARAM_SEGMENT_SIZE, (size_t *)&work->segment_bytes);
    *p = OSSL_PARAM_construct_end();
}

static const struct explanation {
    int reason, status;
    const char *text;
} explanations[] = {
    { AESOP_STREAM_R_AUTHENTICATION, CLI_NOT_AUTHENTIC, "does not verify: it was changed; get another copy" },
    { AESOP_STREAM_R_TRUNCATED, CLI_NOT_AUTHENTIC, "is not the last, but the input ends: the rest of it is missing" },
    { AESOP_STREAM_R_TRAILING_DATA, CLI_NOT_AUTHENTIC, "is the last, but the input goes on: something was appended" },
    { AESOP_STREAM_R_BAD_HEADER, CLI_NOT_AUTHENTIC,
      "no stream of this cipher begins here; a bare one needs the --cipher it was made with" },
    { AESOP_STREAM_R_HOLD_LIMIT, CLI_SYSTEM,
      "too long a message to hold back until it is verified; give it as a file, or seal in segments" },
    { AESOP_STREAM_R_SOURCE_CHANGED, CLI_SYSTEM, "changed while it was read" },
    { AESOP_STREAM_R_TOO_LONG, CLI_USAGE, "too long for this segment size; see --segment-size" },
    { AESOP_STREAM_R_NO_MEMORY, CLI_SYSTEM, "out of memory; fewer --threads, or smaller segments, need less" },
};

static const struct explanation *explain(int reason)
{
    for (size_t i = 0; i < sizeof explanations / sizeof explanations[0]; i++)
        if (explanations[i].reason == reason)
            return &explanations[i];
    return NULL;
}

/* Bytes of the format's own header: a length, a salt as long as the key, a prefix of 7. */
static uint64_t stream_header_bytes(const struct cli_work *work)
{
    return 8 + (uint64_t)EVP_CIPHER_get_key_length(work->cipher);
}

int cli_work_report(const struct cli_work *work, const struct cli_trouble *t)
{
    const struct explanation *e = explain(t->reason);
    const unsigned long long segment = t->segment, start = (unsigned long long)work->input->at;
    const char *name = work->input->name, *text;
    char place[96] = "the message ";

    if (t->reason == AESOP_STREAM_R_NEXT_BIO)
        return cli_fail(CLI_SYSTEM, "%s: %s near segment %llu: %s", t->writing ? work->output->name : name,
                        t->writing ? "writing" : "reading", segment,
                        t->error != 0 ? strerror(t->error) : "it changed while it was read");
    if (e == NULL)
        return cli_fail_crypto(CLI_SYSTEM, "%s: segment %llu", name, segment);
    text = e->text;
    if (e->status != CLI_NOT_AUTHENTIC || t->reason == AESOP_STREAM_R_BAD_HEADER)
        return cli_fail(e->status, "%s: %s", name, text);
    ERR_clear_error();
    if (t->reason == AESOP_STREAM_R_TRUNCATED && (work->message || t->input_bytes < stream_header_bytes(work) + 16))
        return cli_fail(e->status, "%s: the input ends at byte %llu, too early: the rest of it is missing", name,
                        start + t->input_bytes);
    if (!work->message)
        snprintf(place, sizeof place, "segment %llu (from byte %llu) ", segment,
                 start + (segment > 0 ? segment * work->segment_bytes : stream_header_bytes(work)));
    if (t->reason == AESOP_STREAM_R_AUTHENTICATION && segment == 0)
        text = "does not verify: key, passphrase, associated data or --segment-size are not the ones it was sealed "
               "with, or it was changed";
    if (t->reason == AESOP_STREAM_R_TRUNCATED)
        return cli_fail(e->status, "%s: %s%s (at byte %llu)", name, place, text, start + t->input_bytes);
    return cli_fail(e->status, "%s: %s%s", name, place, text);
}
