/*
 * model_plait.c - reads and writes plait's model files: kinds of layers by name, and runs of layers
 *
 *     "kinds":  {"dense": {"mla": {...}, "mlp": {...}}, "moe": {"like": "dense", "moe": {...}}},
 *     "layers": [{"kind": "dense", "count": 3}, {"kind": "moe", "count": 58}]
 *
 * docs/reference/files/model.md describes every key, its unit and its default.
 */
#include <string.h>

#include "plait/serve.h"

#include "io/json/fields.h"
#include "io/model/model_file.h"

/* Words of plait_attention_weights, in its order. */
static const char *const attention_weights_name[] = {"unknown", "narrow", "wide", NULL};

static const field embedding_fields[] = {
    {"learned_positions", .is_int = true, .most = MODEL_MAX_POSITIONS,
     FIELD_AT(plait_model, learned_positions)},
    {"norm", .is_bool = true, FIELD_AT(plait_model, embedding_norm)},
    {"patch_dim", .is_int = true, .most = MODEL_MAX_WIDTH, FIELD_AT(plait_model, patch_dim)},
    {"per_layer_vocab", .is_int = true, .rare = true, .most = MODEL_MAX_VOCAB,
     FIELD_AT(plait_model, per_layer_vocab)},
    {.key = NULL},
};

static const field residual_fields[] = {
    {"streams", .is_int = true, .rare = true, .most = MODEL_MAX_STREAMS,
     FIELD_AT(plait_model, streams)},
    {"block", .is_int = true, .rare = true, .most = PLAIT_MAX_LAYERS,
     FIELD_AT(plait_model, residual_block)},
    {.key = NULL},
};

/* The kinds and layers of a file that is being read. */
typedef struct model_file {
    plait_arena *arena;
    plait_model *model;
    plait_layer kind[PLAIT_MAX_LAYER_KINDS];
    const char *kind_name[PLAIT_MAX_LAYER_KINDS + 1]; /* names of the kinds, ended by NULL */
    unsigned char layer_kind[PLAIT_MAX_LAYERS];
} model_file;

/* ---- kinds of layers ---- */

/*
 * Reads a kind. A kind with "like" starts as a copy of the named kind, whose parts its own parts
 * replace.
 */
static plait_status read_kind(const json_cursor *at, model_file *file, plait_layer *out,
                              plait_error *err)
{
    static const char *const keys[] = {
        "like", "norms", "parallel_residual", "attention",     "mla", "delta_net", "mamba", "conv",
        "mlp",  "moe",   "laurel_rank",       "per_layer_dim", NULL};
    const char *const name = out->name;
    int like = -1;

    if (json_has(at, "opaque")) {
        static const char *const opaque_kind_keys[] = {"opaque", NULL};
        json_cursor costs;

        // An opaque kind has costs instead of parts.
        *out = (plait_layer){.name = out->name, .opaque = true};
        PLAIT_TRY(json_keys_among(at, opaque_kind_keys, err));
        PLAIT_TRY(json_object(at, "opaque", &costs, err));
        return model_read_opaque(&costs, &out->given, err);
    }
    PLAIT_TRY(json_keys_among(at, keys, err));
    PLAIT_TRY(json_word_optional(at, "like", file->kind_name, &like, err));
    if (like >= 0 && file->kind[like].opaque)
        return json_fail_key(at, "like", PLAIT_ERROR_SCHEMA, err,
                             "expected a kind of layer that is not opaque, found \"%s\"",
                             file->kind_name[like]);
    if (like >= 0)
        *out = file->kind[like];
    out->name = name;
    PLAIT_TRY(model_read_mixer(at, file->model->hidden, out, err));
    PLAIT_TRY(model_read_ffn(at, out, err));
    PLAIT_TRY(model_read_branches(at, out, err));
    if (out->mixer == PLAIT_MIXER_NONE && out->ffn == PLAIT_FFN_NONE)
        return json_fail(at, PLAIT_ERROR_SCHEMA, err,
                         "expected a token mixer, a feed-forward part or both, found neither");

    if (like < 0)
        out->norms = (out->mixer != PLAIT_MIXER_NONE) + (out->ffn != PLAIT_FFN_NONE);
    PLAIT_TRY(json_int_optional(at, "norms", 0, MODEL_MAX_NORMS, &out->norms, err));
    return json_bool_optional(at, "parallel_residual", &out->parallel_residual, err);
}

