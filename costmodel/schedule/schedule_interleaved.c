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

static double rank_chain_s(const plait_pipeline_load *load, const plait_rank_run *run,
                           const chain_ends *ends, int group, int behind)
{
    const int m = load->microbatches;
    const bool all_ahead = m == group && 2 * behind + 1 >= group; // all forwards come first
    const double forward_s = all_ahead ? m * run->all.forward_s
                                       : visits_s(run->all.forward_s, run->first.forward_s,
                                                  run->last.forward_s, group, behind);
    const double backward_s = all_ahead ? m * run->all.backward_s
                                        : visits_s(run->all.backward_s, run->first.backward_s,
                                                   run->last.backward_s, group, behind);
    const double through_s = ends->forwards_s + ends->down_s - forward_s;
    const double back_s = ends->backwards_s + ends->up_s - backward_s;
    const double work_s = m * (run->all.forward_s + run->all.backward_s);
    const double one_s = larger(through_s + ends->after_s, ends->before_s + back_s);

    return work_s + larger(larger(ends->before_s + ends->after_s, one_s),
                           all_ahead ? 0.0 : through_s + back_s);
}

/* Microbatches of a group; p if the shape has no group. */
static int group_of(const plait_pipeline_load *load)
{
    const plait_pipeline_shape shape = {PLAIT_INTERLEAVED, load->ranks, load->chunks,
                                        load->microbatches};
    const int group = plait_schedule_group(&shape);

    return group > 0 ? group : load->ranks;
}

/* The longest chain through the rank `at` of a run of equal ranks. */
static double chain_at_s(const plait_pipeline_load *load, const plait_rank_run *run, int first,
                         chain_ends ends, int group, int at)
{
    ends.before_s += at * run->first.forward_s;
    ends.after_s += at * run->first.backward_s;
    ends.up_s -= (at + 1) * run->last.forward_s;
    ends.down_s -= (at + 1) * run->last.backward_s;
    return rank_chain_s(load, run, &ends, group, load->ranks - 1 - first - at);
}

/*
 * Along a run of equal ranks the chains change linearly, except where the visits ahead pass a whole
 * group. So the ends of the run and the ranks at that bend are enough.
 */
static double run_chain_s(const plait_pipeline_load *load, const plait_rank_run *run, int first,
                          chain_ends ends, int group)
{
    const int final = run->ranks - 1;
    const int bend = load->ranks - 1 - (group - 1) / 2 - first;
    double s = chain_at_s(load, run, first, ends, group, 0);

    if (final > 0)
        s = larger(s, chain_at_s(load, run, first, ends, group, final));
    if (bend - 1 > 0 && bend - 1 < final)
        s = larger(s, chain_at_s(load, run, first, ends, group, bend - 1));
    if (bend > 0 && bend < final)
        s = larger(s, chain_at_s(load, run, first, ends, group, bend));
    return s;
}

