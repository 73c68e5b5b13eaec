/*
 * schedule_gpipe.c - all forwards, then all backwards
 *
 *     stage 0   F0 F1 F2 .. .. B0 B1 B2       p = 2, m = 3
 *     stage 1   .. F0 F1 F2 B0 B1 B2 ..
 */
#include "schedule_kind.h"

/* The slowest stage is busy for m microbatches; one of them passes the others too. (C.72) */
static double pipeline_s(const plait_pipeline_load *load)
{
    return schedule_steady_s(load) + schedule_others_s(load);
}

/* Backwards begin when all forwards are done: everything is held at once. (C.77) */
static double in_flight(int ranks, int stage, int chunks, int microbatches)
{
    (void)ranks, (void)stage, (void)chunks;
    return microbatches;
}

static void fill(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    schedule_fill_in_turn(shape, rank, shape->microbatches, -1, out);
}

const schedule_kind schedule_gpipe = {
    .copies = 1,
    .needs = schedule_needs_stages,
    .rank_of = schedule_rank_in_turn,
    .chunk_of = schedule_chunk_in_turn,
    .pipeline_s = pipeline_s,
    .in_flight = in_flight,
    .has_actions = schedule_is_plain,
    .fill = fill,
};
