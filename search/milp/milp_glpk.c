/*
 * milp_glpk.c - implements milp.h with GLPK; no other file includes GLPK's header
 *
 * GLPK counts from 1, prints to the terminal, keeps an environment for each thread, and calls
 * abort() on misuse and when it is out of memory. Therefore milp_solve checks the program first,
 * discards the output, frees the environment before it returns, unless the caller's thread already
 * had one, and installs an error hook that jumps back to guarded().
 */
#include <float.h>
#include <glpk.h>
#include <math.h>
#include <setjmp.h>

#include "search/milp/milp.h"

/* State of one call of milp_solve. */
typedef struct glpk_run {
    const milp_problem *problem;
    milp_limits limits;
    bool ignore_costs; /* true: only search for a feasible solution */
    milp_result *result;
    double *x; /* [columns] */
    jmp_buf failed;
} glpk_run;

// ---- hooks ---------------------------------------------------------------------------------

static int swallow(void *info, const char *text)
{
    (void)info;
    (void)text;
    return 1;
}

static void jump_back(void *info)
{
    longjmp(((glpk_run *)info)->failed, 1);
}

static double gap_of(double objective, double bound)
{
    return (objective - bound) / (fabs(objective) + DBL_EPSILON);
}

/* GLPK calls this before it selects a node: records the best bound, and stops at the limits. */
static void watch(glp_tree *tree, void *info)
{
    glpk_run *const run = info;
    milp_result *const result = run->result;
    int nodes;

    if (glp_ios_reason(tree) != GLP_ISELECT)
        return;
    glp_prob *const lp = glp_ios_get_prob(tree);
    const double bound = glp_ios_node_bound(tree, glp_ios_best_node(tree));
    glp_ios_tree_size(tree, NULL, NULL, &nodes);
    result->nodes = nodes;
    result->bound = bound <= -DBL_MAX ? -HUGE_VAL : bound;
    if (run->limits.nodes > 0 && nodes > run->limits.nodes)
        glp_ios_terminate(tree);
    if (run->limits.gap > 0.0 && glp_mip_status(lp) == GLP_FEAS &&
        gap_of(glp_mip_obj_val(lp), result->bound) <= run->limits.gap)
        glp_ios_terminate(tree);
}

// ---- the program, counted from 1 -----------------------------------------------------------

static int bounds_kind(double low, double high)
{
    if (isinf(low))
        return isinf(high) ? GLP_FR : GLP_UP;
    return isinf(high) ? GLP_LO : low == high ? GLP_FX : GLP_DB;
}

/* Returns the bounds of a column, rounded inwards to integers for an integer column. */
static void column_bounds(const milp_column *column, double *low, double *high)
{
    *low = column->integer ? ceil(column->low) : column->low;
    *high = column->integer ? floor(column->high) : column->high;
}

static void add_columns(const glpk_run *run, glp_prob *lp)
{
    for (int j = 0; j < run->problem->columns; j++) {
        const milp_column *const column = &run->problem->column[j];
        double low, high;

        column_bounds(column, &low, &high);
        glp_set_col_bnds(lp, j + 1, bounds_kind(low, high), low, high);
        glp_set_obj_coef(lp, j + 1, run->ignore_costs ? 0.0 : column->cost);
        glp_set_col_kind(lp, j + 1, column->integer ? GLP_IV : GLP_CV);
    }
}

static void add_row(glp_prob *lp, int i, const milp_row *row, int *index, double *factor)
{
    for (int t = 0; t < row->terms; t++) {
        index[t + 1] = row->term[t].column + 1;
        factor[t + 1] = row->term[t].factor;
    }
    glp_set_row_bnds(lp, i + 1, bounds_kind(row->low, row->high), row->low, row->high);
    glp_set_mat_row(lp, i + 1, row->terms, index, factor);
}

static void add_rows(const glpk_run *run, glp_prob *lp)
{
    const int columns = run->problem->columns;
    int *const index = glp_alloc(columns + 1, sizeof *index);
    double *const factor = glp_alloc(columns + 1, sizeof *factor);

    for (int i = 0; i < run->problem->rows; i++)
        add_row(lp, i, &run->problem->row[i], index, factor);
    glp_free(index);
    glp_free(factor);
}

// ---- the solution --------------------------------------------------------------------------

/* Solves the linear relaxation; the branch and bound starts from its optimal basis. */
static milp_verdict relax(glp_prob *lp)
{
    glp_smcp options;

    glp_init_smcp(&options);
    options.msg_lev = GLP_MSG_OFF;
    if (glp_simplex(lp, &options) != 0)
        return MILP_FAILED;
    switch (glp_get_status(lp)) {
    case GLP_OPT:
        return MILP_OPTIMAL;
    case GLP_NOFEAS:
        return MILP_INFEASIBLE;
    case GLP_UNBND:
        return MILP_UNBOUNDED;
    default:
        return MILP_FAILED;
    }
}

