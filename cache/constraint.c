/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/constraint.h"

#include <stdlib.h>
#include <string.h>

#include "cache/ascii.h"

enum {
    NAME_MAX_CHARS = 120, /* of an algorithm as it is asked for, or of a NAME; no known one has half of it */
    /* "-with-" for "with" makes a name half as long again, spellings and what a name implies a little more */
    ROW_BYTES = 2 * NAME_MAX_CHARS,
    PARTS_MAX = 3, /* digest, key and mask of SHA1withRSAandMGF1 */
    SECONDS_PER_DAY = 86400,
};

/* ---- names as rows of elements --------------------------------------------------------------------------------------
 *
 * A row is a string "-tls-rsa-aes-128-cbc-sha1-": every element between two hyphens, so that "stands in that row" is
 * strstr. What is spelled in several ways is rewritten, in this order, wherever it stands.
 */
static const struct spelling {
    const char *from, *to;
} spellings[] = {
    { "rsaencryption-", "rsa-" },
    { "-rsassapss-", "-rsassa-pss-" },
    { "-dsaencryption-", "-dsa-" },
    { "-id-ecpublickey-", "-ec-" },
    { "-dhkeyagreement-", "-dh-" },
    { "-dhx-", "-dh-" },
    { "andmgf1-", "-mgf1-" },
    { "-hmacsha", "-hmac-sha" },
    { "-hmacmd5-", "-hmac-md5-" },
    { "-md-5-", "-md5-" },
    { "-sha-1-", "-sha1-" },
    { "-sha-224-", "-sha224-" },
    { "-sha-256-", "-sha256-" },
    { "-sha-384-", "-sha384-" },
    { "-sha-512-", "-sha512-" },
    { "-sha2-224-", "-sha224-" },
    { "-sha2-256-", "-sha256-" },
    { "-sha2-384-", "-sha384-" },
    { "-sha2-512-", "-sha512-" },
    { "-sha512-224-", "-sha512/224-" },
    { "-sha512-256-", "-sha512/256-" },
    { "-sha-", "-sha1-" },
    { "-aes128-", "-aes-128-" },
    { "-aes192-", "-aes-192-" },
    { "-aes256-", "-aes-256-" },
    { "-camellia128-", "-camellia-128-" },
    { "-camellia192-", "-camellia-192-" },
    { "-camellia256-", "-camellia-256-" },
    { "-aria128-", "-aria-128-" },
    { "-aria192-", "-aria-192-" },
    { "-aria256-", "-aria-256-" },
    { "-des-cbc3-", "-3des-ede-cbc-" },
    { "-des-ede3-", "-3des-ede-" },
    { "-desede-", "-3des-ede-" },
    { "-des-ede-", "-3des-ede-" },
    { "-des3-", "-3des-" },
    { "-tripledes-", "-3des-" },
    { "-arcfour-", "-rc4-" },
    { "-blowfish-", "-bf-" },
    { "-ripemd160-", "-ripemd-160-" },
    { "-diffiehellman-", "-dh-" },
    { "-p-256-", "-secp256r1-" },
    { "-p256-", "-secp256r1-" },
    { "-prime256v1-", "-secp256r1-" },
    { "-p-384-", "-secp384r1-" },
    { "-p384-", "-secp384r1-" },
    { "-p-521-", "-secp521r1-" },
    { "-p521-", "-secp521r1-" },
    { "-prime192v1-", "-secp192r1-" },
    { "-ml-kem", "-mlkem" }, /* and so one element: DSA does not stand for ML-DSA */
    { "-ml-dsa", "-mldsa" },
    { "-slh-dsa", "-slhdsa" },
    { "mlkem512-", "-mlkem-512-" },
    { "mlkem768-", "-mlkem-768-" },
    { "mlkem1024-", "-mlkem-1024-" },
    { "-mldsa44-", "-mldsa-44-" },
    { "-mldsa65-", "-mldsa-65-" },
    { "-mldsa87-", "-mldsa-87-" },
    { "-ssl-", "-tls-" }, /* SSL_RSA_WITH_..., as Java calls old suites */
    { "--", "-" },
    { "-tlsv1.0-", "-tlsv1-" },
    { "-dtlsv1-", "-dtlsv1.0-" },
};

/*
 * What an algorithm is that its name does not say in so many words; added to its row. Only suites name digests that
 * are used in HMAC.
 */
