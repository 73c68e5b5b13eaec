/* megatron.h - Megatron-LM as a target, and functions that its forks share with it */
#pragma once

#include <limits.h>

#include "plait/degrees.h"
#include "plait/problem.h"
#include "plait/model.h"
#include "plait/runtime.h"

#include "base/text.h"
#include "launch/megatron/arguments.h"
#include "launch/read/plan_reader.h"
#include "launch/target.h"
#include "launch/write/args.h"

/** The first lines of args.sh of both Megatrons. */
#define MEGATRON_ARGS_HEAD                                                                         \
    "# shellcheck shell=bash disable=SC2215\n"                                                     \
    "# args.sh - arguments of pretrain_gpt.py, one per line; run.sh reads them"

/** A model and a plan as arguments. Texts live in `arena`. */
PLAIT_MUST_CHECK plait_status megatron_args_of(const plait_problem *problem, const plait_plan *plan,
                                               plait_arena *arena, megatron_args *out,
                                               plait_error *err);

/** Append `export NAME=value` lines for the start of both Megatrons. */
void megatron_append_environment(const plait_launch *launch, text_builder *out);

/**
 * Append Transformer Engine's variables for the attention kernel, in place of the argument that
 * older releases lack.
 */
void megatron_append_attention(const megatron_args *args, text_builder *out);

/**
 * A plan out of flags.
 *
 * @param text      the file of the flags, for plait's notes in it
 * @param warnings  receives sentences as of launch_target.import
 */
PLAIT_MUST_CHECK plait_status megatron_import_flags(launch_flags *flags, const char *text,
                                                    size_t length, const launch_call *call,
                                                    text_builder *warnings, plans_entry *out,
                                                    plait_error *err);

/** Set sizes, norms, activation, biases, experts, attention and positions. */
PLAIT_MUST_CHECK plait_status megatron_args_of_model(const plait_problem *problem,
                                                     plait_arena *arena, megatron_args *out,
                                                     plait_error *err);

/** One shape of each part, from the first kind of layer that has it; NULL: none has. */
typedef struct model_facts {
    const plait_attention *attention;
    const plait_mla *mla;
    const plait_delta_net *delta_net;
    const plait_mlp *mlp;
    const plait_moe *moe;
    int window; /* tokens of the window; 0: none */
    bool bias;  /* all linear layers have a bias */
} model_facts;

model_facts model_facts_of(const plait_model *model);

/** A number of plait_numerics, in which 0 is unknown; unknown is NaN here, and left to Megatron. */
double model_number(double number);

/** True if a layer has the part that the test is for. */
typedef bool layer_test(const plait_layer *layer);

bool layer_has_experts(const plait_layer *layer);
bool layer_has_no_rotary(const plait_layer *layer); /* attention without positions */

int model_count_layers(const plait_model *model, layer_test *test);

/** The newest release, if none is requested. */
enum { MEGATRON_NEWEST = INT_MAX };

/** N of Megatron Core 0.N for which a launch is written. */
int megatron_core_of(const plait_runtime *runtime);

/** N of Megatron-Bridge 0.N at or after the release; 0: none. */
int megatron_bridge_of(const plait_runtime *runtime);

typedef enum user_buffers {
    USER_BUFFERS_NONE,     /* the first layer would raise an error */
    USER_BUFFERS_IPC,      /* by CUDA IPC, if UB_SKIPMC=1 */
    USER_BUFFERS_MULTICAST /* by multicast, the default */
} user_buffers;

user_buffers user_buffers_of(const plait_problem *problem, const plait_degrees *degrees);

/*
 * Parts of a plan and a model out of Megatron-LM's arguments. Arguments that are not given have
 * Megatron's defaults. Each part fails (RANGE) on an impossible value, with Megatron's name for it.
 */

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
