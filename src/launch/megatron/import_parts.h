/* import_parts.h - the parts of a plan and a model out of Megatron-LM's arguments
 *
 * What is not given is what Megatron would take. Each part fails (RANGE) on a value that cannot be,
 * and names it as Megatron does.
 */
#pragma once

#include "launch/megatron/arguments.h"
#include "plait/model.h"
#include "launch/read/plan_reader.h"

/** Flags of older releases and forks, as the table's; the table's own stay as they are. */
PLAIT_MUST_CHECK plait_status megatron_translate_flags(launch_flags *flags, plait_error *err);
bool megatron_flag_is_older(const char *name);

/** Are there flags that Megatron-LM had up to 2022 and not after? */
bool megatron_flags_are_of_2021(const launch_flags *flags);

/**
 * Fill in what DeepSpeed's JSON says and the flags do not: batch, ZeRO, precision. The file is one
 * that the script makes, or that lies beside it. With DeepSpeed's engine, zero_stage is known after.
 */
PLAIT_MUST_CHECK plait_status megatron_read_deepspeed(megatron_args *args, plan_reader *in,
                                                      plait_error *err);

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

/* ---- of the model ---- */

/** A layer with every part that the arguments give a shape to. */
typedef struct model_reader {
    const megatron_args *args;
    const launch_flags *flags;
    plait_model *model; /* its sizes are known */
    plait_layer full;   /* kinds of layers take what they have of it */
} model_reader;

/** The mixers of in->full; none when the arguments do not say how many heads there are. */
PLAIT_MUST_CHECK plait_status megatron_read_mixers(model_reader *in, plait_error *err);

/** Positions, after the mixers. */
void megatron_read_positions(model_reader *in);

/** Which layer has which part of in->full: the model's kinds. */
PLAIT_MUST_CHECK plait_status megatron_read_layers(model_reader *in, plait_error *err);
