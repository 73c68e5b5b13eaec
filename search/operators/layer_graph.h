/*
 * layer_graph.h - a layer's operators as a graph, and what each strategy of one takes
 *
 *     graph.c           nodes and their inputs, from the description of a layer (block.h)
 *     mesh.c            axes of the mesh, and the groups of ranks along them
 *     strategy.c        what an operator may do with each axis, and how its tensors lie then (S.45)
 *     spec.c            the same in words
 *     price_operator.c  seconds of its kernels, bytes that it keeps                        (S.46)
 *     price_inside.c    what it exchanges itself
 *     price_weight.c    its weight's state, gathers and reductions                         (S.47)
 *     convert.c         a tensor that lies one way made to lie another                     (S.48)
 *     assemble.c        all of it as a program (program.h)
 *     named.c           layouts that have a name, as sets of strategies                    (S.50)
 *     plan.c            an assignment in the words of operators.h
 *     operators.c       plait_operators_solve
 */
#pragma once

#include "plait/lowlevel/collective.h"
#include "plait/lowlevel/kernel.h"
#include "plait/operators.h"
#include "plait/runtime.h"
#include "search/operators/program.h"

enum {
    MESH_SETS = 1 << PLAIT_MESH_AXES, /* sets of axes */
    MOST_STRATEGIES = 216             /* PLAIT_USES ^ PLAIT_MESH_AXES */
};

/** How a tensor lies along one axis. */
typedef enum lie {
    LIE_WHOLE,
    LIE_PARTIAL, /* each rank has a summand */
    LIE_BATCH,
    LIE_SEQUENCE,
    LIE_WIDTH,
    LIE_EXPERTS,
    LIE_COPY, /* an input that is whole, whose gradient is partial */
    LIES
} lie;

/** Along all axes. */
typedef struct spread {
    unsigned char lie[PLAIT_MESH_AXES];
} spread;

typedef enum node_kind {
    NODE_PRODUCT, /* has a weight: sums over its input's width */
    NODE_CORE,    /* attention and its like: tokens of a sequence see each other */
    NODE_PASS     /* each element by itself, or each token (norms) */
} node_kind;

/** What a strategy of an operator takes, on one rank and for one microbatch. */
typedef struct strategy {
    plait_use use[PLAIT_MESH_AXES];
    double forward_s, backward_s;               /* kernels */
    double inside_forward_s, inside_backward_s; /* context and statistics, exposed */
    double kept_bytes;
    double params; /* that the rank uses */
    /* by plait_weight_home; the gathers of a microbatch, what is done once a step */
    int homes;
    double gather_s[PLAIT_WEIGHT_HOMES];
    double sync_s[PLAIT_WEIGHT_HOMES];
    double state_bytes[PLAIT_WEIGHT_HOMES];
    double gathered_bytes[PLAIT_WEIGHT_HOMES]; /* not of each layer: one at a time */
} strategy;

typedef struct node {
    char name[24];
    plait_part part;
    node_kind kind;
    plait_place place;
    bool expert;   /* works on tokens as experts get them */
    double params; /* of the whole layer */
    int strategies;
    strategy *strategy;
} node;

/** A tensor, whose layouts over the mesh are computed on demand. */
typedef struct tensor {
    double elements; /* of the microbatch on the whole mesh */
    bool routed;     /* rows of experts */
} tensor;

typedef struct graph_edge {
    int from, to;
    tensor tensor;
} graph_edge;

typedef struct layer_graph {
    const plait_problem *problem;
    const plait_layer *layer;
    plait_mesh mesh;
    int layers;
    int microbatches;
    double sequences; /* of a microbatch on the whole mesh */
    plait_route route[MESH_SETS];
    plait_state_bytes state;
    int nodes;
    node node[PROGRAM_VARIABLES];
    int edges;
    graph_edge edge[PROGRAM_EDGES];
} layer_graph;

/** The graph of a question with all strategies priced; RANGE where the question makes none. */
PLAIT_MUST_CHECK plait_status graph_prepare(const plait_problem *problem,
                                            const plait_operators_options *options,
                                            plait_arena *arena, layer_graph *g, plait_error *err);

