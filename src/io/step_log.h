/*
 * step_log.h - how long steps took, out of what training software prints
 *
 * Known are the lines of Megatron-LM ("elapsed time per iteration (ms): 1234.5"), nanotron
 * ("elapsed_time_per_iteration_ms: 1.23K"), torchtitan ("tps: 7,190" of one GPU) and DeepSpeed's
 * pipeline ("iter time (s): 1.234"). And of their peaks of memory: Megatron-LM's "max allocated: 41234.5"
 * (MiB), nanotron's "Peak allocated 41234.50MiB", torchtitan's "memory: 40.63GiB" (reserved) and DeepSpeed's "Max_MA 40.63 GB" (GiB, allocated).
 */
#ifndef STEP_LOG_H
#define STEP_LOG_H

#include <stdbool.h>

#include "plait/arena.h"
#include "plait/error.h"

typedef struct step_log {
    const char *software;
    int steps;           /* that count: the first two are left out where there are more than four */
    double step_s;       /* their median; of torchtitan 0, and `tokens_per_s` instead */
    double tokens_per_s; /* of one GPU, the median; 0: not said */
    double peak_bytes;   /* the largest that is said; 0: none is */
    bool reserved;       /* by the allocator; else allocated */
} step_log;

/** Fails (SCHEMA) where no line is known, with the file in `where`. */
PLAIT_MUST_CHECK plait_status step_log_load(const char *path, plait_arena *arena, step_log *out,
                                            plait_error *err);

PLAIT_MUST_CHECK plait_status step_log_parse(const char *text, size_t length, const char *name,
                                             plait_arena *arena, step_log *out, plait_error *err);

#endif
