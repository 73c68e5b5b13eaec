/* report_doctor.h - prints the current plan and the fewest changes that make it faster */
#pragma once

#include "report/report.h"

enum { DOCTOR_CHANGES = 5 };

typedef struct doctor_answer {
    const char *file; /* source of the plan */
    const plait_problem *problem;
    const report_plan *now;
    double measured_s; /* step time of its training log; 0: no log */
    int changes;
    const plait_change *change;              /* [changes], fewest changed keys first */
    const report_plan *plan[DOCTOR_CHANGES]; /* changed plans, priced in full */
    const char *edits
        [DOCTOR_CHANGES]; /* changed lines of the file, "- ..." and "+ ...", or the reason why there are none */
    plait_search_result search; /* search for the best plan; may have no plan */
} doctor_answer;

PLAIT_MUST_CHECK plait_status report_doctor(const doctor_answer *answer, FILE *out,
                                            plait_error *err);

void json_doctor(json_writer *json, const doctor_answer *answer);
