/* plans_read.h - the parts of a document of plans, for readers of other documents that hold them */
#pragma once

#include "io/json/json.h"
#include "io/plans/plans.h"

/** Members "model", "cluster" and "job" of an object; what is not there stays as it is. */
PLAIT_MUST_CHECK plait_status plans_read_question(const json_cursor *root, plait_arena *arena,
                                                  plans_entry *out, plait_error *err);

/** One key of a plan, if the object has it. */
PLAIT_MUST_CHECK plait_status plans_read_key(const json_cursor *plan, plait_key_id key,
                                             plait_arena *arena, plait_degrees *degrees,
                                             plait_key_set *given, plait_error *err);

/** Member "stages" of a plan; without one *out stays as it is. */
PLAIT_MUST_CHECK plait_status plans_read_stages(const json_cursor *plan, plait_arena *arena,
                                                plans_entry *out, plait_error *err);

/** The object of one plan: degrees, and whatever else a PLAN has, which is passed over. */
PLAIT_MUST_CHECK plait_status plans_read_plan(const json_cursor *plan, plait_arena *arena,
                                              plans_entry *out, plait_error *err);
