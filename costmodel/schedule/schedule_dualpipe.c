/*
 * schedule_dualpipe.c - DualPipe: microbatches enter at both ends and meet
 *
 * Rank r has stage r for microbatches that enter at rank 0, and stage p-1-r for those that enter at
 * the last rank: two copies of the model. schedule_dual.c has the order.
 *
 * Source: DeepSeek-AI, "DeepSeek-V3 technical report", arXiv 2412.19437, 2024;
 * deepseek-ai/DualPipe.
 */
#include "costmodel/schedule/schedule_kind.h"

#include <stddef.h>

/* Half of the microbatches enter at each end, and they meet between two middle ranks. */
static const char *needs(int ranks, int microbatches)
{
    return ranks % 2 == 0 && microbatches % 2 == 0 && microbatches >= 2 * ranks
               ? NULL
               : "an even pp and an even number of microbatches, at least 2 pp";
}

/* Both halves of the pipeline take the same time: each is a V of p/2 ranks and m/2 microbatches. */
static double pipeline_s(const plait_pipeline_load *load)
{
    const split_shape half = {load->ranks / 2, load->microbatches / 2, true, schedule_dual_ahead};

    return schedule_split_bound_s(&half, load);
}

/* Microbatches of both directions together. (C.79) */
static double in_flight(int ranks, int rank, int chunks, int microbatches)
{
    (void)rank, (void)chunks;
    return smaller(ranks + 1.0, microbatches);
}

/*
 * An end rank runs m - 3p/2 + 1 pairs in steps 4 and 5, and waits for p/2 - 1 pairs of the ranks on
 * the way to the middle. (C.157)
 */
static double pairs(int ranks, int chunks, int microbatches)
{
    (void)chunks;
    return (double)microbatches - ranks;
}

// ---- lists of actions ----------------------------------------------------------------------

static bool has_actions(const plait_pipeline_shape *shape)
{
    return shape->chunks == 1 && needs(shape->ranks, shape->microbatches) == NULL;
}

static dual_rank rank_of(const plait_pipeline_shape *shape, int rank)
{
    const int mirrored = shape->ranks - 1 - rank;
    const int half = shape->microbatches / 2;
    const bool upper = rank < mirrored;
    const int near = upper ? rank : mirrored;

    return (dual_rank){
        .stage = {near, shape->ranks - 1 - near},
        .first = {upper ? 0 : half, upper ? half : 0},
        .microbatches = half,
        .inward = shape->ranks / 2 - 1 - near,
        .outward = near + 1,
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

const schedule_kind schedule_dualpipe = {
    .chunks = 1,
    .copies = 2,
    .needs = needs,
    .rank_of = schedule_rank_in_turn,
    .chunk_of = schedule_chunk_in_turn,
    .pipeline_s = pipeline_s,
    .exact = schedule_never_exact,
    .in_flight = in_flight,
    .pairs = pairs,
    .has_actions = has_actions,
    .split_backwards = split_backwards,
    .fill = fill,
};
