/* space_private.h - steps of space_make, and the kernels and dispatchers of a row */
#pragma once

#include "search/space/space.h"

/**
 * Lists the values of each key, except splits.
 *
 * @param gbs  [batches] the batches whose divisors are microbatch sizes
 */
PLAIT_MUST_CHECK plait_status space_list_values(plan_space *space, const int *gbs, int batches,
                                                plait_arena *arena, plait_error *err);

/** Lists the splits of each pp, after the values. */
PLAIT_MUST_CHECK plait_status space_list_splits(plan_space *space, plait_arena *arena,
                                                plait_error *err);

/**
 * Returns whether a key keeps its default: no profile can restrict it, or it changes the numerics of
 * a step and the options do not allow that. A key with a limit does not.
 */
bool space_is_usual_only(const plan_space *space, plait_key_id key);

/** Returns the values of a key that the space may list, as bits 1 << value. */
unsigned space_takes(const plan_space *space, plait_key_id key);

/** Returns whether some layout can assign the layers to `pp` stages. */
bool space_has_layouts(const plan_space *space, int pp);

/**
 * Returns the kernels that run with these degrees and any mbs, as bits 1 << plait_attention_kernel.
 */
unsigned space_running_kernels(const plan_space *space, const plait_degrees *row);

/** Returns the kernels that get rows, as bits 1 << plait_attention_kernel. (S.80) */
unsigned space_kernels_of(const plan_space *space, const plait_degrees *row);

/** The dispatchers that get rows with given degrees. (S.79) */
typedef struct row_dispatchers {
    int fastest;        /* fastest dispatcher; -1: none runs */
    unsigned in_pairs;  /* dispatchers only for pairs of microbatches: bits 1 << plait_dispatcher */
    int in_full_graphs; /* dispatcher only for graphs of a whole iteration; -1: none */
} row_dispatchers;

/** A cache of dispatchers for one space. dispatch_cache_new returns NULL when out of memory. */
typedef struct dispatch_cache dispatch_cache;
dispatch_cache *dispatch_cache_new(plait_arena *arena);
row_dispatchers space_dispatchers_of(dispatch_cache *cache, const plan_space *space,
                                     const plait_degrees *row);
