/*
 * model.c - a model's architecture in Megatron-LM's arguments
 *
 * What is left at Megatron's own default is left out only where that default cannot change the
 * model: several (dropout 0.1, learned positions, one key-value group) are not what models of today
 * have. src/plan/rules_megatron.c says which models can be said at all.
 */
#include <string.h>

#include "megatron.h"

/* What the arguments are about, collected from the kinds of layers. */
typedef struct model_facts {
    const plait_attention *attention; /* of the first kind that has it; NULL: none */
    const plait_mla *mla;
    const plait_delta_net *delta_net;
    const plait_mlp *mlp;
    const plait_moe *moe;
    int window; /* tokens; 0: none */
    bool bias;  /* in all linear layers */
} model_facts;

static model_facts facts_of(const plait_model *model)
{
    model_facts facts = {0};

    for (int k = model->kinds - 1; k >= 0; k--) {
        const plait_layer *const layer = &model->kind[k];

        if (layer->mixer == PLAIT_MIXER_ATTENTION)
            facts.attention = &layer->attention;
        if (layer->mixer == PLAIT_MIXER_ATTENTION && layer->attention.window > 0)
            facts.window = layer->attention.window;
        if (layer->mixer == PLAIT_MIXER_MLA)
            facts.mla = &layer->mla;
        if (layer->mixer == PLAIT_MIXER_DELTA_NET)
            facts.delta_net = &layer->delta_net;
        if (layer->ffn == PLAIT_FFN_MLP)
            facts.mlp = &layer->mlp;
        if (layer->ffn == PLAIT_FFN_MOE)
            facts.moe = &layer->moe;
    }
    facts.bias = facts.mlp != NULL ? facts.mlp->bias : facts.moe != NULL && facts.moe->bias;
    return facts;
}

/* ---- a switch a layer ---- */

typedef bool layer_test(const plait_layer *layer);

static bool has_experts(const plait_layer *layer)
{
    return layer->ffn == PLAIT_FFN_MOE;
}

static bool has_window(const plait_layer *layer)
{
    return layer->mixer == PLAIT_MIXER_ATTENTION && layer->attention.window > 0;
}

static bool has_no_rotary(const plait_layer *layer)
{
    return layer->mixer == PLAIT_MIXER_ATTENTION && !layer->attention.rotary;
}

static bool is_linear(const plait_layer *layer)
{
    return layer->mixer == PLAIT_MIXER_DELTA_NET;
}

static bool holds_at(const plait_model *model, int layer, layer_test *test)
{
    return test(&model->kind[model->layer_kind[layer]]);
}

static int count_layers(const plait_model *model, layer_test *test)
{
    int count = 0;

    for (int i = 0; i < model->layers; i++)
        count += holds_at(model, i, test);
    return count;
}

/* The shortest stretch whose repetition is the whole list; the list itself when there is none. */
static int period_of(const plait_model *model, layer_test *test)
{
    for (int period = 1; period <= 16 && period < model->layers; period++) {
        int i = period;

        while (i < model->layers && holds_at(model, i, test) == holds_at(model, i - period, test))
            i++;
        if (model->layers % period == 0 && i == model->layers)
            return period;
    }
    return model->layers;
}

/* "([0]*3+[1]*58)", "([1]+[0])*18": one entry a layer. */
static void append_pattern(const plait_model *model, layer_test *test, const char *name,
                           launch_args *args)
{
    const int period = period_of(model, test);
    text_builder out;
    char *text;

    text_builder_init(&out, args->arena);
    text_append_char(&out, '(');
    for (int first = 0, last; first < period; first = last) {
        const bool holds = holds_at(model, first, test);

        for (last = first + 1; last < period && holds_at(model, last, test) == holds;)
            last++;
        text_append_printf(&out, first > 0 ? "+[%d]" : "[%d]", holds);
        if (last - first > 1)
            text_append_printf(&out, "*%d", last - first);
    }
    text_append_char(&out, ')');
    if (period < model->layers)
        text_append_printf(&out, "*%d", model->layers / period);
    text = text_builder_finish(&out, NULL);
    if (text == NULL)
        args->failed = true;
    else
        args_text(args, name, text);
}

