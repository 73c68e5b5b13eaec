/*
 * eliminate.c - elimination order, and the minimum of a weighted sum over a graph of tree-width two
 *
 * Eliminating v, whose neighbours are a and b, replaces two tables by one (S.41):
 *
 *     time_ab(x_a, x_b) += min over x_v of  time_v(x_v) + time_va(x_v, x_a) + time_vb(x_v, x_b)
 *
 *     a -- v -- b      a ------ b      With one neighbour a vector is left, with none a number.
 *      `-------'   ->                  Afterwards the choice is read in the opposite order.
 */
#include <math.h>
#include <string.h>

#include "search/operators/program.h"

// ---- the order -----------------------------------------------------------------------------

typedef bool joined_table[PROGRAM_VARIABLES][PROGRAM_VARIABLES];

static int neighbours_of(const program *p, joined_table joined, const bool *gone, int v,
                         int found[2])
{
    int count = 0;

    for (int u = 0; u < p->variables; u++) {
        if (gone[u] || !joined[v][u])
            continue;
        if (count < 2)
            found[count] = u;
        count++;
    }
    return count;
}

/*
 * Returns the variable with the fewest remaining neighbours and, among equals, the fewest states;
 * -1 if all have three or more neighbours.
 */
static int next_of(const program *p, joined_table joined, const bool *gone, int last)
{
    int best = -1, least = 3, pair[2];

    for (int v = 0; v < p->variables; v++) {
        if (gone[v] || v == last)
            continue;
        const int count = neighbours_of(p, joined, gone, v, pair);
        if (count < least ||
            (count == least && count < 3 && p->variable[v].states < p->variable[best].states)) {
            best = v;
            least = count;
        }
    }
    return best;
}

bool program_order(const program *p, int last, program_step step[PROGRAM_VARIABLES])
{
    joined_table joined = {{false}};
    bool gone[PROGRAM_VARIABLES] = {false};

    for (int e = 0; e < p->edges; e++)
        joined[p->edge[e].a][p->edge[e].b] = joined[p->edge[e].b][p->edge[e].a] = true;
    for (int i = 0; i < p->variables; i++) {
        const bool end = last >= 0 && i + 1 == p->variables;
        const int v = end ? last : next_of(p, joined, gone, last);
        if (v < 0)
            return false;
        gone[v] = true;
        step[i].variable = v;
        step[i].neighbours = neighbours_of(p, joined, gone, v, step[i].neighbour);
        if (step[i].neighbours == 2) {
            const int a = step[i].neighbour[0], b = step[i].neighbour[1];
            joined[a][b] = joined[b][a] = true;
        }
    }
    return true;
}

// ---- weighted sums -------------------------------------------------------------------------

/* State of an elimination. All tables are kept, since the choice is read from them. */
typedef struct elimination {
    const program *p;
    program_weights weights;
    plait_arena *arena;
    double *single[PROGRAM_VARIABLES];
    double *pair[PROGRAM_VARIABLES][PROGRAM_VARIABLES]; /* [x_a][x_b], for both orders of a and b */
    program_step step[PROGRAM_VARIABLES];
} elimination;

static double option_sum(const elimination *e, const program_option *option)
{
    return e->weights.time * option->time_s + e->weights.bytes * option->bytes;
}

static int best_option(const elimination *e, const program_state *state)
{
    int best = 0;

    for (int o = 1; o < state->options; o++)
        if (option_sum(e, &state->option[o]) < option_sum(e, &state->option[best]))
            best = o;
    return best;
}

// ---- tables --------------------------------------------------------------------------------

/* Returns the table of a and b, allocated when first used; NULL if out of memory. */
static double *pair_of(elimination *e, int a, int b)
{
    const size_t size = (size_t)e->p->variable[a].states * (size_t)e->p->variable[b].states;

    if (e->pair[a][b] == NULL)
        e->pair[a][b] = plait_arena_alloc(e->arena, size, sizeof(double));
    return e->pair[a][b];
}

static bool add_edge(elimination *e, const program_edge *edge)
{
    const int rows = e->p->variable[edge->a].states, columns = e->p->variable[edge->b].states;
    double *const there = pair_of(e, edge->a, edge->b);
    double *const back = pair_of(e, edge->b, edge->a);

    if (there == NULL || back == NULL)
        return false;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            there[i * columns + j] += e->weights.time * edge->time_s[i * columns + j];
            back[j * rows + i] = there[i * columns + j];
        }
    return true;
}

static bool fill_tables(elimination *e)
{
    for (int v = 0; v < e->p->variables; v++) {
        const program_variable *variable = &e->p->variable[v];
        e->single[v] = plait_arena_alloc(e->arena, (size_t)variable->states, sizeof(double));
        if (e->single[v] == NULL)
            return false;
        for (int s = 0; s < variable->states; s++)
            e->single[v][s] =
                option_sum(e, &variable->state[s].option[best_option(e, &variable->state[s])]);
    }
    for (int i = 0; i < e->p->edges; i++)
        if (!add_edge(e, &e->p->edge[i]))
            return false;
    return true;
}

