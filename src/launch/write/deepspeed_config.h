/* deepspeed_config.h - DeepSpeed's ds_config.json */
#pragma once

#include "plait/launch.h"

/** Number of parameters as a bound that no model reaches. */
#define DEEPSPEED_NO_BOUND 1e15

typedef enum deepspeed_engine {
    DEEPSPEED_ZERO,    /* wraps a model of the script's; optimizer and schedule are in the file */
    DEEPSPEED_PIPELINE /* wraps a PipelineModule; optimizer and schedule are the program's */
} deepspeed_engine;

/** A plan as the JSON that deepspeed.initialize reads. *text lives in `arena`. */
PLAIT_MUST_CHECK plait_status deepspeed_config(const plait_launch *launch, deepspeed_engine engine,
                                               plait_arena *arena, const char **text,
                                               plait_error *err);
