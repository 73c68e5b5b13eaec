/*
 * schedule_dual.c - dualpipe and dualpipe-v: microbatches of two directions meet on each rank
 *
 * DualPipe: rank r has stage r for microbatches that enter at rank 0, and stage p-1-r for those
 * that enter at the last rank: two copies of the model. DualPipeV is DualPipe folded in the middle,
 * with one copy of the parameters: rank r has chunk r on the way down and chunk 2p-1-r on the way
 * up.
 *
 * For each rank, `near` microbatches (n) enter at the nearer end and `far` microbatches (f) at the
 * other; under DualPipeV near microbatches pass the rank's first chunk and far ones its second. The
 * rank is the o-th from its end (outward), and i ranks lie between it and the middle (inward). With
 * m microbatches per direction, a rank runs
 *
 *     1       2i x  Fn
 *     2        o x  Fn Ff
 *     3        i x  If W Ff
 *     4  m-2i-o x  Fn Bf  Ff Bn        each F overlaps the B after it
 *     5        i x  Bf  Ff Bn
 *     6        o x  Bf Bn               the second half of these runs I instead of B
 *     7        i x  W In
 *     8        o x  W
 *
 * A middle rank does not overlap the first pair of step 4, since the other middle rank waits for
 * its forward.
 *
 * Source: DeepSeek-AI, "DeepSeek-V3 technical report", arXiv 2412.19437, 2024; the order is that of
 * the README of deepseek-ai/DualPipe.
 */
#include "costmodel/schedule/schedule_kind.h"

#include <stddef.h>

/*
 * Half of the microbatches enter at each end, and the middle of the pipeline is between two ranks,
 * so both numbers are even.
 */
static const char *dualpipe_needs(int ranks, int microbatches)
{
    return ranks % 2 == 0 && microbatches % 2 == 0 && microbatches >= 2 * ranks
               ? NULL
               : "an even pp and an even number of microbatches, at least 2 pp";
}

static const char *dualpipe_v_needs(int ranks, int microbatches)
{
    return ranks > 1 && microbatches >= 2 * ranks ? NULL : "pp > 1 and at least 2 pp microbatches";
}

/*
 * Forwards before the first backward: those of steps 1 and 2, and on a middle rank the first of
 * step 4, which does not overlap its B.
 */
static warm_up dual_ahead(const plait_pipeline_shape *shape, int rank)
{
    const int inward = shape->ranks - 1 - rank;
    const int outward = rank + 1;

    return (warm_up){2.0 * inward + outward + (inward == 0), outward};
}

/*
 * DualPipe keeps p + 1 microbatches of both directions together. DualPipeV keeps 2p + 1, each in a
 * chunk with half of the rank's layers, so p + 1/2. (C.79)
 */
static double dual_in_flight(const plait_pipeline_shape *shape, int rank)
{
    (void)rank;
    return shape->ranks + 1.0 / shape->chunks;
}

/*
 * Each end rank runs m - 3p/2 + 1 pairs in steps 4 and 5, and waits for p/2 - 1 pairs of the ranks
 * between it and the middle. (C.157)
 */
static double dualpipe_pairs(const plait_pipeline_shape *shape)
{
    return (double)shape->microbatches - shape->ranks;
}

// ---- lists of actions ----------------------------------------------------------------------

enum { NEAR, FAR };

/* State of one rank while its actions are listed step by step. */
typedef struct dual_walk {
    action_list *out;
    int stage[2];         /* stages of the near and of the far microbatches */
    int microbatches;     /* microbatches of each direction */
    int inward, outward;  /* i and o of the steps above */
    int next_forward[2];  /* microbatch of the next near and of the next far F */
    int next_backward[2]; /* microbatch of the next near and of the next far B or I */
    int written;          /* position in `out` from which to search for the oldest I without a W */
} dual_walk;

