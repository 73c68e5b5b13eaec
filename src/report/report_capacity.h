/* report_capacity.h - how many GPUs a run takes, for people and for machines */
#pragma once

#include <stdio.h>

#include "plait/capacity.h"

/** The price of one cluster, and the numbers of GPUs that were searched. */
typedef struct report_capacity_cluster {
    const plait_problem *problem; /* of one of its rows */
    bool price_asked;             /* by --price; else it is that of the accelerator's file */
    double usd_per_gpu_hour;      /* NaN when no price is known */
    int from, to;                 /* GPUs */
    int batches;
    const int *gbs;                        /* [batches] that numbers were searched with */
    const plait_capacity_between *between; /* NULL: rows are all that was searched ... */
    const char *why;                       /* ... and why, where a range was asked for */
} report_capacity_cluster;

/** What was asked and what came out. */
typedef struct report_capacity {
    const plait_capacity_ask *ask;
    int clusters;
    const report_capacity_cluster *cluster;
    int rows;
    const plait_capacity_row *row;
    plait_capacity_verdict verdict;
    int answer;                        /* the row that the question is answered by; -1: none */
    const plait_capacity_swing *swing; /* [PLAIT_CAPACITY_SWINGS] of it; NULL without one */
} report_capacity;

/** Are days those of the answer, or dollars the least in time, as far as measured runs can tell? */
bool report_capacity_ties_days(const report_capacity *report, const plait_capacity_row *r);
bool report_capacity_ties_usd(const report_capacity *report, const plait_capacity_row *r);

/** Parts of that: a few lines each. */
void report_capacity_question(const report_capacity *report, FILE *out);
void report_capacity_answer(const report_capacity *report, FILE *out);

/** A table of all rows, the answer, the front, what moves it. */
PLAIT_MUST_CHECK plait_status report_capacity_print(const report_capacity *report, FILE *out,
                                                    plait_error *err);

/** The document of `plait capacity --json`. *text lives in `arena`. */
PLAIT_MUST_CHECK plait_status json_capacity(const report_capacity *report, plait_arena *arena,
                                            const char **text, size_t *length, plait_error *err);
