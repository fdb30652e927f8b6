/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Characters as the C locale has them, which are those of OpenSSL's names and properties. <ctype.h> and strcasecmp go
 * by the program's locale: in a Turkish one "IDEA" is not "idea", in others bytes above 127 are letters.
 */
#ifndef AESOP_CACHE_ASCII_H
#define AESOP_CACHE_ASCII_H

#include <stddef.h>

static inline int aesop_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline char aesop_to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline int aesop_is_letter(char c)
{
    return aesop_to_lower(c) >= 'a' && aesop_to_lower(c) <= 'z';
}

static inline int aesop_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Whether a begins like b, for n characters, in any case. */
static inline int aesop_begins_like(const char *a, const char *b, size_t n)
{
    size_t i = 0;

    while (i < n && a[i] != '\0' && aesop_to_lower(a[i]) == aesop_to_lower(b[i]))
        i++;
    return i == n;
}

#endif