/* ---- groups of arguments ---- */

static void append_sizes(const plait_problem *problem, const model_facts *facts, launch_args *args)
{
    const plait_model *const model = problem->model;
    int positions = model->max_seq > problem->job.seq ? model->max_seq : problem->job.seq;

    if (model->learned_positions > 0)
        positions = model->learned_positions;
    args_int(args, "--num-layers", model->layers);
    args_int(args, "--hidden-size", model->hidden);
    args_int(args, "--ffn-hidden-size", facts->mlp != NULL ? facts->mlp->width : facts->moe->width);
    args_int(args, "--seq-length", problem->job.seq);
    args_int(args, "--max-position-embeddings", positions);
    args_int(args, "--vocab-size", model->vocab);
    args_int(args, "--make-vocab-size-divisible-by",
             128); // its default, said since memory hangs on it
    if (!model->tied)
        args_switch(args, "--untie-embeddings-and-output-weights");
    if (model->mtp_layers > 0)
        args_int(args, "--mtp-num-layers", model->mtp_layers);
}

static void append_mla(const plait_mla *mla, launch_args *args)
{
    args_int(args, "--num-attention-heads", mla->heads);
    args_switch(args, "--multi-latent-attention");
    if (mla->q_rank > 0)
        args_int(args, "--q-lora-rank", mla->q_rank);
    args_int(args, "--kv-lora-rank", mla->kv_rank);
    args_int(args, "--qk-head-dim", mla->nope_dim);
    args_int(args, "--qk-pos-emb-head-dim", mla->rope_dim);
    args_int(args, "--v-head-dim", mla->v_dim);
    args_int(args, "--kv-channels", mla->v_dim);
    args_switch(args, "--qk-layernorm");
    if (mla->index_heads == 0)
        return;
    args_text(args, "--experimental-attention-variant", "dsa");
    args_int(args, "--dsa-indexer-n-heads", mla->index_heads);
    args_int(args, "--dsa-indexer-head-dim", mla->index_dim);
    args_int(args, "--dsa-indexer-topk", mla->index_topk);
}

static void append_attention(const plait_attention *attention, const plait_numerics *numerics,
                             launch_args *args)
{
    args_int(args, "--num-attention-heads", attention->heads);
    args_int(args, "--kv-channels", attention->head_dim);
    if (attention->kv_heads != attention->heads) {
        args_switch(args, "--group-query-attention");
        args_int(args, "--num-query-groups", attention->kv_heads);
    }
    if (attention->qk_norm && !numerics->qk_l2_norm)
        args_switch(args, "--qk-layernorm");
    if (numerics->qk_l2_norm)
        args_switch(args, "--qk-l2-norm");
    if (attention->gate)
        args_switch(args, "--attention-output-gate");
    if (attention->sinks)
        args_text(args, "--softmax-type", "learnable");
}

static void append_delta_net(const plait_model *model, const plait_delta_net *net,
                             launch_args *args)
{
    args_text(args, "--experimental-attention-variant", "gated_delta_net");
    append_pattern(model, is_linear, "--linear-attention-freq", args);
    args_int(args, "--linear-num-key-heads", net->key_heads);
    args_int(args, "--linear-num-value-heads", net->value_heads);
    args_int(args, "--linear-key-head-dim", net->key_dim);
    args_int(args, "--linear-value-head-dim", net->value_dim);
    args_int(args, "--linear-conv-kernel-dim", net->conv);
}

