/* rules_megatron.c - what Megatron-LM's parser, group builder and schedules refuse */
#include <stddef.h>

#include "rules.h"
#include "traits.h"

/* Expert parallelism needs every token once: sequence parallelism, when tensor-parallel. */
static bool experts_need_sp(const plait_problem *problem, const plait_degrees *d)
{
    return !model_has_experts(problem->model) || d->tp == 1 || d->sp;
}

static bool interleaving_needs_whole_groups(const plait_problem *problem, const plait_degrees *d)
{
    if (d->schedule != PLAIT_INTERLEAVED)
        return true;
    return plait_degrees_microbatches(d, problem->job.gbs) % d->pp == 0;
}

static bool same_pipeline_groups(const plait_problem *problem, const plait_degrees *d)
{
    if (d->order != PLAIT_ORDER_TP_CP_PP_DP || d->pp == 1 || !model_has_experts(problem->model))
        return true;
    return d->tp * d->cp == d->etp * d->ep;
}

static bool sharded_halves(const plait_problem *problem, const plait_degrees *d)
{
    const int seq = problem->job.seq;

    if (d->cp > 1 && seq % (2 * d->cp) != 0)
        return false;
    return !d->sp || seq / d->cp % d->tp == 0;
}

static bool learned_positions_reach(const plait_problem *problem, const plait_degrees *d)
{
    (void)d;
    return problem->model->learned_positions == 0 ||
           problem->job.seq <= problem->model->learned_positions;
}

static bool instances_divide_experts(const plait_problem *problem, const plait_degrees *d)
{
    const int replicas = d->dp * d->cp;
    const int instances = replicas / d->shard_group;

    if (!model_has_experts(problem->model) || instances == 1)
        return true;
    return (int64_t)d->tp * replicas / ((int64_t)d->etp * d->ep) % instances == 0;
}

const plan_rule rules_megatron[] = {
    {"M1", "experts with tp > 1 need sp = 1", experts_need_sp},
    {"M2", "the interleaved schedule needs microbatches in multiples of pp",
     interleaving_needs_whole_groups},
    {"M3", "order tp-cp-pp-dp with experts needs tp cp = etp ep", same_pipeline_groups},
    {"M4", "the sequence must divide by 2 cp, and its part of a rank by tp under sp",
     sharded_halves},
    {"M5", "the sequence must not exceed the learned position table", learned_positions_reach},
    {"M6", "shard_group must also divide the expert replicas", instances_divide_experts},
    {NULL, NULL, NULL},
};
