/*
 * schedule_zb_h1.c - ZB-H1: 1F1B whose weight gradients fill the bubble, with 1F1B's memory
 *
 * A backward is an input gradient I, which the stage before waits for, and a weight gradient W,
 * which no stage waits for. Each W runs s pairs after its I, so that every rank holds the same
 * number of microbatches: those without I and those that W still needs are p together.
 *
 * Source: Qi et al., "Zero bubble pipeline parallelism", arXiv 2401.10241, 2024.
 */
#include "costmodel/schedule/schedule_kind.h"

/* Stage s runs p - s - 1 forwards ahead, and one more before its first backward. */
static warm_up ahead(int ranks, int rank)
{
    return (warm_up){.first = ranks - rank};
}

static double pipeline_s(const plait_pipeline_load *load)
{
    const split_shape shape = {load->ranks, load->microbatches, false, ahead};

    return schedule_split_bound_s(&shape, load);
}

/* Microbatches without I and those that W still needs are p together, on every rank. (C.77) */
static double in_flight(int ranks, int rank, int chunks, int microbatches)
{
    (void)rank, (void)chunks;
    return smaller(ranks, microbatches);
}

static void fill(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    schedule_fill_in_turn(shape, rank, shape->ranks - 1 - rank, rank, out);
}

const schedule_kind schedule_zb_h1 = {
    .chunks = 1,
    .copies = 1,
    .needs = schedule_needs_stages,
    .rank_of = schedule_rank_in_turn,
    .chunk_of = schedule_chunk_in_turn,
    .pipeline_s = pipeline_s,
    .exact = schedule_never_exact,
    .in_flight = in_flight,
    .has_actions = schedule_is_plain,
    .split_backwards = schedule_all_split,
    .fill = fill,
};
