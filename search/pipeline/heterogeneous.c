/*
 * heterogeneous.c - merges the best plans over several node groups with those of each group alone
 * (S.67)
 */
#include "search/pipeline/heterogeneous.h"

#include <math.h>
#include <string.h>

#include "plan/problem_check.h"
#include "search/space/space.h"
#include "search/exhaustive/exhaustive.h"

// ---- plans that are kept -------------------------------------------------------------------

double hetero_limit(const hetero_problem *q)
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

void hetero_keep(hetero_problem *q, const plait_plan *plan, double objective)
{
    int at = q->found_count < q->top ? q->found_count : q->top - 1;

    for (int i = 0; i < q->found_count; i++)
        if (same_plan(plan, &q->found[i].plan))
            return;
    if (objective >= hetero_limit(q))
        return;
    if (q->found_count < q->top)
        q->found_count++;
    for (; at > 0 && q->found[at - 1].objective > objective; at--)
        q->found[at] = q->found[at - 1];
    q->found[at] = (hetero_plan){*plan, objective};
}

// ---- the problem ---------------------------------------------------------------------------

static plait_status check(const plait_problem *problem, const plait_search_options *options,
                          plait_error *err)
{
    if (!problem->runtime->can.stages_differ)
        return plait_fail(err, PLAIT_ERROR_RANGE, "cluster",
                          "expected one kind of node, since %s runs all stages alike (rule P31), "
                          "found several; use --runtime companion or flagscale",
                          problem->runtime->name);
    if (options->objective != PLAIT_MINIMISE_TIME && options->objective != PLAIT_MINIMISE_COST)
        return plait_fail(
            err, PLAIT_ERROR_RANGE, "objective",
            "expected time or cost, since the cluster has several kinds of nodes, found %s",
            plait_objective_name[options->objective]);
    for (int i = 0; i < options->limits; i++) {
        const plait_key_id key = options->limit[i].key;
        if (key == PLAIT_KEY_DP || key == PLAIT_KEY_SPLIT || key == PLAIT_KEY_SHARD_GROUP)
            return plait_fail(err, PLAIT_ERROR_RANGE, plait_keys[key].name,
                              "expected no limit on this key, since each kind of node has its own "
                              "value, found one");
    }
    return PLAIT_OK;
}

static plait_status rank(const hetero_problem *q, const plait_plan *plan, int index,
                         plait_ranked *out, plait_error *err)
{
    plait_cost cost;
    unsigned groups = 0;

    PLAIT_TRY(plait_plan_evaluate(q->problem, plan, NULL, q->arena, &cost, err));
    for (int s = 0; s < plan->stages; s++)
        groups |= 1u << plan->stage[s].group;
    *out = (plait_ranked){.plan = *plan,
                          .price = {.step_s = cost.step_s,
                                    .peak_bytes = cost.memory.peak_bytes,
                                    .busy_s = cost.busy_s,
                                    .moving_s = cost.moving_s,
                                    .exact = true},
                          .objective = hetero_weight(q, groups) * cost.step_s,
                          .index = index};
    return PLAIT_OK;
}

/*
 * Prices the kept plans in full and sorts them again, since the last digits of full prices may
 * differ from those of the labels.
 */
static plait_status take_plans(const hetero_problem *q, plait_search_result *result,
                               plait_error *err)
{
    plait_ranked *plan = plait_arena_alloc(q->arena, (size_t)q->top, sizeof *plan);

    PLAIT_TRY(plait_check_allocated(plan, err));
    for (int i = 0; i < q->found_count; i++) {
        plait_ranked ranked;
        PLAIT_TRY(rank(q, &q->found[i].plan, i, &ranked, err));
        int at = result->plans++;
        for (; at > 0 && plan[at - 1].objective > ranked.objective; at--)
            plan[at] = plan[at - 1];
        plan[at] = ranked;
    }
    result->plan = plan;
    return PLAIT_OK;
}

// ---- each group alone ----------------------------------------------------------------------
//
// Each group alone is searched with the full plan space, including schedules and numbers of chunks
// that plans over several groups do not support. The result is therefore never worse than that of
// one group. (S.67)

