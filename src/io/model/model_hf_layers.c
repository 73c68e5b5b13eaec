/*
 * model_hf_layers.c - reads the mixer of each layer of a Hugging Face config, and which layers have
 * experts
 */
#include <string.h>

#include "io/model/model_hf.h"

/* ---- mixers ---- */

static plait_status check_length(const json_cursor *list, int layers, plait_error *err)
{
    if (json_count(list) != (size_t)layers)
        return json_fail(list, PLAIT_ERROR_SCHEMA, err,
                         "expected one entry for each of the %d layers, found %zu", layers,
                         json_count(list));
    return PLAIT_OK;
}

/* Reads a list with one word per layer. */
static plait_status read_words(const hf_config *hf, const char *key, const char *const *words,
                               unsigned char *out, plait_error *err)
{
    json_cursor list, at;
    int word;

    PLAIT_TRY(json_array(hf->text, key, &list, err));
    PLAIT_TRY(check_length(&list, hf->model->layers, err));
    for (bool more = json_first(&list, &at); more; more = json_next(&at)) {
        PLAIT_TRY(json_as_word(&at, words, &word, err));
        out[at.index] = (unsigned char)word;
    }
    return PLAIT_OK;
}

/*
 * Sets the mixers by "no_rope_layers", which is 1 for a layer with rotary positions. Such a layer
 * attends only to its chunk.
 */
static plait_status mixers_by_rope(const hf_config *hf, unsigned char *mixer, plait_error *err)
{
    json_cursor list, at;
    int rotary;

    for (int i = 0; i < hf->model->layers; i++)
        mixer[i] = (i + 1) % hf->class.period == 0 ? HF_FULL : HF_CHUNKED;
    PLAIT_TRY(json_array_optional(hf->text, "no_rope_layers", &list, err));
    if (json_count(&list) == 0)
        return PLAIT_OK;
    PLAIT_TRY(check_length(&list, hf->model->layers, err));
    for (bool more = json_first(&list, &at); more; more = json_next(&at)) {
        PLAIT_TRY(json_as_int(&at, 0, 1, &rotary, err));
        mixer[at.index] = rotary ? HF_CHUNKED : HF_FULL;
    }
    return PLAIT_OK;
}

/* Makes the last of every `period` layers full and the others `other`. */
static plait_status mixers_by_period(const hf_config *hf, const char *key, hf_mixer other,
                                     unsigned char *mixer, plait_error *err)
{
    int period = hf->class.period;

    PLAIT_TRY(json_int_optional(hf->text, key, 1, PLAIT_MAX_LAYERS, &period, err));
    for (int i = 0; i < hf->model->layers; i++)
        mixer[i] = (unsigned char)((i + 1) % period == 0 ? HF_FULL : other);
    return PLAIT_OK;
}

static plait_status mixers_by_depth(const hf_config *hf, unsigned char *mixer, plait_error *err)
{
    int full = hf->model->layers;

    PLAIT_TRY(json_int_optional(hf->text, "max_window_layers", 0, MODEL_MAX_SEQ, &full, err));
    for (int i = 0; i < hf->model->layers; i++)
        mixer[i] = i < full ? HF_FULL : HF_SLIDING;
    return PLAIT_OK;
}

static plait_status mixers_by_class(const hf_config *hf, unsigned char *mixer, plait_error *err)
{
    const int layers = hf->model->layers;

    switch (hf->class.pattern) {
    case HF_PATTERN_LAST_FULL:
        return mixers_by_period(hf, "sliding_window_pattern", HF_SLIDING, mixer, err);
    case HF_PATTERN_LAST_LINEAR:
        return mixers_by_period(hf, "full_attention_interval", HF_LINEAR, mixer, err);
    case HF_PATTERN_LATE_WINDOW:
        return mixers_by_depth(hf, mixer, err);
    case HF_PATTERN_ROPE_CHUNK:
        return mixers_by_rope(hf, mixer, err);
    case HF_PATTERN_EVEN_WINDOW:
        for (int i = 0; i < layers; i++)
            mixer[i] = i % 2 == 0 ? HF_SLIDING : HF_FULL;
        break;
    case HF_PATTERN_ALL_WINDOW:
        memset(mixer, HF_SLIDING, (size_t)layers);
        break;
    case HF_PATTERN_ALL_FULL:
        memset(mixer, HF_FULL, (size_t)layers);
        break;
    }
    return PLAIT_OK;
}

