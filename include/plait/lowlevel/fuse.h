/*
 * fuse.h - collectives of two adjacent parallelisms made one: the rules, and what each sends.
 *
 * A collective ends the work of one parallelism and the next one begins with another. Six such
 * transitions are known (Chimera, ISCA 2025). Each row of plait_fusion_rules says what a plan sends
 * without and with the rule, per GPU, in units of the activation D = b s h. Where a rule holds, and
 * whether it pays on the links at hand, is decided by the price of a plan whose key `fusion` is
 * `auto`; plait_cost.fused lists what was decided.
 *
 * A many-to-many scatter (M2MS) sends distinct shares of D from each rank of one group to all ranks
 * of the next.
 *
 * Left out: the reduction of weight gradients, which has nothing to be fused with.
 */
#ifndef PLAIT_LOWLEVEL_FUSE_H
#define PLAIT_LOWLEVEL_FUSE_H

#include <stdbool.h>

#include "plait/cost.h"

PLAIT_BEGIN_DECLS

/** One collective of a side. */
typedef struct plait_fusion_transfer {
    plait_collective_op op;
    bool all;    /* among all ranks of both parallelisms, else among those of one */
    bool share;  /* of D / ranks, else of D */
    bool copies; /* topk times: what experts get */
} plait_fusion_transfer;

enum { PLAIT_FUSION_TRANSFERS = 4 };

/** What a rank sends one after the other. */
typedef struct plait_fusion_side {
    int count;
    plait_fusion_transfer transfer[PLAIT_FUSION_TRANSFERS];
} plait_fusion_side;

typedef struct plait_fusion_row {
    const char *name;
    const char *does;
    plait_fusion_side before, after;
} plait_fusion_row;

extern const plait_fusion_row plait_fusion_rules[PLAIT_FUSION_RULES];

/**
 * What one rank sends on one side of a rule. (C.141)
 *
 * @param ranks  N, of one parallelism
 * @param all    G, of both together
 * @param topk   experts a token goes to
 * @param bytes  D, the whole activation, in any unit
 */
double plait_fusion_sent(const plait_fusion_side *side, int ranks, int all, int topk, double bytes);

PLAIT_END_DECLS

#endif
