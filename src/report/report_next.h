/* report_next.h - what measured steps say of the plans that were not measured */
#pragma once

#include <stdio.h>

#include "plait/validate.h"
#include "plait/cost.h"

typedef struct next_plan {
    int rank; /* of the file */
    plait_degrees degrees;
    double predicted_s;
    double measured_s; /* of several times the geometric mean; 0: was not */
    int times;
    double shortest_s, longest_s; /* of those */
    plait_memory memory;
    double peak_bytes; /* measured, of the kind that `reserved` says; 0: was not */
    bool reserved;
    plait_believed believed;
} next_plan;

typedef struct next_answer {
    plait_problem problem;
    int plans;
    next_plan *plan;
    int *order; /* [plans], by what is believed */
    int measured;
    plait_belief belief;
    plait_tries tries; /* of the next one */
} next_answer;

PLAIT_MUST_CHECK plait_status report_next(const next_answer *answer, FILE *out, plait_error *err);

PLAIT_MUST_CHECK plait_status json_next_answer(const next_answer *answer, plait_arena *arena,
                                               const char **text, size_t *length, plait_error *err);
