/*
 * step_log.h - how long steps took, out of what training software prints
 *
 * Known are the lines of Megatron-LM ("elapsed time per iteration (ms): 1234.5"), nanotron
 * ("elapsed_time_per_iteration_ms: 1.23K"), torchtitan ("tps: 7,190" of one GPU) and DeepSpeed's
 * pipeline ("iter time (s): 1.234").
 */
#ifndef STEP_LOG_H
#define STEP_LOG_H

#include "plait/arena.h"
#include "plait/error.h"

typedef struct step_log {
    const char *software;
    int steps;           /* that count: the first two are left out where there are more than four */
    double step_s;       /* their median; of torchtitan 0, and `tokens_per_s` instead */
    double tokens_per_s; /* of one GPU, the median; 0: not said */
} step_log;

/** Fails (SCHEMA) where no line is known, with the file in `where`. */
PLAIT_MUST_CHECK plait_status step_log_load(const char *path, plait_arena *arena, step_log *out,
                                            plait_error *err);

PLAIT_MUST_CHECK plait_status step_log_parse(const char *text, size_t length, const char *name,
                                             plait_arena *arena, step_log *out, plait_error *err);

#endif
