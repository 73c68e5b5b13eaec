/* megatron.h - Megatron-LM as a target, and what Megatron-Bridge shares with it */
#pragma once

#include <limits.h>

#include "plait/degrees.h"
#include "plait/job.h"
#include "plait/model.h"
#include "plait/runtime.h"

#include "base/text.h"
#include "launch/call.h"
#include "launch/megatron/arguments.h"
#include "launch/read/flags.h"
#include "launch/target.h"
#include "launch/write/args.h"

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

/** Sizes, norms, activation, biases, experts; and attention by the next. */
PLAIT_MUST_CHECK plait_status megatron_args_of_model(const plait_problem *problem,
                                                     plait_arena *arena, megatron_args *out,
                                                     plait_error *err);

/** One shape of each part, of the first kind of layer that has it; NULL: none has. */
typedef struct model_facts {
    const plait_attention *attention;
    const plait_mla *mla;
    const plait_delta_net *delta_net;
    const plait_mlp *mlp;
    const plait_moe *moe;
    int window; /* tokens; 0: none */
    bool bias;  /* in all linear layers */
} model_facts;

model_facts model_facts_of(const plait_model *model);

/** A number of plait_numerics, where 0 is "not known"; that is NaN here, and left to Megatron. */
double model_number(double number);

/** Has a layer the part that it is about? */
typedef bool layer_test(const plait_layer *layer);

bool layer_has_experts(const plait_layer *layer);
bool layer_has_no_rotary(const plait_layer *layer); /* attention without positions */

int model_count_layers(const plait_model *model, layer_test *test);

/** No release was asked for: the newest, which has everything. */
enum { MEGATRON_NEWEST = INT_MAX };

/** N of Megatron Core 0.N. */
int megatron_core_of(const plait_runtime *runtime);

/** N of Megatron-Bridge 0.N, which is, or comes next after, the release; 0: none. */
int megatron_bridge_of(const plait_runtime *runtime);

typedef enum user_buffers {
    USER_BUFFERS_NONE,     /* the first layer would raise an error */
    USER_BUFFERS_IPC,      /* by CUDA IPC, once UB_SKIPMC=1 says so */
    USER_BUFFERS_MULTICAST /* as they come */
} user_buffers;

user_buffers user_buffers_of(const plait_problem *problem, const plait_degrees *degrees);
