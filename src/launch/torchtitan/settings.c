/*
 * settings.c - degrees, batch, memory and precision as torchtitan's keys and values
 *
 * Keys are those of pytorch/torchtitan b5bcd76 (2026-08-21). src/rules/rules_torchtitan.c has refused
 * what the client would.
 */
#include <assert.h>

#include "launch/torchtitan/torchtitan.h"
#include "plan/model_queries.h"

void titan_add(titan_settings *out, titan_setting setting)
{
    assert(out->count < TITAN_MAX_SETTINGS);
    out->setting[out->count++] = setting;
}

static void number(titan_settings *out, const char *section, const char *key, int64_t value)
{
    titan_add(out, (titan_setting){section, key, TITAN_NUMBER, value, NULL});
}

static void on_off(titan_settings *out, const char *section, const char *key, bool value)
{
    titan_add(out, (titan_setting){section, key, TITAN_SWITCH, value, NULL});
}

static void word(titan_settings *out, const char *section, const char *key, const char *value)
{
    titan_add(out, (titan_setting){section, key, TITAN_TEXT, 0, value});
}

const char *const titan_schedule_name[PLAIT_SCHEDULES] = {
    [PLAIT_1F1B] = "1F1B",
    [PLAIT_GPIPE] = "GPipe",
    [PLAIT_INTERLEAVED] = "Interleaved1F1B",
    [PLAIT_ZB_V] = "ZBVZeroBubble",
    [PLAIT_DUALPIPE_V] = "DualPipeV",
};

/* ---- what both versions are told ---- */

/* A shard of plait spans the context ranks, one of torchtitan is multiplied by them. */
static void add_data_ranks(const plait_degrees *d, titan_settings *out)
{
    number(out, "parallelism", "data_parallel_replicate_degree", d->dp * d->cp / d->shard_group);
    number(out, "parallelism", "data_parallel_shard_degree", d->shard_group / d->cp);
    word(out, "parallelism", "fsdp_reshard_after_forward", d->zero == 3 ? "always" : "never");
    number(out, "parallelism", "tensor_parallel_degree", d->tp);
}

static void add_pipeline(const plait_degrees *d, titan_settings *out)
{
    number(out, "parallelism", "context_parallel_degree", d->cp);
    number(out, "parallelism", "pipeline_parallel_degree", d->pp);
    if (d->pp > 1)
        word(out, "parallelism", "pipeline_parallel_schedule", titan_schedule_name[d->schedule]);
}

/* FSDP2's CPUOffloadPolicy: parameters, gradients and the optimizer. */
static void add_offload(const plait_degrees *d, titan_settings *out)
{
    if (d->offload == PLAIT_OFFLOAD_PARAMS)
        on_off(out, "training", "enable_cpu_offload", true);
}

static void add_numbers(titan_settings *out)
{
    word(out, "training", "dtype", "float32");
    word(out, "training", "mixed_precision_param", "bfloat16");
    word(out, "training", "mixed_precision_reduce", "float32");
}

bool titan_is_compiled(const plait_launch *launch)
{
    return launch->problem->runtime->kernels.fused_norm;
}

static void add_compile(const plait_launch *launch, titan_settings *out)
{
    on_off(out, "compile", "enable", titan_is_compiled(launch));
    if (titan_is_compiled(launch))
        titan_add(out, (titan_setting){"compile", "components", TITAN_TEXTS, 0, "model,loss"});
}

const char *titan_checkpoint(const plait_launch *launch)
{
    switch ((plait_recompute_kind)launch->plan->degrees.recompute.kind) {
    case PLAIT_RECOMPUTE_SAC:
        return "selective";
    case PLAIT_RECOMPUTE_FULL:
        return "full";
    default:
        return "none";
    }
}

const char *titan_attention(const plait_launch *launch)
{
    const plait_problem *const problem = launch->problem;
    const bool packed = titan_family_of(problem->model) == TITAN_GPT_OSS ||
                        launch->plan->degrees.attention == PLAIT_ATTENTION_FLASH3;

    return packed && launch->plan->degrees.cp == 1 ? "varlen" : "flex";
}

/* ---- the current version ---- */

void titan_settings_of(const plait_launch *launch, titan_settings *out)
{
    const plait_job *const job = &launch->problem->job;
    const plait_degrees *const d = &launch->plan->degrees;

    *out = (titan_settings){0};
    add_data_ranks(d, out);
    if (d->tp > 1)
        on_off(out, "parallelism", "enable_sequence_parallel", d->sp);
    add_pipeline(d, out);
    if (d->pp > 1)
        number(out, "parallelism", "num_pp_microbatches", plait_degrees_microbatches(d, job->gbs));
    number(out, "parallelism", "expert_parallel_degree", d->ep);
    number(out, "training", "num_tokens_per_microbatch_per_dp_rank", (int64_t)d->mbs * job->seq);
    number(out, "training", "num_tokens_per_train_step", (int64_t)job->gbs * job->seq);
    number(out, "training", "max_context_length", job->seq);
    on_off(out, "training", "disable_cuda_graphs", true); // the price has none
    add_numbers(out);
    add_offload(d, out);
    add_compile(launch, out);
    on_off(out, "compile", "enable_async_tensor_parallel", false);
}

/* ---- the versions that read TOML ---- */

/* All microbatches of a pipeline are one local batch there; without one they are accumulated. */
static void add_batch(const plait_job *job, const plait_degrees *d, titan_settings *out)
{
    const int microbatches = d->pp > 1 ? plait_degrees_microbatches(d, job->gbs) : 1;

    number(out, "training", "local_batch_size", (int64_t)d->mbs * microbatches);
    number(out, "training", "global_batch_size", job->gbs);
    number(out, "training", "seq_len", job->seq);
}

void titan_toml_settings_of(const plait_launch *launch, titan_settings *out)
{
    const plait_degrees *const d = &launch->plan->degrees;

    *out = (titan_settings){0};
    add_batch(&launch->problem->job, d, out);
    add_numbers(out);
    add_offload(d, out);
    add_data_ranks(d, out);
    add_pipeline(d, out);
    if (d->pp > 1)
        number(out, "parallelism", "pipeline_parallel_microbatch_size", d->mbs);
    if (d->cp > 1)
        word(out, "parallelism", "context_parallel_rotate_method", "allgather");
    number(out, "parallelism", "expert_parallel_degree", d->ep);
    if (model_has_experts(launch->problem->model))
        number(out, "parallelism", "expert_tensor_parallel_degree", d->etp);
    word(out, "activation_checkpoint", "mode", titan_checkpoint(launch));
    if (d->recompute.kind == PLAIT_RECOMPUTE_SAC)
        word(out, "activation_checkpoint", "selective_ac_option", "op");
    add_compile(launch, out);
}

/* ---- the schedule ---- */

double titan_decay_ratio(const launch_training *training)
{
    return training->decay == PLAIT_LR_CONSTANT
               ? 0.0
               : (double)training->decay_steps / (double)training->total_steps;
}

double titan_end(const launch_training *training)
{
    return training->min_lr / training->lr;
}
