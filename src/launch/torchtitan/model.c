/*
 * model.c - writes the function `model` of recipe.py: a flavour, or a model built of the family's
 * parts
 *
 * The function requests a flavour by its name, and builds any other model from the configuration
 * classes of the model's family, layer by layer.
 */
#include "launch/torchtitan/torchtitan.h"

#include <math.h>
#include <string.h>

#include "plan/model_queries.h"

static const plait_layer *titan_layer_with(const plait_model *model, plait_ffn_kind ffn)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].ffn == ffn)
            return &model->kind[k];
    return NULL;
}

/* ---- positions ---- */

static bool is_unknown(const plait_rope *rope)
{
    return rope->kind == PLAIT_ROPE_PLAIN && rope->base == 0.0;
}

static void append_number(const char *key, double number, text_builder *out)
{
    text_append_printf(out, "    %s=", key);
    text_append_number(out, number);
    text_append(out, ",\n");
}

static void append_known(const char *key, double number, text_builder *out)
{
    if (number > 0.0)
        append_number(key, number, out);
}

static void append_rope(const plait_launch *launch, text_builder *out)
{
    static const double bases[TITAN_FAMILIES] = {5e5, 1e6, 1e4, 1.5e5};
    const plait_model *const model = launch->problem->model;
    const plait_rope *const rope = &model->numerics.rope;
    const titan_family family = titan_family_of(model);
    const int seq = launch->problem->job.seq;
    const bool halves = family == TITAN_QWEN3 && rope->kind != PLAIT_ROPE_LLAMA3;
    const plait_layer *const layer = &model->kind[0];

    if (is_unknown(rope))
        text_append(out,
                    "# The model file has no settings for positions; these are the family's.\n");
    text_append_printf(out, "ROPE = %s.Config(\n", halves ? "CosSinRoPE" : "ComplexRoPE");
    append_number(
        "dim", family == TITAN_DEEPSEEK_V3 ? layer->mla.rope_dim : layer->attention.head_dim, out);
    append_number("max_context_length", model->max_seq > seq ? model->max_seq : seq, out);
    append_number("theta", is_unknown(rope) ? bases[family] : known_or(rope->base, bases[family]),
                  out);
    if (rope->kind == PLAIT_ROPE_LLAMA3) {
        text_append(out, "    scaling=\"llama\",\n");
        append_known("scaling_factor", rope->factor, out);
        append_known("low_freq_factor", rope->low_freq, out);
        append_known("high_freq_factor", rope->high_freq, out);
        append_known("original_max_position_embeddings", rope->original_seq, out);
    }
    if (rope->kind == PLAIT_ROPE_YARN) {
        text_append(out, "    scaling=\"yarn\",\n");
        append_known("rope_factor", rope->factor, out);
        append_known("beta_fast", rope->beta_fast, out);
        append_known("beta_slow", rope->beta_slow, out);
        append_known("original_seq_len", rope->original_seq, out);
    }
    text_append(out, ")\n");
}

/* ---- first weights, norms ---- */

static void append_mla(const plait_model *model, const char *backend, text_builder *out)
{
    const plait_mla *const mla = &model->kind[0].mla;
    char text[TEXT_NUMBER_SIZE];

    text_append_printf(out,
                       "\n\ndef attention(layer_id: int):\n"
                       "    return make_mla_attention_config(\n"
                       "        layer_id=layer_id,\n        dim=DIM,\n"
                       "        n_heads=%d,\n        q_lora_rank=%d,\n        kv_lora_rank=%d,\n"
                       "        qk_nope_head_dim=%d,\n        qk_rope_head_dim=%d,\n"
                       "        v_head_dim=%d,\n        mscale=%s,\n",
                       mla->heads, mla->q_rank, mla->kv_rank, mla->nope_dim, mla->rope_dim,
                       mla->v_dim,
                       text_number(known_or(model->numerics.rope.mscale_all_dim, 1.0), text));
    text_append_printf(out,
                       "        attn_backend=\"%s\",\n        linear_init=LINEAR,\n"
                       "        norm_init=NORM,\n        depth_init=lambda layer_id: LINEAR,\n"
                       "        rope=ROPE,\n    )\n",
                       backend);
}

