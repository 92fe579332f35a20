/* bench/timing.h: how the programs of bench/ measure and print. */
#ifndef DYNC_BENCH_TIMING_H
#define DYNC_BENCH_TIMING_H
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES = 15 };
typedef struct bench_times {
    double low, median, high;
} bench_times;

static double now_ns(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bench_times summary(double *t, int n)
{
    bench_times s;
    qsort(t, (size_t)n, sizeof *t, by_value);
    s.low = t[0];
    s.median = n % 2 ? t[n / 2] : (t[n / 2 - 1] + t[n / 2]) / 2;
    s.high = t[n - 1];
    return s;
}

/* "1.25 us"; returns text. */
static const char *show_ns(double ns, char *text, size_t n)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    int unit = 0;
    if (ns != ns) return "-";
    while (unit < 3 && fabs(ns) >= 1000) {
        ns /= 1000;
        unit++;
    }
    snprintf(text, n, "%.*f %s", fabs(ns) < 10 ? 2 : fabs(ns) < 100 ? 1 : 0, ns, units[unit]);
    return text;
}

static double time_of(void (*fn)(void), long repeats)
{
    double start = now_ns();
    for (long i = 0; i < repeats; i++) fn();
    return (now_ns() - start) / (double)repeats;
}

/* So many calls that a sample takes two milliseconds, where one is that short. */
static long repeats_for(void (*fn)(void))
{
    long n = 1;
    while (time_of(fn, n) * (double)n < 2e6) n *= 2;
    return n;
}
#endif
