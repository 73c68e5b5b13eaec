/* layer_sharding.h - stages whose layers are sharded differently (docs/reference/rules.md, P44 to P47) */
#pragma once

#include "costmodel/stage/stage_cost.h"

/** The shardings of a plan, and the pricer of each. */
typedef struct plan_shardings {
    const plait_problem *problem;
    const plait_plan *plan;
    int count;
    plait_cut *sharding;         /* [count], distinct shardings, the plan's own first */
    plait_stage_pricer **pricer; /* [count], pricer of each sharding */
    plait_chunk *chunk;          /* scratch for the view of one stage's layers */
    plait_recompute *recompute;
} plan_shardings;

/**
 * Lists the shardings of a plan and creates a pricer for each, in `arena`. Returns false when out
 * of memory.
 */
bool plan_shardings_of(const plait_problem *problem, const plait_plan *plan, plait_arena *arena,
                       plan_shardings *out);

/**
 * Returns the cost of stage s: the sum over its shardings, and the relocations between them. (C.282
 * to C.284)
 */
stage_cost sharded_stage_cost(const plan_shardings *shardings, int s, double in_flight);

/** Fills the times of one microbatch of stage s, by term. */
void sharded_stage_terms(const plan_shardings *shardings, int s, double terms[LAYER_TERMS]);
