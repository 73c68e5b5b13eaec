/* model_plait.c - plait's own model files: kinds of layers by name, and runs of layers
 *
 *     "kinds":  {"dense": {"mla": {...}, "mlp": {...}}, "moe": {"like": "dense", "moe": {...}}},
 *     "layers": [{"kind": "dense", "count": 3}, {"kind": "moe", "count": 58}]
 *
 * Every key, its unit and its default are in docs/reference/files/model.md.
 */
#include <string.h>

#include "io/model/model_numerics.h"
#include "io/model/model_training.h"
#include "io/model/model_plait.h"

#include "plait/serve.h"

/* What the parts of a file need to know of the whole. */
typedef struct model_file {
    plait_arena *arena;
    plait_model *model;
    plait_layer kind[PLAIT_MAX_LAYER_KINDS];
    const char *kind_name[PLAIT_MAX_LAYER_KINDS + 1]; /* NULL behind the last, for json_word */
    unsigned char layer_kind[PLAIT_MAX_LAYERS];
} model_file;

/* ---- a kind of layer ---- */

/* At most one of these parts is in a kind. */
static plait_status read_mixer(const json_cursor *at, int hidden, plait_layer *out,
                               plait_error *err)
{
    static const struct {
        const char *key;
        plait_mixer_kind kind;
    } mixers[] = {{"attention", PLAIT_MIXER_ATTENTION},
                  {"mla", PLAIT_MIXER_MLA},
                  {"delta_net", PLAIT_MIXER_DELTA_NET},
                  {"mamba", PLAIT_MIXER_MAMBA}};
    const char *found = NULL;
    json_cursor part;

    for (size_t m = 0; m < sizeof mixers / sizeof *mixers; m++) {
        if (!json_has(at, mixers[m].key))
            continue;
        if (found != NULL)
            return json_fail_key(at, mixers[m].key, PLAIT_ERROR_SCHEMA, err,
                                 "expected one mixer, found %s and %s", found, mixers[m].key);
        found = mixers[m].key;
        out->mixer = mixers[m].kind;
    }
    if (found == NULL)
        return PLAIT_OK;

    PLAIT_TRY(json_object(at, found, &part, err));
    out->attention = (plait_attention){0};
    out->mla = (plait_mla){0};
    out->delta_net = (plait_delta_net){0};
    out->mamba = (plait_mamba){0};
    switch (out->mixer) {
    case PLAIT_MIXER_MLA:
        return model_read_mla(&part, &out->mla, err);
    case PLAIT_MIXER_DELTA_NET:
        return model_read_delta_net(&part, &out->delta_net, err);
    case PLAIT_MIXER_MAMBA:
        return model_read_mamba(&part, hidden, &out->mamba, err);
    case PLAIT_MIXER_NONE:
    case PLAIT_MIXER_ATTENTION:
    case PLAIT_MIXER_KINDS:
        break;
    }
    return model_read_attention(&part, hidden, &out->attention, err);
}

static plait_status read_ffn(const json_cursor *at, plait_layer *out, plait_error *err)
{
    const bool has_mlp = json_has(at, "mlp"), has_moe = json_has(at, "moe");
    json_cursor part;

    if (!has_mlp && !has_moe)
        return PLAIT_OK;
    if (has_mlp && has_moe)
        return json_fail_key(at, "moe", PLAIT_ERROR_SCHEMA, err,
                             "expected one feed-forward part, found mlp and moe");
    out->mlp = (plait_mlp){0};
    out->moe = (plait_moe){0};
    out->ffn = has_mlp ? PLAIT_FFN_MLP : PLAIT_FFN_MOE;
    PLAIT_TRY(json_object(at, has_mlp ? "mlp" : "moe", &part, err));
    return has_mlp ? model_read_mlp(&part, &out->mlp, err) : model_read_moe(&part, &out->moe, err);
}

/* An opaque layer states its costs instead of its parts. */
static plait_status read_opaque_kind(const json_cursor *at, plait_layer *out, plait_error *err)
{
    static const char *const keys[] = {"opaque", NULL};
    json_cursor costs;

    *out = (plait_layer){.name = out->name, .opaque = true};
    PLAIT_TRY(json_keys_among(at, keys, err));
    PLAIT_TRY(json_object(at, "opaque", &costs, err));
    return model_read_opaque(&costs, &out->given, err);
}