plait_status hf_mixers_of_layers(const hf_config *hf, unsigned char *mixer, plait_error *err)
{
    static const char *const patterns[] = {"full_attention_interval", "max_window_layers",
                                           "sliding_window_pattern", NULL};
    static const char *const types[] = {"full_attention", "sliding_attention", "chunked_attention",
                                        "linear_attention", NULL}; // words in the order of hf_mixer
    int window;

    PLAIT_TRY(json_has(hf->text, "layer_types") ? read_words(hf, "layer_types", types, mixer, err)
                                                : mixers_by_class(hf, mixer, err));
    PLAIT_TRY(hf_window(hf, &window, err));
    if (json_has(hf->text, "layer_types") || window == 0)
        hf_skip(hf, patterns);
    for (int i = 0; i < hf->model->layers; i++)
        if (mixer[i] == HF_SLIDING && window == 0)
            mixer[i] = HF_FULL;
    return PLAIT_OK;
}

/* ---- experts ---- */

/* Keeps the experts only in the last of every `step` layers. */
static plait_status keep_every(const hf_config *hf, const char *key, unsigned char *moe,
                               plait_error *err)
{
    int step = 1;

    PLAIT_TRY(json_int_optional(hf->text, key, 1, PLAIT_MAX_LAYERS, &step, err));
    for (int i = 0; i < hf->model->layers; i++)
        if ((i + 1) % step != 0)
            moe[i] = 0;
    return PLAIT_OK;
}

/* Reads a list of layer numbers, and sets these layers to `value`: 1 with experts, 0 without. */
static plait_status read_listed(const hf_config *hf, const char *key, unsigned char value,
                                unsigned char *moe, plait_error *err)
{
    json_cursor list, at;
    int layer;

    PLAIT_TRY(json_array_optional(hf->text, key, &list, err));
    for (bool more = json_first(&list, &at); more; more = json_next(&at)) {
        PLAIT_TRY(json_as_int(&at, 0, PLAIT_MAX_LAYERS, &layer, err));
        if (layer < hf->model->layers)
            moe[layer] = value;
    }
    return PLAIT_OK;
}

/*
 * Applies the rules that classes have for layers with experts. No class has two of these rules, so
 * their order matters only for the lists.
 */
plait_status hf_experts_of_layers(const hf_config *hf, unsigned char *moe, plait_error *err)
{
    static const char *const first[] = {"first_k_dense_replace", "moe_layer_start_index", NULL};
    static const char *const rules[] = {
        "moe_layer_freq",        "decoder_sparse_step", "interleave_moe_layer_step",
        "first_k_dense_replace", "mlp_only_layers",     NULL};
    int experts;
    json_cursor value, at;

    PLAIT_TRY(hf_experts(hf, &experts, err));
    memset(moe, experts > 0, (size_t)hf->model->layers);
    if (experts == 0 || json_has(hf->text, "mlp_layer_types") || json_has(hf->text, "moe_layers"))
        hf_skip(hf, rules);
    if (experts == 0)
        return PLAIT_OK;
    if (json_has(hf->text, "mlp_layer_types"))
        return read_words(hf, "mlp_layer_types", (const char *const[]){"dense", "sparse", NULL},
                          moe, err);
    if (json_has(hf->text, "moe_layers")) {
        memset(moe, 0, (size_t)hf->model->layers);
        return read_listed(hf, "moe_layers", 1, moe, err);
    }

    // Read moe_layer_freq: DeepSeek has a period, counted from the first layer; other classes have
    // a list with 0 or 1 per layer.
    int number = 1;
    PLAIT_TRY(json_value_optional(hf->text, "moe_layer_freq", &value, err));
    if (json_is_array(&value)) {
        PLAIT_TRY(check_length(&value, hf->model->layers, err));
        for (bool more = json_first(&value, &at); more; more = json_next(&at)) {
            PLAIT_TRY(json_as_int(&at, 0, 1, &number, err));
            moe[at.index] = (unsigned char)number;
        }
    } else {
        PLAIT_TRY(json_int_optional(hf->text, "moe_layer_freq", 1, PLAIT_MAX_LAYERS, &number, err));
        for (int i = 0; i < hf->model->layers; i++)
            if (i % number != 0)
                moe[i] = 0;
    }
    PLAIT_TRY(keep_every(hf, "decoder_sparse_step", moe, err));
    PLAIT_TRY(keep_every(hf, "interleave_moe_layer_step", moe, err));
    PLAIT_TRY(keep_every(hf, "moe_layer_interval", moe, err));

    // Read the first and the last layer with experts, as ERNIE has them; -1 is the last layer of
    // the model.
    int dense = hf->class.first_dense, last = -1;
    PLAIT_TRY(hf_int_optional(hf, first, 0, PLAIT_MAX_LAYERS, &dense, err));
    PLAIT_TRY(json_int_optional(hf->text, "moe_layer_end_index", -1, PLAIT_MAX_LAYERS, &last, err));
    for (int i = 0; i < hf->model->layers; i++)
        if (i < dense || (last >= 0 && i > last))
            moe[i] = 0;
    return read_listed(hf, "mlp_only_layers", 0, moe, err);
}
