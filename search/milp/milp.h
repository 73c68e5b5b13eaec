/*
 * milp.h - solver interface for mixed-integer linear programs; indices start at 0
 *
 *     minimise    sum_j cost_j x_j
 *     subject to  low_i <= sum_j factor_ij x_j <= high_i      for every row i
 *                 low_j <= x_j <= high_j                      for every column j
 *                 x_j an integer for every column with `integer` set                  (S.20)
 *
 * An infinite value stands for a missing bound. An infeasible or unbounded program, or one that
 * reaches a limit, is no error: milp_result.verdict reports it. NaNs and wrong indices are errors.
 * Limits count nodes of the branch and bound, never seconds, so that results are reproducible.
 */
#pragma once

#include <stdbool.h>

#include "plait/arena.h"
#include "plait/error.h"

typedef struct milp_column {
    double low, high;
    double cost;
    bool integer;
} milp_column;

/** Coefficient of one column in a row. */
typedef struct milp_term {
    int column;
    double factor;
} milp_term;

typedef struct milp_row {
    double low, high;
    int terms;
    const milp_term *term; /* [terms], each column at most once */
} milp_row;

typedef struct milp_problem {
    int columns;
    const milp_column *column;
    int rows;
    const milp_row *row;
} milp_problem;

/** Limits at which the solver stops without a proof of optimality. */
typedef struct milp_limits {
    long nodes; /* most nodes of the branch and bound; 0: no limit */
    double gap; /* relative gap that is good enough; 0: no limit */
} milp_limits;

typedef enum milp_verdict {
    MILP_OPTIMAL,    /* proven, within the solver's tolerance of 1e-7 of the objective */
    MILP_FEASIBLE,   /* a limit was reached: x is within `gap` of the optimum */
    MILP_UNKNOWN,    /* a limit was reached before any solution was found */
    MILP_INFEASIBLE, /* proven */
    MILP_UNBOUNDED,
    MILP_FAILED /* numerical failure of the solver; no other field is meaningful */
} milp_verdict;

typedef struct milp_result {
    milp_verdict verdict;
    double objective; /* cost of x; NaN without a solution */
    double bound;     /* lower bound of every solution; -infinity: unknown */
    double gap; /* (objective - bound) / |objective|: 0 if optimal, infinite without a solution */
    long nodes;
    const double *x; /* [columns] best solution; NULL without one */
} milp_result;

/**
 * Solves a program. The function is deterministic and may be called from any thread.
 *
 * Fails (RANGE) on NaN, an infinite cost or factor, a lower bound of +infinity, an upper bound of
 * -infinity, and a row with an invalid or repeated column; `where` names the column or row.
 *
 * @param arena  result->x lives in it
 */
PLAIT_MUST_CHECK plait_status milp_solve(const milp_problem *problem, milp_limits limits,
                                         plait_arena *arena, milp_result *result, plait_error *err);

/**
 * Validates a program as milp_solve does before it calls the solver. (milp_check.c)
 *
 * @param arena  scratch memory, rewound on success
 */
PLAIT_MUST_CHECK plait_status milp_check(const milp_problem *problem, milp_limits limits,
                                         plait_arena *arena, plait_error *err);