/* ---- feed-forward ---- */

static void append_experts(const plait_model *model, const plait_moe *moe, text_builder *out)
{
    text_append_printf(out,
                       "\n\ndef experts():\n"
                       "    return make_moe_config(\n        num_experts=%d,\n",
                       moe->experts);
    const plait_router *const router = &model->numerics.router;
    const bool mla = titan_family_of(model) == TITAN_DEEPSEEK_V3;
    const bool known = router->score != PLAIT_ROUTER_UNKNOWN;
    const bool sigmoid = known ? router->score == PLAIT_ROUTER_SIGMOID : mla;
    const bool normalised = !known || router->normalised || router->score == PLAIT_ROUTER_SCORES;
    char text[TEXT_NUMBER_SIZE];
    text_append_printf(out,
                       "        router=make_router_config(\n"
                       "            dim=DIM,\n            num_experts=%d,\n"
                       "            gate_param_init=LINEAR,\n            top_k=%d,\n"
                       "            score_func=\"%s\",\n            route_norm=%s,\n"
                       "            route_scale=%s,\n",
                       moe->experts, moe->topk, sigmoid ? "sigmoid" : "softmax",
                       normalised ? "True" : "False",
                       text_number(known_or(router->scale, 1.0), text));
    if (moe->groups > 1)
        text_append_printf(out,
                           "            num_expert_groups=%d,\n"
                           "            num_limited_groups=%d,\n",
                           moe->groups, moe->group_topk);
    text_append(out, "        ),\n");
    text_append_printf(out,
                       "        routed_experts=make_routed_experts_config(\n"
                       "            dim=DIM,\n            hidden_dim=%d,\n"
                       "            num_experts=%d,\n            top_k=%d,\n"
                       "            param_init=EXPERTS,\n            comm_backend=\"standard\",\n"
                       "        ),\n",
                       moe->width, moe->experts, moe->topk);
    if (moe->shared_width > 0)
        text_append_printf(out, "        shared_experts=feed_forward(%d),\n", moe->shared_width);
    text_append(out, "    )\n");
}

static const char feed_forward[] =
    "\n\ndef feed_forward(width: int):\n"
    "    return make_ffn_config(\n"
    "        dim=DIM, hidden_dim=width, w1_param_init=LINEAR, w2w3_param_init=LINEAR\n"
    "    )\n";

