/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define QUIET_SECONDS 1.0
#define REDRAW_SECONDS 0.1

enum { MAX_BAR = 50, DEFAULT_COLUMNS = 80 };

void cli_progress_start(struct cli_progress *p, uint64_t total, int quiet)
{
    *p = (struct cli_progress){ .total = total, .shown = !quiet && isatty(STDERR_FILENO) };
    clock_gettime(CLOCK_MONOTONIC, &p->start);
}

static double seconds_since(const struct timespec *start)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) * 1e-9;
}

const char *cli_bytes_text(char out[16], double bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    size_t i = 0;

    while (bytes >= 1024 && i + 1 < sizeof units / sizeof units[0]) {
        bytes /= 1024;
        i++;
    }
    snprintf(out, 16, i > 0 && bytes < 100 ? "%.1f %s" : "%.0f %s", bytes, units[i]);
    return out;
}

static int columns(void)
{
    struct winsize size;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : DEFAULT_COLUMNS;
}

static void draw(const struct cli_progress *p, double seconds)
{
    const double rate = (double)p->done / seconds;
    char done[16], speed[16], numbers[96], bar[MAX_BAR + 1];
    int width, full;

    cli_bytes_text(done, (double)p->done);
    cli_bytes_text(speed, rate);
    if (p->total == 0 || p->done > p->total) {
        fprintf(stderr, "\r\033[K%s, %s/s", done, speed);
        return;
    }
    {
        const double left = rate > 0 ? (double)(p->total - p->done) / rate : 0;
        const long s = left < 359999 ? (long)(left + 0.5) : 359999;

        snprintf(numbers, sizeof numbers, " %3d%%  %s, %s/s, %ld:%02ld:%02ld left",
                 (int)((double)p->done * 100 / (double)p->total), done, speed, s / 3600, s / 60 % 60, s % 60);
    }
    width = columns() - (int)strlen(numbers) - 3;
    width = width > MAX_BAR ? MAX_BAR : width < 0 ? 0 : width;
    full = (int)((double)p->done / (double)p->total * width);
    memset(bar, ' ', sizeof bar);
    memset(bar, '#', (size_t)full);
    fprintf(stderr, "\r\033[K[%.*s]%s", width, bar, numbers);
}

void cli_progress_add(struct cli_progress *p, uint64_t bytes)
{
    double seconds;

    p->done += bytes;
    if (!p->shown)
        return;
    seconds = seconds_since(&p->start);
    if (seconds < QUIET_SECONDS || seconds < p->drawn + REDRAW_SECONDS)
        return;
    draw(p, seconds);
    p->drawn = seconds;
}

double cli_progress_stop(struct cli_progress *p)
{
    if (p->drawn > 0)
        fputs("\r\033[K", stderr);
    p->drawn = 0;
    return seconds_since(&p->start);
}
