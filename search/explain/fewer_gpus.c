/*
 * fewer_gpus.c - the number of GPUs below the given one that has the shortest step
 *
 * Guarantee: if the result is `proven`, it has the shortest step T(n) among all numbers n < N of
 * GPUs in whole nodes and, among equal steps, the most GPUs. Numbers that divide well are searched
 * first, then the others, each by rising lower bound L(n) (S.81, gpus_bound.c), as long as some L(n)
 * is below the shortest step found. If all N GPUs divided as well as n, their step would be shorter
 * than T(n) by
 *
 *     T(n) - T(n) n / N                                                                     (S.82)
 */
#include <math.h>
#include <stdlib.h>

#include "search/explain/gpus_bound.h"
#include "base/numbers.h"
#include "plait/plan.h"
#include "plan/problem_check.h"
#include "search/nested.h"
#include "search/exhaustive/exhaustive.h"

// ---- divisibility --------------------------------------------------------------------------

static int heads_of(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer == PLAIT_MIXER_ATTENTION)
            return model->kind[k].attention.heads;
        else if (model->kind[k].mixer == PLAIT_MIXER_MLA)
            return model->kind[k].mla.heads;
    return model->hidden;
}

/* Returns whether a number of GPUs is a product of divisors of batch, layers, heads and sequence. */
static bool divides_well(const plait_problem *problem, int gpus)
{
    const plait_job *const job = &problem->job;
    const int divided[] = {job->gbs, problem->model->layers, heads_of(problem->model), job->seq};
    int rest = gpus;

    for (size_t i = 0; i < sizeof divided / sizeof *divided; i++)
        rest /= (int)common_divisor(rest, divided[i]);
    return rest == 1;
}

// ---- the numbers ---------------------------------------------------------------------------

typedef struct gpu_number {
    int gpus;
    bool divides;
    double bound_s;
} gpu_number;

/* Numbers that divide well come first, since a short step excludes others by their bounds. */
static int in_order(const void *left, const void *right)
{
    const gpu_number *const a = left, *const b = right;
    const int by_bound = (a->bound_s > b->bound_s) - (a->bound_s < b->bound_s);

    if (a->divides != b->divides)
        return b->divides - a->divides;
    return by_bound != 0 ? by_bound : b->gpus - a->gpus;
}

/* Lists the numbers of whole nodes whose bound is below `least_s`. */
static plait_status list_numbers(const plait_problem *problem, const plait_search_options *options,
                                 double least_s, plait_arena *scratch, gpu_number **list,
                                 int *count, plait_error *err)
{
    gpus_bound bound;

    *count = 0;
    *list = plait_arena_alloc(scratch, (size_t)problem->job.gpus, sizeof **list);
    PLAIT_TRY(plait_check_allocated(*list, err));
    PLAIT_TRY(gpus_bound_make(problem, options, &problem->job.gbs, 1, scratch, &bound, err));
    PLAIT_TRY(gpus_bound_price(&bound, err));
    for (int n = problem->job.gpus - 1; n > 0; n--) {
        plait_cluster cluster = *problem->cluster;

        if (plait_cluster_take(&cluster, n, NULL) != PLAIT_OK)
            continue;
        const double bound_s = gpus_bound_s(&bound, n, problem->job.gbs);
        if (bound_s < least_s)
            (*list)[(*count)++] = (gpu_number){n, divides_well(problem, n), bound_s};
    }
    qsort(*list, (size_t)*count, sizeof **list, in_order);
    return PLAIT_OK;
}

/* Searches one number of GPUs, and keeps its best plan if no earlier number has a shorter step. */
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
    // The limit is just above the shortest step, since a plan with an equal step may be on more GPUs.
    const double below = *least_s * (1.0 + 1e-9);
    PLAIT_TRY(search_best_plan_below(&smaller, options, SEARCH_RANKING, below, scratch, &fits,
                                     &best, err));
    out->searched++;
    const double step_s = best.price.step_s;
    if (!fits || step_s > *least_s || (step_s == *least_s && (out->gpus == 0 || gpus < out->gpus)))
        return PLAIT_OK;
    *least_s = step_s;
    out->gpus = gpus;
    out->best = best;
    return plait_plan_expand(&smaller, &best.plan.degrees, arena, &out->best.plan, err);
}

/*
 * Returns how many smaller numbers are searched: fewer on more GPUs, where a search takes longer.
 * The limits were chosen by measured times; of 37 questions that 16 searches did not prove, none had
 * a better answer after 64.
 */
static int most_searched(int gpus)
{
    enum { LEAST = 16, MOST = 64, SEARCHED_GPUS = 65536 };
    const int share = SEARCHED_GPUS / gpus;

    if (share < LEAST)
        return LEAST;
    return share < MOST ? share : MOST;
}

static plait_status try_numbers(const plait_problem *problem, const plait_search_options *options,
                                double least_s, plait_arena *scratch, plait_arena *arena,
                                plait_fewer_gpus *out, plait_error *err)
{
    gpu_number *number;
    const int most = most_searched(problem->job.gpus);
    int count;

    PLAIT_TRY(list_numbers(problem, options, least_s, scratch, &number, &count, err));
    out->proven = true;
    for (int i = 0; i < count; i++) {
        if (number[i].bound_s >= least_s)
            continue;
        if (out->searched == most) {
            out->proven = false;
            return PLAIT_OK;
        }
        const plait_arena_mark mark = plait_arena_save(scratch);
        PLAIT_TRY(try_number(problem, number[i].gpus, options, scratch, arena, &least_s, out, err));
        plait_arena_rewind(scratch, mark);
    }
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
    if (options->objective != PLAIT_MINIMISE_TIME ||
        (result && divides_well(problem, problem->job.gpus)) ||
        !plait_cluster_priced(problem->cluster, problem->job.gpus, NULL, 0))
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