static double pipeline_s(const plait_pipeline_load *load)
{
    const int group = group_of(load);
    chain_ends ends = {0};
    double s = 0.0;
    int first = 0;

    for (int i = 0; i < load->runs; i++) {
        const plait_rank_run *run = &load->run[i];
        ends.forwards_s += run->ranks * run->all.forward_s;
        ends.backwards_s += run->ranks * run->all.backward_s;
        ends.up_s += run->ranks * run->last.forward_s;
        ends.down_s += run->ranks * run->last.backward_s;
    }
    for (int i = 0; i < load->runs; i++) {
        const plait_rank_run *run = &load->run[i];
        s = larger(s, run_chain_s(load, run, first, ends, group));
        ends.before_s += run->ranks * run->first.forward_s;
        ends.after_s += run->ranks * run->first.backward_s;
        ends.up_s -= run->ranks * run->last.forward_s;
        ends.down_s -= run->ranks * run->last.backward_s;
        first += run->ranks;
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
static double in_flight(int ranks, int rank, int chunks, int microbatches)
{
    const double after = ranks - 1.0 - rank;

    return smaller((2.0 * after + (chunks - 1.0) * ranks + 1.0) / chunks, microbatches);
}

/* Visits to chunk c among the first n visits: groups of p microbatches, chunk by chunk. */
static int visits_of(int ranks, int chunks, int chunk, int64_t n)
{
    const int64_t round = (int64_t)ranks * chunks;
    const int64_t rest = n % round - (int64_t)chunk * ranks;

    return (int)(n / round * ranks + (rest < 0 ? 0 : rest > ranks ? ranks : rest));
}

/*
 * Fills `held` with the forwards of each chunk less its backwards, after j backwards and the next
 * forward. Returns the sum weighted by `weight`.
 */
static double hold_after(int ranks, int chunks, int64_t visits, int64_t ahead, int64_t j,
                         const double *weight, double *held)
{
    const int64_t forwards = ahead + 1 + j < visits ? ahead + 1 + j : visits;
    double sum = 0.0;

    for (int c = 0; c < chunks; c++) {
        held[c] =
            visits_of(ranks, chunks, c, forwards) - visits_of(ranks, chunks, chunks - 1 - c, j);
        sum += weight[c] * held[c];
    }
    return sum;
}

/*
 * C.260: the held microbatches change linearly between visits at which forwards or backwards go on
 * to another chunk. So these visits, over one round of all chunks, are enough to find the maximum.
 */
static void held(int ranks, int rank, int chunks, int microbatches, const double *weight,
                 double *out)
{
    const int64_t ahead = 2 * (int64_t)(ranks - 1 - rank) + (chunks - 1) * (int64_t)ranks;
    const int64_t visits = (int64_t)chunks * microbatches;
    double most = -1.0;
    int64_t at = 0;

    for (int turn = 0; turn < 2 * chunks; turn++) {
        const int64_t first = turn % 2 == 0 ? 0 : (ranks - (ahead + 1) % ranks) % ranks;
        const int64_t j = first + turn / 2 * (int64_t)ranks;
        const double sum =
            j < visits ? hold_after(ranks, chunks, visits, ahead, j, weight, out) : -1.0;
        if (sum > most) {
            most = sum;
            at = j;
        }
    }
    hold_after(ranks, chunks, visits, ahead, at, weight, out);
}

/*
 * The last rank runs (v - 1) p + 1 visits ahead of its first pair, one more than without pairs, so
 * that no pair waits for itself. (C.157)
 */
static double pairs(int ranks, int chunks, int microbatches)
{
    return microbatches - ((chunks - 1.0) * ranks + 1.0) / chunks;
}

// ---- lists of actions ----------------------------------------------------------------------

int plait_schedule_group(const plait_pipeline_shape *shape)
{
    const int m = shape->microbatches;
    const int rounds = m / shape->ranks > 1 ? m / shape->ranks : 1;

    if (shape->chunks == 1)
        return 1;
    return m % rounds == 0 ? m / rounds : 0;
}

static bool has_actions(const plait_pipeline_shape *shape)
{
    return shape->chunks > 1 && plait_schedule_group(shape) > 0;
}

typedef struct visit {
    int chunk;
    int microbatch;
} visit;

/* The k-th visit of a rank to any of its chunks. */
static visit visit_at(const plait_pipeline_shape *shape, int group, int k)
{
    const int round = k / (group * shape->chunks);
    const int inside = k % (group * shape->chunks);

    return (visit){inside / group, round * group + inside % group};
}

static void append_forward(const plait_pipeline_shape *shape, int rank, int group, int k,
                           action_list *out)
{
    const visit at = visit_at(shape, group, k);

    action_append(out, PLAIT_ACTION_FORWARD, at.chunk * shape->ranks + rank, at.microbatch);
}

static void append_backward(const plait_pipeline_shape *shape, int rank, int group, int k,
                            action_list *out)
{
    const visit at = visit_at(shape, group, k);
    const int chunk = shape->chunks - 1 - at.chunk;

    action_append(out, PLAIT_ACTION_BACKWARD, chunk * shape->ranks + rank, at.microbatch);
}

static void fill(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    const int group = plait_schedule_group(shape);
    const int visits = shape->chunks * shape->microbatches;
    const int ahead = 2 * (shape->ranks - 1 - rank) + (shape->chunks - 1) * group;

    for (int k = 0; k < ahead && k < visits; k++)
        append_forward(shape, rank, group, k, out);
    for (int k = 0; k < visits; k++) {
        if (ahead < visits - k)
            append_forward(shape, rank, group, ahead + k, out);
        append_backward(shape, rank, group, k, out);
    }
}

const schedule_kind schedule_interleaved = {
    .chunks = PLAIT_SEVERAL_CHUNKS,
    .copies = 1,
    .needs = schedule_needs_stages,
    .rank_of = schedule_rank_in_turn,
    .chunk_of = schedule_chunk_in_turn,
    .pipeline_s = pipeline_s,
    .exact = exact,
    .in_flight = in_flight,
    .held = held,
    .pairs = pairs,
    .has_actions = has_actions,
    .fill = fill,
};
