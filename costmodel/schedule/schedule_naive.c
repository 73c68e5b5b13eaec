/*
 * schedule_naive.c - one microbatch at a time through all stages: model parallelism without
 * pipeline
 *
 *     stage 0   F0 .. .. B0 F1 .. .. B1       p = 2: each device works 1/p of the time
 *     stage 1   .. F0 B0 .. .. F1 B1 ..
 */
#include "costmodel/schedule/schedule_kind.h"

/* Every microbatch passes all stages before the next one enters: m sum_s over the ranks. (C.71) */
static double pipeline_s(const plait_pipeline_load *load)
{
    double sum_s = 0.0;

    for (int i = 0; i < load->runs; i++)
        sum_s += load->run[i].ranks * (load->run[i].all.forward_s + load->run[i].all.backward_s);
    return load->microbatches * sum_s;
}

static double in_flight(int ranks, int rank, int chunks, int microbatches)
{
    (void)ranks, (void)rank, (void)chunks, (void)microbatches;
    return 1.0;
}

static void fill(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    schedule_fill_in_turn(shape, rank, 0, -1, out);
}

const schedule_kind schedule_naive = {
    .alone = true,
    .chunks = 1,
    .copies = 1,
    .needs = schedule_needs_stages,
    .rank_of = schedule_rank_in_turn,
    .chunk_of = schedule_chunk_in_turn,
    .pipeline_s = pipeline_s,
    .exact = schedule_always_exact,
    .in_flight = in_flight,
    .has_actions = schedule_is_plain,
    .fill = fill,
};
