/*
 * step_log.h - step times out of what training software prints
 *
 * Each format is a row of the table in step_log.c: lines with a time, a rate or a progress bar. Of the steps
 * that a log prints, the first half counts as warm-up (compilation, allocation, autotuning), and the
 * median of the later half is the step time. Progress bars give it by their clocks.
 */
#pragma once

#include <stdbool.h>

#include "plait/arena.h"
#include "plait/error.h"
#include "plait/problem.h"
#include "plait/runtime.h"

/** The figures that a log measures, in one of three units; the other two are 0. */
typedef struct step_log {
    const char *software;
    unsigned rules;         /* bits of plait_rules whose runtimes print such lines; 0: any may */
    int steps;              /* printed steps of the later half, whose median follows */
    double step_s;          /* seconds of a step */
    double tokens_per_s;    /* of one GPU */
    double sequences_per_s; /* of all GPUs */
    double peak_bytes;      /* largest peak of memory in the log; 0: it has none */
    bool reserved;          /* the peak is what the allocator reserved, not what was allocated */
} step_log;

/** Fails (SCHEMA) if no line has a known format, with the file in `where`. */
PLAIT_MUST_CHECK plait_status step_log_load(const char *path, plait_arena *arena, step_log *out,
                                            plait_error *err);

PLAIT_MUST_CHECK plait_status step_log_parse(const char *text, size_t length, const char *name,
                                             plait_arena *arena, step_log *out, plait_error *err);

/** Seconds of a step of the job, whatever unit the log has. */
double step_log_seconds(const step_log *log, const plait_job *job);

/** Does the runtime print such lines? True for profiles without rules of their own. */
bool step_log_is_of(const step_log *log, const plait_runtime *runtime);
