/*
 * pack.h - the layers of one stage into its memory: which option for how many layers of each group
 *
 *     minimise    sum over groups g, options c of n_gc t_gc
 *     subject to  sum_c n_gc = n_g                                                    for every g
 *                 sum n_gc s_gc + max { l_gc : n_gc > 0 } <= room
 *                 n_gc whole, not negative                                               (S.21)
 *
 * Equal layers are a count, so a stage has groups times options unknowns, not one a layer. It is
 * solved exactly: for each value that the maximum may have, by branch and bound with the bounds of
 * the relaxation (S.22).
 */
#pragma once

#include <stdbool.h>

#include "plait/arena.h"
#include "plait/error.h"

/** Time and bytes of one layer with an option. */
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
    double live_bytes; /* alive whatever is chosen */
    double below_s;    /* choices that are not below it are of no use; infinite: all count */
    long nodes;        /* limit of each branch and bound; 0: none */
} pack_problem;

typedef struct pack_result {
    bool fits;         /* and takes less than below_s */
    bool proven;       /* no limit of nodes was reached */
    double time_s;     /* below_s if nothing fits */
    double bound_s;    /* lower bound of every choice */
    double need_bytes; /* if nothing fits: least bytes of any choice */
    long nodes;
    int *count; /* [groups][options], in the arena */
} pack_result;

/**
 * Solves it. Fails (NOMEM) only. Among equal choices the first found is taken, which depends on the
 * problem alone.
 *
 * @param arena  result->count lives in it; what else is used is rewound
 */
PLAIT_MUST_CHECK plait_status pack_solve(const pack_problem *problem, plait_arena *arena,
                                         pack_result *result, plait_error *err);
