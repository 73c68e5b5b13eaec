/*
 * schedule_interleaved.c - interleaved 1F1B: each group of g microbatches visits the chunks of a
 * rank one after the other
 *
 *     p = 2, v = 2, m = 4, groups of 2; rank 0: stages 0 and 2; aFk: F of microbatch k in stage a
 *
 *     0F0 0F1 2F0 2F1 | 0F2 2B0 | 0F3 2B1 | 2F2 0B0 | 2F3 0B1 | 2B2 2B3 0B2 0B3
 *
 * Forwards visit the chunks from first to last, backwards from last to first. A visit is one
 * microbatch in one chunk.
 */
#include "costmodel/schedule/schedule_kind.h"

/* ---- time ----
 *
 * In a chain each action waits for the one before it, so the pipeline takes at least as long as the
 * actions of the chain together (C.74). Rank r runs a = 2(p-1-r) + (v-1)g forward visits before its
 * first round of a forward and a backward. A chain through rank r may begin
 *
 *     with F of chunk 0 on the ranks before r, and then all visits of r, or
 *     with F of one microbatch through all chunks, its B back to r, and then all visits of r
 *     except a + 1 F and one B,
 *
 * and may end with the mirror image of either. The longest of these four chains over all ranks is
 * the exact time for equal stages, also with a longer or shorter last chunk; for other stages it is
 * a lower bound.
 */

/*
 * Seconds of the first a + 1 forward visits of a rank, which has `behind` ranks after it. By
 * symmetry also those of its last a + 1 backward visits.
 */
static double visits_s(double all_s, double first_s, double last_s, int group, int behind)
{
    const int of_last = 2 * behind + 1; // a + 1 - (v - 1) g

    return group * all_s + (of_last - group) * (of_last <= group ? last_s : first_s);
}

/* Sums of times on all ranks, and on the ranks before and after the current one. */
typedef struct chain_ends {
    double forwards_s, backwards_s; /* F and B of all chunks of all ranks */
    double before_s, after_s;       /* F and B of chunk 0 on the ranks before the current one */
    double down_s, up_s; /* B and F of the last chunk on the ranks after the current one */
} chain_ends;

/*
 * The longest chain through rank first + at. `run` has equal ranks from rank `first` on, for which
 * `ends` is filled.
 */
static double chain_at_s(const plait_pipeline_load *load, const plait_rank_run *run, int first,
                         chain_ends ends, int group, int at)
{
    const int m = load->microbatches, behind = load->ranks - 1 - first - at;
    const bool all_ahead = m == group && 2 * behind + 1 >= group; // all F run before the first B
    const double forward_s = all_ahead ? m * run->all.forward_s
                                       : visits_s(run->all.forward_s, run->first.forward_s,
                                                  run->last.forward_s, group, behind);
    const double backward_s = all_ahead ? m * run->all.backward_s
                                        : visits_s(run->all.backward_s, run->first.backward_s,
                                                   run->last.backward_s, group, behind);

    ends.before_s += at * run->first.forward_s;
    ends.after_s += at * run->first.backward_s;
    ends.up_s -= (at + 1) * run->last.forward_s;
    ends.down_s -= (at + 1) * run->last.backward_s;
    const double through_s = ends.forwards_s + ends.down_s - forward_s;
    const double back_s = ends.backwards_s + ends.up_s - backward_s;
    const double work_s = m * (run->all.forward_s + run->all.backward_s);
    const double one_s = larger(through_s + ends.after_s, ends.before_s + back_s);

    return work_s + larger(larger(ends.before_s + ends.after_s, one_s),
                           all_ahead ? 0.0 : through_s + back_s);
}

/*
 * Over neighbouring equal ranks the chains change linearly, with one bend at the rank from which
 * the visits ahead exceed a whole group. So only the first and the last of these ranks and the two
 * at the bend can have the longest chain.
 */
static double pipeline_s(const plait_pipeline_load *load)
{
    const plait_pipeline_shape shape = {PLAIT_INTERLEAVED, load->ranks, load->chunks,
                                        load->microbatches};
    const int exact_group = plait_schedule_group(&shape); // 0: m has no equal groups
    const int group = exact_group > 0 ? exact_group : load->ranks;
    chain_ends ends = {0};
    double s = 0.0;

    for (int i = 0; i < load->runs; i++) {
        const plait_rank_run *run = &load->run[i];
        ends.forwards_s += run->ranks * run->all.forward_s;
        ends.backwards_s += run->ranks * run->all.backward_s;
        ends.up_s += run->ranks * run->last.forward_s;
        ends.down_s += run->ranks * run->last.backward_s;
    }
    for (int i = 0, first = 0; i < load->runs; first += load->run[i++].ranks) {
        const plait_rank_run *run = &load->run[i];
        const int final = run->ranks - 1;
        const int bend = load->ranks - 1 - (group - 1) / 2 - first;

        s = larger(s, chain_at_s(load, run, first, ends, group, 0));
        for (int at = bend - 1; at <= bend; at++)
            if (at > 0 && at < final)
                s = larger(s, chain_at_s(load, run, first, ends, group, at));
        if (final > 0)
            s = larger(s, chain_at_s(load, run, first, ends, group, final));
        ends.before_s += run->ranks * run->first.forward_s;
        ends.after_s += run->ranks * run->first.backward_s;
        ends.up_s -= run->ranks * run->last.forward_s;
        ends.down_s -= run->ranks * run->last.backward_s;
    }
    return s;
}

