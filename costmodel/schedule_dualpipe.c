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
 *
 * A middle rank does not overlap the first pair of step 4: its forward is what the other one waits for.
 */
#include "schedule_kind.h"

#include <stddef.h>

/* Half of the microbatches for each end, and a middle for them to meet in. */
static const char *needs(int ranks, int microbatches)
{
    return ranks % 2 == 0 && microbatches % 2 == 0 && microbatches >= 2 * ranks
               ? NULL
               : "an even pp and an even number of microbatches, at least 2 pp";
}

/*
 * p/2 - 1 steps on the way to the middle wait for a pair F&B = f + b and a whole backward b, and
 * have three weight gradients to fill them with. f and b are the longest of any stage, w the
 * shortest: an upper bound. (C.76)
 */
static double pipeline_s(const plait_pipeline_load *load)
{
    const double steps = load->stages / 2.0 - 1.0;

    return schedule_steady_s(load) +
           larger(0.0, steps * (load->max_f_s + 2.0 * load->max_b_s - 3.0 * load->least_w_s));
}

/* Of both directions together. (C.79) */
static double in_flight(int ranks, int stage, int chunks, int microbatches)
{
    (void)stage, (void)chunks;
    return smaller(ranks + 1.0, microbatches);
}

// ---- spelled out ---------------------------------------------------------------------------

static bool has_actions(const plait_pipeline_shape *shape)
{
    return shape->chunks == 1 && needs(shape->ranks, shape->microbatches) == NULL;
}

/* p - d - 1 of a rank d hops from the nearer end. */
static int64_t split_backwards(const plait_pipeline_shape *shape, int rank)
{
    const int from_end = shape->ranks - 1 - rank;

    return shape->ranks - 1 - (rank < from_end ? rank : from_end);
}

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

/* A forward and a backward of the other side, overlapped or one behind the other. */
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
            pair(walk, NEAR, i > 0 || inward > 0);
        else
            backward(walk, FAR, PLAIT_ACTION_BACKWARD);
        pair(walk, FAR, true);
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

static void fill(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    const int mirrored = shape->ranks - 1 - rank;
    const int outward = (rank < mirrored ? rank : mirrored) + 1;
    const int inward = shape->ranks / 2 - outward;
    dual_walk walk = walk_begin(shape, rank, out);

    fill_up(&walk, inward, outward);
    run_both_ways(&walk, shape->microbatches / 2 - shape->ranks + outward, inward);
    drain(&walk, inward, outward);
}

const schedule_kind schedule_dualpipe = {
    .copies = 2,
    .needs = needs,
    .rank_of = schedule_rank_in_turn,
    .chunk_of = schedule_chunk_in_turn,
    .pipeline_s = pipeline_s,
    .in_flight = in_flight,
    .has_actions = has_actions,
    .split_backwards = split_backwards,
    .fill = fill,
};
