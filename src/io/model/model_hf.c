/*
 * model_hf.c - reads a Hugging Face config.json as a model
 *
 * The reader finds the decoder's object and its class, reads the sizes, then the layers and the
 * numerics, and checks the keys that remain.
 */
#include "io/model/model_hf.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "plait/serve.h"

/* ---- keys ---- */

bool hf_mentions(const json_cursor *at, const char *key)
{
    json_cursor member;

    for (bool more = json_first(at, &member); more; more = json_next(&member))
        if (strcmp(member.key, key) == 0)
            return true;
    return false;
}

const char *hf_name(const hf_config *hf, const char *const *names)
{
    for (const char *const *name = names; *name != NULL; name++)
        if (json_has(hf->text, *name))
            return *name;
    return names[0];
}

void hf_skip(const hf_config *hf, const char *const *keys)
{
    for (; *keys != NULL; keys++)
        json_mark_read(hf->text, *keys);
}

/*
 * A file may have one quantity under two names; marks a second name with the same number as read.
 */
static void skip_copies(const hf_config *hf, const char *const *names, int number)
{
    json_cursor at;
    int copy;

    for (bool more = json_first(hf->text, &at); more; more = json_next(&at))
        if (text_index(at.key, names) >= 0 &&
            json_as_int(&at, number, number, &copy, NULL) == PLAIT_OK)
            json_mark_read(hf->text, at.key);
}

/* Returns whether an optional number is given; Hunyuan has `false` for some that are not. */
static bool is_given(const json_cursor *at, const char *key)
{
    json_cursor value;
    bool flag = true;

    return json_has(at, key) && (json_value_optional(at, key, &value, NULL) != PLAIT_OK ||
                                 json_as_bool(&value, &flag, NULL) != PLAIT_OK || flag);
}

void hf_pick(const hf_config *hf, int number)
{
    hf_picks *const picks = hf->picks;

    if (picks != NULL && picks->count < (int)(sizeof picks->value / sizeof *picks->value))
        picks->value[picks->count++] = number;
}

void hf_entry(const hf_config *hf, const json_cursor *list, json_cursor *out)
{
    json_first(list, out);
    while (out->index < (size_t)hf->layer && json_next(out))
        ;
}

/*
 * Reads the layer's number from a list with one per layer. DeepSeek-V4's ratios continue with the
 * modules for multi-token prediction.
 */
static plait_status read_entry(const hf_config *hf, const json_cursor *list, int min, int max,
                               int *out, plait_error *err)
{
    const size_t layers = (size_t)hf->model->layers, count = json_count(list);
    json_cursor entry;

    if (count < layers || (count > layers && hf->class.pattern != HF_PATTERN_RATIOS))
        return json_fail(list, PLAIT_ERROR_SCHEMA, err,
                         "expected one number for each of the %zu layers, found %zu", layers,
                         count);
    hf_entry(hf, list, &entry);
    PLAIT_TRY(json_as_int(&entry, min, max, out, err));
    hf_pick(hf, *out);
    return PLAIT_OK;
}

plait_status hf_int(const hf_config *hf, const char *const *names, int min, int max, int *out,
                    plait_error *err)
{
    const char *const name = hf_name(hf, names);
    json_cursor value;

    PLAIT_TRY(json_value_optional(hf->text, name, &value, err));
    if (json_is_array(&value) && hf->picks != NULL)
        return read_entry(hf, &value, min, max, out, err);
    PLAIT_TRY(json_int(hf->text, name, min, max, out, err));
    skip_copies(hf, names, *out);
    return PLAIT_OK;
}

plait_status hf_int_optional(const hf_config *hf, const char *const *names, int min, int max,
                             int *out, plait_error *err)
{
    return is_given(hf->text, hf_name(hf, names)) ? hf_int(hf, names, min, max, out, err)
                                                  : PLAIT_OK;
}

plait_status hf_int_or(const hf_config *hf, const char *const *names, int min, int max, int absent,
                       int *out, plait_error *err)
{
    *out = absent;
    return absent > 0 ? hf_int_optional(hf, names, min, max, out, err)
                      : hf_int(hf, names, min, max, out, err);
}