/* Megatron asks for heads even where every layer is linear. */
static void append_mixers(const plait_model *model, const model_facts *facts, launch_args *args)
{
    if (facts->mla != NULL)
        append_mla(facts->mla, args);
    else if (facts->attention != NULL)
        append_attention(facts->attention, &model->numerics, args);
    else
        args_int(args, "--num-attention-heads", facts->delta_net->value_heads);
    if (facts->delta_net != NULL)
        append_delta_net(model, facts->delta_net, args);
    if (facts->window > 0) {
        args_printf(args, "--window-size", "%d,0", facts->window - 1);
        if (count_layers(model, has_window) < model->layers)
            append_pattern(model, has_window, "--window-attn-skip-freq", args);
    }
}

/* ---- positions ---- */

static void append_llama3(const plait_rope *rope, launch_args *args)
{
    args_switch(args, "--use-rope-scaling");
    if (rope->factor > 0.0)
        args_number(args, "--rope-scaling-factor", rope->factor);
}

static void append_yarn(const plait_rope *rope, bool mla, launch_args *args)
{
    if (rope->factor > 0.0)
        args_number(args, "--rotary-scaling-factor", rope->factor);
    if (mla && rope->mscale > 0.0)
        args_number(args, "--mscale", rope->mscale);
    if (mla && rope->mscale_all_dim > 0.0)
        args_number(args, "--mscale-all-dim", rope->mscale_all_dim);
    if (!mla && rope->original_seq > 0)
        args_int(args, "--yarn-original-max-position-embeddings", rope->original_seq);
    if (!mla && rope->beta_fast > 0.0)
        args_number(args, "--yarn-beta-fast", rope->beta_fast);
    if (!mla && rope->beta_slow > 0.0)
        args_number(args, "--yarn-beta-slow", rope->beta_slow);
}

static void append_rotary(const plait_model *model, const plait_mla *latent, launch_args *args)
{
    const plait_rope *const rope = &model->numerics.rope;
    const bool mla = latent != NULL;

    args_text(args, "--position-embedding-type",
              !mla && rope->kind == PLAIT_ROPE_YARN ? "yarn" : "rope");
    if (rope->base >= 1.0)
        args_printf(args, "--rotary-base", "%.0f", rope->base);
    if (rope->fraction > 0.0 && rope->fraction < 1.0)
        args_number(args, "--rotary-percent", rope->fraction);
    if (rope->interleaved && !mla) // MLA orders the pairs itself
        args_switch(args, "--rotary-interleaved");
    if (mla)
        args_text(args, "--rope-type", rope->kind == PLAIT_ROPE_YARN ? "yarn" : "rope");
    if (mla && (rope->kind != PLAIT_ROPE_YARN || latent->index_heads > 0))
        args_switch(args, "--no-rope-fusion"); // the fused kernel knows YaRN alone, no indexer
    if (rope->kind == PLAIT_ROPE_LINEAR && rope->factor >= 1.0)
        args_printf(args, "--rotary-seq-len-interpolation-factor", "%.0f", rope->factor);
    if (rope->kind == PLAIT_ROPE_LLAMA3)
        append_llama3(rope, args);
    if (rope->kind == PLAIT_ROPE_YARN)
        append_yarn(rope, mla, args);
}

static void append_positions(const plait_model *model, const model_facts *facts, launch_args *args)
{
    const int without = count_layers(model, has_no_rotary);

    if (model->learned_positions > 0)
        args_text(args, "--position-embedding-type", "learned_absolute");
    else if (without == model->layers)
        args_text(args, "--position-embedding-type", "none");
    else
        append_rotary(model, facts->mla, args);
    if (without > 0 && without < model->layers)
        append_pattern(model, has_no_rotary, "--no-rope-freq", args);
}

/* ---- norms, activations, biases ---- */

