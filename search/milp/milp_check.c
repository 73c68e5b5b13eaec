/* milp_check.c - validates a program, since the solver aborts on invalid input */
#include <math.h>
#include <stdio.h>

#include "search/milp/milp.h"

static plait_status bounds_check(double low, double high, const char *where, plait_error *err)
{
    if (isnan(low) || isnan(high) || low == HUGE_VAL || high == -HUGE_VAL)
        return plait_fail(err, PLAIT_ERROR_RANGE, where, "expected bounds, found %g to %g", low,
                          high);
    return PLAIT_OK;
}

static plait_status column_check(const milp_column *column, int j, plait_error *err)
{
    char where[32];

    snprintf(where, sizeof where, "column %d", j);
    PLAIT_TRY(bounds_check(column->low, column->high, where, err));
    if (!isfinite(column->cost))
        return plait_fail(err, PLAIT_ERROR_RANGE, where, "expected a finite cost, found %g",
                          column->cost);
    return PLAIT_OK;
}

/* seen[column] is the last row that contains the column, counted from 1; 0: none. */
static plait_status row_check(const milp_problem *problem, int i, int *seen, plait_error *err)
{
    const milp_row *const row = &problem->row[i];
    char where[32];

    snprintf(where, sizeof where, "row %d", i);
    PLAIT_TRY(bounds_check(row->low, row->high, where, err));
    if (row->terms < 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, where, "expected 0 or more terms, found %d",
                          row->terms);
    for (int t = 0; t < row->terms; t++) {
        const int column = row->term[t].column;

        if (column < 0 || column >= problem->columns)
            return plait_fail(err, PLAIT_ERROR_RANGE, where,
                              "expected a column from 0 to %d, found %d", problem->columns - 1,
                              column);
        if (seen[column] == i + 1)
            return plait_fail(err, PLAIT_ERROR_RANGE, where,
                              "expected each column once, found column %d twice", column);
        if (!isfinite(row->term[t].factor))
            return plait_fail(err, PLAIT_ERROR_RANGE, where, "expected a finite factor, found %g",
                              row->term[t].factor);
        seen[column] = i + 1;
    }
    return PLAIT_OK;
}

plait_status milp_check(const milp_problem *problem, milp_limits limits, plait_arena *arena,
                        plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(arena);

    if (problem->columns < 0 || problem->rows < 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "program",
                          "expected 0 or more rows and columns, found %d x %d", problem->rows,
                          problem->columns);
    if (limits.nodes < 0 || !(limits.gap >= 0.0))
        return plait_fail(err, PLAIT_ERROR_RANGE, "limits",
                          "expected 0 or more nodes and a gap of 0 or more, found %ld and %g",
                          limits.nodes, limits.gap);
    int *const seen = plait_arena_alloc(arena, (size_t)problem->columns, sizeof *seen);
    PLAIT_TRY(plait_check_allocated(seen, err));
    for (int j = 0; j < problem->columns; j++)
        PLAIT_TRY(column_check(&problem->column[j], j, err));
    for (int i = 0; i < problem->rows; i++)
        PLAIT_TRY(row_check(problem, i, seen, err));
    plait_arena_rewind(arena, mark);
    return PLAIT_OK;
}