/* A kind begins as a copy of the one that it is like; a part that it names replaces that part. */
static plait_status read_kind(const json_cursor *at, model_file *file, plait_layer *out,
                              plait_error *err)
{
    static const char *const keys[] = {
        "like", "norms", "parallel_residual", "attention", "mla", "delta_net", "mamba", "mlp",
        "moe",  NULL};
    const char *const name = out->name;
    int like = -1;

    if (json_has(at, "opaque"))
        return read_opaque_kind(at, out, err);
    PLAIT_TRY(json_keys_among(at, keys, err));
    PLAIT_TRY(json_word_optional(at, "like", file->kind_name, &like, err));
    if (like >= 0 && file->kind[like].opaque)
        return json_fail_key(at, "like", PLAIT_ERROR_SCHEMA, err,
                             "expected a kind with parts, found the opaque \"%s\"",
                             file->kind_name[like]);
    if (like >= 0)
        *out = file->kind[like];
    out->name = name;
    PLAIT_TRY(read_mixer(at, file->model->hidden, out, err));
    PLAIT_TRY(read_ffn(at, out, err));
    if (out->mixer == PLAIT_MIXER_NONE && out->ffn == PLAIT_FFN_NONE)
        return json_fail(at, PLAIT_ERROR_SCHEMA, err,
                         "expected a mixer, a feed-forward part or both, found neither");

    if (like < 0)
        out->norms = (out->mixer != PLAIT_MIXER_NONE) + (out->ffn != PLAIT_FFN_NONE);
    PLAIT_TRY(json_int_optional(at, "norms", 0, MODEL_MAX_NORMS, &out->norms, err));
    return json_bool_optional(at, "parallel_residual", &out->parallel_residual, err);
}

static plait_status check_kind_name(const json_cursor *at, const model_file *file, int kinds,
                                    plait_error *err)
{
    if (kinds == PLAIT_MAX_LAYER_KINDS)
        return json_fail(at, PLAIT_ERROR_RANGE, err, "expected at most %d kinds, found more",
                         PLAIT_MAX_LAYER_KINDS);
    for (int k = 0; k < kinds; k++)
        if (strcmp(file->kind_name[k], at->key) == 0)
            return json_fail(at, PLAIT_ERROR_SCHEMA, err,
                             "expected each kind once, found \"%s\" twice", at->key);
    return PLAIT_OK;
}

static plait_status read_kinds(const json_cursor *root, model_file *file, plait_error *err)
{
    json_cursor all, at;
    int kinds = 0;

    PLAIT_TRY(json_object(root, "kinds", &all, err));
    for (bool more = json_first(&all, &at); more; more = json_next(&at)) {
        PLAIT_TRY(check_kind_name(&at, file, kinds, err));
        file->kind[kinds].name = plait_arena_text(file->arena, at.key);
        if (file->kind[kinds].name == NULL)
            return plait_fail_nomem(err);
        PLAIT_TRY(read_kind(&at, file, &file->kind[kinds], err));
        file->kind_name[kinds] = file->kind[kinds].name;
        kinds++;
    }
    if (kinds == 0)
        return json_fail(&all, PLAIT_ERROR_SCHEMA, err, "expected at least one kind, found none");
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
                         "expected at least one kind, found none");
    for (bool more = json_first(&pattern, &entry); more; more = json_next(&entry)) {
        PLAIT_TRY(json_as_word(&entry, file->kind_name, &kind, err));
        PLAIT_TRY(append_layer(&entry, file, kind, err));
    }
    return PLAIT_OK;
}

/* {"kind": "moe", "count": 58} or {"pattern": ["sliding", "full"], "count": 13} */
static plait_status read_run(const json_cursor *at, model_file *file, plait_error *err)
{
    static const char *const keys[] = {"kind", "pattern", "count", NULL};
    int count = 1, kind = 0;

    PLAIT_TRY(json_keys_among(at, keys, err));
    PLAIT_TRY(json_int_optional(at, "count", 1, PLAIT_MAX_LAYERS, &count, err));
    if (json_has(at, "kind") == json_has(at, "pattern"))
        return json_fail(at, PLAIT_ERROR_SCHEMA, err, "expected kind or pattern, found %s",
                         json_has(at, "kind") ? "both" : "neither");
    if (json_has(at, "kind"))
        PLAIT_TRY(json_word(at, "kind", file->kind_name, &kind, err));
    for (int i = 0; i < count; i++)
        PLAIT_TRY(json_has(at, "kind") ? append_layer(at, file, kind, err)
                                       : append_pattern(at, file, err));
    return PLAIT_OK;
}

static plait_status read_layers(const json_cursor *root, model_file *file, plait_error *err)
{
    json_cursor runs, run;

    PLAIT_TRY(json_array(root, "layers", &runs, err));
    for (bool more = json_first(&runs, &run); more; more = json_next(&run))
        PLAIT_TRY(read_run(&run, file, err));
    if (file->model->layers == 0)
        return json_fail(&runs, PLAIT_ERROR_SCHEMA, err, "expected at least one layer, found none");
    return PLAIT_OK;
}

static plait_status read_mtp(const json_cursor *root, model_file *file, plait_error *err)
{
    static const char *const keys[] = {"kind", "count", NULL};
    plait_model *const model = file->model;
    json_cursor at;

    PLAIT_TRY(json_object_optional(root, "mtp", &at, err));
    if (json_is_null(&at))
        return PLAIT_OK;
    model->mtp_layers = 1;
    PLAIT_TRY(json_keys_among(&at, keys, err));
    PLAIT_TRY(json_word(&at, "kind", file->kind_name, &model->mtp_kind, err));
    return json_int_optional(&at, "count", 1, MODEL_MAX_MTP, &model->mtp_layers, err);
}

