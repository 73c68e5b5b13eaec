/* serve_space.h - the workers of a search, with what they are priced by */
#pragma once

#include "plait/serve.h"

/** One way to cut a worker and to store its numbers, whatever the engine. */
typedef struct serve_candidate {
    plait_serving serving;
    plait_step_table table;
    plait_serve_memory memory;
    const char *reason; /* why it cannot be */
} serve_candidate;

/** Fills what a serving is priced by. */
void serve_candidate_fill(const plait_serving *serving, const plait_load *load,
                          serve_candidate *out);

/**
 * All workers of a question, those that cannot be left out, in the order of GPUs, tp, pp, dp_attention, ep, formats.
 *
 * @param cut, large  receive how many were left out, for what they divide and for their size
 */
plait_status serve_space_fill(const plait_serve_options *question, plait_arena *arena,
                              serve_candidate **out, int *count, int64_t *cut, int64_t *large,
                              plait_error *err) PLAIT_MUST_CHECK;
