/*
 * model_hf_layout.c - determines which mixer and which feed-forward part each layer of a Hugging
 * Face config has
 *
 *     "layer_types": ["mamba", "attention", ...]                  one keyword per layer
 *     "hybrid_override_pattern": "MEM*E"                          one letter per layer
 *     "linear_attn_config": {"full_attn_layers": [4, 8], ...}     positions, counted from 1
 *     "attn_layer_period": 8, "attn_layer_offset": 4              and other rules of a class
 */
#include <string.h>

#include "base/text.h"
#include "io/model/model_hf.h"

/* ---- lists ---- */

static plait_status check_length(const json_cursor *list, int layers, plait_error *err)
{
    if (json_count(list) != (size_t)layers)
        return json_fail(list, PLAIT_ERROR_SCHEMA, err,
                         "expected one entry for each of the %d layers, found %zu", layers,
                         json_count(list));
    return PLAIT_OK;
}

/* Sets the layers that an optional list of positions names; the first layer has position `base`. */
static plait_status read_positions(const json_cursor *at, const char *key, int base, int layers,
                                   unsigned char value, unsigned char *out, plait_error *err)
{
    json_cursor list, element;
    int position;

    PLAIT_TRY(json_array_optional(at, key, &list, err));
    for (bool more = json_first(&list, &element); more; more = json_next(&element)) {
        PLAIT_TRY(json_as_int(&element, base, base + layers - 1, &position, err));
        if (out[position - base] != 0 && out[position - base] != value)
            return json_fail(&element, PLAIT_ERROR_RANGE, err,
                             "expected each layer in one list, found layer %d in two", position);
        out[position - base] = value;
    }
    return PLAIT_OK;
}

/*
 * Reads a list with one bit per layer: 0 or 1, false or true, or a name, where only the first of
 * `names` means 0.
 */
static plait_status read_bits(const hf_config *hf, const json_cursor *list,
                              const char *const *names, unsigned char *out, plait_error *err)
{
    json_cursor at;
    int number;
    bool flag;

    PLAIT_TRY(check_length(list, hf->model->layers, err));
    for (bool more = json_first(list, &at); more; more = json_next(&at)) {
        if (names != NULL)
            PLAIT_TRY(json_as_word(&at, names, &number, err));
        else if (json_as_bool(&at, &flag, NULL) == PLAIT_OK)
            number = flag;
        else
            PLAIT_TRY(json_as_int(&at, 0, 1, &number, err));
        out[at.index] = number > 0;
    }
    return PLAIT_OK;
}

/* ---- words and letters ---- */

static const char *const words[] = {"full_attention",
                                    "attention",
                                    "deepseek_sparse_attention",
                                    "minimax_m3_sparse",
                                    "sliding_attention",
                                    "chunked_attention",
                                    "linear_attention",
                                    "kda",
                                    "mamba",
                                    "mamba2",
                                    "conv",
                                    "recurrent",
                                    "hybrid",
                                    "compressed_sparse_attention",
                                    "heavily_compressed_attention",
                                    "mlp",
                                    "moe",
                                    NULL};
static const hf_layer meaning[] = {
    {.mixer = HF_FULL},        {.mixer = HF_FULL},    {.mixer = HF_FULL},
    {.mixer = HF_FULL},        {.mixer = HF_SLIDING}, {.mixer = HF_CHUNKED},
    {.mixer = HF_LINEAR},      {.mixer = HF_LINEAR},  {.mixer = HF_STATE_SPACE},
    {.mixer = HF_STATE_SPACE}, {.mixer = HF_CONV},    {.mixer = HF_RECURRENT},
    {.mixer = HF_HYBRID},      {.mixer = HF_SPARSE},  {.mixer = HF_HEAVY_COMPRESSED},
    {.ffn = HF_DENSE},         {.ffn = HF_EXPERTS}};

