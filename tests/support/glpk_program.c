/*
 * glpk_program.c - a program of search/operators/program.h by integer programming
 *
 *     x[v,s,o] in {0, 1}         state s and option o of variable v
 *     y[e,i,j] >= 0              edge e between states i and j
 *     sum over s, o of x[v,s,o] = 1
 *     sum over j of y[e,i,j] = sum over o of x[a,i,o],  sum over i of y[e,i,j] = sum over o of x[b,j,o]
 *     sum of bytes x <= limit
 *
 * Seconds are divided by the time of the first states, bytes by the limit, so that numbers lie near 1.
 */
#include "support/glpk_program.h"

#include <glpk.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_ENTRIES = 1 << 20 };

typedef struct rows {
    glp_prob *lp;
    int entries;
    int *row, *column;
    double *value;
    int first[PROGRAM_VARIABLES]; /* column of a variable's first option */
    double second;                /* that is written as 1 */
} rows;

static void add_entry(rows *r, int row, int column, double value)
{
    r->entries++;
    if (r->entries >= MOST_ENTRIES)
        abort();
    r->row[r->entries] = row;
    r->column[r->entries] = column;
    r->value[r->entries] = value;
}

static int add_row(rows *r, int type, double bound)
{
    const int row = glp_add_rows(r->lp, 1);

    glp_set_row_bnds(r->lp, row, type, bound, bound);
    return row;
}

static int column_of(const program *p, const rows *r, int v, int state)
{
    int column = r->first[v];

    for (int s = 0; s < state; s++)
        column += p->variable[v].state[s].options;
    return column;
}

static void add_variable(const program *p, rows *r, int v, int limit)
{
    const int one = add_row(r, GLP_FX, 1.0);

    for (int s = 0; s < p->variable[v].states; s++) {
        const program_state *state = &p->variable[v].state[s];
        for (int o = 0; o < state->options; o++) {
            const int column = glp_add_cols(r->lp, 1);
            if (s == 0 && o == 0)
                r->first[v] = column;
            glp_set_col_kind(r->lp, column, GLP_BV);
            glp_set_obj_coef(r->lp, column, state->option[o].time_s / r->second);
            add_entry(r, one, column, 1.0);
            add_entry(r, limit, column, state->option[o].bytes / p->limit_bytes);
        }
    }
}

/* One end of an edge: its pairs sum to the state's options. */
static void tie_state(const program *p, rows *r, int row, int v, int state)
{
    for (int o = 0; o < p->variable[v].state[state].options; o++)
        add_entry(r, row, column_of(p, r, v, state) + o, -1.0);
}

static void add_edge(const program *p, rows *r, const program_edge *edge)
{
    const int n = p->variable[edge->a].states, m = p->variable[edge->b].states;
    const int top = glp_add_rows(r->lp, n + m);

    for (int i = 0; i < n + m; i++)
        glp_set_row_bnds(r->lp, top + i, GLP_FX, 0.0, 0.0);
    for (int i = 0; i < n; i++)
        tie_state(p, r, top + i, edge->a, i);
    for (int j = 0; j < m; j++)
        tie_state(p, r, top + n + j, edge->b, j);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            const int column = glp_add_cols(r->lp, 1);
            glp_set_col_bnds(r->lp, column, GLP_LO, 0.0, 0.0);
            glp_set_obj_coef(r->lp, column, edge->time_s[i * m + j] / r->second);
            add_entry(r, top + i, column, 1.0);
            add_entry(r, top + n + j, column, 1.0);
        }
}

static double solve(rows *r)
{
    glp_iocp how;

    glp_load_matrix(r->lp, r->entries, r->row, r->column, r->value);
    glp_init_iocp(&how);
    how.presolve = GLP_ON;
    how.msg_lev = GLP_MSG_OFF;
    const int status = glp_intopt(r->lp, &how);
    if (status == GLP_ENOPFS || glp_mip_status(r->lp) == GLP_NOFEAS)
        return HUGE_VAL;
    if (status != 0 || glp_mip_status(r->lp) != GLP_OPT)
        return nan("");
    return glp_mip_obj_val(r->lp) * r->second;
}

double glpk_program_s(const program *p)
{
    program_choice first = {.time_s = 0.0};

    program_price(p, &first);
    rows r = {.lp = glp_create_prob(),
              .row = malloc(MOST_ENTRIES * sizeof(int)),
              .column = malloc(MOST_ENTRIES * sizeof(int)),
              .value = malloc(MOST_ENTRIES * sizeof(double)),
              .second = first.time_s};
    glp_term_out(GLP_OFF);
    const int limit = add_row(&r, GLP_UP, 1.0);
    for (int v = 0; v < p->variables; v++)
        add_variable(p, &r, v, limit);
    for (int e = 0; e < p->edges; e++)
        add_edge(p, &r, &p->edge[e]);
    const double best_s = solve(&r);
    glp_delete_prob(r.lp);
    glp_free_env();
    free(r.row);
    free(r.column);
    free(r.value);
    return best_s;
}
