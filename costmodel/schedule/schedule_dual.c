/*
 * schedule_dual.c - the eight steps of DualPipe, on one rank
 *
 * A rank has one stage of each of two directions. For each rank, `near` microbatches come from the
 * nearer end, `far` ones from the other; i ranks lie between it and the middle (inward), and it is
 * the o-th from its end (outward). With m microbatches per direction, the order of DeepSeek's
 * DualPipe and DualPipeV (README of deepseek-ai/DualPipe) is
 *
 *     1       2i x  Fn
 *     2        o x  Fn Ff
 *     3        i x  If W Ff
 *     4  m-2i-o x  Fn Bf  Ff Bn        each F with its B is meant to overlap
 *     5        i x  Bf  Ff Bn
 *     6        o x  Bf Bn               the second half as I
 *     7        i x  W In
 *     8        o x  W
 *
 * A middle rank does not overlap the first pair of step 4, since the other middle rank waits for
 * its forward.
 */
#include "costmodel/schedule/schedule_kind.h"

enum { NEAR, FAR };

/* State of one rank in the steps. */
typedef struct dual_walk {
    const dual_rank *rank;
    action_list *out;
    int forwards[2];  /* near and far forwards done so far */
    int backwards[2]; /* near and far B and I done so far */
    int written;      /* position in `out` from which to search the oldest I without its W */
} dual_walk;

static void forward(dual_walk *walk, int side)
{
    action_append(walk->out, PLAIT_ACTION_FORWARD, walk->rank->stage[side],
                  walk->rank->first[side] + walk->forwards[side]++);
}

static void backward(dual_walk *walk, int side, plait_action_kind kind)
{
    action_append(walk->out, kind, walk->rank->stage[side],
                  walk->rank->first[side] + walk->backwards[side]++);
}

/* A forward and a backward of the other side, overlapped or one after the other. */
static void pair(dual_walk *walk, int side, bool overlapped)
{
    forward(walk, side);
    walk->out->action[walk->out->count - 1].paired = overlapped;
    backward(walk, side == NEAR ? FAR : NEAR, PLAIT_ACTION_BACKWARD);
}

/* The weight gradient that has waited longest. */
static void weight(dual_walk *walk)
{
    const plait_action *const done = walk->out->action;

    while (done[walk->written].kind != PLAIT_ACTION_INPUT)
        walk->written++;
    action_append(walk->out, PLAIT_ACTION_WEIGHT, done[walk->written].stage,
                  done[walk->written].microbatch);
    walk->written++;
}

/* Steps 1 to 3: the near side fills its half of the pipeline, then the far side arrives. */
static void fill_up(dual_walk *walk)
{
    const int inward = walk->rank->inward;

    for (int i = 0; i < 2 * inward; i++)
        forward(walk, NEAR);
    for (int i = 0; i < walk->rank->outward; i++) {
        forward(walk, NEAR);
        forward(walk, FAR);
    }
    for (int i = 0; i < inward; i++) {
        backward(walk, FAR, PLAIT_ACTION_INPUT);
        weight(walk);
        forward(walk, FAR);
    }
}

/* Steps 4 and 5. */
static void run_both_ways(dual_walk *walk)
{
    const int inward = walk->rank->inward;
    const int pairs = walk->rank->microbatches - 2 * inward - walk->rank->outward;

    for (int i = 0; i < pairs + inward; i++) {
        if (i < pairs)
            pair(walk, NEAR, i > 0 || inward > 0);
        else
            backward(walk, FAR, PLAIT_ACTION_BACKWARD);
        pair(walk, FAR, true);
    }
}

/* Steps 6 to 8: weight gradients fill the gaps. */
static void drain(dual_walk *walk)
{
    const int outward = walk->rank->outward;

    for (int i = 0; i < 2 * outward; i++)
        backward(walk, i % 2 == 0 ? FAR : NEAR,
                 i < outward ? PLAIT_ACTION_BACKWARD : PLAIT_ACTION_INPUT);
    for (int i = 0; i < walk->rank->inward; i++) {
        weight(walk);
        backward(walk, NEAR, PLAIT_ACTION_INPUT);
    }
    for (int i = 0; i < outward; i++)
        weight(walk);
}

/*
 * Forwards before the first backward: steps 1 and 2, and the one that the middle does not overlap.
 */
warm_up schedule_dual_ahead(int ranks, int rank)
{
    const int inward = ranks - 1 - rank;
    const int outward = rank + 1;

    return (warm_up){2.0 * inward + outward + (inward == 0), outward};
}

/* Steps 3, 6 and 7 have split backwards. */
int64_t schedule_dual_split_backwards(const dual_rank *rank)
{
    return 2 * (int64_t)rank->inward + rank->outward;
}

void schedule_fill_dual(const dual_rank *rank, action_list *out)
{
    dual_walk walk = {.rank = rank, .out = out};

    fill_up(&walk);
    run_both_ways(&walk);
    drain(&walk);
}
