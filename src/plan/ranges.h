/*
 * ranges.h - checks that each value of degrees and of plans is within its range
 *
 * These are the first checks of values from a program, a file or a flag. A word's index outside its
 * list, a negative degree or a missing list would cause a read out of bounds. plan_check.h checks
 * whether values are compatible with each other, the model and the software.
 */
#pragma once

#include "plait/plan.h"
#include "plan/reason.h"

/**
 * Checks each key against its bounds; dp can be 0 (unknown), and then shard_group can also be 0.
 */
PLAIT_MUST_CHECK plait_status degrees_check_ranges(const plait_degrees *degrees, plait_error *err);

/** Returns whether a recompute choice is within its range. */
bool recompute_has_values(plait_recompute recompute);

/** Checks a plan and each of its stages, with the lengths of their lists. */
PLAIT_MUST_CHECK plait_status plan_check_ranges(const plait_plan *plan, plait_error *err);

/** Writes the error of a range check to `why`. Returns whether the check succeeded. */
bool range_check_passed(plait_status status, const plait_error *found, const plan_reason *why);
