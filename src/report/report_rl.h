/* report_rl.h - the answer of plait rl, as text and as JSON */
#pragma once

#include <stdio.h>

#include "io/csv/rl_log.h"
#include "io/json/json_write.h"
#include "plait/rl.h"

enum { REPORT_RL_SIZES = 24 };

typedef struct report_rl {
    const plait_rl_job *job;
    const plait_rl_options *options;
    const plait_rl_answer *answer;
    int steps;       /* steps of the run; 0: unknown */
    int fewest_gpus; /* 0: not searched, or none */
    int sizes;       /* larger numbers of GPUs that were searched */
    plait_rl_ranked size[REPORT_RL_SIZES];
} report_rl;

PLAIT_MUST_CHECK plait_status report_rl_print(const report_rl *report, FILE *out, plait_error *err);

/** Writes the document of `plait rl --json`. */
void json_rl(json_writer *json, const report_rl *report);

/** A logged run; `job` and `plan` are those of the prediction, or NULL. */
typedef struct report_rl_log {
    const char *file;
    const rl_log *log;
    const plait_rl_job *job;
    const plait_rl_ranked *plan;
} report_rl_log;

PLAIT_MUST_CHECK plait_status report_rl_log_print(const report_rl_log *report, FILE *out,
                                                  plait_error *err);

/** Writes the member `log`. */
void json_rl_log(json_writer *json, const report_rl_log *report);
