/* flagscale.h - FlagScale as a target: Megatron-LM's arguments as the keys of a YAML file
 *
 * As in FlagOpen/FlagScale da4935e (2025-11-13): flatten_dict_to_args in flagscale/runner/utils.py
 * makes `--some-key value` of each leaf under train.system, train.model and train.data, regardless
 * of the sections between, and train_gpt.py parses that with the parser of Megatron Core 0.15 and
 * with flagscale/train/arguments.py.
 */
#pragma once

#include "launch/megatron/megatron.h"

/**
 * Set the recomputation of a plan whose stages differ in it: Megatron-LM's arguments in `args`
 * apply to all stages, and `own` receives FlagScale's list of layers per stage. Nothing changes if
 * all stages have the same choice.
 */
PLAIT_MUST_CHECK plait_status flagscale_stages(const plait_problem *problem, const plait_plan *plan,
                                               megatron_args *args, launch_args *own,
                                               plait_error *err);

/** True if FlagScale's list of layers per stage can express the recomputation of a plan. */
bool flagscale_can_list_stages(const plait_plan *plan);

/**
 * Set the degrees of a plan whose stages differ in them: `args` receives those of the first stage,
 * and `own` FlagScale's meshes. Nothing changes if all stages are equal.
 */
void flagscale_meshes(const plait_problem *problem, const plait_plan *plan, megatron_args *args,
                      launch_args *own);

bool flagscale_has_meshes(const plait_plan *plan);

/** Returns the device type of a stage's nodes. */
const char *flagscale_device(const plait_problem *problem, const plait_stage *stage);

/** Returns the first part of a plan that meshes cannot express; NULL: none. */
const char *flagscale_meshes_unsupported(const plait_problem *problem, const plait_plan *plan);

/** Append a list of arguments as the blocks system, model and data, indented by `indent` blanks. */
void flagscale_append_train(const launch_args *args, int indent, text_builder *out);
