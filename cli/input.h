/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AESOP_CLI_INPUT_H
#define AESOP_CLI_INPUT_H

#include <sys/types.h>

struct cli_input {
    int fd;
    const char *name; /* for messages */
    off_t at;         /* where it stands; 0 where it cannot seek */
    off_t size;       /* of a regular file, or -1 */
};

/* Opens a file, or standard input for NULL and "-". Returns a cli_status. */
int cli_input_open(struct cli_input *input, const char *path);
void cli_input_close(struct cli_input *input);
/* Returns 1, or 0 where the file has another size by now. */
int cli_input_is_unchanged(const struct cli_input *input);

/* Reads until len bytes are there or the input ends. Returns the bytes, or -1 with errno set. */
ssize_t cli_read_full(int fd, void *data, size_t len);
/* The same at an offset, without moving the file's own. */
ssize_t cli_read_full_at(int fd, void *data, size_t len, off_t at);
/* Waits until a descriptor that blocks can be read (POLLIN) or written (POLLOUT). */
void cli_wait_for(int fd, short events);

#endif