static plait_status read_kinds(const json_cursor *root, model_file *file, plait_error *err)
{
    json_cursor all, at;
    int kinds = 0;

    PLAIT_TRY(json_object(root, "kinds", &all, err));
    for (bool more = json_first(&all, &at); more; more = json_next(&at)) {
        if (kinds == PLAIT_MAX_LAYER_KINDS)
            return json_fail(&at, PLAIT_ERROR_RANGE, err,
                             "expected at most %d kinds of layer, found more",
                             PLAIT_MAX_LAYER_KINDS);
        for (int k = 0; k < kinds; k++)
            if (strcmp(file->kind_name[k], at.key) == 0)
                return json_fail(&at, PLAIT_ERROR_SCHEMA, err,
                                 "expected each kind of layer once, found \"%s\" twice", at.key);
        file->kind[kinds].name = plait_arena_text(file->arena, at.key);
        PLAIT_TRY(plait_check_allocated(file->kind[kinds].name, err));
        PLAIT_TRY(read_kind(&at, file, &file->kind[kinds], err));
        file->kind_name[kinds] = file->kind[kinds].name;
        kinds++;
    }
    if (kinds == 0)
        return json_fail(&all, PLAIT_ERROR_SCHEMA, err,
                         "expected at least one kind of layer, found none");
    file->model->kinds = kinds;
    return PLAIT_OK;
}

/* ---- runs of layers ---- */

static plait_status append_layer(const json_cursor *at, model_file *file, int kind,
                                 plait_error *err)
{
    if (file->model->layers == PLAIT_MAX_LAYERS)
        return json_fail(at, PLAIT_ERROR_RANGE, err, "expected at most %d layers, found more",
                         PLAIT_MAX_LAYERS);
    file->layer_kind[file->model->layers++] = (unsigned char)kind;
    return PLAIT_OK;
}

static plait_status append_pattern(const json_cursor *at, model_file *file, plait_error *err)
{
    json_cursor pattern, entry;
    int kind;

    PLAIT_TRY(json_array(at, "pattern", &pattern, err));
    if (json_count(&pattern) == 0)
        return json_fail(&pattern, PLAIT_ERROR_SCHEMA, err,
                         "expected at least one kind of layer, found none");
    for (bool more = json_first(&pattern, &entry); more; more = json_next(&entry)) {
        PLAIT_TRY(json_as_word(&entry, file->kind_name, &kind, err));
        PLAIT_TRY(append_layer(&entry, file, kind, err));
    }
    return PLAIT_OK;
}

/* ---- the model ---- */

