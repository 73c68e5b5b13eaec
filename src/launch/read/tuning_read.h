/* tuning_read.h - a plan and its job from the settings of a fine-tuning config */
#pragma once

#include "launch/read/plan_reader.h"
#include "launch/read/settings_read.h"
#include "launch/write/tuning.h"

/**
 * Returns the bits of modules named by words with blanks between; "all" and "all-linear" name all
 * that the target has. 0: none is known.
 */
unsigned tuning_targets_of(const char *words, tuning_names names);

/**
 * Set the model, the job, the batch and the keys that settings determine. Notes of the file have to
 * be read before.
 *
 * @param kind   kind of the job without adapters: SFT or DPO
 */
PLAIT_MUST_CHECK plait_status tuning_take(const tuning_settings *settings, plait_job_kind kind,
                                          tuning_names names, plait_arena *arena,
                                          text_builder *warnings, plans_entry *out,
                                          plait_error *err);

/** Set what the job trains, and nothing else. */
void tuning_take_job(const tuning_settings *settings, plait_job_kind kind, tuning_names names,
                     text_builder *warnings, plans_entry *out);
