/* deepspeed_file.h - the keys of DeepSpeed's JSON that a plan follows from */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plait/arena.h"
#include "plait/error.h"

#include "launch/read/flags.h"

enum { DEEPSPEED_OPEN = -1 }; /* not given */

typedef struct deepspeed_file {
    int train, micro, steps;
    int zero, mics, hpz, overlap;
    int fp16, bf16;
    int checkpoints, spread_checkpoints;
    int tp, pp, cp, ep;
    int weights, gradients; /* zero_quantized_...: ZeRO++ */
    int lives_on;           /* gathered parameters stay until backward */
    bool offload_params;    /* in host memory */
    bool offload_optimizer; /* in host memory, with reduced gradients */
    const char *nvme;       /* the section that goes to NVMe; NULL: none */
    int super_offload;
    bool zenflow;
    double offload_ratio; /* 0 to 1 */
    const char *
        not_read; /* keys of the top, of ZeRO and of its offload sections that are not read: "a, b" */
} deepspeed_file;

/** Read them; keys that say nothing of a plan are passed over. */
PLAIT_MUST_CHECK plait_status deepspeed_file_parse(const char *text, size_t length,
                                                   const char *name, plait_arena *arena,
                                                   deepspeed_file *out, plait_error *err);

/**
 * The text of a JSON that a flag names: one that the script itself makes, what is not known in it
 * null, or one that lies beside the script. A path is not followed anywhere else.
 *
 * @param out  NULL: there is none, or it cannot be read
 */
PLAIT_MUST_CHECK plait_status named_json(const launch_flags *flags, const char *name,
                                         const char **out, plait_error *err);