static dual_walk walk_of(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    const int copies = shape->schedule == PLAIT_DUALPIPE ? 2 : 1;
    const int half = shape->ranks / copies; // ranks from an end to the middle
    const int near = rank < half ? rank : shape->ranks - 1 - rank;
    dual_walk walk = {
        .out = out,
        .stage = {near, 2 * half - 1 - near},
        .microbatches = shape->microbatches / copies,
        .inward = half - 1 - near,
        .outward = near + 1,
    };

    if (copies == 2) // the second half of the microbatches enters at the last rank
        walk.next_forward[rank < half ? FAR : NEAR] = walk.next_backward[rank < half ? FAR : NEAR] =
            walk.microbatches;
    return walk;
}

static void forward(dual_walk *walk, int side)
{
    action_append(walk->out, PLAIT_ACTION_FORWARD, walk->stage[side], walk->next_forward[side]++);
}

static void backward(dual_walk *walk, int side, plait_action_kind kind)
{
    action_append(walk->out, kind, walk->stage[side], walk->next_backward[side]++);
}

/* Appends a forward, and a backward of the other side, which overlap if `overlapped`. */
static void pair(dual_walk *walk, int side, bool overlapped)
{
    forward(walk, side);
    walk->out->action[walk->out->count - 1].paired = overlapped;
    backward(walk, side == NEAR ? FAR : NEAR, PLAIT_ACTION_BACKWARD);
}

/* Appends the W of the oldest I that has no W yet. */
static void weight(dual_walk *walk)
{
    const plait_action *const done = walk->out->action;

    while (done[walk->written].kind != PLAIT_ACTION_INPUT)
        walk->written++;
    action_append(walk->out, PLAIT_ACTION_WEIGHT, done[walk->written].stage,
                  done[walk->written].microbatch);
    walk->written++;
}

/* A rank splits i backwards in step 3, o in step 6 and i in step 7. */
static int64_t split_backwards(const plait_pipeline_shape *shape, int rank)
{
    const dual_walk walk = walk_of(shape, rank, NULL);

    return 2 * (int64_t)walk.inward + walk.outward;
}

static void fill(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    dual_walk walk = walk_of(shape, rank, out);
    const int inward = walk.inward, outward = walk.outward;
    const int pairs = walk.microbatches - 2 * inward - outward;

    for (int i = 0; i < 2 * inward; i++)
        forward(&walk, NEAR);
    for (int i = 0; i < outward; i++) {
        forward(&walk, NEAR);
        forward(&walk, FAR);
    }
    for (int i = 0; i < inward; i++) {
        backward(&walk, FAR, PLAIT_ACTION_INPUT);
        weight(&walk);
        forward(&walk, FAR);
    }
    for (int i = 0; i < pairs + inward; i++) { // steps 4 and 5
        if (i < pairs)
            pair(&walk, NEAR, i > 0 || inward > 0);
        else
            backward(&walk, FAR, PLAIT_ACTION_BACKWARD);
        pair(&walk, FAR, true);
    }
    for (int i = 0; i < 2 * outward; i++)
        backward(&walk, i % 2 == 0 ? FAR : NEAR,
                 i < outward ? PLAIT_ACTION_BACKWARD : PLAIT_ACTION_INPUT);
    for (int i = 0; i < inward; i++) {
        weight(&walk);
        backward(&walk, NEAR, PLAIT_ACTION_INPUT);
    }
    for (int i = 0; i < outward; i++)
        weight(&walk);
}

const schedule_kind schedule_dualpipe = {
    .chunks = 1,
    .copies = 2,
    .needs_to_list = true,
    .needs = dualpipe_needs,
    .ahead = dual_ahead,
    .in_flight = dual_in_flight,
    .pairs = dualpipe_pairs,
    .split_backwards = split_backwards,
    .fill = fill,
};

const schedule_kind schedule_dualpipe_v = {
    .chunks = 2,
    .copies = 1,
    .is_v = true,
    .needs_to_list = true,
    .needs = dualpipe_v_needs,
    .ahead = dual_ahead,
    .in_flight = dual_in_flight,
    .split_backwards = split_backwards,
    .fill = fill,
};
