/*
 * rules_automodel.c - plans that NeMo AutoModel's meshes, parallelizer and trainer reject
 *
 * The rules were read in NVIDIA-NeMo/Automodel 36044ad (2026-08): distributed/mesh_utils.py,
 * moe/parallelizer.py, moe/fsdp_mixin.py and recipes/llm/train_ft.py.
 */
#include <stddef.h>

#include "plan/model_queries.h"
#include "plan/split.h"
#include "rules/rules.h"

static bool sequence_divides(const plait_problem *problem, const plait_degrees *d)
{
    return d->cp == 1 || problem->job.seq % (2 * d->cp) == 0;
}

static bool experts_whole(const plait_problem *problem, const plait_degrees *d)
{
    return !model_has_experts(problem->model) || d->etp == 1;
}

static bool experts_without_sp(const plait_problem *problem, const plait_degrees *d)
{
    return !model_has_experts(problem->model) || d->tp == 1 || !d->sp;
}

/*
 * `dp_replicate_size` is a divisor of dp, and other than dp itself if dp is above 1, since plain
 * replicas are not FSDP.
 */
static bool shards_have_two_ranks(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->shard_group % d->cp == 0 && (d->dp == 1 || d->shard_group > d->cp);
}

/* Parameters stay gathered over a step only if gradients also wait for its last microbatch. */
static bool gathered_step_scatters_once(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->zero != 2 || d->scatter == PLAIT_SCATTER_STEP;
}

static bool predictions_without_stages(const plait_problem *problem, const plait_degrees *d)
{
    return problem->model->mtp_layers == 0 || (d->pp == 1 && d->cp == 1);
}

/* Stages are lists of modules; the first reads tokens, and the last returns the loss. */
static bool parts_are_modules(const plait_problem *problem, const plait_degrees *d)
{
    return split_has_ends_outside(problem->model, d) && split_fills_chunks(problem->model, d);
}

static bool microbatches_fill_stages(const plait_problem *problem, const plait_degrees *d)
{
    return plait_degrees_microbatches(d, problem->job.gbs) >= d->pp;
}

static const plan_rule batch_rules[] = {
    {"A6", "the number of microbatches must be at least pp", microbatches_fill_stages},
    {NULL, NULL, NULL},
};

static const plan_rule plan_rules[] = {
    {"A1", "the sequence length must be a multiple of 2 cp", sequence_divides},
    {"A2", "experts need etp = 1", experts_whole},
    {"A3", "models with experts need sp = 0", experts_without_sp},
    {"A4", "shard_group must be a multiple of cp, and at least 2 cp if dp is above 1",
     shards_have_two_ranks},
    {"A5", "ZeRO 2 needs scatter step", gathered_step_scatters_once},
    {"A7", "multi-token prediction needs pp = 1 and cp = 1", predictions_without_stages},
    {"A8",
     "each chunk needs a layer, the embedding or the loss, with the embedding in the first chunk "
     "and the loss in the last",
     parts_are_modules},
    {NULL, NULL, NULL},
};

const rule_set rules_automodel = {.plan = plan_rules, .batch = batch_rules};
