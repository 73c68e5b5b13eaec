/* model_parts.c - reads and writes the parts of a kind of layer in a plait model file, by tables */
#include "io/model/model_file.h"

#include "io/json/fields.h"

#define INT(key, low, high, type)                                                                  \
#key, .is_int = true, .least = (low), .most = (high), FIELD_AT(type, key)
#define REQUIRED(key, low, high, type) INT(key, low, high, type), .required = true
#define BOOL(key, type) #key, .is_bool = true, FIELD_AT(type, key)
#define RARE_INT(key, high, type) INT(key, 0, high, type), .rare = true
#define RARE_BOOL(key, type) BOOL(key, type), .rare = true

/* ---- mixers ---- */

static const field attention_fields[] = {
    {REQUIRED(heads, 1, MODEL_MAX_HEADS, plait_attention)},
    {INT(kv_heads, 1, MODEL_MAX_HEADS, plait_attention)},
    {INT(head_dim, 1, MODEL_MAX_HEAD_DIM, plait_attention)},
    {RARE_INT(v_dim, MODEL_MAX_HEAD_DIM, plait_attention)},
    {INT(window, 0, MODEL_MAX_SEQ, plait_attention)},
    {INT(chunk, 0, MODEL_MAX_SEQ, plait_attention)},
    {BOOL(qkv_bias, plait_attention)},
    {BOOL(out_bias, plait_attention)},
    {BOOL(qk_norm, plait_attention)},
    {BOOL(rotary, plait_attention)},
    {BOOL(gate, plait_attention)},
    {BOOL(sinks, plait_attention)},
    {BOOL(shared_kv, plait_attention)},
    {RARE_BOOL(reused_kv, plait_attention)},
    {BOOL(full_mask, plait_attention)},
    {RARE_INT(q_rank, MODEL_MAX_RANK, plait_attention)},
    {RARE_INT(out_groups, MODEL_MAX_HEADS, plait_attention)},
    {RARE_INT(out_rank, MODEL_MAX_RANK, plait_attention)},
    {RARE_INT(compress, MODEL_MAX_SEQ, plait_attention)},
    {RARE_INT(index_heads, MODEL_MAX_HEADS, plait_attention)},
    {RARE_INT(index_dim, MODEL_MAX_HEAD_DIM, plait_attention)},
    {RARE_INT(index_topk, MODEL_MAX_SEQ, plait_attention)},
    {.key = NULL},
};
static const field mla_fields[] = {
    {REQUIRED(heads, 1, MODEL_MAX_HEADS, plait_mla)},
    {INT(q_rank, 0, MODEL_MAX_RANK, plait_mla)},
    {REQUIRED(kv_rank, 1, MODEL_MAX_RANK, plait_mla)},
    {REQUIRED(nope_dim, 1, MODEL_MAX_HEAD_DIM, plait_mla)},
    {REQUIRED(rope_dim, 0, MODEL_MAX_HEAD_DIM, plait_mla)},
    {REQUIRED(v_dim, 1, MODEL_MAX_HEAD_DIM, plait_mla)},
    {RARE_BOOL(gate, plait_mla)},
    {RARE_INT(index_heads, MODEL_MAX_HEADS, plait_mla)},
    {RARE_INT(index_dim, MODEL_MAX_HEAD_DIM, plait_mla)},
    {RARE_INT(index_topk, MODEL_MAX_SEQ, plait_mla)},
    {.key = NULL},
};
static const field delta_net_fields[] = {
    {REQUIRED(key_heads, 1, MODEL_MAX_HEADS, plait_delta_net)},
    {REQUIRED(value_heads, 1, MODEL_MAX_HEADS, plait_delta_net)},
    {REQUIRED(key_dim, 1, MODEL_MAX_HEAD_DIM, plait_delta_net)},
    {REQUIRED(value_dim, 1, MODEL_MAX_HEAD_DIM, plait_delta_net)},
    {INT(conv, 0, MODEL_MAX_CONV, plait_delta_net)},
    {RARE_INT(decay_rank, MODEL_MAX_RANK, plait_delta_net)},
    {RARE_INT(gate_rank, MODEL_MAX_RANK, plait_delta_net)},
    {RARE_BOOL(plain, plait_delta_net)},
    {.key = NULL},
};
static const field mamba_fields[] = {
    {REQUIRED(inner, 1, MODEL_MAX_WIDTH, plait_mamba)},
    {INT(state, 1, MODEL_MAX_STATE, plait_mamba)},
    {INT(conv, 1, MODEL_MAX_CONV, plait_mamba)},
    {INT(dt_rank, 0, MODEL_MAX_RANK, plait_mamba)},
    {RARE_INT(heads, MODEL_MAX_HEADS, plait_mamba)},
    {RARE_INT(groups, MODEL_MAX_HEADS, plait_mamba)},
    {RARE_INT(chunk, MODEL_MAX_SEQ, plait_mamba)},
    {.key = NULL},
};
static const field conv_fields[] = {
    {REQUIRED(width, 1, MODEL_MAX_WIDTH, plait_conv)},
    {INT(kernel, 1, MODEL_MAX_CONV, plait_conv)},
    {INT(blocks, 0, MODEL_MAX_HEADS, plait_conv)},
    {BOOL(bias, plait_conv)},
    {.key = NULL},
};