/* Reads all keys except "kinds", "layers" and "mtp". */
static plait_status read_properties(const json_cursor *root, plait_arena *arena, plait_model *model,
                                    plait_error *err)
{
    static const char *const published_words[] = {"with-mtp", "with-vision", "without-embedding",
                                                  "without-head", NULL};
    static const char *const norms[] = {"rms", "layer", NULL};
    int norm, weights = -1, attention = 0;
    json_cursor at, as;
    double params;
    int word;

    model->family = "";
    PLAIT_TRY(json_string(root, "name", arena, &model->name, err));
    if (model->name[0] == '\0')
        return json_fail_key(root, "name", PLAIT_ERROR_SCHEMA, err,
                             "expected a name, found an empty text");
    PLAIT_TRY(json_string_optional(root, "family", arena, &model->family, err));
    PLAIT_TRY(json_string(root, "source", arena, &model->source, err));
    PLAIT_TRY(json_int(root, "hidden", 1, MODEL_MAX_HIDDEN, &model->hidden, err));
    PLAIT_TRY(json_int(root, "vocab", 1, MODEL_MAX_VOCAB, &model->vocab, err));
    PLAIT_TRY(json_int_optional(root, "max_seq", 0, MODEL_MAX_SEQ, &model->max_seq, err));
    PLAIT_TRY(json_word_optional(root, "weights", plait_weight_name, &weights, err));
    if (weights > PLAIT_WEIGHT_BF16)
        model->weights = plait_weight_name[weights];
    PLAIT_TRY(
        json_number_optional(root, "weight_bits", JSON_NON_NEGATIVE, &model->weight_bits, err));
    if (model->weight_bits > 16.0)
        return json_fail_key(root, "weight_bits", PLAIT_ERROR_RANGE, err,
                             "expected at most 16 bits, found %g", model->weight_bits);
    PLAIT_TRY(
        json_int_optional(root, "wide_layers", 0, PLAIT_MAX_LAYERS, &model->wide_layers, err));
    PLAIT_TRY(
        json_word_optional(root, "attention_weights", attention_weights_name, &attention, err));
    model->attention_weights = (plait_attention_weights)attention;
    PLAIT_TRY(json_word(root, "norm", norms, &norm, err));
    PLAIT_TRY(json_bool_optional(root, "tied", &model->tied, err));
    PLAIT_TRY(json_bool_optional(root, "head_bias", &model->head_bias, err));
    PLAIT_TRY(json_bool_optional(root, "dropout", &model->dropout, err));
    model->layer_norm = norm == 1;

    // Published counts are for readers and tests; here they are only checked for valid values.
    PLAIT_TRY(json_number_optional(root, "published_params", JSON_POSITIVE, &params, err));
    PLAIT_TRY(json_number_optional(root, "published_active_params", JSON_POSITIVE, &params, err));
    PLAIT_TRY(json_array_optional(root, "published_as", &as, err));
    for (bool more = json_first(&as, &at); more; more = json_next(&at))
        PLAIT_TRY(json_as_word(&at, published_words, &word, err));
    PLAIT_TRY(model_read_numerics(root, &model->numerics, err));
    PLAIT_TRY(model_read_training(root, arena, &model->training, err));
    PLAIT_TRY(fields_read_optional(root, "residual", residual_fields, model, err));
    PLAIT_TRY(json_object_optional(root, "embedding", &at, err));
    return json_is_null(&at) ? PLAIT_OK
                             : fields_read_strictly(&at, embedding_fields, NULL, model, err);
}

/*
 * Copies the layers into the arena, and the kinds that a layer or a prediction module uses. Unused
 * kinds would only slow down the pricing of plans.
 */
static plait_status keep_layers(const model_file *file, plait_error *err)
{
    plait_model *const model = file->model;
    unsigned used = model->mtp_layers > 0 ? 1u << model->mtp_kind : 0u;
    plait_layer *kind = plait_arena_alloc(file->arena, (size_t)model->kinds, sizeof *kind);
    unsigned char *layer_kind =
        plait_arena_alloc(file->arena, (size_t)model->layers, sizeof *layer_kind);
    unsigned char place[PLAIT_MAX_LAYER_KINDS] = {0};
    int kinds = 0;

    PLAIT_TRY(plait_check_allocated(kind && layer_kind, err));
    for (int i = 0; i < model->layers; i++)
        used |= 1u << file->layer_kind[i];
    for (int k = 0; k < model->kinds; k++) {
        if (!(used >> k & 1u))
            continue;
        place[k] = (unsigned char)kinds;
        kind[kinds++] = file->kind[k];
    }
    for (int i = 0; i < model->layers; i++)
        layer_kind[i] = place[file->layer_kind[i]];
    model->kinds = kinds;
    model->kind = kind;
    model->layer_kind = layer_kind;
    model->mtp_kind = place[model->mtp_kind];
    return PLAIT_OK;
}

