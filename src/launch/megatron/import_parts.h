/*
 * import_parts.h - parts of a plan and a model out of Megatron-LM's arguments
 *
 * Arguments that are not given have Megatron's defaults. Each part fails (RANGE) on an impossible
 * value, with Megatron's name for it.
 */
#pragma once

#include "plait/model.h"

#include "launch/megatron/arguments.h"
#include "launch/read/plan_reader.h"

/** A flag of another name. */
typedef struct flag_alias {
    const char *name;
    const char *meant; /* flag of the table */
    const char *value; /* its value; NULL: the value of `name` */
} flag_alias;

/** Add the flags that others stand for; one that is given counts before them. */
PLAIT_MUST_CHECK plait_status megatron_translate(launch_flags *flags, const flag_alias *row,
                                                 plait_error *err);

bool megatron_flag_is_older(const char *name);

/** True if there are flags that Megatron-LM had up to 2022 and not after. */
bool megatron_flags_are_of_2021(const launch_flags *flags);

/** Rows of the embedding: the vocabulary as Megatron pads it; 0: not known. */
int megatron_vocab(const megatron_args *args);

/** True if any of the flags is in the table, or an older one. */
bool megatron_has_flags(const launch_flags *flags);

/** True if a plan or a model depends on a flag of the table. */
bool megatron_flag_matters(const char *name);

/**
 * Warn of values that are set outside the file, and of a launch that may not be the one that runs.
 */
void megatron_warn_of_flags(const megatron_args *args, plan_reader *in);

/** Read degrees and order of ranks, GPUs and batch. */
PLAIT_MUST_CHECK plait_status megatron_read_degrees(const megatron_args *args, plan_reader *in,
                                                    plait_error *err);

/** Read "vpp", "schedule" and "split"; tp to cp are known. `model` may be NULL. */
PLAIT_MUST_CHECK plait_status megatron_read_pipeline(const megatron_args *args,
                                                     const plait_model *model, plan_reader *in,
                                                     plait_error *err);

/** Read recomputation, sharding, precision, attention and the runtime; vpp is known. */
PLAIT_MUST_CHECK plait_status megatron_read_settings(const megatron_args *args, plan_reader *in,
                                                     plait_error *err);

/**
 * The model that the arguments build.
 *
 * @param flags  source of the arguments, for messages
 * @param name   name of the model
 * @param out    lives in flags->arena; NULL if the arguments do not give a whole model
 */
PLAIT_MUST_CHECK plait_status megatron_read_model(const megatron_args *args,
                                                  const launch_flags *flags, const char *name,
                                                  const plait_model **out, plait_error *err);

/** The flag of a model's name: ms-swift's own, and the one that a Primus module becomes. */
#define MEGATRON_MODEL_FLAG "model"

/** True if the first line of a text that is no comment begins with a key of YAML. */
bool megatron_is_yaml(const char *text, size_t length);

/**
 * Read the arguments of a YAML.
 *
 * @param out  receives Megatron-LM's flags, and MEGATRON_MODEL_FLAG if the file names a model
 */
PLAIT_MUST_CHECK plait_status megatron_read_yaml(const char *text, size_t length, const char *name,
                                                 plait_arena *arena, launch_flags *out,
                                                 text_builder *warnings, plait_error *err);

/** Translate ms-swift's flags and add its defaults. */
PLAIT_MUST_CHECK plait_status megatron_translate_swift(launch_flags *flags, text_builder *warnings,
                                                       plait_error *err);
