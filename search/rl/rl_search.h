/*
 * rl_search.h - the search of a reinforcement-learning step (S.120)
 *
 *     rl_search.c  divisions of the GPUs, ranking
 *     rl_pairs.c   training plans and workers of one division, priced in pairs
 *     rl_fewest.c  the fewest GPUs
 */
#pragma once

#include "costmodel/rl/rl_parts.h"
#include "plait/rl.h"

/** The state of a search: everything that its functions share. */
typedef struct rl_search {
    const plait_rl_job *job;
    const plait_rl_options *options;
    plait_arena *arena;
    plait_rl_answer *out;
    bool fits_only; /* true: any plan that fits is the answer, and no time is simulated */
    /* generation by workers and formats, for plans with rollout_gpus; NULL: not allocated */
    int rollout_gpus;
    rl_rollout *rollout;
} rl_search;

/** Puts a priced plan into the ranking, or keeps the one that is closest to fitting. */
void rl_rank(rl_search *s, const plait_rl_ranked *one);

/**
 * Searches the training plans for the packed sequences of an update on a number of GPUs. If none
 * fits, the optimizer is on the host.
 */
PLAIT_MUST_CHECK plait_status rl_search_training(rl_search *s, int gpus, double risk,
                                                 plait_search_result *found, plait_error *err);

/** Searches the training plan that needs the least memory, if none fits. */
PLAIT_MUST_CHECK plait_status rl_search_closest(rl_search *s, int gpus, plait_search_result *found,
                                                plait_error *err);

/** Prices the pairs of training plans and workers of one division of the GPUs. */
PLAIT_MUST_CHECK plait_status rl_price_pairs(rl_search *s, const plait_rl_plan *base,
                                             const plait_search_result *training, plait_error *err);

/** Ranks the plans of all divisions of the GPUs. */
PLAIT_MUST_CHECK plait_status rl_search_divisions(rl_search *s, plait_error *err);