static const field encoder_fields[] = {
    {"patch", .is_int = true, .most = MODEL_MAX_WIDTH, FIELD_AT(plait_encoder, patch)},
    {"patches_per_token", .is_int = true, .required = true, .least = 1, .most = MODEL_MAX_WIDTH,
     FIELD_AT(plait_encoder, patches_per_token)},
    {"projector_params", JSON_NON_NEGATIVE, .required = true,
     FIELD_AT(plait_encoder, projector_params)},
    {.key = NULL},
};

/* Reads the encoders of a model. An encoder has no encoders, which bounds the recursion. */
static plait_status read_encoders(const json_cursor *root, plait_arena *arena, plait_model *out,
                                  plait_error *err)
{
    static const char *const also[] = {"model", NULL};

    for (int m = 0; m < PLAIT_MODALITIES; m++) {
        json_cursor at, inner;

        PLAIT_TRY(json_object_optional(root, plait_modality_name[m], &at, err));
        if (json_is_null(&at))
            continue;
        PLAIT_TRY(fields_read_strictly(&at, encoder_fields, also, &out->encoder[m], err));
        PLAIT_TRY(json_object(&at, "model", &inner, err));
        for (int n = 0; n < PLAIT_MODALITIES; n++)
            if (json_has(&inner, plait_modality_name[n]))
                return json_fail_key(&inner, plait_modality_name[n], PLAIT_ERROR_SCHEMA, err,
                                     "expected an encoder, found a model with its own encoder");
        plait_model *const model = plait_arena_alloc(arena, 1, sizeof *model);
        PLAIT_TRY(plait_check_allocated(model, err));
        *model = (plait_model){0};
        PLAIT_TRY(model_read_plait(&inner, arena, model, err));
        if (model->patch_dim == 0)
            return json_fail(&inner, PLAIT_ERROR_SCHEMA, err,
                             "expected an encoder with embedding.patch_dim, found none");
        if (m == PLAIT_VISION && out->encoder[m].patch == 0 && model->max_seq == 0)
            return json_fail(&at, PLAIT_ERROR_SCHEMA, err,
                             "expected \"patch\", or \"max_seq\" of the model, found neither");
        out->encoder[m].model = model;
    }
    return PLAIT_OK;
}

plait_status model_read_plait(const json_cursor *at, plait_arena *arena, plait_model *out,
                              plait_error *err)
{
    static const char *const mtp_keys[] = {"kind", "count", NULL};
    static const char *const keys[] = {
        "name",
        "family",
        "source",
        "hub",
        "hidden",
        "vocab",
        "max_seq",
        "weights",
        "weight_bits",
        "wide_layers",
        "attention_weights",
        "norm",
        "tied",
        "head_bias",
        "dropout",
        "embedding",
        "numerics",
        "training",
        "residual",
        "kinds",
        "layers",
        "mtp",
        "vision",
        "audio",
        "published_as",
        "published_params",
        "published_active_params",
        NULL,
    };
    model_file file = {.arena = arena, .model = out};
    json_cursor mtp, runs, run;

    PLAIT_TRY(json_keys_among(at, keys, err));
    PLAIT_TRY(read_properties(at, arena, out, err));
    PLAIT_TRY(read_kinds(at, &file, err));
    PLAIT_TRY(json_array(at, "layers", &runs, err));
    for (bool more = json_first(&runs, &run); more; more = json_next(&run)) {
        static const char *const run_keys[] = {"kind", "pattern", "count", NULL};

        // A run is {"kind": "moe", "count": 58} or {"pattern": ["sliding", "full"], "count": 13}.
        int count = 1, kind = 0;
        PLAIT_TRY(json_keys_among(&run, run_keys, err));
        PLAIT_TRY(json_int_optional(&run, "count", 1, PLAIT_MAX_LAYERS, &count, err));
        if (json_has(&run, "kind") == json_has(&run, "pattern"))
            return json_fail(&run, PLAIT_ERROR_SCHEMA, err,
                             "expected either \"kind\" or \"pattern\", found %s",
                             json_has(&run, "kind") ? "both" : "neither");
        if (json_has(&run, "kind"))
            PLAIT_TRY(json_word(&run, "kind", file.kind_name, &kind, err));
        for (int i = 0; i < count; i++)
            PLAIT_TRY(json_has(&run, "kind") ? append_layer(&run, &file, kind, err)
                                             : append_pattern(&run, &file, err));
    }
    if (file.model->layers == 0)
        return json_fail(&runs, PLAIT_ERROR_SCHEMA, err, "expected at least one layer, found none");

    plait_model *const model = file.model;
    PLAIT_TRY(json_object_optional(at, "mtp", &mtp, err));
    if (!json_is_null(&mtp)) {
        model->mtp_layers = 1;
        PLAIT_TRY(json_keys_among(&mtp, mtp_keys, err));
        PLAIT_TRY(json_word(&mtp, "kind", file.kind_name, &model->mtp_kind, err));
        PLAIT_TRY(json_int_optional(&mtp, "count", 1, MODEL_MAX_MTP, &model->mtp_layers, err));
    }
    PLAIT_TRY(read_encoders(at, arena, model, err));
    return keep_layers(&file, err);
}

