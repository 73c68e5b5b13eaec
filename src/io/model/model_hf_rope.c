/* model_hf_rope.c - rotary positions out of a Hugging Face config, in its old and its new dialect
 *
 *     "rope_theta": 1e4, "rope_scaling": {"type": "yarn", "factor": 40, ...}            until version 4
 *     "rope_parameters": {"rope_theta": 1e4, "rope_type": "yarn", ...}                  from version 5 on
 *     "rope_parameters": {"full_attention": {...}, "sliding_attention": {...}}
 */
#include "io/model/model_hf_numerics.h"

#include <string.h>

static bool has_rotary(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *const layer = &model->kind[k];

        if (layer->mixer == PLAIT_MIXER_MLA
                ? layer->mla.rope_dim > 0
                : layer->mixer == PLAIT_MIXER_ATTENTION && layer->attention.rotary)
            return true;
    }
    return false;
}

/* ---- scaling ---- */

/* "type" and "rope_type" are the same; neither is "default". */
static plait_status read_kind(const hf_config *hf, const json_cursor *at, plait_rope_kind *out,
                              plait_error *err)
{
    const char *word = "default";

    PLAIT_TRY(json_string_optional(at, "type", hf->arena, &word, err));
    PLAIT_TRY(json_string_optional(at, "rope_type", hf->arena, &word, err));
    *out = PLAIT_ROPE_OTHER;
    if (strcmp(word, "default") == 0)
        *out = PLAIT_ROPE_PLAIN;
    for (int kind = PLAIT_ROPE_LINEAR; kind <= PLAIT_ROPE_YARN; kind++)
        if (strcmp(word, plait_rope_kind_name[kind]) == 0)
            *out = (plait_rope_kind)kind;
    return PLAIT_OK;
}

/* Without a length of its own, a scaling that needs one goes by that of the model. */
static plait_status read_original_seq(const hf_config *hf, const json_cursor *at, plait_rope *out,
                                      plait_error *err)
{
    static const char key[] = "original_max_position_embeddings";

    if (out->kind == PLAIT_ROPE_LLAMA3 || out->kind == PLAIT_ROPE_YARN)
        out->original_seq = hf->model->max_seq;
    PLAIT_TRY(json_int_optional(hf->text, key, 1, MODEL_MAX_SEQ, &out->original_seq, err));
    return json_int_optional(at, key, 1, MODEL_MAX_SEQ, &out->original_seq, err);
}

static plait_status read_yarn(const json_cursor *at, plait_rope *out, plait_error *err)
{
    out->beta_fast = 32.0;
    out->beta_slow = 1.0;
    PLAIT_TRY(json_number_optional(at, "beta_fast", JSON_POSITIVE, &out->beta_fast, err));
    PLAIT_TRY(json_number_optional(at, "beta_slow", JSON_POSITIVE, &out->beta_slow, err));
    PLAIT_TRY(json_number_optional(at, "mscale", JSON_NON_NEGATIVE, &out->mscale, err));
    return json_number_optional(at, "mscale_all_dim", JSON_NON_NEGATIVE, &out->mscale_all_dim, err);
}

static plait_status read_llama3(const json_cursor *at, plait_rope *out, plait_error *err)
{
    PLAIT_TRY(json_number(at, "low_freq_factor", JSON_POSITIVE, &out->low_freq, err));
    return json_number(at, "high_freq_factor", JSON_POSITIVE, &out->high_freq, err);
}

/* YaRN without a factor stretches the original length to that of the model. */
static plait_status read_factor(const hf_config *hf, const json_cursor *at, plait_rope *out,
                                plait_error *err)
{
    if (out->kind == PLAIT_ROPE_YARN && out->original_seq > 0)
        out->factor = (double)hf->model->max_seq / out->original_seq;
    if (out->kind == PLAIT_ROPE_OTHER || out->factor > 0.0)
        return json_number_optional(at, "factor", JSON_POSITIVE, &out->factor, err);
    return json_number(at, "factor", JSON_POSITIVE, &out->factor, err);
}

