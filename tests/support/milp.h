/*
 * milp.h - solves mixed-integer linear programs with GLPK; indices start at 0
 *
 *     minimise    sum_j cost_j x_j
 *     subject to  low_i <= sum_j factor_ij x_j <= high_i      for every row i
 *                 low_j <= x_j <= high_j                      for every column j
 *                 x_j an integer for every column with `integer` set
 *
 * An infinite value stands for a missing bound.
 */
#pragma once

#include <stdbool.h>

#include "plait/arena.h"

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
    int columns; /* at least 1 */
    const milp_column *column;
    int rows;
    const milp_row *row;
} milp_problem;

typedef struct milp_result {
    bool feasible;
    double
        objective; /* cost of x, optimal to GLPK's tolerance of 1e-7; infinite without a solution */
    const double *x; /* [columns] in the arena; NULL without a solution */
} milp_result;

/** Solves a bounded program. Aborts if memory is short or GLPK fails. */
milp_result milp_solve(const milp_problem *problem, plait_arena *arena);
