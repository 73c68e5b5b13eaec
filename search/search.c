/*
 * search.c - checks the options, runs the strategy, and builds the result
 *
 * A search lists the space (space.h), searches it and computes full prices for the
 * remaining plans (exhaustive.h). The result names the strategy and states whether it proves its
 * ranking.
 */
#include "plait/search.h"

#include <math.h>
#include <string.h>

#include "search/exhaustive/exhaustive.h"
#include "search/pipeline/heterogeneous.h"
#include "plan/problem_check.h"
#include "plan/ranges.h"
#include "search/nested.h"
#include "base/text.h"
#include "base/threads.h"

void plait_search_options_init(plait_search_options *options)
{
    *options = (plait_search_options){
        .objective = PLAIT_MINIMISE_TIME,
        .top = 10,
        .prune = true,
    };
}

// ---- the search ----------------------------------------------------------------------------

const char *const plait_refine_name[PLAIT_REFINES + 1] = {"none",   "layouts", "stages",
                                                          "layers", "all",     NULL};

/*
 * Refinements, indexed by plait_refine - 1. Each starts from the best plans of the previous ones.
 */
static const search_refinement *const refinements[] = {&search_layouts, &search_per_stage,
                                                       &search_per_layer};

static int count_refinements(const plait_search_options *options)
{
    const int count = sizeof refinements / sizeof *refinements;

    return (int)options->refine < count ? (int)options->refine : count;
}

/* Returns the number of rows of a task. */
static int64_t rows_of_task(const plan_space *space)
{
    const int64_t even = (space->rows + SEARCH_MOST_TASKS - 1) / SEARCH_MOST_TASKS;

    return even > SEARCH_LEAST_ROWS ? even : SEARCH_LEAST_ROWS;
}

/*
 * Called if no plan fits: finds the plan that exceeds the capacity by the fewest bytes, with any
 * microbatch size. (S.13)
 */
static plait_status find_closest(const search_run *run, plait_search_result *result,
                                 plait_error *err)
{
    plait_search_options options = *run->options;
    search_run relaxed = *run;
    search_found found;
    plan_space space;

    PLAIT_TRY(space_make(run->problem, run->options, HUGE_VAL, run->arena, &space, err));
    relaxed.space = &space;
    relaxed.batch_rows = rows_of_task(&space);
    options.objective = PLAIT_MINIMISE_MEMORY;
    options.top = 1;
    options.distinct = 0;
    relaxed.options = &options;
    relaxed.capacity_bytes = HUGE_VAL;
    relaxed.alone = relaxed.closest = true;
    relaxed.below = HUGE_VAL;
    relaxed.short_of_bytes = run->capacity_bytes;
    PLAIT_TRY(search_exhaustive(&relaxed, &found, err));
    plait_ranked *closest;
    PLAIT_TRY(answer_ranking(&relaxed, found.top.plan, found.top.count, &closest, err));
    result->has_closest = found.top.count > 0;
    result->closest_proven = !search_is_large(&space);
    if (result->has_closest)
        result->closest = closest[0];
    result->closest.index = -1; // points are not counted in this search
    return PLAIT_OK;
}

/*
 * Puts the best plan of a refinement at the head of the ranking. The best plan before it stays, even
 * if both agree in the distinct keys, since it may be the simplest of equal plans.
 */
static plait_status put_first(const search_run *run, const plait_ranked *best,
                              plait_search_result *result, plait_error *err)
{
    const int most = run->options->top;
    plait_ranked *plans = plait_arena_alloc(run->arena, (size_t)most, sizeof *plans);

    PLAIT_TRY(plait_check_allocated(plans, err));
    int count = 1;

    plans[0] = *best;
    for (int i = 0; i < result->plans && count < most; i++)
        if (i == 0 || run->options->distinct == 0 ||
            !plait_degrees_equal_on(run->options->distinct, &best->plan.degrees,
                                    &result->plan[i].plan.degrees))
            plans[count++] = result->plan[i];
    result->plans = count;
    result->plan = plans;
    return PLAIT_OK;
}