/* Sets the parts of a layer and keeps its entry. */
static void set_parts(hf_layer *out, hf_layer parts)
{
    out->mixer = parts.mixer;
    out->ffn = parts.ffn;
}

/* Reads the keyword of a layer. "hybrid" means different layers in different classes. */
static plait_status read_word(const hf_config *hf, const json_cursor *at, hf_layer *out,
                              plait_error *err)
{
    int word;

    PLAIT_TRY(json_as_word(at, words, &word, err));
    set_parts(out, meaning[word]);
    if (out->mixer == HF_NO_MIXER && !hf_has_trait(hf, HF_ONE_PART))
        return json_fail(at, PLAIT_ERROR_SCHEMA, err,
                         "expected a token mixer, since each layer of %.40s has one, found \"%s\"",
                         hf->class.type, words[word]);
    if (out->mixer == HF_HYBRID && hf->class.other != HF_HYBRID)
        return json_fail(at, PLAIT_ERROR_SCHEMA, err,
                         "expected a layer with one token mixer, found \"hybrid\"");
    if (out->mixer == HF_LINEAR && hf->class.other == HF_STATE_SPACE)
        out->mixer = HF_STATE_SPACE;
    return PLAIT_OK;
}

/*
 * Reads a list of words: one per layer, or with `repeat` a sequence that the layers repeat. Step
 * 3.5 and EXAONE 4.5 continue the list with the modules for multi-token prediction.
 */
static plait_status read_words(const hf_config *hf, const char *key, bool repeat, hf_layer *out,
                               plait_error *err)
{
    const size_t layers = (size_t)hf->model->layers;
    json_cursor list, at;
    int mtp = 0;

    PLAIT_TRY(json_array(hf->text, key, &list, err));
    PLAIT_TRY(hf_int_optional(hf, hf_mtp_names, 0, MODEL_MAX_MTP, &mtp, err));
    if ((!repeat && json_count(&list) != layers + (size_t)mtp) || json_count(&list) == 0 ||
        (repeat && json_count(&list) > layers))
        PLAIT_TRY(check_length(&list, hf->model->layers, err));
    for (bool more = json_first(&list, &at); more; more = json_next(&at))
        PLAIT_TRY(read_word(hf, &at, &out[at.index <= layers ? at.index : layers], err));
    for (size_t i = json_count(&list); i < layers; i++)
        set_parts(&out[i], out[i - json_count(&list)]);
    return PLAIT_OK;
}

