/* report_capacity.h - prints the number of GPUs for a training run, as text and as JSON */
#pragma once

#include <stdio.h>

#include "io/json/json_write.h"
#include "plait/capacity.h"

/** One cluster with its price and the numbers of GPUs that were searched. */
typedef struct report_capacity_cluster {
    const plait_problem *problem; /* problem of one of the cluster's rows */
    bool price_asked;             /* the price is from --price, not from the accelerator's file */
    double usd_per_gpu_hour;      /* price; NaN: unknown */
    int from, to;                 /* range of GPUs */
    int batches;
    const int *gbs;                             /* [batches] batch sizes that were searched */
    const plait_capacity_range_result *between; /* result between the rows; NULL: only rows */
    const char *why; /* reason why only rows were searched, although a range was requested */
} report_capacity_cluster;

/** Options and result of plait capacity. */
typedef struct report_capacity {
    const plait_capacity_options *ask;
    int clusters;
    const report_capacity_cluster *cluster;
    int rows;
    const plait_capacity_row *row;
    plait_capacity_verdict verdict;
    int answer; /* index of the row that is the answer; -1: none */
    const plait_capacity_swing
        *swing; /* [PLAIT_CAPACITY_SWINGS] sensitivities of the answer; NULL: no answer */
} report_capacity;

/**
 * Return whether measured runs cannot distinguish the row's days from the answer's, or its dollars
 * from those of the cheapest row that meets the deadline.
 */
bool report_capacity_ties_days(const report_capacity *report, const plait_capacity_row *r);
bool report_capacity_ties_usd(const report_capacity *report, const plait_capacity_row *r);

/** Print the question and the answer, a few lines each. */
void report_capacity_question(const report_capacity *report, FILE *out);
void report_capacity_answer(const report_capacity *report, FILE *out);

/** Prints a table of all rows, the answer, the front and the sensitivities. */
PLAIT_MUST_CHECK plait_status report_capacity_print(const report_capacity *report, FILE *out,
                                                    plait_error *err);

/** Writes the document of `plait capacity --json`. */
void json_capacity(json_writer *json, const report_capacity *report);
