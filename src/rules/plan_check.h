/*
 * plan_check.h - the legality of a plan in steps, for a search that fixes its keys in order
 *
 * plait_degrees_check asks all of them; each looks at the keys of the steps before it too.
 */
#pragma once

#include "plait/runtime.h"
#include "plan/reason.h"

/** Can the question be asked at all? (problem_check.h) */
bool problem_is_valid(const plait_problem *problem, const plan_reason *why);

/** plait_degrees_check of a question that holds. */
bool plan_degrees_legal(const plait_problem *problem, const plait_degrees *degrees,
                        const plan_reason *why);

/** tp cp cp_comm sp ep etp: do they divide the layers, does kernel and number format exist? */
bool plan_layers_legal(const plait_problem *problem, const plait_degrees *degrees,
                       const plan_reason *why);

/** pp dp schedule order zero shard_group grad_sync: ranks, what the software takes; of any mbs. */
bool plan_grid_legal(const plait_problem *problem, const plait_degrees *degrees,
                     const plan_reason *why);

/**
 * What is left to ask of a legal grid with other shards, formats and traffic, of values that the
 * software takes.
 */
bool plan_shards_legal(const plait_problem *problem, const plait_degrees *degrees,
                       const plan_reason *why);

/** mbs beside them: is there a number of microbatches, and one that the schedule takes? */
bool plan_batch_legal(const plait_problem *problem, const plait_degrees *degrees,
                      const plan_reason *why);

/** Both. */
bool plan_ranks_legal(const plait_problem *problem, const plait_degrees *degrees,
                      const plan_reason *why);

/** vpp split recompute: does every stage get its layers? */
bool plan_stages_legal(const plait_problem *problem, const plait_degrees *degrees,
                       const plan_reason *why);

/** Has the accelerator the kernels of the dispatcher? */
bool plan_dispatcher_runs(const plait_problem *problem, const plait_degrees *degrees,
                          const plan_reason *why);

/** Do the number formats of state suit those of the products? */
bool plan_formats_legal(const plait_problem *problem, const plait_degrees *degrees,
                        const plan_reason *why);

/** Its last part: are there as many layers as are run again, and may they be? */
bool plan_recompute_legal(const plait_problem *problem, const plait_degrees *degrees,
                          const plan_reason *why);

/** Have all stages the plan's degrees, but for what each may offload of its own? */
bool plan_degrees_agree(const plait_plan *plan, const plan_reason *why);

/** May stages and layers choose what they recompute and offload, and is each choice legal? */
bool plan_choices_legal(const plait_problem *problem, const plait_plan *plan,
                        const plan_reason *why);

/** The same of stage s alone, whose nodes and degrees are `problem`'s. */
bool plan_choice_legal(const plait_problem *problem, const plait_plan *plan, int s,
                       const plan_reason *why);

/** The stages of a plan against its degrees: neither cluster nor runtime is looked at. */
bool plan_stages_agree(const plait_problem *problem, const plait_plan *plan,
                       const plan_reason *why);

/** Do the stages hold each layer once and in order, whatever their degrees are? */
bool plan_stages_hold(const plait_problem *problem, const plait_plan *plan, const plan_reason *why);

/** A plan whose stages differ: each against its own nodes, and all against each other. */
bool plan_mixed_legal(const plait_problem *problem, const plait_plan *plan, const plan_reason *why);

/**
 * Is a ZeRO shard a part of the ranks that one replica has side by side, or several of them whole?
 * Asked where stages lie inside replicas; of dense parameters and of experts. (rule P3)
 */
bool plan_shards_nest(const plait_problem *problem, const plait_degrees *degrees);

// plan_check_sharding.c
/** May layer `at` of stage `s` of a plan of these legal degrees have this sharding? (P44, P45, P47) */
bool cut_legal(const plait_problem *problem, const plait_degrees *degrees, plait_cut cut, int s,
               int at, const plan_reason *why);

/** Do layers with another sharding have a price beside these degrees? (rule P46) */
bool cuts_have_price(const plait_degrees *degrees, const plan_reason *why);

/** May all layers of the plan have their sharding? */
bool plan_cuts_legal(const plait_problem *problem, const plait_plan *plan, const plan_reason *why);
