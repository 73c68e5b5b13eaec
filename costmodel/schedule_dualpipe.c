/*
 * schedule_dualpipe.c - DualPipe: microbatches enter at both ends and meet
 *
 * Rank r holds stage r for those that came in at rank 0, and stage p-1-r for those that came in at
 * the last rank. Seen from a rank, `near` are those from the nearer end, `far` the others. With d
 * hops to the nearer end and h = p/2, the order of the eight steps of DeepSeek's DualPipe (README
 * of deepseek-ai/DualPipe) is
 *
 *     1   2(h-d-1) x  Fn
 *     2      (d+1) x  Fn Ff
 *     3    (h-d-1) x  If W Ff
 *     4 (m/2-p+d+1) x Fn Bf  Ff Bn        each F with its B is meant to overlap
 *     5    (h-d-1) x  Bf  Ff Bn
 *     6      (d+1) x  Bf Bn               the second half as I
 *     7    (h-d-1) x  W In
 *     8      (d+1) x  W
 */
#include "schedule_fill.h"

enum { NEAR, FAR };

/* One rank on its way through the steps. */
typedef struct dual_walk {
    action_list *out;
    int stage[2];     /* of near and far microbatches */
    int first[2];     /* their first microbatch */
    int forwards[2];  /* done so far, as the next two */
    int backwards[2]; /* I counts */
    int written;      /* where in `out` the search for the oldest I without its W goes on */
} dual_walk;

static dual_walk walk_begin(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    const int mirrored = shape->ranks - 1 - rank;
    const int half = shape->microbatches / 2;
    const bool upper = rank < mirrored;

    return (dual_walk){
        .out = out,
        .stage = {upper ? rank : mirrored, upper ? mirrored : rank},
        .first = {upper ? 0 : half, upper ? half : 0},
    };
}

static void forward(dual_walk *walk, int side)
{
    action_append(walk->out, PLAIT_ACTION_FORWARD, walk->stage[side],
                  walk->first[side] + walk->forwards[side]++);
}

static void backward(dual_walk *walk, int side, plait_action_kind kind)
{
    action_append(walk->out, kind, walk->stage[side], walk->first[side] + walk->backwards[side]++);
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
static void fill_up(dual_walk *walk, int inward, int outward)
{
    for (int i = 0; i < 2 * inward; i++)
        forward(walk, NEAR);
    for (int i = 0; i < outward; i++) {
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
static void run_both_ways(dual_walk *walk, int pairs, int inward)
{
    for (int i = 0; i < pairs + inward; i++) {
        if (i < pairs)
            forward(walk, NEAR);
        backward(walk, FAR, PLAIT_ACTION_BACKWARD);
        forward(walk, FAR);
        backward(walk, NEAR, PLAIT_ACTION_BACKWARD);
    }
}

/* Steps 6 to 8: weight gradients fill the gaps. */
static void drain(dual_walk *walk, int inward, int outward)
{
    for (int i = 0; i < 2 * outward; i++)
        backward(walk, i % 2 == 0 ? FAR : NEAR,
                 i < outward ? PLAIT_ACTION_BACKWARD : PLAIT_ACTION_INPUT);
    for (int i = 0; i < inward; i++) {
        weight(walk);
        backward(walk, NEAR, PLAIT_ACTION_INPUT);
    }
    for (int i = 0; i < outward; i++)
        weight(walk);
}

void schedule_fill_dualpipe(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    const int mirrored = shape->ranks - 1 - rank;
    const int outward = (rank < mirrored ? rank : mirrored) + 1;
    const int inward = shape->ranks / 2 - outward;
    dual_walk walk = walk_begin(shape, rank, out);

    fill_up(&walk, inward, outward);
    run_both_ways(&walk, shape->microbatches / 2 - shape->ranks + outward, inward);
    drain(&walk, inward, outward);
}
