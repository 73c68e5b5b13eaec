/* rules_deepspeed.c - plans that DeepSpeed's engine rejects */
#include <stddef.h>

#include "rules/rules.h"

static bool pipeline_keeps_gradients(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->pp == 1 || d->zero <= 1;
}

/*
 * Only MiCS, an optimizer of ZeRO stage 3, has smaller shard groups. The other optimizers shard
 * over all replicas.
 */
static bool small_shards_hold_weights(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->zero == 3 || d->shard_group == d->dp * d->cp;
}

static bool whole_gradients_are_like_weights(const plait_problem *problem, const plait_degrees *d)
{
    return d->zero > 0 || plait_state_of(problem, d).gradient == 2.0;
}

static bool host_steps_on_shards(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->offload == PLAIT_OFFLOAD_NONE || d->zero > 0;
}

static bool parts_are_of_stage_3(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->offload_share == 0 || d->zero == 3;
}

/* Secondary shards and quantised traffic use the groups of stage 3, which MiCS replaces. */
static bool plus_plus_spans_replicas(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return (d->reshard != PLAIT_RESHARD_NODE && d->quantise == PLAIT_QUANTISE_NONE) ||
           d->shard_group == d->dp * d->cp;
}

static const plan_rule plan_rules[] = {
    {"D1", "the pipeline engine needs ZeRO 0 or 1", pipeline_keeps_gradients},
    {"D2", "a shard_group below dp x cp needs ZeRO 3", small_shards_hold_weights},
    {"D3", "ZeRO 0 needs gradients accumulated in the 16-bit format of the weights",
     whole_gradients_are_like_weights},
    {"D4", "an offloaded optimizer needs ZeRO 1, 2 or 3", host_steps_on_shards},
    {"D5", "offload_share below 1 needs ZeRO 3", parts_are_of_stage_3},
    {"D6", "reshard node and quantise need shard_group = dp x cp", plus_plus_spans_replicas},
    {NULL, NULL, NULL},
};

const rule_set rules_deepspeed = {.plan = plan_rules};
