/* rl_world.h - a step of reinforcement learning of shipped files, on nodes of 8 H100 */
#pragma once

#include "plait/rl.h"
#include "support/world.h"

/** The job points into the rest: an rl_world stays where it was made. */
typedef struct rl_world {
    world of;
    plait_lengths lengths;
    plait_rl_job job; /* the caller sets prompts and generations */
} rl_world;

/** Find model and runtime by their names, and the engine vllm; a test that cannot fails. */
void rl_world_make(rl_world *w, const char *model, const char *runtime, int gpus,
                   double prompt_tokens, plait_length_shape answer, plait_arena *arena);
