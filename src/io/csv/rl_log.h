/*
 * rl_log.h - times of the phases of reinforcement learning in the logs of verl and NeMo-RL
 *
 * verl prints one line for a step, NeMo-RL a block of lines. As in step_log.h, the first half of
 * the steps is warm-up, and each figure is the median of the later half.
 */
#pragma once

#include <stdbool.h>

#include "plait/arena.h"
#include "plait/error.h"
#include "plait/rl.h"

/** The figures of a log; NaN for those that it does not state. */
typedef struct rl_log {
    plait_rl_framework framework;
    int steps;  /* steps in the log */
    int used;   /* steps of the medians */
    bool ahead; /* generation runs ahead of training, which waits for it (PLAIT_RL_wait) */
    double step_s;
    /** Seconds of a step. NeMo-RL counts the reference in the log-probabilities. */
    double phase_s[PLAIT_RL_PHASES];
    double rest_s;         /* checkpoints and validation within the step */
    double prompt_tokens;  /* mean */
    double answer_tokens;  /* mean */
    double longest_answer; /* tokens */
    double answer_s;       /* mean time of an answer */
    double longest_s;      /* time of the slowest answer */
    double tokens_per_s;   /* rate of one GPU */
} rl_log;

/** Reads a log. Fails (SCHEMA) if it has no step of either format; `where` is `name`. */
PLAIT_MUST_CHECK plait_status rl_log_parse(const char *text, size_t length, const char *name,
                                           plait_arena *arena, rl_log *out, plait_error *err);

PLAIT_MUST_CHECK plait_status rl_log_load(const char *path, plait_arena *arena, rl_log *out,
                                          plait_error *err);
