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

/** All models that a plan trains, priced. */
typedef struct rl_training {
    rl_update policy, critic, reward; /* critic, reward: zero if the job has none */
} rl_training;

/** The engine of a plan, and the time in which it makes all answers. */
typedef struct rl_rollout {
    const char *why;     /* the reason if the engine cannot run, else NULL */
    plait_engine engine; /* with the share of memory that it has */
    plait_serve_memory memory;
    int replicas;
    int steps; /* steps whose answers the engine has at once; 0: not simulated */
    double batch;
    double cache_tokens;
    double seconds; /* time of one step */
} rl_rollout;

/** Answers of one step. */
double rl_answers(const plait_rl_job *job);

/** Mean tokens of a prompt and its answer. */
double rl_mean_tokens(const plait_rl_job *job);

/** Price the training of a plan. A plan that cannot run has its verdict in the cost of a part. */
PLAIT_MUST_CHECK plait_status rl_training_of(const plait_rl_job *job, const plait_rl_plan *plan,
                                             plait_arena *arena, rl_training *out,
                                             plait_error *err);

/** Bytes of each GPU that training keeps while the engine runs. */
double rl_held_bytes(const plait_rl_plan *plan, const rl_training *training);

/**
 * Price the generation of a plan.
 *
 * @param held_bytes  rl_held_bytes
 * @param workers     number of workers to simulate; 0: only the memory of the engine is priced
 * @param known       NULL, or the generation of a plan that differs only in its training and
 *                    staleness. It is copied if the engine has the same memory and answers
 */
PLAIT_MUST_CHECK plait_status rl_rollout_of(const plait_rl_job *job, const plait_rl_plan *plan,
                                            double held_bytes, int workers, const rl_rollout *known,
                                            plait_arena *arena, rl_rollout *out, plait_error *err);

/** The price of a plan from its two sides. */
void rl_price_join(const plait_rl_job *job, const plait_rl_plan *plan, const rl_training *training,
                   const rl_rollout *rollout, plait_rl_price *out);

/** Bytes of the weights that training sends to the engine. */
double rl_handover_bytes(const plait_rl_job *job);

/** Seconds in which new weights reach the engine. (C.446) */
double rl_handover_s(const plait_rl_job *job, const plait_rl_plan *plan);
