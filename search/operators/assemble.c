/*
 * assemble.c - builds a program from strategies and conversions
 *
 *     time of a state and option = layers (microbatches (kernels + inside + gathers) + sync)     (S.49)
 *     bytes                      = layers (state + kept) + gathered
 *     time of an edge            = layers microbatches (forward + backward conversion)
 */
#include "search/operators/layer_graph.h"

// ---- conversions ---------------------------------------------------------------------------

/* Cached conversion times of tensors of one size. */
typedef struct memo {
    tensor tensor;
    bool *known; /* [spreads][spreads] true if `seconds` is valid */
    double *seconds;
} memo;

static size_t spreads_of(const plait_mesh *mesh)
{
    size_t spreads = 1;

    for (int a = 0; a < mesh->axes; a++)
        spreads *= LIES;
    return spreads;
}

static size_t code_of(const plait_mesh *mesh, spread of)
{
    size_t code = 0;

    for (int a = 0; a < mesh->axes; a++)
        code = code * LIES + of.lie[a];
    return code;
}

static double known_s(const layer_graph *g, memo *m, spread from, spread to)
{
    const size_t at = code_of(&g->mesh, from) * spreads_of(&g->mesh) + code_of(&g->mesh, to);

    if (!m->known[at]) {
        m->seconds[at] = convert_s(g, &m->tensor, from, to, NULL);
        m->known[at] = true;
    }
    return m->seconds[at];
}

static double both_ways_s(const layer_graph *g, memo *m, spread made, spread wanted)
{
    return known_s(g, m, made, spread_replace(wanted, LIE_COPY, LIE_WHOLE)) +
           known_s(g, m, spread_replace(wanted, LIE_COPY, LIE_PARTIAL),
                   spread_replace(made, LIE_PARTIAL, LIE_WHOLE));
}

static memo *memo_for(const layer_graph *g, memo *memos, int *count, const tensor *t,
                      plait_arena *arena)
{
    const size_t pairs = spreads_of(&g->mesh) * spreads_of(&g->mesh);
    memo *m = memos;

    for (; m < memos + *count; m++)
        if (m->tensor.elements == t->elements && m->tensor.routed == t->routed)
            return m;
    *m = (memo){.tensor = *t,
                .known = plait_arena_alloc(arena, pairs, sizeof *m->known),
                .seconds = plait_arena_alloc(arena, pairs, sizeof *m->seconds)};
    if (m->known == NULL || m->seconds == NULL)
        return NULL;
    ++*count;
    return m;
}

plait_status edge_tables(const layer_graph *g, plait_arena *arena, double ***out, plait_error *err)
{
    const double times = (double)g->layers * g->microbatches;
    memo memos[PROGRAM_EDGES];
    int count = 0;

    *out = plait_arena_alloc(arena, (size_t)g->edges, sizeof **out);
    PLAIT_TRY(plait_check_allocated(*out, err));
    for (int e = 0; e < g->edges; e++) {
        const graph_edge *edge = &g->edge[e];
        const node *from = &g->node[edge->from], *to = &g->node[edge->to];
        memo *m = memo_for(g, memos, &count, &edge->tensor, arena);
        double *table =
            plait_arena_alloc(arena, (size_t)(from->strategies * to->strategies), sizeof *table);
        PLAIT_TRY(plait_check_allocated(m && table, err));
        (*out)[e] = table;
        for (int i = 0; i < from->strategies; i++)
            for (int j = 0; j < to->strategies; j++)
                table[i * to->strategies + j] =
                    times * both_ways_s(g, m, output_spread(from, &from->strategy[i]),
                                        input_spread(to, &to->strategy[j]));
    }
    return PLAIT_OK;
}

// ---- variables -----------------------------------------------------------------------------

static program_option option_of(const layer_graph *g, const strategy *s, int home)
{
    const double each_s = s->forward_s + s->backward_s + s->inside_forward_s +
                          s->inside_backward_s + s->gather_s[home];

    return (program_option){
        .time_s = g->layers * (g->microbatches * each_s + s->sync_s[home]),
        .bytes = g->layers * (s->state_bytes[home] + s->kept_bytes) + s->gathered_bytes[home],
        .what = home,
    };
}

static plait_status add_edge(const layer_graph *g, int e, const double *table, plait_arena *arena,
                             assembly *out, plait_error *err)
{
    const graph_edge *edge = &g->edge[e];
    const int rows = out->program.variable[edge->from].states;
    const int columns = out->program.variable[edge->to].states;
    const int strategies = g->node[edge->to].strategies;

    if (edge->from == edge->to) {
        // The edge joins the only operator of a layer to itself: add the conversion to its states.
        program_state *states = out->program.variable[edge->from].state;

        for (int s = 0; s < out->program.variable[edge->from].states; s++)
            for (int o = 0; o < states[s].options; o++)
                states[s].option[o].time_s +=
                    table[out->strategy[edge->from][s] * (strategies + 1)];
        return PLAIT_OK;
    }
    double *time_s = plait_arena_alloc(arena, (size_t)(rows * columns), sizeof *time_s);
    PLAIT_TRY(plait_check_allocated(time_s, err));
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            time_s[i * columns + j] =
                table[out->strategy[edge->from][i] * strategies + out->strategy[edge->to][j]];
    out->program.edge[out->program.edges++] = (program_edge){edge->from, edge->to, time_s};
    return PLAIT_OK;
}

plait_status assemble(const layer_graph *g, double *const *tables, strategy_filter *allowed,
                      const void *context, double limit_bytes, plait_arena *arena, assembly *out,
                      bool *any, plait_error *err)
{
    *out = (assembly){.program = {.variables = g->nodes, .limit_bytes = limit_bytes}};
    *any = true;
    for (int i = 0; i < g->nodes; i++) {
        const node *n = &g->node[i];
        program_state *states = plait_arena_alloc(arena, (size_t)n->strategies, sizeof *states);

        out->strategy[i] =
            plait_arena_alloc(arena, (size_t)n->strategies, sizeof *out->strategy[i]);
        PLAIT_TRY(plait_check_allocated(states && out->strategy[i], err));
        out->program.variable[i] = (program_variable){0, states};
        for (int s = 0; s < n->strategies; s++) {
            const unsigned homes = allowed == NULL ? ~0u : allowed(context, g, n, &n->strategy[s]);
            program_state *state = &states[out->program.variable[i].states];
            for (int home = 0; home < n->strategy[s].homes; home++)
                if (homes >> home & 1u)
                    state->option[state->options++] = option_of(g, &n->strategy[s], home);
            if (state->options > 0)
                out->strategy[i][out->program.variable[i].states++] = (short)s;
        }
        if (out->program.variable[i].states == 0) {
            *any = false;
            return PLAIT_OK;
        }
    }
    for (int e = 0; e < g->edges; e++)
        PLAIT_TRY(add_edge(g, e, tables[e], arena, out, err));
    return PLAIT_OK;
}

assignment assignment_of(const assembly *a, const program_choice *choice)
{
    assignment out = {.step_s = choice->time_s, .bytes = choice->bytes};

    for (int i = 0; i < a->program.variables; i++) {
        const program_state *state = &a->program.variable[i].state[choice->state[i]];
        out.strategy[i] = a->strategy[i][choice->state[i]];
        out.home[i] = state->option[choice->option[i]].what;
    }
    return out;
}
