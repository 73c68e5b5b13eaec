/*
 * program.h - one state for each variable of a graph: least time under a limit of memory
 *
 *     minimise   sum over v of time_v(x_v, o_v) + sum over edges (a, b) of time_ab(x_a, x_b)     (S.40)
 *     subject to sum over v of bytes_v(x_v, o_v) <= limit
 *
 * x_v is a state, which edges see; o_v one of the state's options, which they do not. The graph has
 * tree-width two at most: variables can be removed one after the other, each with no more than two
 * neighbours left (blocks of a transformer are chains, forks and joins).
 *
 * program_solve is exact. Nothing here knows what a layer is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "plait/arena.h"
#include "plait/error.h"

enum { PROGRAM_VARIABLES = 48, PROGRAM_EDGES = 128, PROGRAM_OPTIONS = 3 };

typedef struct program_option {
    double time_s;
    double bytes;
    int what; /* the caller's */
} program_option;

typedef struct program_state {
    int options; /* at least 1 */
    program_option option[PROGRAM_OPTIONS];
} program_state;

typedef struct program_variable {
    int states;
    program_state *state;
} program_variable;

typedef struct program_edge {
    int a, b;             /* different variables; several edges may join two */
    const double *time_s; /* [states of a][states of b] */
} program_edge;

typedef struct program {
    int variables;
    program_variable variable[PROGRAM_VARIABLES];
    int edges;
    program_edge edge[PROGRAM_EDGES];
    double limit_bytes;
} program;

typedef struct program_choice {
    int state[PROGRAM_VARIABLES];
    int option[PROGRAM_VARIABLES];
    double time_s;
    double bytes;
} program_choice;

typedef struct program_answer {
    bool feasible;         /* is there a choice within the limit? */
    program_choice choice; /* the best found; where none is feasible, that of fewest bytes */
    double lower_s;        /* no choice within the limit is faster; choice.time_s when proven */
    bool proven;
    int64_t labels; /* that were looked at to close the gap */
} program_answer;

/**
 * Solve a program. (S.41, S.42, S.43, S.44)
 *
 * @param most_labels  what may be looked at to close the gap; beyond it `proven` may be false
 * @param arena        scratch; what is used of it is given back
 * @return             NOMEM, or RANGE when the graph is wider than two
 */
PLAIT_MUST_CHECK plait_status program_solve(const program *p, int64_t most_labels,
                                            plait_arena *arena, program_answer *out,
                                            plait_error *err);

/** What a choice of states and options takes: fills in its time_s and bytes. */
void program_price(const program *p, program_choice *choice);

/** What eliminations minimise: time weighs seconds, bytes weighs bytes. */
typedef struct program_weights {
    double time;
    double bytes;
} program_weights;

/**
 * Least weighted sum without the limit, by variable elimination. (S.41)
 *
 * @param last      the variable that goes last; -1: any
 * @param marginal  of `last`: the least sum with each of its states; may be NULL
 * @param choice    may be NULL
 */
PLAIT_MUST_CHECK plait_status program_eliminate(const program *p, program_weights weights, int last,
                                                plait_arena *arena, double *marginal,
                                                program_choice *choice, plait_error *err);

/** What bounds the labels: a multiplier, and how far above the best of an entry one may lie. (S.43) */
typedef struct program_slack {
    double multiplier; /* seconds a byte */
    double gap_s;
    int most_each;       /* labels that an entry keeps; 0: all */
    int64_t most_labels; /* that are looked at */
} program_slack;

/**
 * The best choice within the limit, by elimination with fronts of time and bytes.
 *
 * @param whole  nothing was left out: the choice is the best there is within the gap
 * @param found  a choice within the limit was found
 */
PLAIT_MUST_CHECK plait_status program_fronts(const program *p, program_slack slack,
                                             plait_arena *arena, program_choice *choice,
                                             bool *found, bool *whole, int64_t *labels,
                                             plait_error *err);

/** The order of elimination: `last` goes last; -1 where a variable would have three neighbours. */
bool program_order(const program *p, int last, int order[PROGRAM_VARIABLES]);
