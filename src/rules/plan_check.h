/*
 * plan_check.h - checks of a plan in steps, for a search that fixes keys in the order of the steps
 *
 * All functions return whether a check succeeds, and write the reason of a failure to `why`.
 * plait_degrees_check() does all steps. A step can also read the keys of earlier steps.
 */
#pragma once

#include "plait/runtime.h"
#include "plan/reason.h"

/** Checks that the problem is complete and consistent (problem_check.h). */
bool problem_is_valid(const plait_problem *problem, const plan_reason *why);

/** Does the checks of plait_degrees_check() for a problem that was already checked. */
bool plan_degrees_legal(const plait_problem *problem, const plait_degrees *degrees,
                        const plan_reason *why);

/**
 * Checks keys tp, cp, cp_comm, sp, ep and etp: the degrees must divide the layers' dimensions, and
 * attention kernel and number format must exist.
 */
bool plan_layers_legal(const plait_problem *problem, const plait_degrees *degrees,
                       const plan_reason *why);

/**
 * Checks keys pp, dp, schedule, order, zero, shard_group and grad_sync: ranks must be valid and
 * within the limits of the software, for any mbs.
 */
bool plan_grid_legal(const plait_problem *problem, const plait_degrees *degrees,
                     const plan_reason *why);

/**
 * Does the checks of plan_grid_legal() that hold for every schedule and order and for every choice of
 * kernels: degrees, number formats, and the values of each key by itself.
 */
bool plan_grid_divides(const plait_problem *problem, const plait_degrees *degrees,
                       const plan_reason *why);

/**
 * Does the other checks of plan_grid_legal(), for a grid that divides: combinations of schedule,
 * order, ep_overlap and kernels with the ranks. The software must support each of the values.
 */
bool plan_kind_legal(const plait_problem *problem, const plait_degrees *degrees,
                     const plan_reason *why);

/**
 * Repeats those checks of plan_grid_legal() that depend on shards, formats and traffic, for a legal
 * grid whose shards, formats or traffic have changed. The software must support each of the values.
 */
bool plan_shards_legal(const plait_problem *problem, const plait_degrees *degrees,
                       const plan_reason *why);

/**
 * Checks key mbs: the number of microbatches must be whole, and the schedule must support it. The
 * result depends on pp, dp, mbs and schedule alone.
 */
bool plan_batch_legal(const plait_problem *problem, const plait_degrees *degrees,
                      const plan_reason *why);

/** Does the checks of plan_grid_legal() and plan_batch_legal(). */
bool plan_ranks_legal(const plait_problem *problem, const plait_degrees *degrees,
                      const plan_reason *why);

/** Checks keys vpp, split and recompute: every stage must have the layers that the keys require. */
bool plan_stages_legal(const plait_problem *problem, const plait_degrees *degrees,
                       const plan_reason *why);

/** Checks that the accelerator has the kernels of the dispatcher. */
bool plan_dispatcher_runs(const plait_problem *problem, const plait_degrees *degrees,
                          const plan_reason *why);

/** Checks that the number formats of state are compatible with those of the products. */
bool plan_formats_legal(const plait_problem *problem, const plait_degrees *degrees,
                        const plan_reason *why);

/** Checks that there are enough layers for the recomputation, and that the software supports it. */
bool plan_recompute_legal(const plait_problem *problem, const plait_degrees *degrees,
                          const plan_reason *why);

/** Checks that all stages have the plan's degrees, except for the keys of offload. */
bool plan_degrees_agree(const plait_plan *plan, const plan_reason *why);

/** Checks all choices of recomputation and offload for single stages and layers. */
bool plan_choices_legal(const plait_problem *problem, const plait_plan *plan,
                        const plan_reason *why);

/** Does the checks of plan_choices_legal() for stage s; `problem` has the nodes of that stage. */
bool plan_choice_legal(const plait_problem *problem, const plait_plan *plan, int s,
                       const plan_reason *why);

/** Checks that the stages of a plan agree with its degrees. Does not read cluster and runtime. */
bool plan_stages_agree(const plait_problem *problem, const plait_plan *plan,
                       const plan_reason *why);

/** Checks that the stages contain each layer once and in order, for any degrees. */
bool plan_stages_cover_model(const plait_problem *problem, const plait_plan *plan,
                             const plan_reason *why);

/** Checks a heterogeneous plan: each stage on the nodes of the stage, and all stages together. */
bool plan_mixed_legal(const plait_problem *problem, const plait_plan *plan, const plan_reason *why);

/**
 * Returns whether ZeRO shard groups consist of adjacent ranks of one replica, or of whole replicas,
 * for dense parameters and for experts. Plans whose stages lie inside replicas need this (rule P3).
 */
bool plan_shards_nest(const plait_problem *problem, const plait_degrees *degrees);

// plan_check_sharding.c
/** Checks the sharding of layer `at` of stage `s` in a plan with legal degrees (P44, P45, P47). */
bool cut_legal(const plait_problem *problem, const plait_degrees *degrees, plait_cut cut, int s,
               int at, const plan_reason *why);

/** Checks that the cost model can price layers with another sharding in such a plan (rule P46). */
bool cuts_have_price(const plait_degrees *degrees, const plan_reason *why);

/** Checks the sharding of all layers of a plan. */
bool plan_cuts_legal(const plait_problem *problem, const plait_plan *plan, const plan_reason *why);
