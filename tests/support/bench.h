/* bench.h - the timing loop of the benchmarks, apart from what is timed */
#pragma once

#include <stdint.h>

/** What one run did: plans priced, or whatever the case counts. */
typedef int64_t bench_run(void *context);

/**
 * Runs a case once to warm up and `runs` times for the record, and prints one tab-separated line:
 * case, things a second (median), nanoseconds a thing, and seconds of a run: minimum, median,
 * maximum.
 */
void bench_case(const char *name, bench_run *run, void *context, int runs);
