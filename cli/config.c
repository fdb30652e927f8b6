/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/config.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/conf.h>
#include <openssl/crypto.h>
#include <openssl/err.h>

#include "cli/cli.h"
#include "cli/input.h"
#include "cli/served.h"

/* --- findings ----------------------------------------------------------------------------------------------------- */

static void print(const char *kind, const char *fix, const char *format, va_list args)
{
    printf("%-5s  ", kind);
    vprintf(format, args);
    printf("%s%s\n", fix != NULL ? "; fix: " : "", fix != NULL ? fix : "");
}

void cli_found_ok(struct cli_findings *f, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (!f->quiet)
        print("ok", NULL, format, args);
    va_end(args);
}

void cli_found_note(struct cli_findings *f, const char *fix, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (!f->quiet)
        print("note", fix, format, args);
    va_end(args);
}

void cli_found_fault(struct cli_findings *f, const char *fix, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print("fault", fix, format, args);
    va_end(args);
    f->faults++;
}

/* --- what crashes ------------------------------------------------------------------------------------------------- */

/* Lets a child try what may end a program: a module that is not whole does so within the loader. */
static int dies(char how[CLI_HOW_BYTES], void (*try)(const void *arg), const void *arg)
{
    const pid_t child = fork();
    int status;

    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(const struct rlimit){ 0, 0 });
        try(arg);
        _exit(0);
    }
    if (child < 0)
        return 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 0;
    if (WIFSIGNALED(status))
        snprintf(how, CLI_HOW_BYTES, "%s", strsignal(WTERMSIG(status)));
    else
        snprintf(how, CLI_HOW_BYTES, "exit status %d", WEXITSTATUS(status));
    return WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
}

static void try_config(const void *path)
{
    OSSL_LIB_CTX_load_config(OSSL_LIB_CTX_new(), path);
}

int cli_config_dies(char how[CLI_HOW_BYTES], const char *path)
{
    return dies(how, try_config, path);
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

struct config {
    const char *path;
    CONF *conf;
    const char *init, *providers; /* names of sections, or NULL */
    const char *aesop, *standard; /* the same, of aesop's and default's; NULL: not listed */
    int aesop_at, standard_at;    /* their places in the list */
    int serves;                   /* aesop serves all its ciphers under this file */
};

/* Without an error in the queue where there is none. */
static const char *get(const struct config *c, const char *section, const char *key)
{
    const char *value = NCONF_get_string(c->conf, section, key);

    ERR_clear_error();
    return value;
}

static int has_section(const struct config *c, const char *section)
{
    const int there = NCONF_get_section(c->conf, section) != NULL;

    ERR_clear_error();
    return there;
}

static int load_file(struct config *c, struct cli_findings *f)
{
    long line = -1;

    if (access(c->path, R_OK) != 0) {
        cli_found_fault(f, "write one with \"aesop conf\", or name another one in OPENSSL_CONF", "%s: %s", c->path,
                        strerror(errno));
        return 0;
    }
    c->conf = NCONF_new(NULL);
    if (c->conf == NULL || NCONF_load(c->conf, c->path, &line) <= 0) {
        const char *text = "",
                   *reason = ERR_reason_error_string(ERR_peek_last_error_all(NULL, NULL, NULL, &text, NULL));

        cli_found_fault(f, "correct that line; nothing of the file is used", "%s: line %ld: %s %s", c->path, line,
                        reason != NULL ? reason : "not understood", text);
        ERR_clear_error();
        return 0;
    }
    return 1;
}

/* From the file's first entry to the section of the providers. */
static int find_providers(struct config *c, struct cli_findings *f)
{
    c->init = get(c, NULL, "openssl_conf");
    if (c->init == NULL) {
        cli_found_fault(f, "write \"openssl_conf = openssl_init\" in front of the first [section]",
                        "%s: no entry openssl_conf: programs ignore the file", c->path);
        return 0;
    }
    if (!has_section(c, c->init)) {
        cli_found_fault(f, "write that section; \"aesop conf\" shows it",
                        "%s: openssl_conf names [%s], which is not there", c->path, c->init);
        return 0;
    }
    c->providers = get(c, c->init, "providers");
    if (c->providers == NULL || !has_section(c, c->providers)) {
        cli_found_fault(f, "write \"providers = NAME\" there, and the section [NAME]; \"aesop conf\" shows both",
                        "[%s]: no list of providers", c->init);
        return 0;
    }
    return 1;
}

static void find_sections(struct config *c)
{
    const STACK_OF(CONF_VALUE) *list = NCONF_get_section(c->conf, c->providers);

    for (int i = 0; i < sk_CONF_VALUE_num(list); i++) {
        const CONF_VALUE *entry = sk_CONF_VALUE_value(list, i);

        if (strcmp(entry->name, "aesop") == 0) {
            c->aesop = entry->value;
            c->aesop_at = i;
        } else if (strcmp(entry->name, "default") == 0) {
            c->standard = entry->value;
            c->standard_at = i;
        }
    }
}

/* Whether the section says activate = 1, or a finding. */
static int is_activated(const struct config *c, struct cli_findings *f, const char *name, const char *section)
{
    static const char *const no[] = { "0", "no", "false", "off" };
    const char *value;

    if (!has_section(c, section)) {
        cli_found_fault(f, "write that section, with \"activate = 1\"", "[%s]: %s = %s, but there is no [%s]",
                        c->providers, name, section, section);
        return 0;
    }
    value = get(c, section, "activate");
    if (value == NULL) {
        cli_found_fault(f, "write \"activate = 1\" there", "[%s]: %s is not activated", section, name);
        return 0;
    }
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
        if (strcasecmp(value, no[i]) == 0) {
            cli_found_fault(f, "write \"activate = 1\"", "[%s]: activate = %s, which releases before 3.2 take for yes",
                            section, value);
            return 0;
        }
    }
    return 1;
}

