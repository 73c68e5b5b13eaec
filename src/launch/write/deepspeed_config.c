/*
 * deepspeed_config.c - writes DeepSpeed's ds_config.json, for its ZeRO engine and for its pipeline
 * engine
 *
 * Keys and their meaning are those of deepspeedai/DeepSpeed edaa722 (0.19.6, 2026-08-22). DeepSpeed
 * rejects unknown keys in sections and drops them silently at the top, so the file has no keys of
 * plait's own. The training script sets model, sequence length and attention.
 *
 * Two keys divide states over fewer ranks than there are replicas. MiCS divides weights, gradients
 * and optimizer states over mics_shard_size neighbouring ranks and reduces gradients between the
 * groups (zero/mics_utils.py); this is plait's `shard_group`. zero_hpz_partition_size only keeps a
 * second copy of the weights in such groups, while gradients and states stay divided over all
 * ranks; this is plait's `reshard` node, with the GPUs of a node as the group.
 */
#include "launch/write/deepspeed_config.h"

#include <math.h>

#include "io/json/json_write.h"
#include "launch/write/training.h"
#include "plait/lowlevel/block.h"

static int64_t elements_of(double bytes, double bytes_each)
{
    return (int64_t)fmin(ceil(bytes / bytes_each), 9e15);
}

/*
 * Return the size of a bucket in elements; a profile without a bucket size reduces all gradients at
 * once.
 */
static int64_t bucket_elements(const plait_problem *problem, const plait_degrees *d,
                               double bytes_each)
{
    const plait_overlaps *const overlap = &problem->runtime->overlap;
    const double bytes =
        fmax(overlap->bucket_bytes, overlap->bucket_bytes_per_rank * d->shard_group);
    const plait_params params = plait_model_params(problem->model);

    if (plait_bucket_elements(d) > 0.0)
        return elements_of(plait_bucket_elements(d), 1.0);
    return bytes > 0.0 ? elements_of(bytes, bytes_each)
                       : elements_of(params.total + params.mtp, 1.0);
}

/* ---- the config ---- */

/*
 * Write the keys of ZeRO-3, so that it gathers as many layers at a time as the price counts in
 * memory.
 */
static void write_stage3(const plait_problem *problem, const plait_degrees *d, json_writer *json)
{
    // compute the parameters of the largest layer, which ZeRO-3 gathers for one layer and
    // prefetches for the next
    const plait_shard whole = {.tp = 1, .cp = 1, .ep = 1, .etp = 1, .runtime = problem->runtime};
    const plait_pass pass = {PLAIT_FORWARD, 1.0, 1.0, 1.0};
    double widest = 0.0;
    plait_block block;

    for (int k = 0; k < problem->model->kinds; k++) {
        plait_block_describe(problem->model, &problem->model->kind[k], &whole, pass, &block);
        widest = fmax(widest, block.weights.dense + block.weights.expert);
    }
    const double layer = widest;
    const double ahead = fmax(1.0, problem->runtime->keep.transient_layers) * layer;
    const double bound = problem->runtime->keep.transient_params;
    const double alive = bound > 0.0 ? fmin(ahead, fmax(bound, layer / 3.0)) : ahead;

    json_member_int64(json, "stage3_prefetch_bucket_size", elements_of(layer, 1.0));
    if (d->reshard == PLAIT_RESHARD_NEVER)
        json_member_int64(json, "stage3_max_reuse_distance", (int64_t)DEEPSPEED_NO_BOUND);
    json_member_int64(json, "stage3_max_live_parameters",
                      d->reshard == PLAIT_RESHARD_NEVER ? (int64_t)DEEPSPEED_NO_BOUND
                                                        : elements_of(alive, 1.0));
    json_member_bool(json, "stage3_gather_16bit_weights_on_model_save", false);
    if (d->shard_group < d->dp)
        json_member_int64(json, "mics_shard_size", d->shard_group);
    // ZeRO++: secondary shards in each node, fewer bits per element sent
    const int node = problem->cluster->group[0].gpus_per_node;

    if (d->reshard == PLAIT_RESHARD_NODE)
        json_member_int64(json, "zero_hpz_partition_size", node < d->dp ? node : d->dp);
    if (d->quantise == PLAIT_QUANTISE_WEIGHTS || d->quantise == PLAIT_QUANTISE_BOTH)
        json_member_bool(json, "zero_quantized_weights", true);
    if (d->quantise >= PLAIT_QUANTISE_GRADIENTS)
        json_member_bool(json, "zero_quantized_gradients", true);
}

static void begin_on_host(json_writer *json, const char *section)
{
    json_member_object(json, section);
    json_member_string(json, "device", "cpu");
    json_member_bool(json, "pin_memory", true);
}

static void write_zero(const plait_problem *problem, const plait_degrees *d, json_writer *json)
{
    const plait_runtime *const runtime = problem->runtime;

    json_member_object(json, "zero_optimization");
    json_member_int64(json, "stage", d->zero);
    if (d->zero > 0) {
        json_member_bool(json, "overlap_comm",
                         runtime->overlap.grad_reduce && d->grad_sync == PLAIT_SYNC_BUCKETED);
        json_member_bool(json, "contiguous_gradients", true);
        json_member_bool(json, "reduce_scatter", true);
        json_member_int64(json, "reduce_bucket_size",
                          bucket_elements(problem, d, plait_state_of(problem, d).gradient_reduce));
    }
    if (d->zero == 1 || d->zero == 2)
        json_member_int64(json, "allgather_bucket_size",
                          bucket_elements(problem, d, runtime->state.gather));
    if (d->zero == 3)
        write_stage3(problem, d, json);
    // offload_optimizer moves reduced gradients, the optimizer's state and its step to the host
    if (d->offload != PLAIT_OFFLOAD_NONE) {
        begin_on_host(json, "offload_optimizer");
        if (d->offload_share > 0)
            json_member_number(json, "ratio", plait_offload_share_of(d));
        json_end_object(json);
        if (d->offload == PLAIT_OFFLOAD_PARAMS) {
            begin_on_host(json, "offload_param");
            json_end_object(json);
        }
    }
    json_end_object(json);
}