/* Sets the group of a plan's stages. */
static plait_status on_group(plait_plan *plan, int g, plait_arena *arena, plait_error *err)
{
    plait_stage *stage = plait_arena_alloc(arena, (size_t)plan->stages, sizeof *stage);

    PLAIT_TRY(plait_check_allocated(stage, err));
    for (int s = 0; s < plan->stages; s++) {
        stage[s] = plan->stage[s];
        stage[s].group = g;
    }
    plan->stage = stage;
    return PLAIT_OK;
}

/* The result of the search of one group alone. */
typedef struct group_alone {
    plait_search_result result;
    double missing_bytes; /* bytes by which the closest plan exceeds memory; infinite: none */
} group_alone;

/*
 * Searches one group alone. Keeps its best plans, or the reason why it has none. Refined plans are
 * searched only if they may be kept.
 */
static plait_status search_alone(hetero_problem *q, int g, group_alone *out, plait_error *err)
{
    const double limit_s = hetero_limit(q) / hetero_weight(q, 1u << g) * (1.0 + 1e-12);
    plait_search_options options = *q->options;
    plait_degrees all = plait_degrees_init();
    plait_cluster cluster;

    all.dp = plait_cluster_taken(q->problem->cluster, q->problem->job.gpus, g);
    const plait_problem problem = plait_problem_of_group(q->problem, g, &all, &cluster);
    plait_search_result *const result = &out->result;
    plait_error refusal;

    options.progress = NULL;
    *out = (group_alone){.missing_bytes = HUGE_VAL};
    if (problem.job.gpus == 0 || (q->must & ~(1u << g)) != 0)
        return PLAIT_OK;
    const plait_status status =
        q->search_group(&problem, &options, limit_s, q->arena, result, &refusal);
    if (status == PLAIT_ERROR_NOMEM)
        return plait_fail_nomem(err);
    if (status != PLAIT_OK) {
        const char *const none_legal = "found none: ";
        const char *why = strstr(refusal.message, none_legal);
        q->why[g] = why ? plait_arena_text(q->arena, why + strlen(none_legal)) : NULL;
        *result = (plait_search_result){0};
        return PLAIT_OK;
    }
    for (int i = 0; i < result->plans; i++) {
        plait_plan plan = result->plan[i].plan;
        PLAIT_TRY(on_group(&plan, g, q->arena, err));
        hetero_keep(q, &plan, hetero_weight(q, 1u << g) * result->plan[i].price.step_s);
    }
    if (result->has_closest)
        out->missing_bytes =
            result->closest.price.peak_bytes - plait_capacity_bytes(&problem, problem.risk);
    return PLAIT_OK;
}

/* Returns the FLOP/s of all GPUs that the job takes of a group. */
static double group_flops_per_s(const hetero_problem *q, int g)
{
    const plait_cluster *const cluster = q->problem->cluster;

    return plait_cluster_taken(cluster, q->problem->job.gpus, g) *
           cluster->group[g].accelerator->peak_flops_per_s[PLAIT_BF16];
}

/* Lists the groups, those with the most FLOP/s first. */
static void order_groups(const hetero_problem *q, int order[PLAIT_MAX_NODE_GROUPS])
{
    for (int g = 0; g < q->problem->cluster->groups; g++) {
        int at = g;
        for (; at > 0 && group_flops_per_s(q, g) > group_flops_per_s(q, order[at - 1]); at--)
            order[at] = order[at - 1];
        order[at] = g;
    }
}

/*
 * Searches each group alone. The group with the most FLOP/s is first, since its plan limits the
 * searches of the others. Keeps the closest plan of all.
 */
static plait_status search_each_alone(hetero_problem *q, plait_search_result *sum, plait_error *err)
{
    const int groups = q->problem->cluster->groups;
    group_alone alone[PLAIT_MAX_NODE_GROUPS];
    int order[PLAIT_MAX_NODE_GROUPS];

    order_groups(q, order);
    for (int i = 0; i < groups; i++)
        PLAIT_TRY(search_alone(q, order[i], &alone[order[i]], err));
    for (int g = 0; g < groups; g++) {
        const plait_search_result *const one = &alone[g].result;
        sum->points += one->points;
        sum->priced += one->priced;
        sum->fits += one->fits;
        sum->threads = one->threads > 0 ? one->threads : sum->threads;
        q->closest_open = q->closest_open || (one->has_closest && !one->closest_proven);
        if (alone[g].missing_bytes >= q->missing_bytes)
            continue;
        q->missing_bytes = alone[g].missing_bytes;
        q->closest = one->closest.plan;
        PLAIT_TRY(on_group(&q->closest, g, q->arena, err));
    }
    return PLAIT_OK;
}