/* Checks that a number, if it is not 0, divides the number of heads or channels. */
static plait_status check_divides(const json_cursor *at, const char *key, int divisor, int whole,
                                  plait_error *err)
{
    if (divisor != 0 && whole % divisor != 0)
        return json_fail_key(at, key, PLAIT_ERROR_RANGE, err, "expected a divisor of %d, found %d",
                             whole, divisor);
    return PLAIT_OK;
}

static plait_status read_attention(const json_cursor *at, int hidden, plait_attention *out,
                                   plait_error *err)
{
    out->rotary = true;
    PLAIT_TRY(fields_read_strictly(at, attention_fields, NULL, out, err));
    if (out->kv_heads == 0)
        out->kv_heads = out->heads;
    PLAIT_TRY(model_check_kv_heads(at, "kv_heads", out->heads, out->kv_heads, err));
    PLAIT_TRY(check_divides(at, "out_groups", out->out_groups, out->heads, err));
    if ((out->out_groups > 0) != (out->out_rank > 0))
        return json_fail(at, PLAIT_ERROR_SCHEMA, err,
                         "expected out_groups and out_rank together, found only one of them");
    if ((out->index_heads > 0) != (out->index_topk > 0) ||
        (out->index_heads > 0) != (out->index_dim > 0))
        return json_fail(at, PLAIT_ERROR_SCHEMA, err,
                         "expected index_heads, index_dim and index_topk together, found only some "
                         "of them");
    if (out->v_dim > 0 && (out->shared_kv || out->compress > 0))
        return json_fail_key(at, "v_dim", PLAIT_ERROR_SCHEMA, err,
                             "expected values as wide as keys with shared_kv or compress, found %d",
                             out->v_dim);
    if (out->reused_kv && out->compress > 0)
        return json_fail_key(at, "reused_kv", PLAIT_ERROR_SCHEMA, err,
                             "expected no compress with reused_kv, found %d", out->compress);
    return model_check_head_dim(at, "head_dim", hidden, out->heads, &out->head_dim, err);
}

/*
 * Reads multi-head latent attention. An indexer has heads, a width and a number of selected keys; a
 * layer that reuses the selection of an earlier one has this number alone.
 */
static plait_status read_mla(const json_cursor *at, plait_mla *out, plait_error *err)
{
    PLAIT_TRY(fields_read_strictly(at, mla_fields, NULL, out, err));
    if ((out->index_heads > 0) != (out->index_dim > 0) ||
        (out->index_heads > 0 && out->index_topk == 0))
        return json_fail(at, PLAIT_ERROR_SCHEMA, err,
                         "expected index_heads, index_dim and index_topk together, or index_topk "
                         "alone, found others");
    return PLAIT_OK;
}

static plait_status read_delta_net(const json_cursor *at, plait_delta_net *out, plait_error *err)
{
    out->conv = 4;
    PLAIT_TRY(fields_read_strictly(at, delta_net_fields, NULL, out, err));
    return model_check_kv_heads(at, "key_heads", out->value_heads, out->key_heads, err);
}

/* Reads Mamba, or Mamba-2 if the part has heads. */
static plait_status read_mamba(const json_cursor *at, int hidden, plait_mamba *out,
                               plait_error *err)
{
    *out = (plait_mamba){.state = 16, .conv = 4, .dt_rank = (hidden + 15) / 16};
    PLAIT_TRY(fields_read_strictly(at, mamba_fields, NULL, out, err));
    if (out->heads > 0)
        out->dt_rank = 0;
    else if (out->dt_rank == 0)
        return json_fail(at, PLAIT_ERROR_SCHEMA, err,
                         "expected a dt_rank, or the heads of Mamba-2, found neither");
    if (out->groups == 0 && out->heads > 0)
        out->groups = 1;
    PLAIT_TRY(check_divides(at, "heads", out->heads, out->inner, err));
    return check_divides(at, "groups", out->groups, out->heads, err);
}

static plait_status read_conv(const json_cursor *at, plait_conv *out, plait_error *err)
{
    out->kernel = 4;
    PLAIT_TRY(fields_read_strictly(at, conv_fields, NULL, out, err));
    return check_divides(at, "blocks", out->blocks, out->width, err);
}

