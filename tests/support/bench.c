/* bench.c - the timing loop of the benchmarks */
#include "support/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_RUNS = 64 };

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

void bench_case(const char *name, bench_run *run, void *context, int runs)
{
    double s[MOST_RUNS];
    int64_t done = run(context);

    runs = runs < MOST_RUNS ? runs : MOST_RUNS;
    for (int r = 0; r < runs; r++) {
        const double start_s = now_s();
        done = run(context);
        s[r] = now_s() - start_s;
    }
    qsort(s, (size_t)runs, sizeof *s, by_size);
    const double median_s = s[runs / 2];
    printf("%s\t%.3g /s\t%.1f ns\t%.4f s\t%.4f s\t%.4f s\n", name, (double)done / median_s,
           1e9 * median_s / (double)done, s[0], median_s, s[runs - 1]);
}
