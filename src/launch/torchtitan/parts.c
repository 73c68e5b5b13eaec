/*
 * parts.c - a model that is no flavour, in the configuration classes of its family
 *
 * Where a model file leaves a number open, the family's own is taken: the base of the rotary
 * positions, the epsilon of the norms, the spread of the first weights.
 */
#include "launch/torchtitan/torchtitan.h"
#include "plan/model_queries.h"

const plait_layer *titan_layer_with(const plait_model *model, plait_ffn_kind ffn)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].ffn == ffn)
            return &model->kind[k];
    return NULL;
}

static double known_or(double number, double otherwise)
{
    return number > 0.0 ? number : otherwise;
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

static void append_scaling(const plait_rope *rope, text_builder *out)
{
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
        text_append(out, "# The model file leaves positions open: these are the family's.\n");
    text_append_printf(out, "ROPE = %s.Config(\n", halves ? "CosSinRoPE" : "ComplexRoPE");
    append_number(
        "dim", family == TITAN_DEEPSEEK_V3 ? layer->mla.rope_dim : layer->attention.head_dim, out);
    append_number("max_context_length", model->max_seq > seq ? model->max_seq : seq, out);
    append_number("theta", is_unknown(rope) ? bases[family] : known_or(rope->base, bases[family]),
                  out);
    append_scaling(rope, out);
    text_append(out, ")\n");
}

/* ---- first weights, norms ---- */

static void append_weights(const plait_model *model, text_builder *out)
{
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
}

static void append_norm(const plait_model *model, text_builder *out)
{
    const double usual = titan_family_of(model) == TITAN_QWEN3 ? 1e-6 : 1e-5;
    char text[TEXT_NUMBER_SIZE];

    text_append_printf(out,
                       "\n\ndef norm(width: int) -> RMSNorm.Config:\n"
                       "    return RMSNorm.Config(normalized_shape=width, eps=%s, "
                       "param_init=NORM)\n",
                       text_number(known_or(model->numerics.norm_eps, usual), text));
}

/* ---- attention ---- */

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

static void append_gqa(const plait_attention *attention, const char *backend, text_builder *out)
{
    text_append_printf(out,
                       "\n\ndef attention(layer_id: int):\n"
                       "    return make_gqa_config(\n"
                       "        dim=DIM,\n        n_heads=%d,\n        n_kv_heads=%d,\n"
                       "        head_dim=%d,\n        wqkv_param_init=LINEAR,\n"
                       "        wo_param_init=LINEAR,\n"
                       "        inner_attention=get_attention_config(\"%s\"),\n"
                       "        fuse_qkv=True,\n",
                       attention->heads, attention->kv_heads, attention->head_dim, backend);
    if (attention->qk_norm)
        text_append_printf(out, "        qk_norm=norm(%d),\n", attention->head_dim);
    text_append(out, "        rope=ROPE,\n    )\n");
}

/* ---- feed-forward ---- */

static void append_router(const plait_model *model, const plait_moe *moe, text_builder *out)
{
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
}

static void append_experts(const plait_model *model, const plait_moe *moe, text_builder *out)
{
    text_append_printf(out,
                       "\n\ndef experts():\n"
                       "    return make_moe_config(\n        num_experts=%d,\n",
                       moe->experts);
    append_router(model, moe, out);
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

void titan_append_parts(const plait_launch *launch, text_builder *out)
{
    const plait_model *const model = launch->problem->model;
    const plait_layer *const moe = titan_layer_with(model, PLAIT_FFN_MOE);

    text_append_printf(out, "\nDIM = %d\nVOCAB = %d\n", model->hidden, model->vocab);
    append_rope(launch, out);
    append_weights(model, out);
    append_norm(model, out);
    if (model->kind[0].mixer == PLAIT_MIXER_MLA)
        append_mla(model, titan_attention(launch), out);
    else
        append_gqa(&model->kind[0].attention, titan_attention(launch), out);
    if (moe == NULL || moe->moe.shared_width > 0 || titan_layer_with(model, PLAIT_FFN_MLP) != NULL)
        text_append(out, feed_forward);
    if (moe != NULL)
        append_experts(model, &moe->moe, out);
}
