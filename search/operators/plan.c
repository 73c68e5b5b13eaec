/* plan.c - converts an assignment to the structs of operators.h */
#include <string.h>

#include "search/operators/layer_graph.h"

const char *const plait_use_name[PLAIT_USES + 1] = {"replicate", "batch",   "sequence", "in",
                                                    "out",       "experts", NULL};
const char *const plait_weight_home_name[PLAIT_WEIGHT_HOMES + 1] = {"whole", "zero1", "zero3",
                                                                    NULL};

static plait_operator operator_of(const layer_graph *g, const node *n, const strategy *s, int home)
{
    plait_operator out = {
        .name = n->name,
        .part = n->part,
        .home = (plait_weight_home)home,
        .has_weight = n->params > 0.0,
        .forward_s = s->forward_s,
        .backward_s = s->backward_s,
        .inside_s = s->inside_forward_s + s->inside_backward_s + s->gather_s[home],
        .sync_s = s->sync_s[home],
        .state_bytes = s->state_bytes[home],
        .kept_bytes = s->kept_bytes,
    };

    memcpy(out.use, s->use, sizeof out.use);
    strategy_spec(&g->mesh, n, s, out.spec);
    return out;
}

static plait_operator_edge edge_of(const layer_graph *g, const assignment *a,
                                   const graph_edge *edge)
{
    const node *from = &g->node[edge->from], *to = &g->node[edge->to];
    const spread made = output_spread(from, &from->strategy[a->strategy[edge->from]]);
    const spread wanted = input_spread(to, &to->strategy[a->strategy[edge->to]]);
    plait_operator_edge out = {.from = edge->from, .to = edge->to};

    out.forward_s =
        convert_s(g, &edge->tensor, made, spread_replace(wanted, LIE_COPY, LIE_WHOLE), out.forward);
    out.backward_s = convert_s(g, &edge->tensor, spread_replace(wanted, LIE_COPY, LIE_PARTIAL),
                               spread_replace(made, LIE_PARTIAL, LIE_WHOLE), out.backward);
    return out;
}

plait_status plan_of(const layer_graph *g, const assignment *a, plait_arena *arena,
                     plait_operators_plan *out, plait_error *err)
{
    plait_operator *op = plait_arena_alloc(arena, (size_t)g->nodes, sizeof *op);
    plait_operator_edge *edge = plait_arena_alloc(arena, (size_t)g->edges, sizeof *edge);

    PLAIT_TRY(plait_check_allocated(op && edge, err));
    *out = (plait_operators_plan){.operators = g->nodes,
                                  .op = op,
                                  .edges = g->edges,
                                  .edge = edge,
                                  .step_s = a->step_s,
                                  .bytes = a->bytes};
    named_of(g, a, out->name, sizeof out->name);
    for (int i = 0; i < g->nodes; i++) {
        op[i] = operator_of(g, &g->node[i], &g->node[i].strategy[a->strategy[i]], a->home[i]);
        op[i].name = plait_arena_text(arena, g->node[i].name);
        PLAIT_TRY(plait_check_allocated(op[i].name, err));
        out->forward_s += op[i].forward_s;
        out->backward_s += op[i].backward_s;
        out->comm_s += op[i].inside_s;
        out->sync_s += op[i].sync_s;
        out->state_bytes += g->layers * op[i].state_bytes;
        out->kept_bytes += g->layers * op[i].kept_bytes;
    }
    for (int e = 0; e < g->edges; e++) {
        edge[e] = edge_of(g, a, &g->edge[e]);
        out->comm_s += edge[e].forward_s + edge[e].backward_s;
    }
    return PLAIT_OK;
}
