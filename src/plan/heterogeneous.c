/* heterogeneous.c - plans whose stages differ, and plans that use one node group only */
#include "plan/heterogeneous.h"

#include <limits.h>

#include "base/saturating.h"
#include "plan/choices.h"

/* Returns whether all stages have the plan's degrees, apart from keys that a stage can change. */
static bool stages_alike(const plait_plan *plan)
{
    const plait_key_set chosen = PLAN_OWN_KEYS | PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE);

    for (int s = 0; s < plan->stages; s++)
        for (int key = 0; key < PLAIT_KEYS; key++)
            if (!(chosen & PLAIT_KEY_BIT(key)) &&
                !plait_key_same(&plan->stage[s].degrees, &plan->degrees, (plait_key_id)key))
                return false;
    return true;
}

bool plait_plan_mixed(const plait_problem *p, const plait_plan *plan)
{
    return !plait_cluster_priced(p->cluster, p->job.gpus, NULL, 0) ||
           (p->runtime->can.stages_differ && !stages_alike(plan));
}

int stage_gpus(const plait_stage *stage)
{
    return saturating_mul(saturating_mul(stage->degrees.tp, stage->degrees.cp), stage->degrees.dp);
}

int plait_plan_gpus(const plait_plan *plan, int g)
{
    int64_t gpus = 0;

    for (int s = 0; s < plan->stages; s++)
        if (g < 0 || plan->stage[s].group == g)
            gpus += stage_gpus(&plan->stage[s]);
    return gpus < INT_MAX ? (int)gpus : INT_MAX;
}

plait_problem plait_problem_of_group(const plait_problem *p, int g, const plait_degrees *d,
                                     plait_cluster *cluster)
{
    const int gpus = saturating_mul(saturating_mul(saturating_mul(d->pp, d->tp), d->cp), d->dp);
    plait_problem of_group = *p;

    *cluster = plait_cluster_of_group(p->cluster, g, gpus);
    of_group.cluster = cluster;
    of_group.job.group_gpus = plait_cluster_taken(p->cluster, p->job.gpus, g);
    of_group.job.gpus = gpus;
    return of_group;
}

bool plan_of_group(const plait_problem *p, const plait_plan *plan, plait_problem *of_group,
                   plait_cluster *cluster)
{
    const int g = plan->stages > 0 ? plan->stage[0].group : -1;

    // If all stages use one node group with the plan's degrees, the plan is a uniform plan of that
    // group.
    for (int s = 1; s < plan->stages; s++)
        if (plan->stage[s].group != plan->stage[0].group)
            return false;
    if (!stages_alike(plan))
        return false;
    if (g < 0 || g >= p->cluster->groups)
        return false;
    *of_group = plait_problem_of_group(p, g, &plan->degrees, cluster);
    return true;
}