/*
 * Counts the variants that each plan of the ranking represents, and the spread of their objectives.
 * (S.96) They are not counted if memory is short.
 */
static plait_status count_variants(search_run *run, const search_found *found,
                                   plait_search_result *result, plait_error *err)
{
    plait_ranked *plans = plait_arena_alloc(run->arena, (size_t)result->plans + 1, sizeof *plans);
    variant_count *variant;

    if (run->options->distinct == 0 || result->plans == 0 || found->unfinished)
        return PLAIT_OK;
    PLAIT_TRY(plait_check_allocated(plans, err));
    const plait_status status = search_count_variants(run, found, &variant, err);
    if (status == PLAIT_ERROR_NOMEM && run->threads == 1) {
        result->short_of_memory = true;
        return PLAIT_OK;
    }
    PLAIT_TRY(status);
    for (int i = 0; i < result->plans; i++) {
        const int at = top_find(&found->top, &result->plan[i].plan.degrees);

        plans[i] = result->plan[i];
        if (at < 0 || variant[at].plans == 0)
            continue;
        plans[i].variants = variant[at].plans;
        plans[i].variants_within = variant[at].worst / found->top.plan[at].objective - 1.0;
    }
    result->plan = plans;
    return PLAIT_OK;
}

/*
 * Runs the refinements. Each searches plans that are not uniform and are better than the best plan
 * found so far.
 */
static plait_status refine(search_run *run, search_found *found, plait_search_result *result,
                           plait_error *err)
{
    const int count = count_refinements(run->options);

    for (int i = 0; i < count && !(run->any_fits && result->plans > 0); i++) {
        plait_refinement *out = &result->refinement[result->refinements];
        const double start_s = search_seconds();

        run->known = found;
        if (!refinements[i]->is_applicable(run))
            continue;
        const plait_status status = refinements[i]->run(run, out, err);
        // with several threads the search is repeated on one
        if (status != PLAIT_ERROR_NOMEM || run->threads > 1)
            PLAIT_TRY(status);
        if (status != PLAIT_OK)
            *out = (plait_refinement){.floor = (double)NAN, .short_of_memory = true};
        result->short_of_memory = result->short_of_memory || out->short_of_memory;
        out->name = refinements[i]->name;
        out->before = result->plans > 0 ? result->plan[0].objective : HUGE_VAL;
        out->elapsed_s = search_seconds() - start_s;
        result->refinements++;
        if (!out->any)
            continue;
        PLAIT_TRY(put_first(run, &out->best, result, err));
        result->has_tight = result->has_tight && result->tight_best.objective < out->best.objective;
        top_add(&found->top, &(plan_point){.degrees = out->best.plan.degrees,
                                           .price = out->best.price,
                                           .objective = out->best.objective,
                                           .index = -1});
    }
    run->known = NULL;
    return PLAIT_OK;
}

/*
 * Do refinements follow? With SEARCH_FRONT only if no uniform plan fits, with SEARCH_FITS and
 * SEARCH_ANY if the space is also small. (S.14)
 */
static bool refines(const search_run *run, search_depth depth, int plans)
{
    if (depth >= SEARCH_FITS && search_is_large(run->space))
        return false;
    return plans == 0 || (depth < SEARCH_FITS && depth != SEARCH_FRONT);
}

