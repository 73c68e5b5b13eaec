/*
 * layer_graph.h - the operators of a layer as a graph, with time and memory of each strategy
 *
 *     graph.c           nodes and their inputs, from the description of a layer (block.h)
 *     mesh.c            axes of the mesh, and the groups of ranks along them
 *     strategy.c        strategies of an operator, and the layouts of its tensors          (S.45)
 *     spec.c            tensor layouts as text                                             (S.45)
 *     price_operator.c  an operator's kernels and communication, bytes kept for backward   (S.46)
 *     price_weight.c    state, gathers and reductions of an operator's weight              (S.47)
 *     convert.c         conversion of a tensor from one layout to another                  (S.48)
 *     assemble.c        the whole graph as a program (program.h)                           (S.49)
 *     named.c           named layouts such as TP+SP, as sets of strategies                 (S.50)
 *     plan.c            conversion of an assignment to the structs of operators.h
 *     operators.c       plait_operators_solve
 */
#pragma once

#include "plait/lowlevel/collective.h"
#include "plait/lowlevel/kernel.h"
#include "plait/operators.h"
#include "plait/runtime.h"
#include "search/operators/program.h"

enum {
    MESH_SETS = 1 << PLAIT_MESH_AXES, /* number of sets of axes */
    MOST_STRATEGIES = 216             /* PLAIT_USES ^ PLAIT_MESH_AXES */
};

/** Layout of a tensor along one axis of the mesh. */
typedef enum lie {
    LIE_WHOLE,
    LIE_PARTIAL, /* partial sums: the tensor is the sum over the ranks */
    LIE_BATCH,
    LIE_SEQUENCE,
    LIE_WIDTH,
    LIE_EXPERTS,
    LIE_COPY, /* whole on each rank, as an input whose gradient is a partial sum */
    LIES
} lie;

/** Layout of a tensor along all axes. */
typedef struct spread {
    unsigned char lie[PLAIT_MESH_AXES];
} spread;

typedef enum node_kind {
    NODE_PRODUCT, /* matrix product with a weight; sums over the width of the input */
    NODE_CORE,    /* attention or recurrence, which mixes the tokens of a sequence */
    NODE_PASS     /* elementwise operation, or a norm, which works on each token alone */
} node_kind;

/**
 * A strategy of an operator with its time and memory on one rank, for one layer and one microbatch.
 *
 * The arrays are indexed by plait_weight_home, and their first `homes` entries are valid. sync_s is
 * spent once a step. gathered_bytes does not grow with the number of layers, since the layers are
 * gathered one at a time.
 */
typedef struct strategy {
    plait_use use[PLAIT_MESH_AXES];
    double forward_s, backward_s;               /* time of the kernels */
    double inside_forward_s, inside_backward_s; /* exposed communication */
    double kept_bytes;
    double params; /* number of parameters that the rank uses */
    int homes;
    double gather_s[PLAIT_WEIGHT_HOMES];
    double sync_s[PLAIT_WEIGHT_HOMES];
    double state_bytes[PLAIT_WEIGHT_HOMES];
    double gathered_bytes[PLAIT_WEIGHT_HOMES];
} strategy;

typedef struct node {
    char name[24];
    plait_part part;
    node_kind kind;
    plait_place place;
    bool expert;   /* true if it works on the tokens that are routed to experts */
    double params; /* number of parameters of the uncut weight */
    int strategies;
    strategy *strategy;
} node;

/** A tensor, whose layouts over the mesh are computed on demand. */
typedef struct tensor {
    double elements; /* number of elements of a microbatch on the whole mesh */
    bool routed;     /* true if its rows are the tokens routed to experts */
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
    double sequences; /* number of sequences of a microbatch on the whole mesh */
    plait_route route[MESH_SETS];
    plait_state_bytes state;
    int nodes;
    node node[PROGRAM_VARIABLES];
    int edges;
    graph_edge edge[PROGRAM_EDGES];
} layer_graph;

/** Builds the graph of a layer and prices all strategies. Fails (RANGE) on invalid options. */
PLAIT_MUST_CHECK plait_status graph_prepare(const plait_problem *problem,
                                            const plait_operators_options *options,
                                            plait_arena *arena, layer_graph *g, plait_error *err);