/* ---- optimizer and schedule, which a script may also set ---- */

static void begin_typed(json_writer *json, const char *key, const char *type)
{
    json_member_object(json, key);
    json_member_string(json, "type", type);
    json_member_object(json, "params");
}

static void end_typed(json_writer *json)
{
    json_end_object(json);
    json_end_object(json);
}

/* Write the schedule. DeepSpeed's schedules have no plateau: the decay begins after the warm-up. */
static void write_schedule(const launch_training *t, json_writer *json)
{
    static const char *const types[PLAIT_LR_DECAYS] = {
        [PLAIT_LR_COSINE] = "WarmupCosineLR",
        [PLAIT_LR_LINEAR] = "WarmupDecayLR",
        [PLAIT_LR_CONSTANT] = "WarmupLR",
    };
    const bool cosine = t->decay == PLAIT_LR_COSINE;

    begin_typed(json, "scheduler", types[t->decay]);
    if (t->decay != PLAIT_LR_CONSTANT)
        json_member_int64(json, "total_num_steps", t->total_steps);
    json_member_int64(json, "warmup_num_steps", t->warmup_steps > 2 ? t->warmup_steps : 2);
    if (cosine)
        json_member_number(json, "cos_min_ratio", t->min_lr / t->lr);
    else
        json_member_number(json, "warmup_max_lr", t->lr);
    end_typed(json);
}

/* Write "auto" for the values that the Trainer takes from its own arguments. */
static void write_optimizer_of_trainer(json_writer *json)
{
    static const char *const keys[] = {"lr", "betas", "eps", "weight_decay"};

    begin_typed(json, "optimizer", "AdamW");
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        json_member_string(json, keys[k], "auto");
    end_typed(json);
    json_member_string(json, "gradient_clipping", "auto");
}

plait_status deepspeed_config(const plait_launch *launch, deepspeed_engine engine,
                              plait_arena *arena, const char **text, plait_error *err)
{
    const plait_problem *const problem = launch->problem;
    const plait_degrees *const d = &launch->plan->degrees;
    json_writer json;

    json_writer_init(&json, arena);
    json_begin_object(&json);
    json_member_int64(&json, "train_batch_size", problem->job.gbs);
    json_member_int64(&json, "train_micro_batch_size_per_gpu", d->mbs);
    json_member_int64(&json, "gradient_accumulation_steps",
                      plait_degrees_microbatches(d, problem->job.gbs));
    const plait_state_bytes state = plait_state_of(problem, &launch->plan->degrees);
    const char *const half = problem->job.precision == PLAIT_FP16 ? "fp16" : "bf16";
    json_member_object(&json, half);
    json_member_bool(&json, "enabled", true);
    json_end_object(&json);
    json_member_object(&json, "data_types");
    json_member_string(&json, "grad_accum_dtype", state.gradient > 2.0 ? "fp32" : half);
    json_end_object(&json);
    json_member_string(&json, "communication_data_type",
                       state.gradient_reduce > 2.0 ? "fp32" : half);
    write_zero(problem, d, &json);
    // the section only gives the number of checkpoints; the training script makes them
    const bool full = d->recompute.kind == PLAIT_RECOMPUTE_FULL;
    json_member_object(&json, "activation_checkpointing");
    json_member_bool(&json, "partition_activations", false);
    json_member_bool(&json, "cpu_checkpointing", false);
    json_member_int64(&json, "number_checkpoints", full ? problem->model->layers : 0);
    json_end_object(&json);
    if (engine == DEEPSPEED_PIPELINE) {
        // every transformer layer is a checkpoint, regardless of the interval that the script gave
        // its PipelineModule
        json_member_object(&json, "pipeline");
        json_member_int64(&json, "stages", d->pp);
        json_member_int64(&json, "activation_checkpoint_interval",
                          d->recompute.kind == PLAIT_RECOMPUTE_FULL ? 1 : 0);
        json_end_object(&json);
    }
    // with the pipeline engine, a learning-rate schedule in this file would override the schedule
    // in Megatron's arguments
    const launch_training t = training_of(problem);
    if (engine == DEEPSPEED_ZERO) {
        begin_typed(&json, "optimizer", "AdamW");
        json_member_number(&json, "lr", t.lr);
        json_member_row(&json, "betas");
        json_write_number(&json, t.beta1);
        json_write_number(&json, t.beta2);
        json_end_array(&json);
        json_member_number(&json, "eps", t.eps);
        json_member_number(&json, "weight_decay", t.weight_decay);
        end_typed(&json);
        write_schedule(&t, &json);
    }
    if (engine == DEEPSPEED_TRAINER)
        write_optimizer_of_trainer(&json);
    else
        json_member_number(&json, "gradient_clipping", t.clip);
    json_end_object(&json);
    return json_writer_finish(&json, text, NULL, err);
}
