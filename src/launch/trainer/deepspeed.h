/* deepspeed.h - the way back of DeepSpeed's target: its JSON, and scripts that start it */
#pragma once

#include "launch/read/deepspeed_file.h"
#include "launch/target.h"
#include "base/text.h"

/** See launch_target.import; a text that is no JSON is a script. */
PLAIT_MUST_CHECK plait_status deepspeed_import(const char *text, size_t length, const char *name,
                                               const launch_call *call, plait_arena *arena,
                                               plans_entry *out, const char **warning,
                                               plait_error *err);

/** The same for a script; *out is unknown before. */
PLAIT_MUST_CHECK plait_status deepspeed_script_import(const char *text, size_t length,
                                                      const char *name, const launch_call *call,
                                                      plait_arena *arena, plans_entry *out,
                                                      const char **warning, plait_error *err);

/** What the keys say of a plan; warnings are sentences, each with a line break. */
PLAIT_MUST_CHECK plait_status deepspeed_take_file(const deepspeed_file *file, const char *name,
                                                  text_builder *warnings, plans_entry *out,
                                                  plait_error *err);