/**
 * Adds nodes and edges, without strategies. The output of the last node is the input of the layer,
 * since the next layer has the same graph.
 */
PLAIT_MUST_CHECK plait_status graph_build(layer_graph *g, plait_error *err);

/** Returns the group of ranks along a set of axes (bit mask). */
plait_route mesh_route(const plait_problem *problem, const plait_mesh *mesh, unsigned axes);
/** Returns the product of the sizes of the axes whose use is `which`. */
int mesh_ways(const plait_mesh *mesh, const plait_use *use, plait_use which);
/** Returns the axes whose use is `which`, as a bit mask. */
unsigned mesh_axes(const plait_mesh *mesh, const plait_use *use, plait_use which);

/** Lists and prices the possible strategies of each node. */
PLAIT_MUST_CHECK plait_status strategies_list(layer_graph *g, plait_arena *arena, plait_error *err);
/**
 * Returns the use with which tensor parallelism cuts the operator: OUT or IN for a width of heads
 * or FFN; REPLICATE if it cannot be cut.
 */
plait_use node_cut(const node *n);
spread input_spread(const node *n, const strategy *s);
spread output_spread(const node *n, const strategy *s);
/**
 * Replaces one layout by another on all axes. The values of an input have WHOLE for COPY, its
 * gradient has PARTIAL for COPY; the gradient of an output has WHOLE for PARTIAL.
 */
spread spread_replace(spread of, lie from, lie to);
/** Writes the layouts of a strategy's tensors, such as "[S0,R,R] x [R,S1] -> [S0,R,S1]". */
void strategy_spec(const plait_mesh *mesh, const node *n, const strategy *s,
                   char spec[PLAIT_SPEC_CHARS]);

/**
 * Computes kernel times, communication inside operators, kept bytes and parameters of all
 * strategies.
 */
void price_operators(layer_graph *g);
void price_weight(const layer_graph *g, const node *n, strategy *s);
plait_network graph_network(const layer_graph *g);

/**
 * Returns the exposed seconds of converting a tensor from one layout to another. (S.48)
 *
 * @param text  receives the names of the collectives, "" for none; may be NULL
 */
double convert_s(const layer_graph *g, const tensor *t, spread from, spread to,
                 char text[PLAIT_SPEC_CHARS]);

/**
 * Returns the weight homes that a strategy may have, as bits 1 << plait_weight_home; 0 excludes the
 * strategy.
 */
typedef unsigned strategy_filter(const void *context, const layer_graph *g, const node *n,
                                 const strategy *s);
typedef struct assembly {
    program program;
    short *strategy[PROGRAM_VARIABLES]; /* [states] index of each state's strategy in its node */
} assembly;
/**
 * Builds the program of the strategies that `allowed` accepts, or of all if it is NULL. *any is
 * false, and the program is incomplete, if a node has no strategy left.
 */
PLAIT_MUST_CHECK plait_status assemble(const layer_graph *g, double *const *tables,
                                       strategy_filter *allowed, const void *context,
                                       double limit_bytes, plait_arena *arena, assembly *out,
                                       bool *any, plait_error *err);

/**
 * Computes the seconds of each edge, by the strategies of its two nodes, [from][to], for all layers
 * and microbatches of a step.
 */
PLAIT_MUST_CHECK plait_status edge_tables(const layer_graph *g, plait_arena *arena, double ***out,
                                          plait_error *err);

/** A strategy and a weight home for each node. */
typedef struct assignment {
    int strategy[PROGRAM_VARIABLES];
    int home[PROGRAM_VARIABLES];
    double step_s, bytes;
} assignment;

assignment assignment_of(const assembly *a, const program_choice *choice);

/** Finds the fastest named layout that fits; out->step_s is 0 if none does. */
PLAIT_MUST_CHECK plait_status named_best(const layer_graph *g, double *const *tables,
                                         double limit_bytes, plait_arena *arena, assignment *out,
                                         plait_error *err);
/** Writes the name of an assignment's layout, or "" if it has none. */
void named_of(const layer_graph *g, const assignment *a, char *name, size_t size);

PLAIT_MUST_CHECK plait_status plan_of(const layer_graph *g, const assignment *a, plait_arena *arena,
                                      plait_operators_plan *out, plait_error *err);
