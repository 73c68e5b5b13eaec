/*
 * step_log.h - step times in the logs of training software
 *
 * Each format is a row of the table in step_log.c: lines with a time or a rate, or a progress bar.
 * The first half of the printed steps counts as warm-up (compilation, allocation, autotuning); the
 * step time is the median of the later half. The step time of a progress bar is computed from its
 * clock.
 */
#pragma once

#include <stdbool.h>

#include "plait/arena.h"
#include "plait/error.h"
#include "plait/problem.h"
#include "plait/runtime.h"

/**
 * The measurements of a log. The log sets one of the three members for speed (step_s, tokens_per_s,
 * sequences_per_s); the other two are 0.
 */
typedef struct step_log {
    const char *software;
    unsigned rules;         /* bits of plait_rules whose runtimes print this format; 0: any */
    int steps;              /* number of printed steps in the later half */
    double step_s;          /* seconds of a step */
    double tokens_per_s;    /* tokens per second of one GPU */
    double sequences_per_s; /* sequences per second of all GPUs */
    double peak_bytes;      /* largest memory peak in the log; 0: none */
    bool reserved;          /* the peak counts reserved memory, not allocated memory */
} step_log;

/** Reads a log. Fails (SCHEMA) if no line has a known format; the error's `where` is the file. */
PLAIT_MUST_CHECK plait_status step_log_load(const char *path, plait_arena *arena, step_log *out,
                                            plait_error *err);

PLAIT_MUST_CHECK plait_status step_log_parse(const char *text, size_t length, const char *name,
                                             plait_arena *arena, step_log *out, plait_error *err);

/** Returns the seconds of a step of the job. */
double step_log_seconds(const step_log *log, const plait_job *job);

/**
 * Returns whether the runtime prints lines of the log's format; true for profiles without rules of
 * their own.
 */
bool step_log_matches_runtime(const step_log *log, const plait_runtime *runtime);