/* Append functions for the parts of a model that is not a flavour. */
static void titan_append_parts(const plait_launch *launch, text_builder *out)
{
    const plait_model *const model = launch->problem->model;
    const plait_layer *const moe = titan_layer_with(model, PLAIT_FFN_MOE);

    text_append_printf(out, "\nDIM = %d\nVOCAB = %d\n", model->hidden, model->vocab);
    append_rope(launch, out);
    const double std = known_or(model->numerics.init_std, 0.02);
    char text[TEXT_NUMBER_SIZE];

    text_append_printf(out,
                       "WEIGHT = partial(nn.init.trunc_normal_, std=%s)\n"
                       "LINEAR = {\"weight\": WEIGHT, \"bias\": nn.init.zeros_}\n"
                       "NORM = {\"weight\": nn.init.ones_}\n",
                       text_number(std, text));
    if (model_has_experts(model))
        text_append(out, "EXPERTS = {\"w1_EFD\": WEIGHT, \"w2_EDF\": WEIGHT, "
                         "\"w3_EFD\": WEIGHT}\n");
    const double usual = titan_family_of(model) == TITAN_QWEN3 ? 1e-6 : 1e-5;
    text_append_printf(out,
                       "\n\ndef norm(width: int) -> RMSNorm.Config:\n"
                       "    return RMSNorm.Config(normalized_shape=width, eps=%s, "
                       "param_init=NORM)\n",
                       text_number(known_or(model->numerics.norm_eps, usual), text));
    if (model->kind[0].mixer == PLAIT_MIXER_MLA)
        append_mla(model, titan_attention(launch), out);
    else {
        text_append_printf(out,
                           "\n\ndef attention(layer_id: int):\n"
                           "    return make_gqa_config(\n"
                           "        dim=DIM,\n        n_heads=%d,\n        n_kv_heads=%d,\n"
                           "        head_dim=%d,\n        wqkv_param_init=LINEAR,\n"
                           "        wo_param_init=LINEAR,\n"
                           "        inner_attention=get_attention_config(\"%s\"),\n"
                           "        fuse_qkv=True,\n",
                           model->kind[0].attention.heads, model->kind[0].attention.kv_heads,
                           model->kind[0].attention.head_dim, titan_attention(launch));
        if (model->kind[0].attention.qk_norm)
            text_append_printf(out, "        qk_norm=norm(%d),\n",
                               model->kind[0].attention.head_dim);
        text_append(out, "        rope=ROPE,\n    )\n");
    }
    if (moe == NULL || moe->moe.shared_width > 0 || titan_layer_with(model, PLAIT_FFN_MLP) != NULL)
        text_append(out, feed_forward);
    if (moe != NULL)
        append_experts(model, &moe->moe, out);
}

/* ---- layers ---- */

static const char *class_of(const plait_model *model)
{
    static const char *const classes[TITAN_FAMILIES] = {"Llama3", "Qwen3", "DeepSeekV3", "GptOss"};

    return classes[titan_family_of(model)];
}

static void titan_append_config(const plait_launch *launch, text_builder *out)
{
    const plait_model *const model = launch->problem->model;

    text_append(out, "    moe_layers = ");
    // write the list of layers with experts, such as [False] * 3 + [True] * 58
    for (int first = 0, last; first < model->layers; first = last) {
        const bool has = titan_layer_has_experts(model, first);

        for (last = first + 1; last < model->layers && titan_layer_has_experts(model, last) == has;)
            last++;
        text_append_printf(out, first > 0 ? " + [%s] * %d" : "[%s] * %d", has ? "True" : "False",
                           last - first);
    }
    text_append_printf(out,
                       "\n    config = %sModel.Config(\n"
                       "        dim=DIM,\n        vocab_size=VOCAB,\n%s"
                       "        tok_embeddings=Embedding.Config(\n"
                       "            num_embeddings=VOCAB, embedding_dim=DIM, "
                       "param_init={\"weight\": %s}\n        ),\n"
                       "        norm=norm(DIM),\n"
                       "        lm_head=Linear.Config(\n"
                       "            in_features=DIM, out_features=VOCAB, param_init=LINEAR\n"
                       "        ),\n"
                       "        layers=[block(i, moe) for i, moe in enumerate(moe_layers)],\n",
                       class_of(model), model->tied ? "        enable_weight_tying=True,\n" : "",
                       model->tied ? "skip_param_init" : "WEIGHT");
    if (model->mtp_layers > 0) {
        text_append_printf(
            out,
            "        mtp_layers=[\n"
            "            block(\n"
            "                len(moe_layers) - 1,\n                moe_layers[-1],\n"
            "                MTPTransformerBlock,\n"
            "                enorm=norm(DIM),\n                hnorm=norm(DIM),\n"
            "                mtp_norm=norm(DIM),\n"
            "                eh_proj=Linear.Config(\n"
            "                    in_features=2 * DIM, out_features=DIM, param_init=LINEAR\n"
            "                ),\n"
            "            )\n"
            "            for _ in range(%d)\n"
            "        ],\n",
            model->mtp_layers);
    }
    text_append(out, "    )\n");
}

/* ---- number formats ---- */

static bool is_quantized(const plait_launch *launch)
{
    return launch->problem->job.precision != PLAIT_BF16;
}

