/* model_plait_parts.c - one mixer or feed-forward part out of a plait model file */
#include "io/model/model_plait.h"

/* ---- mixers ---- */

plait_status model_read_attention(const json_cursor *at, int hidden, plait_attention *out,
                                  plait_error *err)
{
    static const char *const keys[] = {"heads",    "kv_heads",  "head_dim",  "window", "chunk",
                                       "qkv_bias", "out_bias",  "qk_norm",   "rotary", "gate",
                                       "sinks",    "shared_kv", "full_mask", NULL};

    PLAIT_TRY(json_keys_among(at, keys, err));
    PLAIT_TRY(json_int(at, "heads", 1, MODEL_MAX_HEADS, &out->heads, err));
    out->kv_heads = out->heads;
    out->rotary = true;
    PLAIT_TRY(json_int_optional(at, "kv_heads", 1, MODEL_MAX_HEADS, &out->kv_heads, err));
    PLAIT_TRY(json_int_optional(at, "head_dim", 1, MODEL_MAX_HEAD_DIM, &out->head_dim, err));
    PLAIT_TRY(json_int_optional(at, "window", 0, MODEL_MAX_SEQ, &out->window, err));
    PLAIT_TRY(json_int_optional(at, "chunk", 0, MODEL_MAX_SEQ, &out->chunk, err));
    PLAIT_TRY(json_bool_optional(at, "qkv_bias", &out->qkv_bias, err));
    PLAIT_TRY(json_bool_optional(at, "out_bias", &out->out_bias, err));
    PLAIT_TRY(json_bool_optional(at, "qk_norm", &out->qk_norm, err));
    PLAIT_TRY(json_bool_optional(at, "rotary", &out->rotary, err));
    PLAIT_TRY(json_bool_optional(at, "gate", &out->gate, err));
    PLAIT_TRY(json_bool_optional(at, "sinks", &out->sinks, err));
    PLAIT_TRY(json_bool_optional(at, "shared_kv", &out->shared_kv, err));
    PLAIT_TRY(json_bool_optional(at, "full_mask", &out->full_mask, err));
    PLAIT_TRY(model_check_kv_heads(at, "kv_heads", out->heads, out->kv_heads, err));
    return model_check_head_dim(at, "head_dim", hidden, out->heads, &out->head_dim, err);
}

/* The indexer is there as a whole or not at all. */
static plait_status read_indexer(const json_cursor *at, plait_mla *out, plait_error *err)
{
    if (!json_has(at, "index_heads") && !json_has(at, "index_dim") && !json_has(at, "index_topk"))
        return PLAIT_OK;
    PLAIT_TRY(json_int(at, "index_heads", 1, MODEL_MAX_HEADS, &out->index_heads, err));
    PLAIT_TRY(json_int(at, "index_dim", 1, MODEL_MAX_HEAD_DIM, &out->index_dim, err));
    return json_int(at, "index_topk", 1, MODEL_MAX_SEQ, &out->index_topk, err);
}

plait_status model_read_mla(const json_cursor *at, plait_mla *out, plait_error *err)
{
    static const char *const keys[] = {"heads",      "q_rank", "kv_rank",     "nope_dim",
                                       "rope_dim",   "v_dim",  "index_heads", "index_dim",
                                       "index_topk", NULL};

    PLAIT_TRY(json_keys_among(at, keys, err));
    PLAIT_TRY(json_int(at, "heads", 1, MODEL_MAX_HEADS, &out->heads, err));
    PLAIT_TRY(json_int_optional(at, "q_rank", 0, MODEL_MAX_RANK, &out->q_rank, err));
    PLAIT_TRY(json_int(at, "kv_rank", 1, MODEL_MAX_RANK, &out->kv_rank, err));
    PLAIT_TRY(json_int(at, "nope_dim", 1, MODEL_MAX_HEAD_DIM, &out->nope_dim, err));
    PLAIT_TRY(json_int(at, "rope_dim", 0, MODEL_MAX_HEAD_DIM, &out->rope_dim, err));
    PLAIT_TRY(json_int(at, "v_dim", 1, MODEL_MAX_HEAD_DIM, &out->v_dim, err));
    return read_indexer(at, out, err);
}

plait_status model_read_delta_net(const json_cursor *at, plait_delta_net *out, plait_error *err)
{
    static const char *const keys[] = {"key_heads", "value_heads", "key_dim",
                                       "value_dim", "conv",        NULL};

    out->conv = 4;
    PLAIT_TRY(json_keys_among(at, keys, err));
    PLAIT_TRY(json_int(at, "key_heads", 1, MODEL_MAX_HEADS, &out->key_heads, err));
    PLAIT_TRY(json_int(at, "value_heads", 1, MODEL_MAX_HEADS, &out->value_heads, err));
    PLAIT_TRY(json_int(at, "key_dim", 1, MODEL_MAX_HEAD_DIM, &out->key_dim, err));
    PLAIT_TRY(json_int(at, "value_dim", 1, MODEL_MAX_HEAD_DIM, &out->value_dim, err));
    PLAIT_TRY(json_int_optional(at, "conv", 1, MODEL_MAX_CONV, &out->conv, err));
    return model_check_kv_heads(at, "key_heads", out->value_heads, out->key_heads, err);
}

