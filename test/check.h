/* SPDX-License-Identifier: Apache-2.0 */
/* An assertion whose failure tells the values that made it fail. */
#ifndef AESOP_TEST_CHECK_H
#define AESOP_TEST_CHECK_H

#include <stdarg.h>
#include <stdio.h>

#include <CUnit/CUnit.h>

/* Counts one check; where it fails the message (printf format) goes into CUnit's report. Returns ok. */
#define CHECK(ok, ...) check_at((ok) ? 1 : 0, __FILE__, __LINE__, __VA_ARGS__)

static inline __attribute__((format(printf, 4, 5))) int check_at(int ok, const char *file, unsigned line,
                                                                 const char *format, ...)
{
    char message[1024] = "";
    va_list args;

    if (!ok) {
        va_start(args, format);
        vsnprintf(message, sizeof message, format, args);
        va_end(args);
    }
    CU_assertImplementation(ok ? CU_TRUE : CU_FALSE, line, message, file, "", CU_FALSE);
    return ok;
}

#endif
