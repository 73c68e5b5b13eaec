/*
 * plan_check.h - checks of a plan in steps, for a search that fixes keys in this order
 *
 * plait_degrees_check does all steps. Each step may also read the keys of earlier steps.
 */
#pragma once

#include "plait/runtime.h"
#include "plan/reason.h"

/** Is the problem complete and consistent? (problem_check.h) */
bool problem_is_valid(const plait_problem *problem, const plan_reason *why);

/** Does plait_degrees_check for a problem that is known to be valid. */
bool plan_degrees_legal(const plait_problem *problem, const plait_degrees *degrees,
                        const plan_reason *why);

/**
 * Keys tp cp cp_comm sp ep etp: do they divide the layers, and do kernel and number format exist?
 */
bool plan_layers_legal(const plait_problem *problem, const plait_degrees *degrees,
                       const plan_reason *why);

/**
 * Keys pp dp schedule order zero shard_group grad_sync: are ranks and software limits valid for any
 * mbs?
 */
bool plan_grid_legal(const plait_problem *problem, const plait_degrees *degrees,
                     const plan_reason *why);

/**
 * Repeats the checks of a legal grid that depend on shards, formats and traffic, after these have
 * changed. The software must support each of their values.
 */
bool plan_shards_legal(const plait_problem *problem, const plait_degrees *degrees,
                       const plan_reason *why);

/** Key mbs: is there a whole number of microbatches, and does the schedule support it? */
bool plan_batch_legal(const plait_problem *problem, const plait_degrees *degrees,
                      const plan_reason *why);

/** Does plan_grid_legal and plan_batch_legal. */
bool plan_ranks_legal(const plait_problem *problem, const plait_degrees *degrees,
                      const plan_reason *why);

/** Keys vpp split recompute: does every stage have layers as they require? */
bool plan_stages_legal(const plait_problem *problem, const plait_degrees *degrees,
                       const plan_reason *why);

/** Does the accelerator have the kernels of the dispatcher? */
bool plan_dispatcher_runs(const plait_problem *problem, const plait_degrees *degrees,
                          const plan_reason *why);

/** Are the number formats of state compatible with those of the products? */
bool plan_formats_legal(const plait_problem *problem, const plait_degrees *degrees,
                        const plan_reason *why);

/** Are there enough layers for the recomputation, and is it supported? */
bool plan_recompute_legal(const plait_problem *problem, const plait_degrees *degrees,
                          const plan_reason *why);

/** Do all stages have the plan's degrees, except for the keys of offload? */
bool plan_degrees_agree(const plait_plan *plan, const plan_reason *why);

/** May stages and layers have their own recomputation and offload, and is each choice legal? */
bool plan_choices_legal(const plait_problem *problem, const plait_plan *plan,
                        const plan_reason *why);

/** Does plan_choices_legal for stage s alone; `problem` has the nodes of that stage. */
bool plan_choice_legal(const plait_problem *problem, const plait_plan *plan, int s,
                       const plan_reason *why);

/** Do the stages of a plan agree with its degrees? Does not read cluster and runtime. */
bool plan_stages_agree(const plait_problem *problem, const plait_plan *plan,
                       const plan_reason *why);

/** Do the stages contain each layer once and in order, for any degrees? */
bool plan_stages_cover_model(const plait_problem *problem, const plait_plan *plan,
                             const plan_reason *why);

/** Is a heterogeneous plan legal: each stage on its own nodes, and all stages together? */
bool plan_mixed_legal(const plait_problem *problem, const plait_plan *plan, const plan_reason *why);

/**
 * Does a ZeRO shard group consist of neighbouring ranks of one replica, or of whole replicas? Plans
 * whose stages lie inside replicas need this, for dense parameters and for experts. (rule P3)
 */
bool plan_shards_nest(const plait_problem *problem, const plait_degrees *degrees);

// plan_check_sharding.c
/** May layer `at` of stage `s` of a plan of these legal degrees have this sharding? (P44, P45, P47) */
bool cut_legal(const plait_problem *problem, const plait_degrees *degrees, plait_cut cut, int s,
               int at, const plan_reason *why);

/** Can layers with another sharding be priced in a plan of these degrees? (rule P46) */
bool cuts_have_price(const plait_degrees *degrees, const plan_reason *why);

/** May all layers of the plan have their sharding? */
bool plan_cuts_legal(const plait_problem *problem, const plait_plan *plan, const plan_reason *why);
