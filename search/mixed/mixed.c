/*
 * mixed.c - the answer over several sorts of nodes: all lines, and each group alone beside them
 *
 * One group alone has the whole plan space of its nodes (plait_search), with schedules and chunks that
 * stages which differ have not; so no answer here is behind that of any group alone. (S.67)
 */
#include "mixed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "plan_check.h"
#include "space.h"

// ---- what is kept --------------------------------------------------------------------------

double mixed_limit(const mixed_question *q)
{
    return q->found_count < q->top ? HUGE_VAL : q->found[q->top - 1].objective;
}

static bool same_plan(const plait_plan *a, const plait_plan *b)
{
    if (a->stages != b->stages || a->degrees.vpp != b->degrees.vpp)
        return false;
    for (int s = 0; s < a->stages; s++) {
        if (a->stage[s].group != b->stage[s].group || a->stage[s].layers != b->stage[s].layers)
            return false;
        for (int key = 0; key < PLAIT_KEYS; key++)
            if (!plait_key_same(&a->stage[s].degrees, &b->stage[s].degrees, (plait_key_id)key))
                return false;
    }
    return true;
}

void mixed_keep(mixed_question *q, const plait_plan *plan, double objective)
{
    int at = q->found_count < q->top ? q->found_count : q->top - 1;

    for (int i = 0; i < q->found_count; i++)
        if (same_plan(plan, &q->found[i].plan))
            return;
    if (objective >= mixed_limit(q))
        return;
    if (q->found_count < q->top)
        q->found_count++;
    for (; at > 0 && q->found[at - 1].objective > objective; at--)
        q->found[at] = q->found[at - 1];
    q->found[at] = (mixed_found){*plan, objective, q->lines};
}

// ---- one group alone -----------------------------------------------------------------------

/* A plan of one group, whose stages say which. */
static plait_status on_group(plait_plan *plan, int g, plait_arena *arena, plait_error *err)
{
    plait_stage *stage = plait_arena_alloc(arena, (size_t)plan->stages, sizeof *stage);

    if (!stage)
        return plait_fail_nomem(err);
    for (int s = 0; s < plan->stages; s++) {
        stage[s] = plan->stage[s];
        stage[s].group = g;
    }
    plan->stage = stage;
    return PLAIT_OK;
}

/* The group of all of its GPUs. */
static plait_problem alone(const mixed_question *q, int g, plait_cluster *cluster)
{
    plait_degrees all = plait_degrees_init();

    all.dp = plait_cluster_taken(q->problem->cluster, q->problem->job.gpus, g);
    return plait_problem_of_group(q->problem, g, &all, cluster);
}

/* A group that has no legal plan of its own adds nothing. */
static plait_status add_alone(mixed_question *q, int g, plait_search_result *sum, plait_error *err)
{
    plait_search_options options = *q->options;
    plait_cluster cluster;
    const plait_problem problem = alone(q, g, &cluster);
    plait_search_result result;
    plait_error none;

    options.progress = NULL;
    if (problem.job.gpus == 0 || (q->must & ~(1u << g)) != 0)
        return PLAIT_OK;
    const plait_status status = plait_search(&problem, &options, q->arena, &result, &none);
    if (status == PLAIT_ERROR_NOMEM)
        return plait_fail_nomem(err);
    if (status != PLAIT_OK)
        return PLAIT_OK;
    sum->points += result.points;
    sum->priced += result.priced;
    sum->fits += result.fits;
    sum->threads = result.threads;
    for (int i = 0; i < result.plans; i++) {
        plait_plan plan = result.plan[i].plan;
        PLAIT_TRY(on_group(&plan, g, q->arena, err));
        mixed_keep(q, &plan, mixed_weight(q, 1u << g) * result.plan[i].price.step_s);
    }
    return PLAIT_OK;
}

// ---- the question --------------------------------------------------------------------------

static plait_status check(const plait_problem *problem, const plait_search_options *options,
                          plait_error *err)
{
    if (!problem->runtime->can.stages_differ)
        return plait_fail(err, PLAIT_ERROR_RANGE, "cluster",
                          "expected one sort of nodes, since %s runs every stage alike (rule P31), "
                          "found several; --runtime companion and flagscale take them",
                          problem->runtime->name);
    if (options->objective != PLAIT_MINIMISE_TIME && options->objective != PLAIT_MINIMISE_COST)
        return plait_fail(err, PLAIT_ERROR_RANGE, "objective",
                          "expected time or cost over several sorts of nodes, found %s",
                          plait_objective_name[options->objective]);
    return PLAIT_OK;
}

static void list_recompute(mixed_question *q)
{
    static const plait_recompute all[MIXED_RECOMPUTES] = {{.kind = PLAIT_RECOMPUTE_NONE},
                                                          {.kind = PLAIT_RECOMPUTE_SELECTIVE},
                                                          {.kind = PLAIT_RECOMPUTE_FULL}};
    char text[96];

    for (int r = 0; r < MIXED_RECOMPUTES; r++) {
        plait_degrees d = plait_degrees_init();
        d.recompute = all[r];
        if ((q->problem->runtime->can.takes[PLAIT_KEY_RECOMPUTE] >> all[r].kind & 1u) &&
            limits_allow_text(q->options, PLAIT_KEY_RECOMPUTE,
                              plait_degrees_get(&d, PLAIT_KEY_RECOMPUTE, text, sizeof text)))
            q->recompute[q->recomputes++] = all[r];
    }
}

