/*
 * operators.h - the optimal sharding of each operator of a layer over a mesh of GPUs
 *
 * Every operator of a layer (lowlevel/block.h) gets a strategy on a logical mesh of one to three
 * axes: each axis shards at most one dimension of the operator. Megatron's tensor parallelism, ZeRO
 * and expert parallelism are such assignments with names. plait_operators_solve finds the fastest
 * assignment under a memory limit, proves that it is optimal (docs/model/11-operators.md, S.40 to
 * S.50), and compares it with the best named one.
 *
 *     plait_operators_options options;
 *     plait_operators_options_init(&options);
 *     PLAIT_TRY(plait_mesh_parse("2x8", &options.mesh, err));
 *     PLAIT_TRY(plait_operators_solve(&problem, &options, arena, &result, err));
 *
 * Only layers of one kind are solved, and all have the same assignment, so the input of a layer is
 * sharded like its output. Left out: pipelines, recomputation, embedding and loss, small buffers.
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

/** Parse a mesh such as "8", "8x8" or "2x4x8". Fails (RANGE) for any other text. */
PLAIT_MUST_CHECK plait_status plait_mesh_parse(const char *text, plait_mesh *out, plait_error *err);

/** Number of GPUs of a mesh, at most INT_MAX. */
int plait_mesh_gpus(const plait_mesh *mesh);

/** The dimension of an operator that one axis of the mesh shards. */
typedef enum plait_use {
    PLAIT_USE_REPLICATE, /* no dimension: all ranks of the axis compute the same */
    PLAIT_USE_BATCH,     /* sequences */
    PLAIT_USE_SEQUENCE,  /* tokens of each sequence */
    PLAIT_USE_IN,        /* width that a product sums over: outputs are partial sums */
    PLAIT_USE_OUT,       /* width of the output; for operators other than products, width of input
                          * and output */
    PLAIT_USE_EXPERTS,
    PLAIT_USES
} plait_use;

/** How ranks that use the same part of a weight store its state. */
typedef enum plait_weight_home {
    PLAIT_WEIGHT_WHOLE, /* all state on each rank */
    PLAIT_WEIGHT_ZERO1, /* optimizer state sharded */
    PLAIT_WEIGHT_ZERO3, /* weight and gradient sharded too, gathered in each pass */
    PLAIT_WEIGHT_HOMES
} plait_weight_home;

enum { PLAIT_SPEC_CHARS = 96 };

/**
 * One operator and its strategy. Times are for one layer and one microbatch, except `sync_s`, which
 * is once a step.
 */
typedef struct plait_operator {
    const char *name; /* name of the part, numbered if a layer has several: "norm.2" */
    plait_part part;
    plait_use use[PLAIT_MESH_AXES];
    plait_weight_home home;
    bool has_weight;
    char spec[PLAIT_SPEC_CHARS]; /* shardings: "[S0,R,R] x [R,S1] -> [S0,R,S1]" */
    double forward_s;            /* time of the kernels */
    double backward_s;
    double inside_s;    /* exposed communication of context, statistics, weights */
    double sync_s;      /* exposed gradient reduction of its weight, and optimizer */
    double state_bytes; /* state of one layer */
    double kept_bytes;
} plait_operator;

/** Exposed resharding of a tensor between two operators, for one layer and one microbatch. */
typedef struct plait_operator_edge {
    int from, to; /* indices of operators */
    double forward_s, backward_s;
    char forward[PLAIT_SPEC_CHARS]; /* collective and axes: "all-reduce 1"; "" without one */
    char backward[PLAIT_SPEC_CHARS];
} plait_operator_edge;

/**
 * An assignment of strategies to all operators. Each time and size is for the unit in its comment.
 */
typedef struct plait_operators_plan {
    char name[64]; /* name: "data parallel 0, TP+SP 1"; "" without one */
    int operators;
    const plait_operator *op;
    int edges;
    const plait_operator_edge *edge;
    double step_s;    /* time of all layers and microbatches */
    double forward_s; /* kernel time of one layer and microbatch */
    double backward_s;
    double comm_s;      /* exposed communication, one layer and microbatch */
    double sync_s;      /* exposed gradient reduction and optimizer, one layer */
    double state_bytes; /* state of all layers */
    double kept_bytes;
    double bytes; /* state, kept activations and gathered weights */
} plait_operators_plan;

/**
 * Result of plait_operators_solve. If nothing fits, the verdict is PLAIT_OUT_OF_MEMORY, `best` is
 * the assignment with the fewest bytes and `needed_bytes` is its size.
 */
typedef struct plait_operators_result {
    plait_verdict verdict; /* PLAIT_FITS or PLAIT_OUT_OF_MEMORY */
    int kind;              /* kind of layer that is solved */
    int layers;            /* layers of that kind */
    double limit_bytes;    /* memory limit for the counted bytes on one GPU */
    double needed_bytes;   /* minimum over all assignments, if none fits */
    plait_operators_plan best;
    double lower_s; /* lower bound of best.step_s; equal to it if proven */
    bool proven;
    plait_operators_plan named; /* best named assignment that fits; step_s 0: none */
    int64_t strategies;         /* number of strategies of all operators */
    int64_t labels;             /* labels expanded in the proof (S.43) */
} plait_operators_result;

typedef struct plait_operators_options {
    plait_mesh mesh;
    int kind;                /* kind of layer; -1: the most frequent one */
    int microbatches;        /* microbatches of a step, each of gbs / microbatches sequences */
    double memory_bytes;     /* memory limit; 0: device memory at the problem's risk */
    int64_t most_labels;     /* maximum number of labels in the proof */
    const void *reserved[8]; /* zero; later versions turn it into fields */
} plait_operators_options;

/** Default options: one microbatch, the device's memory. Set the mesh. */
void plait_operators_options_init(plait_operators_options *options);

/**
 * Find the best strategies of a layer's operators on a mesh.
 *
 * @param problem  job.gpus is the number of GPUs of the mesh, job.gbs the sequences of a step over
 *                 it
 * @param out      its verdict is PLAIT_OUT_OF_MEMORY if no assignment fits
 * @return         RANGE if the mesh has another number of GPUs than the job, microbatches do not
 *                 divide the batch, or the kind of layer does not exist; NOMEM
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
