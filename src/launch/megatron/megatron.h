/* megatron.h - Megatron-LM as a target, and functions that its forks share with it */
#pragma once

#include <limits.h>

#include "plait/degrees.h"
#include "plait/problem.h"
#include "plait/model.h"
#include "plait/plan.h"
#include "plait/runtime.h"

#include "base/text.h"
#include "launch/megatron/arguments.h"
#include "launch/read/plan_reader.h"
#include "launch/target.h"
#include "launch/write/args.h"

/** The first lines of args.sh of Megatron-LM and Megatron-DeepSpeed. */
#define MEGATRON_ARGS_HEAD                                                                         \
    "# shellcheck shell=bash disable=SC2215\n"                                                     \
    "# args.sh - arguments of pretrain_gpt.py, one per line; run.sh reads them"

/** Convert a model and a plan to arguments. Texts live in `arena`. */
PLAIT_MUST_CHECK plait_status megatron_args_of(const plait_problem *problem, const plait_plan *plan,
                                               plait_arena *arena, megatron_args *out,
                                               plait_error *err);

/** Append `export NAME=value` lines that Megatron-LM and Megatron-DeepSpeed need at the start. */
void megatron_append_environment(const plait_launch *launch, text_builder *out);

/**
 * Append Transformer Engine's variables for the attention kernel, in place of the argument that
 * older releases lack.
 */
void megatron_append_attention(const megatron_args *args, text_builder *out);

/**
 * Read a plan from flags.
 *
 * @param text      text of the file with the flags, which may contain plait's notes
 * @param warnings  receives sentences, as in launch_target.import
 */
PLAIT_MUST_CHECK plait_status megatron_import_flags(launch_flags *flags, const char *text,
                                                    size_t length, const launch_call *call,
                                                    text_builder *warnings, plans_entry *out,
                                                    plait_error *err);

/** Set a model's sizes, norms, activation, biases, experts, attention and positions. */
PLAIT_MUST_CHECK plait_status megatron_args_of_model(const plait_problem *problem,
                                                     plait_arena *arena, megatron_args *out,
                                                     plait_error *err);

/**
 * Shapes of a model's parts, each from the first kind of layer with that part; NULL: no layer has
 * the part.
 */
typedef struct model_facts {
    const plait_attention *attention;
    const plait_mla *mla;
    const plait_delta_net *delta_net;
    const plait_mamba *mamba;
    const plait_mlp *mlp;
    const plait_moe *moe;
    int window; /* tokens of the window; 0: none */
    bool bias;  /* true if all linear layers have a bias */
} model_facts;

model_facts model_facts_of(const plait_model *model);

/**
 * Returns a number of plait_numerics, or NaN if it is 0, which means unknown there; Megatron's
 * default then applies.
 */
double model_number(double number);

/** A test that is true if a layer has a certain part. */
typedef bool layer_test(const plait_layer *layer);

bool layer_has_experts(const plait_layer *layer);
bool layer_has_mlp(const plait_layer *layer);
bool layer_has_mamba(const plait_layer *layer);
bool layer_has_attention(const plait_layer *layer); /* any mixer but Mamba */
bool layer_has_no_rotary(const plait_layer *layer); /* attention without positions */

int model_count_layers(const plait_model *model, layer_test *test);

/**
 * Returns the --hybrid-layer-pattern of a model whose layers are in these chunks; NULL: out of
 * memory. src/rules/rules_megatron.c decides which models have one.
 */
const char *hybrid_pattern(const plait_model *model, const plait_chunk *chunk, int chunks,
                           plait_arena *arena);

/**
 * Reads the chunks of a pattern whose letters are the layers of a model.
 *
 * @param chunk  [PLAIT_MAX_LAYERS]
 * @return       the number of chunks; 0: the letters are not those of the model
 */
int hybrid_chunks(const plait_model *model, const char *pattern, plait_chunk *chunk);

/** Returns the number of chunks of a pattern. */
int hybrid_segments(const char *pattern);

/**
 * Reads the layers of a pattern. Two letters are one layer if all letters are pairs of a mixer and
 * a feed-forward part, and no chunk ends inside a pair; otherwise each letter is a layer.
 *
 * @param full    layer with every part to which the arguments give a shape
 * @param model   receives layers, kinds and multi-token-prediction modules
 * @param wanted  the pattern that plait can read, such as "of known letters"; NULL: it was read
 */
PLAIT_MUST_CHECK plait_status hybrid_read_layers(const char *pattern, const plait_layer *full,
                                                 plait_arena *arena, plait_model *model,
                                                 const char **wanted, plait_error *err);

/** The newest release, if none is requested. */
enum { MEGATRON_NEWEST = INT_MAX };

/** Returns N of Megatron Core 0.N for which a launch is written. */
int megatron_core_of(const plait_runtime *runtime);

/** Returns N of Megatron-Bridge 0.N, the first at or after the runtime's release; 0: none. */
int megatron_bridge_of(const plait_runtime *runtime);

