/* report_doctor.h - a plan that runs today, and the fewest changes that make it faster */
#pragma once

#include "report/report.h"

enum { DOCTOR_CHANGES = 5 };

typedef struct doctor_answer {
    const char *file; /* that the plan was read from */
    const plait_problem *problem;
    const report_plan *now;
    double measured_s; /* of its step, by its training log; 0: no log was given */
    int changes;
    const plait_change *change;              /* [changes], fewest changed keys first */
    const report_plan *plan[DOCTOR_CHANGES]; /* of each, priced in full */
    const char *edits[DOCTOR_CHANGES]; /* lines "- ..." and "+ ..." of the file; or why none */
    plait_search_result search;        /* for the best plan of all; may have none */
} doctor_answer;

PLAIT_MUST_CHECK plait_status report_doctor(const doctor_answer *answer, FILE *out,
                                            plait_error *err);

PLAIT_MUST_CHECK plait_status json_doctor(const doctor_answer *answer, plait_arena *arena,
                                          const char **text, size_t *length, plait_error *err);
