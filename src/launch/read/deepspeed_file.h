/* deepspeed_file.h - reads the keys of DeepSpeed's JSON that determine a plan */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plait/arena.h"
#include "plait/error.h"

#include "launch/read/flags.h"

enum { DEEPSPEED_OPEN = -1 }; /* value of an int field whose key is not given */

typedef struct deepspeed_file {
    int train, micro, steps;
    int zero, mics, hpz, overlap;
    int fp16, bf16;
    int checkpoints, spread_checkpoints;
    int tp, pp, cp, ep;
    int weights, gradients; /* zero_quantized_weights and zero_quantized_gradients */
    int lives_on;           /* true if gathered parameters stay in memory until backward */
    bool offload_params;    /* true if parameters are in host memory */
    bool offload_optimizer; /* true if the optimizer and reduced gradients are in host memory */
    const char *nvme;       /* section with device nvme; NULL: none */
    int super_offload;
    bool zenflow;
    double bucket; /* elements of a bucket of gradients; 0: not given; DEEPSPEED_OPEN: auto */
    double offload_ratio; /* fraction of the optimizer on the host, 0 to 1 */
    const char *not_read; /* ignored keys of the root, ZeRO and its offload: "a, b" */
} deepspeed_file;

/** Read the keys that affect a plan. */
PLAIT_MUST_CHECK plait_status deepspeed_file_parse(const char *text, size_t length,
                                                   const char *name, plait_arena *arena,
                                                   deepspeed_file *out, plait_error *err);

/**
 * Take the stage and the offload of a file by its name, as examples of training software name them:
 * "zero3", "zero2_offload", "examples/deepspeed/ds_z3_config.json" (modelscope/ms-swift v3.8.0 to
 * v4.5.2, hiyouga/LLaMA-Factory ff6d4d1). False: the name has no stage.
 */
bool deepspeed_file_named(const char *path, deepspeed_file *out);

/**
 * Find the text of a JSON file that a flag names: a file that the script itself writes, with null
 * for unknown values, or a file in the script's folder. The function opens no other path.
 *
 * @param out  receives the text; NULL: there is no such file, or it cannot be read
 */
PLAIT_MUST_CHECK plait_status named_json(const launch_flags *flags, const char *name,
                                         const char **out, plait_error *err);
