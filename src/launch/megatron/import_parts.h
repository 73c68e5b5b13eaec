/* import_parts.h - the parts of a plan and a model out of Megatron-LM's arguments */
#ifndef IMPORT_PARTS_H
#define IMPORT_PARTS_H

#include "plait/model.h"
#include "plan_reader.h"

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
