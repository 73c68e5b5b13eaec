/* deepspeed_config.h - writes DeepSpeed's ds_config.json */
#pragma once

#include "plait/launch.h"

/** Number of parameters that exceeds any model, used as an infinite bound. */
#define DEEPSPEED_NO_BOUND 1e15

typedef enum deepspeed_engine {
    DEEPSPEED_ZERO,    /* wraps a model of the script; the file has optimizer and schedule */
    DEEPSPEED_TRAINER, /* wraps a model of Hugging Face's Trainer, whose arguments have both */
    DEEPSPEED_PIPELINE /* wraps a PipelineModule; the program has optimizer and schedule */
} deepspeed_engine;

/** Write a plan as the JSON that deepspeed.initialize reads. *text lives in `arena`. */
PLAIT_MUST_CHECK plait_status deepspeed_config(const plait_launch *launch, deepspeed_engine engine,
                                               plait_arena *arena, const char **text,
                                               plait_error *err);
