/* capacity.h - what the files of capacity share */
#pragma once

#include "plait/capacity.h"

/** Fails (RANGE) on tokens, bounds, runs, a fleet or options of a search that there are not. */
PLAIT_MUST_CHECK plait_status capacity_check_ask(const plait_capacity_ask *ask, plait_error *err);

/** plait_capacity_find of plans with a step below `below_s` alone; where there is none the row does not fit. */
PLAIT_MUST_CHECK plait_status capacity_find_below(const plait_capacity_ask *ask,
                                                  const plait_problem *problem, double below_s,
                                                  plait_arena *arena, plait_capacity_row *row,
                                                  plait_error *err);

/** Nodes of a job, the last one perhaps in part. */
int capacity_nodes(const plait_problem *problem);

/** Which rows answer, without what plait_capacity_judge writes into them. */
plait_capacity_verdict capacity_pick(const plait_capacity_row *row, int rows);

/** Draw the runs of a row, on several threads; NaN where the closed form gets nowhere. */
PLAIT_MUST_CHECK plait_status capacity_draw(const plait_capacity_ask *ask,
                                            const plait_capacity_row *row, plait_arena *arena,
                                            plait_capacity_drawn *out, plait_error *err);
