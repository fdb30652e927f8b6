/* SPDX-License-Identifier: Apache-2.0 */
/* What every test program shares: library contexts with and without aesop, kernels, seeds, guarded memory, CUnit. */
#ifndef AESOP_TEST_SUPPORT_H
#define AESOP_TEST_SUPPORT_H

#include <stddef.h>
#include <stdint.h>

#include <CUnit/CUnit.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

/* The names of all kernel sets, widest first, NULL at the end. */
extern const char *const support_kernels[];
/*
 * Whether this CPU has the instructions of a kernel set. Asks the compiler's library, not the module: a kernel that the
 * module gives up, since its self-test fails, must not pass for one that the CPU lacks.
 */
int support_cpu_runs(const char *kernel);

/*
 * A library context with aesop (that kernel, or NULL for its own choice) and default active and
 * default_properties = ?provider=aesop, all through a configuration file, as users do it. NULL where aesop refuses to
 * load (this CPU lacks the kernel); the error queue then holds the reason.
 */
OSSL_LIB_CTX *support_ctx_aesop(const char *kernel);
/* The same with extra lines of aesop's section ("chunk = 4096\n"), or NULL. */
OSSL_LIB_CTX *support_ctx_aesop_with(const char *section_lines);
/* The folder of aesop.so: the environment's AESOP_MODULE_DIR, or what the build says. */
const char *support_module_dir(void);
/*
 * The one of --kernel. Where this CPU cannot run that kernel, says so and ends the program as left out; where it can
 * and aesop does not load all the same, NULL with the reason printed.
 */
OSSL_LIB_CTX *support_ctx_chosen(void);
/* A library context with default alone. */
OSSL_LIB_CTX *support_ctx_default(void);
/*
 * Calls check with a context of every kernel set in turn (or of --kernel's alone), with extra lines of aesop's section
 * or NULL. A kernel that this CPU lacks is reported by support_skip; any other failure to load fails the test.
 */
void support_each_kernel(const char *section_lines, void (*check)(OSSL_LIB_CTX *aesop, const char *kernel));
/* Fetches a cipher and asserts that this provider serves it: NULL, with the check failed, otherwise. */
EVP_CIPHER *support_fetch(OSSL_LIB_CTX *ctx, const char *name, const char *provider);
/* Frees a context and unloads what support_ctx_... loaded into it. */
void support_ctx_free(OSSL_LIB_CTX *ctx);

/* Says on stdout that a check was left out, and why; counted in the closing lines of support_run. */
void support_skip(const char *what, const char *why);

/*
 * Call first in main. Parses the command line (--seed N, --kernel NAME, --long, names of the suites to run) and
 * initialises CUnit's registry.
 */
void support_init(int argc, char **argv);
/*
 * Runs the registered CUnit suites, prints the summary, frees the registry. Returns main's exit status: 0, 1 where a
 * check failed or none ran, or SUPPORT_EXIT_SKIPPED where none ran because all were left out.
 */
int support_run(void);
#define SUPPORT_EXIT_SKIPPED 77 /* ctest's SKIP_RETURN_CODE */
/* Both, with a table of suites between them. */
int support_main(int argc, char **argv, CU_SuiteInfo *suites);

int support_long(void);           /* --long was given */
const char *support_kernel(void); /* --kernel NAME, or NULL */
uint64_t support_seed(void);      /* --seed N, or a fixed one */

/* xoshiro256**; a test seeds its own stream so that one failure repeats alone. */
struct support_random {
    uint64_t s[4];
};
void support_random_seed(struct support_random *r, uint64_t seed);
uint64_t support_random_below(struct support_random *r, uint64_t limit);
void support_random_bytes(struct support_random *r, void *out, size_t len);

/*
 * Memory of exactly `size` bytes between unreadable pages: at_end puts its last byte before the page behind, otherwise
 * its first byte follows the page in front. data is NULL where there is no memory. Freed by support_guarded_free.
 */
struct support_guarded {
    unsigned char *data;
    size_t size;
    void *map;
    size_t map_size;
};
struct support_guarded support_guarded_alloc(size_t size, int at_end);
void support_guarded_free(struct support_guarded *g);

#endif
