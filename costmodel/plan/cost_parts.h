/* cost_parts.h - functions that price uniform and heterogeneous plans */
#pragma once

#include "costmodel/stage/stage_cost.h"

// utilisation.c
/**
 * FLOPs per token, with the attention scores of all pairs of tokens, and the part that causal
 * kernels skip.
 */
typedef struct token_flops {
    double model, skipped;
    double again, again_skipped; /* FLOPs that recomputation repeats */
} token_flops;

/** Returns the FLOPs of the model without recomputation. */
token_flops token_flops_of(const plait_problem *problem);
/** Adds the FLOPs that recomputation repeats in a stage. */
void stage_add_rerun(const plait_problem *problem, const stage_parts *parts, token_flops *flops);

/** Does an attention kernel skip the blocks that the causal mask hides? */
static inline bool attention_skips(unsigned char kernel)
{
    return kernel > PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL;
}

/**
 * Fills tokens/s, FLOP/s, MFU and HFU of one GPU. (C.5)
 *
 * @param skips  whether the attention kernels skip masked blocks
 * @param peak   peak FLOP/s of the GPU; 0: unknown
 */
void cost_rates(const token_flops *flops, bool skips, double tokens_per_s, double peak,
                plait_cost *cost);

// cost.c
/**
 * Fills cost->step, step_s and its band.
 *
 * @param terms   time of one microbatch in the slowest stage, by term; counted m times
 * @param beside  the other terms of the step (C.80, C.98)
 */
void cost_set_step(const plait_problem *problem, const double terms[LAYER_TERMS], double m,
                   const plait_step_time *beside, plait_cost *cost);
/** Fills the band of the memory peak, and the host memory. */
void cost_set_memory(const plait_problem *problem, double host_bytes, plait_cost *cost);
/**
 * Fills the verdict on cost->memory and its reason. `problem` has the nodes of the fullest stage.
 */
void cost_judge(const plait_problem *problem, plait_cost *cost);
/**
 * Returns how well the constants are measured: low if kernels have default constants, high if links
 * and software are measured as well.
 */
plait_confidence confidence_of(const plait_problem *problem, const plait_degrees *d);

// heterogeneous.c
/** Prices a legal plan whose stages differ. The caller has set the confidence of *cost. */
PLAIT_MUST_CHECK plait_status mixed_cost(const plait_problem *problem, const plait_plan *plan,
                                         plait_arena *arena, plait_cost *cost, plait_error *err);

// volume.c
/**
 * Lists the communication of the slowest stage, in `arena`.
 *
 * @param boundary  fused boundaries; NULL: none
 * @return          false when out of memory
 */
bool volumes_of(const plait_problem *problem, const plait_degrees *degrees, const layer_row *row,
                const stage_parts *parts, const stage_load *load, const step_sum *sum,
                const fused_boundary *boundary, plait_arena *arena, plait_cost *cost);