/* Runs the strategy and the refinements, and fills in the result. */
static plait_status run_passes(search_run *run, search_depth depth, plait_search_result *result,
                               plait_error *err)
{
    search_found found;
    plait_ranked *plan, *front;

    run->workers = plait_arena_alloc(run->arena, (size_t)run->threads, sizeof *run->workers);
    run->shared = plait_arena_new();
    run->bounds = plait_half_bounds_new(run->space->sized_rows, run->shared);
    PLAIT_TRY(plait_check_allocated(run->workers && run->bounds, err));
    PLAIT_TRY(search_exhaustive(run, &found, err));
    *result = (plait_search_result){
        .points = found.points,
        .priced = found.priced,
        .pruned = found.points - found.priced,
        .fits = found.fits,
        .tight = found.tight,
        .threads = run->threads,
        .strategy = "exhaustive",
        .optimal = !found.unfinished,
        .short_of_memory = found.unfinished,
        .plans = found.top.count,
    };
    PLAIT_TRY(answer_ranking(run, found.top.plan, found.top.count, &plan, err));
    PLAIT_TRY(answer_front(run, &found.front, &front, &result->front_size, err));
    result->plan = plan;
    result->front = front;
    // Report the best tight plan only if it is better than the best plan that fits.
    const plan_top *tight = &found.tight_best;
    plait_ranked *best;

    if (tight->count > 0 && top_leads(&tight->plan[0], &found.top)) {
        PLAIT_TRY(answer_ranking(run, tight->plan, tight->count, &best, err));
        result->has_tight = best[0].price.peak_bytes > run->capacity_bytes;
        if (result->has_tight)
            result->tight_best = best[0];
    }
    if (refines(run, depth, result->plans))
        PLAIT_TRY(refine(run, &found, result, err));
    if (result->plans == 0 && depth == SEARCH_WHOLE)
        PLAIT_TRY(find_closest(run, result, err));
    // below a limit points are not counted, so that an empty space is not known
    if (found.points == 0 && result->plans == 0 && !result->has_closest && isinf(run->below)) {
        char why[256] = "";

        space_explain_empty(run->space, why, sizeof why);
        return plait_fail(err, PLAIT_ERROR_RANGE, "search",
                          "expected at least one legal plan, found none: %s", why);
    }
    return count_variants(run, &found, result, err);
}

/* Runs the passes with workers that last as long. */
static plait_status run_on(const search_run *of, int threads, search_depth depth,
                           plait_search_result *result, plait_error *err)
{
    search_run run = *of;

    run.threads = threads;
    const plait_status status = run_passes(&run, depth, result, err);
    search_workers_end(&run);
    return status;
}

/* Limits of a search: of the objective of all plans, and of the step of refined plans. */
typedef struct search_below {
    double objective, refined_s;
} search_below;

static const search_below any_plan = {HUGE_VAL, HUGE_VAL};

/* Returns the memory below which plans are tight, above the memory of plans that fit. */
static double tight_bytes_of(const plait_problem *problem, search_depth depth)
{
    return plait_capacity_bytes(problem, depth == SEARCH_WHOLE ? 0.5 : problem->risk);
}

/*
 * Searches a space. If memory is short for several threads, repeats the search on one, which gives
 * the same result.
 */
static plait_status search_space(const plan_space *space, search_depth depth, search_below below,
                                 plait_arena *arena, plait_search_result *result, plait_error *err)
{
    const plait_problem *const problem = space->problem;
    const search_run run = {
        .problem = problem,
        .options = space->options,
        .space = space,
        .arena = arena,
        .capacity_bytes = plait_capacity_bytes(problem, problem->risk),
        .tight_bytes = tight_bytes_of(problem, depth),
        .alone = depth > SEARCH_FRONT,
        .fits_only = depth >= SEARCH_FITS,
        .any_fits = depth == SEARCH_ANY,
        .below = below.objective,
        .refined_s = below.refined_s,
        .batch_rows = rows_of_task(space),
    };
    const int threads = threads_count(space->options->threads);
    const plait_arena_mark before = plait_arena_save(arena);
    const plait_status status = run_on(&run, threads, depth, result, err);

    if (status != PLAIT_ERROR_NOMEM || threads == 1)
        return status;
    plait_arena_rewind(arena, before);
    if (err)
        *err = (plait_error){PLAIT_OK, "", ""};
    PLAIT_TRY(run_on(&run, 1, depth, result, err));
    result->threads = threads;
    return PLAIT_OK;
}

/* Lists the space of a problem that was checked. */
static plait_status make_space(const plait_problem *problem, const plait_search_options *options,
                               search_depth depth, plait_arena *arena, plan_space *space,
                               plait_error *err)
{
    // A risk above 0.5 accepts plans that need more memory than tight ones.
    const double most_bytes =
        fmax(plait_capacity_bytes(problem, problem->risk), tight_bytes_of(problem, depth));

    return space_make(problem, options, most_bytes, arena, space, err);
}

