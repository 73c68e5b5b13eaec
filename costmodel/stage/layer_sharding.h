/* layer_sharding.h - stages whose layers are cut unlike each other */
#pragma once

#include "costmodel/stage/stage_pricer.h"

// layer_sharding_cost.c
/** Buffers shaped like the widest layer, whatever the stage holds. */
double cut_transient_bytes(const plait_stage_sort *sort);
/** Transients and exchanges of a cut that the stage has layers of; of all its cuts the largest is there. */
double cut_spare_bytes(const plait_stage_sort *sort, const sorted_stage *sum);
/** The plan's own: messages and logits; another: NCCL's buffers for groups that the plan has not. */
double cut_beside_bytes(const plait_stage_sort *sort, const sorted_stage *sum, bool own);

// layer_sharding.c
/** The cuts of a plan, and what each makes of a layer. */
typedef struct plan_cuts {
    const plait_problem *problem;
    const plait_plan *plan;
    int sorts;
    plait_cut *cut;          /* [sorts], the plan's own first */
    plait_stage_sort **sort; /* likewise */
    plait_chunk *chunk;      /* room for the runs of one stage's layers */
    plait_recompute *recompute;
} plan_cuts;

/** Everything of *out lives in `arena`; false when out of memory. */
bool plan_cuts_of(const plait_problem *problem, const plait_plan *plan, plait_arena *arena,
                  plan_cuts *out);

/** Stage s, with `in_flight` microbatches at hand. (C.282 to C.284) */
void cuts_sum_stage(const plan_cuts *cuts, int s, stage_load *load, stage_state *state,
                    stage_sync *sync);

/** One microbatch of stage s, by term. */
void cuts_terms(const plan_cuts *cuts, int s, double terms[LAYER_TERMS]);
