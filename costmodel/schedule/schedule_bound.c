/*
 * schedule_bound.c - lower bound on the time over all orders of split backwards (C.75)
 *
 * Any chain of actions that wait for each other takes at least the sum of its times. Two chains go
 * through rank r:
 *
 *     F of the first microbatch on its way to r, then all of r's work
 *     F of one microbatch through the whole pipeline, its I on the way back to r, then all of r's
 *     work except the forwards that it may have done meanwhile
 *
 * A V has two chunks per rank, down and up again. DualPipe counts as a V of half the ranks and half
 * the microbatches.
 */
#include "costmodel/schedule/schedule_kind.h"

bool schedule_always_exact(const plait_pipeline_load *load)
{
    (void)load;
    return true;
}

bool schedule_never_exact(const plait_pipeline_load *load)
{
    (void)load;
    return false;
}

static double input_s(const plait_chunk_time *chunk)
{
    return chunk->backward_s - chunk->weight_s;
}

static double forward_s(const plait_rank_run *run, bool is_v)
{
    return is_v ? run->first.forward_s + run->last.forward_s : run->all.forward_s;
}

static double backward_s(const plait_rank_run *run, bool is_v)
{
    return is_v ? run->first.backward_s + run->last.backward_s : run->all.backward_s;
}

/* Sums over all ranks of the pipeline, and over those before the current one. */
typedef struct bound_sums {
    double forwards_s;      /* F of all chunks of all ranks */
    double inputs_s;        /* I of the last chunks of all ranks */
    double before_inputs_s; /* I of the last chunks of the ranks before */
    double before_s;        /* F of the first chunks of the ranks before */
} bound_sums;

static int ranks_of(const split_shape *shape, const plait_rank_run *run, int first)
{
    return run->ranks < shape->ranks - first ? run->ranks : shape->ranks - first;
}

static bound_sums sum_up(const split_shape *shape, const plait_pipeline_load *load)
{
    bound_sums sums = {0};
    int first = 0;

    for (int i = 0; i < load->runs && first < shape->ranks; i++) {
        const plait_rank_run *run = &load->run[i];
        const int ranks = ranks_of(shape, run, first);
        sums.forwards_s += ranks * forward_s(run, shape->is_v);
        sums.inputs_s += ranks * input_s(&run->last);
        first += ranks;
    }
    return sums;
}

/*
 * Both chains through one rank. I returns through the last chunks of the ranks before (V) or after.
 */
static double rank_bound_s(const split_shape *shape, const plait_pipeline_load *load,
                           const plait_rank_run *run, const bound_sums *sums, int rank)
{
    const warm_up ahead = shape->ahead(shape->ranks, rank);
    const double m = shape->microbatches;
    const double meanwhile_s = smaller(ahead.first, m) * run->first.forward_s +
                               smaller(ahead.last, m) * (shape->is_v ? run->last.forward_s : 0.0);
    const double back_s = shape->is_v
                              ? sums->before_inputs_s
                              : sums->inputs_s - sums->before_inputs_s - input_s(&run->last);
    const double wait_s = sums->forwards_s + back_s - meanwhile_s;
    const double work_s = m * (forward_s(run, shape->is_v) + backward_s(run, shape->is_v));

    return work_s + larger(sums->before_s, wait_s) - (load->no_barrier ? sums->before_s : 0.0);
}

/* Along a run of equal ranks both chains change linearly, so its first and last rank are enough. */
double schedule_split_bound_s(const split_shape *shape, const plait_pipeline_load *load)
{
    bound_sums sums = sum_up(shape, load);
    double least_s = 0.0;
    int first = 0;

    for (int i = 0; i < load->runs && first < shape->ranks; i++) {
        const plait_rank_run *run = &load->run[i];
        const int others = ranks_of(shape, run, first) - 1;
        least_s = larger(least_s, rank_bound_s(shape, load, run, &sums, first));
        sums.before_s += others * run->first.forward_s;
        sums.before_inputs_s += others * input_s(&run->last);
        first += others;
        least_s = larger(least_s, rank_bound_s(shape, load, run, &sums, first));
        sums.before_s += run->first.forward_s;
        sums.before_inputs_s += input_s(&run->last);
        first++;
    }
    return least_s;
}
