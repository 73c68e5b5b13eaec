/* companion.h - definitions that the writer and the reader of launch.json share */
#pragma once

#include "launch/call.h"
#include "io/json/json_write.h"
#include "plait/plan.h"
#include "io/plans/plans.h"

#define COMPANION_FORMAT "plait-launch"

enum {
    COMPANION_VERSION = 1,
    COMPANION_MAX_ACTIONS = 65536 /* most actions of a schedule that are written out one by one */
};

/**
 * Write the members that follow from the model, the job and the degrees alone: "degrees", "groups",
 * "stages", "layers", "schedule". The reader compares a file with the same text.
 *
 * @param problem  only its model, its job and the runtime's name are used
 */
PLAIT_MUST_CHECK plait_status companion_write_plan(json_writer *json, const plait_problem *problem,
                                                   const plait_plan *plan, plait_arena *arena,
                                                   plait_error *err);