static const struct {
    const char *element, *also;
    int of_suites;
} implied[] = {
    { "-dhe-", "dh-", 0 },
    { "-dss-", "dsa-", 0 },
    { "-des40-", "des-", 0 },
    { "-md5-", "hmac-md5-", 1 },
    { "-sha1-", "hmac-sha1-", 1 },
    { "-sha256-", "hmac-sha256-", 1 },
    { "-sha384-", "hmac-sha384-", 1 },
    { "-rsa-pss-", "rsassa-pss-", 0 },
    { "-ed25519-", "eddsa-", 0 },
    { "-ed448-", "eddsa-", 0 },
};

static int is_name_char(char c)
{
    return aesop_is_letter(c) || aesop_is_digit(c);
}

/* Puts `to` in the place of every `from`. The ends of both are shared hyphens, so a match may begin in the last one. */
static int row_rewrite(char row[ROW_BYTES], const char *from, const char *to)
{
    const size_t from_len = strlen(from), to_len = strlen(to);

    for (char *at = row; (at = strstr(at, from)) != NULL; at += to_len - 1) {
        const size_t rest = strlen(at + from_len) + 1;

        if ((size_t)(at - row) + to_len + rest > ROW_BYTES)
            return 0;
        memmove(at + to_len, at + from_len, rest);
        memcpy(at, to, to_len);
    }
    return 1;
}

/*
 * The row of a name, and whether "with" joins digest and key in it (then the element "with" stands between them).
 * Between underscores it is the "with" of TLS suites, which says nothing. Returns 0 where the name is too long.
 */
static int row_make(char row[ROW_BYTES], int *joined, const char *name, size_t len)
{
    size_t n = 0;

    *joined = 0;
    if (len > NAME_MAX_CHARS)
        return 0;
    row[n++] = '-';
    for (size_t i = 0; i < len; i++) {
        const int element_starts = row[n - 1] == '-';

        if (len - i >= 4 && aesop_begins_like(name + i, "with", 4)) {
            const int of_suite = i > 0 && name[i - 1] == '_';

            if (!element_starts)
                row[n++] = '-';
            if (!of_suite) {
                memcpy(row + n, "with-", 5);
                n += 5;
                *joined = 1;
            }
            i += 3;
        } else if (is_name_char(name[i]) || name[i] == '.' || name[i] == '*') {
            row[n++] = aesop_to_lower(name[i]);
        } else if (!element_starts) {
            row[n++] = '-';
        }
    }
    if (row[n - 1] != '-')
        row[n++] = '-';
    row[n] = '\0';
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++)
        if (!row_rewrite(row, spellings[i].from, spellings[i].to))
            return 0;
    return 1;
}

static int row_is_suite(const char *row)
{
    return strncmp(row, "-tls-", 5) == 0;
}

/* Makes the row of an algorithm that is asked for. */
static int row_imply(char row[ROW_BYTES])
{
    const int is_suite = row_is_suite(row);

    for (size_t i = 0; i < sizeof implied / sizeof implied[0]; i++) {
        if ((implied[i].of_suites && !is_suite) || strstr(row, implied[i].element) == NULL)
            continue;
        if (strlen(row) + strlen(implied[i].also) >= ROW_BYTES)
            return 0;
        strcat(row, implied[i].also);
    }
    return 1;
}

/* ---- the parsed list ---- */

enum comparison { LESS_EQUAL, LESS, EQUAL, NOT_EQUAL, GREATER_EQUAL, GREATER };

/* The longer of two that begin alike comes first. */
static const char *const comparison_texts[] = { "<=", "<", "==", "!=", ">=", ">" };

struct size_condition {
    int of_tag;
    enum comparison comparison;
    unsigned bits;
};

struct entry {
    char *row; /* one row after the other where NAME has several parts */
    const char *parts[PARTS_MAX];
    size_t part_count;
    int prefix; /* NAME ended in "*" */
    struct size_condition *sizes;
    size_t size_count;
    unsigned usage; /* bits, 0: for every usage */
    int64_t deny_after;
    int has_day;
    char *text;
};

struct aesop_constraints {
    struct entry *entries;
    size_t count;
    int64_t *days; /* every denyAfter */
    size_t day_count;
};

