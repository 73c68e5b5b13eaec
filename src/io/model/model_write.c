/* model_write.c - a model as a plait model file, so that a document of plans stands on its own */
#include "io/model/model_write.h"

#include "io/model/model_numerics.h"
#include "io/model/model_training.h"

static void write_attention(json_writer *json, const plait_attention *attention)
{
    json_begin_object(json);
    json_member_int64(json, "heads", attention->heads);
    json_member_int64(json, "kv_heads", attention->kv_heads);
    json_member_int64(json, "head_dim", attention->head_dim);
    json_member_int64(json, "window", attention->window);
    json_member_int64(json, "chunk", attention->chunk);
    json_member_bool(json, "qkv_bias", attention->qkv_bias);
    json_member_bool(json, "out_bias", attention->out_bias);
    json_member_bool(json, "qk_norm", attention->qk_norm);
    json_member_bool(json, "rotary", attention->rotary);
    json_member_bool(json, "gate", attention->gate);
    json_member_bool(json, "sinks", attention->sinks);
    json_member_bool(json, "shared_kv", attention->shared_kv);
    json_member_bool(json, "full_mask", attention->full_mask);
    json_end_object(json);
}

static void write_mla(json_writer *json, const plait_mla *mla)
{
    json_begin_object(json);
    json_member_int64(json, "heads", mla->heads);
    json_member_int64(json, "q_rank", mla->q_rank);
    json_member_int64(json, "kv_rank", mla->kv_rank);
    json_member_int64(json, "nope_dim", mla->nope_dim);
    json_member_int64(json, "rope_dim", mla->rope_dim);
    json_member_int64(json, "v_dim", mla->v_dim);
    if (mla->index_heads > 0) {
        json_member_int64(json, "index_heads", mla->index_heads);
        json_member_int64(json, "index_dim", mla->index_dim);
        json_member_int64(json, "index_topk", mla->index_topk);
    }
    json_end_object(json);
}

static void write_delta_net(json_writer *json, const plait_delta_net *net)
{
    json_begin_object(json);
    json_member_int64(json, "key_heads", net->key_heads);
    json_member_int64(json, "value_heads", net->value_heads);
    json_member_int64(json, "key_dim", net->key_dim);
    json_member_int64(json, "value_dim", net->value_dim);
    json_member_int64(json, "conv", net->conv);
    json_end_object(json);
}

static void write_mamba(json_writer *json, const plait_mamba *mamba)
{
    json_begin_object(json);
    json_member_int64(json, "inner", mamba->inner);
    json_member_int64(json, "state", mamba->state);
    json_member_int64(json, "conv", mamba->conv);
    json_member_int64(json, "dt_rank", mamba->dt_rank);
    json_end_object(json);
}

static void write_mixer(json_writer *json, const plait_layer *layer)
{
    switch (layer->mixer) {
    case PLAIT_MIXER_NONE:
    case PLAIT_MIXER_KINDS:
        break;
    case PLAIT_MIXER_ATTENTION:
        json_write_key(json, "attention");
        write_attention(json, &layer->attention);
        break;
    case PLAIT_MIXER_MLA:
        json_write_key(json, "mla");
        write_mla(json, &layer->mla);
        break;
    case PLAIT_MIXER_DELTA_NET:
        json_write_key(json, "delta_net");
        write_delta_net(json, &layer->delta_net);
        break;
    case PLAIT_MIXER_MAMBA:
        json_write_key(json, "mamba");
        write_mamba(json, &layer->mamba);
        break;
    }
}

static void write_mlp(json_writer *json, const plait_mlp *mlp)
{
    json_begin_object(json);
    json_member_int64(json, "width", mlp->width);
    json_member_bool(json, "gated", mlp->gated);
    json_member_bool(json, "bias", mlp->bias);
    json_end_object(json);
}

static void write_moe(json_writer *json, const plait_moe *moe)
{
    json_begin_object(json);
    json_member_int64(json, "experts", moe->experts);
    json_member_int64(json, "topk", moe->topk);
    json_member_int64(json, "width", moe->width);
    json_member_int64(json, "shared_width", moe->shared_width);
    json_member_int64(json, "groups", moe->groups);
    json_member_int64(json, "group_topk", moe->group_topk);
    json_member_bool(json, "gated", moe->gated);
    json_member_bool(json, "bias", moe->bias);
    json_member_bool(json, "router_bias", moe->router_bias);
    json_member_bool(json, "shared_gate", moe->shared_gate);
    if (moe->capacity > 0.0) {
        json_member_number(json, "capacity", moe->capacity);
        json_member_bool(json, "padded", moe->padded);
    }
    json_end_object(json);
}

