/*
 * milp.h - mixed-integer linear programs, in mathematics and from index 0
 *
 *     minimise    sum_j cost_j x_j
 *     subject to  low_i <= sum_j factor_ij x_j <= high_i      for every row i
 *                 low_j <= x_j <= high_j                      for every column j
 *                 x_j whole where the column is `integer`                             (S.20)
 *
 * A bound that is missing is an infinity. Any program may be given: one that is contradictory,
 * unbounded or too large for its limit has an answer, one with NaNs or a wrong index an error.
 * Limits count nodes of the branch and bound, never seconds.
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

/** One factor of a row. */
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

/** When to stop before the proof. */
typedef struct milp_limits {
    long nodes; /* 0: none */
    double gap; /* relative; 0: none */
} milp_limits;

typedef enum milp_verdict {
    MILP_OPTIMAL,    /* proven, to the solver's 1e-7 of the objective */
    MILP_FEASIBLE,   /* a limit came first: `gap` says how far it may be off */
    MILP_UNKNOWN,    /* a limit came before any solution */
    MILP_INFEASIBLE, /* proven */
    MILP_UNBOUNDED,
    MILP_FAILED /* the numbers are beyond the solver: nothing is known */
} milp_verdict;

typedef struct milp_result {
    milp_verdict verdict;
    double objective; /* of x; NaN where there is none */
    double bound;     /* no solution lies below; -infinity: none is known */
    double gap; /* (objective - bound) / |objective|, 0 when optimal; infinity where unknown */
    long nodes;
    const double *x; /* [columns], NULL where there is none */
} milp_result;

/**
 * Solve a program. Same program, same answer, in any thread.
 *
 * Fails (RANGE) on NaN, an infinite cost or factor, a lower bound of +infinity or an upper of
 * -infinity, a column that is not there or twice in a row; `where` names the column or row.
 *
 * @param arena  result->x lives in it
 */
PLAIT_MUST_CHECK plait_status milp_solve(const milp_problem *problem, milp_limits limits,
                                         plait_arena *arena, milp_result *result, plait_error *err);

/**
 * The part of milp_solve in front of the solver: is it a program? (milp_check.c)
 *
 * @param arena  is used and rewound
 */
PLAIT_MUST_CHECK plait_status milp_check(const milp_problem *problem, milp_limits limits,
                                         plait_arena *arena, plait_error *err);
