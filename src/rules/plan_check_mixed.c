/*
 * plan_check_mixed.c - legality of plans with different stages
 *
 *     stage 0, 1   group 0   tp 4  dp 32  mbs 2       H100: 64 sequences a microbatch
 *     stage 2      group 1   tp 8  dp 16  mbs 4       A100: the same 64
 */
#include <limits.h>
#include <stdio.h>

#include "plan/heterogeneous.h"
#include "rules/plan_check.h"

// ---- legality -----------------------------------------------------------------------

/* Returns whether the node group of stage s is valid. If not, writes an error to `wrong`. */
static bool group_is_valid(const plait_problem *p, const plait_plan *plan, int s, const bool *seen,
                           char wrong[200])
{
    const plait_cluster *const cluster = p->cluster;
    const int g = plan->stage[s].group;
    const int has =
        g < 0 || g >= cluster->groups ? 0 : plait_cluster_taken(cluster, p->job.gpus, g);

    wrong[0] = '\0';
    if (has == 0)
        snprintf(wrong, 200, "%.80s has %d node groups", cluster->name,
                 plait_cluster_groups(cluster, p->job.gpus));
    else if (plait_plan_gpus(plan, g) > has)
        snprintf(wrong, 200, "the stages of this group need %d GPUs, but the group has %d",
                 plait_plan_gpus(plan, g), has);
    else if (s > 0 && g != plan->stage[s - 1].group && seen[g])
        snprintf(wrong, 200, "the stages of a group must be consecutive");
    return wrong[0] == '\0';
}

/*
 * Checks keys with one possible value in heterogeneous plans, and keys that all stages must share.
 */
static bool schedule_is_plain(const plait_plan *plan, int s, const plan_reason *why)
{
    static const struct {
        plait_key_id key;
        int value; /* required value; -1: the plan's value */
    } common[] = {
        {PLAIT_KEY_SCHEDULE, PLAIT_1F1B},
        {PLAIT_KEY_VPP, 1},
        {PLAIT_KEY_ORDER, PLAIT_ORDER_TP_CP_DP_PP},
        {PLAIT_KEY_GRAD_SYNC, PLAIT_SYNC_BUCKETED},
        {PLAIT_KEY_FUSION, PLAIT_FUSION_NONE},
        {PLAIT_KEY_EP_OVERLAP, PLAIT_EP_OVERLAP_NONE},
        {PLAIT_KEY_POST_VALIDATION, 0},
        {PLAIT_KEY_PP, -1},
        {PLAIT_KEY_GRAD_REDUCE, -1},
        {PLAIT_KEY_OPTIMIZER_STATE, -1},
        {PLAIT_KEY_FP8_PARAMS, -1},
    };
    char found[96], expected[96];

    for (size_t i = 0; i < sizeof common / sizeof *common; i++) {
        const plait_key_id key = common[i].key;
        plait_degrees as = plan->degrees;

        if (common[i].value >= 0)
            plait_key_put(&as, key, common[i].value);
        if (!plait_key_same(&plan->stage[s].degrees, &as, key))
            return fail_because(
                why,
                "stage %d has %s %s, but plans with different stages need %s in every "
                "stage (rule P34)",
                s, plait_keys[key].name,
                plait_degrees_get(&plan->stage[s].degrees, key, found, sizeof found),
                plait_degrees_get(&as, key, expected, sizeof expected));
    }
    return true;
}

bool plan_mixed_legal(const plait_problem *p, const plait_plan *plan, const plan_reason *why)
{
    plait_problem of_group;
    plait_cluster cluster;
    char wrong[200];

    if (plan->stages < 1)
        return fail_because(why, "the plan has no stages");
    if (!p->runtime->can.stages_differ)
        return fail_because(
            why, "%s runs all stages with the same degrees on one kind of node (rule P31)",
            p->runtime->name);
    if (plait_plan_cuts(plan))
        return fail_because(
            why, "layers with their own tp or ZeRO stage cannot be priced if stages differ");

    // Each node group must exist, have enough GPUs, and be used by consecutive stages.
    bool seen[PLAIT_MAX_NODE_GROUPS] = {false};
    for (int s = 0; s < plan->stages; s++) {
        if (!group_is_valid(p, plan, s, seen, wrong))
            return fail_because(why, "stage %d is in node group %d: %s (rule P32)", s,
                                plan->stage[s].group, wrong);
        seen[plan->stage[s].group] = true;
    }
    if (plan_of_group(p, plan, &of_group, &cluster))
        return plait_plan_check(&of_group, plan, NULL, why->text, why->size) != PLAIT_INVALID;

    if (!plan_stages_cover_model(p, plan, why))
        return false;
    // All stages must have the same microbatches.
    const plait_degrees *const first = &plan->stage[0].degrees;
    for (int s = 1; s < plan->stages; s++) {
        const plait_degrees *const d = &plan->stage[s].degrees;

        if ((int64_t)d->dp * d->mbs != (int64_t)first->dp * first->mbs)
            return fail_because(
                why,
                "stage %d has microbatches of dp %d x mbs %d sequences, but stage 0 of "
                "%d x %d (rule P33)",
                s, d->dp, d->mbs, first->dp, first->mbs);
    }
    // A stage is priced as part of a pipeline whose stages all have its degrees (C.221). The first
    // stage of a run must therefore begin at the start of a node, or after whole stages of the same
    // size.
    int before = 0; // GPUs of the same group in earlier stages
    for (int s = 1; s < plan->stages; s++) {
        const int g = plan->stage[s].group;
        const int domain = plait_cluster_of_group(p->cluster, g, 2).level[0].gpus;
        const int gpus = stage_gpus(&plan->stage[s]);

        before = g == plan->stage[s - 1].group ? before + stage_gpus(&plan->stage[s - 1]) : 0;
        if (gpus != stage_gpus(&plan->stage[s - 1]) && before % domain != 0 && before % gpus != 0)
            return fail_because(why,
                                "stage %d has %d GPUs and begins at GPU %d of its group, which is "
                                "neither a multiple of "
                                "the %d GPUs of a node nor of the GPUs of the stage (rule P48)",
                                s, gpus, before, domain);
    }
    for (int s = 0; s < plan->stages; s++) {
        if (!schedule_is_plain(plan, s, why))
            return false;
        plait_degrees own = plan->stage[s].degrees;
        const plait_problem of_stage =
            plait_problem_of_group(p, plan->stage[s].group, &own, &cluster);
        if (!plan_layers_legal(&of_stage, &own, why) || !plan_ranks_legal(&of_stage, &own, why) ||
            !plan_recompute_legal(&of_stage, &own, why) ||
            !plan_choice_legal(&of_stage, plan, s, why))
            return false;
    }
    return true;
}
