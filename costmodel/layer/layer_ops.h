/* layer_ops.h - a layer's operators with their seconds, which a row of prices adds up */
#pragma once

#include "costmodel/layer/layer_row.h"

enum { LAYER_HALVES = 2 };

/** The fields of an operator that sums need. */
typedef struct priced_op {
    double s;            /* exposed seconds of the fullest rank */
    double weight_s;     /* weight gradient without waiting; else 0 */
    unsigned char term;  /* layer_term */
    unsigned char part;  /* plait_part */
    unsigned char role;  /* layer_role */
    bool travels;        /* a collective */
    bool expert_weights; /* gradients of experts' weights */
} priced_op;

typedef struct priced_pass {
    int ops;
    priced_op *op;
} priced_pass;

/** A layer, half a layer or an end of the model: both passes, and what the forward keeps. */
typedef struct priced_block {
    priced_pass forward, backward;
    double computed_s;           /* both passes, without the exchange of experts' tokens */
    double saved[PLAIT_TENSORS]; /* elements */
    double saved_gathered;
    plait_weights weights;
    double context_bytes;  /* largest buffer of context exchange */
    double gathered_bytes; /* largest buffer of tokens all-gathered to their experts */
} priced_block;

/** Storage for a block that is not cached. */
typedef struct priced_room {
    priced_block block;
    priced_op forward[PLAIT_MAX_OPS], backward[PLAIT_MAX_OPS];
} priced_room;

/**
 * One part of a row: as a whole, or its mixer and then its ffn.
 *
 * @param room   storage for blocks that are not cached
 * @param block  filled
 * @return       number of blocks
 */
int priced_blocks_of(const plait_problem *problem, layer_row *row, int r,
                     priced_room room[LAYER_HALVES], const priced_block *block[LAYER_HALVES]);

/** Adds the seconds of collectives (`travels`) or else of kernels, by term and by part. (C.36) */
void priced_pass_add(const priced_pass *pass, bool travels, double terms[LAYER_TERMS],
                     double part_s[PLAIT_PARTS]);

/** Adds seconds by role in a pair of microbatches, and the weight gradients without waiting. */
void priced_pass_sort(const priced_pass *pass, layer_pass *sum, double *weight_s);

/** Seconds of one collective, of experts or not. (C.56, C.151, C.153) */
double exchange_s(const plait_problem *problem, const plait_route *route, const plait_op *op);
