/* SPDX-License-Identifier: Apache-2.0 */
/* conf: prints a configuration that switches aesop on, or checks one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/conf.h>
#include <openssl/crypto.h>

#include "cli/cli.h"
#include "cli/config.h"
#include "cli/output.h"

static const char *const kernels[] = { "auto", "vaes512", "vaes256", "aesni" };

static int check_kernel(const char *name)
{
    if (name == NULL)
        return CLI_OK;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (strcmp(name, kernels[i]) == 0)
            return CLI_OK;
    return cli_fail(CLI_USAGE, "--kernel %s: auto, vaes512, vaes256 or aesni is expected", name);
}

static int print_conf(const struct cli_options *o)
{
    char *module = o->module != NULL ? realpath(o->module, NULL) : NULL, *text = NULL;
    struct cli_output output;
    int len, status = check_kernel(o->kernel);

    if (status == CLI_OK && o->module != NULL && module == NULL)
        status = cli_fail(CLI_SYSTEM, "--module %s: %s", o->module, strerror(errno));
    /* A Node.js with an OpenSSL of its own looks for modules where that was built. */
    if (status == CLI_OK && module == NULL && o->node && asprintf(&module, "%s/aesop.so", cli_modules_folder()) < 0) {
        module = NULL;
        status = cli_fail(CLI_SYSTEM, "out of memory");
    }
    if (status == CLI_OK && module != NULL && strpbrk(module, CLI_CONFIG_SIGNS "\n\r") != NULL)
        status = cli_fail(CLI_USAGE, "--module %s: a configuration cannot name such a path", module);
    if (status != CLI_OK)
        goto done;
    len = asprintf(
        &text,
        "# Switches aesop on: OPENSSL_CONF=/path/to/this/file PROGRAM, or as a part of the system's openssl.cnf.\n"
        "openssl_conf = openssl_init\n"
        "%s"
        "\n[openssl_init]\nproviders = providers\nalg_section = algorithms\n"
        "\n[providers]\naesop = aesop_section\ndefault = default_section\n"
        "\n[aesop_section]\nactivate = 1\n%s%s%s%s%s%s"
        "\n[default_section]\nactivate = 1\n"
        "\n[algorithms]\n# The ? matters: without it, what aesop lacks cannot be found any more.\n"
        "default_properties = ?provider=aesop\n",
        o->node ? "nodejs_conf = openssl_init\n" : "", module != NULL ? "module = " : "", module != NULL ? module : "",
        module != NULL ? "\n" : "", o->kernel != NULL ? "kernel = " : "", o->kernel != NULL ? o->kernel : "",
        o->kernel != NULL ? "\n" : "");
    if (len < 0) {
        text = NULL;
        status = cli_fail(CLI_SYSTEM, "out of memory");
        goto done;
    }
    status = cli_output_open(&output, o->output, o->force, 0644, 0);
    if (status == CLI_OK)
        status = cli_output_close(&output, cli_output_write(&output, text, (size_t)len));
done:
    free(module);
    free(text);
    return status;
}

int cli_conf(const struct cli_options *o)
{
    struct cli_findings findings = { .quiet = o->quiet };
    char *path;

    if (!o->check && o->input != NULL)
        return cli_fail(CLI_USAGE, "%s: a file is only named to --check it; --output writes one", o->input);
    if (!o->check)
        return print_conf(o);
    if (o->module != NULL || o->kernel != NULL || o->node || o->output != NULL)
        return cli_fail(CLI_USAGE, "--check takes a file and nothing else");
    path = o->input != NULL ? OPENSSL_strdup(o->input) : CONF_get1_default_config_file();
    if (path == NULL)
        return cli_fail(CLI_SYSTEM, "out of memory");
    cli_config_check(&findings, path);
    OPENSSL_free(path);
    return findings.faults > 0;
}