/*
 * Searches the plans whose techniques measured runs support, without empty chunks. If none of them
 * fits, also searches the other plans.
 */
static plait_status search_supported(const plait_problem *problem,
                                     const plait_search_options *options, search_depth depth,
                                     search_below below, plait_arena *arena,
                                     plait_search_result *result, plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    plait_problem whole = *problem;
    plait_runtime *runtime;
    plait_error refusal;
    plan_space space;

    PLAIT_TRY(make_space(problem, options, depth, arena, &space, err));
    if (!problem->runtime->support.judged)
        return search_space(&space, depth, below, arena, result, err);
    const plait_status status = search_space(&space, depth, below, arena, result, &refusal);

    if (status == PLAIT_OK && result->plans > 0)
        return PLAIT_OK;
    if (status != PLAIT_OK && status != PLAIT_ERROR_RANGE)
        return plait_fail(err, status, refusal.where, "%s", refusal.message);
    if (status == PLAIT_OK && isfinite(below.objective)) {
        // the plans that measured runs support may fit, but none of them is below
        const plait_arena_mark found = plait_arena_save(arena);
        plait_search_result any;
        PLAIT_TRY(search_space(&space, SEARCH_ANY, any_plan, arena, &any, err));
        plait_arena_rewind(arena, found);
        if (any.plans > 0)
            return PLAIT_OK;
    }
    plait_arena_rewind(arena, mark);
    runtime = plait_arena_alloc(arena, 1, sizeof *runtime);
    PLAIT_TRY(plait_check_allocated(runtime, err));
    *runtime = *problem->runtime;
    memset(runtime->support.unmeasured, 0, sizeof runtime->support.unmeasured);
    runtime->support.judged = false; // also permits empty chunks
    whole.runtime = runtime;
    PLAIT_TRY(make_space(&whole, options, depth, arena, &space, err));
    PLAIT_TRY(search_space(&space, depth, below, arena, result, err));
    result->unmeasured = result->plans > 0;
    return PLAIT_OK;
}

/* Searches one node group for a heterogeneous search, and refined plans only below a step. */
static plait_status search_group(const plait_problem *problem, const plait_search_options *options,
                                 double refined_s, plait_arena *arena, plait_search_result *result,
                                 plait_error *err);

/* Searches the plans below the limits. */
static plait_status search_within(const plait_problem *problem, const plait_search_options *options,
                                  search_depth depth, search_below below, plait_arena *arena,
                                  plait_search_result *result, plait_error *err)
{
    const double start_s = search_seconds();
    plait_status status;

    *result = (plait_search_result){0};
    // Check the ranges of the options, and that the accelerator file has the data of the objective.
    PLAIT_TRY(search_options_check(options, err));
    PLAIT_TRY(problem_check(problem, err));
    const plait_accelerator *gpu = plait_cluster_accelerator(problem->cluster, 0);

    if (options->objective == PLAIT_MINIMISE_ENERGY && gpu->power_w <= 0.0)
        return plait_fail(
            err, PLAIT_ERROR_RANGE, "objective",
            "expected an objective other than energy, since the power of %s is unknown", gpu->name);
    if (options->objective == PLAIT_MINIMISE_COST && gpu->usd_per_hour <= 0.0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "objective",
                          "expected an objective other than cost, since the price of %s is unknown",
                          gpu->name);
    if ((unsigned)options->refine >= PLAIT_REFINES)
        return plait_fail(err, PLAIT_ERROR_RANGE, "refine",
                          "expected a value of plait_refine, found %d", (int)options->refine);
    if (options->top < 1 || options->top > 1000)
        return plait_fail(err, PLAIT_ERROR_RANGE, "top",
                          "expected an integer from 1 to 1000, found %d", options->top);
    if (options->threads < 0 || options->threads > 1024)
        return plait_fail(err, PLAIT_ERROR_RANGE, "threads",
                          "expected an integer from 0 to 1024, found %d", options->threads);
    if (!plait_cluster_priced(problem->cluster, problem->job.gpus, NULL, 0)) {
        status = hetero_search(problem, options, 0, depth >= SEARCH_FITS, search_group, arena,
                               result, err);
        result->elapsed_s = search_seconds() - start_s;
        return status;
    }
    PLAIT_TRY(search_supported(problem, options, depth, below, arena, result, err));
    result->elapsed_s = search_seconds() - start_s;
    return PLAIT_OK;
}

