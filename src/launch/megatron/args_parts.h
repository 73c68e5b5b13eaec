/* args_parts.h - the parts of a launch that become Megatron-LM's arguments, each a share of them
 *
 * Each fills in what it is about and leaves the rest at Megatron's defaults. Texts live in `arena`.
 */
#pragma once

#include "launch/megatron/arguments.h"
#include "launch/megatron/model_facts.h"
#include "launch/target.h"

/** Sizes, norms, activation, biases, experts; and attention by the next. */
PLAIT_MUST_CHECK plait_status megatron_args_of_model(const plait_problem *problem,
                                                     plait_arena *arena, megatron_args *out,
                                                     plait_error *err);

/** Attention of each sort, windows and positions. */
PLAIT_MUST_CHECK plait_status megatron_args_of_attention(const plait_model *model,
                                                         const model_facts *facts,
                                                         plait_arena *arena, megatron_args *out,
                                                         plait_error *err);

/** Degrees, batch, memory, optimizer, overlap, kernels, precision; out->num_experts is known. */
PLAIT_MUST_CHECK plait_status megatron_args_of_plan(const plait_problem *problem,
                                                    const plait_plan *plan, plait_arena *arena,
                                                    megatron_args *out, plait_error *err);

/** How the layers are dealt to stages and chunks. */
PLAIT_MUST_CHECK plait_status megatron_args_of_split(const plait_problem *problem,
                                                     const plait_plan *plan, plait_arena *arena,
                                                     megatron_args *out, plait_error *err);
