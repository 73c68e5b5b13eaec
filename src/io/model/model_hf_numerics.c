/* model_hf_numerics.c - activation, epsilon, caps and scales out of a Hugging Face config
 *
 * Of a class that is not in the table, only what the file says is known.
 */
#include "io/model/model_hf_numerics.h"

#include <math.h>
#include <string.h>

/* ---- activation ---- */

const char *const hf_activation_keys[] = {"hidden_activation", "hidden_act", "activation_function",
                                          "activation", NULL};

static plait_activation activation_named(const char *name)
{
    static const struct {
        const char *name;
        plait_activation activation;
    } names[] = {{"gelu", PLAIT_GELU},
                 {"gelu_python", PLAIT_GELU},
                 {"gelu_new", PLAIT_GELU_TANH},
                 {"gelu_fast", PLAIT_GELU_TANH},
                 {"gelu_accurate", PLAIT_GELU_TANH},
                 {"gelu_pytorch_tanh", PLAIT_GELU_TANH},
                 {"gelu_python_tanh", PLAIT_GELU_TANH},
                 {"geglu", PLAIT_GELU},
                 {"silu", PLAIT_SILU},
                 {"swish", PLAIT_SILU},
                 {"swiglu", PLAIT_SILU},
                 {"relu", PLAIT_RELU},
                 {"relu2", PLAIT_RELU2}};

    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        if (strcmp(names[n].name, name) == 0)
            return names[n].activation;
    return PLAIT_ACTIVATION_UNKNOWN;
}

static plait_status read_activation(const hf_config *hf, const hf_class_numerics *known,
                                    plait_activation *out, plait_error *err)
{
    const char *const key = hf_name(hf, hf_activation_keys);
    const char *word;

    *out = known->activation;
    hf_skip(hf, hf_activation_keys);
    if (!json_has(hf->text, key) || hf_has_numerics_trait(known, HF_OWN_ACTIVATION))
        return PLAIT_OK;
    PLAIT_TRY(json_string(hf->text, key, hf->arena, &word, err));
    *out = activation_named(word);
    return PLAIT_OK;
}

/* ---- attention ---- */

/* A bias by distance: of the class, or on request; MPT asks inside its object for attention. */
static plait_status read_alibi(const hf_config *hf, const hf_class_numerics *known, bool *out,
                               plait_error *err)
{
    json_cursor attention;

    PLAIT_TRY(hf_flag(hf, "alibi", hf_has_numerics_trait(known, HF_ALIBI), out, err));
    if (strcmp(hf->class->type, "mpt") != 0)
        return PLAIT_OK;
    PLAIT_TRY(json_object_optional(hf->text, "attn_config", &attention, err));
    return json_is_null(&attention) ? PLAIT_OK : json_bool_optional(&attention, "alibi", out, err);
}

static void read_qk_norm(const hf_config *hf, const hf_class_numerics *known, plait_numerics *out)
{
    bool norm = false;

    for (int k = 0; k < hf->model->kinds; k++)
        norm = norm || hf->model->kind[k].attention.qk_norm;
    out->qk_l2_norm = norm && hf_has_numerics_trait(known, HF_QK_L2_NORM);
    out->qk_norm_whole = norm && hf_has_numerics_trait(known, HF_QK_NORM_WHOLE);
}

/* Granite states the scale itself, MPT in its object for attention, Gemma what to take the root of. */
static plait_status read_attention_scale(const hf_config *hf, const hf_class_numerics *known,
                                         double *out, plait_error *err)
{
    static const char *const scalars[] = {"query_pre_attn_scalar", NULL};
    static const char *const scales[] = {"attention_multiplier", NULL};
    static const char *const softmax_scales[] = {"softmax_scale", NULL};
    const plait_attention *const attention = hf_attention(hf->model);
    double scalar = known->query_scalar, usual;
    json_cursor config;

    if (attention == NULL)
        return PLAIT_OK;
    usual = 1.0 / sqrt(attention->head_dim);
    PLAIT_TRY(hf_number(hf->text, scalars, JSON_POSITIVE, 0.0, &scalar, err));
    *out = scalar > 0.0 ? 1.0 / sqrt(scalar) : 0.0;
    PLAIT_TRY(hf_number(hf->text, scales, JSON_POSITIVE, 0.0, out, err));
    PLAIT_TRY(json_value_optional(hf->text, "attn_config", &config, err));
    if (json_is_object(&config))
        PLAIT_TRY(hf_number(&config, softmax_scales, JSON_POSITIVE, *out, out, err));
    if (fabs(*out - usual) <= 1e-6 * usual)
        *out = 0.0;
    return PLAIT_OK;
}