static plait_status search_group(const plait_problem *problem, const plait_search_options *options,
                                 double refined_s, plait_arena *arena, plait_search_result *result,
                                 plait_error *err)
{
    return search_within(problem, options, SEARCH_WHOLE, (search_below){HUGE_VAL, refined_s}, arena,
                         result, err);
}

plait_status search_problem_below(const plait_problem *problem, const plait_search_options *options,
                                  search_depth depth, double below, plait_arena *arena,
                                  plait_search_result *result, plait_error *err)
{
    return search_within(problem, options, depth, (search_below){below, HUGE_VAL}, arena, result,
                         err);
}

plait_status search_problem(const plait_problem *problem, const plait_search_options *options,
                            search_depth depth, plait_arena *arena, plait_search_result *result,
                            plait_error *err)
{
    return search_problem_below(problem, options, depth, HUGE_VAL, arena, result, err);
}

plait_status plait_search(const plait_problem *problem, const plait_search_options *options,
                          plait_arena *arena, plait_search_result *result, plait_error *err)
{
    return search_problem(problem, options, SEARCH_WHOLE, arena, result, err);
}

plait_status search_best_plan_below(const plait_problem *problem,
                                    const plait_search_options *options, search_depth depth,
                                    double below, plait_arena *arena, bool *fits, plait_ranked *out,
                                    plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    plait_search_options one = *options;
    plait_search_result result = {0};
    plait_error refusal;

    one.top = 1;
    one.distinct = 0;
    one.progress = NULL;
    const plait_status status =
        search_problem_below(problem, &one, depth, below, arena, &result, &refusal);
    *fits = status == PLAIT_OK && result.plans > 0;
    if (*fits)
        *out = result.plan[0];
    else
        plait_arena_rewind(arena, mark);
    if (status != PLAIT_OK && status != PLAIT_ERROR_RANGE) // RANGE: no plan is legal
        return plait_fail(err, status, refusal.where, "%s", refusal.message);
    return PLAIT_OK;
}

plait_status search_best_plan(const plait_problem *problem, const plait_search_options *options,
                              search_depth depth, plait_arena *arena, bool *fits, plait_ranked *out,
                              plait_error *err)
{
    return search_best_plan_below(problem, options, depth, HUGE_VAL, arena, fits, out, err);
}

// ---- idle groups ---------------------------------------------------------------------------

plait_status plait_idle_groups(const plait_problem *problem, const plait_search_options *options,
                               const plait_plan *plan, plait_arena *arena,
                               plait_idle_group found[PLAIT_MAX_NODE_GROUPS], int *count,
                               plait_error *err)
{
    plait_search_options one;

    *count = 0;
    PLAIT_TRY(problem_check(problem, err));
    PLAIT_TRY(search_options_check(options, err));
    PLAIT_TRY(plan_check_ranges(plan, err));
    one = *options;
    one.top = 1;
    one.distinct = 0;
    if (plait_cluster_priced(problem->cluster, problem->job.gpus, NULL, 0))
        return PLAIT_OK;
    for (int g = 0; g < problem->cluster->groups; g++) {
        const int gpus = plait_cluster_taken(problem->cluster, problem->job.gpus, g);
        plait_search_result with;
        if (gpus == 0 || plait_plan_gpus(plan, g) > 0)
            continue;
        PLAIT_TRY(hetero_search(problem, &one, 1u << g, false, search_group, arena, &with, err));
        found[*count] = (plait_idle_group){.group = g, .gpus = gpus, .any = with.plans > 0};
        if (with.plans > 0)
            found[*count].best = with.plan[0];
        ++*count;
    }
    return PLAIT_OK;
}
