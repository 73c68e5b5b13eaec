/*
 * galvatron.c - Galvatron's train_dist.py: strategy.json, train.yaml, and scripts that start them
 *
 * As in PKU-DAIR/Hetu-Galvatron cea12ff (2026-06-16): Galvatron's search engine writes
 * strategy.json, and galvatron/core/runtime/hybrid_parallel_config.py reads it: a list with one
 * number per layer for each choice. Model, batch, precision and the time of gradient reduction are
 * in the YAML of args_schema.py. The reader of strategies ignores other keys, so plait's own values
 * are stored there under "plait".
 */
#include <math.h>

#include "base/text.h"
#include "io/json/json_write.h"
#include "launch/target.h"
#include "launch/write/scripts.h"
#include "launch/write/training.h"

/*
 * True for a model of dense layers; other models have experts in every layer and another training
 * script.
 */
static bool is_dense(const plait_model *model)
{
    return model->kind[0].ffn == PLAIT_FFN_MLP;
}

/* Write a member such as "8,8,8", with the same number for each layer of the model. */
static void member_same(json_writer *json, const char *key, int layers, int value)
{
    text_builder list;

    text_builder_init(&list, json->out.arena);
    for (int l = 0; l < layers; l++)
        text_append_printf(&list, l > 0 ? ",%d" : "%d", value);
    json_member_string(json, key, text_builder_finish(&list, NULL));
}

static void member_each(json_writer *json, const char *key, const plait_plan *plan,
                        int number(const plait_stage *stage, int layer))
{
    text_builder list;

    text_builder_init(&list, json->out.arena);
    for (int s = 0; s < plan->stages; s++)
        for (int l = 0; l < plan->stage[s].layers; l++)
            text_append_printf(&list, list.length > 0 ? ",%d" : "%d", number(&plan->stage[s], l));
    json_member_string(json, key, text_builder_finish(&list, NULL));
}

static int tp_of(const plait_stage *stage, int layer)
{
    return plait_cut_of(stage, layer).tp;
}

static int is_sharded(const plait_stage *stage, int layer)
{
    return plait_cut_of(stage, layer).zero == 3;
}

static int is_recomputed(const plait_stage *stage, int layer)
{
    return stage->recompute[layer].kind == PLAIT_RECOMPUTE_FULL;
}

static const char *bool_text(bool value)
{
    return value ? "true" : "false";
}

/* ---- the model; src/rules/rules_galvatron.c decides which the format can express ---- */

static void append_sizes(const plait_problem *problem, int tp, text_builder *out)
{
    const plait_model *const model = problem->model;
    const plait_layer *const layer = &model->kind[0];
    char name[SCRIPTS_NAME_SIZE];

    text_append_printf(out,
                       "    model_size: %s-%s # the first word selects the kind of layers\n"
                       "    num_layers: %d\n"
                       "    hidden_size: %d\n"
                       "    ffn_hidden_size: %d\n"
                       "    num_attention_heads: %d\n"
                       "    num_query_groups: %d\n"
                       "    kv_channels: %d\n"
                       "    vocab_size: %d\n"
                       "    padded_vocab_size: %d\n",
                       is_dense(model) ? "gpt" : "mixtral", scripts_plain_name(model, name),
                       model->layers, model->hidden,
                       layer->ffn == PLAIT_FFN_MLP ? layer->mlp.width : layer->moe.width,
                       layer->attention.heads, layer->attention.kv_heads, layer->attention.head_dim,
                       model->vocab, (model->vocab + tp - 1) / tp * tp);
}

static void append_layers(const plait_model *model, text_builder *out)
{
    const plait_layer *const layer = &model->kind[0];
    const bool moe = layer->ffn == PLAIT_FFN_MOE;
    const bool bias = moe ? layer->moe.bias : layer->mlp.bias;

    text_append_printf(out,
                       "    normalization: %s\n"
                       "    norm_epsilon: %g\n"
                       "    gated_linear_unit: %s\n"
                       "    activation_func: torch.nn.functional.%s\n"
                       "    add_bias_linear: %s\n"
                       "    add_qkv_bias: %s\n"
                       "    untie_embeddings_and_output_weights: %s\n"
                       "    is_moe_model: %s\n",
                       model->layer_norm ? "LayerNorm" : "RMSNorm",
                       model->numerics.norm_eps > 0.0 ? model->numerics.norm_eps : 1e-5,
                       bool_text(moe ? layer->moe.gated : layer->mlp.gated),
                       model->numerics.activation == PLAIT_SILU ? "silu" : "gelu", bool_text(bias),
                       bool_text(!bias && layer->attention.qkv_bias), bool_text(!model->tied),
                       bool_text(moe));
    if (moe)
        text_append_printf(out,
                           "    num_moe_experts: %d\n"
                           "    moe_ffn_hidden_size: %d\n"
                           "    moe_router_topk: %d\n"
                           "    moe_token_dispatcher_type: alltoall\n"
                           "    moe_grouped_gemm: true\n",
                           layer->moe.experts, layer->moe.width, layer->moe.topk);
}

