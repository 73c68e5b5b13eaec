/* training_script.h - what a config leaves to the reader's own training script
 *
 * DeepSpeed and FSDP wrap a model that somebody else's code builds, so that model, sequence length,
 * attention and recomputation stand in no key of their configs.
 */
#pragma once

#include "launch/target.h"
#include "launch/write/training.h"

/**
 * Comment lines for the head of run.sh, `# plait: KEY VALUE` lines among them.
 *
 * @param more  further lines of the same kind; "" for none
 */
const char *training_script_notes(const plait_launch *launch, const training_places *places,
                                  const char *more, plait_arena *arena);

/** The part of a plan that only the rules of Megatron or torchtitan have words for, or NULL. */
const char *training_script_lacks(const plait_problem *problem, const plait_plan *plan);