static const struct {
    const char *name;
    unsigned bit;
} usages[] = {
    { "TLSServer", AESOP_CONSTRAINT_TLS_SERVER },
    { "TLSClient", AESOP_CONSTRAINT_TLS_CLIENT },
    { "SignedJAR", AESOP_CONSTRAINT_SIGNED_JAR },
    { "CertificateSignature", AESOP_CONSTRAINT_CERTIFICATE_SIGNATURE },
    { "HandshakeSignature", AESOP_CONSTRAINT_HANDSHAKE_SIGNATURE },
};

/* ---- parsing ---- */

struct parser {
    const char *list, *at;
    struct aesop_constraint_error *error;
};

static int expected(struct parser *p, const char *what)
{
    p->error->position = (size_t)(p->at - p->list);
    p->error->expected = what;
    return 0;
}

static void skip_space(struct parser *p)
{
    while (aesop_is_space(*p->at))
        p->at++;
}

/* A word goes on to the next white space or to one of the signs. */
static size_t word_length(const struct parser *p)
{
    size_t n = 0;

    while (p->at[n] != '\0' && !aesop_is_space(p->at[n]) && strchr(",&<>=!", p->at[n]) == NULL)
        n++;
    return n;
}

/* Takes the word if it is that one. */
static int take_word(struct parser *p, const char *word)
{
    const size_t n = word_length(p);

    if (n != strlen(word) || !aesop_begins_like(p->at, word, n))
        return 0;
    p->at += n;
    skip_space(p);
    return 1;
}

static void *grown(void *array, size_t count, size_t size)
{
    return realloc(array, (count + 1) * size);
}

/* Up to max_digits digits; -1 where there is none or too many. */
static long take_number(struct parser *p, size_t digits_min, size_t digits_max)
{
    long value = 0;
    size_t n = 0;

    for (; aesop_is_digit(p->at[n]); n++)
        if (n < digits_max)
            value = 10 * value + (p->at[n] - '0');
    if (n < digits_min || n > digits_max)
        return -1;
    p->at += n;
    return value;
}

static int parse_size(struct parser *p, struct entry *e, int of_tag)
{
    struct size_condition condition = { .of_tag = of_tag };
    size_t i = 0;
    long bits;
    void *sizes;

    while (i < sizeof comparison_texts / sizeof comparison_texts[0] &&
           strncmp(p->at, comparison_texts[i], strlen(comparison_texts[i])) != 0)
        i++;
    if (i == sizeof comparison_texts / sizeof comparison_texts[0])
        return expected(p, "one of <= < == != >= >");
    p->at += strlen(comparison_texts[i]);
    skip_space(p);
    condition.comparison = (enum comparison)i;
    if (word_length(p) != strspn(p->at, "0123456789") || (bits = take_number(p, 1, 6)) < 0)
        return expected(p, "a size in bits, 0 to 999999");
    condition.bits = (unsigned)bits;
    skip_space(p);
    if ((sizes = grown(e->sizes, e->size_count, sizeof condition)) == NULL)
        return expected(p, "memory");
    e->sizes = sizes;
    e->sizes[e->size_count++] = condition;
    return 1;
}

/* Days from 1970-01-01 to a day of the Gregorian calendar: years are counted from March, so that leap days end them. */
static int64_t days_since_1970(long year, long month, long day)
{
    const long y = month > 2 ? year : year - 1, month_from_march = (month + 9) % 12;
    const long day_of_year = (153 * month_from_march + 2) / 5 + day - 1;

    return 365 * (int64_t)y + y / 4 - y / 100 + y / 400 + day_of_year - 719468;
}

static int parse_day(struct parser *p, struct entry *e)
{
    static const char what[] = "a day, YYYY-MM-DD";
    static const int month_days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    const char *start = p->at;
    const long year = take_number(p, 4, 4), month = year >= 0 && *p->at == '-' ? (p->at++, take_number(p, 2, 2)) : -1;
    const long day = month >= 0 && *p->at == '-' ? (p->at++, take_number(p, 2, 2)) : -1;
    const int leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    if (word_length(p) != 0 || month < 1 || month > 12 || day < 1 || day > month_days[month - 1] ||
        (month == 2 && day == 29 && !leap)) {
        p->at = start;
        return expected(p, what);
    }
    if (e->has_day) {
        p->at = start;
        return expected(p, "no second denyAfter");
    }
    e->has_day = 1;
    e->deny_after = days_since_1970(year, month, day) * SECONDS_PER_DAY;
    skip_space(p);
    return 1;
}

