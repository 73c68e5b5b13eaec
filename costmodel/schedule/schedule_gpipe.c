/*
 * schedule_gpipe.c - all forwards, then all backwards
 *
 *     stage 0   F0 F1 F2 .. .. B0 B1 B2       p = 2, m = 3
 *     stage 1   .. F0 F1 F2 B0 B1 B2 ..
 */
#include "costmodel/schedule/schedule_kind.h"

/*
 * The slowest stage's forward sets the rate of forwards, the slowest backward that of backwards.
 * (C.72)
 */
static double pipeline_s(const plait_pipeline_load *load)
{
    double sum_s = 0.0, forward_s = 0.0, backward_s = 0.0;

    for (int i = 0; i < load->runs; i++) {
        const plait_chunk_time *all = &load->run[i].all;
        sum_s += load->run[i].ranks * (all->forward_s + all->backward_s);
        forward_s = larger(forward_s, all->forward_s);
        backward_s = larger(backward_s, all->backward_s);
    }
    return sum_s + (load->microbatches - 1.0) * (forward_s + backward_s);
}

/* Backwards begin after all forwards, so all microbatches are held at once. (C.77) */
static double in_flight(int ranks, int rank, int chunks, int microbatches)
{
    (void)ranks, (void)rank, (void)chunks;
    return microbatches;
}

static void fill(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    schedule_fill_in_turn(shape, rank, shape->microbatches, -1, out);
}

const schedule_kind schedule_gpipe = {
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