int hf_nested(const hf_config *hf, int absent)
{
    return hf->text != hf->root ? absent : 0;
}

bool hf_has_trait(const hf_config *hf, enum hf_trait trait)
{
    return (hf->class.traits & (unsigned)trait) != 0;
}

bool hf_has_numeric_trait(const hf_config *hf, enum hf_numeric_trait trait)
{
    return (hf->class.numeric_traits & (unsigned)trait) != 0;
}

plait_status hf_flag(const hf_config *hf, const char *key, bool absent, bool *out, plait_error *err)
{
    *out = absent;
    return json_bool_optional(hf->text, key, out, err);
}

plait_status hf_alibi(const hf_config *hf, bool *out, plait_error *err)
{
    json_cursor config;

    PLAIT_TRY(hf_flag(hf, "alibi", hf_has_numeric_trait(hf, HF_ALIBI), out, err));
    PLAIT_TRY(json_object_optional(hf->text, "attn_config", &config, err));
    return json_is_null(&config) ? PLAIT_OK : json_bool_optional(&config, "alibi", out, err);
}

plait_status hf_number(const json_cursor *at, const char *const *names, json_range range,
                       double none, double *out, plait_error *err)
{
    for (const char *const *name = names; *name != NULL; name++) {
        if (!hf_mentions(at, *name))
            continue;
        *out = none;
        json_cursor list, first;
        PLAIT_TRY(json_value_optional(at, *name, &list, err));
        if (json_is_array(&list) && json_first(&list, &first)) // Step 3.5 has one per layer
            return json_as_number(&first, range, out, err);
        return is_given(at, *name) ? json_number_optional(at, *name, range, out, err) : PLAIT_OK;
    }
    return PLAIT_OK;
}

/* ---- the class ---- */

static plait_status refuse_encoder_decoder(const json_cursor *at, plait_error *err)
{
    bool both = false;

    PLAIT_TRY(json_bool_optional(at, "is_encoder_decoder", &both, err));
    if (both)
        return json_fail_key(at, "is_encoder_decoder", PLAIT_ERROR_SCHEMA, err,
                             "expected a decoder-only model, found an encoder-decoder model");
    return PLAIT_OK;
}

/* Reads the first entry of "architectures"; "" if the file has none. */
static plait_status read_architecture(const hf_config *hf, const json_cursor *at, const char **out,
                                      plait_error *err)
{
    json_cursor list, first;

    *out = "";
    PLAIT_TRY(json_value_optional(at, "architectures", &list, err));
    return json_is_array(&list) && json_first(&list, &first)
               ? json_as_string(&first, hf->arena, out, err)
               : PLAIT_OK;
}

/*
 * Finds the class by the decoder's model_type, else by the model_type of the whole file, else by
 * "architectures".
 */
static plait_status read_class(hf_config *hf, plait_error *err)
{
    const json_cursor *const at = json_has(hf->text, "model_type") ? hf->text : hf->root;
    const char *type = "", *architecture, *refused;

    PLAIT_TRY(refuse_encoder_decoder(hf->root, err));
    PLAIT_TRY(refuse_encoder_decoder(hf->text, err));
    PLAIT_TRY(json_string_optional(at, "model_type", hf->arena, &type, err));
    refused = hf_class_refused(type);
    if (refused != NULL)
        return json_fail_key(at, "model_type", PLAIT_ERROR_SCHEMA, err,
                             "expected a decoder whose layers plait can price, found %s (%s)", type,
                             refused);
    if (hf->text == hf->root && json_has(hf->root, "vision_config") &&
        !json_has(hf->root, "hidden_size"))
        return json_fail(hf->root, PLAIT_ERROR_SCHEMA, err,
                         "expected a text decoder, found only a vision tower");
    PLAIT_TRY(read_architecture(hf, json_has(hf->text, "architectures") ? hf->text : hf->root,
                                &architecture, err));
    hf->known = type[0] == '\0' ? hf_class_of_architecture(architecture, &hf->class)
                                : hf_class_find(type, &hf->class);

    // A nested decoder may be a bare one, with the head next to it.
    PLAIT_TRY(read_architecture(hf, hf->root, &architecture, err));
    if (hf_class_has_no_head(architecture, hf->known ? hf->class.type : type))
        hf->headless = architecture;
    if (hf->known)
        return PLAIT_OK;
    hf->class = hf_class_guess(type, hf->text);
    return hf_check_guess(hf->text, err);
}

