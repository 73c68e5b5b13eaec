/* rl_import.h - reads the configs of verl and NeMo-RL as a job and a plan of reinforcement learning */
#pragma once

#include "launch/import.h"
#include "plait/rl.h"

/** Names of the formats; NULL-terminated. The index is a plait_rl_framework. */
#define rl_import_name plait_rl_framework_name

/** A job and a plan. Unless stated otherwise, 0 and NULL mean that a value is not given. */
typedef struct rl_imported {
    const char *model; /* id on the hub, or a path */
    /** Names of plait's models; "MODEL": plait has none of that id. */
    const char *policy, *critic, *reward;
    const char *runtime; /* training software */
    plait_engine_kind engine;
    int weights; /* a plait_weight_format; -1: not given */
    plait_rl_algorithm algorithm;
    int reference; /* -1: not given */
    bool rollout_logprobs, partial;
    int prompts, generations, update_prompts;
    int prompt_tokens, longest_answer;
    int pack_tokens;
    plait_rl_placement placement;
    int train_gpus, rollout_gpus; /* equal if colocated */
    int staleness;
    bool offload;
    double memory_fraction;
    plait_worker worker; /* degrees that are not given are 1 */
    plait_degrees degrees;
    plait_key_set given;
    plait_tuning tuning;
    const char *answer_tokens; /* MEAN,P90,MAX of a note; NULL: not given */
    const char *not_read;
} rl_imported;

/**
 * Read a config of a framework: a script of verl, or overrides; a YAML of NeMo-RL.
 *
 * @param call     NULL: the files under `defaults` of a YAML are not read
 * @param out      lives in `arena`
 * @param warning  receives sentences, one a line, on parts of the file that plait cannot price
 */
PLAIT_MUST_CHECK plait_status rl_import(plait_rl_framework framework, const char *text,
                                        size_t length, const char *name, const launch_call *call,
                                        plait_arena *arena, rl_imported *out, const char **warning,
                                        plait_error *err);
