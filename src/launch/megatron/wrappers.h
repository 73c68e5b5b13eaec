/* wrappers.h - software that starts Megatron-LM with defaults and names of its own
 *
 * ms-swift's `megatron sft` and `megatron pt`, AMD's Primus, and the YAML files of both and of
 * Megatron-LM's own tests. What they mean is added to the flags as Megatron-LM spells it.
 */
#pragma once

#include "launch/read/plan_reader.h"

/** The flag of a model's name: ms-swift's own, and what stands for the model of a Primus module. */
#define MEGATRON_MODEL_FLAG "model"

/** Is a text one of which the first line that says something is a key of a YAML? */
bool megatron_is_yaml(const char *text, size_t length);

/**
 * Read the arguments of a YAML.
 *
 * @param out  its flags are Megatron-LM's, and MEGATRON_MODEL_FLAG where the file names a model
 */
PLAIT_MUST_CHECK plait_status megatron_read_yaml(const char *text, size_t length, const char *name,
                                                 plait_arena *arena, launch_flags *out,
                                                 text_builder *warnings, plait_error *err);

/** Translate ms-swift's flags and add its defaults. */
PLAIT_MUST_CHECK plait_status megatron_translate_swift(launch_flags *flags, text_builder *warnings,
                                                       plait_error *err);

/** Translate those of Primus and add the defaults of a file of its modules, such as "pre_trainer.yaml". */
PLAIT_MUST_CHECK plait_status megatron_translate_primus(launch_flags *flags, const char *config,
                                                        text_builder *warnings, plait_error *err);