typedef enum user_buffers {
    USER_BUFFERS_NONE,     /* off, or not possible: the first layer would raise an error */
    USER_BUFFERS_IPC,      /* by CUDA IPC, if UB_SKIPMC=1 */
    USER_BUFFERS_MULTICAST /* by multicast, the default */
} user_buffers;

user_buffers user_buffers_of(const plait_problem *problem, const plait_degrees *degrees);

/*
 * These functions read parts of a plan and a model from Megatron-LM's arguments. Arguments that are
 * not given have Megatron's defaults. Each function fails (RANGE) on an impossible value, and the
 * message has Megatron's name of the argument.
 */

/** Another name of a flag. */
typedef struct flag_alias {
    const char *name;
    const char *meant; /* flag of the table */
    const char *value; /* value of that flag; NULL: the value of `name` */
} flag_alias;

/** Add the flags that aliases stand for; a flag that is given takes precedence over its aliases. */
PLAIT_MUST_CHECK plait_status megatron_translate(launch_flags *flags, const flag_alias *row,
                                                 plait_error *err);

bool megatron_flag_is_older(const char *name);

/** True if one of the flags existed in Megatron-LM only up to 2022. */
bool megatron_flags_are_of_2021(const launch_flags *flags);

/**
 * Returns the rows of the embedding, which are the vocabulary after Megatron's padding; 0: unknown.
 */
int megatron_vocab(const megatron_args *args);

/** True if one of the flags is in the table or is an older name. */
bool megatron_has_flags(const launch_flags *flags);

/** True if a plan or a model depends on a flag of the table. */
bool megatron_flag_matters(const char *name);

/**
 * Warn of values that are set outside the file, and of a launch command that may not be the one
 * that runs.
 */
void megatron_warn_of_flags(const megatron_args *args, plan_reader *in);

/** Read degrees and order of ranks, GPUs and batch. */
PLAIT_MUST_CHECK plait_status megatron_read_degrees(const megatron_args *args, plan_reader *in,
                                                    plait_error *err);

/**
 * Write | between the stages of a hybrid's pattern that has none. Fails (RANGE) if its letters do
 * not divide.
 */
PLAIT_MUST_CHECK plait_status megatron_divide_pattern(megatron_args *args, const plan_reader *in,
                                                      plait_error *err);

/** Read "vpp", "schedule" and "split", after the degrees have been read. `model` may be NULL. */
PLAIT_MUST_CHECK plait_status megatron_read_pipeline(const megatron_args *args,
                                                     const plait_model *model, plan_reader *in,
                                                     plait_error *err);

/** Read recomputation, sharding, precision, attention and the runtime, after vpp has been read. */
PLAIT_MUST_CHECK plait_status megatron_read_settings(const megatron_args *args, plan_reader *in,
                                                     plait_error *err);

/**
 * Read "cuda_graph", "fp8_attention", "fused_grouped_mlp", "tp_comm_overlap", "permute_fusion",
 * "router_fusion" and "gather_with_step", after all other keys and the runtime. Values that no plan
 * can have become the nearest ones, with a warning.
 */
PLAIT_MUST_CHECK plait_status megatron_read_switches(const megatron_args *args, plan_reader *in,
                                                     plait_error *err);

/**
 * Read the model that the arguments build.
 *
 * @param flags   source of the arguments, for messages
 * @param name    name of the model
 * @param out     lives in flags->arena; NULL if the arguments do not give a whole model
 * @param wanted  argument that plait could read in the place of one that it cannot; NULL: none
 */
PLAIT_MUST_CHECK plait_status megatron_read_model(const megatron_args *args,
                                                  const launch_flags *flags, const char *name,
                                                  const plait_model **out, const char **wanted,
                                                  plait_error *err);

/**
 * The flag that names a model: ms-swift has this flag, and the module of a Primus file becomes one.
 */
#define MEGATRON_MODEL_FLAG "model"

/** True if the first line that is not a comment begins with a YAML key. */
bool megatron_is_yaml(const char *text, size_t length);

/**
 * Read arguments from a YAML file.
 *
 * @param out  receives Megatron-LM's flags, and MEGATRON_MODEL_FLAG if the file names a model
 */
PLAIT_MUST_CHECK plait_status megatron_read_yaml(const char *text, size_t length, const char *name,
                                                 plait_arena *arena, launch_flags *out,
                                                 text_builder *warnings, plait_error *err);

/**
 * Add overrides of Megatron-Bridge as flags. If there are any, set flags->recipe and recipe_keys,
 * and add MEGATRON_MODEL_FLAG if the recipe builds a known model.
 */
PLAIT_MUST_CHECK plait_status megatron_translate_bridge(launch_flags *flags, plait_error *err);

/** Returns the name of the model that a recipe of Megatron-Bridge builds; NULL: unknown. */
const char *megatron_bridge_model(const char *recipe);

/** Leave the keys of in->flags->recipe_keys unset, with a warning. */
void megatron_leave_to_recipe(plan_reader *in);

/** Translate ms-swift's flags and add its defaults. */
PLAIT_MUST_CHECK plait_status megatron_translate_swift(launch_flags *flags, text_builder *warnings,
                                                       plait_error *err);
