/*
 * pack.h - fits the layers of one stage into its memory: how many layers of each group get which
 * option
 *
 *     minimise    sum over groups g, options c of n_gc t_gc
 *     subject to  sum_c n_gc = n_g                                                    for every g
 *                 sum n_gc s_gc + max { l_gc : n_gc > 0 } <= room
 *                 n_gc whole, not negative                                               (S.21)
 *
 * A group is a number n_g of equal layers, and an option is a way to recompute or offload a layer.
 * n_gc layers of group g have option c, with t_gc seconds, s_gc saved bytes and l_gc live bytes per
 * layer; all n_gc together are a choice. Since equal layers are counted, a stage has (groups x
 * options) unknowns instead of one per layer. The problem is solved exactly, by branch and bound
 * with the bounds of a relaxation (S.22), once for each value of the maximum of l_gc.
 */
#pragma once

#include <stdbool.h>

#include "plait/arena.h"
#include "plait/error.h"

/** Time and bytes of one layer with an option. */
typedef struct pack_option {
    double time_s;
    double saved_bytes;
    double live_bytes; /* bytes that are live in one layer at a time */
} pack_option;

typedef struct pack_problem {
    int groups;
    const int *layers; /* [groups] number of layers of each group */
    int options;
    const pack_option *option; /* [groups][options] */
    double room_bytes;         /* memory for the layers */
    double live_bytes;         /* live bytes of the stage with any choice */
    double below_s; /* limit of the time: slower choices are skipped; infinite: no limit */
    long nodes;     /* most nodes of each branch and bound; 0: no limit */
} pack_problem;

typedef struct pack_result {
    bool fits;         /* true if a choice fits and takes less than below_s */
    bool proven;       /* true if the result is optimal, since no limit of nodes was reached */
    double time_s;     /* time of the best choice; below_s if nothing fits */
    double bound_s;    /* lower bound of the time of every choice */
    double need_bytes; /* least bytes of any choice; valid if nothing fits */
    long nodes;
    int *count; /* [groups][options] counts of the best choice, in the arena */
} pack_result;

/**
 * Finds the fastest choice that fits. Fails only if out of memory. The result is deterministic:
 * among equal choices the first found is returned.
 *
 * @param arena  result->count lives in it; other memory is rewound
 */
PLAIT_MUST_CHECK plait_status pack_solve(const pack_problem *problem, plait_arena *arena,
                                         pack_result *result, plait_error *err);
