/* capacity.h - declarations that the files of this folder share */
#pragma once

#include "plait/capacity.h"

/** Fails (RANGE) if tokens, bounds, runs, fleet or search options are out of range. */
PLAIT_MUST_CHECK plait_status capacity_options_check(const plait_capacity_options *ask,
                                                     plait_error *err);

/** plait_capacity_find among plans with a step below `below_s`; without one, the row does not fit. */
PLAIT_MUST_CHECK plait_status capacity_find_below(const plait_capacity_options *ask,
                                                  const plait_problem *problem, double below_s,
                                                  plait_arena *arena, plait_capacity_row *row,
                                                  plait_error *err);

/** Nodes of a job, rounded up. */
int capacity_nodes(const plait_problem *problem);

/** The verdict of plait_capacity_compare, which also writes into the rows; this does not. */
plait_capacity_verdict capacity_pick(const plait_capacity_row *row, int rows);
