/*
 * schedule_1f1b.c - one forward, one backward: stage s has at most p - s microbatches in flight
 *
 *     stage 0   F0 F1 .. B0 F2 B1 F3 B2 .. B3     p = 2, m = 4, F = B = one slot:
 *     stage 1   .. F0 B0 F1 B1 F2 B2 F3 B3 ..     each stage idles (p-1)(F+B), here two slots
 */
#include "costmodel/schedule/schedule_kind.h"

#include <math.h>
#include <stddef.h>

/* No requirement: a pipeline of one stage is valid. */
static const char *needs(int ranks, int microbatches)
{
    (void)ranks, (void)microbatches;
    return NULL;
}

/* ---- time: the longest chain of actions that wait for each other ----
 *
 * Stage s runs w = min(p-1-s, m-1) forwards ahead, and then rounds of a forward and a backward. A
 * chain follows microbatches from stage to stage or stays on one stage. In the steady phase a step
 * up costs a round and a step down nothing, so a chain that leaves a stage and comes back never
 * gains. The longest chain therefore has three turns,
 *
 *     from the first F up to stage t, w_t forwards of any stage on the way, and down to stage s:
 *         sum of f + b to t, except b before s, + w_t max f                             (G_t)
 *     m - 2 - w_s rounds of stage s
 *     the same mirrored, up to stage u and down to the last B:
 *         sum of f + b to u, except f before s, + w_u max b                             (H_u)
 *
 * with t, u >= s. If s has one round only (w = m-1), at least one of t and u is s. For equal stages
 * the time is (m+p-1)(f+b). It is exact for any stages; a property test compares it with the
 * simulator. (C.73)
 */

/*
 * Adds chains that turn at the stage `offset` stages after those passed; ranks between are equal.
 */
static void turn_at(plait_chain *walk, int ranks, int microbatches, const plait_chunk_time *all,
                    int offset)
{
    const int behind = ranks - 1 - walk->stages - offset;
    const int most = microbatches - 1;
    const int ahead = behind < most ? behind : most;
    const double round_s = all->forward_s + all->backward_s;
    const double before_s = walk->both_s + offset * round_s;
    const double rounds_s = (microbatches - 2.0 - ahead) * round_s - before_s;
    const double there_s = before_s + round_s + ahead * larger(walk->forward_s, all->forward_s);
    const double back_s = before_s + round_s + ahead * larger(walk->backward_s, all->backward_s);

    if (ahead < most)
        walk->rounds_s = larger(walk->rounds_s, rounds_s);
    walk->with_there_s = larger(walk->with_there_s, larger(walk->rounds_s, rounds_s) + there_s);
    walk->with_back_s = larger(walk->with_back_s, larger(walk->rounds_s, rounds_s) + back_s);
    walk->whole_s =
        larger(walk->whole_s, larger(walk->with_there_s + back_s, walk->with_back_s + there_s));
}

/*
 * Along equal stages the sums change linearly, except where w reaches m - 1. So the first and the
 * last stage of a run and the two stages at that bend are enough.
 */
static void turn_along(plait_chain *walk, const plait_pipeline_load *load,
                       const plait_rank_run *run)
{
    const int end = run->ranks - 1;
    const int bend = load->ranks - load->microbatches - walk->stages; // last stage with one round

    turn_at(walk, load->ranks, load->microbatches, &run->all, 0);
    if (bend > 0 && bend < end)
        turn_at(walk, load->ranks, load->microbatches, &run->all, bend);
    if (bend + 1 > 0 && bend + 1 < end)
        turn_at(walk, load->ranks, load->microbatches, &run->all, bend + 1);
    if (end > 0)
        turn_at(walk, load->ranks, load->microbatches, &run->all, end);
}

static void leave_behind(plait_chain *walk, const plait_chunk_time *all, int stages)
{
    walk->stages += stages;
    walk->both_s += stages * (all->forward_s + all->backward_s);
    walk->forward_s = larger(walk->forward_s, all->forward_s);
    walk->backward_s = larger(walk->backward_s, all->backward_s);
}

plait_chain plait_chain_begin(void)
{
    return (plait_chain){
        .rounds_s = -HUGE_VAL, .with_there_s = -HUGE_VAL, .with_back_s = -HUGE_VAL};
}

void plait_chain_pass(plait_chain *chain, int ranks, int microbatches, plait_chunk_time stage)
{
    turn_at(chain, ranks, microbatches, &stage, 0);
    leave_behind(chain, &stage, 1);
}

static double pipeline_s(const plait_pipeline_load *load)
{
    const plait_chunk_time *only = &load->run[0].all;

    if (load->ranks == 1) // without rounding errors of the chain
        return load->microbatches * (only->forward_s + only->backward_s);
    plait_chain walk = plait_chain_begin();

    for (int i = 0; i < load->runs; i++) {
        turn_along(&walk, load, &load->run[i]);
        leave_behind(&walk, &load->run[i].all, load->run[i].ranks);
    }
    return walk.whole_s;
}

/* Stage s runs p - s - 1 forwards ahead of its first backward. (C.77) */
static double in_flight(int ranks, int rank, int chunks, int microbatches)
{
    (void)chunks;
    return smaller(ranks - rank, microbatches);
}

/* With several stages too few forwards are ahead to pair two different microbatches. (C.157) */
static double pairs(int ranks, int chunks, int microbatches)
{
    (void)chunks;
    return ranks == 1 ? microbatches - 1.0 : 0.0;
}

static void fill(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    schedule_fill_in_turn(shape, rank, shape->ranks - 1 - rank, -1, out);
}

const schedule_kind schedule_1f1b = {
    .chunks = 1,
    .copies = 1,
    .needs = needs,
    .rank_of = schedule_rank_in_turn,
    .chunk_of = schedule_chunk_in_turn,
    .pipeline_s = pipeline_s,
    .exact = schedule_always_exact,
    .in_flight = in_flight,
    .pairs = pairs,
    .has_actions = schedule_is_plain,
    .fill = fill,
};
