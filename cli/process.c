/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/process.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

enum { MAX_DIGITS = 10 };

struct process {
    const char *pid;
    char program[PATH_MAX], libcrypto[PATH_MAX], aesop[PATH_MAX]; /* paths; "" where there is none */
    const char *other;                                            /* NULL, or a library of another kind that it uses */
    char conf[PATH_MAX];                                          /* OPENSSL_CONF */
};

/* Libraries that do a program's TLS in place of OpenSSL; nothing of OpenSSL's configuration reaches them. */
static const struct {
    const char *file, *name;
} others[] = {
    { "libgnutls.so", "GnuTLS" },
    { "libnss3.so", "NSS" },
    { "libmbedtls.so", "Mbed TLS" },
    { "libwolfssl.so", "wolfSSL" },
};

static const char *other_library(const char *file)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(file, others[i].file, strlen(others[i].file)) == 0)
            return others[i].name;
    return NULL;
}

static FILE *open_proc(const char *pid, const char *name)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%s/%s", pid, name);
    return fopen(path, "re");
}

/* Lines such as "7f00-7f10 r-xp 00000000 fe:00 1234    /usr/lib/libcrypto.so.3 (deleted)" */
static int read_maps(struct process *p)
{
    FILE *maps = open_proc(p->pid, "maps");
    char *line = NULL;
    size_t room = 0;

    if (maps == NULL)
        return 0;
    while (getline(&line, &room, maps) > 0) {
        const char *path = strchr(line, '/'), *name = path != NULL ? strrchr(path, '/') + 1 : "";

        line[strcspn(line, "\n")] = '\0';
        if (strncmp(name, "libcrypto.so", 12) == 0)
            snprintf(p->libcrypto, sizeof p->libcrypto, "%s", path);
        else if (strncmp(name, "aesop.so", 8) == 0)
            snprintf(p->aesop, sizeof p->aesop, "%s", path);
        else if (p->other == NULL)
            p->other = other_library(name);
    }
    free(line);
    fclose(maps);
    return 1;
}

static void read_environment(struct process *p)
{
    static const char name[] = "OPENSSL_CONF=";
    FILE *environ = open_proc(p->pid, "environ");
    char *entry = NULL;
    size_t room = 0;

    while (environ != NULL && getdelim(&entry, &room, '\0', environ) > 0)
        if (strncmp(entry, name, sizeof name - 1) == 0)
            snprintf(p->conf, sizeof p->conf, "%s", entry + sizeof name - 1);
    free(entry);
    if (environ != NULL)
        fclose(environ);
}

static void read_program(struct process *p)
{
    char link[64];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/%s/exe", p->pid);
    n = readlink(link, p->program, sizeof p->program - 1);
    p->program[n > 0 ? n : 0] = '\0';
}

int cli_process_check(struct cli_findings *f, const char *pid)
{
    struct process p = { .pid = pid };

    if (*pid == '\0' || strlen(pid) > MAX_DIGITS || strspn(pid, "0123456789") != strlen(pid))
        return cli_fail(CLI_USAGE, "%s: the number of a process is expected", pid);
    if (!read_maps(&p))
        return cli_fail(CLI_SYSTEM, "process %s: %s", pid, strerror(errno));
    read_environment(&p);
    read_program(&p);
    if (strstr(p.aesop, "(deleted)") != NULL)
        cli_found_note(f, "restart it", "process %s (%s) has aesop loaded from a file that was replaced since: %s", pid,
                       p.program, p.aesop);
    else if (p.aesop[0] != '\0')
        cli_found_ok(f, "process %s (%s) has aesop loaded: %s", pid, p.program, p.aesop);
    else if (p.libcrypto[0] != '\0')
        cli_found_fault(f,
                        "restart it if the configuration is newer; programs with a library context of their own, and "
                        "setuid ones with OPENSSL_CONF, ignore it",
                        "process %s (%s) has %s loaded, but not aesop; OPENSSL_CONF = %s", pid, p.program, p.libcrypto,
                        p.conf[0] != '\0' ? p.conf : "(unset: the system's file)");
    else if (p.other != NULL)
        cli_found_fault(f, "none: aesop serves what uses OpenSSL",
                        "process %s (%s) has loaded neither libcrypto nor aesop, but %s", pid, p.program, p.other);
    else
        cli_found_fault(f, "Node.js wants nodejs_conf; others with an OpenSSL inside may not load providers at all",
                        "process %s (%s) has loaded neither libcrypto nor aesop", pid, p.program);
    return CLI_OK;
}
