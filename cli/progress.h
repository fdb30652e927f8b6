/* SPDX-License-Identifier: Apache-2.0 */
/* A bar on stderr, if that is a terminal and the work takes more than a second. Calls must not overlap. */
#ifndef AESOP_CLI_PROGRESS_H
#define AESOP_CLI_PROGRESS_H

#include <stdint.h>
#include <time.h>

struct cli_progress {
    uint64_t total, done; /* bytes; total 0: unknown */
    struct timespec start;
    double drawn; /* seconds after start; 0: not yet */
    int shown;    /* at all */
};

void cli_progress_start(struct cli_progress *p, uint64_t total, int quiet);
void cli_progress_add(struct cli_progress *p, uint64_t bytes);
/* Takes the bar away. Returns the seconds since the start. */
double cli_progress_stop(struct cli_progress *p);
/* "1.5 GiB"; returns out. */
const char *cli_bytes_text(char out[16], double bytes);

#endif
