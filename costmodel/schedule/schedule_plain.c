/*
 * schedule_plain.c - schedules with one chunk per rank: naive, gpipe, 1f1b, zb-h1 and zb-h2
 *
 * Each rank first runs `ahead` forwards, then rounds of a forward and a backward. Round k has the
 * forward of microbatch k + ahead and the backward of microbatch k. ZB-H1 and ZB-H2 split a
 * backward into an input gradient I, which the stage before waits for, and a weight gradient W,
 * which no stage waits for and which fills the bubble: W of microbatch k - lag follows round k. On
 * stage s:
 *
 *     p = 4, m = 6        ahead  lag of W      rank 1
 *     naive                 0                  F0 B0 F1 B1 ..
 *     gpipe                 m                  F0 F1 .. F5 B0 B1 .. B5
 *     1f1b               p-s-1                 F0 F1 | F2 B0 | F3 B1 | .. B4 B5
 *     zb-h1              p-s-1     s           F0 F1 | F2 I0 | F3 I1 W0 | F4 I2 W1 | ..
 *     zb-h2             2(p-s-1)   2s          F0 .. F3 | F4 I0 | F5 I1 | I2 W0 | ..
 *
 * Source of zb-h1 and zb-h2: Qi et al., "Zero bubble pipeline parallelism", arXiv 2401.10241, 2024.
 */
#include "costmodel/schedule/schedule_kind.h"

#include <math.h>
#include <stddef.h>

static void fill(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    const int m = shape->microbatches, after = shape->ranks - 1 - rank;
    const bool split = shape->schedule == PLAIT_ZB_H1 || shape->schedule == PLAIT_ZB_H2;
    const int lag = shape->schedule == PLAIT_ZB_H2 ? 2 * rank : rank;
    const int ahead = shape->schedule == PLAIT_NAIVE   ? 0
                      : shape->schedule == PLAIT_GPIPE ? m
                      : shape->schedule == PLAIT_ZB_H2 ? 2 * after
                                                       : after;

    for (int k = 0; k < ahead && k < m; k++)
        action_append(out, PLAIT_ACTION_FORWARD, rank, k);
    for (int k = 0; k < m; k++) {
        if (ahead < m - k)
            action_append(out, PLAIT_ACTION_FORWARD, rank, ahead + k);
        action_append(out, split ? PLAIT_ACTION_INPUT : PLAIT_ACTION_BACKWARD, rank, k);
        if (split && k >= lag)
            action_append(out, PLAIT_ACTION_WEIGHT, rank, k - lag);
    }
    for (int k = m > lag ? m - lag : 0; split && k < m; k++)
        action_append(out, PLAIT_ACTION_WEIGHT, rank, k);
}

/*
 * C.77. In gpipe the backwards begin after all forwards, so a stage keeps all m microbatches. In
 * 1f1b stage s keeps p - s: it runs p - s - 1 forwards before its first round. In zb-h1 p - s
 * microbatches wait for I and s more for W, p on every stage. In zb-h2 2(p - s) - 1 wait for I and
 * 2 s for W, 2p - 1 on every stage.
 */
static double in_flight(const plait_pipeline_shape *shape, int rank)
{
    switch (shape->schedule) {
    case PLAIT_GPIPE:
        return shape->microbatches;
    case PLAIT_1F1B:
        return shape->ranks - rank;
    case PLAIT_ZB_H1:
        return shape->ranks;
    case PLAIT_ZB_H2:
        return 2.0 * shape->ranks - 1.0;
    default: // naive
        return 1.0;
    }
}

/* ---- naive: model parallelism without a pipeline ----
 *
 *     stage 0   F0 .. .. B0 F1 .. .. B1       p = 2: each device works 1/p of the time
 *     stage 1   .. F0 B0 .. .. F1 B1 ..
 */

/*
 * Each microbatch passes all stages before the next one enters, so the time is m times the sum of
 * F and B over all stages. (C.71)
 */
static double naive_pipeline_s(const plait_pipeline_load *load)
{
    double sum_s = 0.0;

    for (int i = 0; i < load->runs; i++)
        sum_s += load->run[i].ranks * (load->run[i].all.forward_s + load->run[i].all.backward_s);
    return load->microbatches * sum_s;
}

const schedule_kind schedule_naive = {
    .chunks = 1,
    .copies = 1,
    .alone = true,
    .pipeline_s = naive_pipeline_s,
    .in_flight = in_flight,
    .fill = fill,
};

/* ---- gpipe: all forwards, then all backwards ----
 *
 *     stage 0   F0 F1 F2 .. .. B0 B1 B2       p = 2, m = 3
 *     stage 1   .. F0 F1 F2 B0 B1 B2 ..
 */

/*
 * The longest F of any stage sets the pace of all forwards, and the longest B that of all
 * backwards. (C.72)
 */
