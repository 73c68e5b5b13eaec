/*
 * gpus_bound.c - a lower bound on the step with a number of GPUs, without a search of that number
 *
 *     L(n) = w(n) / n,   w(n) = min over rows and stages p of tp cp p t                  (S.81)
 *
 * t is the bound C.91 of a row on p stages and one replica, so tp cp p t is the GPU seconds of a
 * step. With d replicas each does 1 / d of the work, and n = tp cp p d. The minimum is over the
 * rows whose tp cp p divides n, if p stages can hold the layers and d mbs divides the batch.
 */
#include "search/explain/gpus_bound.h"

#include <math.h>

#include "search/space/space_private.h"
#include "search/exhaustive/exhaustive.h"
#include "costmodel/api.h"

static int index_of(space_list list, int value)
{
    int at = 0;

    while (list.value[at] != value)
        at++;
    return at;
}

static double *work_at(const gpus_bound *b, int tp_at, int cp_at, int pp_at)
{
    const int degrees = b->rows.divisors.count;
    const size_t place =
        ((size_t)tp_at * (size_t)degrees + (size_t)cp_at) * (size_t)b->stages.divisors.count +
        (size_t)pp_at;

    return &b->work[place * (size_t)b->rows.microbatch.count];
}

/* Returns the degrees of a pipeline whose state all remaining GPUs shard as replicas. */
static plait_degrees most_sharded(const gpus_bound *b, plait_degrees row)
{
    const int64_t ranks = (int64_t)row.tp * row.cp * row.pp;

    row.dp = (int)fmax(1.0, (double)(b->problem->job.gpus / ranks));
    row.shard_group = row.dp * row.cp;
    return row;
}

/*
 * Lists the stages of a row on which its state may fit. (C.97)
 *
 * @param stages  [b->stages.divisors.count] receives indices of numbers of stages
 * @return        number of indices
 */
static int list_stages(const gpus_bound *b, const space_row *row, plait_table *table, int *stages)
{
    plait_degrees d = row->degrees;
    int count = 0;

    for (int k = 0; k < b->stages.divisors.count; k++) {
        d.pp = b->stages.divisors.value[k];
        const bool has_split =
            b->stages.splits[k].count > 0 ||
            (b->rows.options->refine != PLAIT_REFINE_NONE && space_has_layouts(&b->rows, d.pp));
        const plait_degrees sharded = most_sharded(b, d);

        if (has_split && plait_pipeline_floor_bytes(table, &sharded) <= b->most_bytes)
            stages[count++] = k;
    }
    return count;
}

/*
 * GPU seconds above this multiple of the least of all pipelines hardly ever decide a number of GPUs,
 * so the weaker bound C.97 suffices for them. The multiple was chosen by measured times.
 */
static const double weak_above = 1.25;

/*
 * Lowers `work` by the bounds of a row with its i-th microbatch size. The weaker bound C.97 excludes
 * most pipelines before the layers are priced.
 */
static void add_work(gpus_bound *b, const space_row *row, int i, const int *stages, int count,
                     plait_table *table)
{
    plait_degrees d = row->degrees;
    const int tp_at = index_of(b->rows.divisors, d.tp), cp_at = index_of(b->rows.divisors, d.cp);

    d.mbs = space_size(&b->rows, row, i);
    d.ep_overlap = PLAIT_EP_OVERLAP_NONE; // the bound C.91 holds for every overlap
    // the GPU seconds on one stage, which no number of stages lowers
    const double whole = (double)d.tp * d.cp * plait_pipeline_floor_s(table, &d);

    for (int k = 0; k < count; k++) {
        double *const least = &work_at(b, tp_at, cp_at, stages[k])[row->first + i];

        if (whole * (1.0 - 1e-9) >= *least)
            continue;
        d.pp = b->stages.divisors.value[stages[k]];
        const double ranks = (double)d.tp * d.cp * d.pp;
        const double floor = ranks * plait_pipeline_floor_s(table, &d);
        if (floor >= *least)
            continue;
        if (floor > weak_above * b->least_work) {
            *least = floor;
            continue;
        }
        const plait_degrees sharded = most_sharded(b, d);
        const double work = ranks * plait_pipeline_bound(table, &d).step_s;
        if (work < *least && plait_pipeline_bound(table, &sharded).peak_bytes <= b->most_bytes) {
            *least = work;
            b->least_work = fmin(b->least_work, work);
        }
    }
}

