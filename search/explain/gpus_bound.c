/*
 * gpus_bound.c - a lower bound on the step with a number of GPUs, without a search of that number
 *
 *     L(n) = w(n) / n,   w(n) = min over rows and stages p of tp cp p t                  (S.81)
 *
 * where t is C.91 of a row on p stages and one replica, so that tp cp p t is GPU seconds of a step: with d
 * replicas each has 1 / d of them, and n = tp cp p d. The minimum is over rows whose tp cp p divides n such
 * that p stages can hold the layers and d mbs divides the batch.
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

/* Returns whether the layers have a split over the stages, by name or as a layout that is searched. */
static bool has_split(const gpus_bound *b, int at)
{
    return b->stages.splits[at].count > 0 ||
           (b->rows.options->refine != PLAIT_REFINE_NONE &&
            space_has_layouts(&b->rows, b->stages.divisors.value[at]));
}

/* Returns whether the state of a pipeline fits if all remaining GPUs are replicas that shard it. */
static bool pipeline_may_fit(const gpus_bound *b, plait_degrees row, plait_table *table)
{
    const int64_t ranks = (int64_t)row.tp * row.cp * row.pp;

    row.dp = (int)fmax(1.0, (double)(b->problem->job.gpus / ranks));
    row.shard_group = row.dp * row.cp;
    return plait_pipeline_bound(table, &row).peak_bytes <= b->most_bytes;
}

/* tp cp p C.91 of one row, for each number of stages. */
static void price_row(const gpus_bound *b, plait_degrees row, plait_table *table)
{
    const int tp_at = index_of(b->rows.divisors, row.tp),
              cp_at = index_of(b->rows.divisors, row.cp),
              mbs_at = index_of(b->rows.microbatch, row.mbs);

    row.ep_overlap = PLAIT_EP_OVERLAP_NONE; // C.91 holds for every overlap
    if (plait_layers_floor_bytes(b->problem, &row) > b->most_bytes)
        return;
    for (int i = 0; i < b->stages.divisors.count; i++) {
        double *const least = &work_at(b, tp_at, cp_at, i)[mbs_at];

        row.pp = b->stages.divisors.value[i];
        if (!has_split(b, i) || !pipeline_may_fit(b, row, table))
            continue;
        *least = fmin(*least,
                      (double)row.tp * row.cp * row.pp * plait_pipeline_bound(table, &row).step_s);
    }
}

static plait_status price_rows(gpus_bound *b, plait_arena *scratch, plait_error *err)
{
    const size_t degrees = (size_t)b->rows.divisors.count;
    const size_t size =
        degrees * degrees * (size_t)b->stages.divisors.count * (size_t)b->rows.microbatch.count;
    plait_table *const table = plait_table_new(b->problem, scratch);

    b->work = plait_arena_alloc(scratch, size, sizeof *b->work);
    PLAIT_TRY(plait_check_allocated(table && b->work, err));
    for (size_t i = 0; i < size; i++)
        b->work[i] = HUGE_VAL;
    for (int64_t r = 0; r < b->rows.rows; r++)
        price_row(b, b->rows.row[r], table);
    return PLAIT_OK;
}

/* Lists the splits over 1, 2, 3, ... stages. */
static plait_status list_stages(gpus_bound *b, plait_arena *scratch, plait_error *err)
{
    const int most = b->problem->runtime->can.most[PLAIT_KEY_PP];
    const int count = most < b->problem->model->layers + 2 ? most : b->problem->model->layers + 2;
    int *const value = plait_arena_alloc(scratch, (size_t)count, sizeof *value);

    PLAIT_TRY(plait_check_allocated(value, err));
    for (int i = 0; i < count; i++)
        value[i] = i + 1;
    b->stages = b->rows;
    b->stages.divisors = (space_list){count, value};
    return space_list_splits(&b->stages, scratch, err);
}

plait_status gpus_bound_make(const plait_problem *problem, const plait_search_options *options,
                             plait_arena *scratch, gpus_bound *bound, plait_error *err)
{
    bound->problem = problem;
    // Fewer GPUs may have a narrower memory band, so at the same risk more bytes: at risk 0.5 no band applies.
    bound->most_bytes = plait_capacity_bytes(problem, fmax(problem->risk, 0.5));
    PLAIT_TRY(space_make_rows(problem, options, scratch, &bound->rows, err));
    PLAIT_TRY(list_stages(bound, scratch, err));
    return price_rows(bound, scratch, err);
}

/* The minimum over stages and replicas whose product is `copies`, for one tp and cp. */
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