// ---- recomputation -------------------------------------------------------------------------

/*
 * Lists the kinds of recomputation. List 0 has all kinds that may differ between stages; each
 * further list has one of the kinds that all stages must share (rule P40).
 */
static plait_status list_recompute(hetero_problem *q, plait_error *err)
{
    space_recompute all;
    int alone = 0;

    PLAIT_TRY(space_list_recompute(q->problem, q->options, q->arena, &all, err));
    plait_recompute *differ = plait_arena_alloc(q->arena, (size_t)all.count + 1, sizeof *differ);
    plait_recompute *shared = plait_arena_alloc(q->arena, (size_t)all.count + 1, sizeof *shared);
    PLAIT_TRY(plait_check_allocated(differ && shared, err));
    q->list[0] = (recompute_list){0, differ};
    for (int i = 0; i < all.count; i++) {
        const plait_recompute one = all.value[i].recompute;
        if (all.value[i].offload_acts != 0)
            continue;
        if (!(q->problem->runtime->can.recompute_alike >> one.kind & 1u))
            differ[q->list[0].count++] = one;
        else if (++alone < HETERO_LISTS) {
            shared[alone - 1] = one;
            q->list[alone] = (recompute_list){1, &shared[alone - 1]};
        }
    }
    q->lists = 1 + alone < HETERO_LISTS ? 1 + alone : HETERO_LISTS;
    return PLAIT_OK;
}

// ---- nothing fits --------------------------------------------------------------------------

/*
 * Fails with the reasons why no plan is legal even without memory limits: why the first group alone
 * has none, and why several groups together have none.
 */
static plait_status fail_illegal(const hetero_problem *q, plait_error *err)
{
    const plait_cluster *cluster = q->problem->cluster;

    for (int g = 0; g < cluster->groups; g++)
        if (q->why[g])
            return plait_fail(err, PLAIT_ERROR_RANGE, "search",
                              "expected at least one legal plan, found none: on %s alone, %s; no "
                              "two groups can have the same dp x mbs (rule P33)",
                              cluster->group[g].accelerator->name, q->why[g]);
    return plait_fail(err, PLAIT_ERROR_RANGE, "search",
                      "expected at least one legal plan, found none: no two groups can have the "
                      "same dp x mbs (rule P33)");
}

/* Finds the closest plan over several groups or of one group alone. */
static plait_status find_closest(const hetero_problem *q, plait_search_result *result,
                                 plait_error *err)
{
    hetero_problem min_memory = {.problem = q->problem,
                                 .options = q->options,
                                 .arena = q->arena,
                                 .scratch = q->scratch,
                                 .cached = q->cached,
                                 .prices = q->prices,
                                 .min_memory = true};
    plait_plan plan = q->closest;

    min_memory.missing_bytes = q->missing_bytes;
    min_memory.ranges = q->ranges;
    min_memory.range = q->range;
    PLAIT_TRY(list_recompute(&min_memory, err));
    PLAIT_TRY(hetero_list_degrees(&min_memory, err));
    for (int n = 0; n < min_memory.lists; n++) {
        PLAIT_TRY(hetero_select_list(&min_memory, n, err));
        PLAIT_TRY(hetero_closest(&min_memory, &plan, err));
    }
    result->has_closest = min_memory.missing_bytes < HUGE_VAL;
    result->closest_proven = !q->closest_open;
    if (!result->has_closest)
        return result->points > 0 ? PLAIT_OK : fail_illegal(q, err);
    return rank(q, &plan, 0, &result->closest, err);
}

// ---- the search ----------------------------------------------------------------------------

enum {
    UNEVEN_OPTIONS = 1 << 23 /* most options with two runs in a group to try */
};

/*
 * Searches choices in which one group has two runs, for plans better than the best with one run per
 * group.
 */