static void append_train(const plait_launch *launch, text_builder *out)
{
    const plait_job *const job = &launch->problem->job;
    const launch_training t = training_of(launch->problem);

    text_append_printf(
        out,
        "  train:\n"
        "    global_batch_size: %d\n"
        "    seq_length: %d\n"
        "    sequence_parallel: %s\n"
        "    use_flash_attn: true\n"
        "    train_iters: %d\n"
        "    lr: %g\n"
        "    min_lr: %g\n"
        "    lr_decay_style: %s\n"
        "    lr_decay_iters: %d\n"
        "    lr_warmup_iters: %d\n"
        "    weight_decay: %g\n"
        "    adam_beta1: %g\n"
        "    adam_beta2: %g\n"
        "    adam_eps: %g\n"
        "    clip_grad: %g\n",
        job->gbs, job->seq, bool_text(launch->plan->degrees.sp || launch->plan->degrees.tp == 1),
        TRAINING_TRY_STEPS, t.lr, t.min_lr, plait_lr_decay_name[t.decay], t.total_steps,
        t.warmup_steps, t.weight_decay, t.beta1, t.beta2, t.eps, t.clip);
}

static const char *galvatron_train(const plait_launch *launch, plait_arena *arena)
{
    const plait_problem *const problem = launch->problem;
    text_builder out;

    text_builder_init(&out, arena);
    static const training_places places = {
        .data = "random tokens: use_random_dataset, tokenizer_model",
        .length = "train_iters",
        .values = "lr to clip_grad",
        .checkpoints = "save, save_interval",
        .cluster = true,
    };

    scripts_append_head(
        launch, "# train.yaml - arguments of train_dist.py; run.sh starts it with strategy.json",
        &places, &out);
    text_append(&out, "\nruntime:\n");
    const plait_degrees *const d = &launch->plan->degrees;
    text_append_printf(&out,
                       "  parallel: # values of strategy.json override these\n"
                       "    galvatron_config_path: ${oc.env:STRATEGY} # run.sh sets it\n"
                       "    cp_mode: zigzag\n"
                       "    async_grad_reduce: %s # false: reduce after each microbatch\n"
                       "    mixed_precision: %s\n"
                       "    reduce_in_fp32: %s\n"
                       "    entropy_in_fp32: false\n",
                       bool_text(d->grad_sync == PLAIT_SYNC_SHIFTED),
                       plait_precision_name[launch->problem->job.precision],
                       bool_text(d->grad_reduce == PLAIT_STATE_FP32));
    text_append(&out, "  model:\n");
    append_sizes(problem, launch->plan->degrees.tp, &out);
    const plait_rope *const rope = &problem->model->numerics.rope;
    if (problem->model->learned_positions > 0) {
        text_append(&out, "    position_embedding_type: learned_absolute\n");
    } else {
        text_append_printf(&out,
                           "    position_embedding_type: rope\n"
                           "    rotary_base: %.0f\n",
                           rope->base > 0.0 ? rope->base : 10000.0);
    }
    append_layers(problem->model, &out);
    append_train(launch, &out);
    const char *const checkpoints = training_checkpoints(problem->model, out.arena);
    out.failed = out.failed || checkpoints == NULL;
    text_append_printf(&out,
                       "  data:\n"
                       "    use_random_dataset: true\n"
                       "    tokenizer_type: HuggingFaceTokenizer\n"
                       "    tokenizer_model: ${oc.env:TOKENIZER}\n"
                       "  ckpt:\n"
                       "    save: %s\n"
                       "    save_interval: %d\n",
                       checkpoints != NULL ? checkpoints : "", TRAINING_SAVE_STEPS);
    return text_builder_finish(&out, NULL);
}

