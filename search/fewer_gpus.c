/*
 * fewer_gpus.c - the smaller number of GPUs that works best
 *
 * Guarantee: of all numbers n below N that the cluster has in whole nodes, the one with the shortest
 * step, of alike ones the largest. They are searched by rising bounds L(n), until
 *
 *     L(n) >= the shortest step known,   L(n) = w(n) / n,   w(n) = min over rows of tp cp t   (S.81)
 *
 * where t is C.91 of a row on one stage and one replica, so that tp cp t is GPU seconds of a step:
 * with p stages and d replicas each has 1 / (p d) of them, and n = tp cp p d. Rows count whose tp cp
 * divides n so that some p deals the layers and d mbs divides the batch. What the GPUs that idle would
 * have bought, had all N divided as well:
 *
 *     T(n) - T(n) n / N                                                                     (S.82)
 */
#include <math.h>
#include <stdlib.h>

#include "plait/plan.h"
#include "problem_check.h"
#include "question.h"
#include "space_private.h"
#include "strategy.h"

enum { MOST_SEARCHED = 64 };

// ---- does a number divide well? ------------------------------------------------------------

static int common_divisor(int a, int b)
{
    while (b != 0) {
        const int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int heads_of(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer == PLAIT_MIXER_ATTENTION)
            return model->kind[k].attention.heads;
        else if (model->kind[k].mixer == PLAIT_MIXER_MLA)
            return model->kind[k].mla.heads;
    return model->hidden;
}

/* GPUs are tp cp pp dp, and heads, sequence, layers and batch are dealt over them evenly. */
static bool divides_well(const plait_problem *problem)
{
    const plait_job *const job = &problem->job;
    const int dealt[] = {job->gbs, problem->model->layers, heads_of(problem->model), job->seq};
    int rest = job->gpus;

    for (size_t i = 0; i < sizeof dealt / sizeof *dealt; i++)
        rest /= common_divisor(rest, dealt[i]);
    return rest == 1;
}

// ---- the bound -----------------------------------------------------------------------------

/* GPU seconds of a step, by what of the rows decides whether a number of GPUs has them. */
typedef struct least_work {
    const plait_problem *problem;
    plan_space rows;   /* whatever divides the GPUs */
    plan_space stages; /* its splits, of 1, 2, 3, ... stages */
    double *work;      /* [tp][cp][microbatch]; infinite where no row is */
} least_work;

static int place_in(space_list list, int value)
{
    int at = 0;

    while (list.value[at] != value)
        at++;
    return at;
}

static double *work_at(const least_work *w, int tp_at, int cp_at, int mbs_at)
{
    return &w->work[(tp_at * w->rows.divisors.count + cp_at) * w->rows.microbatch.count + mbs_at];
}

/* tp cp C.91 of one row; rows that fit nowhere have no plan. */
static double work_of(const least_work *w, plait_degrees row, plait_table *table)
{
    row.ep_overlap = PLAIT_EP_OVERLAP_NONE; // which C.91 leaves open
    if (plait_layers_floor_bytes(w->problem, &row) >
        plait_capacity_bytes(w->problem, w->problem->risk))
        return HUGE_VAL;
    return (double)row.tp * row.cp * plait_pipeline_bound(table, &row).step_s;
}

static plait_status price_rows(least_work *w, plait_arena *scratch, plait_error *err)
{
    const int degrees = w->rows.divisors.count;
    const size_t size = (size_t)degrees * (size_t)degrees * (size_t)w->rows.microbatch.count;
    plait_table *const table = plait_table_new(w->problem, scratch);

    w->work = plait_arena_alloc(scratch, size, sizeof *w->work);
    if (!table || !w->work)
        return plait_fail_nomem(err);
    for (size_t i = 0; i < size; i++)
        w->work[i] = HUGE_VAL;
    for (int64_t r = 0; r < w->rows.rows; r++) {
        const plait_degrees *const row = &w->rows.row[r];
        double *const least =
            work_at(w, place_in(w->rows.divisors, row->tp), place_in(w->rows.divisors, row->cp),
                    place_in(w->rows.microbatch, row->mbs));
        *least = fmin(*least, work_of(w, *row, table));
    }
    return PLAIT_OK;
}

/* The ways to deal the layers to 1, 2, 3, ... stages. */
static plait_status list_stages(least_work *w, plait_arena *scratch, plait_error *err)
{
    const int most = w->problem->runtime->can.most[PLAIT_KEY_PP];
    const int count = most < w->problem->model->layers + 2 ? most : w->problem->model->layers + 2;
    int *const value = plait_arena_alloc(scratch, (size_t)count, sizeof *value);

    if (!value)
        return plait_fail_nomem(err);
    for (int i = 0; i < count; i++)
        value[i] = i + 1;
    w->stages = w->rows;
    w->stages.divisors = (space_list){count, value};
    return space_list_splits(&w->stages, scratch, err);
}

static plait_status least_work_make(const plait_problem *problem,
                                    const plait_search_options *options, plait_arena *scratch,
                                    least_work *w, plait_error *err)
{
    w->problem = problem;
    PLAIT_TRY(space_make_rows(problem, options, scratch, &w->rows, err));
    PLAIT_TRY(list_stages(w, scratch, err));
    return price_rows(w, scratch, err);
}

/* Of one tp and cp: whichever stages and replicas make up so many copies of its ranks. */
static double least_of_copies(const least_work *w, int tp_at, int cp_at, int copies)
{
    const space_list mbs = w->rows.microbatch;
    double least = HUGE_VAL;

    for (int i = 0; i < w->stages.divisors.count && w->stages.divisors.value[i] <= copies; i++) {
        const int pp = w->stages.divisors.value[i];
        if (copies % pp != 0 || w->stages.splits[i].count == 0)
            continue;
        for (int b = 0; b < mbs.count; b++)
            if (w->problem->job.gbs % ((int64_t)(copies / pp) * mbs.value[b]) == 0)
                least = fmin(least, *work_at(w, tp_at, cp_at, b));
    }
    return least;
}

/* L(n) of S.81; infinite where no plan of n GPUs is legal. */
static double bound_of(const least_work *w, int gpus)
{
    const space_list degrees = w->rows.divisors;
    double least = HUGE_VAL;

    for (int t = 0; t < degrees.count; t++)
        for (int c = 0; c < degrees.count; c++) {
            const int64_t ranks = (int64_t)degrees.value[t] * degrees.value[c];
            if (gpus % ranks == 0)
                least = fmin(least, least_of_copies(w, t, c, (int)(gpus / ranks)));
        }
    return least / gpus;
}

// ---- the numbers ---------------------------------------------------------------------------

typedef struct gpu_number {
    int gpus;
    double bound_s;
} gpu_number;

static int by_bound(const void *left, const void *right)
{
    const gpu_number *const a = left, *const b = right;
    const int order = (a->bound_s > b->bound_s) - (a->bound_s < b->bound_s);

    return order != 0 ? order : b->gpus - a->gpus;
}

/* All that have whole nodes and may be better, the most promising first. */
static plait_status list_numbers(const plait_problem *problem, const plait_search_options *options,
                                 double least_s, plait_arena *scratch, gpu_number **list,
                                 int *count, plait_error *err)
{
    least_work w;

    *count = 0;
    *list = plait_arena_alloc(scratch, (size_t)problem->job.gpus, sizeof **list);
    if (!*list)
        return plait_fail_nomem(err);
    PLAIT_TRY(least_work_make(problem, options, scratch, &w, err));
    for (int n = problem->job.gpus - 1; n > 0; n--) {
        plait_cluster cluster = *problem->cluster;

        if (plait_cluster_take(&cluster, n, NULL) != PLAIT_OK)
            continue;
        (*list)[*count] = (gpu_number){n, bound_of(&w, n)};
        *count += (*list)[*count].bound_s < least_s;
    }
    qsort(*list, (size_t)*count, sizeof **list, by_bound);
    return PLAIT_OK;
}

static bool improves(const plait_fewer_gpus *best, int gpus, double step_s, double least_s)
{
    return step_s < least_s || (step_s == least_s && best->gpus > 0 && gpus > best->gpus);
}

/* One number is searched; its best plan is kept if it is the best so far. */
static plait_status try_number(const plait_problem *problem, int gpus,
                               const plait_search_options *options, plait_arena *scratch,
                               plait_arena *arena, double *least_s, plait_fewer_gpus *out,
                               plait_error *err)
{
    plait_cluster cluster = *problem->cluster;
    plait_problem smaller = *problem;
    plait_ranked best;
    bool fits;

    smaller.cluster = &cluster;
    smaller.job.gpus = gpus;
    PLAIT_TRY(plait_cluster_take(&cluster, gpus, err));
    PLAIT_TRY(question_ask(&smaller, options, QUESTION_RANKING, scratch, &fits, &best, err));
    out->searched++;
    if (!fits || !improves(out, gpus, best.price.step_s, *least_s))
        return PLAIT_OK;
    *least_s = best.price.step_s;
    out->gpus = gpus;
    out->best = best;
    return plait_plan_expand(&smaller, &best.plan.degrees, arena, &out->best.plan, err);
}

static plait_status try_numbers(const plait_problem *problem, const plait_search_options *options,
                                double least_s, plait_arena *scratch, plait_arena *arena,
                                plait_fewer_gpus *out, plait_error *err)
{
    gpu_number *number;
    int count, at = 0;

    PLAIT_TRY(list_numbers(problem, options, least_s, scratch, &number, &count, err));
    for (; at < count && at < MOST_SEARCHED && number[at].bound_s < least_s; at++) {
        const plait_arena_mark mark = plait_arena_save(scratch);

        PLAIT_TRY(
            try_number(problem, number[at].gpus, options, scratch, arena, &least_s, out, err));
        plait_arena_rewind(scratch, mark);
    }
    out->proven = at == count || number[at].bound_s >= least_s;
    return PLAIT_OK;
}

plait_status plait_fewer_gpus_find(const plait_problem *problem,
                                   const plait_search_options *options,
                                   const plait_search_result *result, plait_arena *arena,
                                   plait_fewer_gpus *out, plait_error *err)
{
    const double own_s = result && result->plans > 0 ? result->plan[0].price.step_s : HUGE_VAL;
    plait_arena *scratch;

    *out = (plait_fewer_gpus){0};
    PLAIT_TRY(problem_check(problem, err));
    PLAIT_TRY(search_options_check(options, err));
    if (options->objective != PLAIT_MINIMISE_TIME || (result && divides_well(problem)) ||
        !plait_cluster_priced(problem->cluster, problem->job.gpus, NULL,
                              0)) // see plait_idle_groups
        return PLAIT_OK;
    scratch = plait_arena_new();
    const plait_status status = scratch
                                    ? try_numbers(problem, options, own_s, scratch, arena, out, err)
                                    : plait_fail_nomem(err);
    plait_arena_free(scratch);
    if (out->gpus > 0)
        out->ideal_s = out->best.price.step_s * out->gpus / problem->job.gpus;
    return status;
}