static plait_status search_uneven(hetero_problem *q, const hetero_space *space,
                                  plait_refinement *out, plait_error *err)
{
    const double before = q->found_count > 0 ? q->found[0].objective : HUGE_VAL;
    const double start_s = search_seconds();
    const int64_t orders = q->listed, solved = q->solved;
    int64_t budget = UNEVEN_OPTIONS;
    double lower_bound = HUGE_VAL;

    for (int n = 0; n < q->lists; n++) {
        q->space = space[n];
        PLAIT_TRY(hetero_search_orders(q, &budget, &lower_bound, err));
    }
    const double best = q->found_count > 0 ? q->found[0].objective : HUGE_VAL;
    *out = (plait_refinement){.name = "runs",
                              .any = best < before,
                              .before = before,
                              .floor = lower_bound < best ? lower_bound : best,
                              .optimal = lower_bound >= best,
                              .points = q->listed - orders,
                              .solved = q->solved - solved,
                              .elapsed_s = search_seconds() - start_s};
    return PLAIT_OK;
}

static plait_status run(hetero_problem *q, plait_search_result *result, plait_error *err)
{
    const plait_cluster *cluster = q->problem->cluster;
    hetero_space space[HETERO_LISTS];

    q->found = plait_arena_alloc(q->arena, (size_t)q->top, sizeof *q->found);
    q->range = pipeline_ranges(q->problem->model, q->arena, &q->ranges);
    PLAIT_TRY(plait_check_allocated(q->found && q->range, err));
    for (int g = 0; g < cluster->groups; g++)
        q->usd_per_s[g] = plait_cluster_taken(cluster, q->problem->job.gpus, g) *
                          cluster->group[g].accelerator->usd_per_hour / 3600.0;
    PLAIT_TRY(search_each_alone(q, result, err));
    PLAIT_TRY(list_recompute(q, err));
    PLAIT_TRY(hetero_list_degrees(q, err));
    for (int n = 0; n < q->lists; n++) { // choices with one run per group
        PLAIT_TRY(hetero_select_list(q, n, err));
        PLAIT_TRY(hetero_search_orders(q, NULL, NULL, err));
        space[n] = q->space;
    }
    result->points += q->listed;
    result->priced += q->solved;
    result->pruned = result->points - result->priced;
    result->strategy = "mixed";
    result->optimal = true;
    // a search with `must` only measures the value of a group
    if (q->must == 0 && !q->fits_only && q->options->refine != PLAIT_REFINE_NONE)
        PLAIT_TRY(search_uneven(q, space, &result->refinement[result->refinements++], err));
    PLAIT_TRY(take_plans(q, result, err));
    if (result->plans > 0 && result->refinements > 0)
        result->refinement[0].best = result->plan[0];
    return result->plans == 0 && q->must == 0 && !q->fits_only ? find_closest(q, result, err)
                                                               : PLAIT_OK;
}

/* Searches with memory that ends with the search; NULL: out of memory. */
static plait_status run_with(hetero_problem *q, plait_arena *prices, plait_search_result *result,
                             plait_error *err)
{
    PLAIT_TRY(plait_check_allocated(q->scratch && q->cached && prices, err));
    q->prices = plait_stage_cache_new(q->problem, prices);
    PLAIT_TRY(plait_check_allocated(q->prices, err));
    return run(q, result, err);
}

plait_status hetero_search(const plait_problem *problem, const plait_search_options *options,
                           unsigned must, bool fits_only, hetero_group_search *search_group,
                           plait_arena *arena, plait_search_result *result, plait_error *err)
{
    hetero_problem *q = plait_arena_alloc(arena, 1, sizeof *q);

    *result = (plait_search_result){.threads = 1};
    PLAIT_TRY(check(problem, options, err));
    PLAIT_TRY(plait_check_allocated(q, err));
    *q = (hetero_problem){.problem = problem,
                          .options = options,
                          .search_group = search_group,
                          .arena = arena,
                          .scratch = plait_arena_new(),
                          .cached = plait_arena_new(),
                          .top = options->top,
                          .missing_bytes = HUGE_VAL,
                          .must = must,
                          .fits_only = fits_only};
    plait_arena *const prices = plait_arena_new();
    const plait_status status = run_with(q, prices, result, err);
    plait_arena_free(prices);
    plait_arena_free(q->cached);
    plait_arena_free(q->scratch);
    return status;
}
