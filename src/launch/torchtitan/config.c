/* config.c - the parts of a model that is no flavour, put together */
#include "launch/torchtitan/torchtitan.h"
#include "plan/model_queries.h"

/* ---- layers ---- */

static const char *class_of(const plait_model *model)
{
    static const char *const classes[TITAN_FAMILIES] = {"Llama3", "Qwen3", "DeepSeekV3", "GptOss"};

    return classes[titan_family_of(model)];
}

static void append_ffn(const plait_model *model, text_builder *out)
{
    const plait_layer *const dense = titan_layer_with(model, PLAIT_FFN_MLP);
    const bool experts = model_has_experts(model);

    if (dense != NULL)
        text_append_printf(out, "        feed_forward=%sfeed_forward(%d),\n",
                           experts ? "None if moe else " : "", dense->mlp.width);
    if (experts)
        text_append_printf(out, "        moe=experts()%s,\n",
                           dense != NULL ? " if moe else None" : "");
}

void titan_append_block(const plait_launch *launch, text_builder *out)
{
    const plait_model *const model = launch->problem->model;

    text_append_printf(out,
                       "\n\ndef block(layer_id: int, moe: bool, cls=%sTransformerBlock, **more):\n"
                       "    return cls.Config(\n"
                       "        attention=attention(layer_id),\n"
                       "        attention_norm=norm(DIM),\n        ffn_norm=norm(DIM),\n",
                       class_of(model));
    append_ffn(model, out);
    text_append(out, "        **more,\n    )\n");
}

/* ---- the model ---- */

/* [False] * 3 + [True] * 58: which layers have experts */
static void append_which(const plait_model *model, text_builder *out)
{
    for (int first = 0, last; first < model->layers; first = last) {
        const bool has = titan_layer_has_experts(model, first);

        for (last = first + 1; last < model->layers && titan_layer_has_experts(model, last) == has;)
            last++;
        text_append_printf(out, first > 0 ? " + [%s] * %d" : "[%s] * %d", has ? "True" : "False",
                           last - first);
    }
}

static void append_predictions(const plait_model *model, text_builder *out)
{
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

void titan_append_config(const plait_launch *launch, text_builder *out)
{
    const plait_model *const model = launch->problem->model;

    text_append(out, "    moe_layers = ");
    append_which(model, out);
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
    if (model->mtp_layers > 0)
        append_predictions(model, out);
    text_append(out, "    )\n");
}

void titan_append_spec(const plait_launch *launch, text_builder *out)
{
    static const char *const parallelize[TITAN_FAMILIES] = {
        "parallelize_llama", "parallelize_qwen3", "parallelize_deepseekv3", "parallelize_gptoss"};
    const plait_model *const model = launch->problem->model;
    const titan_family family = titan_family_of(model);

    text_append_printf(
        out, "    return ModelSpec(\n        name=\"%s\",\n        flavor=", titan_module[family]);
    titan_append_quoted(model->name, out);
    text_append_printf(out,
                       ",\n        model=config,\n        parallelize_fn=%s,\n"
                       "        pipelining_fn=pipeline_llm,\n"
                       "        post_optimizer_build_fn=%s,\n"
                       "        state_dict_adapter=None,  # checkpoints of its own format only\n"
                       "    )\n",
                       parallelize[family],
                       model_has_experts(model) ? "register_moe_load_balancing_hook" : "None");
}
