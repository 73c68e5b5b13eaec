/* serve_space.h - workers of a search, with the tables and memory that prices need */
#pragma once

#include "plait/serve.h"

/** One set of degrees and formats of a worker, independent of the engine. */
typedef struct serve_candidate {
    plait_serving serving;
    plait_step_table table;
    plait_serve_memory memory;
    const char *reason; /* reason why the worker is invalid; NULL: valid */
} serve_candidate;

/** Fills all fields of a candidate: step table, memory, or the reason why it is invalid. */
void serve_candidate_fill(const plait_serving *serving, const plait_load *load,
                          serve_candidate *out);

/**
 * Lists the valid workers of a search, in the order of tp, pp, dp_attention, ep, weights, cache
 * formats.
 *
 * @param cut, large  receive the numbers of excluded workers: degrees that do not divide the model,
 *     weights that do not fit
 */
plait_status serve_space_fill(const plait_serve_options *question, plait_arena *arena,
                              serve_candidate **out, int *count, int64_t *cut, int64_t *large,
                              plait_error *err) PLAIT_MUST_CHECK;
