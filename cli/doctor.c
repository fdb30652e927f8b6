/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: who serves AES in this process and under the system's configuration, and why. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/conf.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/x509.h>

#include "ciphers/cpu.h"
#include "cli/cli.h"
#include "cli/config.h"
#include "cli/process.h"
#include "cli/served.h"

static void print_cpu(void)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } features[] = {
        { AESOP_CPU_AESNI, "AES-NI and PCLMULQDQ" },
        { AESOP_CPU_AVX2, "AVX2" },
        { AESOP_CPU_VAES, "VAES and VPCLMULQDQ" },
        { AESOP_CPU_AVX512, "AVX-512" },
    };
    const uint32_t there = aesop_cpu_features();
    const char *comma = "";

    printf("CPU            ");
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
        if ((there & features[i].bit) != 0) {
            printf("%s%s", comma, features[i].name);
            comma = ", ";
        }
    }
    puts(*comma == '\0' ? "no AES instructions that aesop knows" : "");
}

/* To be freed; or NULL. */
static char *system_file(void)
{
    char *path;

    return asprintf(&path, "%s/openssl.cnf", X509_get_default_cert_area()) < 0 ? NULL : path;
}

static void print_row(const char *name, const char *here, const char *there)
{
    if (there != NULL)
        printf("%-15s%-15s%s\n", name, here, there);
    else
        printf("%-15s%s\n", name, here);
}

static void print_table(OSSL_LIB_CTX *system)
{
    char here[CLI_NAME_BYTES], there[CLI_NAME_BYTES];

    putchar('\n');
    print_row("served by", "this program", system != NULL ? "system's file" : NULL);
    for (const char *const *cipher = cli_served_ciphers; *cipher != NULL; cipher++)
        print_row(*cipher, cli_cipher_server(here, NULL, *cipher, NULL),
                  system != NULL ? cli_cipher_server(there, system, *cipher, NULL) : NULL);
    print_row("SHA2-256", cli_digest_server(here, NULL, "SHA2-256"),
              system != NULL ? cli_digest_server(there, system, "SHA2-256") : NULL);
}

/* What the program itself meets, whatever the file says. */
static void check_this_program(struct cli_findings *f)
{
    char server[CLI_NAME_BYTES];

    if (f->crashes)
        return;
    if (strcmp(cli_digest_server(server, NULL, "SHA2-256"), "nobody") == 0)
        cli_found_fault(f, "see the faults above", "SHA2-256 is not to be had: most programs will fail");
    if (cli_aesop_serves_all(NULL))
        cli_found_ok(f, "aesop serves all its ciphers in this program");
    else
        cli_found_fault(f, f->faults > 0 ? "see the faults above" : "see who is preferred in default_properties",
                        "aesop does not serve all its ciphers in this program");
}

static int check_here(struct cli_findings *f, const struct cli_options *o)
{
    const char *variable = secure_getenv("OPENSSL_CONF");
    char *file = CONF_get1_default_config_file(), *system = system_file();
    OSSL_LIB_CTX *system_ctx = NULL;
    char how[CLI_HOW_BYTES];
    int dies = 0;

    if (file == NULL || system == NULL) {
        OPENSSL_free(file);
        free(system);
        return cli_fail(CLI_SYSTEM, "out of memory");
    }
    if (variable != NULL && strcmp(file, system) != 0)
        dies = cli_config_dies(how, system);
    if (variable != NULL && strcmp(file, system) != 0 && !dies) {
        system_ctx = OSSL_LIB_CTX_new();
        /* Where it refuses, the table shows what is served without it, as it does for programs. */
        if (system_ctx != NULL)
            OSSL_LIB_CTX_load_config(system_ctx, system);
        ERR_clear_error();
    }
    if (!o->quiet) {
        printf("libcrypto      %s\n", OpenSSL_version(OPENSSL_VERSION));
        printf("modules        %s%s\n", cli_modules_folder(),
               secure_getenv("OPENSSL_MODULES") != NULL ? " (OPENSSL_MODULES)" : "");
        printf("configuration  %s%s\n", file, variable != NULL ? " (OPENSSL_CONF)" : "");
        if (system_ctx != NULL)
            printf("system's file  %s\n", system);
        print_cpu();
        putchar('\n');
    }
    if (dies)
        cli_found_fault(f, CLI_DIES_FIX, "%s, the system's file: loading it ends a program (%s)", system, how);
    /* Before anything of this process' own context is used, since that loads the module. */
    if (file[0] == '\0')
        cli_found_fault(f, "unset it, or let it name a file", "OPENSSL_CONF is empty: no configuration is read");
    else
        cli_config_check(f, file);
    check_this_program(f);
    if (!o->quiet && !f->crashes)
        print_table(system_ctx);
    OSSL_LIB_CTX_free(system_ctx);
    OPENSSL_free(file);
    free(system);
    return CLI_OK;
}

int cli_doctor(const struct cli_options *o)
{
    struct cli_findings findings = { .quiet = o->quiet };
    const int status = o->input != NULL ? cli_process_check(&findings, o->input) : check_here(&findings, o);

    return status != CLI_OK ? status : findings.faults > 0;
}