static plait_status read_scaling(const hf_config *hf, const json_cursor *at, plait_rope *out,
                                 plait_error *err)
{
    PLAIT_TRY(read_kind(hf, at, &out->kind, err));
    if (out->kind == PLAIT_ROPE_PLAIN)
        return PLAIT_OK;
    PLAIT_TRY(read_original_seq(hf, at, out, err));
    PLAIT_TRY(read_factor(hf, at, out, err));
    if (out->kind == PLAIT_ROPE_LLAMA3)
        return read_llama3(at, out, err);
    return out->kind == PLAIT_ROPE_YARN ? read_yarn(at, out, err) : PLAIT_OK;
}

/* ---- base and fraction ---- */

/* The same keys stand at the top of an old file and inside the object of a new one. */
static plait_status read_base(const json_cursor *at, plait_rope *out, plait_error *err)
{
    static const char *const base[] = {"rope_theta", "rotary_emb_base", NULL};
    static const char *const fraction[] = {"partial_rotary_factor", "rotary_pct", NULL};

    PLAIT_TRY(hf_number(at, base, JSON_POSITIVE, out->base, &out->base, err));
    return hf_number(at, fraction, JSON_FRACTION, out->fraction, &out->fraction, err);
}

/* GPT-J counts the elements that are rotated; null is all of them. */
static plait_status read_rotary_dim(const hf_config *hf, const hf_class_numerics *known,
                                    double *fraction, plait_error *err)
{
    const plait_attention *const attention = hf_attention(hf->model);
    int elements = hf_mentions(hf->text, "rotary_dim") ? 0 : known->rotary_dim;

    if (attention == NULL)
        return PLAIT_OK;
    PLAIT_TRY(json_int_optional(hf->text, "rotary_dim", 1, attention->head_dim, &elements, err));
    if (elements > 0 && elements < attention->head_dim)
        *fraction = (double)elements / attention->head_dim;
    return PLAIT_OK;
}

static plait_status read_object(const hf_config *hf, const json_cursor *at, plait_rope *out,
                                plait_error *err)
{
    PLAIT_TRY(read_base(at, out, err));
    return read_scaling(hf, at, out, err);
}

/* What full layers do is what the model does; windowed ones may have a base of their own. */
static plait_status read_parameters(const hf_config *hf, const json_cursor *at, plait_rope *out,
                                    plait_error *err)
{
    json_cursor full, sliding;

    PLAIT_TRY(json_object_optional(at, "full_attention", &full, err));
    PLAIT_TRY(json_object_optional(at, "sliding_attention", &sliding, err));
    if (json_is_null(&full) && json_is_null(&sliding))
        return read_object(hf, at, out, err);
    if (!json_is_null(&full))
        PLAIT_TRY(read_object(hf, &full, out, err));
    if (json_is_null(&sliding))
        return PLAIT_OK;
    return json_number_optional(&sliding, "rope_theta", JSON_POSITIVE, &out->local_base, err);
}

static bool has_windows(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer == PLAIT_MIXER_ATTENTION && model->kind[k].attention.window > 0)
            return true;
    return false;
}

plait_status hf_read_rope(const hf_config *hf, const hf_class_numerics *known, plait_rope *out,
                          plait_error *err)
{
    static const char *const local_base[] = {"rope_local_base_freq", NULL};
    json_cursor object;

    if (!has_rotary(hf->model))
        return PLAIT_OK;
    *out = (plait_rope){.base = known->rope_base,
                        .local_base = known->rope_local_base,
                        .fraction = known->rope_fraction};
    PLAIT_TRY(read_base(hf->text, out, err));
    PLAIT_TRY(read_rotary_dim(hf, known, &out->fraction, err));
    PLAIT_TRY(hf_number(hf->text, local_base, JSON_POSITIVE, 0.0, &out->local_base, err));
    PLAIT_TRY(hf_flag(hf, "rope_interleave", hf_has_numerics_trait(known, HF_INTERLEAVED),
                      &out->interleaved, err));
    PLAIT_TRY(json_object_optional(hf->text, "rope_scaling", &object, err));
    if (!json_is_null(&object))
        PLAIT_TRY(read_object(hf, &object, out, err));
    PLAIT_TRY(json_object_optional(hf->text, "rope_parameters", &object, err));
    if (!json_is_null(&object))
        PLAIT_TRY(read_parameters(hf, &object, out, err));
    if (out->local_base == out->base || !has_windows(hf->model))
        out->local_base = 0.0;
    return PLAIT_OK;
}
