/*
 * program.c - finds the exact optimum of a program under a memory limit
 *
 *     1  Minimise the time without the limit. If the choice fits, it is the optimum.
 *     2  Maximise over the multiplier m the least time + m (bytes - limit): a lower bound (S.42).
 *        The choices found that fit give an upper bound.
 *     3  Remove the states that no choice below the upper bound can have (S.44).
 *     4  Close the gap by fronts over the remaining states (S.43).
 */
#include <math.h>
#include <string.h>

#include "search/operators/program.h"

typedef struct dual {
    const program *p;
    plait_arena *arena;
    program_choice over;  /* choice with the fewest bytes that does not fit */
    program_choice under; /* fastest choice that fits */
    program_choice last;  /* latest choice that fits; the line from it to `over` is the candidate
                           * edge of the hull */
    double multiplier;
    double lower_s;
} dual;

static double gap_of(double upper_s, double lower_s)
{
    return fmax(0.0, upper_s - lower_s) + 1e-12 * upper_s;
}

/*
 * Finds the edge of the lower hull of time over bytes that crosses the limit (S.42). The multiplier
 * is the slope of the line between a choice that fits and one that does not; the line is an edge of
 * the hull if no choice lies below it.
 */
static plait_status raise_lower_bound(dual *d, plait_error *err)
{
    for (;;) {
        program_choice found;
        const double slope = (d->last.time_s - d->over.time_s) / (d->over.bytes - d->last.bytes);
        const double line = d->over.time_s + slope * (d->over.bytes - d->p->limit_bytes);

        PLAIT_TRY(program_eliminate(d->p, (program_weights){1.0, slope}, -1, d->arena, NULL, &found,
                                    err));
        d->multiplier = slope;
        d->lower_s = fmin(line, found.time_s + slope * (found.bytes - d->p->limit_bytes));
        if (d->lower_s >= line - 1e-12 * fabs(line) || found.bytes == d->over.bytes ||
            found.bytes == d->last.bytes)
            return PLAIT_OK;
        if (found.bytes > d->p->limit_bytes) {
            d->over = found;
            continue;
        }
        d->last = found;
        if (found.time_s < d->under.time_s)
            d->under = found;
    }
}

// ---- removal of states that no better choice has (S.44) ------------------------------------

typedef struct reduced {
    program p;
    int *state[PROGRAM_VARIABLES]; /* [states] index of each state in the original program */
} reduced;

static plait_status keep_states(const dual *d, int v, double most, reduced *out, plait_error *err)
{
    const program_variable *from = &d->p->variable[v];
    program_state *kept = plait_arena_alloc(d->arena, (size_t)from->states, sizeof *kept);
    double *marginal = plait_arena_alloc(d->arena, (size_t)from->states, sizeof *marginal);

    out->state[v] = plait_arena_alloc(d->arena, (size_t)from->states, sizeof *out->state[v]);
    PLAIT_TRY(plait_check_allocated(kept && marginal && out->state[v], err));
    PLAIT_TRY(program_eliminate(d->p, (program_weights){1.0, d->multiplier}, v, d->arena, marginal,
                                NULL, err));
    out->p.variable[v] = (program_variable){0, kept};
    for (int s = 0; s < from->states; s++) {
        if (marginal[s] > most)
            continue;
        out->state[v][out->p.variable[v].states] = s;
        kept[out->p.variable[v].states++] = from->state[s];
    }
    return PLAIT_OK;
}

static plait_status remove_states(const dual *d, reduced *out, plait_error *err)
{
    const double limit = d->multiplier * d->p->limit_bytes;
    const double most =
        d->under.time_s + gap_of(d->under.time_s, d->under.time_s) + limit + 1e-12 * limit;

    *out = (reduced){.p = {.variables = d->p->variables,
                           .edges = d->p->edges,
                           .limit_bytes = d->p->limit_bytes}};
    for (int v = 0; v < d->p->variables; v++)
        PLAIT_TRY(keep_states(d, v, most, out, err));
    for (int e = 0; e < d->p->edges; e++) {
        const program_edge *from = &d->p->edge[e];
        const int rows = out->p.variable[from->a].states, columns = out->p.variable[from->b].states;
        double *time_s =
            plait_arena_alloc(d->arena, (size_t)rows * (size_t)columns, sizeof *time_s);

        PLAIT_TRY(plait_check_allocated(time_s, err));
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < columns; j++)
                time_s[i * columns + j] =
                    from->time_s[out->state[from->a][i] * d->p->variable[from->b].states +
                                 out->state[from->b][j]];
        out->p.edge[e] = (program_edge){from->a, from->b, time_s};
    }
    return PLAIT_OK;
}

// ---- closing the gap -----------------------------------------------------------------------

plait_status program_solve(const program *p, int64_t most_labels, plait_arena *arena,
                           program_answer *out, plait_error *err)
{
    static const int most_each[] = {4, 32, 0};
    dual d = {.p = p, .arena = arena};

    *out = (program_answer){.feasible = true, .proven = true};
    PLAIT_TRY(program_eliminate(p, (program_weights){1.0, 0.0}, -1, arena, NULL, &d.over, err));
    out->choice = d.over;
    out->lower_s = d.over.time_s;
    if (d.over.bytes <= p->limit_bytes)
        return PLAIT_OK;
    PLAIT_TRY(program_eliminate(p, (program_weights){0.0, 1.0}, -1, arena, NULL, &d.last, err));
    d.under = d.last;
    out->choice = d.last;
    out->lower_s = d.last.time_s;
    out->feasible = d.last.bytes <= p->limit_bytes;
    if (!out->feasible)
        return PLAIT_OK;
    out->proven = false;
    PLAIT_TRY(raise_lower_bound(&d, err));
    if (d.under.time_s <= d.lower_s * (1.0 + 1e-12))
        out->proven = true;
    // Start with short fronts, since better choices reduce the gap and the size of the full fronts.
    for (size_t i = 0; i < sizeof most_each / sizeof *most_each && !out->proven; i++) {
        const plait_arena_mark mark = plait_arena_save(d.arena);
        program_choice found;
        bool any;
        reduced *r = plait_arena_alloc(d.arena, 1, sizeof *r);
        const program_slack slack = {.multiplier = d.multiplier,
                                     .gap_s = gap_of(d.under.time_s, d.lower_s),
                                     .most_each = most_each[i],
                                     .most_labels = most_labels};

        PLAIT_TRY(plait_check_allocated(r, err));
        PLAIT_TRY(remove_states(&d, r, err));
        PLAIT_TRY(
            program_fronts(&r->p, slack, d.arena, &found, &any, &out->proven, &out->labels, err));
        if (any && found.time_s < d.under.time_s) {
            program_choice choice = found;

            for (int v = 0; v < r->p.variables; v++)
                choice.state[v] = r->state[v][found.state[v]];
            program_price(d.p, &choice);
            d.under = choice;
        }
        plait_arena_rewind(d.arena, mark);
    }
    out->choice = d.under;
    out->lower_s = out->proven ? d.under.time_s : d.lower_s;
    return PLAIT_OK;
}
