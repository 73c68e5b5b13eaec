/*
 * schedule_zb_h2.c - ZB-H2: twice as many forwards ahead, so that no bubble is left to fill
 *
 * Each W runs 2 s pairs after its I. Ranks hold at most 2p - 1 microbatches, including those that W
 * still needs.
 *
 * Source: Qi et al., "Zero bubble pipeline parallelism", arXiv 2401.10241, 2024.
 */
#include "costmodel/schedule/schedule_kind.h"

/* Stage s runs 2(p - s - 1) forwards ahead, and one more before its first backward. */
static warm_up ahead(int ranks, int rank)
{
    return (warm_up){.first = 2.0 * (ranks - 1 - rank) + 1.0};
}

static double pipeline_s(const plait_pipeline_load *load)
{
    const split_shape shape = {load->ranks, load->microbatches, false, ahead};

    return schedule_split_bound_s(&shape, load);
}

/* 2(p - s) - 1 microbatches without I, and 2 s that W still needs. (C.77) */
static double in_flight(int ranks, int rank, int chunks, int microbatches)
{
    (void)rank, (void)chunks;
    return smaller(2.0 * ranks - 1.0, microbatches);
}

static void fill(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    schedule_fill_in_turn(shape, rank, 2 * (shape->ranks - 1 - rank), 2 * rank, out);
}

const schedule_kind schedule_zb_h2 = {
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