static int parse_usage(struct parser *p, struct entry *e)
{
    static const char what[] = "TLSServer, TLSClient, SignedJAR, CertificateSignature or HandshakeSignature";
    unsigned bits = 0;

    do {
        size_t i = 0;

        while (i < sizeof usages / sizeof usages[0] && !take_word(p, usages[i].name))
            i++;
        if (i == sizeof usages / sizeof usages[0])
            return expected(p, what);
        bits |= usages[i].bit;
    } while (word_length(p) > 0);
    if (e->usage != 0)
        return expected(p, "no second usage");
    e->usage = bits;
    return 1;
}

static int parse_condition(struct parser *p, struct entry *e)
{
    if (take_word(p, "keySize"))
        return parse_size(p, e, 0);
    if (take_word(p, "tagSize"))
        return parse_size(p, e, 1);
    if (take_word(p, "denyAfter"))
        return parse_day(p, e);
    if (take_word(p, "usage"))
        return parse_usage(p, e);
    return expected(p, "keySize, tagSize, denyAfter or usage");
}

/* Cuts a row at its elements "with". */
static int entry_set_parts(struct entry *e, int joined)
{
    static const char with[] = "-with-";
    char *at = e->row;

    for (;;) {
        char *cut = joined && !row_is_suite(e->row) ? strstr(at, with) : NULL;

        if (e->part_count == PARTS_MAX)
            return 0;
        e->parts[e->part_count++] = at;
        if (cut == NULL)
            break;
        at = cut + sizeof with -
             2; /* the hyphen at its end begins the next part, and the one at its start ends this one */
        cut[1] = '\0';
    }
    for (size_t i = 0; i < e->part_count; i++)
        if (e->parts[i][0] == '\0' || e->parts[i][1] == '\0')
            return 0; /* "with" that joins nothing */
    return 1;
}

static int parse_name(struct parser *p, struct entry *e)
{
    static const char what[] = "the name of an algorithm or of a part of it";
    const size_t length = word_length(p);
    size_t n = length;
    char row[ROW_BYTES];
    int joined;

    e->prefix = n > 0 && p->at[n - 1] == '*';
    if (e->prefix)
        n--;
    for (size_t i = 0; i < n; i++)
        if (!is_name_char(p->at[i]) && strchr("-_./", p->at[i]) == NULL) {
            p->at += i;
            return expected(p, "letters, digits and - _ . / in a name, or * at its end");
        }
    if (n == 0 || !is_name_char(*p->at) || !row_make(row, &joined, p->at, length))
        return expected(p, what);
    /* TLS_RSA_* ends with a whole element, TLS_ECDH* amid the last one. */
    row[strcspn(row, "*")] = '\0';
    /* It is the other name of RSASSA-PSS, which RSA does not stand for. */
    if (strcmp(row, "-rsa-pss-") == 0 && !e->prefix)
        memcpy(row, "-rsassa-pss-", sizeof "-rsassa-pss-");
    if ((e->row = strdup(row)) == NULL)
        return expected(p, "memory");
    if (!entry_set_parts(e, joined) || (e->prefix && e->part_count > 1))
        return expected(p, what);
    p->at += length;
    skip_space(p);
    return 1;
}

static int parse_entry(struct parser *p, struct entry *e)
{
    static const char what[] = "'&', ',' or the end";
    const char *start = p->at, *end;

    if (!parse_name(p, e))
        return 0;
    if (word_length(p) > 0 && !parse_condition(p, e))
        return 0;
    while (*p->at == '&') {
        p->at++;
        skip_space(p);
        if (!parse_condition(p, e))
            return 0;
    }
    if (*p->at != ',' && *p->at != '\0')
        return expected(p, what);
    for (end = p->at; end > start && aesop_is_space(end[-1]);)
        end--;
    e->text = strndup(start, (size_t)(end - start));
    return e->text != NULL || expected(p, "memory");
}

/* The entry is counted before it is parsed, so that whatever it holds is freed with the list. */
static int parse_next(struct parser *p, struct aesop_constraints *c)
{
    struct entry *e = &c->entries[c->count++];

    skip_space(p);
    if (!parse_entry(p, e))
        return 0;
    if (e->has_day)
        c->days[c->day_count++] = e->deny_after;
    return 1;
}

struct aesop_constraints *aesop_constraints_parse(struct aesop_constraint_error *error, const char *list)
{
    struct parser p = { list, list, error };
    struct aesop_constraints *c = calloc(1, sizeof *c);
    size_t most = 1;
    int ok;

