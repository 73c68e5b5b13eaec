/* report_capacity.h - how many GPUs a run takes, for people and for machines */
#ifndef REPORT_CAPACITY_H
#define REPORT_CAPACITY_H

#include <stdio.h>

#include "plait/capacity.h"

/** What was asked and what came out. */
typedef struct report_capacity {
    const plait_capacity_ask *ask;
    int rows;
    const plait_capacity_row *row;
    plait_capacity_verdict verdict;
    int answer;                        /* the row that the question is answered by; -1: none */
    const plait_capacity_swing *swing; /* [PLAIT_CAPACITY_SWINGS] of it; NULL without one */
} report_capacity;

/** Parts of that: a few lines each. */
void report_capacity_question(const report_capacity *report, FILE *out);
void report_capacity_answer(const report_capacity *report, FILE *out);

/** A table of all rows, the answer, the front, what moves it. */
PLAIT_MUST_CHECK plait_status report_capacity_print(const report_capacity *report, FILE *out,
                                                    plait_error *err);

/** The document of `plait capacity --json`. *text lives in `arena`. */
PLAIT_MUST_CHECK plait_status json_capacity(const report_capacity *report, plait_arena *arena,
                                            const char **text, size_t *length, plait_error *err);

#endif
