/*
 * operators.h - how each operator of a layer is cut over a mesh of GPUs, from first principles.
 *
 * Megatron's tensor parallelism, ZeRO, expert parallelism are names of assignments. Here the operators
 * of a layer (block.h) each get a strategy on a logical mesh of one to three axes: every axis cuts one
 * dimension of the operator or none. The assignment that takes least time under a memory limit is
 * found and proven (docs/model/11-operators.md, S.40 to S.50), and compared with those that have names.
 *
 *     plait_operators_options options;
 *     plait_operators_options_init(&options);
 *     PLAIT_TRY(plait_mesh_parse("2x8", &options.mesh, err));
 *     PLAIT_TRY(plait_operators_solve(&problem, &options, arena, &result, err));
 *
 * One kind of layer at a time, all layers of it alike: a layer's input is cut as its output. Left out:
 * pipelines, recomputation, the ends of the model, small buffers.
 */
#ifndef PLAIT_OPERATORS_H
#define PLAIT_OPERATORS_H

#include "plait/arena.h"
#include "plait/problem.h"
#include "plait/runtime.h"

PLAIT_BEGIN_DECLS

enum { PLAIT_MESH_AXES = 3 };

/** A logical mesh. The last axis is innermost: its ranks are neighbours. */
typedef struct plait_mesh {
    int axes;
    int size[PLAIT_MESH_AXES];
} plait_mesh;

/** Read "8", "8x8" or "2x4x8". */
PLAIT_MUST_CHECK plait_status plait_mesh_parse(const char *text, plait_mesh *out, plait_error *err);

/** GPUs of a mesh; INT_MAX where they are more than that. */
int plait_mesh_gpus(const plait_mesh *mesh);

/** What an operator does with one axis of the mesh. */
typedef enum plait_use {
    PLAIT_USE_REPLICATE, /* all its ranks do the same */
    PLAIT_USE_BATCH,     /* sequences */
    PLAIT_USE_SEQUENCE,  /* tokens of each sequence */
    PLAIT_USE_IN,        /* the width that a product sums over: its output is a partial sum */
    PLAIT_USE_OUT,       /* the width of the output; of what is no product, of the input too */
    PLAIT_USE_EXPERTS,
    PLAIT_USES
} plait_use;

/** Where the state of an operator's weight lies among the ranks that use the same part of it. */
typedef enum plait_weight_home {
    PLAIT_WEIGHT_WHOLE, /* all of it on each */
    PLAIT_WEIGHT_ZERO1, /* the optimizer's state cut */
    PLAIT_WEIGHT_ZERO3, /* weight and gradient too: gathered in each pass */
    PLAIT_WEIGHT_HOMES
} plait_weight_home;

enum { PLAIT_SPEC_CHARS = 96 };

/** One operator as it was decided. Seconds are of one layer and microbatch. */
typedef struct plait_operator {
    const char *name; /* "qkv", "norm.2": the part, numbered where a layer has several */
    plait_part part;
    plait_use use[PLAIT_MESH_AXES];
    plait_weight_home home;
    bool has_weight;
    char spec[PLAIT_SPEC_CHARS]; /* "[S0,R,R] x [R,S1] -> [S0,R,S1]" */
    double forward_s;            /* kernels */
    double backward_s;
    double inside_s; /* communication inside the operator, exposed: context, statistics, weights */
    double sync_s;   /* of its weight once a step, exposed, with the optimizer's step */
    double state_bytes; /* one layer */
    double kept_bytes;
} plait_operator;

/** What a tensor's way from one operator to the next takes, exposed, of one layer and microbatch. */
typedef struct plait_operator_edge {
    int from, to; /* operators */
    double forward_s, backward_s;
    char forward[PLAIT_SPEC_CHARS]; /* "all-reduce 1": collective and axes; "" for none */
    char backward[PLAIT_SPEC_CHARS];
} plait_operator_edge;

/** An assignment. */
typedef struct plait_operators_plan {
    char name[64]; /* "data parallel 0, TP+SP 1"; "" for one that has no name */
    int operators;
    const plait_operator *op;
    int edges;
    const plait_operator_edge *edge;
    double step_s;    /* all layers, all microbatches */
    double forward_s; /* kernels, one layer and microbatch */
    double backward_s;
    double comm_s;      /* exposed: edges and inside */
    double sync_s;      /* once a step, one layer */
    double state_bytes; /* all layers */
    double kept_bytes;
    double bytes; /* both, and what is gathered */
} plait_operators_plan;

typedef struct plait_operators_result {
    plait_verdict verdict; /* FITS or OUT_OF_MEMORY: `best` is then that of fewest bytes */
    int kind;              /* of the model's layers */
    int layers;            /* of that kind */
    double limit_bytes;    /* for all that is counted here, on one GPU */
    double needed_bytes;   /* least that any assignment takes; when it does not fit */
    plait_operators_plan best;
    double lower_s; /* of step_s; equal when proven */
    bool proven;
    plait_operators_plan named; /* the best that has a name and fits; step_s 0 when none does */
    int64_t strategies;         /* of all operators together */
    int64_t labels;             /* looked at to close the gap (S.43) */
} plait_operators_result;

typedef struct plait_operators_options {
    plait_mesh mesh;
    int kind;            /* of layer; -1: the one that most layers are of */
    int microbatches;    /* that a step is cut into; of gbs / microbatches sequences on the mesh */
    double memory_bytes; /* 0: what the device has for them at the problem's risk */
    int64_t most_labels; /* budget of the proof */
    const void *reserved[8]; /* zero; later versions turn it into fields */
} plait_operators_options;

/** The usual options: one microbatch, the device's memory. Set the mesh. */
void plait_operators_options_init(plait_operators_options *options);

/**
 * The best strategies of a layer's operators on a mesh.
 *
 * @param problem  job.gpus is what the mesh multiplies to; job.gbs sequences a step over the mesh
 * @return         RANGE: the mesh is not the job's GPUs, microbatches do not divide, no such kind;
 *                 out->verdict says whether anything fits
 *
 * *out lives in `arena`.
 */
PLAIT_MUST_CHECK plait_status plait_operators_solve(const plait_problem *problem,
                                                    const plait_operators_options *options,
                                                    plait_arena *arena, plait_operators_result *out,
                                                    plait_error *err);

extern const char *const plait_use_name[PLAIT_USES + 1];
extern const char *const plait_weight_home_name[PLAIT_WEIGHT_HOMES + 1];

PLAIT_END_DECLS

#endif
