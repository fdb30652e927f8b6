/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output: a file that appears under its name when it is complete, or a descriptor that is simply written to (standard
 * output, and devices and pipes that have a name).
 *
 * A new file has no name at all while it is written where the system offers that (O_TMPFILE); otherwise it has a
 * temporary one beside its own, which is removed on failure and on the signals that end a program.
 */
#ifndef AESOP_CLI_OUTPUT_H
#define AESOP_CLI_OUTPUT_H

#include <sys/types.h>

struct cli_output {
    int fd;
    const char *name; /* for messages */
    int is_new;       /* has to get its name at the end */
    int force;
    char *path;      /* of a new file, with symbolic links resolved */
    char *temporary; /* or NULL: without a name */
    off_t at;        /* bytes written so far */
};

/*
 * path: NULL or "-" is standard output. mode: of a new file, less the umask. binary: refuse to write to a terminal.
 * Returns a cli_status.
 */
int cli_output_open(struct cli_output *output, const char *path, int force, mode_t mode, int binary);

/* Appends. Returns a cli_status. */
int cli_output_write(struct cli_output *output, const void *data, size_t len);
/* Writes at an offset of a new file. Returns 1, or 0 with errno set. */
int cli_output_write_at(const struct cli_output *output, const void *data, size_t len, off_t at);

/* status CLI_OK: puts the file in its place; otherwise removes it. Returns status, or another one where that fails. */
int cli_output_close(struct cli_output *output, int status);

#endif
