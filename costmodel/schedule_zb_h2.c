/*
 * schedule_zb_h2.c - ZB-H2: twice as many forwards ahead, so that no bubble is left to fill
 *
 * Each W waits 2 s pairs; ranks hold 2p - 1 microbatches at most, with what W still needs.
 *
 * Source: Qi et al., "Zero bubble pipeline parallelism", arXiv 2401.10241, 2024.
 */
#include "schedule_kind.h"

/* A third W a hop fills what ZB-H1 leaves. (C.75) */
static double pipeline_s(const plait_pipeline_load *load)
{
    const double hops = load->stages - 1.0;

    return schedule_steady_s(load) +
           larger(0.0, schedule_others_s(load) - 3.0 * hops * load->least_w_s);
}

/* Stage s runs 2(p - s - 1) forwards ahead. (C.77) */
static double in_flight(int ranks, int stage, int chunks, int microbatches)
{
    (void)chunks;
    return smaller(2.0 * (ranks - 1.0 - stage) + 1.0, microbatches);
}

static void fill(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    schedule_fill_in_turn(shape, rank, 2 * (shape->ranks - 1 - rank), 2 * rank, out);
}

const schedule_kind schedule_zb_h2 = {
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
