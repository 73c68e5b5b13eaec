/*
 * pack.h - the layers of one stage into its memory: which option for how many layers of each group
 *
 *     minimise    sum over groups g, options c of n_gc t_gc
 *     subject to  sum_c n_gc = n_g                                                    for every g
 *                 sum n_gc s_gc + max { l_gc : n_gc > 0 } <= room
 *                 n_gc whole, not negative                                               (S.21)
 *
 * Layers alike are a count, so that a stage has as many unknowns as groups times options, and not one
 * a layer. Solved exactly: for each value that the maximum may have, by branch and bound whose bounds
 * are the program's relaxation (S.22).
 */
#pragma once

#include <stdbool.h>

#include "plait/arena.h"
#include "plait/error.h"

/** What one layer takes under an option. */
typedef struct pack_option {
    double time_s;
    double saved_bytes;
    double live_bytes; /* of one layer at a time */
} pack_option;

typedef struct pack_problem {
    int groups;
    const int *layers; /* [groups] */
    int options;
    const pack_option *option; /* [groups][options] */
    double room_bytes;
    double live_bytes; /* that is there whatever is chosen */
    double below_s;    /* a choice that takes as long is of no use; infinity: any is */
    long nodes;        /* limit of each branch and bound; 0: none */
} pack_problem;

typedef struct pack_result {
    bool fits;         /* and takes less than below_s */
    bool proven;       /* no limit was met */
    double time_s;     /* below_s where nothing fits */
    double bound_s;    /* no choice takes less */
    double need_bytes; /* where nothing fits: the least room that any choice takes */
    long nodes;
    int *count; /* [groups][options], in the arena */
} pack_result;

/**
 * Solve. Fails (NOMEM) only; of equals the first found, which depends on the problem alone.
 *
 * @param arena  result->count lives in it; what else is used is rewound
 */
PLAIT_MUST_CHECK plait_status pack_solve(const pack_problem *problem, plait_arena *arena,
                                         pack_result *result, plait_error *err);
