/* milp.c - solves mixed-integer linear programs with GLPK, which counts from 1 */
#include "support/milp.h"

#include <glpk.h>
#include <math.h>
#include <stdlib.h>

static int bounds_kind(double low, double high)
{
    if (isinf(low))
        return isinf(high) ? GLP_FR : GLP_UP;
    return isinf(high) ? GLP_LO : low == high ? GLP_FX : GLP_DB;
}

static void add_columns(const milp_problem *problem, glp_prob *lp)
{
    glp_add_cols(lp, problem->columns);
    for (int j = 0; j < problem->columns; j++) {
        const milp_column *const column = &problem->column[j];

        glp_set_col_bnds(lp, j + 1, bounds_kind(column->low, column->high), column->low,
                         column->high);
        glp_set_obj_coef(lp, j + 1, column->cost);
        glp_set_col_kind(lp, j + 1, column->integer ? GLP_IV : GLP_CV);
    }
}

static void add_rows(const milp_problem *problem, glp_prob *lp)
{
    int *const index = glp_alloc(problem->columns + 1, sizeof *index);
    double *const factor = glp_alloc(problem->columns + 1, sizeof *factor);

    if (problem->rows > 0)
        glp_add_rows(lp, problem->rows);
    for (int i = 0; i < problem->rows; i++) {
        const milp_row *const row = &problem->row[i];

        for (int t = 0; t < row->terms; t++) {
            index[t + 1] = row->term[t].column + 1;
            factor[t + 1] = row->term[t].factor;
        }
        glp_set_row_bnds(lp, i + 1, bounds_kind(row->low, row->high), row->low, row->high);
        glp_set_mat_row(lp, i + 1, row->terms, index, factor);
    }
    glp_free(index);
    glp_free(factor);
}

/* Solves the relaxation, from whose basis the branch and bound starts. Returns whether a solution exists. */
static bool solve(glp_prob *lp)
{
    glp_smcp simplex;
    glp_iocp branch;

    glp_init_smcp(&simplex);
    glp_init_iocp(&branch);
    simplex.msg_lev = branch.msg_lev = GLP_MSG_OFF;
    if (glp_simplex(lp, &simplex) != 0)
        abort();
    if (glp_get_status(lp) == GLP_NOFEAS)
        return false;
    if (glp_get_status(lp) != GLP_OPT || glp_intopt(lp, &branch) != 0)
        abort();
    return glp_mip_status(lp) == GLP_OPT;
}

milp_result milp_solve(const milp_problem *problem, plait_arena *arena)
{
    double *const x = plait_arena_alloc(arena, (size_t)problem->columns, sizeof *x);
    milp_result result = {.objective = HUGE_VAL};
    glp_prob *const lp = glp_create_prob();

    if (!x)
        abort();
    glp_term_out(GLP_OFF);
    add_columns(problem, lp);
    add_rows(problem, lp);
    if (solve(lp)) {
        result = (milp_result){.feasible = true, .x = x};
        for (int j = 0; j < problem->columns; j++) {
            x[j] = glp_mip_col_val(lp, j + 1);
            result.objective += problem->column[j].cost * x[j];
        }
    }
    glp_delete_prob(lp);
    glp_free_env();
    return result;
}