    for (const char *at = list; *at != '\0'; at++)
        most += *at == ',';
    ok = c != NULL && (c->entries = calloc(most, sizeof *c->entries)) != NULL &&
         (c->days = calloc(most, sizeof *c->days)) != NULL;
    if (!ok)
        expected(&p, "memory");
    skip_space(&p);
    if (ok && *p.at != '\0') {
        for (ok = parse_next(&p, c); ok && *p.at == ','; ok = parse_next(&p, c))
            p.at++;
    }
    if (!ok) {
        aesop_constraints_free(c);
        c = NULL;
    }
    return c;
}

void aesop_constraints_free(struct aesop_constraints *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->count; i++) {
        free(c->entries[i].row);
        free(c->entries[i].sizes);
        free(c->entries[i].text);
    }
    free(c->entries);
    free(c->days);
    free(c);
}

/* ---- asking ---- */

static int size_holds(const struct size_condition *condition, unsigned bits)
{
    switch (condition->comparison) {
    case LESS_EQUAL:
        return bits <= condition->bits;
    case LESS:
        return bits < condition->bits;
    case EQUAL:
        return bits == condition->bits;
    case NOT_EQUAL:
        return bits != condition->bits;
    case GREATER_EQUAL:
        return bits >= condition->bits;
    default:
        return bits > condition->bits;
    }
}

/* The number that follows what matched: 128 after "-aes-" in "-aes-128-gcm-"; 0 where none does. */
static unsigned bits_in_name(const char *after_match)
{
    char *end;
    unsigned long bits;

    if (!aesop_is_digit(*after_match))
        return 0;
    bits = strtoul(after_match, &end, 10);
    return *end == '-' && bits <= AESOP_CONSTRAINT_BITS_MAX ? (unsigned)bits : 0;
}

/* Whether the entry's name matches; *after points behind the hyphen that ends the match. */
static int name_matches(const struct entry *e, const char *row, const char **after)
{
    const char *at = row;

    if (e->prefix) {
        *after = row + strlen(e->parts[0]);
        return strncmp(row, e->parts[0], strlen(e->parts[0])) == 0;
    }
    if (e->part_count > 1 && row_is_suite(row))
        return 0; /* digest and key of a suite are not those of one signature */
    for (size_t i = 0; i < e->part_count; i++) {
        if ((at = strstr(row, e->parts[i])) == NULL)
            return 0;
        *after = at + strlen(e->parts[i]);
    }
    return 1;
}

static int entry_forbids(const struct entry *e, const struct aesop_constraint_question *q, const char *row)
{
    const char *after = row;

    if (!name_matches(e, row, &after))
        return 0;
    if (e->usage != 0 && (e->usage & q->usage) == 0)
        return 0;
    if (e->has_day && q->when < e->deny_after)
        return 0;
    for (size_t i = 0; i < e->size_count; i++) {
        unsigned bits = e->sizes[i].of_tag ? q->tag_bits : q->key_bits;

        if (bits == 0 && !e->sizes[i].of_tag)
            bits = bits_in_name(after);
        if (bits == 0 || !size_holds(&e->sizes[i], bits))
            return 0;
    }
    return 1;
}

const char *aesop_constraints_forbid(const struct aesop_constraints *c, const struct aesop_constraint_question *q)
{
    static const char too_long[] = "(the algorithm's name is too long)";
    char row[ROW_BYTES];
    int joined;

    if (c->count == 0)
        return NULL;
    if (!row_make(row, &joined, q->algorithm, strlen(q->algorithm)))
        return too_long;
    if (joined)
        row_rewrite(row, "-with-", "-");
    if (!row_imply(row))
        return too_long;
    for (size_t i = 0; i < c->count; i++)
        if (entry_forbids(&c->entries[i], q, row))
            return c->entries[i].text;
    return NULL;
}

unsigned aesop_constraints_era(const struct aesop_constraints *c, int64_t when)
{
    unsigned era = 0;

    for (size_t i = 0; i < c->day_count; i++)
        era += when >= c->days[i];
    return era;
}

int aesop_constraints_have_days(const struct aesop_constraints *c)
{
    return c->day_count > 0;
}

int aesop_constraints_have_usages(const struct aesop_constraints *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->entries[i].usage != 0)
            return 1;
    return 0;
}
