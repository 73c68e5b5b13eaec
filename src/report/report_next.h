/* report_next.h - prints plans with posterior step times after measurements of some of them */
#pragma once

#include <stdio.h>

#include "io/json/json_write.h"
#include "plait/validate.h"
#include "plait/cost.h"

typedef struct next_plan {
    int rank; /* rank in the file of plans */
    plait_degrees degrees;
    double predicted_s;
    double measured_s; /* geometric mean of the measurements; 0: none */
    int times;
    double shortest_s, longest_s; /* extremes of the measurements */
    plait_memory memory;
    double peak_bytes; /* measured peak, reserved or allocated; 0: none */
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
    plait_tries tries; /* next plan to try */
} next_answer;

PLAIT_MUST_CHECK plait_status report_next(const next_answer *answer, FILE *out, plait_error *err);

void json_next_answer(json_writer *json, const next_answer *answer);
