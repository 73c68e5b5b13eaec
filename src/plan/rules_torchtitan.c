/* rules_torchtitan.c - what torchtitan's mesh and pipeline builders refuse */
#include <stddef.h>

#include "rules.h"

static bool kv_heads_divide(const plait_problem *problem, const plait_degrees *d)
{
    for (int k = 0; k < problem->model->kinds; k++) {
        const plait_layer *layer = &problem->model->kind[k];
        if (layer->mixer == PLAIT_MIXER_ATTENTION && layer->attention.kv_heads % d->tp != 0)
            return false;
    }
    return true;
}

static bool experts_inside_shards(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return (int64_t)d->shard_group * d->tp % d->ep == 0;
}

static bool tied_in_one_stage(const plait_problem *problem, const plait_degrees *d)
{
    return !problem->model->tied || d->pp == 1;
}

static bool sequence_divides(const plait_problem *problem, const plait_degrees *d)
{
    const int64_t ways = (int64_t)(d->sp ? d->tp : 1) * (d->cp > 1 ? 2 * d->cp : 1);

    return problem->job.seq % ways == 0;
}

static bool chunks_suit_schedule(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->schedule == PLAIT_INTERLEAVED ? d->vpp >= 2 : d->vpp == 1;
}

const plan_rule rules_torchtitan[] = {
    {"T1", "tp must divide the key-value heads", kv_heads_divide},
    {"T2", "ep must divide shard_group tp", experts_inside_shards},
    {"T3", "tied embeddings need pp = 1", tied_in_one_stage},
    {"T4", "the sequence must divide by tp under sp, and by 2 cp", sequence_divides},
    {"T5", "interleaving needs two chunks a rank, other schedules one", chunks_suit_schedule},
    {NULL, NULL, NULL},
};