/* The time is exact for equal ranks with equal chunks, in groups of p microbatches. */
static bool exact(const plait_pipeline_load *load)
{
    const plait_rank_run *run = &load->run[0];

    return load->runs == 1 && !load->unlike && load->microbatches % load->ranks == 0 &&
           run->first.forward_s == run->last.forward_s &&
           run->first.backward_s == run->last.backward_s &&
           (load->chunks == 2 || load->chunks * run->first.forward_s == run->all.forward_s);
}

/*
 * Rank s runs 2(p - s - 1) + (v - 1) p forward visits before its first round (Megatron-LM's warm-up
 * count), and one more in that round. Each visit keeps activations of 1/v of the rank's layers.
 * (C.78)
 */
static double in_flight(const plait_pipeline_shape *shape, int rank)
{
    const double after = shape->ranks - 1.0 - rank;

    return (2.0 * after + (shape->chunks - 1.0) * shape->ranks + 1.0) / shape->chunks;
}

/*
 * Number of visits to a chunk among the first n visits of a round, in which p microbatches visit
 * one chunk after the other.
 */
static int64_t visits_of(int64_t ranks, int chunk, int64_t n)
{
    const int64_t rest = n - chunk * ranks;

    return rest < 0 ? 0 : rest > ranks ? ranks : rest;
}

/*
 * Fills `held` with the microbatches in flight of each chunk after j backward visits and the
 * forward visit that follows. Returns their sum weighted by `weight`.
 */
static double in_flight_after(const plait_pipeline_shape *shape, int64_t ahead, int64_t j,
                              const double *weight, double *held)
{
    const int chunks = shape->chunks;
    const int64_t ranks = shape->ranks, round = ranks * chunks;
    const int64_t visits = (int64_t)chunks * shape->microbatches;
    const int64_t forwards = ahead + 1 + j < visits ? ahead + 1 + j : visits;
    const int64_t whole = (forwards / round - j / round) * ranks;
    const int64_t forwards_left = forwards % round, backwards_left = j % round;
    double sum = 0.0;

    for (int c = 0; c < chunks; c++) {
        held[c] = (double)(whole + visits_of(ranks, c, forwards_left) -
                           visits_of(ranks, chunks - 1 - c, backwards_left));
        sum += weight[c] * held[c];
    }
    return sum;
}

/*
 * C.260. The weighted sum of microbatches in flight changes linearly while forwards stay in one
 * chunk and backwards in another. So its maximum is at a visit at which either of them changes the
 * chunk, within one round of all chunks.
 */
static void in_flight_chunks(const plait_pipeline_shape *shape, int rank, const double *weight,
                             double *out)
{
    const int64_t ranks = shape->ranks;
    const int64_t ahead = 2 * (ranks - 1 - rank) + (shape->chunks - 1) * ranks;
    double most = -1.0;
    int64_t most_at = 0;

    for (int turn = 0; turn < 2 * shape->chunks; turn++) {
        const int64_t first = turn % 2 == 0 ? 0 : (ranks - (ahead + 1) % ranks) % ranks;
        const int64_t j = first + turn / 2 * ranks;
        const double sum = j < (int64_t)shape->chunks * shape->microbatches
                               ? in_flight_after(shape, ahead, j, weight, out)
                               : -1.0;
        if (sum > most) {
            most = sum;
            most_at = j;
        }
    }
    in_flight_after(shape, ahead, most_at, weight, out);
}

/* At the end of the warm-up the last chunk has fewest microbatches. (C.451) */
static double least_in_flight(int ranks, int rank, int microbatches)
{
    const int last = 2 * (ranks - rank) - 1;

    return microbatches < ranks ? 1.0 : last < ranks ? last : ranks;
}

/*
 * The last rank runs (v - 1) p + 1 forward visits before its first pair, one more than without
 * pairs, so that the B of a pair does not depend on its F. (C.157)
 */
static double pairs(const plait_pipeline_shape *shape)
{
    return shape->microbatches - ((shape->chunks - 1.0) * shape->ranks + 1.0) / shape->chunks;
}

// ---- lists of actions ----------------------------------------------------------------------

/* Appends the k-th visit of a rank, counted over all its chunks. */
static void append_visit(const plait_pipeline_shape *shape, int rank, int group,
                         plait_action_kind kind, int k, action_list *out)
{
    const int round = k / (group * shape->chunks);
    const int inside = k % (group * shape->chunks);
    const int chunk =
        kind == PLAIT_ACTION_FORWARD ? inside / group : shape->chunks - 1 - inside / group;

    action_append(out, kind, chunk * shape->ranks + rank, round * group + inside % group);
}

static void fill(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    const int group = plait_schedule_group(shape);
    const int visits = shape->chunks * shape->microbatches;
    const int ahead = 2 * (shape->ranks - 1 - rank) + (shape->chunks - 1) * group;

    for (int k = 0; k < ahead && k < visits; k++)
        append_visit(shape, rank, group, PLAIT_ACTION_FORWARD, k, out);
    for (int k = 0; k < visits; k++) {
        if (ahead < visits - k)
            append_visit(shape, rank, group, PLAIT_ACTION_FORWARD, ahead + k, out);
        append_visit(shape, rank, group, PLAIT_ACTION_BACKWARD, k, out);
    }
}

const schedule_kind schedule_interleaved = {
    .chunks = PLAIT_SEVERAL_CHUNKS,
    .copies = 1,
    .pipeline_s = pipeline_s,
    .exact = exact,
    .in_flight = in_flight,
    .in_flight_chunks = in_flight_chunks,
    .least_in_flight = least_in_flight,
    .pairs = pairs,
    .fill = fill,
};
