/* megatron.h - Megatron-LM as a target, and what Megatron-Bridge shares with it */
#pragma once

#include "launch/call.h"
#include "launch/megatron/arguments.h"
#include "launch/read/flags.h"
#include "launch/target.h"
#include "base/text.h"

/** The first lines of args.sh, which both Megatrons have. */
#define MEGATRON_ARGS_HEAD                                                                         \
    "# shellcheck shell=bash disable=SC2215\n"                                                     \
    "# args.sh - arguments of pretrain_gpt.py, one a line; run.sh reads them"

/** A model and a plan as arguments. Texts live in `arena`. */
PLAIT_MUST_CHECK plait_status megatron_args_of(const plait_problem *problem, const plait_plan *plan,
                                               plait_arena *arena, megatron_args *out,
                                               plait_error *err);

/** `export NAME=value` lines that both Megatrons are started with. */
void megatron_append_environment(const plait_launch *launch, text_builder *out);

/** Transformer Engine's variables for the kernel of attention: what older releases have for an argument. */
void megatron_append_attention(const megatron_args *args, text_builder *out);

/** A launch as Megatron-Bridge's overrides, one a line; NULL when out of memory. */
const char *megatron_overrides(const plait_launch *launch, const megatron_args *args,
                               plait_arena *arena);

/** The recipe of Megatron-Bridge that builds a model, or NULL. */
const char *megatron_recipe_of(const plait_model *model);

/**
 * A plan out of flags that are read already.
 *
 * @param text      the file that they stand in, for plait's notes in it
 * @param warnings  receives sentences as launch_target.import does
 */
PLAIT_MUST_CHECK plait_status megatron_import_flags(launch_flags *flags, const char *text,
                                                    size_t length, const launch_call *call,
                                                    text_builder *warnings, plans_entry *out,
                                                    plait_error *err);

/** The way back: launch_target.import. */
PLAIT_MUST_CHECK plait_status megatron_import(const char *text, size_t length, const char *name,
                                              const launch_call *call, plait_arena *arena,
                                              plans_entry *out, const char **warning,
                                              plait_error *err);
