/* megatron.h - Megatron-LM as a target, and functions that its forks share with it */
#pragma once

#include <limits.h>

#include "plait/degrees.h"
#include "plait/problem.h"
#include "plait/model.h"
#include "plait/runtime.h"

#include "base/text.h"
#include "launch/call.h"
#include "launch/megatron/arguments.h"
#include "launch/read/flags.h"
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