static plait_status make(mixed_question *q, plait_error *err)
{
    const plait_cluster *cluster = q->problem->cluster;

    q->top = q->options->top;
    q->found = plait_arena_alloc(q->arena, (size_t)q->top, sizeof *q->found);
    if (!q->found)
        return plait_fail_nomem(err);
    for (int g = 0; g < cluster->groups; g++)
        q->usd_per_s[g] = plait_cluster_taken(cluster, q->problem->job.gpus, g) *
                          cluster->group[g].accelerator->usd_per_hour / 3600.0;
    list_recompute(q);
    return PLAIT_OK;
}

/* Prices in full, best first: their last digits may differ from those of the labels. */
static plait_status take_plans(const mixed_question *q, plait_search_result *result,
                               plait_error *err)
{
    plait_ranked *plan = plait_arena_alloc(q->arena, (size_t)q->top, sizeof *plan);

    if (!plan)
        return plait_fail_nomem(err);
    for (int i = 0; i < q->found_count; i++) {
        const plait_plan *of = &q->found[i].plan;
        plait_cost cost;
        unsigned groups = 0;
        PLAIT_TRY(plait_plan_cost(q->problem, of, q->arena, &cost, err));
        for (int s = 0; s < of->stages; s++)
            groups |= 1u << of->stage[s].group;
        const plait_ranked ranked = {.plan = *of,
                                     .price = {.step_s = cost.step_s,
                                               .peak_bytes = cost.memory.peak_bytes,
                                               .busy_s = cost.busy_s,
                                               .moving_s = cost.moving_s,
                                               .exact = true},
                                     .objective = mixed_weight(q, groups) * cost.step_s,
                                     .index = i};
        int at = result->plans++;
        for (; at > 0 && plan[at - 1].objective > ranked.objective; at--)
            plan[at] = plan[at - 1];
        plan[at] = ranked;
    }
    result->plan = plan;
    return PLAIT_OK;
}

static plait_status run(mixed_question *q, plait_search_result *result, plait_error *err)
{
    PLAIT_TRY(make(q, err));
    for (int g = 0; g < q->problem->cluster->groups; g++)
        PLAIT_TRY(add_alone(q, g, result, err));
    PLAIT_TRY(mixed_list_ranges(q, err));
    if (q->recomputes > 0) {
        PLAIT_TRY(mixed_list_choices(q, err));
        PLAIT_TRY(mixed_walk(q, err));
    }
    result->points += q->lines;
    result->priced += q->solved;
    result->pruned = result->points - result->priced;
    result->strategy = "mixed";
    result->optimal = true;
    return take_plans(q, result, err);
}

static plait_status search_with(const plait_problem *problem, const plait_search_options *options,
                                unsigned must, plait_arena *arena, plait_search_result *result,
                                plait_error *err)
{
    mixed_question *q = plait_arena_alloc(arena, 1, sizeof *q);

    *result = (plait_search_result){.threads = 1};
    PLAIT_TRY(check(problem, options, err));
    if (!q)
        return plait_fail_nomem(err);
    *q = (mixed_question){.problem = problem,
                          .options = options,
                          .arena = arena,
                          .scratch = plait_arena_new(),
                          .must = must};
    const plait_status status = q->scratch ? run(q, result, err) : plait_fail_nomem(err);
    plait_arena_free(q->scratch);
    return status;
}

plait_status mixed_search(const plait_problem *problem, const plait_search_options *options,
                          plait_arena *arena, plait_search_result *result, plait_error *err)
{
    return search_with(problem, options, 0, arena, result, err);
}

// ---- groups that are left idle -------------------------------------------------------------

plait_status plait_idle_groups(const plait_problem *problem, const plait_search_options *options,
                               const plait_plan *plan, plait_arena *arena,
                               plait_idle_group found[PLAIT_MAX_NODE_GROUPS], int *count,
                               plait_error *err)
{
    plait_search_options one = *options;

    *count = 0;
    one.top = 1;
    if (plait_cluster_priced(problem->cluster, problem->job.gpus, NULL, 0))
        return PLAIT_OK;
    for (int g = 0; g < problem->cluster->groups; g++) {
        const int gpus = plait_cluster_taken(problem->cluster, problem->job.gpus, g);
        plait_search_result with;
        if (gpus == 0 || plait_plan_gpus(plan, g) > 0)
            continue;
        PLAIT_TRY(search_with(problem, &one, 1u << g, arena, &with, err));
        found[*count] = (plait_idle_group){.group = g, .gpus = gpus, .any = with.plans > 0};
        if (with.plans > 0)
            found[*count].best = with.plan[0];
        ++*count;
    }
    return PLAIT_OK;
}
