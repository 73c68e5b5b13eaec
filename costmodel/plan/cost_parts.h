/* cost_parts.h - what full prices of uniform and of mixed plans fill in alike */
#pragma once

#include "costmodel/stage/stage_cost.h"

// utilisation.c
/** FLOPs a token of a plan: attention as whole squares, and what of them causal kernels skip. */
typedef struct token_flops {
    double model, skipped;
    double again, again_skipped; /* by recomputation */
} token_flops;

/** Of the model, nothing run again. */
token_flops token_flops_of(const plait_problem *problem);
/** Adds what a stage runs again. */
void stage_add_rerun(const plait_problem *problem, const stage_parts *parts, token_flops *flops);

/** Does a kernel pass over blocks that the causal mask hides? */
static inline bool attention_skips(unsigned char kernel)
{
    return kernel > PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL;
}

/**
 * Fills tokens, FLOP/s, MFU and HFU of one GPU. (C.5)
 *
 * @param skips  the attention kernels pass over masked blocks
 * @param peak   FLOP/s; 0: not known
 */
void cost_rates(const token_flops *flops, bool skips, double tokens_per_s, double peak,
                plait_cost *cost);

// cost.c
double sum_of_terms(const plait_step_time *step);
/** C.98: a factor on the step; NaN, which writes as null, where no evidence speaks. */
double band_edge(double step_s, double factor);
/** The verdict on cost->memory, and why; `problem` has the fullest stage's nodes. */
void cost_judge(const plait_problem *problem, plait_cost *cost);
/** Low where kernels are priced by defaults, high where links and software are measured too. */
plait_confidence confidence_of(const plait_problem *problem, const plait_degrees *d);

// heterogeneous.c
/** The price of a legal plan whose stages differ; *cost has its confidence. */
PLAIT_MUST_CHECK plait_status mixed_cost(const plait_problem *problem, const plait_plan *plan,
                                         plait_arena *arena, plait_cost *cost, plait_error *err);

// volume.c
/**
 * The communication of the slowest stage; `boundary`: the fused boundaries, or NULL. The list lives in
 * `arena`; false when out of memory.
 */
bool volumes_of(const plait_problem *problem, const plait_degrees *degrees, const layer_row *row,
                const stage_parts *parts, const stage_load *load, const step_sum *sum,
                const fused_boundary *boundary, plait_arena *arena, plait_cost *cost);
