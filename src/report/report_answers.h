/* report_answers.h - prints answers of next, operators, doctor, diff and case, as text and as JSON */
#pragma once

#include <stdio.h>

#include "io/json/json_write.h"
#include "plait/rl.h"
#include "plait/validate.h"
#include "plait/cost.h"
#include "plait/operators.h"
#include "report/report.h"
#include "io/json/json_diff.h"
#include "plait/degrees.h"
#include "io/plans/cases.h"

typedef struct next_plan {
    int rank; /* rank in the file of plans */
    plait_degrees degrees;
    double predicted_s;
    double measured_s; /* geometric mean of the plan's measured steps; 0: none */
    int times;
    double shortest_s, longest_s; /* shortest and longest measured step */
    plait_memory memory;
    double peak_bytes; /* measured memory peak, reserved or allocated; 0: none */
    bool reserved;
    plait_plan_posterior posterior;
} next_plan;

typedef struct next_answer {
    plait_problem problem;
    int plans;
    next_plan *plan;
    int *order; /* [plans] in the order of posterior step times */
    int measured;
    plait_posterior belief;
    plait_tries tries; /* plan to try next */
} next_answer;

PLAIT_MUST_CHECK plait_status report_next(const next_answer *answer, FILE *out, plait_error *err);

void json_next_answer(json_writer *json, const next_answer *answer);

/** Options and result of plait operators. */
typedef struct report_operators {
    const plait_problem *problem;
    const plait_operators_options *options;
    const plait_operators_result *result;
} report_operators;

/**
 * Prints the partition and costs of each operator, the conversions between them, and the best named
 * layout.
 */
PLAIT_MUST_CHECK plait_status report_operators_print(const report_operators *report, FILE *out,
                                                     plait_error *err);

/** Writes the document of `plait operators --json`. */
void json_operators(json_writer *json, const report_operators *report);

enum { DOCTOR_CHANGES = 5 };

typedef struct doctor_answer {
    const char *file; /* file of the plan */
    const plait_problem *problem;
    const report_plan *now;
    double measured_s; /* step time in the plan's training log; 0: no log */
    int changes;
    const plait_change *change; /* [changes] those with the fewest changed keys first */
    const report_plan *plan[DOCTOR_CHANGES]; /* [changes] changed plans, priced in full */
    const char *edits
        [DOCTOR_CHANGES]; /* changed lines, "- ..." and "+ ...", or the reason why there are none */
    plait_search_result search; /* result of the search for the best plan; may have no plan */
} doctor_answer;

PLAIT_MUST_CHECK plait_status report_doctor(const doctor_answer *answer, FILE *out,
                                            plait_error *err);

void json_doctor(json_writer *json, const doctor_answer *answer);

/** A plan that is in one ranking or in both. */
typedef struct diff_plan {
    plait_degrees degrees;
    int rank[2]; /* rank in each ranking; 0: missing */
    double step_s[2];
} diff_plan;

typedef struct report_diff {
    const char *kind; /* kind of the documents: "plans", "capacity", ... */
    const char *name[2];
    json_changes changes;
    int plans;
    const diff_plan *plan;       /* [plans] in the order of the second, then of the first */
    double params[2], active[2]; /* total and active parameters of models; 0: other documents */
} report_diff;

/** Prints the most important changes, the rankings, and the number of other changes. */
PLAIT_MUST_CHECK plait_status report_diff_print(const report_diff *diff, FILE *out,
                                                plait_error *err);

/** Writes the document of `plait diff --json`. */
void json_diff_document(json_writer *json, const report_diff *diff);

/** One row of a case with its price. */
typedef struct case_priced {
    const plait_problem *problem;
    const report_plan *plan;
    const plait_rl_price *rl;  /* price of a step of reinforcement learning; NULL: of training */
    double ours[CASE_FIGURES]; /* computed figures; NaN: not published, or the plan cannot run */
    double published[CASE_FIGURES]; /* published figures; g/T from a speed-up (C.136) */
} case_priced;

/** Computes `ours` and `published` of row `row`; those of earlier rows must already be computed. */
void case_compare(const case_study *study, case_priced *priced, int row);

/**
 * Returns ours / published - 1; for percentages, the difference in points / 100. NaN: one of the
 * figures is missing.
 */
double case_error(case_figure figure, double ours, double published);

/** Prints one line per case. */
PLAIT_MUST_CHECK plait_status report_cases(const case_study *study, size_t count, FILE *out,
                                           plait_error *err);

/** Prints one case: its plans, computed and published figures, and remarks. */
PLAIT_MUST_CHECK plait_status report_case(const case_study *study, const case_priced *priced,
                                          FILE *out, plait_error *err);

/** Write the JSON documents of all cases and of one case. */
void json_cases(json_writer *json, const case_study *study, size_t count);
void json_case(json_writer *json, const case_study *study, const case_priced *priced);