/* ---- the whole ---- */

static plait_status read_embedding(const json_cursor *root, plait_model *model, plait_error *err)
{
    static const char *const keys[] = {"learned_positions", "norm", "patch_dim", NULL};
    json_cursor at;

    PLAIT_TRY(json_object_optional(root, "embedding", &at, err));
    if (json_is_null(&at))
        return PLAIT_OK;
    PLAIT_TRY(json_keys_among(&at, keys, err));
    PLAIT_TRY(json_int_optional(&at, "learned_positions", 0, MODEL_MAX_POSITIONS,
                                &model->learned_positions, err));
    PLAIT_TRY(json_bool_optional(&at, "norm", &model->embedding_norm, err));
    return json_int_optional(&at, "patch_dim", 0, MODEL_MAX_WIDTH, &model->patch_dim, err);
}

/* What the source counts is for people and for tests; here it only has to be well formed. */
static plait_status check_published(const json_cursor *root, plait_error *err)
{
    static const char *const words[] = {"with-mtp", "with-vision", "without-embedding",
                                        "without-head", NULL};
    double params;
    int word;
    json_cursor as, at;

    PLAIT_TRY(json_number_optional(root, "published_params", JSON_POSITIVE, &params, err));
    PLAIT_TRY(json_number_optional(root, "published_active_params", JSON_POSITIVE, &params, err));
    PLAIT_TRY(json_array_optional(root, "published_as", &as, err));
    for (bool more = json_first(&as, &at); more; more = json_next(&at))
        PLAIT_TRY(json_as_word(&at, words, &word, err));
    return PLAIT_OK;
}

static plait_status read_weights(const json_cursor *root, plait_model *model, plait_error *err)
{
    int format = -1;

    PLAIT_TRY(json_word_optional(root, "weights", plait_weight_name, &format, err));
    if (format > PLAIT_WEIGHT_BF16)
        model->weights = plait_weight_name[format];
    return PLAIT_OK;
}

static plait_status read_whole(const json_cursor *root, plait_arena *arena, plait_model *model,
                               plait_error *err)
{
    static const char *const norms[] = {"rms", "layer", NULL};
    int norm;

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
    PLAIT_TRY(read_weights(root, model, err));
    PLAIT_TRY(json_word(root, "norm", norms, &norm, err));
    PLAIT_TRY(json_bool_optional(root, "tied", &model->tied, err));
    PLAIT_TRY(json_bool_optional(root, "head_bias", &model->head_bias, err));
    PLAIT_TRY(json_bool_optional(root, "dropout", &model->dropout, err));
    model->layer_norm = norm == 1;
    PLAIT_TRY(check_published(root, err));
    PLAIT_TRY(model_read_numerics(root, &model->numerics, err));
    PLAIT_TRY(model_read_training(root, arena, &model->training, err));
    return read_embedding(root, model, err);
}

/* Kinds that a layer or a prediction module has; the others would be asked of every plan for nothing. */
static unsigned used_kinds(const model_file *file)
{
    const plait_model *const model = file->model;
    unsigned used = model->mtp_layers > 0 ? 1u << model->mtp_kind : 0u;

    for (int i = 0; i < model->layers; i++)
        used |= 1u << file->layer_kind[i];
    return used;
}

static plait_status keep_layers(const model_file *file, plait_error *err)
{
    plait_model *const model = file->model;
    const unsigned used = used_kinds(file);
    plait_layer *kind = plait_arena_alloc(file->arena, (size_t)model->kinds, sizeof *kind);
    unsigned char *layer_kind =
        plait_arena_alloc(file->arena, (size_t)model->layers, sizeof *layer_kind);
    unsigned char place[PLAIT_MAX_LAYER_KINDS] = {0};
    int kinds = 0;

    if (kind == NULL || layer_kind == NULL)
        return plait_fail_nomem(err);
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

plait_status model_read_plait(const json_cursor *at, plait_arena *arena, plait_model *out,
                              plait_error *err)
{
    static const char *const keys[] = {"name",
                                       "family",
                                       "source",
                                       "hub",
                                       "hidden",
                                       "vocab",
                                       "max_seq",
                                       "weights",
                                       "norm",
                                       "tied",
                                       "head_bias",
                                       "dropout",
                                       "embedding",
                                       "numerics",
                                       "training",
                                       "kinds",
                                       "layers",
                                       "mtp",
                                       "published_as",
                                       "published_params",
                                       "published_active_params",
                                       NULL};
    model_file file = {.arena = arena, .model = out};

    PLAIT_TRY(json_keys_among(at, keys, err));
    PLAIT_TRY(read_whole(at, arena, out, err));
    PLAIT_TRY(read_kinds(at, &file, err));
    PLAIT_TRY(read_layers(at, &file, err));
    PLAIT_TRY(read_mtp(at, &file, err));
    return keep_layers(&file, err);
}