/* Reads a text with one letter per part. */
static plait_status read_letters(const hf_config *hf, const char *key, int count, hf_layer *out,
                                 plait_error *err)
{
    static const char letters[] = "M*-E";
    static const hf_layer parts[] = {
        {.mixer = HF_STATE_SPACE}, {.mixer = HF_FULL}, {.ffn = HF_DENSE}, {.ffn = HF_EXPERTS}};
    const char *text;

    PLAIT_TRY(json_string(hf->text, key, hf->arena, &text, err));
    if (strlen(text) != (size_t)count)
        return json_fail_key(hf->text, key, PLAIT_ERROR_SCHEMA, err,
                             "expected one letter for each of the %d layers, found %zu", count,
                             strlen(text));
    for (int i = 0; i < count; i++) {
        const char *const letter = strchr(letters, text[i]);

        if (letter == NULL)
            return json_fail_key(hf->text, key, PLAIT_ERROR_SCHEMA, err,
                                 "expected the letters M, E, * and -, found '%c'",
                                 text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
        set_parts(&out[i], parts[letter - letters]);
    }
    return PLAIT_OK;
}

static const char letters_key[] = "hybrid_override_pattern";

int hf_listed_layers(const hf_config *hf)
{
    static const char *const lists[] = {"layers_block_type", "layer_types", NULL};
    json_cursor list;
    const char *text;

    if (!hf_has_trait(hf, HF_ONE_PART))
        return 0;
    if (json_array_optional(hf->text, hf_name(hf, lists), &list, NULL) == PLAIT_OK &&
        json_count(&list) > 0 && json_count(&list) <= PLAIT_MAX_LAYERS)
        return (int)json_count(&list);
    if (json_string(hf->text, letters_key, hf->arena, &text, NULL) == PLAIT_OK &&
        strlen(text) <= PLAIT_MAX_LAYERS)
        return (int)strlen(text);
    return 0;
}

/* ---- rules of classes ---- */

static void fill(const hf_config *hf, hf_mixer mixer, hf_layer *out)
{
    for (int i = 0; i < hf->model->layers; i++)
        out[i].mixer = mixer;
}

/*
 * Sets the mixers by "no_rope_layers", which is 1 for a layer with rotary positions. Such a layer
 * attends only to its chunk.
 */
static plait_status mixers_by_rope(const hf_config *hf, hf_layer *out, plait_error *err)
{
    unsigned char rotary[PLAIT_MAX_LAYERS];
    json_cursor list;

    for (int i = 0; i < hf->model->layers; i++)
        rotary[i] = (i + 1) % hf->class.period != 0;
    PLAIT_TRY(json_array_optional(hf->text, "no_rope_layers", &list, err));
    if (json_count(&list) > 0)
        PLAIT_TRY(read_bits(hf, &list, NULL, rotary, err));
    for (int i = 0; i < hf->model->layers; i++)
        out[i].mixer = rotary[i] ? HF_CHUNKED : HF_FULL;
    return PLAIT_OK;
}

/* Makes the last of every `period` layers full and the others `other`. */
static plait_status mixers_by_period(const hf_config *hf, const char *key, hf_mixer other,
                                     hf_layer *out, plait_error *err)
{
    int period = hf->class.period;

    PLAIT_TRY(json_int_optional(hf->text, key, 1, PLAIT_MAX_LAYERS, &period, err));
    for (int i = 0; i < hf->model->layers; i++)
        out[i].mixer = (i + 1) % period == 0 ? HF_FULL : other;
    return PLAIT_OK;
}

/* As mixers_by_period(), and an incomplete group at the end is full. */
static plait_status mixers_by_group(const hf_config *hf, hf_layer *out, plait_error *err)
{
    const int layers = hf->model->layers;
    int size;

    PLAIT_TRY(json_int(hf->text, "layer_group_size", 1, PLAIT_MAX_LAYERS, &size, err));
    for (int i = 0; i < layers; i++)
        out[i].mixer = (i + 1) % size == 0 || i >= layers / size * size ? HF_FULL : hf->class.other;
    return PLAIT_OK;
}

static plait_status mixers_by_depth(const hf_config *hf, hf_layer *out, plait_error *err)
{
    int full = hf->class.period;

    PLAIT_TRY(json_int_optional(hf->text, "max_window_layers", 0, MODEL_MAX_SEQ, &full, err));
    for (int i = 0; i < hf->model->layers; i++)
        out[i].mixer = i < full ? HF_FULL : HF_SLIDING;
    return PLAIT_OK;
}

static plait_status mixers_by_position(const hf_config *hf, hf_layer *out, plait_error *err)
{
    static const char *const names[] = {"full_attn_idxs", "attn_layer_indices", NULL};
    const int layers = hf->model->layers;
    unsigned char full[PLAIT_MAX_LAYERS] = {0};

    if (!json_has(hf->text, hf_name(hf, names)))
        return json_fail(hf->text, PLAIT_ERROR_SCHEMA, err,
                         "expected layer_types or %s, since a %.40s model mixes kinds of layers, "
                         "found neither",
                         names[hf->class.other == HF_STATE_SPACE], hf->class.type);
    PLAIT_TRY(read_positions(hf->text, hf_name(hf, names), 0, layers, 1, full, err));
    for (int i = 0; i < layers; i++)
        out[i].mixer = full[i] ? HF_FULL : hf->class.other;
    return PLAIT_OK;
}

/* Sets the mixers by a list with 0 or 1 for each layer. */
static plait_status mixers_by_switch(const hf_config *hf, const char *key, const hf_mixer mixers[2],
                                     hf_layer *out, plait_error *err)
{
    unsigned char set[PLAIT_MAX_LAYERS];
    json_cursor list;

    PLAIT_TRY(json_array(hf->text, key, &list, err));
    PLAIT_TRY(read_bits(hf, &list, NULL, set, err));
    for (int i = 0; i < hf->model->layers; i++)
        out[i].mixer = mixers[set[i] ? 1 : 0];
    return PLAIT_OK;
}

/* Reads a period and the offset in it that selects a layer. */
static plait_status read_modulo(const hf_config *hf, const char *period_key, const char *offset_key,
                                int *period, int *offset, plait_error *err)
{
    PLAIT_TRY(json_int_optional(hf->text, period_key, 1, PLAIT_MAX_LAYERS, period, err));
    return json_int_optional(hf->text, offset_key, 0, PLAIT_MAX_LAYERS, offset, err);
}

/* Jamba has attention in the layers whose index modulo a period is an offset. */
static plait_status mixers_by_modulo(const hf_config *hf, hf_layer *out, plait_error *err)
{
    int period = 8, offset = 4;

    PLAIT_TRY(read_modulo(hf, "attn_layer_period", "attn_layer_offset", &period, &offset, err));
    for (int i = 0; i < hf->model->layers; i++)
        out[i].mixer = i % period == offset ? HF_FULL : hf->class.other;
    return PLAIT_OK;
}

/*
 * DeepSeek-V4 has an indexer in the layers that compress 4 tokens to one key. The list continues
 * with the modules for multi-token prediction.
 */
static plait_status mixers_by_ratio(const hf_config *hf, hf_layer *out, plait_error *err)
{
    const size_t layers = (size_t)hf->model->layers;
    json_cursor list, at;
    int ratio;

    PLAIT_TRY(json_array(hf->text, "compress_ratios", &list, err));
    if (json_count(&list) < layers || json_count(&list) > layers + MODEL_MAX_MTP)
        PLAIT_TRY(check_length(&list, hf->model->layers, err));
    for (bool more = json_first(&list, &at); more; more = json_next(&at)) {
        PLAIT_TRY(json_as_int(&at, 0, MODEL_MAX_SEQ, &ratio, err));
        if (at.index <= layers)
            out[at.index].mixer = ratio == 0   ? HF_SLIDING
                                  : ratio == 4 ? HF_SPARSE
                                               : HF_HEAVY_COMPRESSED;
    }
    return PLAIT_OK;
}

plait_status hf_block(const hf_config *hf, const char *part, json_cursor parents[2],
                      json_cursor *out, plait_error *err)
{
    PLAIT_TRY(json_array(hf->text, "block_configs", &parents[0], err));
    hf_entry(hf, &parents[0], &parents[1]);
    return json_object(&parents[1], part, out, err);
}

static plait_status read_block_part(const hf_config *hf, const char *part, bool *absent,
                                    plait_error *err)
{
    json_cursor parents[2], at;
    bool linear = false;

    *absent = false;
    PLAIT_TRY(hf_block(hf, part, parents, &at, err));
    PLAIT_TRY(json_bool_optional(&at, "no_op", absent, err));
    PLAIT_TRY(json_bool_optional(&at, "replace_with_linear", &linear, err));
    if (linear)
        return json_fail_key(&at, "replace_with_linear", PLAIT_ERROR_SCHEMA, err,
                             "expected attention or an MLP, found a single matrix in its place");
    return PLAIT_OK;
}

static plait_status layout_by_block(const hf_config *hf, hf_layer *out, plait_error *err)
{
    const int blocks = hf->model->layers;
    hf_config here = *hf;
    json_cursor list;
    bool absent;
    int layers = 0;

    PLAIT_TRY(json_array(hf->text, "block_configs", &list, err));
    PLAIT_TRY(check_length(&list, blocks, err));
    for (here.layer = 0; here.layer < blocks; here.layer++) {
        hf_layer layer = {.entry = here.layer};

        PLAIT_TRY(read_block_part(&here, "attention", &absent, err));
        layer.mixer = absent ? HF_NO_MIXER : HF_FULL;
        PLAIT_TRY(read_block_part(&here, "ffn", &absent, err));
        layer.ffn = absent ? HF_NO_FFN : HF_DENSE;
        if (layer.mixer != HF_NO_MIXER || layer.ffn != HF_NO_FFN)
            out[layers++] = layer;
    }
    if (layers == 0)
        return json_fail(&list, PLAIT_ERROR_SCHEMA, err,
                         "expected a layer with attention or an MLP, found none");
    hf->model->layers = layers;
    return PLAIT_OK;
}

static plait_status layout_by_class(const hf_config *hf, hf_layer *out, plait_error *err)
{
    static const char *const window_periods[] = {
        "sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers", NULL};
    const int layers = hf->model->layers;

    switch (hf->class.pattern) {
    case HF_PATTERN_LAST_FULL:
        return mixers_by_period(hf, hf_name(hf, window_periods), HF_SLIDING, out, err);
    case HF_PATTERN_LAST_LINEAR:
        return mixers_by_period(hf, "full_attention_interval", HF_LINEAR, out, err);
    case HF_PATTERN_LATE_WINDOW:
        return mixers_by_depth(hf, out, err);
    case HF_PATTERN_ROPE_CHUNK:
        return mixers_by_rope(hf, out, err);
    case HF_PATTERN_LETTERS:
        return read_letters(hf, letters_key, layers, out, err);
    case HF_PATTERN_CYCLE:
        return read_words(hf, json_has(hf->text, "_block_types") ? "_block_types" : "block_types",
                          true, out, err);
    case HF_PATTERN_LISTED:
        return mixers_by_position(hf, out, err);
    case HF_PATTERN_SWITCH:
        return mixers_by_switch(hf, "attn_type_list", (const hf_mixer[]){hf->class.other, HF_FULL},
                                out, err);
    case HF_PATTERN_MARKED:
        return mixers_by_switch(hf, "hybrid_layer_pattern", (const hf_mixer[]){HF_FULL, HF_SLIDING},
                                out, err);
    case HF_PATTERN_MODULO:
        return mixers_by_modulo(hf, out, err);
    case HF_PATTERN_GROUPS:
        return mixers_by_group(hf, out, err);
    case HF_PATTERN_RATIOS:
        return mixers_by_ratio(hf, out, err);
    case HF_PATTERN_BLOCKS:
        return layout_by_block(hf, out, err);
    case HF_PATTERN_EVEN_WINDOW:
        for (int i = 0; i < layers; i++)
            out[i].mixer = i % 2 == 0 ? HF_SLIDING : HF_FULL;
        break;
    case HF_PATTERN_TWICE:
        for (int i = 0; i < layers; i++)
            set_parts(&out[i], (hf_layer){HF_FULL, i % 2 == 0 ? HF_EXPERTS : HF_DENSE, i});
        break;
    case HF_PATTERN_ALL_WINDOW:
        fill(hf, HF_SLIDING, out);
        break;
    case HF_PATTERN_ALL_OTHER:
        fill(hf, hf->class.other, out);
        break;
    case HF_PATTERN_ALL_FULL:
        fill(hf, HF_FULL, out);
        break;
    }
    return PLAIT_OK;
}

/* ---- Kimi's lists ---- */

/*
 * Sets the mixers by linear_attn_config, whose lists count layers from 1. A layer in neither list
 * is linear if there is a list of full layers.
 */
static plait_status mixers_by_list(const hf_config *hf, const json_cursor *at, hf_layer *out,
                                   plait_error *err)
{
    const int layers = hf->model->layers;
    unsigned char listed[PLAIT_MAX_LAYERS] = {0};

    PLAIT_TRY(read_positions(at, "full_attn_layers", 1, layers, HF_FULL, listed, err));
    PLAIT_TRY(read_positions(at, "kda_layers", 1, layers, HF_LINEAR, listed, err));
    for (int i = 0; i < layers; i++)
        out[i].mixer = listed[i] != 0                     ? (hf_mixer)listed[i]
                       : json_has(at, "full_attn_layers") ? HF_LINEAR
                                                          : HF_FULL;
    return PLAIT_OK;
}

/* ---- mixers ---- */

static plait_status read_mixers(const hf_config *hf, hf_layer *out, plait_error *err)
{
    static const char *const lists[] = {"layer_types", "layers_block_type", NULL};
    static const char *const patterns[] = {"full_attention_interval",
                                           "max_window_layers",
                                           "sliding_window_pattern",
                                           "_sliding_window_pattern",
                                           "global_attn_every_n_layers",
                                           "hybrid_layer_pattern",
                                           NULL};
    static const char *const rules[] = {"full_attn_idxs",    "attn_layer_indices",
                                        "attn_type_list",    "attn_layer_period",
                                        "attn_layer_offset", "layer_group_size",
                                        "layers_block_type", "block_types",
                                        letters_key,         NULL};
    const bool listed = json_has(hf->text, hf_name(hf, lists));
    json_cursor linear;
    int window;

    PLAIT_TRY(json_object_optional(hf->text, "linear_attn_config", &linear, err));
    if (listed)
        PLAIT_TRY(read_words(hf, hf_name(hf, lists), false, out, err));
    else if (json_has(&linear, "full_attn_layers") || json_has(&linear, "kda_layers"))
        PLAIT_TRY(mixers_by_list(hf, &linear, out, err));
    else
        PLAIT_TRY(layout_by_class(hf, out, err));
    if (listed || hf->class.pattern == HF_PATTERN_CYCLE)
        hf_skip(hf, rules);
    if (listed) {
        json_mark_read(&linear, "full_attn_layers");
        json_mark_read(&linear, "kda_layers");
    }
    PLAIT_TRY(hf_window(hf, &window, err));
    if (listed || window == 0)
        hf_skip(hf, patterns);
    for (int i = 0; i <= hf->model->layers; i++) {
        if (out[i].mixer == HF_FULL && hf->class.pattern == HF_PATTERN_CYCLE)
            out[i].mixer = HF_SLIDING;
        if (out[i].mixer == HF_SLIDING && window == 0)
            out[i].mixer = HF_FULL;
    }
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

/* Reads a text that lists layer numbers, as Step 3 has; these layers have experts. */
static plait_status read_enumerated(const hf_config *hf, const char *key, unsigned char *moe,
                                    plait_error *err)
{
    const char *text;
    size_t count;
    int layer;

    PLAIT_TRY(json_string(hf->text, key, hf->arena, &text, err));
    char **const numbers = text_split(hf->arena, text, ',', &count);
    PLAIT_TRY(plait_check_allocated(numbers, err));
    for (size_t n = 0; n < count; n++) {
        if (!text_parse_int(numbers[n], 0, hf->model->layers - 1, &layer))
            return json_fail_key(hf->text, key, PLAIT_ERROR_RANGE, err,
                                 "expected layers from 0 to %d, found '%.40s'",
                                 hf->model->layers - 1, numbers[n]);
        moe[layer] = 1;
    }
    return PLAIT_OK;
}

/* Keeps the experts only in the layers whose index modulo a period is an offset, as in Jamba. */
static plait_status keep_modulo(const hf_config *hf, unsigned char *moe, plait_error *err)
{
    int period = 2, offset = 1;

    if (hf->class.pattern != HF_PATTERN_MODULO)
        return PLAIT_OK;
    PLAIT_TRY(read_modulo(hf, "expert_layer_period", "expert_layer_offset", &period, &offset, err));
    for (int i = 0; i < hf->model->layers; i++)
        if (i % period != offset)
            moe[i] = 0;
    return PLAIT_OK;
}

/*
 * Reads moe_layer_freq: DeepSeek has a period, counted from the first layer; other classes have a
 * list with 0 or 1 per layer.
 */
static plait_status keep_frequency(const hf_config *hf, unsigned char *moe, plait_error *err)
{
    int period = 1;
    json_cursor value;

    PLAIT_TRY(json_value_optional(hf->text, "moe_layer_freq", &value, err));
    if (json_is_array(&value))
        return read_bits(hf, &value, NULL, moe, err);
    PLAIT_TRY(json_int_optional(hf->text, "moe_layer_freq", 1, PLAIT_MAX_LAYERS, &period, err));
    for (int i = 0; i < hf->model->layers; i++)
        if (i % period != 0)
            moe[i] = 0;
    return PLAIT_OK;
}

/*
 * Keeps the experts only from the first to the last layer that should have them; ERNIE names both,
 * and -1 is the last layer of the model.
 */
static plait_status keep_range(const hf_config *hf, unsigned char *moe, plait_error *err)
{
    static const char *const first[] = {"first_k_dense_replace", "moe_layer_start_index",
                                        "num_dense_layers", "moe_layer_num_skipped", NULL};
    int dense = hf->class.first_dense, last = -1;

    PLAIT_TRY(hf_int_optional(hf, first, 0, PLAIT_MAX_LAYERS, &dense, err));
    PLAIT_TRY(json_int_optional(hf->text, "moe_layer_end_index", -1, PLAIT_MAX_LAYERS, &last, err));
    for (int i = 0; i < hf->model->layers; i++)
        if (i < dense || (last >= 0 && i > last))
            moe[i] = 0;
    return PLAIT_OK;
}

/* Applies the rules of classes. Each rule only removes experts, so their order does not matter. */
static plait_status experts_by_rule(const hf_config *hf, unsigned char *moe, plait_error *err)
{
    memset(moe, 1, (size_t)hf->model->layers);
    PLAIT_TRY(keep_frequency(hf, moe, err));
    PLAIT_TRY(keep_every(hf, "decoder_sparse_step", moe, err));
    PLAIT_TRY(keep_every(hf, "interleave_moe_layer_step", moe, err));
    PLAIT_TRY(keep_every(hf, "moe_layer_interval", moe, err));
    PLAIT_TRY(keep_modulo(hf, moe, err));
    PLAIT_TRY(keep_range(hf, moe, err));
    return read_listed(hf, "mlp_only_layers", 0, moe, err);
}

/* Reads which layers have experts from a list of layers. */
static plait_status experts_by_list(const hf_config *hf, const char *key, unsigned char *moe,
                                    plait_error *err)
{
    static const char *const mlp_words[] = {"dense", "sparse", "moe", "hash_moe", NULL};
    const bool words_per_layer = strcmp(key, "mlp_layer_types") == 0;
    json_cursor list;

    memset(moe, 0, (size_t)hf->model->layers);
    if (strcmp(key, "moe_layers_enum") == 0)
        return read_enumerated(hf, key, moe, err);
    if (strcmp(key, "moe_layers") == 0)
        return read_listed(hf, key, 1, moe, err);
    PLAIT_TRY(json_array(hf->text, key, &list, err));
    return read_bits(hf, &list, words_per_layer ? mlp_words : NULL, moe, err);
}

static plait_status experts_of_layers(const hf_config *hf, unsigned char *moe, plait_error *err)
{
    static const char *const lists[] = {"mlp_layer_types", "is_moe_layer", "moe_layers",
                                        "moe_layers_enum", NULL};
    static const char *const rules[] = {
        "moe_layer_freq",        "decoder_sparse_step", "interleave_moe_layer_step",
        "first_k_dense_replace", "mlp_only_layers",     "moe_layer_num_skipped",
        "expert_layer_period",   "expert_layer_offset", NULL};
    const char *const list = hf_name(hf, lists);
    const bool listed = json_has(hf->text, list);
    int experts;

    PLAIT_TRY(hf_experts(hf, &experts, err));
    if (experts == 0 || listed)
        hf_skip(hf, rules);
    if (experts > 0)
        return listed ? experts_by_list(hf, list, moe, err) : experts_by_rule(hf, moe, err);
    memset(moe, 0, (size_t)hf->model->layers);
    return PLAIT_OK;
}

/* ---- multi-token prediction ---- */

/*
 * If layers have only one part, a module for multi-token prediction has a mixer and a
 * feed-forward part, usually attention and experts.
 */
static plait_status read_mtp(const hf_config *hf, hf_layer *out, plait_error *err)
{
    static const char letters_of_mtp[] = "mtp_hybrid_override_pattern";
    static const char words_of_mtp[] = "mtp_layers_block_type";
    hf_layer part[2] = {{.mixer = HF_FULL}, {.ffn = HF_EXPERTS}};
    const char *const key = json_has(hf->text, words_of_mtp) ? words_of_mtp : letters_of_mtp;
    json_cursor list, at;

    if (key == words_of_mtp) {
        PLAIT_TRY(json_array(hf->text, key, &list, err));
        PLAIT_TRY(check_length(&list, 2, err));
        for (bool more = json_first(&list, &at); more; more = json_next(&at))
            PLAIT_TRY(read_word(hf, &at, &part[at.index], err));
    } else if (json_has(hf->text, key)) {
        PLAIT_TRY(read_letters(hf, key, 2, part, err));
    }
    if (part[0].mixer == HF_NO_MIXER || part[1].ffn == HF_NO_FFN)
        return json_fail_key(hf->text, key, PLAIT_ERROR_SCHEMA, err,
                             "expected a token mixer and a feed-forward part, found others");
    out->mixer = part[0].mixer;
    out->ffn = part[1].ffn;
    return PLAIT_OK;
}

/* ---- all layers ---- */

plait_status hf_layout(const hf_config *hf, hf_layer *out, plait_error *err)
{
    const bool one_part = hf_has_trait(hf, HF_ONE_PART);
    unsigned char moe[PLAIT_MAX_LAYERS];

    for (int i = 0; i <= hf->model->layers; i++)
        out[i].entry = i;
    PLAIT_TRY(read_mixers(hf, out, err));
    const int layers = hf->model->layers; // without layers that have no parts
    if (!one_part && hf->class.pattern != HF_PATTERN_BLOCKS &&
        hf->class.pattern != HF_PATTERN_TWICE) {
        PLAIT_TRY(experts_of_layers(hf, moe, err));
        for (int i = 0; i < layers; i++)
            out[i].ffn = moe[i] ? HF_EXPERTS : HF_DENSE;
        // A pure state-space model has no feed-forward parts.
        for (int i = 0; i < layers && hf->class.pattern == HF_PATTERN_ALL_OTHER; i++)
            if (out[i].mixer == HF_STATE_SPACE)
                out[i].ffn = HF_NO_FFN;
    }
    if (one_part)
        return read_mtp(hf, &out[layers], err);
    // The modules for multi-token prediction of Step 3.5 have MLPs.
    out[layers].ffn = text_starts_with(hf->class.type, "step3p") ? HF_DENSE : out[layers - 1].ffn;
    if (out[layers].mixer == HF_NO_MIXER)
        out[layers].mixer = out[layers - 1].mixer;
    return PLAIT_OK;
}
