/* plans_sharding.h - layers with a tp or a stage of ZeRO of their own, out of a file and into one */
#pragma once

#include "io/json/json.h"
#include "io/json/json_write.h"
#include "io/plans/plans.h"

/** Members "tp" and "zero" of a stage whose layers are known: a number for all, or [number, layers] runs. */
PLAIT_MUST_CHECK plait_status plans_read_cuts(const json_cursor *stage, plait_arena *arena,
                                              plans_stage *out, plait_error *err);

/** The same members, of what differs from `degrees`; a stage of which nothing does has none. */
void plans_write_cuts(json_writer *json, const plait_degrees *degrees, const plait_cut *cut,
                      int layers);
