/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/quiet.h"

#include <math.h>
#include <stdint.h>

#include "bench/bench.h"

/* Below this share of the best the core is not ours alone: who shares it takes a third or more of its width. */
#define QUIET_SHARE 0.95
/* Seconds in which the best is forgotten by a factor of e, lest it be the speed of a clock that has become slower. */
#define BEST_SECONDS 30.0

/* Additions per ns where eight never wait for each other, which is more than any core does in a cycle. */
static double additions_per_ns(void)
{
#define ADD_EIGHT "add $1, %0; add $1, %1; add $1, %2; add $1, %3; add $1, %4; add $1, %5; add $1, %6; add $1, %7; "
    enum { TIMES = 1000, ADDITIONS = 8 * 4 };
    uint64_t n[8] = { 0 };
    const double start = bench_now();

    for (int i = 0; i < TIMES; i++)
        __asm__ volatile(ADD_EIGHT ADD_EIGHT ADD_EIGHT ADD_EIGHT
                         : "+r"(n[0]), "+r"(n[1]), "+r"(n[2]), "+r"(n[3]), "+r"(n[4]), "+r"(n[5]), "+r"(n[6]),
                           "+r"(n[7])
                         :
                         : "cc");
    return ADDITIONS * TIMES / (bench_now() - start) * 1e-9;
}

int quiet_now(void)
{
    static double best, best_at;
    const double now = bench_now(), speed = additions_per_ns();

    best = fmax(best * exp((best_at - now) / BEST_SECONDS), speed);
    best_at = now;
    return speed >= QUIET_SHARE * best;
}

static size_t counted, disturbed;

void quiet_count(int quiet)
{
    counted++;
    disturbed += !quiet;
}

double quiet_disturbed(void)
{
    return counted > 0 ? 100 * (double)disturbed / (double)counted : 0;
}
