/*
 * alone.c - each group alone, beside the lines over several
 *
 * One group alone has the whole plan space of its nodes (plait_search), with schedules and chunks that
 * stages which differ have not; so no answer here is behind that of any group alone. (S.67)
 */
#include <string.h>

#include "search/pipeline/heterogeneous.h"
#include "rules/plan_check.h"

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
static plait_problem alone(const hetero_problem *q, int g, plait_cluster *cluster)
{
    plait_degrees all = plait_degrees_init();

    all.dp = plait_cluster_taken(q->problem->cluster, q->problem->job.gpus, g);
    return plait_problem_of_group(q->problem, g, &all, cluster);
}

/* Nothing fits so far: does its closest plan lack less than those of the groups before? */
static plait_status note_closest(hetero_problem *q, int g, const plait_problem *problem,
                                 const plait_ranked *closest, plait_error *err)
{
    const double lacks_bytes =
        closest->price.peak_bytes - plait_capacity_bytes(problem, problem->risk);

    if (lacks_bytes >= q->lacks_bytes)
        return PLAIT_OK;
    q->lacks_bytes = lacks_bytes;
    q->closest = closest->plan;
    return on_group(&q->closest, g, q->arena, err);
}

/* A group that has no legal plan of its own adds nothing. */
plait_status hetero_add_alone(hetero_problem *q, int g, plait_search_result *sum, plait_error *err)
{
    plait_search_options options = *q->options;
    plait_cluster cluster;
    const plait_problem problem = alone(q, g, &cluster);
    plait_search_result result;
    plait_error refusal;

    options.progress = NULL;
    if (problem.job.gpus == 0 || (q->must & ~(1u << g)) != 0)
        return PLAIT_OK;
    const plait_status status = plait_search(&problem, &options, q->arena, &result, &refusal);
    if (status == PLAIT_ERROR_NOMEM)
        return plait_fail_nomem(err);
    if (status != PLAIT_OK) {
        const char *const none_legal = "found none: ";
        const char *why = strstr(refusal.message, none_legal);
        q->why[g] = why ? plait_arena_text(q->arena, why + strlen(none_legal)) : NULL;
        return PLAIT_OK;
    }
    sum->points += result.points;
    sum->priced += result.priced;
    sum->fits += result.fits;
    sum->threads = result.threads;
    for (int i = 0; i < result.plans; i++) {
        plait_plan plan = result.plan[i].plan;
        PLAIT_TRY(on_group(&plan, g, q->arena, err));
        hetero_keep(q, &plan, hetero_weight(q, 1u << g) * result.plan[i].price.step_s);
    }
    q->closest_open = q->closest_open || (result.has_closest && !result.closest_proven);
    return result.has_closest ? note_closest(q, g, &problem, &result.closest, err) : PLAIT_OK;
}