static void append_quantization_imports(const plait_launch *launch, text_builder *out)
{
    static const char *const prefix[PLAIT_PRECISIONS] = {
        [PLAIT_FP8] = "Float8", [PLAIT_MXFP8] = "MXFP8", [PLAIT_NVFP4] = "NVFP4"};
    const char *const name = prefix[launch->problem->job.precision];

    if (name == NULL)
        return;
    text_append(out, "from torchtitan.components.quantization import ");
    if (model_has_experts(launch->problem->model))
        text_append_printf(out, "%sGroupedExpertsConverter, ", name);
    text_append_printf(out, "%sLinearConverter\n", name);
}

/* Append the converters of the blocks' linear layers; the router and the head are not converted. */
static void append_converters(const plait_launch *launch, const char *indent, text_builder *out)
{
    const bool experts = model_has_experts(launch->problem->model);
    const char *const compiled = titan_is_compiled(launch) ? "True" : "False";
    const char *linear, *name;

    switch (launch->problem->job.precision) {
    case PLAIT_FP8:
        name = "Float8";
        linear =
            experts ? "filter_fqns=[\"lm_head\", \"router.gate\"]" : "filter_fqns=[\"lm_head\"]";
        break;
    case PLAIT_MXFP8:
        name = "MXFP8";
        linear = "fqns=[\"attention\", \"feed_forward\", \"shared_experts\"]";
        break;
    default:
        name = "NVFP4";
        linear = "fqns=[\"layers\"]";
    }
    text_append_printf(out, "%s%sLinearConverter.Config(%s, model_compile_enabled=%s),\n", indent,
                       name, linear, compiled);
    if (experts)
        text_append_printf(out, "%s%sGroupedExpertsConverter.Config(%smodel_compile_enabled=%s),\n",
                           indent, name, strcmp(name, "MXFP8") == 0 ? "pad_multiple=128, " : "",
                           compiled);
}

/* ---- a flavour ---- */

static void append_flavour(const plait_launch *launch, const titan_flavour *flavour,
                           text_builder *out)
{
    const int predictions = launch->problem->model->mtp_layers;

    text_append_printf(out,
                       "\n\ndef model() -> ModelSpec:\n"
                       "    spec = model_registry(\n"
                       "        \"%s\",\n"
                       "        attn_backend=\"%s\",\n",
                       flavour->name, titan_attention(launch));
    if (predictions > 0)
        text_append_printf(out, "        num_mtp_layers=%d,\n", predictions);
    if (is_quantized(launch)) {
        text_append(out, "        converters=[\n");
        append_converters(launch, "            ", out);
        text_append(out, "        ],\n");
    }
    text_append(out, "    )\n");
    // raise the positions to the sequence length if the flavour has fewer
    const int seq = launch->problem->job.seq;

    if (seq > flavour->positions)
        text_append_printf(
            out,
            "    for layer in spec.model.layers:\n"
            "        layer.attention.rope.max_context_length = %d  # %d in the flavour\n",
            seq, flavour->positions);
    text_append(out, "    return spec\n");
}

/* ---- imports for any other model ---- */

