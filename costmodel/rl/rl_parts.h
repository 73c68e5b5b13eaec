/*
 * rl_parts.h - parts of a reinforcement-learning step: generation, updates, weight hand-over
 *
 *     rl_update.c    packed sequences, one update, one forward pass   (C.440 to C.443)
 *     rl_rollout.c   the engine's memory, generation of all answers   (C.444, C.445)
 *     rl_handover.c  new weights to the engine, state to the host     (C.446, C.447)
 *     rl_price.c     the step and the memory of its phases            (C.448, C.449)
 */
#pragma once

#include "plait/rl.h"

/** The training side of a plan, priced. */
typedef struct rl_update {
    plait_problem problem; /* problem of one update */
    plait_plan plan;
    plait_cost cost;
    double update_s;  /* with the imbalance of its data-parallel ranks */
    double forward_s; /* one forward pass over all answers of a step */
    double imbalance;
    int updates;
} rl_update;

/** The engine of a plan, and the time in which it makes all answers. */
typedef struct rl_rollout {
    plait_engine engine; /* with the share of memory that it has */
    plait_serve_memory memory;
    int replicas;
    double batch;
    double cache_tokens;
    double seconds; /* time of one step */
} rl_rollout;

/** Answers of one step. */
double rl_answers(const plait_rl_job *job);

/** Mean tokens of a prompt and its answer. */
double rl_mean_tokens(const plait_rl_job *job);

/** Price the updates of a plan. A plan that cannot run has its verdict in out->cost. */
PLAIT_MUST_CHECK plait_status rl_update_of(const plait_rl_job *job, const plait_rl_plan *plan,
                                           const plait_model *model, plait_arena *arena,
                                           rl_update *out, plait_error *err);

/**
 * Price the generation of a plan.
 *
 * @param held_bytes  bytes of each GPU that training keeps while the engine runs
 * @param whole       simulate all workers; else one of them
 * @param why         receives the reason if the engine cannot run, else NULL
 */
PLAIT_MUST_CHECK plait_status rl_rollout_of(const plait_rl_job *job, const plait_rl_plan *plan,
                                            double held_bytes, bool whole, plait_arena *arena,
                                            rl_rollout *out, const char **why, plait_error *err);

/** Bytes of the weights that training sends to the engine. */
double rl_handover_bytes(const plait_rl_job *job);

/** Seconds in which new weights reach the engine. (C.446) */
double rl_handover_s(const plait_rl_job *job, const plait_rl_plan *plan);