static plait_status read_part(const json_cursor *at, plait_mixer_kind mixer, int hidden,
                              plait_layer *out, plait_error *err)
{
    switch (mixer) {
    case PLAIT_MIXER_MLA:
        return read_mla(at, &out->mla, err);
    case PLAIT_MIXER_DELTA_NET:
        return read_delta_net(at, &out->delta_net, err);
    case PLAIT_MIXER_MAMBA:
        return read_mamba(at, hidden, &out->mamba, err);
    case PLAIT_MIXER_CONV:
        return read_conv(at, &out->conv, err);
    default:
        return read_attention(at, hidden, &out->attention, err);
    }
}

plait_status model_read_mixer(const json_cursor *kind, int hidden, plait_layer *out,
                              plait_error *err)
{
    static const char *const keys[PLAIT_MIXER_KINDS] = {[PLAIT_MIXER_ATTENTION] = "attention",
                                                        [PLAIT_MIXER_MLA] = "mla",
                                                        [PLAIT_MIXER_DELTA_NET] = "delta_net",
                                                        [PLAIT_MIXER_MAMBA] = "mamba",
                                                        [PLAIT_MIXER_CONV] = "conv"};
    const char *found = NULL;
    json_cursor part;

    for (int m = 0; m < PLAIT_MIXER_KINDS; m++) {
        if (keys[m] == NULL || !json_has(kind, keys[m]))
            continue;
        // Attention may have a second, state-space mixer, as in Falcon-H1.
        if (found != NULL && (out->mixer != PLAIT_MIXER_ATTENTION || m != PLAIT_MIXER_MAMBA ||
                              out->second_mixer != PLAIT_MIXER_NONE))
            return json_fail_key(kind, keys[m], PLAIT_ERROR_SCHEMA, err,
                                 "expected one token mixer, or attention and mamba, found %s and "
                                 "%s",
                                 found, keys[m]);
        if (found == NULL) {
            found = keys[m];
            out->mixer = (plait_mixer_kind)m;
            out->second_mixer = PLAIT_MIXER_NONE;
            out->attention = (plait_attention){0};
            out->mla = (plait_mla){0};
            out->delta_net = (plait_delta_net){0};
            out->mamba = (plait_mamba){0};
            out->conv = (plait_conv){0};
        } else {
            out->second_mixer = (plait_mixer_kind)m;
        }
        PLAIT_TRY(json_object(kind, keys[m], &part, err));
        PLAIT_TRY(read_part(&part, (plait_mixer_kind)m, hidden, out, err));
    }
    return PLAIT_OK;
}

/* ---- feed-forward parts ---- */

static const field mlp_fields[] = {
    {REQUIRED(width, 1, MODEL_MAX_WIDTH, plait_mlp)},
    {BOOL(gated, plait_mlp)},
    {BOOL(bias, plait_mlp)},
    {.key = NULL},
};
static const field moe_fields[] = {
    {REQUIRED(experts, 1, MODEL_MAX_EXPERTS, plait_moe)},
    {REQUIRED(topk, 1, MODEL_MAX_EXPERTS, plait_moe)},
    {REQUIRED(width, 1, MODEL_MAX_WIDTH, plait_moe)},
    {INT(shared_width, 0, MODEL_MAX_WIDTH, plait_moe)},
    {INT(groups, 0, MODEL_MAX_EXPERTS, plait_moe)},
    {INT(group_topk, 0, MODEL_MAX_EXPERTS, plait_moe)},
    {BOOL(gated, plait_moe)},
    {BOOL(bias, plait_moe)},
    {BOOL(router_bias, plait_moe)},
    {BOOL(shared_gate, plait_moe)},
    {RARE_INT(latent, MODEL_MAX_WIDTH, plait_moe)},
    {RARE_BOOL(latent_norm, plait_moe)},
    {RARE_INT(zero_experts, MODEL_MAX_EXPERTS, plait_moe)},
    {.key = NULL},
};

static plait_status read_moe(const json_cursor *at, plait_moe *out, plait_error *err)
{
    static const char *const also[] = {"capacity", "padded", NULL};

    out->gated = true;
    PLAIT_TRY(fields_read_strictly(at, moe_fields, also, out, err));
    PLAIT_TRY(json_number_optional(at, "capacity", JSON_NON_NEGATIVE, &out->capacity, err));
    PLAIT_TRY(json_bool_optional(at, "padded", &out->padded, err));
    if (out->capacity > out->experts)
        return json_fail_key(at, "capacity", PLAIT_ERROR_RANGE, err,
                             "expected at most the number of experts (%d), found %g", out->experts,
                             out->capacity);
    if (out->padded && out->capacity <= 0.0)
        return json_fail_key(at, "padded", PLAIT_ERROR_RANGE, err,
                             "expected a capacity above 0, since padded is true, found none");
    PLAIT_TRY(model_check_topk(at, "topk", out->experts, out->topk, err));
    return model_check_groups(at, "groups", "group_topk", out, err);
}

