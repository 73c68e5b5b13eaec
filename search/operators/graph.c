/*
 * graph.c - builds the graph of a layer's operators from its description
 *
 *         .------------------------------.         .-----------------------.
 *     in -+- norm - qkv - core - out - residual -+- norm - fc1 - act - fc2 - residual - out = in
 *
 * A node is a place of block.h, with all kernels at that place, in forward and backward.
 */
#include <stdio.h>
#include <string.h>

#include "search/operators/layer_graph.h"

static bool is_of_experts(plait_part part)
{
    return part == PLAIT_PART_dispatch || part == PLAIT_PART_expert_fc1 ||
           part == PLAIT_PART_expert_act || part == PLAIT_PART_expert_fc2 ||
           part == PLAIT_PART_combine;
}

static node_kind kind_of(const plait_op *op)
{
    const bool core = op->part == PLAIT_PART_core_attn;

    if (op->kind == PLAIT_OP_ATTENTION || (core && op->kind != PLAIT_OP_MEMORY))
        return NODE_CORE;
    return op->kind == PLAIT_OP_GEMM || op->kind == PLAIT_OP_GROUPED_GEMM ? NODE_PRODUCT
                                                                          : NODE_PASS;
}

/*
 * Returns the elements of an operator's output. The rotary embedding skips the values, so its
 * output is as wide as its input.
 */
static double elements_of(const layer_graph *g, const plait_op *op)
{
    const int from = op->place.reads[0];

    if (op->part != PLAIT_PART_rotary || from == PLAIT_BLOCK_INPUT)
        return op->place.elements;
    const double before = g->node[from - 1].place.elements;
    return before > op->place.elements ? before : op->place.elements;
}

/* Names each node after its part, with a number such as "norm.2" if the layer has several. */
static void name_nodes(layer_graph *g)
{
    int all[PLAIT_PARTS] = {0}, seen[PLAIT_PARTS] = {0};

    for (int i = 0; i < g->nodes; i++)
        all[g->node[i].part]++;
    for (int i = 0; i < g->nodes; i++) {
        node *n = &g->node[i];
        if (all[n->part] > 1)
            snprintf(n->name, sizeof n->name, "%s.%d", plait_part_name[n->part], ++seen[n->part]);
        else
            snprintf(n->name, sizeof n->name, "%s", plait_part_name[n->part]);
    }
}

/* Adds an edge for each input. Tensors between dispatch and combine are routed to experts. */
static void add_edges(layer_graph *g)
{
    for (int i = 0; i < g->nodes; i++) {
        const plait_place *place = &g->node[i].place;
        for (int r = 0; r < place->inputs; r++) {
            const int from =
                place->reads[r] == PLAIT_BLOCK_INPUT ? g->nodes - 1 : place->reads[r] - 1;
            const node *maker = &g->node[from];
            g->edge[g->edges++] = (graph_edge){
                .from = from,
                .to = i,
                .tensor = {.elements = maker->place.elements,
                           .routed = maker->expert && maker->part != PLAIT_PART_combine}};
        }
    }
}

plait_status graph_build(layer_graph *g, plait_error *err)
{
    const plait_job *job = &g->problem->job;
    const plait_shard whole = {.tp = 1,
                               .cp = 1,
                               .ep = 1,
                               .etp = 1,
                               .attention = plait_attention_usual(g->problem),
                               .precision = job->precision,
                               .runtime = g->problem->runtime};
    plait_block block;

    if (g->layer->opaque)
        return plait_fail(
            err, PLAIT_ERROR_RANGE, "operators",
            "expected a layer with operators, found %.60s, for which the model has only costs",
            g->layer->name);
    plait_block_describe(g->problem->model, g->layer, &whole,
                         (plait_pass){PLAIT_FORWARD, g->sequences, job->seq, job->seq}, &block);
    for (int i = 0; i < block.ops; i++) {
        const plait_op *op = &block.op[i];
        if (op->kind != PLAIT_OP_COLLECTIVE && op->place.number > g->nodes) {
            if (op->place.number > PROGRAM_VARIABLES)
                return plait_fail(err, PLAIT_ERROR_RANGE, "operators",
                                  "expected at most %d operators in a layer, found more",
                                  PROGRAM_VARIABLES);
            node *n = &g->node[op->place.number - 1];

            *n = (node){.part = op->part,
                        .kind = kind_of(op),
                        .place = op->place,
                        .expert = is_of_experts(op->part)};
            n->place.elements = elements_of(g, op);
            if (n->kind == NODE_PRODUCT)
                n->params = op->n * op->k * op->batch;
            g->nodes = op->place.number;
        }
    }
    name_nodes(g);
    add_edges(g);
    // Add the parameters of norms and biases, which are not cut, to the first operator. (S.47)
    double large = 0.0;

    for (int i = 0; i < g->nodes; i++)
        large += g->node[i].params;
    const double small = block.weights.dense + block.weights.expert - large;
    if (small > 0.0)
        g->node[0].params += small;
    return PLAIT_OK;
}