static void check_default(const struct config *c, struct cli_findings *f)
{
    if (c->standard == NULL)
        cli_found_fault(f, "add \"default = default_section\" there, and [default_section] with \"activate = 1\"",
                        "[%s]: default is not listed: activating another provider switches it off, and all digests "
                        "with it",
                        c->providers);
    else if (is_activated(c, f, "default", c->standard))
        cli_found_ok(f, "[%s]: default is activated", c->standard);
}

/* --- the module --------------------------------------------------------------------------------------------------- */

const char *cli_modules_folder(void)
{
    const char *folder = secure_getenv("OPENSSL_MODULES");

    return folder != NULL ? folder : OPENSSL_info(OPENSSL_INFO_MODULES_DIR);
}

/* As libcrypto finds it. To be freed; or NULL. */
static char *module_path(const struct config *c)
{
    const char *module = get(c, c->aesop, "module");
    char *path;
    int n;

    if (module != NULL && module[0] == '/')
        n = asprintf(&path, "%s", module);
    else
        n = asprintf(&path, "%s/%s", cli_modules_folder(), module != NULL ? module : "aesop.so");
    return n < 0 ? NULL : path;
}

typedef ElfW(Ehdr) elf_header;

/* The header, as far as it is the same in files for 32 and for 64 bits; all of it is ours if the class is. */
static int read_elf(elf_header *elf, off_t *size, const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const int ok =
        fd >= 0 && cli_read_full(fd, elf, sizeof *elf) == sizeof *elf && memcmp(elf->e_ident, ELFMAG, SELFMAG) == 0;

    if (fd >= 0) {
        *size = lseek(fd, 0, SEEK_END);
        close(fd);
    }
    return ok;
}