// ---- removing a variable -------------------------------------------------------------------

/*
 * Updates one row of the new table. The iterations are independent, so that compilers vectorise the
 * loop.
 */
static void least_row(double *restrict row, int columns, double base, const double *restrict add)
{
    for (int j = 0; j < columns; j++) {
        const double sum = base + add[j];
        row[j] = sum < row[j] ? sum : row[j];
    }
}

static bool remove_between(elimination *e, int v, int a, int b)
{
    const int rows = e->p->variable[a].states, columns = e->p->variable[b].states;
    const int states = e->p->variable[v].states;
    double *const there = pair_of(e, a, b), *const back = pair_of(e, b, a);
    double *const row = plait_arena_alloc(e->arena, (size_t)columns, sizeof *row);

    if (there == NULL || back == NULL || row == NULL)
        return false;
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++)
            row[j] = HUGE_VAL;
        for (int s = 0; s < states; s++)
            least_row(row, columns, e->single[v][s] + e->pair[a][v][i * states + s],
                      &e->pair[v][b][s * columns]);
        for (int j = 0; j < columns; j++)
            back[j * rows + i] = there[i * columns + j] += row[j];
    }
    return true;
}

static bool remove_all(elimination *e)
{
    for (int i = 0; i + 1 < e->p->variables; i++) {
        const int v = e->step[i].variable, *const pair = e->step[i].neighbour;
        if (e->step[i].neighbours == 1) {
            // Add the minimum over the states of v to each state of its only neighbour.
            const int states = e->p->variable[pair[0]].states;
            const double *const table = e->pair[pair[0]][v];

            for (int j = 0; j < states; j++) {
                double least = HUGE_VAL;
                for (int s = 0; s < e->p->variable[v].states; s++)
                    least = fmin(least, e->single[v][s] + table[j * e->p->variable[v].states + s]);
                e->single[pair[0]][j] += least;
            }
        } else if (e->step[i].neighbours == 2 && !remove_between(e, v, pair[0], pair[1]))
            return false;
    }
    return true;
}

// ---- the choice ----------------------------------------------------------------------------

/* Returns the best state of v, given the states of the variables that are eliminated after v. */
static int state_beside(const elimination *e, int v, const bool *set, const int *state)
{
    double least = HUGE_VAL;
    int best = 0;

    for (int s = 0; s < e->p->variable[v].states; s++) {
        double sum = e->single[v][s];
        for (int u = 0; u < e->p->variables; u++)
            if (set[u] && e->pair[u][v] != NULL)
                sum += e->pair[u][v][state[u] * e->p->variable[v].states + s];
        if (sum < least) {
            least = sum;
            best = s;
        }
    }
    return best;
}

void program_price(const program *p, program_choice *choice)
{
    choice->time_s = choice->bytes = 0.0;
    for (int v = 0; v < p->variables; v++) {
        const program_option *option =
            &p->variable[v].state[choice->state[v]].option[choice->option[v]];
        choice->time_s += option->time_s;
        choice->bytes += option->bytes;
    }
    for (int i = 0; i < p->edges; i++) {
        const program_edge *edge = &p->edge[i];
        choice->time_s += edge->time_s[choice->state[edge->a] * p->variable[edge->b].states +
                                       choice->state[edge->b]];
    }
}

plait_status program_eliminate(const program *p, program_weights weights, int last,
                               plait_arena *arena, double *marginal, program_choice *choice,
                               plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    elimination *e = plait_arena_alloc(arena, 1, sizeof *e);

    PLAIT_TRY(plait_check_allocated(e, err));
    *e = (elimination){.p = p, .weights = weights, .arena = arena};
    if (!program_order(p, last, e->step))
        return plait_fail(err, PLAIT_ERROR_RANGE, "operators",
                          "expected a graph of tree-width 2, found a wider one");
    PLAIT_TRY(plait_check_allocated(fill_tables(e) && remove_all(e), err));
    if (marginal != NULL)
        memcpy(marginal, e->single[last], (size_t)p->variable[last].states * sizeof *marginal);
    if (choice != NULL) {
        bool set[PROGRAM_VARIABLES] = {false};

        for (int i = e->p->variables - 1; i >= 0; i--) {
            const int v = e->step[i].variable;
            choice->state[v] = state_beside(e, v, set, choice->state);
            choice->option[v] = best_option(e, &e->p->variable[v].state[choice->state[v]]);
            set[v] = true;
        }
        program_price(e->p, choice);
    }
    plait_arena_rewind(arena, mark);
    return PLAIT_OK;
}
