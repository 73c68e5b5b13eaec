/*
 * schedule_interleaved.c - several chunks per rank, which groups of microbatches visit one by one
 *
 *     p = 2, v = 2, m = 4, groups of 2; rank 0: stages 0 and 2; aFk: F of microbatch k in stage a
 *
 *     0F0 0F1 2F0 2F1 | 0F2 2B0 | 0F3 2B1 | 2F2 0B0 | 2F3 0B1 | 2B2 2B3 0B2 0B3
 *
 * Forwards visit the chunks from first to last, backwards from last to first.
 */
#include "costmodel/schedule/schedule_kind.h"

/* ---- time ----
 *
 * A chain of actions that wait for each other takes at least the sum of its times (C.74). Rank r
 * has a = 2(p-1-r) + (v-1)g visits ahead of its first backward. A chain through it may begin
 *
 *     with F of chunk 0 on the ranks before r, and then all visits of r, or
 *     with F of one microbatch through all chunks, its B back to r, then all but a + 1 F and one B,
 *
 * and may end in the mirrored way. These four chains per rank are exact for equal stages, and for a
 * longer or shorter last chunk; otherwise they are a lower bound.
 */

/* Seconds of the first a + 1 forward visits of a rank, or by symmetry of its last backward ones. */
static double visits_s(double all_s, double first_s, double last_s, int group, int behind)
{
    const int of_last = 2 * behind + 1; // visits after all groups but the last chunk's

    return group * all_s + (of_last - group) * (of_last <= group ? last_s : first_s);
}

/* Sums of times on all ranks, and on the ranks before and after the current one. */
typedef struct chain_ends {
    double forwards_s, backwards_s; /* F and B of all chunks of all ranks */
    double before_s, after_s;       /* F and B of chunk 0 on the ranks before */
    double down_s, up_s;            /* B and F of the last chunk on the ranks after */
} chain_ends;

/* The longest chain through the rank `at` of a run of equal ranks, whose first rank is `first`. */
static double chain_at_s(const plait_pipeline_load *load, const plait_rank_run *run, int first,
                         chain_ends ends, int group, int at)
{
    const int m = load->microbatches, behind = load->ranks - 1 - first - at;
    const bool all_ahead = m == group && 2 * behind + 1 >= group; // all forwards come first
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
 * Along a run of equal ranks the chains change linearly, except where the visits ahead pass a whole
 * group. So the ends of the run and the ranks at that bend are enough.
 */
static double pipeline_s(const plait_pipeline_load *load)
{
    const plait_pipeline_shape shape = {PLAIT_INTERLEAVED, load->ranks, load->chunks,
                                        load->microbatches};
    const int exact_group = plait_schedule_group(&shape); // 0: the shape has no groups
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
 * Rank s runs 2(p - s - 1) + (v - 1) p visits ahead of its first backward, each of 1/v of its
 * layers: Megatron-LM's warm-up count. (C.78)
 */
static double in_flight(const plait_pipeline_shape *shape, int rank)
{
    const double after = shape->ranks - 1.0 - rank;

    return (2.0 * after + (shape->chunks - 1.0) * shape->ranks + 1.0) / shape->chunks;
}

/* Visits to chunk c in part of a round: the first n visits of groups of p, chunk by chunk. */
static int64_t visits_of(int64_t ranks, int chunk, int64_t n)
{
    const int64_t rest = n - chunk * ranks;

    return rest < 0 ? 0 : rest > ranks ? ranks : rest;
}

/*
 * Fills `held` with the forwards of each chunk less its backwards, after j backwards and the next
 * forward. Returns the sum weighted by `weight`.
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
 * C.260: the held microbatches change linearly between visits at which forwards or backwards go on
 * to another chunk. So these visits, over one round of all chunks, are enough to find the maximum.
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

/*
 * The last rank runs (v - 1) p + 1 visits ahead of its first pair, one more than without pairs, so
 * that no pair waits for itself. (C.157)
 */
static double pairs(const plait_pipeline_shape *shape)
{
    return shape->microbatches - ((shape->chunks - 1.0) * shape->ranks + 1.0) / shape->chunks;
}

// ---- lists of actions ----------------------------------------------------------------------

/* The k-th visit of a rank to any of its chunks. */
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
    .pairs = pairs,
    .fill = fill,
};
