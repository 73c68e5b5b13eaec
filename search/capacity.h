/* capacity.h - what the files of capacity share */
#ifndef SEARCH_CAPACITY_H
#define SEARCH_CAPACITY_H

#include "plait/capacity.h"

/** Fails (RANGE) on tokens, bounds, runs, a fleet or options of a search that there are not. */
PLAIT_MUST_CHECK plait_status capacity_check_ask(const plait_capacity_ask *ask, plait_error *err);

/** Draw the runs of a row, on several threads; NaN where the closed form gets nowhere. */
PLAIT_MUST_CHECK plait_status capacity_draw(const plait_capacity_ask *ask,
                                            const plait_capacity_row *row, plait_arena *arena,
                                            plait_capacity_drawn *out, plait_error *err);

#endif