static int check_module_file(struct cli_findings *f, const char *path)
{
    elf_header module, own;
    off_t size, needed, own_size;

    if (access(path, R_OK) != 0) {
        cli_found_fault(f,
                        errno == ENOENT ? "install aesop, or let \"module\" name the file's whole path"
                                        : "make it readable for everybody who runs a program with this configuration",
                        "%s: %s", path, strerror(errno));
        return 0;
    }
    if (!read_elf(&module, &size, path)) {
        cli_found_fault(f, "install aesop anew", "%s is not a shared object", path);
        return 0;
    }
    if (read_elf(&own, &own_size, "/proc/self/exe") &&
        (module.e_machine != own.e_machine || module.e_ident[EI_CLASS] != own.e_ident[EI_CLASS])) {
        cli_found_fault(f, "install the aesop of this machine's architecture",
                        "%s is made for another architecture (ELF machine %u, here %u)", path, module.e_machine,
                        own.e_machine);
        return 0;
    }
    /* The table of sections is what stands last. Loading less than all crashes programs instead of failing. */
    needed = (off_t)module.e_shoff + module.e_shnum * module.e_shentsize;
    if (size < needed) {
        cli_found_fault(f, "install aesop anew; until then programs crash", "%s: %lld bytes of %lld are there", path,
                        (long long)size, (long long)needed);
        f->crashes = 1;
        return 0;
    }
    return 1;
}

/* A value in which the parser of configurations finds nothing to expand. */
static void write_value(FILE *out, const char *value)
{
    for (; *value != '\0'; value++) {
        if (strchr(CLI_CONFIG_SIGNS, *value) != NULL)
            fputc('\\', out);
        fputc(*value, out);
    }
}

/*
 * Loads aesop with the settings of its section into ctx. Since libcrypto is silent about an activated provider that
 * does not load, the configuration for this has it without "activate", and it is then loaded by name. Returns it, or
 * NULL.
 */
static OSSL_PROVIDER *load_module(const struct config *c, OSSL_LIB_CTX *ctx, const char *path)
{
    const STACK_OF(CONF_VALUE) *section = NCONF_get_section(c->conf, c->aesop);
    const int fd = memfd_create("openssl.cnf", MFD_CLOEXEC);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    OSSL_PROVIDER *provider = NULL;
    char name[32];

    if (out == NULL)
        return NULL;
    fputs("openssl_conf = start\n[start]\nproviders = list\n[list]\naesop = section\n[section]\nmodule = ", out);
    write_value(out, path);
    for (int i = 0; i < sk_CONF_VALUE_num(section); i++) {
        const CONF_VALUE *entry = sk_CONF_VALUE_value(section, i);

        if (strcmp(entry->name, "activate") == 0 || strcmp(entry->name, "module") == 0 ||
            strcmp(entry->name, "identity") == 0)
            continue;
        fprintf(out, "\n%s = ", entry->name);
        write_value(out, entry->value);
    }
    fputc('\n', out);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ERR_clear_error();
    if (fflush(out) == 0 && OSSL_LIB_CTX_load_config(ctx, name))
        provider = OSSL_PROVIDER_load(ctx, "aesop");
    fclose(out);
    return provider;
}

static void check_offer(const struct config *c, struct cli_findings *f, OSSL_LIB_CTX *ctx, const char *path,
                        const char *kernel)
{
    char server[CLI_NAME_BYTES], missing[128] = "";

    if (kernel != NULL && strcmp(kernel, "none") == 0) {
        cli_found_fault(f, "none on this machine; the default provider goes on serving",
                        "%s loads, but this CPU has no AES instructions: it offers nothing", path);
        return;
    }
    for (const char *const *cipher = cli_served_ciphers; *cipher != NULL; cipher++)
        if (strcmp(cli_cipher_server(server, ctx, *cipher, "provider=aesop"), "aesop") != 0)
            snprintf(missing + strlen(missing), sizeof missing - strlen(missing), " %s", *cipher);
    if (missing[0] != '\0')
        cli_found_fault(f, "change \"constraints\" in aesop's section, if that is not intended",
                        "[%s]: aesop does not offer%s", c->aesop, missing);
    cli_found_ok(f, "%s loads; kernel %s", path, kernel != NULL ? kernel : "unknown");
}

