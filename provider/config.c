/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/params.h>

enum { CHUNK_UNIT = 4096, CHUNK_MAX = 1 << 30, CHUNK_DEFAULT = 1 << 20 };

struct setting;
typedef int parse_fn(struct aesop_config *config, const struct aesop_core *core, const struct setting *setting,
                     const char *value); /* 0: refused, and an error raised */

static parse_fn parse_kernel, parse_chunk, parse_constraints;

static const struct setting {
    const char *key;
    parse_fn *parse;
    const char *allowed;
} settings[] = {
    { "kernel", parse_kernel, "auto, vaes512, vaes256 or aesni" },
    { "chunk", parse_chunk, "a multiple of 4096 from 4096 to 1073741824, in bytes" },
    { "constraints", parse_constraints, "a list such as AES keySize < 256, CBC" },
};
enum { SETTINGS = sizeof settings / sizeof settings[0] };
#define ALL_KEYS "kernel, chunk, constraints"

static int refuse(const struct aesop_core *core, const struct setting *setting, const char *value)
{
    AESOP_RAISE(core, AESOP_R_INVALID_CONFIG_DATA, "%s = %s; allowed: %s", setting->key, value, setting->allowed);
    return 0;
}

static int parse_kernel(struct aesop_config *config, const struct aesop_core *core, const struct setting *setting,
                        const char *value)
{
    static const char *const names[] = { "vaes512", "vaes256", "aesni" };

    config->kernel = NULL;
    if (strcmp(value, "auto") == 0)
        return 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(value, names[i]) == 0)
            config->kernel = names[i];
    return config->kernel != NULL || refuse(core, setting, value);
}

static int parse_chunk(struct aesop_config *config, const struct aesop_core *core, const struct setting *setting,
                       const char *value)
{
    char *end;

    if (!isdigit((unsigned char)value[0]))
        return refuse(core, setting, value); /* strtoul would take a sign and white space */
    const unsigned long bytes = strtoul(value, &end, 10);
    if (*end != '\0' || bytes < CHUNK_UNIT || bytes > CHUNK_MAX || bytes % CHUNK_UNIT != 0)
        return refuse(core, setting, value);
    config->chunk = bytes;
    return 1;
}

static int parse_constraints(struct aesop_config *config, const struct aesop_core *core, const struct setting *setting,
                             const char *value)
{
    struct aesop_constraint_error error;

    config->constraints = aesop_constraints_parse(&error, value);
    if (config->constraints == NULL)
        AESOP_RAISE(core, AESOP_R_INVALID_CONFIG_DATA, "%s = %s; at byte %zu expected: %s; allowed: %s", setting->key,
                    value, error.position, error.expected, setting->allowed);
    return config->constraints != NULL;
}

/* The core fills in *value where the section has the key. */
static OSSL_PARAM ask(const char *key, char **value)
{
    return (OSSL_PARAM){ key, OSSL_PARAM_UTF8_PTR, value, 0, OSSL_PARAM_UNMODIFIED };
}

/* --- Keys that nobody knows ------------------------------------------------------------------------------------------
 *
 * OpenSSL tells a provider the value of a key that the provider names; it does not tell which keys the section has.
 * So we ask for what a slip of the pen makes of ours: one letter more, less, other or exchanged, another case, a
 * likely ending. And for words that belong elsewhere or that one would expect here.
 */
static const char *const other_words[] = {
    "alg_section", "algorithm", "algorithms", "buffer",  "cache",   "cbc",
    "ciphers",     "cpu",       "debug",      "default", "disable", "disabled",
    "enable",      "enabled",   "engine",     "fips",    "gcm",     "instruction",
    "isa",         "log",       "mode",       "modules", "path",    "priority",
    "properties",  "provider",  "query",      "simd",    "size",    "speed",
    "thread",      "threads",   "vaes",       "verbose", "width",   "default_properties",
};

enum { GUESSES = 4096, GUESS_BYTES = 24 };

