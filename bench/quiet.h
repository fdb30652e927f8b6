/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is anybody else at work on this core? On a shared machine others run on the core's other thread and take turns on the
 * core itself, for a tenth of a millisecond or for minutes. Code that fills the core loses a quarter of its speed to
 * them and code that waits for latencies loses nothing: ratios of alternating slices suffer too.
 */
#ifndef AESOP_BENCH_QUIET_H
#define AESOP_BENCH_QUIET_H

/* Whether nobody is, at this moment; takes a microsecond or two. */
int quiet_now(void);

/* For the record: a slice counts that was quiet or was not. */
void quiet_count(int quiet);
/* Percent of the slices that count and were not. */
double quiet_disturbed(void);

#endif
