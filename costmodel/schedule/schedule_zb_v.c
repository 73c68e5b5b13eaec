/*
 * schedule_zb_v.c - ZB-V: two chunks per rank, down and up again, no bubble with 1F1B's memory
 *
 * With a chunk on the way down (d) and one on the way up (u), rank r runs
 *
 *     1   2(p-r)-1 x  Fd
 *     2          r x  Fu Fd
 *     3        p-r x  Fu Iu Wu
 *     4               Fd Id Wd Fu Iu Wu        until all forwards are done
 *     5          r x  Id Iu
 *     6        p-r x  Id Wd
 *     7               the W that are left, first those of u
 *
 * as if there were at least 2p-1 microbatches; actions of microbatches that do not exist are left
 * out.
 *
 * Source: Qi et al., "Pipeline parallelism with controllable memory", arXiv 2405.15362, 2024; the
 * order is that of PyTorch's ScheduleZBVZeroBubble.
 */
#include "costmodel/schedule/schedule_kind.h"

/* Forwards of steps 1 to 3 before the first I. */
static warm_up ahead(int ranks, int rank)
{
    return (warm_up){2.0 * ranks - 1.0 - rank, rank + 1.0};
}

static double pipeline_s(const plait_pipeline_load *load)
{
    const split_shape shape = {load->ranks, load->microbatches, true, ahead};

    return schedule_split_bound_s(&shape, load);
}

/* A rank has 2p chunks in flight, each half of its layers. (C.77) */
static double in_flight(int ranks, int rank, int chunks, int microbatches)
{
    (void)rank, (void)chunks;
    return smaller(ranks, microbatches);
}

// ---- lists of actions ----------------------------------------------------------------------

enum { DOWN, UP };

/* State of one rank in the steps. */
typedef struct v_walk {
    action_list *out;
    int stage[2];
    int microbatches;
    int forwards[2], inputs[2], weights[2]; /* F, I and W done so far: down, up */
} v_walk;

static void append(v_walk *walk, plait_action_kind kind, int side, int *next)
{
    const int microbatch = next[side]++;

    if (microbatch < walk->microbatches)
        action_append(walk->out, kind, walk->stage[side], microbatch);
}

static void forward(v_walk *walk, int side)
{
    append(walk, PLAIT_ACTION_FORWARD, side, walk->forwards);
}

static void input(v_walk *walk, int side)
{
    append(walk, PLAIT_ACTION_INPUT, side, walk->inputs);
}

static void weight(v_walk *walk, int side)
{
    append(walk, PLAIT_ACTION_WEIGHT, side, walk->weights);
}

static void backward(v_walk *walk, int side)
{
    input(walk, side);
    weight(walk, side);
}

/* Steps 1 to 3. */
static void begin(v_walk *walk, int ranks, int rank)
{
    for (int i = 0; i < 2 * (ranks - rank) - 1; i++)
        forward(walk, DOWN);
    for (int i = 0; i < rank; i++) {
        forward(walk, UP);
        forward(walk, DOWN);
    }
    for (int i = 0; i < ranks - rank; i++) {
        forward(walk, UP);
        backward(walk, UP);
    }
}

/* Step 4. */
static void run(v_walk *walk, int microbatches)
{
    while (walk->forwards[UP] < walk->forwards[DOWN] || walk->forwards[DOWN] < microbatches) {
        if (walk->forwards[DOWN] < microbatches)
            forward(walk, DOWN);
        backward(walk, DOWN);
        forward(walk, UP);
        backward(walk, UP);
    }
}

/* Steps 5 to 7. */
static void end(v_walk *walk, int ranks, int rank)
{
    for (int i = 0; i < rank; i++) {
        input(walk, DOWN);
        input(walk, UP);
    }
    for (int i = 0; i < ranks - rank; i++)
        backward(walk, DOWN);
    while (walk->weights[UP] < walk->inputs[UP])
        weight(walk, UP);
    while (walk->weights[DOWN] < walk->inputs[DOWN])
        weight(walk, DOWN);
}

static void fill(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    const int least = 2 * shape->ranks - 1;
    v_walk walk = {
        .out = out,
        .stage = {schedule_chunk_in_v(shape->ranks, rank, 0),
                  schedule_chunk_in_v(shape->ranks, rank, 1)},
        .microbatches = shape->microbatches,
    };

    begin(&walk, shape->ranks, rank);
    run(&walk, shape->microbatches > least ? shape->microbatches : least);
    end(&walk, shape->ranks, rank);
}

const schedule_kind schedule_zb_v = {
    .chunks = 2,
    .copies = 1,
    .needs = schedule_needs_stages,
    .rank_of = schedule_rank_in_v,
    .chunk_of = schedule_chunk_in_v,
    .pipeline_s = pipeline_s,
    .exact = schedule_never_exact,
    .in_flight = in_flight,
    .has_actions = schedule_has_two_chunks,
    .split_backwards = schedule_all_split,
    .fill = fill,
};
