/* megatron.h - the parts of Megatron-LM's argument list, and what Megatron-Bridge shares */
#ifndef MEGATRON_H
#define MEGATRON_H

#include "args.h"
#include "settings.h"
#include "target.h"

/** Everything that makes the architecture: layers, attention, experts, positions, vocabulary. */
void megatron_append_model(const plait_problem *problem, launch_args *args);

/** Degrees, batch, recomputation, optimizer, overlap, precision. */
void megatron_append_plan(const plait_problem *problem, const plait_degrees *degrees,
                          launch_args *args);

/** The way back: launch_target.import. */
PLAIT_MUST_CHECK plait_status megatron_import(const char *text, size_t length, const char *name,
                                              plait_arena *arena, plans_entry *out,
                                              const char **warning, plait_error *err);
/** `export NAME=value` lines that both Megatrons are started with. */
void megatron_append_environment(const plait_launch *launch, text_builder *out);

/** The settings as Megatron-Bridge's overrides, one a line; NULL when out of memory. */
const char *megatron_overrides(const plait_problem *problem, const megatron_settings *settings,
                               plait_arena *arena);

/** The recipe of Megatron-Bridge that builds a model, or NULL. */
const char *megatron_recipe_of(const plait_model *model);

#endif