static void write_opaque(json_writer *json, const plait_opaque *given)
{
    json_begin_object(json);
    json_member_number(json, "params", given->params);
    json_member_number(json, "forward_flops", given->forward_flops);
    json_member_number(json, "forward_bytes", given->forward_bytes);
    json_member_number(json, "activation_bytes", given->activation_bytes);
    json_end_object(json);
}

static void write_kind(json_writer *json, const plait_layer *layer)
{
    json_begin_object(json);
    if (layer->opaque) {
        json_write_key(json, "opaque");
        write_opaque(json, &layer->given);
    } else {
        json_member_int64(json, "norms", layer->norms);
        json_member_bool(json, "parallel_residual", layer->parallel_residual);
        write_mixer(json, layer);
        if (layer->ffn != PLAIT_FFN_NONE)
            json_write_key(json, layer->ffn == PLAIT_FFN_MLP ? "mlp" : "moe");
        if (layer->ffn == PLAIT_FFN_MLP)
            write_mlp(json, &layer->mlp);
        if (layer->ffn == PLAIT_FFN_MOE)
            write_moe(json, &layer->moe);
    }
    json_end_object(json);
}

/* ---- runs of layers ---- */

static const char *kind_of(const plait_model *model, int layer)
{
    return model->kind[model->layer_kind[layer]].name;
}

/* The shortest pattern whose repetition is the whole list of layers, up to 64 long; else 0. */
static int period_of(const plait_model *model)
{
    for (int period = 1; period <= 64 && period < model->layers; period++) {
        int i = period;

        if (model->layers % period != 0)
            continue;
        while (i < model->layers && model->layer_kind[i] == model->layer_kind[i - period])
            i++;
        if (i == model->layers)
            return period;
    }
    return 0;
}

static void write_pattern(json_writer *json, const plait_model *model, int period)
{
    json_begin_object(json);
    json_write_key(json, "pattern");
    json_begin_row(json);
    for (int i = 0; i < period; i++)
        json_write_string(json, kind_of(model, i));
    json_end_array(json);
    json_member_int64(json, "count", model->layers / period);
    json_end_object(json);
}

static void write_runs(json_writer *json, const plait_model *model)
{
    for (int first = 0, last; first < model->layers; first = last) {
        for (last = first + 1; last < model->layers; last++)
            if (model->layer_kind[last] != model->layer_kind[first])
                break;
        json_begin_object(json);
        json_member_string(json, "kind", kind_of(model, first));
        json_member_int64(json, "count", last - first);
        json_end_object(json);
    }
}

static void write_layers(json_writer *json, const plait_model *model)
{
    const int period = period_of(model);

    json_begin_array(json);
    if (period > 1)
        write_pattern(json, model, period);
    else
        write_runs(json, model);
    json_end_array(json);
}

/* ---- the whole ---- */

static void write_embedding(json_writer *json, const plait_model *model)
{
    json_begin_object(json);
    json_member_int64(json, "learned_positions", model->learned_positions);
    json_member_bool(json, "norm", model->embedding_norm);
    json_member_int64(json, "patch_dim", model->patch_dim);
    json_end_object(json);
}

static void write_kinds(json_writer *json, const plait_model *model)
{
    json_begin_object(json);
    for (int k = 0; k < model->kinds; k++) {
        json_write_key(json, model->kind[k].name);
        write_kind(json, &model->kind[k]);
    }
    json_end_object(json);
}

static void write_mtp(json_writer *json, const plait_model *model)
{
    json_begin_object(json);
    json_member_string(json, "kind", model->kind[model->mtp_kind].name);
    json_member_int64(json, "count", model->mtp_layers);
    json_end_object(json);
}

static const char *text_or_empty(const char *text)
{
    return text != NULL ? text : "";
}

void model_write(json_writer *json, const plait_model *model)
{
    json_begin_object(json);
    json_member_string(json, "name", text_or_empty(model->name));
    json_member_string(json, "family", text_or_empty(model->family));
    json_member_string(json, "source", text_or_empty(model->source));
    json_member_int64(json, "hidden", model->hidden);
    json_member_int64(json, "vocab", model->vocab);
    json_member_int64(json, "max_seq", model->max_seq);
    if (model->weights != NULL)
        json_member_string(json, "weights", model->weights);
    json_member_string(json, "norm", model->layer_norm ? "layer" : "rms");
    json_member_bool(json, "tied", model->tied);
    json_member_bool(json, "head_bias", model->head_bias);
    json_member_bool(json, "dropout", model->dropout);
    json_write_key(json, "embedding");
    write_embedding(json, model);
    model_write_numerics(json, &model->numerics);
    model_write_training(json, &model->training);
    json_write_key(json, "kinds");
    write_kinds(json, model);
    json_write_key(json, "layers");
    write_layers(json, model);
    if (model->mtp_layers > 0) {
        json_write_key(json, "mtp");
        write_mtp(json, model);
    }
    json_end_object(json);
}