plait_status gpus_bound_make(const plait_problem *problem, const plait_search_options *options,
                             plait_arena *scratch, gpus_bound *bound, plait_error *err)
{
    bound->problem = problem;
    bound->least_work = HUGE_VAL;
    // A smaller number of GPUs can have a narrower memory band and so more usable bytes at the same
    // risk. A risk of 0.5 gives the capacity without a band.
    bound->most_bytes = plait_capacity_bytes(problem, fmax(problem->risk, 0.5));
    PLAIT_TRY(space_make_rows(problem, options, bound->most_bytes, scratch, &bound->rows, err));
    const int most = problem->runtime->can.most[PLAIT_KEY_PP];
    const int count = most < problem->model->layers + 2 ? most : problem->model->layers + 2;
    int *const value = plait_arena_alloc(scratch, (size_t)count, sizeof *value);

    PLAIT_TRY(plait_check_allocated(value, err));
    for (int i = 0; i < count; i++)
        value[i] = i + 1;
    bound->stages = bound->rows;
    bound->stages.divisors = (space_list){count, value};
    PLAIT_TRY(space_list_splits(&bound->stages, scratch, err));
    const size_t degrees = (size_t)bound->rows.divisors.count;
    const size_t size = degrees * degrees * (size_t)bound->stages.divisors.count *
                        (size_t)bound->rows.microbatch.count;
    plait_table *const table = plait_table_new(problem, scratch);

    bound->work = plait_arena_alloc(scratch, size, sizeof *bound->work);
    PLAIT_TRY(plait_check_allocated(table && bound->work, err));
    for (size_t i = 0; i < size; i++)
        bound->work[i] = HUGE_VAL;
    int *const stage = plait_arena_alloc(scratch, (size_t)count, sizeof *stage);

    PLAIT_TRY(plait_check_allocated(stage, err));
    plait_table_remember(table, scratch);
    for (int64_t r = 0; r < bound->rows.rows; r++) {
        const space_row *const row = &bound->rows.row[r];
        const int may_fit = list_stages(bound, row, table, stage);

        for (int i = 0; may_fit > 0 && i < row->sizes; i++)
            if (row->sequence_bytes * space_size(&bound->rows, row, i) <= bound->most_bytes)
                add_work(bound, row, i, stage, may_fit, table);
    }
    return PLAIT_OK;
}

/*
 * Returns the minimum of `work` over stages and replicas whose product is `copies`, for one tp and
 * cp.
 */
static double least_of_copies(const gpus_bound *b, int tp_at, int cp_at, int copies)
{
    const space_list mbs = b->rows.microbatch;
    double least = HUGE_VAL;

    for (int i = 0; i < b->stages.divisors.count && b->stages.divisors.value[i] <= copies; i++) {
        const int pp = b->stages.divisors.value[i];

        if (copies % pp != 0)
            continue;
        for (int k = 0; k < mbs.count; k++)
            if (b->problem->job.gbs % ((int64_t)(copies / pp) * mbs.value[k]) == 0)
                least = fmin(least, work_at(b, tp_at, cp_at, i)[k]);
    }
    return least;
}

double gpus_bound_s(const gpus_bound *b, int gpus)
{
    const space_list degrees = b->rows.divisors;
    double least = HUGE_VAL;

    for (int t = 0; t < degrees.count; t++)
        for (int c = 0; c < degrees.count; c++) {
            const int64_t ranks = (int64_t)degrees.value[t] * degrees.value[c];

            if (gpus % ranks == 0)
                least = fmin(least, least_of_copies(b, t, c, (int)(gpus / ranks)));
        }
    return least / gpus;
}