static void append_activation(const plait_model *model, const model_facts *facts, launch_args *args)
{
    const bool gated = facts->mlp != NULL ? facts->mlp->gated : facts->moe->gated;

    if (model->numerics.activation ==
        PLAIT_CLAMPED_SWIGLU) { // gpt-oss: arXiv 2508.10925, swiglu_limit
        args_switch(args, "--quick-geglu");
        args_number(args, "--glu-linear-offset", 1.0);
        args_number(args, "--activation-func-clamp-value", 7.0);
    } else if (gated) {
        args_switch(args, "--swiglu");
    } else if (model->numerics.activation == PLAIT_RELU2) {
        args_switch(args, "--squared-relu");
    }
}

static void append_numerics(const plait_model *model, const model_facts *facts, launch_args *args)
{
    const double dropout = model->dropout ? 0.1 : 0.0; // GPT-2's and Megatron's own rate

    args_text(args, "--normalization", model->layer_norm ? "LayerNorm" : "RMSNorm");
    if (model->numerics.norm_eps > 0.0)
        args_number(args, "--norm-epsilon", model->numerics.norm_eps);
    append_activation(model, facts, args);
    if (!facts->bias)
        args_switch(args, "--disable-bias-linear");
    if (!facts->bias && facts->attention != NULL && facts->attention->qkv_bias)
        args_switch(args, "--add-qkv-bias");
    args_number(args, "--attention-dropout", dropout);
    args_number(args, "--hidden-dropout", dropout);
    if (model->numerics.init_std > 0.0)
        args_number(args, "--init-method-std", model->numerics.init_std);
}

/* ---- experts ---- */

static void append_router(const plait_moe *moe, const plait_router *router, launch_args *args)
{
    const bool softmax = router->score != PLAIT_ROUTER_SIGMOID;

    args_int(args, "--moe-router-topk", moe->topk);
    args_text(args, "--moe-router-score-function", softmax ? "softmax" : "sigmoid");
    if (softmax &&
        (moe->topk == 1 || (router->score == PLAIT_ROUTER_SOFTMAX && !router->normalised)))
        args_switch(args, "--moe-router-pre-softmax");
    if (!softmax && !router->normalised && moe->topk == 1)
        args_switch(args, "--moe-apply-probs-on-input");
    if (moe->groups > 1) {
        args_int(args, "--moe-router-num-groups", moe->groups);
        args_int(args, "--moe-router-group-topk", moe->group_topk);
    }
    if (router->scale > 0.0 && router->scale != 1.0)
        args_number(args, "--moe-router-topk-scaling-factor", router->scale);
    if (router->correction_bias)
        args_switch(args, "--moe-router-enable-expert-bias");
    args_text(args, "--moe-router-dtype", "fp32");
    args_text(args, "--moe-router-load-balancing-type",
              router->aux_loss > 0.0 ? "aux_loss" : "none");
    if (router->aux_loss > 0.0)
        args_number(args, "--moe-aux-loss-coeff", router->aux_loss);
}

static void append_experts(const plait_model *model, const plait_moe *moe, launch_args *args)
{
    args_int(args, "--num-experts", moe->experts);
    args_int(args, "--moe-ffn-hidden-size", moe->width);
    if (count_layers(model, has_experts) < model->layers)
        append_pattern(model, has_experts, "--moe-layer-freq", args);
    if (moe->shared_width > 0)
        args_int(args, "--moe-shared-expert-intermediate-size", moe->shared_width);
    if (moe->shared_gate)
        args_switch(args, "--moe-shared-expert-gate");
    append_router(moe, &model->numerics.router, args);
}

void megatron_append_model(const plait_problem *problem, launch_args *args)
{
    const plait_model *const model = problem->model;
    const model_facts facts = facts_of(model);

    args_group(args, "model");
    append_sizes(problem, &facts, args);
    args_group(args, "attention and positions");
    append_mixers(model, &facts, args);
    append_positions(model, &facts, args);
    args_group(args, "norms, activation, biases");
    append_numerics(model, &facts, args);
    if (facts.moe == NULL)
        return;
    args_group(args, "experts");
    append_experts(model, facts.moe, args);
}