plait_status model_read_ffn(const json_cursor *kind, plait_layer *out, plait_error *err)
{
    const bool has_mlp = json_has(kind, "mlp"), has_moe = json_has(kind, "moe");
    json_cursor part;

    if (!has_mlp && !has_moe)
        return PLAIT_OK;
    if (has_mlp && has_moe)
        return json_fail_key(kind, "moe", PLAIT_ERROR_SCHEMA, err,
                             "expected one feed-forward part, found mlp and moe");
    out->mlp = (plait_mlp){.gated = has_mlp};
    out->moe = (plait_moe){0};
    out->ffn = has_mlp ? PLAIT_FFN_MLP : PLAIT_FFN_MOE;
    PLAIT_TRY(json_object(kind, has_mlp ? "mlp" : "moe", &part, err));
    return has_mlp ? fields_read_strictly(&part, mlp_fields, NULL, &out->mlp, err)
                   : read_moe(&part, &out->moe, err);
}

/* ---- further branches ---- */

static const field branch_fields[] = {
    {RARE_INT(laurel_rank, MODEL_MAX_RANK, plait_layer)},
    {RARE_INT(per_layer_dim, MODEL_MAX_WIDTH, plait_layer)},
    {.key = NULL},
};

plait_status model_read_branches(const json_cursor *kind, plait_layer *out, plait_error *err)
{
    for (const field *f = branch_fields; f->key != NULL; f++)
        PLAIT_TRY(json_int_optional(kind, f->key, (int)f->least, (int)f->most,
                                    (int *)((char *)out + f->offset), err));
    return PLAIT_OK;
}

/* ---- kinds without parts ---- */

/*
 * Bound far above the cost of any layer, but small enough that sums over layers and tokens do not
 * overflow.
 */
static const double opaque_max = 1e18;

static plait_status read_cost(const json_cursor *at, const char *key, double *out, plait_error *err)
{
    PLAIT_TRY(json_number(at, key, JSON_NON_NEGATIVE, out, err));
    return *out <= opaque_max ? PLAIT_OK
                              : json_fail_key(at, key, PLAIT_ERROR_RANGE, err,
                                              "expected at most 1e18, found %g", *out);
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

/* ---- writing ---- */

static void write_mixer(json_writer *json, const plait_layer *kind, plait_mixer_kind mixer)
{
    switch (mixer) {
    case PLAIT_MIXER_NONE:
    case PLAIT_MIXER_KINDS:
        break;
    case PLAIT_MIXER_ATTENTION:
        fields_write_member(json, "attention", attention_fields, &kind->attention);
        break;
    case PLAIT_MIXER_MLA:
        fields_write_member(json, "mla", mla_fields, &kind->mla);
        break;
    case PLAIT_MIXER_DELTA_NET:
        fields_write_member(json, "delta_net", delta_net_fields, &kind->delta_net);
        break;
    case PLAIT_MIXER_MAMBA:
        fields_write_member(json, "mamba", mamba_fields, &kind->mamba);
        break;
    case PLAIT_MIXER_CONV:
        fields_write_member(json, "conv", conv_fields, &kind->conv);
        break;
    }
}

void model_write_kind(json_writer *json, const plait_layer *kind)
{
    json_begin_object(json);
    if (kind->opaque) {
        json_member_object(json, "opaque");
        json_member_number(json, "params", kind->given.params);
        json_member_number(json, "forward_flops", kind->given.forward_flops);
        json_member_number(json, "forward_bytes", kind->given.forward_bytes);
        json_member_number(json, "activation_bytes", kind->given.activation_bytes);
        json_end_object(json);
        json_end_object(json);
        return;
    }
    json_member_int64(json, "norms", kind->norms);
    json_member_bool(json, "parallel_residual", kind->parallel_residual);
    write_mixer(json, kind, kind->mixer);
    write_mixer(json, kind, kind->second_mixer);
    fields_write(json, branch_fields, kind);
    if (kind->ffn == PLAIT_FFN_MLP)
        fields_write_member(json, "mlp", mlp_fields, &kind->mlp);
    if (kind->ffn == PLAIT_FFN_MOE) {
        json_member_object(json, "moe");
        fields_write(json, moe_fields, &kind->moe);
        if (kind->moe.capacity > 0.0) {
            json_member_number(json, "capacity", kind->moe.capacity);
            json_member_bool(json, "padded", kind->moe.padded);
        }
        json_end_object(json);
    }
    json_end_object(json);
}
