/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <CUnit/Basic.h>
#include <openssl/err.h>
#include <openssl/provider.h>

const char *const support_kernels[] = { "vaes512", "vaes256", "aesni", NULL };

static struct {
    int long_form;
    const char *kernel;
    uint64_t seed;
    char **suites; /* NULL-terminated names that were asked for */
    unsigned skipped;
} options = { .seed = 20240229 };

/* ---- library contexts ---- */

const char *support_module_dir(void)
{
    const char *dir = getenv("AESOP_MODULE_DIR");

    return dir != NULL ? dir : AESOP_MODULE_DIR;
}

/* A library context as a program has it whose openssl.cnf holds that text. */
static OSSL_LIB_CTX *ctx_from_config(const char *text)
{
    char path[] = "/tmp/aesop-test-XXXXXX";
    int fd = mkstemp(path);
    OSSL_LIB_CTX *ctx = NULL;

    if (fd < 0)
        return NULL;
    if (dprintf(fd, "%s", text) > 0)
        ctx = OSSL_LIB_CTX_new();
    if (ctx != NULL && !OSSL_LIB_CTX_load_config(ctx, path)) {
        OSSL_LIB_CTX_free(ctx);
        ctx = NULL;
    }
    close(fd);
    unlink(path);
    return ctx;
}

/* With aesop activated by the configuration, or only described in it. */
static OSSL_LIB_CTX *ctx_with_section(const char *section_lines, int activate)
{
    static const char format[] = "openssl_conf = init\n"
                                 "[init]\nproviders = providers\nalg_section = algorithms\n"
                                 "[providers]\naesop = aesop_section\ndefault = default_section\n"
                                 "[aesop_section]\nmodule = %s/aesop.so\n%s%s\n"
                                 "[default_section]\nactivate = 1\n"
                                 "[algorithms]\ndefault_properties = ?provider=aesop\n";
    OSSL_LIB_CTX *ctx;
    char *text;

    if (asprintf(&text, format, support_module_dir(), activate ? "activate = 1\n" : "",
                 section_lines != NULL ? section_lines : "") < 0)
        return NULL;
    ctx = ctx_from_config(text);
    free(text);
    return ctx;
}

OSSL_LIB_CTX *support_ctx_aesop_with(const char *section_lines)
{
    OSSL_LIB_CTX *ctx = ctx_with_section(section_lines, 1);
    OSSL_PROVIDER *provider;

    /* OpenSSL goes on without a provider that does not load. */
    if (ctx == NULL || OSSL_PROVIDER_available(ctx, "aesop"))
        return ctx;
    OSSL_LIB_CTX_free(ctx);
    /* It has also dropped the errors: only an explicit load leaves them. */
    ctx = ctx_with_section(section_lines, 0);
    provider = OSSL_PROVIDER_load(ctx, "aesop");
    if (provider != NULL) {
        printf("    aesop loads, but not when the configuration activates it\n");
        OSSL_PROVIDER_unload(provider);
    }
    OSSL_LIB_CTX_free(ctx);
    return NULL;
}

OSSL_LIB_CTX *support_ctx_aesop(const char *kernel)
{
    char line[64] = "";

    if (kernel != NULL)
        snprintf(line, sizeof line, "kernel = %s\n", kernel);
    return support_ctx_aesop_with(line);
}

OSSL_LIB_CTX *support_ctx_default(void)
{
    return ctx_from_config("openssl_conf = init\n[init]\nproviders = providers\n"
                           "[providers]\ndefault = default_section\n[default_section]\nactivate = 1\n");
}

void support_ctx_free(OSSL_LIB_CTX *ctx)
{
    OSSL_LIB_CTX_free(ctx);
}

int support_cpu_runs(const char *kernel)
{
#if defined(__x86_64__)
    int runs = __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");

    if (strncmp(kernel, "vaes", 4) == 0) {
        unsigned eax, ebx, ecx, edx;

        /* clang 14 does not know these two by name. */
        runs = runs && __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) &&
               (ecx & bit_VAES) != 0 && (ecx & bit_VPCLMULQDQ) != 0;
    }
    if (strcmp(kernel, "vaes512") == 0)
        runs = runs && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return runs;
#else
    (void)kernel;
    return 0;
#endif
}

OSSL_LIB_CTX *support_ctx_chosen(void)
{
    OSSL_LIB_CTX *ctx;

    if (options.kernel != NULL && !support_cpu_runs(options.kernel)) {
        support_skip(options.kernel, "this CPU cannot run it");
        exit(SUPPORT_EXIT_SKIPPED);
    }
    ctx = support_ctx_aesop(options.kernel);
    if (ctx == NULL)
        ERR_print_errors_fp(stdout);
    return ctx;
}

void support_each_kernel(const char *section_lines, void (*check)(OSSL_LIB_CTX *aesop, const char *kernel))
{
    for (size_t i = 0; support_kernels[i] != NULL; i++) {
        const char *kernel = support_kernels[i];
        char lines[256];
        OSSL_LIB_CTX *ctx;

        if (options.kernel != NULL && strcmp(options.kernel, kernel) != 0)
            continue;
        if (!support_cpu_runs(kernel)) {
            support_skip(kernel, "this CPU cannot run it");
            continue;
        }
        snprintf(lines, sizeof lines, "kernel = %s\n%s", kernel, section_lines != NULL ? section_lines : "");
        ERR_clear_error();
        ctx = support_ctx_aesop_with(lines);
        if (ctx != NULL) {
            check(ctx, kernel);
        } else {
            ERR_print_errors_fp(stdout);
            CU_FAIL("aesop did not load");
        }
        support_ctx_free(ctx);
    }
}