#define START(entry)                                                                               \
    "export CUDA_DEVICE_MAX_CONNECTIONS=1 TORCH_NCCL_AVOID_RECORD_STREAMS=1\n"                     \
    "export PYTHONPATH=\"$PWD${PYTHONPATH:+:$PYTHONPATH}\"\n"                                      \
    "export TOKENIZER=\"${TOKENIZER:?expected a Hugging Face tokenizer}\"\n"                       \
    "export STRATEGY=\"$here/strategy.json\"\n" SCRIPTS_TORCHRUN "    galvatron/models/" entry     \
    "/train_dist.py \"$here/train.yaml\" \"$@\""

static plait_status render(const plait_launch *launch, plait_arena *arena, plait_launch_folder *out,
                           plait_error *err)
{
    const launch_program program = {
        .what = "Galvatron",
        .checkout = "GALVATRON",
        .start = is_dense(launch->problem->model) ? START("gpt") : START("moe"),
    };
    const char *strategy;

    static const char *const types[] = {"ddp", "ddp", "zero2", "zero3"};
    const plait_problem *const problem = launch->problem;
    const plait_plan *const plan = launch->plan;
    json_writer json;

    json_writer_init(&json, arena);
    json_begin_object(&json);
    json_member_int64(&json, "world_size", problem->job.gpus);
    json_member_int64(&json, "pp_deg", plan->degrees.pp);
    json_member_string(&json, "default_dp_type", types[plan->degrees.zero]);
    // Galvatron has one size for tensor parallelism and Ulysses, and a switch between the two
    const plait_degrees *const d = &plan->degrees;
    const bool ulysses = d->cp > 1 && d->cp_comm == PLAIT_CP_A2A;
    if (ulysses)
        member_same(&json, "tp_sizes_enc", problem->model->layers, d->cp);
    else
        member_each(&json, "tp_sizes_enc", plan, tp_of);
    member_same(&json, "cp_sizes_enc", problem->model->layers, ulysses ? 1 : d->cp);
    member_same(&json, "tp_consecutive_flags", problem->model->layers, 1);
    member_each(&json, "dp_types_enc", plan, is_sharded);
    member_same(&json, "use_sp", problem->model->layers, ulysses);
    member_each(&json, "checkpoint", plan, is_recomputed);
    if (!is_dense(problem->model)) {
        member_same(&json, "ep_sizes_enc", problem->model->layers, d->ep);
        member_same(&json, "tp_of_ep_sizes_enc", problem->model->layers, d->etp);
    }
    json_member_int64(&json, "vtp", ulysses ? d->cp : d->tp);
    json_member_int64(&json, "vsp", ulysses);
    json_member_int64(&json, "vcp", ulysses ? 1 : d->cp);
    json_member_int64(&json, "vocab_sdp", d->zero == 3);
    json_member_int64(&json, "global_bsz", problem->job.gbs);
    json_member_int64(&json, "chunks", plait_degrees_microbatches(d, problem->job.gbs));
    text_builder list;
    text_builder_init(&list, arena);
    for (int s = 0; s < plan->stages; s++)
        text_append_printf(&list, s > 0 ? ",%d" : "%d", plan->stage[s].layers);
    json_member_string(&json, "pp_division", text_builder_finish(&list, NULL));
    json_member_string(&json, "pipeline_type",
                       d->schedule == PLAIT_GPIPE ? "gpipe" : "pipedream_flush");
    // keys of the plan that a strategy cannot express
    char split[PLAIT_VALUE_SIZE];
    json_member_object(&json, "plait");
    json_member_string(&json, "model", problem->model->name);
    json_member_string(&json, "runtime", plait_runtime_handle(problem->runtime));
    json_member_int64(&json, "seq", problem->job.seq);
    json_member_string(&json, "precision", plait_precision_name[problem->job.precision]);
    json_member_string(&json, "attention", plait_attention_kernel_name[d->attention]);
    json_member_int64(&json, "sp", d->sp);
    json_member_string(&json, "split", plait_degrees_get(d, PLAIT_KEY_SPLIT, split, sizeof split));
    json_member_string(&json, "grad_sync", plait_grad_sync_name[d->grad_sync]);
    json_member_string(&json, "grad_reduce", plait_state_format_name[d->grad_reduce]);
    json_end_object(&json);
    json_end_object(&json);
    PLAIT_TRY(json_writer_finish(&json, &strategy, NULL, err));
    PLAIT_TRY(folder_add(out, "strategy.json", strategy, false, err));
    PLAIT_TRY(folder_add(out, "train.yaml", galvatron_train(launch, arena), false, err));
    return scripts_add(launch, &program, arena, out, err);
}

const launch_target target_galvatron = {
    .name = "galvatron",
    .runtime = "galvatron",
    .rules = PLAIT_RULES_GALVATRON,
    .render = render,
};