static void append_parts_imports(const plait_launch *launch, text_builder *out)
{
    const plait_model *const model = launch->problem->model;
    const titan_family family = titan_family_of(model);
    const bool experts = model_has_experts(model);
    const bool mla = family == TITAN_DEEPSEEK_V3;
    const char *const module = titan_module[family];

    append_quantization_imports(launch, out);
    if (experts)
        text_append(out, "from torchtitan.components.optimizer import "
                         "register_moe_load_balancing_hook\n");
    text_append_printf(out,
                       "from torchtitan.distributed.pipeline_parallel import pipeline_llm\n"
                       "from torchtitan.models.common import %s, Embedding, Linear, RMSNorm\n"
                       "from torchtitan.models.common.config_utils import %s%s"
                       "make_ffn_config\n",
                       family == TITAN_QWEN3 && model->numerics.rope.kind != PLAIT_ROPE_LLAMA3
                           ? "CosSinRoPE"
                           : "ComplexRoPE",
                       mla ? "" : "get_attention_config, make_gqa_config, ",
                       experts ? "make_moe_config, make_routed_experts_config, "
                                 "make_router_config, "
                               : "");
    if (model->tied)
        text_append(out, "from torchtitan.models.common.param_init import skip_param_init\n");
    text_append_printf(out,
                       "from torchtitan.models.%s import %s%s\n"
                       "from torchtitan.models.%s.model import %s\n",
                       module, mla ? "make_mla_attention_config, " : "",
                       mla                     ? "parallelize_deepseekv3"
                       : family == TITAN_QWEN3 ? "parallelize_qwen3"
                                               : "parallelize_llama",
                       module,
                       mla                     ? "DeepSeekV3Model, DeepSeekV3TransformerBlock"
                       : family == TITAN_QWEN3 ? "Qwen3Model, Qwen3TransformerBlock"
                                               : "Llama3Model, Llama3TransformerBlock");
    if (model->mtp_layers > 0)
        text_append(out, "from torchtitan.models.deepseek_v3.mtp import MTPTransformerBlock\n");
}

void titan_append_model_imports(const plait_launch *launch, text_builder *out)
{
    const titan_family family = titan_family_of(launch->problem->model);

    if (titan_flavour_of(launch->problem->model) == NULL) {
        append_parts_imports(launch, out);
        return;
    }
    append_quantization_imports(launch, out);
    text_append_printf(out, "from torchtitan.models.%s import model_registry\n",
                       titan_module[family]);
}

void titan_append_model(const plait_launch *launch, text_builder *out)
{
    const titan_flavour *const flavour = titan_flavour_of(launch->problem->model);

    if (flavour != NULL) {
        append_flavour(launch, flavour, out);
        return;
    }
    titan_append_parts(launch, out);
    const plait_model *const model = launch->problem->model;
    text_append_printf(out,
                       "\n\ndef block(layer_id: int, moe: bool, cls=%sTransformerBlock, **more):\n"
                       "    return cls.Config(\n"
                       "        attention=attention(layer_id),\n"
                       "        attention_norm=norm(DIM),\n        ffn_norm=norm(DIM),\n",
                       class_of(model));
    const plait_layer *const dense = titan_layer_with(model, PLAIT_FFN_MLP);
    const bool experts = model_has_experts(model);

    if (dense != NULL)
        text_append_printf(out, "        feed_forward=%sfeed_forward(%d),\n",
                           experts ? "None if moe else " : "", dense->mlp.width);
    if (experts)
        text_append_printf(out, "        moe=experts()%s,\n",
                           dense != NULL ? " if moe else None" : "");
    text_append(out, "        **more,\n    )\n");
    text_append(out, "\n\ndef model() -> ModelSpec:\n");
    titan_append_config(launch, out);
    if (is_quantized(launch)) {
        text_append(out, "    for converter in (\n");
        append_converters(launch, "        ", out);
        text_append(out, "    ):\n        config = converter.build().convert(config)\n");
    }
    static const char *const parallelize[TITAN_FAMILIES] = {
        "parallelize_llama", "parallelize_qwen3", "parallelize_deepseekv3", "parallelize_gptoss"};
    const titan_family family = titan_family_of(model);
    text_append_printf(
        out, "    return ModelSpec(\n        name=\"%s\",\n        flavor=", titan_module[family]);
    titan_append_quoted(model->name, out);
    text_append_printf(
        out,
        ",\n        model=config,\n        parallelize_fn=%s,\n"
        "        pipelining_fn=pipeline_llm,\n"
        "        post_optimizer_build_fn=%s,\n"
        "        state_dict_adapter=None,  # only checkpoints in torchtitan's format\n"
        "    )\n",
        parallelize[family],
        model_has_experts(model) ? "register_moe_load_balancing_hook" : "None");
}
