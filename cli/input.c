/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

int cli_input_open(struct cli_input *input, const char *path)
{
    const int is_stdin = path == NULL || strcmp(path, "-") == 0;
    struct stat st;

    *input = (struct cli_input){
        .fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY),
        .name = is_stdin ? "standard input" : path,
        .size = -1,
    };
    if (input->fd < 0 || fstat(input->fd, &st) != 0)
        return cli_fail(CLI_SYSTEM, "%s: %s", input->name, strerror(errno));
    if (S_ISDIR(st.st_mode)) {
        cli_input_close(input);
        return cli_fail(CLI_SYSTEM, "%s: a directory; \"tar c DIRECTORY | aesop seal\" takes one", input->name);
    }
    if (S_ISREG(st.st_mode)) {
        input->size = st.st_size;
        input->at = lseek(input->fd, 0, SEEK_CUR);
        posix_fadvise(input->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    }
    return CLI_OK;
}

void cli_input_close(struct cli_input *input)
{
    if (input->fd > STDIN_FILENO)
        close(input->fd);
    input->fd = -1;
}

int cli_input_is_unchanged(const struct cli_input *input)
{
    struct stat st;

    return input->size < 0 || (fstat(input->fd, &st) == 0 && st.st_size == input->size);
}

void cli_wait_for(int fd, short events)
{
    struct pollfd p = { .fd = fd, .events = events };

    poll(&p, 1, -1);
}

/* at < 0: where the file stands */
static ssize_t read_full(int fd, char *data, size_t len, off_t at)
{
    size_t done = 0;

    while (done < len) {
        const ssize_t n =
            at < 0 ? read(fd, data + done, len - done) : pread(fd, data + done, len - done, at + (off_t)done);

        if (n == 0)
            break;
        if (n > 0)
            done += (size_t)n;
        else if (errno == EAGAIN)
            cli_wait_for(fd, POLLIN);
        else if (errno != EINTR)
            return -1;
    }
    return (ssize_t)done;
}

ssize_t cli_read_full(int fd, void *data, size_t len)
{
    return read_full(fd, data, len, -1);
}

ssize_t cli_read_full_at(int fd, void *data, size_t len, off_t at)
{
    return read_full(fd, data, len, at);
}
