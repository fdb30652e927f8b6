/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of seal, open and verify on one stream or message: from a place in the input to a place in the output.
 *
 * sequential.c takes bytes in order, through the library's filter, from and to anything. parallel.c takes the segments
 * of a regular file in any order, each thread with a cipher context of its own, into a regular file or nowhere.
 */
#ifndef AESOP_CLI_WORK_H
#define AESOP_CLI_WORK_H

#include <stddef.h>
#include <stdint.h>

#include <openssl/evp.h>
#include <openssl/params.h>

#include "cli/input.h"
#include "cli/keys.h"
#include "cli/output.h"
#include "cli/progress.h"

struct cli_work {
    AESOP_RESOLVER *resolver;
    const EVP_CIPHER *cipher; /* the resolver's */
    int encrypt, message;
    size_t segment_bytes;
    const struct cli_key *key;
    const uint8_t *aad;
    size_t aad_len;
    struct cli_input *input;
    struct cli_output *output; /* NULL: verify alone */
    size_t threads;
    struct cli_progress progress;
    uint64_t segments; /* done */
};

#define CLI_WORK_PARAMS 5
/* The library's parameters for this work, which they point into. */
void cli_work_params(OSSL_PARAM params[CLI_WORK_PARAMS], const struct cli_work *work);

/* Both return a cli_status. */
int cli_work_sequentially(struct cli_work *work);
int cli_work_in_parallel(struct cli_work *work);
/* Whether that way is open, and worth it. */
int cli_work_is_parallel(const struct cli_work *work);

/* What went wrong. */
struct cli_trouble {
    int reason;           /* AESOP_STREAM_R_... */
    uint64_t segment;     /* of a stream */
    uint64_t input_bytes; /* read in all, where the reason is an end too early; of the input */
    int error;            /* errno where the reason is input or output */
    int writing;          /* it was output */
};
/* Says it; returns the status. */
int cli_work_report(const struct cli_work *work, const struct cli_trouble *trouble);

#endif
