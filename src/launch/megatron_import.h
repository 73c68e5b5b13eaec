/* megatron_import.h - the parts of a plan and a model out of Megatron-LM's arguments */
#ifndef MEGATRON_IMPORT_H
#define MEGATRON_IMPORT_H

#include "flags.h"
#include "plait/model.h"
#include "plans.h"
#include "text.h"

/** A plan on its way in. */
typedef struct plan_reader {
    const launch_flags *flags;
    plans_entry *out;
    text_builder *warnings;
} plan_reader;

/** A key is now known. */
void import_give(plan_reader *in, const char *key);

/** A sentence for the user, on a line of its own. */
void import_warn(plan_reader *in, const char *sentence);

/** "vpp", "schedule" and "split"; tp to cp are known. `model` may be NULL. */
PLAIT_MUST_CHECK plait_status megatron_read_pipeline(plan_reader *in, const plait_model *model,
                                                     plait_error *err);

/**
 * The model that the arguments build.
 *
 * @param name  of the model
 * @param out   lives in flags->arena; NULL when the arguments do not say a whole model
 *
 * Fails (RANGE) on a value that cannot be.
 */
PLAIT_MUST_CHECK plait_status megatron_read_model(const launch_flags *flags, const char *name,
                                                  const plait_model **out, plait_error *err);

#endif
