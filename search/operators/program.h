/*
 * program.h - assigns a state to each variable of a graph, in the least time under a memory limit
 *
 *     minimise   sum over v of time_v(x_v, o_v) + sum over edges (a, b) of time_ab(x_a, x_b)     (S.40)
 *     subject to sum over v of bytes_v(x_v, o_v) <= limit
 *
 * x_v is the state of variable v, on which the times of edges depend; o_v is one of the state's
 * options, on which they do not depend. The tree-width of the graph must be at most two: variables
 * can be eliminated one after the other, each with at most two neighbours left. Blocks of a
 * transformer are chains, forks and joins, so their graphs qualify.
 *
 * program_solve is exact. This module does not depend on models or layers.
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
    int what; /* the caller's identifier of the option */
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
    int a, b;             /* two different variables; a pair may have several edges */
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
    bool feasible;         /* true if a choice within the limit exists */
    program_choice choice; /* the best found; if infeasible, the one with the fewest bytes */
    double lower_s;        /* lower bound within the limit; equals choice.time_s if proven */
    bool proven;
    int64_t labels; /* number of labels generated to close the gap */
} program_answer;

/**
 * Solves a program. (S.41, S.42, S.43, S.44)
 *
 * @param most_labels  most labels to generate to close the gap; if reached, `proven` may be false
 * @param arena        scratch memory, rewound on success
 * @return             NOMEM, or RANGE if the tree-width exceeds two
 */
PLAIT_MUST_CHECK plait_status program_solve(const program *p, int64_t most_labels,
                                            plait_arena *arena, program_answer *out,
                                            plait_error *err);

/** Computes time_s and bytes of a choice from its states and options. */
void program_price(const program *p, program_choice *choice);

/**
 * Weights of an elimination, which minimises `time` times the seconds plus `bytes` times the bytes
 * of the choice.
 */
typedef struct program_weights {
    double time;
    double bytes;
} program_weights;

/**
 * Finds the choice with the least weighted sum, ignoring the limit, by variable elimination. (S.41)
 *
 * @param last      variable to eliminate last; -1: any
 * @param marginal  receives the least sum for each state of `last`; may be NULL
 * @param choice    receives the best choice; may be NULL
 */
PLAIT_MUST_CHECK plait_status program_eliminate(const program *p, program_weights weights, int last,
                                                plait_arena *arena, double *marginal,
                                                program_choice *choice, plait_error *err);

/**
 * Limits on labels. A label is dropped if its time + multiplier * bytes exceeds the minimum of its
 * entry by more than gap_s. (S.43)
 */
typedef struct program_slack {
    double multiplier; /* seconds per byte (S.42) */
    double gap_s;
    int most_each;       /* maximum number of labels in an entry; 0: no limit */
    int64_t most_labels; /* maximum number of generated labels */
} program_slack;

/**
 * Finds the best choice within the limit, by elimination with fronts of time and bytes. (S.43)
 *
 * @param found   set to true if a choice within the limit was found
 * @param whole   set to true if no limit dropped labels: the choice is optimal within the gap
 * @param labels  increased by the number of labels generated
 */
PLAIT_MUST_CHECK plait_status program_fronts(const program *p, program_slack slack,
                                             plait_arena *arena, program_choice *choice,
                                             bool *found, bool *whole, int64_t *labels,
                                             plait_error *err);

/** One step of an elimination: a variable, and its neighbours that are not eliminated yet. */
typedef struct program_step {
    int variable;
    int neighbours; /* at most 2; valid entries of `neighbour` */
    int neighbour[2];
} program_step;

/**
 * Computes an elimination order that ends with `last` (-1: any). Returns false if some variable
 * would have three neighbours.
 */
bool program_order(const program *p, int last, program_step step[PROGRAM_VARIABLES]);