plait_status model_read_mamba(const json_cursor *at, int hidden, plait_mamba *out, plait_error *err)
{
    static const char *const keys[] = {"inner", "state", "conv", "dt_rank", NULL};

    *out = (plait_mamba){.state = 16, .conv = 4, .dt_rank = (hidden + 15) / 16};
    PLAIT_TRY(json_keys_among(at, keys, err));
    PLAIT_TRY(json_int(at, "inner", 1, MODEL_MAX_WIDTH, &out->inner, err));
    PLAIT_TRY(json_int_optional(at, "state", 1, MODEL_MAX_STATE, &out->state, err));
    PLAIT_TRY(json_int_optional(at, "conv", 1, MODEL_MAX_CONV, &out->conv, err));
    return json_int_optional(at, "dt_rank", 1, MODEL_MAX_RANK, &out->dt_rank, err);
}

/* ---- feed-forward parts ---- */

plait_status model_read_mlp(const json_cursor *at, plait_mlp *out, plait_error *err)
{
    static const char *const keys[] = {"width", "gated", "bias", NULL};

    out->gated = true;
    PLAIT_TRY(json_keys_among(at, keys, err));
    PLAIT_TRY(json_int(at, "width", 1, MODEL_MAX_WIDTH, &out->width, err));
    PLAIT_TRY(json_bool_optional(at, "gated", &out->gated, err));
    return json_bool_optional(at, "bias", &out->bias, err);
}

plait_status model_read_moe(const json_cursor *at, plait_moe *out, plait_error *err)
{
    static const char *const keys[] = {
        "experts", "topk",        "width",       "shared_width", "groups", "group_topk", "gated",
        "bias",    "router_bias", "shared_gate", "capacity",     "padded", NULL};

    out->gated = true;
    PLAIT_TRY(json_keys_among(at, keys, err));
    PLAIT_TRY(json_int(at, "experts", 1, MODEL_MAX_EXPERTS, &out->experts, err));
    PLAIT_TRY(json_int(at, "topk", 1, MODEL_MAX_EXPERTS, &out->topk, err));
    PLAIT_TRY(json_int(at, "width", 1, MODEL_MAX_WIDTH, &out->width, err));
    PLAIT_TRY(json_int_optional(at, "shared_width", 0, MODEL_MAX_WIDTH, &out->shared_width, err));
    PLAIT_TRY(json_int_optional(at, "groups", 0, MODEL_MAX_EXPERTS, &out->groups, err));
    PLAIT_TRY(json_int_optional(at, "group_topk", 0, MODEL_MAX_EXPERTS, &out->group_topk, err));
    PLAIT_TRY(json_bool_optional(at, "gated", &out->gated, err));
    PLAIT_TRY(json_bool_optional(at, "bias", &out->bias, err));
    PLAIT_TRY(json_bool_optional(at, "router_bias", &out->router_bias, err));
    PLAIT_TRY(json_bool_optional(at, "shared_gate", &out->shared_gate, err));
    PLAIT_TRY(json_number_optional(at, "capacity", JSON_NON_NEGATIVE, &out->capacity, err));
    PLAIT_TRY(json_bool_optional(at, "padded", &out->padded, err));
    if (out->capacity > out->experts)
        return json_fail_key(at, "capacity", PLAIT_ERROR_RANGE, err,
                             "expected at most the number of experts, %d, found %g", out->experts,
                             out->capacity);
    if (out->padded && out->capacity <= 0.0)
        return json_fail_key(at, "padded", PLAIT_ERROR_RANGE, err,
                             "expected a capacity to fill up to, found none");
    PLAIT_TRY(model_check_topk(at, "topk", out->experts, out->topk, err));
    return model_check_groups(at, "groups", "group_topk", out, err);
}

/* ---- a layer that only states its costs ---- */

/* Far above any layer, far below what a sum over layers and tokens could overflow. */
static const double opaque_max = 1e18;

static plait_status read_cost(const json_cursor *at, const char *key, double *out, plait_error *err)
{
    PLAIT_TRY(json_number(at, key, JSON_NON_NEGATIVE, out, err));
    if (*out > opaque_max)
        return json_fail_key(at, key, PLAIT_ERROR_RANGE, err, "expected at most 1e18, found %g",
                             *out);
    return PLAIT_OK;
}

plait_status model_read_opaque(const json_cursor *at, plait_opaque *out, plait_error *err)
{
    static const char *const keys[] = {"params", "forward_flops", "forward_bytes",
                                       "activation_bytes", NULL};

    PLAIT_TRY(json_keys_among(at, keys, err));
    PLAIT_TRY(read_cost(at, "params", &out->params, err));
    PLAIT_TRY(read_cost(at, "forward_flops", &out->forward_flops, err));
    PLAIT_TRY(read_cost(at, "forward_bytes", &out->forward_bytes, err));
    return read_cost(at, "activation_bytes", &out->activation_bytes, err);
}
