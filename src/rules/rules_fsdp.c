/* rules_fsdp.c - plans that FSDP2 rejects when accelerate sets it up */
#include <stddef.h>

#include "rules/rules.h"

static bool sequence_divides(const plait_problem *problem, const plait_degrees *d)
{
    return d->cp == 1 || problem->job.seq % (2 * d->cp) == 0;
}

static bool shards_have_two_ranks(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->shard_group > 1 || d->dp * d->cp == 1;
}

static const plan_rule plan_rules[] = {
    {"F1", "the sequence length must be a multiple of 2 cp", sequence_divides},
    {"F2", "shard_group must be at least 2", shards_have_two_ranks},
    {NULL, NULL, NULL},
};

const rule_set rules_fsdp = {.plan = plan_rules};