static void take_solution(glpk_run *run, glp_prob *lp)
{
    milp_result *const result = run->result;

    result->objective = 0.0;
    for (int j = 0; j < run->problem->columns; j++) {
        run->x[j] = glp_mip_col_val(lp, j + 1);
        result->objective += run->problem->column[j].cost * run->x[j];
    }
    result->x = run->x;
}

static milp_verdict branch(glpk_run *run, glp_prob *lp)
{
    glp_iocp options;

    glp_init_iocp(&options);
    options.msg_lev = GLP_MSG_OFF;
    options.cb_func = watch;
    options.cb_info = run;
    const int status = glp_intopt(lp, &options);
    const bool found = glp_mip_status(lp) == GLP_OPT || glp_mip_status(lp) == GLP_FEAS;
    if (status != 0 && status != GLP_ESTOP)
        return MILP_FAILED;
    if (found)
        take_solution(run, lp);
    if (status == GLP_ESTOP)
        return found ? MILP_FEASIBLE : MILP_UNKNOWN;
    return found ? MILP_OPTIMAL : MILP_INFEASIBLE;
}

static milp_verdict solve_once(glpk_run *run)
{
    glp_prob *const lp = glp_create_prob();
    milp_verdict verdict;

    glp_set_obj_dir(lp, GLP_MIN);
    glp_add_cols(lp, run->problem->columns);
    if (run->problem->rows > 0) {
        glp_add_rows(lp, run->problem->rows);
        add_rows(run, lp);
    }
    add_columns(run, lp);
    verdict = relax(lp);
    if (verdict == MILP_OPTIMAL)
        verdict = branch(run, lp);
    glp_delete_prob(lp);
    return verdict;
}

/*
 * If the relaxation is unbounded, the program may still have no integer solution: solves it without
 * costs.
 */
static milp_verdict solve_bounded(glpk_run *run)
{
    const milp_verdict verdict = solve_once(run);

    if (verdict != MILP_UNBOUNDED)
        return verdict;
    run->ignore_costs = true;
    const milp_verdict any = solve_once(run);
    run->result->x = NULL;
    return any == MILP_OPTIMAL ? MILP_UNBOUNDED : any;
}

/*
 * Calls the solver with hooks installed, and restores the GLPK environment that the thread had
 * before.
 */
static milp_verdict guarded(glpk_run *run)
{
    const bool own = glp_init_env() == 0;
    const int printed = glp_term_out(GLP_OFF);
    milp_verdict verdict = MILP_FAILED;

    glp_term_hook(swallow, NULL);
    glp_error_hook(jump_back, run);
    if (setjmp(run->failed) == 0)
        verdict = solve_bounded(run);
    if (own) {
        glp_free_env();
        return verdict;
    }
    glp_error_hook(NULL, NULL);
    glp_term_hook(NULL, NULL);
    glp_term_out(printed);
    return verdict;
}

// ---- milp.h --------------------------------------------------------------------------------

/*
 * True if a lower bound exceeds its upper bound, which GLPK treats as misuse, or if an empty row
 * excludes 0.
 */
static bool contradicts_itself(const milp_problem *problem)
{
    for (int j = 0; j < problem->columns; j++) {
        double low, high;

        column_bounds(&problem->column[j], &low, &high);
        if (low > high)
            return true;
    }
    for (int i = 0; i < problem->rows; i++) {
        const milp_row *const row = &problem->row[i];

        if (row->low > row->high || (row->terms == 0 && (row->low > 0.0 || row->high < 0.0)))
            return true;
    }
    return false;
}

static void close_result(milp_result *result)
{
    if (result->verdict == MILP_OPTIMAL)
        result->bound = result->objective;
    else if (result->x == NULL)
        result->objective = (double)NAN;
    if (result->verdict == MILP_UNBOUNDED)
        result->bound = -HUGE_VAL;
    result->gap = result->x ? fmax(0.0, gap_of(result->objective, result->bound)) : HUGE_VAL;
}

plait_status milp_solve(const milp_problem *problem, milp_limits limits, plait_arena *arena,
                        milp_result *result, plait_error *err)
{
    *result = (milp_result){.verdict = MILP_FAILED, .bound = -HUGE_VAL};
    PLAIT_TRY(milp_check(problem, limits, arena, err));
    glpk_run run = {.problem = problem, .limits = limits, .result = result};
    run.x = plait_arena_alloc(arena, (size_t)problem->columns, sizeof *run.x);
    PLAIT_TRY(plait_check_allocated(run.x, err));
    if (contradicts_itself(problem))
        result->verdict = MILP_INFEASIBLE;
    else if (problem->columns == 0) {
        result->verdict = MILP_OPTIMAL;
        result->x = run.x;
    } else
        result->verdict = guarded(&run);
    close_result(result);
    return PLAIT_OK;
}