EVP_CIPHER *support_fetch(OSSL_LIB_CTX *ctx, const char *name, const char *provider)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(ctx, name, NULL);

    if (cipher != NULL && strcmp(OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher)), provider) != 0) {
        printf("    %s comes from %s, not %s\n", name, OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher)),
               provider);
        EVP_CIPHER_free(cipher);
        cipher = NULL;
    }
    CU_ASSERT_PTR_NOT_NULL(cipher);
    return cipher;
}

/* ---- command line and CUnit ---- */

static void usage(const char *program)
{
    fprintf(stderr, "usage: %s [--seed N] [--kernel NAME] [--long] [SUITE ...]\n", program);
    exit(2);
}

void support_init(int argc, char **argv)
{
    static const struct option known[] = {
        { "seed", required_argument, NULL, 's' },
        { "kernel", required_argument, NULL, 'k' },
        { "long", no_argument, NULL, 'l' },
        { NULL, 0, NULL, 0 },
    };
    int c;

    while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
        char *end = "";

        if (c == 's')
            options.seed = strtoull(optarg, &end, 0);
        else if (c == 'k')
            options.kernel = optarg;
        else if (c == 'l')
            options.long_form = 1;
        if (c == '?' || *end != '\0')
            usage(argv[0]);
    }
    options.suites = argv + optind;

    /* A test that crashes shall have said what it was at. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (CU_initialize_registry() != CUE_SUCCESS) {
        fprintf(stderr, "%s\n", CU_get_error_msg());
        exit(1);
    }
}

int support_run(void)
{
    unsigned failures = 0, checks = 0;

    CU_basic_set_mode(CU_BRM_VERBOSE);
    if (*options.suites == NULL) {
        failures += CU_basic_run_tests() != CUE_SUCCESS;
        failures += CU_get_number_of_failures();
        checks += CU_get_number_of_asserts();
    }
    for (char **name = options.suites; *name != NULL; name++) {
        CU_pSuite suite = CU_get_suite(*name);

        if (suite == NULL) {
            printf("no suite is called %s\n", *name);
            failures++;
            continue;
        }
        failures += CU_basic_run_suite(suite) != CUE_SUCCESS;
        failures += CU_get_number_of_failures();
        checks += CU_get_number_of_asserts();
    }
    CU_cleanup_registry();

    printf("%u checks, %u failed, %u left out; seed %llu\n", checks, failures, options.skipped,
           (unsigned long long)options.seed);
    if (failures > 0)
        return 1;
    if (checks > 0)
        return 0;
    return options.skipped > 0 ? SUPPORT_EXIT_SKIPPED : 1;
}

int support_main(int argc, char **argv, CU_SuiteInfo *suites)
{
    support_init(argc, argv);
    if (CU_register_suites(suites) != CUE_SUCCESS) {
        fprintf(stderr, "%s\n", CU_get_error_msg());
        return 1;
    }
    return support_run();
}

void support_skip(const char *what, const char *why)
{
    printf("    left out: %s: %s\n", what, why);
    options.skipped++;
}

int support_long(void)
{
    return options.long_form;
}

const char *support_kernel(void)
{
    return options.kernel;
}

uint64_t support_seed(void)
{
    return options.seed;
}

/* ---- random numbers ---- */

/* splitmix64, as the authors of xoshiro advise for seeding it: neighbouring seeds give unrelated streams. */
void support_random_seed(struct support_random *r, uint64_t seed)
{
    for (size_t i = 0; i < 4; i++) {
        uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        r->s[i] = z ^ (z >> 31);
    }
}

static uint64_t rotate_left(uint64_t x, unsigned n)
{
    return (x << n) | (x >> (64 - n));
}

static uint64_t random_next(struct support_random *r)
{
    uint64_t *s = r->s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

/* The bias of the remainder does not matter to a test. */
uint64_t support_random_below(struct support_random *r, uint64_t limit)
{
    return random_next(r) % limit;
}

void support_random_bytes(struct support_random *r, void *out, size_t len)
{
    unsigned char *p = out;

    while (len > 0) {
        uint64_t word = random_next(r);
        size_t n = len < sizeof word ? len : sizeof word;

        memcpy(p, &word, n);
        p += n;
        len -= n;
    }
}

/* ---- guarded memory ---- */

struct support_guarded support_guarded_alloc(size_t size, int at_end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t middle = (size + page - 1) / page * page; /* none for size 0: then data points at unreadable memory */
    struct support_guarded g = { NULL, size, NULL, middle + 2 * page };
    unsigned char *map = mmap(NULL, g.map_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (map == MAP_FAILED)
        return g;
    g.map = map;
    if (middle > 0 && mprotect(map + page, middle, PROT_READ | PROT_WRITE) != 0) {
        support_guarded_free(&g);
        return g;
    }
    g.data = map + page + (at_end ? middle - size : 0);
    return g;
}

void support_guarded_free(struct support_guarded *g)
{
    if (g->map != NULL)
        munmap(g->map, g->map_size);
    g->map = g->data = NULL;
}
