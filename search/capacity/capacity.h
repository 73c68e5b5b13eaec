/* capacity.h - declarations that the files of this folder share */
#pragma once

#include "plait/capacity.h"

/** Fails (RANGE) if tokens, bounds, runs, fleet or search options are out of range. */
PLAIT_MUST_CHECK plait_status capacity_options_check(const plait_capacity_options *ask,
                                                     plait_error *err);

/**
 * As plait_capacity_find, but only among plans with a step below `below_s`; row->fits is false if
 * there is none.
 */
PLAIT_MUST_CHECK plait_status capacity_find_below(const plait_capacity_options *ask,
                                                  const plait_problem *problem, double below_s,
                                                  plait_arena *arena, plait_capacity_row *row,
                                                  plait_error *err);

/** Returns the number of nodes of a job, rounded up. */
int capacity_nodes(const plait_problem *problem);

/** Returns the verdict of plait_capacity_compare without changing the rows. */
plait_capacity_verdict capacity_pick(const plait_capacity_row *row, int rows);
