/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

#define OPTIONS_MAX 16

static const struct bench_option common_options[] = {
    { "seconds", "0.3", "for a row, unless rounds or passes are counted", .most = 3600, .fractions = 1 },
    { "patience", "2", "seconds to wait for a quiet core, for each that is measured", .most = 60, .fractions = 1 },
    { .name = "csv", .says = "gets the rows, separated by commas" },
    { .name = NULL },
};

static struct {
    const struct bench_option *option;
    const char *given; /* NULL: not */
    struct bench_list value;
} options[OPTIONS_MAX];
static size_t option_count;

static void add_options(const struct bench_option *more)
{
    for (; more->name != NULL; more++)
        options[option_count++].option = more;
}

/* Its place in the table, or option_count. */
static size_t option_named(const char *name)
{
    size_t i = 0;

    while (i < option_count && strcmp(options[i].option->name, name) != 0)
        i++;
    return i;
}

/* "some of encrypt,decrypt", "a whole number from 1 to 16" */
static const char *allowed_values(const struct bench_option *o)
{
    static char text[256];

    if (o->words != NULL)
        snprintf(text, sizeof text, "%s of %s", o->list ? "some" : "one", o->words);
    else if (o->most > 0)
        snprintf(text, sizeof text, "%s from %.0f to %.0f",
                 o->fractions ? "a number"
                 : o->list    ? "whole numbers"
                              : "a whole number",
                 o->least, o->most);
    else
        snprintf(text, sizeof text, "a file");
    return text;
}

static void print_help(const char *program, const char *question)
{
    printf("%s\n\nUsage: %s [--NAME VALUE]...\n\n", question, program);
    for (size_t i = 0; i < option_count; i++) {
        const struct bench_option *o = options[i].option;

        printf("  --%-14s %s%s%s", o->name, o->says != NULL ? o->says : "", o->says != NULL ? ": " : "",
               allowed_values(o));
        printf("%s%s\n", o->otherwise != NULL ? "; default " : "", o->otherwise != NULL ? o->otherwise : "");
    }
}

void bench_refuse(const char *name, const char *value, const char *allowed)
{
    fprintf(stderr, "--%s %s: allowed: %s\n", name, value, allowed);
    exit(2);
}

static int find_word(size_t *index, const char *words, const char *word)
{
    const size_t len = strlen(word);

    for (*index = 0;; ++*index) {
        const size_t to_comma = strcspn(words, ",");

        if (to_comma == len && strncmp(words, word, len) == 0)
            return 1;
        if (words[to_comma] == '\0')
            return 0;
        words += to_comma + 1;
    }
}

static int read_item(size_t *number, const struct bench_option *o, const char *item)
{
    char *end;
    const double value = strtod(item, &end);

    if (o->words != NULL)
        return find_word(number, o->words, item);
    if (o->most == 0)
        return 1;
    /* What is no number at all is not within the range either. */
    if (end == item || *end != '\0' || !(value >= o->least && value <= o->most))
        return 0;
    *number = (size_t)value;
    return o->fractions || (double)*number == value;
}

static void read_value(struct bench_list *value, const struct bench_option *o, const char *text)
{
    char *rest = strdup(text); /* the items live as long as the program */

    bench_check(rest != NULL, "memory");
    for (char *item; (item = strsep(&rest, o->list ? "," : "")) != NULL; value->count++) {
        if (value->count == BENCH_LIST_MAX)
            bench_refuse(o->name, text, "at most 32 items");
        if (!read_item(&value->numbers[value->count], o, item))
            bench_refuse(o->name, text, allowed_values(o));
        value->items[value->count] = item;
    }
}

/* What is no option, or has no value: names those that there are. */
static _Noreturn void refuse_argument(const char *argument, const char *reason)
{
    fprintf(stderr, "%s: %s; options are pairs, and allowed are", argument, reason);
    for (size_t i = 0; i < option_count; i++)
        fprintf(stderr, " --%s", options[i].option->name);
    fprintf(stderr, " (and --help alone)\n");
    exit(2);
}

void bench_options_read(int argc, char **argv, const char *question, const struct bench_option its_options[])
{
    add_options(its_options);
    add_options(common_options);
    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], "--help") == 0) {
            print_help(argv[0], question);
            exit(0);
        }
        const size_t at = strncmp(argv[i], "--", 2) == 0 ? option_named(argv[i] + 2) : option_count;
        if (at == option_count)
            refuse_argument(argv[i], "no such option");
        if (i + 1 == argc)
            refuse_argument(argv[i], "its value is missing");
        if (options[at].given != NULL)
            refuse_argument(argv[i], "given twice");
        options[at].given = argv[i + 1];
    }
    for (size_t i = 0; i < option_count; i++) {
        const struct bench_option *o = options[i].option;
        const char *text = options[i].given != NULL ? options[i].given : o->otherwise;

        if (text != NULL)
            read_value(&options[i].value, o, text);
    }
}

const struct bench_list *bench_list(const char *name)
{
    const size_t at = option_named(name);

    bench_check(at < option_count, name);
    return &options[at].value;
}

const char *bench_text(const char *name)
{
    return bench_list(name)->items[0];
}

size_t bench_number(const char *name)
{
    return bench_list(name)->numbers[0];
}

double bench_fraction(const char *name)
{
    return strtod(bench_text(name), NULL);
}

double bench_seconds(void)
{
    return bench_fraction("seconds");
}
