/* deepspeed_file.h - the keys of DeepSpeed's JSON that determine a plan */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plait/arena.h"
#include "plait/error.h"

#include "launch/read/flags.h"

enum { DEEPSPEED_OPEN = -1 }; /* the value is not given */

typedef struct deepspeed_file {
    int train, micro, steps;
    int zero, mics, hpz, overlap;
    int fp16, bf16;
    int checkpoints, spread_checkpoints;
    int tp, pp, cp, ep;
    int weights, gradients; /* zero_quantized_...: ZeRO++ */
    int lives_on;           /* gathered parameters stay until backward */
    bool offload_params;    /* parameters are in host memory */
    bool offload_optimizer; /* optimizer and reduced gradients are in host memory */
    const char *nvme;       /* section with device nvme; NULL: none */
    int super_offload;
    bool zenflow;
    double offload_ratio; /* fraction of the optimizer on the host, 0 to 1 */
    const char *not_read; /* keys of the top, ZeRO and its offload that are not read: "a, b" */
} deepspeed_file;

/** Read the keys; those that do not affect a plan are skipped. */
PLAIT_MUST_CHECK plait_status deepspeed_file_parse(const char *text, size_t length,
                                                   const char *name, plait_arena *arena,
                                                   deepspeed_file *out, plait_error *err);

/**
 * The text of a JSON that a flag names: one that the script itself makes, with null for values that
 * are not known, or one in the script's folder. A path is not followed anywhere else.
 *
 * @param out  NULL: there is none, or it cannot be read
 */
PLAIT_MUST_CHECK plait_status named_json(const launch_flags *flags, const char *name,
                                         const char **out, plait_error *err);
