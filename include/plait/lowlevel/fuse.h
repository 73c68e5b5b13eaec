/*
 * fuse.h - fused collectives of two adjacent parallelisms: the rules, and the volume of each
 *
 * One parallelism ends its work with a collective, and the next begins with another. For six such
 * transitions both collectives can be fused (Chimera, ISCA 2025). A row of plait_fusion_rules has
 * the transfers of one GPU without and with the rule, in units of the activation D = b s h. If the
 * key `fusion` of a plan is `auto`, the price of the plan decides where a rule applies and whether
 * it is faster on the cluster's links; plait_cost.fused has the decisions.
 *
 * A many-to-many scatter (M2MS) sends distinct shares of D from each rank of one group to all ranks
 * of the next.
 *
 * In order: pick a row of plait_fusion_rules, then call plait_fusion_sent for either side.
 *
 * Left out: the reduction of weight gradients, which no collective can be fused with.
 */
#ifndef PLAIT_LOWLEVEL_FUSE_H
#define PLAIT_LOWLEVEL_FUSE_H

#include <stdbool.h>

#include "plait/cost.h"

PLAIT_BEGIN_DECLS

/** One collective before or after fusion. */
typedef struct plait_fusion_transfer {
    plait_collective_op op;
    bool all;    /* among the ranks of both parallelisms; else of one */
    bool share;  /* buffer of D / ranks; else of D */
    bool copies; /* topk times the buffer, as experts receive it */
} plait_fusion_transfer;

enum { PLAIT_FUSION_TRANSFERS = 4 };

/** The collectives of one side of a rule, in order. */
typedef struct plait_fusion_side {
    int count;
    plait_fusion_transfer transfer[PLAIT_FUSION_TRANSFERS];
} plait_fusion_side;

/** One rule: its collectives before and after fusion. */
typedef struct plait_fusion_row {
    const char *name;
    const char *does;
    plait_fusion_side before, after;
} plait_fusion_row;

extern const plait_fusion_row plait_fusion_rules[PLAIT_FUSION_RULES];

/**
 * The volume that one rank sends on one side of a rule, in the unit of `bytes`. (C.141)
 *
 * @param ranks  N, ranks of one parallelism
 * @param all    G, ranks of both parallelisms
 * @param topk   experts of a token
 * @param bytes  D, the whole activation, in any unit
 */
double plait_fusion_sent(const plait_fusion_side *side, int ranks, int all, int topk, double bytes);

PLAIT_END_DECLS

#endif
