/* stages_read.h - layers that choose for themselves, on their way in */
#pragma once

#include "io/plans/plans.h"

/**
 * List the stages of an entry whose pp, vpp and schedule are known, with what each layer recomputes.
 *
 * @param chunks  [pp * vpp] in pipeline order
 * @param choice  one a layer of the model
 * @param cut     likewise; NULL: none has its own
 */
PLAIT_MUST_CHECK plait_status stages_list(const plait_chunk *chunks, const plait_recompute *choice,
                                          const plait_cut *cut, plait_arena *arena,
                                          plans_entry *out, plait_error *err);
