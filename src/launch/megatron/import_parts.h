/* import_parts.h - the parts of a plan and a model out of Megatron-LM's arguments
 *
 * What is not given is what Megatron would take. Each part fails (RANGE) on a value that cannot be,
 * and names it as Megatron does.
 */
#pragma once

#include "plait/model.h"

#include "launch/megatron/arguments.h"
#include "launch/read/plan_reader.h"

bool megatron_flag_is_older(const char *name);

/** Are there flags that Megatron-LM had up to 2022 and not after? */
bool megatron_flags_are_of_2021(const launch_flags *flags);

/** Rows of the embedding: the vocabulary as Megatron pads it. 0: not known. */
int megatron_vocab(const megatron_args *args);

/** Is any of the flags one of the table, or an older one? */
bool megatron_has_flags(const launch_flags *flags);

/** Does a plan or a model hang on a flag of the table? */
bool megatron_flag_matters(const char *name);

/** Warn of values that are set outside the file, and of a launch that may not be the one that runs. */
void megatron_warn_of_flags(const megatron_args *args, plan_reader *in);

/** Degrees and order of ranks, GPUs, batch. */
PLAIT_MUST_CHECK plait_status megatron_read_degrees(const megatron_args *args, plan_reader *in,
                                                    plait_error *err);

/** "vpp", "schedule" and "split"; tp to cp are known. `model` may be NULL. */
PLAIT_MUST_CHECK plait_status megatron_read_pipeline(const megatron_args *args,
                                                     const plait_model *model, plan_reader *in,
                                                     plait_error *err);

/** Recomputation, sharding, precision, attention and the runtime that they are of; vpp is known. */
PLAIT_MUST_CHECK plait_status megatron_read_settings(const megatron_args *args, plan_reader *in,
                                                     plait_error *err);

/**
 * The model that the arguments build.
 *
 * @param flags  what they were read from, for messages
 * @param name   of the model
 * @param out    lives in flags->arena; NULL when the arguments do not say a whole model
 */
PLAIT_MUST_CHECK plait_status megatron_read_model(const megatron_args *args,
                                                  const launch_flags *flags, const char *name,
                                                  const plait_model **out, plait_error *err);

/** The flag of a model's name: ms-swift's own, and what stands for the model of a Primus module. */
#define MEGATRON_MODEL_FLAG "model"

/** Is a text one of which the first line that says something is a key of a YAML? */
bool megatron_is_yaml(const char *text, size_t length);

/**
 * Read the arguments of a YAML.
 *
 * @param out  its flags are Megatron-LM's, and MEGATRON_MODEL_FLAG where the file names a model
 */
PLAIT_MUST_CHECK plait_status megatron_read_yaml(const char *text, size_t length, const char *name,
                                                 plait_arena *arena, launch_flags *out,
                                                 text_builder *warnings, plait_error *err);

/** Translate ms-swift's flags and add its defaults. */
PLAIT_MUST_CHECK plait_status megatron_translate_swift(launch_flags *flags, text_builder *warnings,
                                                       plait_error *err);