/* ---- writing ---- */

static const char *kind_of(const plait_model *model, int layer)
{
    return model->kind[model->layer_kind[layer]].name;
}

/*
 * Returns the length of the shortest pattern, of at most 64 layers, whose repetition gives all
 * layers; 0 if there is none.
 */
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

static void write_layers(json_writer *json, const plait_model *model)
{
    const int period = period_of(model);

    json_member_array(json, "layers");
    if (period > 1) {
        json_begin_object(json);
        json_member_row(json, "pattern");
        for (int i = 0; i < period; i++)
            json_write_string(json, kind_of(model, i));
        json_end_array(json);
        json_member_int64(json, "count", model->layers / period);
        json_end_object(json);
    }
    for (int first = 0, last; period <= 1 && first < model->layers; first = last) {
        for (last = first + 1; last < model->layers; last++)
            if (model->layer_kind[last] != model->layer_kind[first])
                break;
        json_begin_object(json);
        json_member_string(json, "kind", kind_of(model, first));
        json_member_int64(json, "count", last - first);
        json_end_object(json);
    }
    json_end_array(json);
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
    if (model->weight_bits > 0.0)
        json_member_number(json, "weight_bits", model->weight_bits);
    if (model->wide_layers > 0)
        json_member_int64(json, "wide_layers", model->wide_layers);
    if (model->attention_weights != PLAIT_ATTENTION_WEIGHTS_UNKNOWN)
        json_member_string(json, "attention_weights",
                           attention_weights_name[model->attention_weights]);
    json_member_string(json, "norm", model->layer_norm ? "layer" : "rms");
    json_member_bool(json, "tied", model->tied);
    json_member_bool(json, "head_bias", model->head_bias);
    json_member_bool(json, "dropout", model->dropout);
    fields_write_member(json, "embedding", embedding_fields, model);
    if (fields_any(residual_fields, model))
        fields_write_member(json, "residual", residual_fields, model);
    model_write_numerics(json, &model->numerics);
    model_write_training(json, &model->training);
    json_member_object(json, "kinds");
    for (int k = 0; k < model->kinds; k++) {
        json_write_key(json, model->kind[k].name);
        model_write_kind(json, &model->kind[k]);
    }
    json_end_object(json);
    write_layers(json, model);
    if (model->mtp_layers > 0) {
        json_member_object(json, "mtp");
        json_member_string(json, "kind", model->kind[model->mtp_kind].name);
        json_member_int64(json, "count", model->mtp_layers);
        json_end_object(json);
    }
    for (int m = 0; m < PLAIT_MODALITIES; m++) {
        if (model->encoder[m].model == NULL)
            continue;
        json_member_object(json, plait_modality_name[m]);
        fields_write(json, encoder_fields, &model->encoder[m]);
        json_write_key(json, "model");
        model_write(json, model->encoder[m].model);
        json_end_object(json);
    }
    json_end_object(json);
}