/* ---- sizes ---- */

/*
 * Reads the rows of the table of learned positions. OPT's table has two rows more than positions;
 * MPT has a table unless it uses ALiBi.
 */
static plait_status read_learned_positions(const hf_config *hf, int *out, plait_error *err)
{
    const bool is_opt = strcmp(hf->class.type, "opt") == 0;
    bool table = hf_has_trait(hf, HF_LEARNED_POSITIONS);
    bool alibi;

    if (strcmp(hf->class.type, "mpt") == 0) {
        PLAIT_TRY(hf_alibi(hf, &alibi, err));
        PLAIT_TRY(hf_flag(hf, "learned_pos_emb", true, &table, err));
        table = table && !alibi;
    }
    if (!table)
        return PLAIT_OK;
    *out = hf->model->max_seq > 0 ? hf->model->max_seq : is_opt ? 2048 : 1024;
    if (*out > MODEL_MAX_POSITIONS)
        return json_fail(hf->text, PLAIT_ERROR_RANGE, err,
                         "expected at most %d learned positions, found %d", MODEL_MAX_POSITIONS,
                         *out);
    *out += is_opt ? 2 : 0;
    return PLAIT_OK;
}

/*
 * Reads the number format of the weights. Models with encoders may have quantization_config in the
 * decoder's object; compression_config is its former name in compressed-tensors. DeepSeek-V4 has its
 * experts in MXFP4 and the rest in fp8: attention is priced in the format of the experts.
 */
static plait_status read_weights(hf_config *hf, plait_error *err)
{
    static const char *const names[] = {"quantization_config", "compression_config", NULL};
    const char *experts = "";
    json_cursor at;

    for (const char *const *name = names; *name != NULL; name++)
        if ((json_value_optional(hf->root, *name, &at, NULL) == PLAIT_OK && json_is_object(&at)) ||
            (json_value_optional(hf->text, *name, &at, NULL) == PLAIT_OK && json_is_object(&at))) {
            PLAIT_TRY(hf_read_weights(&at, hf->arena, hf->model, &hf->weights_note, err));
            break;
        }
    PLAIT_TRY(json_string_optional(hf->text, "expert_dtype", hf->arena, &experts, err));
    if (strcmp(experts, "fp4") == 0) {
        hf->model->weights = plait_weight_name[PLAIT_WEIGHT_MXFP4];
        hf->model->weight_bits = 0.0;
        hf->model->attention_weights = PLAIT_ATTENTION_WEIGHTS_NARROW;
    }
    return PLAIT_OK;
}

/*
 * Reads the layers of LongCat-Flash, each of which is two here: attention with experts and an
 * MLP, then attention with an MLP.
 */
static plait_status read_halves(const hf_config *hf, int *layers, plait_error *err)
{
    PLAIT_TRY(json_int_optional(hf->text, "num_layers", 1, PLAIT_MAX_LAYERS / 2, layers, err));
    if (*layers > PLAIT_MAX_LAYERS / 2)
        return json_fail_key(hf->text, "num_hidden_layers", PLAIT_ERROR_RANGE, err,
                             "expected at most %d layers of two halves, found %d",
                             PLAIT_MAX_LAYERS / 2, *layers);
    *layers *= 2;
    return PLAIT_OK;
}

