/* rules_deepspeed.c - what DeepSpeed's engine refuses */
#include <stddef.h>

#include "rules.h"

static bool pipeline_keeps_gradients(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->pp == 1 || d->zero <= 1;
}

/* MiCS is an optimizer of stage 3; the others divide over all replicas. */
static bool small_shards_hold_weights(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->zero == 3 || d->shard_group == d->dp * d->cp;
}

static bool whole_gradients_are_like_weights(const plait_problem *problem, const plait_degrees *d)
{
    return d->zero > 0 || plait_state_of(problem, d).gradient == 2.0;
}

static const plan_rule plan_rules[] = {
    {"D1", "the pipeline engine needs ZeRO 0 or 1", pipeline_keeps_gradients},
    {"D2", "shards over fewer ranks than there are replicas need ZeRO 3",
     small_shards_hold_weights},
    {"D3", "ZeRO 0 accumulates gradients in the format of the weights",
     whole_gradients_are_like_weights},
    {NULL, NULL, NULL},
};

const rule_set rules_deepspeed = {.plan = plan_rules};