struct guesses {
    size_t count;
    OSSL_PARAM params[GUESSES + 1];
    char *values[GUESSES];
    char keys[GUESSES][GUESS_BYTES];
};

static void guess(struct guesses *g, const char *key)
{
    for (size_t i = 0; i < SETTINGS; i++)
        if (strcmp(key, settings[i].key) == 0)
            return;
    if (g->count < GUESSES && strlen(key) < GUESS_BYTES) {
        strcpy(g->keys[g->count], key);
        g->params[g->count] = ask(g->keys[g->count], &g->values[g->count]);
        g->count++;
    }
}

static void guess_slips(struct guesses *g, const char *key)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    static const char *const endings[] = { "_size", "-size", "size", "_bytes", "-bytes", "_set", "_name", "_len" };
    const size_t len = strlen(key);
    char slip[GUESS_BYTES];

    for (size_t at = 0; at <= len; at++) {
        const int head = (int)at;

        for (const char *c = letters; *c != '\0'; c++) {
            snprintf(slip, sizeof slip, "%.*s%c%s", head, key, *c, key + at); /* one more */
            guess(g, slip);
            if (at < len) {
                slip[at] = *c; /* another */
                strcpy(slip + at + 1, key + at + 1);
                guess(g, slip);
            }
        }
        if (at < len) {
            snprintf(slip, sizeof slip, "%.*s%s", head, key, key + at + 1); /* one less */
            guess(g, slip);
            strcpy(slip, key);
            slip[at] = (char)toupper((unsigned char)slip[at]);
            guess(g, slip);
        }
        if (at + 1 < len) {
            snprintf(slip, sizeof slip, "%.*s%c%c%s", head, key, key[at + 1], key[at], key + at + 2); /* exchanged */
            guess(g, slip);
        }
    }
    for (size_t i = 0; i <= len; i++)
        slip[i] = (char)toupper((unsigned char)key[i]);
    guess(g, slip);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        snprintf(slip, sizeof slip, "%s%s", key, endings[i]);
        guess(g, slip);
    }
}

static int refuse_unknown_keys(const struct aesop_core *core)
{
    struct guesses *g = core->malloc(sizeof *g, __FILE__, __LINE__);
    int ok;

    if (g == NULL)
        return 0;
    g->count = 0;
    memset(g->values, 0, sizeof g->values);
    for (size_t i = 0; i < SETTINGS; i++)
        guess_slips(g, settings[i].key);
    for (size_t i = 0; i < sizeof other_words / sizeof other_words[0]; i++)
        guess(g, other_words[i]);
    g->params[g->count] = (OSSL_PARAM)OSSL_PARAM_END;
    ok = core->get_params(core->handle, g->params);
    for (size_t i = 0; ok && i < g->count; i++) {
        if (g->values[i] != NULL) {
            AESOP_RAISE(core, AESOP_R_INVALID_CONFIG_DATA, "unknown key %s = %s; allowed: " ALL_KEYS, g->keys[i],
                        g->values[i]);
            ok = 0;
        }
    }
    core->free(g, __FILE__, __LINE__);
    return ok;
}

int aesop_config_read(struct aesop_config *config, const struct aesop_core *core)
{
    char *values[SETTINGS] = { NULL };
    OSSL_PARAM params[SETTINGS + 1];

    *config = (struct aesop_config){ .kernel = NULL, .chunk = CHUNK_DEFAULT };
    for (size_t i = 0; i < SETTINGS; i++)
        params[i] = ask(settings[i].key, &values[i]);
    params[SETTINGS] = (OSSL_PARAM)OSSL_PARAM_END;
    if (!core->get_params(core->handle, params))
        return 0;
    for (size_t i = 0; i < SETTINGS; i++) {
        if (values[i] != NULL && !settings[i].parse(config, core, &settings[i], values[i]))
            goto refused;
    }
    if (refuse_unknown_keys(core))
        return 1;
refused:
    aesop_config_clear(config);
    return 0;
}

void aesop_config_clear(struct aesop_config *config)
{
    aesop_constraints_free(config->constraints);
    config->constraints = NULL;
}
