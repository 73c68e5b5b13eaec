/* train.c - what a strategy does not say, in the YAML of Galvatron's runtime arguments */
#include "launch/galvatron/galvatron.h"

#include <math.h>

#include "launch/write/scripts.h"
#include "base/text.h"
#include "launch/write/training.h"

static const char *on(bool value)
{
    return value ? "true" : "false";
}

static void append_parallel(const plait_launch *launch, text_builder *out)
{
    const plait_degrees *const d = &launch->plan->degrees;

    text_append_printf(out,
                       "  parallel: # what strategy.json says is taken from there\n"
                       "    galvatron_config_path: null # run.sh gives it\n"
                       "    cp_mode: zigzag\n"
                       "    async_grad_reduce: %s # false: with each microbatch\n"
                       "    mixed_precision: %s\n"
                       "    reduce_in_fp32: %s\n"
                       "    entropy_in_fp32: false\n",
                       on(d->grad_sync == PLAIT_SYNC_SHIFTED),
                       plait_precision_name[launch->problem->job.precision],
                       on(d->grad_reduce == PLAIT_STATE_FP32));
}

/* ---- the model: src/rules/rules_galvatron.c says which can be said ---- */

static void append_sizes(const plait_problem *problem, int tp, text_builder *out)
{
    const plait_model *const model = problem->model;
    const plait_layer *const layer = &model->kind[0];
    char name[SCRIPTS_NAME_SIZE];

    text_append_printf(out,
                       "    model_size: %s-%s # its first word chooses the layers\n"
                       "    num_layers: %d\n"
                       "    hidden_size: %d\n"
                       "    ffn_hidden_size: %d\n"
                       "    num_attention_heads: %d\n"
                       "    num_query_groups: %d\n"
                       "    kv_channels: %d\n"
                       "    vocab_size: %d\n"
                       "    padded_vocab_size: %d\n",
                       galvatron_is_dense(model) ? "gpt" : "mixtral",
                       scripts_plain_name(model, name), model->layers, model->hidden,
                       layer->ffn == PLAIT_FFN_MLP ? layer->mlp.width : layer->moe.width,
                       layer->attention.heads, layer->attention.kv_heads, layer->attention.head_dim,
                       model->vocab, (model->vocab + tp - 1) / tp * tp);
}

static void append_positions(const plait_model *model, text_builder *out)
{
    const plait_rope *const rope = &model->numerics.rope;

    if (model->learned_positions > 0) {
        text_append(out, "    position_embedding_type: learned_absolute\n");
        return;
    }
    text_append_printf(out,
                       "    position_embedding_type: rope\n"
                       "    rotary_base: %.0f\n",
                       rope->base > 0.0 ? rope->base : 10000.0);
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
                       on(moe ? layer->moe.gated : layer->mlp.gated),
                       model->numerics.activation == PLAIT_SILU ? "silu" : "gelu", on(bias),
                       on(!bias && layer->attention.qkv_bias), on(!model->tied), on(moe));
    if (moe)
        text_append_printf(out,
                           "    num_moe_experts: %d\n"
                           "    moe_ffn_hidden_size: %d\n"
                           "    moe_router_topk: %d\n"
                           "    moe_token_dispatcher_type: alltoall\n"
                           "    moe_grouped_gemm: true\n",
                           layer->moe.experts, layer->moe.width, layer->moe.topk);
}

/* ---- the run ---- */

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
        job->gbs, job->seq, on(launch->plan->degrees.sp || launch->plan->degrees.tp == 1),
        TRAINING_TRY_STEPS, t.lr, t.min_lr, plait_lr_decay_name[t.decay], t.total_steps,
        t.warmup_steps, t.weight_decay, t.beta1, t.beta2, t.eps, t.clip);
}

static void append_rest(const plait_model *model, text_builder *out)
{
    const char *const checkpoints = training_checkpoints(model, out->arena);

    out->failed = out->failed || checkpoints == NULL;
    text_append_printf(out,
                       "  data:\n"
                       "    use_random_dataset: true\n"
                       "    tokenizer_type: HuggingFaceTokenizer\n"
                       "    tokenizer_model: null # run.sh gives it: TOKENIZER\n"
                       "  ckpt:\n"
                       "    save: %s\n"
                       "    save_interval: %d\n",
                       checkpoints != NULL ? checkpoints : "", TRAINING_SAVE_STEPS);
}

static void append_head(const plait_launch *launch, text_builder *out)
{
    static const training_places places = {
        .data = "random tokens: use_random_dataset, tokenizer_model",
        .length = "train_iters",
        .values = "lr to clip_grad",
        .checkpoints = "save, save_interval",
        .cluster = true,
    };

    scripts_append_head(
        launch, "# train.yaml - arguments of train_dist.py; run.sh starts it with strategy.json",
        &places, out);
}

const char *galvatron_train(const plait_launch *launch, plait_arena *arena)
{
    const plait_problem *const problem = launch->problem;
    text_builder out;

    text_builder_init(&out, arena);
    append_head(launch, &out);
    text_append(&out, "\nruntime:\n");
    append_parallel(launch, &out);
    text_append(&out, "  model:\n");
    append_sizes(problem, launch->plan->degrees.tp, &out);
    append_positions(problem->model, &out);
    append_layers(problem->model, &out);
    append_train(launch, &out);
    append_rest(problem->model, &out);
    return text_builder_finish(&out, NULL);
}
