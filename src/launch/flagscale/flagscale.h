/* flagscale.h - FlagScale as a target: Megatron-LM's arguments as the keys of a YAML file
 *
 * As in FlagOpen/FlagScale da4935e (2025-11-13): flagscale/runner/utils.py (flatten_dict_to_args) makes
 * `--some-key value` of each leaf under train.system, train.model and train.data, whatever sections
 * lie between, and train_gpt.py parses that with the parser of Megatron Core 0.15 and with
 * flagscale/train/arguments.py.
 */
#pragma once

#include "launch/megatron/megatron.h"

/**
 * What recomputes stage by stage, where that is not the plan's one choice: Megatron-LM's arguments for all
 * stages, and FlagScale's list of layers a stage in `own`.
 */
PLAIT_MUST_CHECK plait_status flagscale_stages(const plait_problem *problem, const plait_plan *plan,
                                               megatron_args *args, launch_args *own,
                                               plait_error *err);

/** Can that list say what the layers of a plan recompute? */
bool flagscale_says_stages(const plait_plan *plan);

/**
 * Stages of unlike degrees: Megatron-LM's arguments are those of the first, FlagScale's meshes go into `own`.
 * Nothing changes where all are alike.
 */
void flagscale_meshes(const plait_problem *problem, const plait_plan *plan, megatron_args *args,
                      launch_args *own);

bool flagscale_has_meshes(const plait_plan *plan);

/** The device type of the nodes that a stage sits on. */
const char *flagscale_device(const plait_problem *problem, const plait_stage *stage);

/** What meshes cannot say of a plan; NULL: all is said. */
const char *flagscale_lacks_meshes(const plait_problem *problem, const plait_plan *plan);

/** Append the blocks system, model and data of a list of arguments, each line behind `indent` blanks. */
void flagscale_append_train(const launch_args *args, int indent, text_builder *out);
