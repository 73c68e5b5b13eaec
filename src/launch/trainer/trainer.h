/* trainer.h - parts that the targets of Hugging Face's Trainer share */
#pragma once

#include "launch/read/deepspeed_file.h"
#include "launch/read/tuning_read.h"
#include "launch/target.h"

/** Returns the part of a plan that a Trainer cannot run; NULL: none. */
const char *trainer_unsupported(const plait_problem *problem, const plait_plan *plan);

/** Returns accelerate.yaml for FSDP2; NULL: out of memory. */
const char *accelerate_config(const plait_launch *launch, plait_arena *arena);

/**
 * True if the gradients of each microbatch are reduced. With no_sync they would be summed unsharded
 * until the last microbatch, for which no plan has the memory. accelerate.yaml has no key for this;
 * the argument accelerator_config of a Trainer has.
 */
bool trainer_reduces_each_microbatch(const plait_launch *launch);

/** Set the keys of the plan that DeepSpeed's JSON determines. */
PLAIT_MUST_CHECK plait_status deepspeed_take_file(const deepspeed_file *file, const char *name,
                                                  text_builder *warnings, plans_entry *out,
                                                  plait_error *err);

/** How a target of the Trainer is configured. */
typedef struct trainer_dialect {
    const char *what;  /* name of the software in comments */
    const char *edits; /* settings to edit before a real run */
    const setting_row *rows;
    /** Sets the words of the target; `fsdp` is true for FSDP, false for DeepSpeed. */
    void (*adapt)(const plait_launch *launch, bool fsdp, tuning_settings *settings);
    const char *start_fsdp, *start_deepspeed; /* lines of run.sh; %s is the kind of job */
} trainer_dialect;

/** Add KIND.yaml, the config of FSDP or DeepSpeed, and the scripts. */
PLAIT_MUST_CHECK plait_status trainer_render(const plait_launch *launch,
                                             const trainer_dialect *dialect, plait_arena *arena,
                                             plait_launch_folder *out, plait_error *err);

/** Read a config of the dialect. `kind_of` returns the kind of a job from its settings. */
PLAIT_MUST_CHECK plait_status
trainer_import(const trainer_dialect *dialect,
               plait_job_kind (*kind_of)(const settings_source *, tuning_settings *),
               const char *text, size_t length, const char *name, const launch_call *call,
               plait_arena *arena, plans_entry *out, text_builder *warnings, plait_error *err);