/** Nodes and edges; no strategies yet. The output of the last node is the input of the next layer's first. */
PLAIT_MUST_CHECK plait_status graph_build(layer_graph *g, plait_error *err);

/** The group of ranks along a set of axes (bits). */
plait_route mesh_route(const plait_problem *problem, const plait_mesh *mesh, unsigned axes);
/** Ranks along the axes that an operator uses so. */
int mesh_ways(const plait_mesh *mesh, const plait_use *use, plait_use which);
unsigned mesh_axes(const plait_mesh *mesh, const plait_use *use, plait_use which);

/** Which strategies has each node? Prices them all. */
PLAIT_MUST_CHECK plait_status strategies_list(layer_graph *g, plait_arena *arena, plait_error *err);
/** The width of its input or output that tensor parallelism cuts (heads, ffn, vocab), as a use of it. */
plait_use node_cut(const node *n);
spread input_spread(const node *n, const strategy *s);
spread output_spread(const node *n, const strategy *s);
/** How the values of an input lie; how gradients do: of an input, and of an output as it is wanted. */
spread value_of_input(spread input);
spread gradient_of_input(spread input);
spread gradient_of_output(spread output);
/** "[S0,R,R] x [R,S1] -> [S0,R,S1]" */
void strategy_spec(const plait_mesh *mesh, const node *n, const strategy *s,
                   char spec[PLAIT_SPEC_CHARS]);

/** Kernels, exchanges and kept bytes of all strategies. */
void price_operators(layer_graph *g);
void price_weight(const layer_graph *g, const node *n, strategy *s);
/** Is it a norm over the hidden width? */
bool node_is_norm(const node *n);
/** Exposed seconds of what an operator exchanges itself: context, statistics. */
double inside_s(const layer_graph *g, const node *n, const strategy *s, const plait_block *block,
                double kernels_s);
plait_network graph_network(const layer_graph *g);

/**
 * Exposed seconds of making a tensor lie as its reader wants it.
 *
 * @param text  receives the collectives by name, "" for none; may be NULL
 */
double convert_s(const layer_graph *g, const tensor *t, spread from, spread to,
                 char text[PLAIT_SPEC_CHARS]);

/** All strategies, or those that `allowed` says (a bit of PLAIT_WEIGHT_HOMES each), as a program. */
typedef unsigned strategy_filter(const void *context, const layer_graph *g, const node *n,
                                 const strategy *s);
typedef struct assembly {
    program program;
    short *strategy[PROGRAM_VARIABLES]; /* of each state */
} assembly;
PLAIT_MUST_CHECK plait_status assemble(const layer_graph *g, double *const *tables,
                                       strategy_filter *allowed, const void *context,
                                       double limit_bytes, plait_arena *arena, assembly *out,
                                       bool *any, plait_error *err);

/** Seconds of each edge by the strategies of its ends, [from][to], all layers and microbatches. */
PLAIT_MUST_CHECK plait_status edge_tables(const layer_graph *g, plait_arena *arena, double ***out,
                                          plait_error *err);

/** An assignment: a strategy and a home of each node. */
typedef struct assignment {
    int strategy[PROGRAM_VARIABLES];
    int home[PROGRAM_VARIABLES];
    double step_s, bytes;
} assignment;

assignment assignment_of(const assembly *a, const program_choice *choice);

/** The best layout that has a name and fits; step_s is 0 when none does. */
PLAIT_MUST_CHECK plait_status named_best(const layer_graph *g, double *const *tables,
                                         double limit_bytes, plait_arena *arena, assignment *out,
                                         plait_error *err);
/** The name of an assignment; "" when it has none. */
void named_of(const layer_graph *g, const assignment *a, char *name, size_t size);

PLAIT_MUST_CHECK plait_status plan_of(const layer_graph *g, const assignment *a, plait_arena *arena,
                                      plait_operators_plan *out, plait_error *err);