/* ---- scales ---- */

/* A factor of one does nothing. */
static plait_status read_factor(const hf_config *hf, const char *key, double *out, plait_error *err)
{
    const char *const names[] = {key, NULL};

    PLAIT_TRY(hf_number(hf->text, names, JSON_NON_NEGATIVE, 0.0, out, err));
    if (*out == 1.0)
        *out = 0.0;
    return PLAIT_OK;
}

/* Granite divides logits, Cohere multiplies them; MPT may say it in words. */
static plait_status read_logit_scale(const hf_config *hf, const hf_class_numerics *known,
                                     double *out, plait_error *err)
{
    static const char *const words[] = {"inv_sqrt_d_model", NULL};
    json_cursor at;
    double divisor = 0.0;
    int word;

    *out = known->logit_scale;
    PLAIT_TRY(json_value_optional(hf->text, "logit_scale", &at, err));
    if (json_is_string(&at)) {
        PLAIT_TRY(json_as_word(&at, words, &word, err));
        *out = 1.0 / sqrt(hf->model->hidden);
        return PLAIT_OK;
    }
    PLAIT_TRY(read_factor(hf, "logit_scale", out, err));
    PLAIT_TRY(read_factor(hf, "logits_scaling", &divisor, err));
    if (divisor == 0.0)
        return PLAIT_OK;
    if (!isfinite(1.0 / divisor))
        return json_fail_key(hf->text, "logits_scaling", PLAIT_ERROR_RANGE, err,
                             "expected a sensible number, found %g", divisor);
    *out = 1.0 / divisor;
    return PLAIT_OK;
}

static plait_status read_scales(const hf_config *hf, const hf_class_numerics *known,
                                plait_numerics *out, plait_error *err)
{
    if (hf_has_numerics_trait(known, HF_EMBEDDING_ROOT))
        out->embedding_scale = sqrt(hf->model->hidden);
    PLAIT_TRY(read_factor(hf, "embedding_multiplier", &out->embedding_scale, err));
    PLAIT_TRY(read_factor(hf, "residual_multiplier", &out->residual_scale, err));
    PLAIT_TRY(read_attention_scale(hf, known, &out->attention_scale, err));
    return read_logit_scale(hf, known, &out->logit_scale, err);
}

/* ---- the whole ---- */

static plait_status read_numbers(const hf_config *hf, const hf_class_numerics *known,
                                 plait_numerics *out, plait_error *err)
{
    static const char *const eps[] = {"rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon",
                                      "norm_epsilon", "norm_eps",       NULL};
    static const char *const init[] = {"initializer_range", NULL};
    static const char *const attention_cap[] = {"attn_logit_softcapping", NULL};
    static const char *const logit_cap[] = {"final_logit_softcapping", NULL};

    out->norm_eps = known->norm_eps;
    out->attention_softcap = known->attention_softcap;
    out->logit_softcap = known->logit_softcap;
    PLAIT_TRY(hf_number(hf->text, eps, JSON_FRACTION, out->norm_eps, &out->norm_eps, err));
    PLAIT_TRY(hf_number(hf->text, init, JSON_FRACTION, 0.0, &out->init_std, err));
    PLAIT_TRY(
        hf_number(hf->text, attention_cap, JSON_NON_NEGATIVE, 0.0, &out->attention_softcap, err));
    return hf_number(hf->text, logit_cap, JSON_NON_NEGATIVE, 0.0, &out->logit_softcap, err);
}

plait_status hf_read_numerics(const hf_config *hf, plait_numerics *out, plait_error *err)
{
    hf_class_numerics known = {.rope_fraction = 1.0, .router_scale = 1.0};

    if (hf->known)
        known = hf_class_numerics_of(hf->class);
    *out = (plait_numerics){0};
    PLAIT_TRY(read_activation(hf, &known, &out->activation, err));
    PLAIT_TRY(read_numbers(hf, &known, out, err));
    PLAIT_TRY(read_alibi(hf, &known, &out->alibi, err));
    read_qk_norm(hf, &known, out);
    PLAIT_TRY(read_scales(hf, &known, out, err));
    PLAIT_TRY(hf_read_rope(hf, &known, &out->rope, err));
    return hf_read_router(hf, &known, &out->router, err);
}
