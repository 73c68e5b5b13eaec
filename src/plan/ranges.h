/*
 * ranges.h - is a point, or a plan, made of values that there are at all?
 *
 * The first thing that is asked of what a program, a file or a flag brings: an index of a word outside
 * its list, a negative degree or a list that is missing would be read as one. Whether the values suit
 * each other, the model and the software is plan_check's to say.
 */
#pragma once

#include "plait/plan.h"
#include "plan/reason.h"

/** Each key within its own bounds; dp may be 0, not known, and then shard_group. */
PLAIT_MUST_CHECK plait_status degrees_check_ranges(const plait_degrees *degrees, plait_error *err);

/** The same of a choice of recomputation alone. */
bool recompute_has_values(plait_recompute recompute);

/** Of a plan and each of its stages, with lists of chunks and choices as long as they say. */
PLAIT_MUST_CHECK plait_status plan_check_ranges(const plait_plan *plan, plait_error *err);

/** What one of the two says as a reason. */
bool values_hold(plait_status status, const plait_error *found, const plan_reason *why);
