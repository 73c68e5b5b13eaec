/*
 * schedule_dualpipe_v.c - DualPipeV: DualPipe folded in the middle, one copy of the parameters
 *
 * Rank r has chunk r on the way down and chunk 2p-1-r on the way up. Their microbatches are the
 * near and the far microbatches of DualPipe's steps (schedule_dual.c).
 *
 * Source: deepseek-ai/DualPipe, README.
 */
#include "costmodel/schedule/schedule_kind.h"

#include <stddef.h>

static const char *needs(int ranks, int microbatches)
{
    return ranks > 1 && microbatches >= 2 * ranks ? NULL : "pp > 1 and at least 2 pp microbatches";
}

static double pipeline_s(const plait_pipeline_load *load)
{
    const split_shape shape = {load->ranks, load->microbatches, true, schedule_dual_ahead};

    return schedule_split_bound_s(&shape, load);
}

/* A rank has 2p + 1 chunks in flight, each half of its layers. (C.79) */
static double in_flight(int ranks, int rank, int chunks, int microbatches)
{
    (void)rank, (void)chunks;
    return smaller(ranks + 0.5, microbatches);
}

static bool has_actions(const plait_pipeline_shape *shape)
{
    return shape->chunks == 2 && needs(shape->ranks, shape->microbatches) == NULL;
}

static dual_rank rank_of(const plait_pipeline_shape *shape, int rank)
{
    return (dual_rank){
        .stage = {rank, 2 * shape->ranks - 1 - rank},
        .microbatches = shape->microbatches,
        .inward = shape->ranks - 1 - rank,
        .outward = rank + 1,
    };
}

static int64_t split_backwards(const plait_pipeline_shape *shape, int rank)
{
    const dual_rank dual = rank_of(shape, rank);

    return schedule_dual_split_backwards(&dual);
}

static void fill(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    const dual_rank dual = rank_of(shape, rank);

    schedule_fill_dual(&dual, out);
}

const schedule_kind schedule_dualpipe_v = {
    .chunks = 2,
    .copies = 1,
    .needs = needs,
    .rank_of = schedule_rank_in_v,
    .chunk_of = schedule_chunk_in_v,
    .pipeline_s = pipeline_s,
    .exact = schedule_never_exact,
    .in_flight = in_flight,
    .has_actions = has_actions,
    .split_backwards = split_backwards,
    .fill = fill,
};