/* Reads the additional residual streams, and tables that layers add to them. */
static plait_status read_streams(const hf_config *hf, plait_error *err)
{
    static const char *const streams[] = {"hc_mult", NULL};
    plait_model *const model = hf->model;

    if (hf_has_trait(hf, HF_COMPRESSED))
        PLAIT_TRY(hf_int_optional(hf, streams, 1, MODEL_MAX_STREAMS, &model->streams, err));
    PLAIT_TRY(json_int_optional(hf->text, "attn_res_block_size", 0, PLAIT_MAX_LAYERS,
                                &model->residual_block, err));
    if (json_has(hf->text, "hidden_size_per_layer_input")) {
        model->per_layer_vocab = model->vocab;
        PLAIT_TRY(json_int_optional(hf->text, "vocab_size_per_layer_input", 1, MODEL_MAX_VOCAB,
                                    &model->per_layer_vocab, err));
    }
    return PLAIT_OK;
}

/* Reads whether there is dropout; if the file has none of its keys, the class determines it. */
static plait_status read_dropout(const hf_config *hf, bool *out, plait_error *err)
{
    static const char *const keys[] = {
        "resid_pdrop",       "embd_pdrop",     "attn_pdrop",       "dropout",
        "attention_dropout", "hidden_dropout", "residual_dropout", NULL};
    double rate, most = 0.0;
    bool given = false;

    for (const char *const *key = keys; *key != NULL; key++) {
        rate = 0.0;
        PLAIT_TRY(json_number_optional(hf->text, *key, JSON_FRACTION, &rate, err));
        most = fmax(most, rate);
        given = given || json_has(hf->text, *key);
    }
    *out = given ? most > 0.0 : hf_has_trait(hf, HF_DROPOUT);
    return PLAIT_OK;
}

/* Reads whether the input and output embeddings share weights, or there is no output embedding. */
static plait_status read_tied(const hf_config *hf, bool *out, plait_error *err)
{
    *out = hf_has_trait(hf, HF_TIED);
    PLAIT_TRY(json_bool_optional(hf->root, "tie_word_embeddings", out, err));
    PLAIT_TRY(json_bool_optional(hf->text, "tie_word_embeddings", out, err));
    if (!json_has(hf->text, "tie_word_embeddings"))
        PLAIT_TRY(json_bool_optional(hf->text, "tie_embedding", out, err));
    *out = *out || hf->headless != NULL;
    return PLAIT_OK;
}

/* Refuses projections between two widths, as in OPT-350M, because a plait_model has none. */
static plait_status refuse_projection(const hf_config *hf, plait_error *err)
{
    int width = hf->model->hidden;

    PLAIT_TRY(json_int_optional(hf->text, "word_embed_proj_dim", 1, MODEL_MAX_HIDDEN, &width, err));
    if (width != hf->model->hidden)
        return json_fail_key(hf->text, "word_embed_proj_dim", PLAIT_ERROR_SCHEMA, err,
                             "expected the hidden width %d, found %d", hf->model->hidden, width);
    return PLAIT_OK;
}