/* libcrypto does not tell the module which keys its section has; here they can be read. */
static void check_keys(const struct config *c, struct cli_findings *f)
{
    static const char *const known[] = {
        "module", "activate", "identity", "soft_load", "kernel", "chunk", "constraints"
    };
    const STACK_OF(CONF_VALUE) *section = NCONF_get_section(c->conf, c->aesop);

    for (int i = 0; i < sk_CONF_VALUE_num(section); i++) {
        const char *name = sk_CONF_VALUE_value(section, i)->name;
        size_t at = 0;

        while (at < sizeof known / sizeof known[0] && strcmp(name, known[at]) != 0)
            at++;
        if (at == sizeof known / sizeof known[0])
            cli_found_fault(f, "remove it; aesop's settings are kernel, chunk and constraints",
                            "[%s]: %s is no setting that anybody reads", c->aesop, name);
    }
}

struct module {
    const struct config *config;
    OSSL_LIB_CTX *ctx;
    char *path;
};

static void try_module(const void *arg)
{
    const struct module *m = arg;

    load_module(m->config, m->ctx, m->path);
}

static void check_module(const struct config *c, struct cli_findings *f)
{
    OSSL_LIB_CTX *ctx = OSSL_LIB_CTX_new();
    char *path = module_path(c), how[CLI_HOW_BYTES];

    if (ctx == NULL || path == NULL || !check_module_file(f, path))
        goto done;
    if (dies(how, try_module, &(const struct module){ c, ctx, path })) {
        cli_found_fault(f, "install aesop anew; until then programs crash", "%s: loading it ends a program (%s)", path,
                        how);
        f->crashes = 1;
    } else {
        OSSL_PROVIDER *provider = load_module(c, ctx, path);

        if (provider != NULL) {
            check_offer(c, f, ctx, path, cli_provider_kernel(provider));
            OSSL_PROVIDER_unload(provider);
        } else {
            /* The first error is the module's or the loader's own. */
            const char *text = "", *reason;

            reason = ERR_reason_error_string(ERR_get_error_all(NULL, NULL, NULL, &text, NULL));
            cli_found_fault(f, "correct the setting that it names, or install aesop anew", "%s does not load: %s: %s",
                            path, reason != NULL ? reason : "no reason given", text);
        }
    }
done:
    ERR_clear_error();
    free(path);
    OSSL_LIB_CTX_free(ctx);
}

/* --- preference --------------------------------------------------------------------------------------------------- */

#define WISH "default_properties = ?provider=aesop"
#define ADD_WISH \
    "write \"alg_section = algorithms\" in the section that openssl_conf names, and [algorithms] with \"" WISH "\""

/* Where a query asks for aesop: 2 if it is a wish (with the ?), 1 if a demand, 0 not at all. */
static int asks_for_aesop(const char *query)
{
    char compact[256];
    const char *found;
    size_t n = 0;

    for (; *query != '\0' && n + 1 < sizeof compact; query++)
        if (*query != ' ' && *query != '\t')
            compact[n++] = *query;
    compact[n] = '\0';
    found = strcasestr(compact, "provider=aesop");
    return found == NULL ? 0 : found > compact && found[-1] == '?' ? 2 : 1;
}

