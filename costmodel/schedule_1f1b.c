/*
 * schedule_1f1b.c - one forward, one backward: no more in flight than there are stages to come
 *
 *     stage 0   F0 F1 .. B0 F2 B1 F3 B2 .. B3     p = 2, m = 4, F = B = one slot:
 *     stage 1   .. F0 B0 F1 B1 F2 B2 F3 B3 ..     each stage idles (p-1)(F+B), here two slots
 */
#include "schedule_kind.h"

#include <stddef.h>

/* One stage is a pipeline too: it has nothing to wait for. */
static const char *needs(int ranks, int microbatches)
{
    (void)ranks, (void)microbatches;
    return NULL;
}

/* The same idle time as GPipe's: m max_s + (sum_s - max_s), exact for equal stages. (C.72) */
static double pipeline_s(const plait_pipeline_load *load)
{
    return schedule_steady_s(load) + schedule_others_s(load);
}

/* Stage s runs p - s - 1 forwards ahead of its first backward. (C.77) */
static double in_flight(int ranks, int stage, int chunks, int microbatches)
{
    (void)chunks;
    return smaller(ranks - stage, microbatches);
}

static void fill(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    schedule_fill_in_turn(shape, rank, shape->ranks - 1 - rank, -1, out);
}

const schedule_kind schedule_1f1b = {
    .copies = 1,
    .needs = needs,
    .rank_of = schedule_rank_in_turn,
    .chunk_of = schedule_chunk_in_turn,
    .pipeline_s = pipeline_s,
    .in_flight = in_flight,
    .has_actions = schedule_is_plain,
    .fill = fill,
};