static plait_status read_sizes(hf_config *hf, plait_error *err)
{
    static const char *const hidden[] = {"hidden_size", "n_embd",    "d_model",
                                         "n_embed",     "block_dim", NULL};
    static const char *const layers[] = {"num_hidden_layers", "n_layer", "n_layers", "num_layers",
                                         NULL};
    static const char *const vocab[] = {"padded_vocab_size", "vocab_size", NULL};
    static const char *const max_seq[] = {
        "max_position_embeddings", "n_positions", "max_seq_len", "seq_length",
        "max_sequence_length",     NULL};
    plait_model *const model = hf->model;

    PLAIT_TRY(hf_int_or(hf, hidden, 1, MODEL_MAX_HIDDEN, hf_nested(hf, hf->class.hidden),
                        &model->hidden, err));
    model->layers = hf_listed_layers(hf);
    if (model->layers == 0)
        model->layers = hf_nested(hf, hf->class.layers);
    PLAIT_TRY(hf_int_or(hf, layers, 1, PLAIT_MAX_LAYERS, model->layers, &model->layers, err));
    if (hf->class.pattern == HF_PATTERN_TWICE)
        PLAIT_TRY(read_halves(hf, &model->layers, err));
    PLAIT_TRY(hf_int_or(hf, json_has(hf->text, vocab[0]) ? vocab : vocab + 1, 1, MODEL_MAX_VOCAB,
                        hf->class.vocab, &model->vocab, err));
    hf_skip(hf, vocab);
    PLAIT_TRY(hf_int_optional(hf, max_seq, 1, MODEL_MAX_SEQ, &model->max_seq, err));
    PLAIT_TRY(refuse_projection(hf, err));
    PLAIT_TRY(read_weights(hf, err));
    PLAIT_TRY(read_tied(hf, &model->tied, err));
    PLAIT_TRY(read_dropout(hf, &model->dropout, err));
    model->layer_norm = hf_has_trait(hf, HF_LAYER_NORM);
    model->head_bias = hf_has_trait(hf, HF_HEAD_BIAS);
    PLAIT_TRY(json_bool_optional(hf->text, "lm_head_bias", &model->head_bias, err));
    model->embedding_norm = hf_has_trait(hf, HF_EMBEDDING_NORM);
    PLAIT_TRY(read_streams(hf, err));
    return read_learned_positions(hf, &model->learned_positions, err);
}

/*
 * Returns the name of a model: Qwen3-8B for "models/Qwen3-8B/config.json", qwen3-8b for
 * "qwen3-8b.json".
 */
static const char *name_of_file(plait_arena *arena, const char *path)
{
    char *name = text_plain(arena, path); // a folder name may contain any characters
    char *slash;

    if (name == NULL)
        return NULL;
    if (text_ends_with(name, "/config.json"))
        name[strlen(name) - strlen("/config.json")] = '\0';
    else if (text_ends_with(name, ".json"))
        name[strlen(name) - strlen(".json")] = '\0';
    slash = strrchr(name, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : name;
}

/* ---- the model ---- */

/*
 * Finds the object that describes the decoder. InternVL names it llm_config; omni models have it
 * inside of thinker_config.
 */
static plait_status find_text(const json_cursor *root, json_cursor found[2], hf_config *hf,
                              plait_error *err)
{
    static const char *const names[] = {"llm_config", "text_config", "language_config",
                                        "thinker_config", NULL};
    const json_cursor *at = root;

    for (int depth = 0; depth < 2; depth++) {
        const char *const *name = names;

        while (*name != NULL && !json_has(at, *name))
            name++;
        if (*name == NULL)
            break;
        PLAIT_TRY(json_object(at, *name, &found[depth], err));

        // The text_config of Fuyu has only a type; a patch is projected to a token by one matrix.
        if (json_has(at, "hidden_size") && !json_has(&found[depth], "hidden_size")) {
            json_mark_read(at, "image_size");
            json_mark_read(at, "patch_size");
            json_mark_read(at, "num_channels");
            break;
        }
        at = &found[depth];
    }
    hf->text = at;
    return PLAIT_OK;
}

plait_status model_read_hf(const json_cursor *at, bool assume_llama, plait_arena *arena,
                           plait_model *out, const char **warning, plait_error *err)
{
    hf_config hf = {.root = at, .assume_llama = assume_llama, .arena = arena, .model = out};
    json_cursor text[2];

    PLAIT_TRY(find_text(at, text, &hf, err));
    PLAIT_TRY(read_class(&hf, err));
    PLAIT_TRY(read_sizes(&hf, err));
    hf.model->name = name_of_file(hf.arena, hf.root->key);
    hf.model->family = hf.class.type;
    hf.model->source = plait_arena_printf(hf.arena, "Hugging Face config (%s)",
                                          text_plain(hf.arena, hf.root->key));
    if (hf.model->name == NULL || hf.model->source == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(hf_read_layers(&hf, err));
    PLAIT_TRY(hf_read_numerics(&hf, &out->numerics, err));
    PLAIT_TRY(hf_read_encoders(&hf, err));
    return hf_ignored(&hf, warning, err);
}
