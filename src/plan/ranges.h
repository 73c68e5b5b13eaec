/*
 * ranges.h - are all values of a point, or a plan, within their own range?
 *
 * This is the first check of values from a program, a file or a flag. A word's index outside its
 * list, a negative degree or a missing list would cause a read out of bounds. plan_check.h checks
 * whether the values fit each other, the model and the software.
 */
#pragma once

#include "plait/plan.h"
#include "plan/reason.h"

/** Each key must be within its bounds; dp may be 0 (unknown), and then shard_group too. */
PLAIT_MUST_CHECK plait_status degrees_check_ranges(const plait_degrees *degrees, plait_error *err);

/** Checks a choice of recomputation alone. */
bool recompute_has_values(plait_recompute recompute);

/** Checks a plan and each of its stages, with the lengths of their lists. */
PLAIT_MUST_CHECK plait_status plan_check_ranges(const plait_plan *plan, plait_error *err);

/** Converts the error of such a check to a reason. Returns whether the check succeeded. */
bool range_check_passed(plait_status status, const plait_error *found, const plan_reason *why);
