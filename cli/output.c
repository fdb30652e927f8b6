/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/rand.h>

#include "cli/cli.h"
#include "cli/input.h"

/* --- temporary names ---------------------------------------------------------------------------------------------- */

static const int ending_signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXCPU, SIGXFSZ };

/* What the signals' handler removes: it can reach nothing but a global. */
static char *volatile removed_on_signal;

static void end_by_signal(int number)
{
    if (removed_on_signal != NULL)
        unlink(removed_on_signal);
    /* The handler was for once: now the signal does what it does by itself. */
    raise(number);
}

static void catch_signals(void)
{
    for (size_t i = 0; i < sizeof ending_signals / sizeof ending_signals[0]; i++) {
        struct sigaction old, new = { .sa_handler = end_by_signal, .sa_flags = SA_RESETHAND };

        sigfillset(&new.sa_mask);
        if (sigaction(ending_signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(ending_signals[i], &new, NULL);
    }
}

/* The folder of a path, or the path with the last component exchanged for a temporary one. To be freed; or NULL. */
static char *beside(const char *path, const char *last)
{
    const char *slash = strrchr(path, '/');
    const int folder = slash == NULL ? 0 : (int)(slash - path) + 1;
    char *result;

    if (asprintf(&result, "%.*s%s", folder, path, last) < 0)
        return NULL;
    return result;
}

/* A new name beside the output's. Returns 1, or 0 with errno set. */
static int choose_temporary(struct cli_output *output)
{
    char last[32];
    uint64_t number;

    if (RAND_bytes((unsigned char *)&number, sizeof number) != 1)
        number = (uint64_t)getpid();
    snprintf(last, sizeof last, ".aesop-%016llx", (unsigned long long)number);
    free(output->temporary);
    output->temporary = beside(output->path, last);
    removed_on_signal = output->temporary;
    return output->temporary != NULL;
}

static void forget_temporary(struct cli_output *output)
{
    removed_on_signal = NULL;
    free(output->temporary);
    output->temporary = NULL;
}

/* --- open --------------------------------------------------------------------------------------------------------- */

static int open_unnamed(const char *path, mode_t mode)
{
    char *folder = beside(path, ".");
    const int fd =
        folder != NULL && access("/proc/self/fd", X_OK) == 0 ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, mode) : -1;

    free(folder);
    return fd;
}

static int open_new(struct cli_output *output, mode_t mode)
{
    output->is_new = 1;
    output->fd = open_unnamed(output->path, mode);
    if (output->fd < 0 && choose_temporary(output)) {
        catch_signals();
        output->fd = open(output->temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode);
        if (output->fd < 0)
            forget_temporary(output);
    }
    if (output->fd >= 0)
        return CLI_OK;
    return cli_fail(CLI_SYSTEM, "%s: no file can be made in its folder: %s", output->name, strerror(errno));
}

int cli_output_open(struct cli_output *output, const char *path, int force, mode_t mode, int binary)
{
    struct stat st;
    int status, there;

    *output = (struct cli_output){ .fd = STDOUT_FILENO, .name = "standard output", .force = force };
    if (path == NULL || strcmp(path, "-") == 0) {
        if (binary && !force && isatty(STDOUT_FILENO))
            return cli_fail(CLI_USAGE, "this is not for a terminal to show; see --output, or insist with --force");
        return CLI_OK;
    }
    output->name = path;
    there = stat(path, &st) == 0;
    if (there && !S_ISREG(st.st_mode)) {
        output->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return output->fd < 0 ? cli_fail(CLI_SYSTEM, "%s: %s", path, strerror(errno)) : CLI_OK;
    }
    /* What cannot get its name at the end is told now. A link that leads nowhere is in the way, too. */
    if (!there && (errno != ENOENT || *path == '\0'))
        return cli_fail(CLI_SYSTEM, "--output %s: %s", path, strerror(errno));
    if (!force && (there || lstat(path, &st) == 0))
        return cli_fail(CLI_SYSTEM, "%s: it is there already; --force overwrites it", path);
    /* What a symbolic link leads to is what is replaced. */
    output->path = there ? realpath(path, NULL) : strdup(path);
    if (output->path == NULL)
        return cli_fail(CLI_SYSTEM, "%s: %s", path, strerror(errno));
    status = open_new(output, mode);
    if (status != CLI_OK)
        free(output->path);
    return status;
}

/* --- write -------------------------------------------------------------------------------------------------------- */

/* at < 0: where the file stands */
static int write_full(int fd, const char *data, size_t len, off_t at)
{
    while (len > 0) {
        const ssize_t n = at < 0 ? write(fd, data, len) : pwrite(fd, data, len, at);

        if (n > 0) {
            data += n;
            len -= (size_t)n;
            at += at < 0 ? 0 : n;
        } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
            return 0;
        } else if (errno == EAGAIN) {
            cli_wait_for(fd, POLLOUT);
        }
    }
    return 1;
}

int cli_output_write(struct cli_output *output, const void *data, size_t len)
{
    if (!write_full(output->fd, data, len, -1))
        return cli_fail(CLI_SYSTEM, "%s: writing after byte %lld: %s", output->name, (long long)output->at,
                        strerror(errno));
    output->at += (off_t)len;
    return CLI_OK;
}

int cli_output_write_at(const struct cli_output *output, const void *data, size_t len, off_t at)
{
    return write_full(output->fd, data, len, at);
}

/* --- close -------------------------------------------------------------------------------------------------------- */

/* linkat by descriptor alone is for the privileged. */
static int link_unnamed(const struct cli_output *output, const char *path)
{
    char source[32];

    snprintf(source, sizeof source, "/proc/self/fd/%d", output->fd);
    return linkat(AT_FDCWD, source, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

/* Never takes another file's place, as far as the file system lets us say so. Returns 1, or 0 with errno set. */
static int rename_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 1;
    if (errno == EEXIST)
        return 0;
    if (link(from, to) == 0)
        return unlink(from) == 0;
    if (errno == EEXIST || access(to, F_OK) == 0) {
        errno = EEXIST;
        return 0;
    }
    return rename(from, to) == 0;
}

/* Returns 1, or 0 with errno set. */
static int give_name(struct cli_output *output)
{
    if (output->temporary == NULL) {
        if (!output->force)
            return link_unnamed(output, output->path);
        /* A link never takes another file's place, a rename does. */
        catch_signals();
        if (!choose_temporary(output))
            return 0;
        if (!link_unnamed(output, output->temporary)) {
            forget_temporary(output);
            return 0;
        }
    }
    return output->force ? rename(output->temporary, output->path) == 0 : rename_new(output->temporary, output->path);
}

/* A name is as durable as its folder. Not every file system can be asked for that. */
static void sync_folder(const char *path)
{
    char *folder = beside(path, ".");
    const int fd = folder != NULL ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(folder);
}

int cli_output_close(struct cli_output *output, int status)
{
    if (output->is_new && status == CLI_OK) {
        if (fsync(output->fd) != 0 || !give_name(output)) {
            status = cli_fail(CLI_SYSTEM, "%s: %s%s", output->name, strerror(errno),
                              errno == EEXIST ? "; --force overwrites it" : "");
        } else {
            forget_temporary(output);
            sync_folder(output->path);
        }
    }
    if (output->temporary != NULL)
        unlink(output->temporary);
    forget_temporary(output);
    /* Some file systems report a full disk only here. */
    if (close(output->fd) != 0 && status == CLI_OK)
        status = cli_fail(CLI_SYSTEM, "%s: %s", output->name, strerror(errno));
    free(output->path);
    return status;
}