static void check_preference(const struct config *c, struct cli_findings *f)
{
    const char *section = get(c, c->init, "alg_section");
    const char *query = section != NULL ? get(c, section, "default_properties") : NULL;
    const int asks = query != NULL ? asks_for_aesop(query) : 0;

    if (section != NULL && !has_section(c, section)) {
        cli_found_fault(f, "write that section, with \"" WISH "\"", "[%s]: alg_section names [%s], which is not there",
                        c->init, section);
    } else if (asks == 2) {
        cli_found_ok(f, "[%s]: default_properties = %s", section, query);
    } else if (asks == 1) {
        cli_found_fault(f, "write \"" WISH "\"",
                        "[%s]: default_properties = %s has no \"?\": what aesop lacks, all digests for a start, cannot "
                        "be found",
                        section, query);
    } else if (query != NULL) {
        cli_found_fault(f, "write \"" WISH "\" (and know that aesop never matches fips=yes)",
                        "[%s]: default_properties = %s does not prefer aesop", section, query);
    } else if (c->standard != NULL && c->aesop_at > c->standard_at && !c->serves) {
        /* OpenSSL 3.0 takes the first of two equals in the file. */
        cli_found_fault(f, ADD_WISH, "[%s]: default stands before aesop, and no default_properties prefer aesop",
                        c->providers);
    } else {
        cli_found_note(f, ADD_WISH,
                       "[%s]: no default_properties: who serves hangs on the release and on the order of providers",
                       c->init);
    }
}

static void check_node(const struct config *c, struct cli_findings *f)
{
    const char *node = get(c, NULL, "nodejs_conf"), *module = get(c, c->aesop, "module");

    if (node == NULL)
        cli_found_note(f, "write \"nodejs_conf = NAME\" beside openssl_conf, with the same section",
                       "%s: no entry nodejs_conf: Node.js ignores the file unless it runs with --openssl-shared-config",
                       c->path);
    else if (!has_section(c, node))
        cli_found_fault(f, "let it name the section that openssl_conf names",
                        "%s: nodejs_conf names [%s], which is not there", c->path, node);
    else if (module == NULL || module[0] != '/')
        cli_found_note(f, "let \"module\" name aesop.so's whole path",
                       "[%s]: a Node.js with an OpenSSL of its own looks for modules where that was built, not in %s",
                       c->aesop, cli_modules_folder());
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

/* Under the file as it is, in a library context of its own. */
static void try_file(struct config *c, struct cli_findings *f)
{
    OSSL_LIB_CTX *ctx = OSSL_LIB_CTX_new();
    char how[CLI_HOW_BYTES];

    ERR_clear_error();
    if (ctx == NULL || f->crashes)
        goto done;
    if (cli_config_dies(how, c->path)) {
        cli_found_fault(f, CLI_DIES_FIX, "%s: loading it ends a program (%s)", c->path, how);
        f->crashes = 1;
    } else if (!OSSL_LIB_CTX_load_config(ctx, c->path)) {
        const char *text = "", *reason = ERR_reason_error_string(ERR_peek_error_all(NULL, NULL, NULL, &text, NULL));

        cli_found_fault(f, "correct what it names; programs may refuse to start", "%s: libcrypto refuses it: %s: %s",
                        c->path, reason != NULL ? reason : "no reason given", text);
    } else {
        c->serves = cli_aesop_serves_all(ctx);
    }
done:
    OSSL_LIB_CTX_free(ctx);
    ERR_clear_error();
}

static void tell_outcome(const struct config *c, struct cli_findings *f)
{
    if (c->serves)
        cli_found_ok(f, "%s: aesop serves all its ciphers under this file", c->path);
    else if (f->faults == 0)
        cli_found_fault(f, "write \"" WISH "\"",
                        "%s: another provider than aesop serves, for no reason that is known here", c->path);
}

void cli_config_check(struct cli_findings *f, const char *path)
{
    struct config c = { .path = path };

    if (load_file(&c, f) && find_providers(&c, f)) {
        find_sections(&c);
        if (c.aesop == NULL) {
            cli_found_fault(f, "add \"aesop = aesop_section\" there, and that section; \"aesop conf\" shows it",
                            "[%s]: aesop is not listed", c.providers);
        } else {
            if (is_activated(&c, f, "aesop", c.aesop)) {
                check_keys(&c, f);
                check_module(&c, f);
            }
            check_default(&c, f);
            try_file(&c, f);
            check_preference(&c, f);
            tell_outcome(&c, f);
        }
    }
    if (c.conf != NULL && c.aesop != NULL)
        check_node(&c, f);
    NCONF_free(c.conf);
}
