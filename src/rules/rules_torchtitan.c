/* rules_torchtitan.c - plans that torchtitan's mesh, model and pipeline builders reject */
#include <stddef.h>

#include "plait/lowlevel/schedule.h"
#include "rules/rules.h"
#include "plan/split.h"
#include "plan/model_queries.h"

static bool kv_heads_divide(const plait_problem *problem, const plait_degrees *d)
{
    return model_divides_kv_heads(problem->model, d->tp);
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
    return plait_schedule_takes((plait_schedule)d->schedule, d->vpp);
}

static bool shards_span_context(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->shard_group % d->cp == 0;
}

/*
 * Without ranks to shard over, torchtitan replicates the model by DDP: without FSDP's mixed
 * precision, with a reduction after each microbatch, and with no other parallelism.
 */
static bool shards_have_two_ranks(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->shard_group > 1 || d->dp * d->cp == 1;
}

/*
 * With ep > 1, the expert mesh includes the tensor ranks. With ep = 1, experts are sharded like
 * other layers.
 */
static bool experts_cut_as_built(const plait_problem *problem, const plait_degrees *d)
{
    return !model_has_experts(problem->model) || d->etp == (d->ep == 1 ? d->tp : 1);
}

static bool rounds_divide(const plait_problem *problem, const plait_degrees *d)
{
    const int microbatches = plait_degrees_microbatches(d, problem->job.gbs);
    const int rounds = microbatches > d->pp ? microbatches / d->pp : 1;

    return d->schedule != PLAIT_INTERLEAVED || microbatches % rounds == 0;
}

static bool context_on_flex(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->cp == 1 || d->attention != PLAIT_ATTENTION_FLASH3;
}

static bool predictions_in_one_stage(const plait_problem *problem, const plait_degrees *d)
{
    return problem->model->mtp_layers == 0 || (d->pp == 1 && d->cp == 1);
}

static bool nvfp4_without_experts(const plait_problem *problem, const plait_degrees *d)
{
    (void)d;
    return problem->job.precision != PLAIT_NVFP4 || !model_has_experts(problem->model);
}

/* torchtitan's NVFP4 uses blocks of 128 by 128, so a rank's width must be a multiple of 128. */
static bool in_blocks(int width, int tp)
{
    return width % tp == 0 && width / tp % 128 == 0;
}

static bool nvfp4_blocks_fit(const plait_problem *problem, const plait_degrees *d)
{
    const plait_model *const model = problem->model;

    if (problem->job.precision != PLAIT_NVFP4)
        return true;
    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *layer = &model->kind[k];
        const plait_attention *a = &layer->attention;
        if (layer->ffn == PLAIT_FFN_MLP && !in_blocks(layer->mlp.width, d->tp))
            return false;
        if (layer->mixer == PLAIT_MIXER_ATTENTION &&
            (!in_blocks(a->heads * a->head_dim, d->tp) ||
             !in_blocks((a->heads + 2 * a->kv_heads) * a->head_dim, d->tp)))
            return false;
        if (layer->mixer == PLAIT_MIXER_MLA)
            return false;
    }
    return model->hidden % 128 == 0;
}

/*
 * The first chunk reads tokens and the loss reads the output of the last chunk, so the first chunk
 * has the embedding and the last chunk has the head.
 */
static bool parts_are_modules(const plait_problem *problem, const plait_degrees *d)
{
    return split_has_ends_outside(problem->model, d) && split_fills_chunks(problem->model, d);
}

static const plan_rule batch_rules[] = {
    {"T8",
     "the interleaved schedule needs microbatches / pp, rounded down, to divide the number of "
     "microbatches",
     rounds_divide},
    {NULL, NULL, NULL},
};

static const plan_rule plan_rules[] = {
    {"T1", "tp must divide the key-value heads", kv_heads_divide},
    {"T2", "ep must divide shard_group x tp", experts_inside_shards},
    {"T3", "tied embeddings need pp = 1", tied_in_one_stage},
    {"T4", "the sequence length must be a multiple of tp (with sp) x 2 cp (with cp > 1)",
     sequence_divides},
    {"T5", "vpp must be a number of chunks per rank that the schedule supports",
     chunks_suit_schedule},
    {"T6", "shard_group must be a multiple of cp", shards_span_context},
    {"T7", "experts need etp = tp if ep = 1, and etp = 1 if ep > 1", experts_cut_as_built},
    {"T9", "cp > 1 does not support attention flash3", context_on_flex},
    {"T10", "multi-token prediction needs pp = 1 and cp = 1", predictions_in_one_stage},
    {"T11", "precision nvfp4 does not support experts", nvfp4_without_experts},
    {"T12", "precision nvfp4 needs attention and MLP widths that are multiples of 128 x tp",
     nvfp4_blocks_fit},
    {"T13",
     "each chunk needs a layer, the embedding or the loss, with the embedding in the first chunk "
     "and the loss in the last",
     parts_are_modules},
    {"T14", "shard_group must be at least 2", shards_have_two_ranks},
    {NULL, NULL, NULL},
};

/*
 * Returns the default etp. Without expert parallelism it is tp. With expert parallelism, ep
 * includes the tensor ranks, and etp is 1.
 */
static int usual_etp(const plait_problem *problem, const plait_degrees *d)
{
    return model_has_experts(problem->model) && d->ep == 1 ? d->tp : 1;
}

const rule_set rules_torchtitan = {
    .plan = plan_rules, .batch = batch_rules, .model = torchtitan_model_rules, .etp = usual_etp};
