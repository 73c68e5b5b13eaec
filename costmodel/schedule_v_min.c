/*
 * schedule_v_min.c - V-Min: a third of 1F1B's activations, two thirds of its bubble
 *
 * Every step takes one slot, the least there is. Where p divides by three, gaps of one would have two
 * actions meet.
 *
 * Source: Qi et al., arXiv 2405.15362, 2024.
 */
#include "schedule_kind.h"

static slot_pattern pattern_of(int ranks)
{
    return ranks % 3 == 0 ? (slot_pattern){1, 1, 1, 1, .turn = 3, .loss = 1, .back_turn = 3}
                          : (slot_pattern){1, 1, 1, 1, .turn = 1, .loss = 1, .back_turn = 1};
}

static warm_up ahead(int ranks, int rank)
{
    const slot_pattern pattern = pattern_of(ranks);

    return schedule_pattern_ahead(&pattern, ranks, rank);
}

static double pipeline_s(const plait_pipeline_load *load)
{
    const split_shape shape = {load->ranks, load->microbatches, true, ahead};

    return schedule_split_bound_s(&shape, load);
}

static double in_flight(int ranks, int rank, int chunks, int microbatches)
{
    const slot_pattern pattern = pattern_of(ranks);

    (void)chunks;
    return schedule_pattern_in_flight(&pattern, ranks, rank, microbatches);
}

static void fill(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    const slot_pattern pattern = pattern_of(shape->ranks);

    schedule_fill_pattern(&pattern, shape, rank, out);
}

const schedule_kind schedule_v_min = {
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
