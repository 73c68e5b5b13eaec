/*
 * schedule_zb_h1.c - ZB-H1: 1F1B whose weight gradients fill the bubble, with 1F1B's memory
 *
 * A backward is an input gradient I, which the stage before waits for, and a weight gradient W,
 * which nobody does. Each W waits s pairs, so that every rank holds as much: what has passed
 * forward only and what W still needs are p microbatches together.
 *
 * Source: Qi et al., "Zero bubble pipeline parallelism", arXiv 2401.10241, 2024.
 */
#include "schedule_kind.h"

/* While the pipeline drains, p - 1 hops wait for I instead of B, twice a W less each. (C.74) */
static double pipeline_s(const plait_pipeline_load *load)
{
    const double hops = load->stages - 1.0;

    return schedule_steady_s(load) +
           larger(0.0, schedule_others_s(load) - 2.0 * hops * load->least_w_s);
}

/* As 1F1B; its peak over all ranks is that of the first, p M_B. (C.77) */
static double in_flight(int ranks, int stage, int chunks, int microbatches)
{
    (void)chunks;
    return smaller(ranks - stage, microbatches);
}

static void fill(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    schedule_fill_in_turn(shape, rank, shape->ranks - 1 - rank, rank, out);
}

const schedule_kind schedule_zb_h1 = {
    .copies = 1,
    .needs = schedule_needs_stages,
    .rank_of = schedule_rank_in_turn,
    .chunk_of = schedule_chunk_in_turn,
    .pipeline_s = pipeline_s,
    .in_flight = in_flight,
    .has_actions = schedule_is_plain,
    .split_backwards = schedule_all_split,
    .fill = fill,
};