static double gpipe_pipeline_s(const plait_pipeline_load *load)
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

const schedule_kind schedule_gpipe = {
    .chunks = 1,
    .copies = 1,
    .pipeline_s = gpipe_pipeline_s,
    .in_flight = in_flight,
    .fill = fill,
};

/* ---- 1f1b: stage s has at most p - s microbatches in flight ----
 *
 *     stage 0   F0 F1 .. B0 F2 B1 F3 B2 .. B3     p = 2, m = 4, F = B = one slot:
 *     stage 1   .. F0 B0 F1 B1 F2 B2 F3 B3 ..     each stage idles (p-1)(F+B), here two slots
 *
 * The time is that of the longest chain of actions in which each waits for the one before it. Stage
 * s runs w_s = min(p-1-s, m-1) forwards ahead, and then rounds of a forward and a backward; f and b
 * are the times of F and B. A chain either follows a microbatch to the next stage or stays on its
 * stage. In the steady phase a move to the stage after costs the chain one round, and the move back
 * costs nothing. So a chain that leaves a stage and comes back is never longer than one that stays.
 * The longest chain therefore turns at three stages t, s and u, with t, u >= s:
 *
 *     from the first F up to stage t, w_t forwards of any stage on the way, and down to stage s:
 *         sum of f + b to t, except b before s, + w_t max f                             (G_t)
 *     m - 2 - w_s rounds of stage s
 *     the mirror image of the first part, up to stage u and down to the last B:
 *         sum of f + b to u, except f before s, + w_u max b                             (H_u)
 *
 * If s has only one round (w_s = m-1), at least one of t and u is s. For equal stages the time is
 * (m+p-1)(f+b). It is exact for any stages; a property test compares it with the simulator. (C.73)
 */

/*
 * Adds the chains that turn at one stage. The `offset` stages between those that the walk has
 * passed and this one are equal to it.
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

static void add_stages(plait_chain *walk, const plait_chunk_time *all, int stages)
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
    add_stages(chain, &stage, 1);
}

/*
 * Over neighbouring equal stages the times of the chains change linearly, with one bend at the
 * stage from which w < m - 1. So only the first and the last of these stages and the two at the
 * bend can have the longest chain.
 */
static double chain_pipeline_s(const plait_pipeline_load *load)
{
    const plait_chunk_time *only = &load->run[0].all;
    const int m = load->microbatches;

    if (load->ranks == 1) // avoids the rounding errors of the chain
        return m * (only->forward_s + only->backward_s);
    plait_chain walk = plait_chain_begin();

    for (int i = 0; i < load->runs; i++) {
        const plait_rank_run *run = &load->run[i];
        const int end = run->ranks - 1;
        const int bend = load->ranks - m - walk.stages; // last stage with only one round

        turn_at(&walk, load->ranks, m, &run->all, 0);
        for (int at = bend; at <= bend + 1; at++)
            if (at > 0 && at < end)
                turn_at(&walk, load->ranks, m, &run->all, at);
        if (end > 0)
            turn_at(&walk, load->ranks, m, &run->all, end);
        add_stages(&walk, &run->all, run->ranks);
    }
    return walk.whole_s;
}

/*
 * With several stages 1f1b runs too few forwards ahead to pair a forward and a backward of
 * different microbatches. (C.157)
 */
static double pairs(const plait_pipeline_shape *shape)
{
    return shape->ranks == 1 ? shape->microbatches - 1.0 : 0.0;
}

const schedule_kind schedule_1f1b = {
    .chunks = 1,
    .copies = 1,
    .one_rank = true,
    .pipeline_s = chain_pipeline_s,
    .in_flight = in_flight,
    .pairs = pairs,
    .fill = fill,
};

// ---- zb-h1, zb-h2: variants of 1f1b in which weight gradients fill the bubble --------------

/*
 * In zb-h1 stage s runs p - s - 1 forwards ahead, as in 1f1b, and one more before its first I. In
 * zb-h2 it runs 2(p - s - 1) ahead, so that with enough microbatches no bubble is left.
 */
static warm_up split_ahead(const plait_pipeline_shape *shape, int rank)
{
    const double after = shape->ranks - 1 - rank;

    return (warm_up){.first = (shape->schedule == PLAIT_ZB_H2 ? 2.0 : 1.0) * after + 1.0};
}

const schedule_kind schedule_zb_h1 = {
    .chunks = 1,
    .copies = 1,
    .all_split = true,
    .ahead = split_ahead,
    .in_flight = in_flight,
    .fill = fill,
};

const schedule_kind schedule_zb_h2 = {
    .chunks = 1,
    .copies = 1,
    .all_split = true,
    .ahead = split_ahead,
    .in_flight = in_flight,
    .fill = fill,
};
