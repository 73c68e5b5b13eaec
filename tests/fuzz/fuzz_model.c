/* fuzz_model.c - any bytes as a model, of plait or of Hugging Face; what is accepted can be priced */
#undef NDEBUG
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "io/model/model_file.h"
#include "plait/model.h"
#include "support/same_numerics.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_attention(const plait_attention *attention)
{
    assert(attention->heads > 0 && attention->kv_heads > 0 && attention->head_dim > 0);
    assert(attention->heads % attention->kv_heads == 0);
    assert(attention->window >= 0 && attention->chunk >= 0);
    assert((double)attention->heads * attention->head_dim < INT32_MAX);
}

static void check_mla(const plait_mla *mla)
{
    assert(mla->heads > 0 && mla->kv_rank > 0 && mla->nope_dim > 0 && mla->v_dim > 0);
    assert(mla->q_rank >= 0 && mla->rope_dim >= 0);
    assert((mla->index_heads > 0) == (mla->index_topk > 0));
    assert((mla->index_heads > 0) == (mla->index_dim > 0));
}

static void check_delta_net(const plait_delta_net *net)
{
    assert(net->key_heads > 0 && net->value_heads > 0 && net->value_heads % net->key_heads == 0);
    assert(net->key_dim > 0 && net->value_dim > 0 && net->conv >= 0);
}

static void check_mamba(const plait_mamba *mamba)
{
    assert(mamba->inner > 0 && mamba->state > 0 && mamba->conv > 0);
    assert(mamba->heads > 0 ? mamba->inner % mamba->heads == 0 && mamba->groups > 0 &&
                                  mamba->heads % mamba->groups == 0
                            : mamba->dt_rank > 0);
}

static void check_mixer(const plait_layer *layer)
{
    switch (layer->mixer) {
    case PLAIT_MIXER_NONE:
    case PLAIT_MIXER_KINDS:
        break;
    case PLAIT_MIXER_ATTENTION:
        check_attention(&layer->attention);
        break;
    case PLAIT_MIXER_MLA:
        check_mla(&layer->mla);
        break;
    case PLAIT_MIXER_DELTA_NET:
        check_delta_net(&layer->delta_net);
        break;
    case PLAIT_MIXER_MAMBA:
        check_mamba(&layer->mamba);
        break;
    case PLAIT_MIXER_CONV:
        assert(layer->conv.width > 0 && layer->conv.kernel > 0);
        break;
    }
}

static void check_ffn(const plait_layer *layer)
{
    const plait_moe *moe = &layer->moe;

    if (layer->ffn == PLAIT_FFN_MLP)
        assert(layer->mlp.width > 0);
    if (layer->ffn != PLAIT_FFN_MOE)
        return;
    assert(moe->experts > 0 && moe->topk > 0 && moe->topk <= moe->experts);
    assert(moe->width > 0 && moe->shared_width >= 0);
    assert((moe->groups == 0) == (moe->group_topk == 0));
    assert(moe->group_topk <= moe->groups);
    assert(moe->groups == 0 || moe->experts % moe->groups == 0);
}

static void check_layer(const plait_layer *layer)
{
    assert(layer->name != NULL && layer->norms >= 0);
    if (layer->opaque) {
        assert(layer->given.params >= 0.0 && layer->given.forward_flops >= 0.0);
        assert(layer->given.forward_bytes >= 0.0 && layer->given.activation_bytes >= 0.0);
        return;
    }
    assert(layer->mixer != PLAIT_MIXER_NONE || layer->ffn != PLAIT_FFN_NONE);
    check_mixer(layer);
    check_ffn(layer);
}

static void check_model(const plait_model *model)
{
    assert(model->name != NULL && model->family != NULL && model->source != NULL);
    assert(model->hidden > 0 && model->vocab > 0 && model->max_seq >= 0);
    assert(model->learned_positions >= 0 && model->patch_dim >= 0);
    assert(model->layers > 0 && model->layers <= PLAIT_MAX_LAYERS);
    assert(model->kinds > 0 && model->kinds <= PLAIT_MAX_LAYER_KINDS);
    assert(model->mtp_layers >= 0 && model->mtp_kind >= 0 && model->mtp_kind < model->kinds);
    for (int k = 0; k < model->kinds; k++)
        check_layer(&model->kind[k]);
    for (int i = 0; i < model->layers; i++)
        assert(model->layer_kind[i] < model->kinds);
    for (int m = 0; m < PLAIT_MODALITIES; m++) {
        const plait_encoder *const encoder = &model->encoder[m];

        if (encoder->model == NULL)
            continue;
        assert(encoder->model->patch_dim > 0 && encoder->patches_per_token > 0);
        assert(encoder->patch >= 0 && encoder->projector_params >= 0.0);
        check_model(encoder->model);
    }
}

/* Written and read again, from whatever dialect, the numbers do the same. */
static void check_writing(const plait_model *model, plait_arena *arena)
{
    json_writer json;
    plait_model again;
    const char *text;
    size_t length;

    json_writer_init(&json, arena);
    model_write(&json, model);
    assert(json_writer_finish(&json, &text, &length, NULL) == PLAIT_OK);
    assert(plait_model_parse(text, length, "again", arena, &again, NULL, NULL) == PLAIT_OK);
    assert(numerics_difference(&again.numerics, &model->numerics) == NULL);
}

static void check_refusal(const plait_error *err)
{
    assert(err->status == PLAIT_ERROR_SYNTAX || err->status == PLAIT_ERROR_SCHEMA ||
           err->status == PLAIT_ERROR_RANGE);
    assert(strncmp(err->where, "input", strlen("input")) == 0 && err->message[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_arena *arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    const char *warning = NULL;
    plait_model model;

    assert(arena != NULL);
    if (plait_model_parse((const char *)data, size, "input", arena, &model, &warning, &err) ==
        PLAIT_OK) {
        assert(warning != NULL);
        check_model(&model);
        check_writing(&model, arena);
    } else {
        check_refusal(&err);
    }
    plait_arena_free(arena);
    return 0;
}
