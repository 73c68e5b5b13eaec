/*
 * model_hf_numerics.c - reads the activation, epsilon, scales, positions and routing of a Hugging
 * Face config
 *
 * For an unknown class, only numbers that the file contains are set.
 */
#include "io/model/model_hf.h"

#include <math.h>
#include <string.h>

/* ---- activation ---- */

const char *const hf_activation_keys[] = {
    "hidden_activation", "hidden_act", "activation_function", "activation", "mlp_hidden_act", NULL};

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
                 {"swigluoai", PLAIT_CLAMPED_SWIGLU},
                 {"relu", PLAIT_RELU},
                 {"relu2", PLAIT_RELU2},
                 {"situ", PLAIT_OTHER_ACTIVATION},
                 {"xielu", PLAIT_OTHER_ACTIVATION}};

    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        if (strcmp(names[n].name, name) == 0)
            return names[n].activation;
    return PLAIT_ACTIVATION_UNKNOWN;
}

/* ---- attention ---- */

static const plait_attention *first_attention(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer == PLAIT_MIXER_ATTENTION)
            return &model->kind[k].attention;
    return NULL;
}

/*
 * Reads the scale of attention scores. Granite's key is the scale itself, MPT's too, but inside
 * attn_config; the scale of Gemma is one over the square root of its key.
 */
static plait_status read_attention_scale(const hf_config *hf, double *out, plait_error *err)
{
    static const char *const scalars[] = {"query_pre_attn_scalar", NULL};
    static const char *const scales[] = {"attention_multiplier", NULL};
    static const char *const softmax_scales[] = {"softmax_scale", NULL};
    const plait_attention *const attention = first_attention(hf->model);
    double scalar = hf->class.query_scalar, usual;
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

/* Reads a factor; 1 has no effect and is stored as 0. */
static plait_status read_factor(const hf_config *hf, const char *key, double *out, plait_error *err)
{
    const char *const names[] = {key, NULL};

    PLAIT_TRY(hf_number(hf->text, names, JSON_NON_NEGATIVE, 0.0, out, err));
    if (*out == 1.0)
        *out = 0.0;
    return PLAIT_OK;
}

/* ---- rotary positions ----
 *
 *     "rope_theta": 1e4, "rope_scaling": {"type": "yarn", "factor": 40, ...}     transformers 4
 *     "rope_parameters": {"rope_theta": 1e4, "rope_type": "yarn", ...}           transformers 5
 *     "rope_parameters": {"full_attention": {...}, "sliding_attention": {...}}
 */

/*
 * Reads the scaling of rotary positions. The original length defaults to the model's length; YaRN's
 * factor defaults to the ratio of the model's length to the original length.
 */
static plait_status read_rope_scaling(const hf_config *hf, const json_cursor *at, plait_rope *out,
                                      plait_error *err)
{
    static const char length[] = "original_max_position_embeddings";

    // "type" and "rope_type" mean the same; the default is "default".
    const char *word = "default";
    PLAIT_TRY(json_string_optional(at, "type", hf->arena, &word, err));
    PLAIT_TRY(json_string_optional(at, "rope_type", hf->arena, &word, err));
    out->kind = PLAIT_ROPE_OTHER;
    if (strcmp(word, "default") == 0)
        out->kind = PLAIT_ROPE_PLAIN;
    for (int kind = PLAIT_ROPE_LINEAR; kind <= PLAIT_ROPE_YARN; kind++)
        if (strcmp(word, plait_rope_kind_name[kind]) == 0)
            out->kind = (plait_rope_kind)kind;
    const bool yarn = out->kind == PLAIT_ROPE_YARN, llama3 = out->kind == PLAIT_ROPE_LLAMA3;
    if (out->kind == PLAIT_ROPE_PLAIN)
        return PLAIT_OK;
    if (llama3 || yarn)
        out->original_seq = hf->model->max_seq;
    PLAIT_TRY(json_int_optional(hf->text, length, 1, MODEL_MAX_SEQ, &out->original_seq, err));
    PLAIT_TRY(json_int_optional(at, length, 1, MODEL_MAX_SEQ, &out->original_seq, err));
    if (yarn && out->original_seq > 0)
        out->factor = (double)hf->model->max_seq / out->original_seq;
    const bool optional = out->kind == PLAIT_ROPE_OTHER || out->factor > 0.0;
    PLAIT_TRY((optional ? json_number_optional : json_number)(at, "factor", JSON_POSITIVE,
                                                              &out->factor, err));
    if (llama3) {
        PLAIT_TRY(json_number(at, "low_freq_factor", JSON_POSITIVE, &out->low_freq, err));
        return json_number(at, "high_freq_factor", JSON_POSITIVE, &out->high_freq, err);
    }
    if (!yarn)
        return PLAIT_OK;
    out->beta_fast = 32.0;
    out->beta_slow = 1.0;
    PLAIT_TRY(json_number_optional(at, "beta_fast", JSON_POSITIVE, &out->beta_fast, err));
    PLAIT_TRY(json_number_optional(at, "beta_slow", JSON_POSITIVE, &out->beta_slow, err));
    PLAIT_TRY(json_number_optional(at, "mscale", JSON_NON_NEGATIVE, &out->mscale, err));
    return json_number_optional(at, "mscale_all_dim", JSON_NON_NEGATIVE, &out->mscale_all_dim, err);
}

/*
 * Reads the base and the rotated fraction. Old files have these keys at the top level, new files
 * inside the object.
 */
static plait_status read_rope_base(const json_cursor *at, plait_rope *out, plait_error *err)
{
    static const char *const base[] = {"rope_theta", "rotary_emb_base", NULL};
    static const char *const fraction[] = {"partial_rotary_factor", "rotary_pct", NULL};

    PLAIT_TRY(hf_number(at, base, JSON_POSITIVE, out->base, &out->base, err));
    return hf_number(at, fraction, JSON_FRACTION, out->fraction, &out->fraction, err);
}

static plait_status read_rope_object(const hf_config *hf, const json_cursor *at, plait_rope *out,
                                     plait_error *err)
{
    PLAIT_TRY(read_rope_base(at, out, err));
    return read_rope_scaling(hf, at, out, err);
}

static plait_status read_rope(const hf_config *hf, plait_rope *out, plait_error *err)
{
    static const char *const local_base[] = {"rope_local_base_freq", "swa_rope_theta", NULL};
    bool rotary = false, windows = false, nope = false;
    json_cursor object;

    PLAIT_TRY(json_bool_optional(hf->text, "mla_use_nope", &nope, err)); // Kimi

    for (int k = 0; k < hf->model->kinds; k++) {
        const plait_layer *const layer = &hf->model->kind[k];
        const bool attention = layer->mixer == PLAIT_MIXER_ATTENTION;

        rotary = rotary || (attention && layer->attention.rotary) ||
                 (layer->mixer == PLAIT_MIXER_MLA && layer->mla.rope_dim > 0 && !nope);
        windows = windows || (attention && layer->attention.window > 0);
    }
    if (!rotary)
        return PLAIT_OK;
    *out = (plait_rope){.base = hf->class.rope_base,
                        .local_base = hf->class.rope_local_base,
                        .fraction = hf->class.rope_fraction};
    PLAIT_TRY(read_rope_base(hf->text, out, err));

    // GPT-J gives the number of rotated elements; null means all.
    const plait_attention *const layer = first_attention(hf->model);
    int elements = hf_mentions(hf->text, "rotary_dim") ? 0 : hf->class.rotary_dim;
    if (layer != NULL) {
        PLAIT_TRY(json_int_optional(hf->text, "rotary_dim", 1, layer->head_dim, &elements, err));
        if (elements > 0 && elements < layer->head_dim)
            out->fraction = (double)elements / layer->head_dim;
        if (hf_has_trait(hf, HF_COMPRESSED)) {
            elements = layer->head_dim;
            PLAIT_TRY(json_int_optional(hf->text, "qk_rope_head_dim", 0, layer->head_dim, &elements,
                                        err));
            out->fraction = (double)elements / layer->head_dim;
        }
    }
    PLAIT_TRY(hf_number(hf->text, local_base, JSON_POSITIVE, 0.0, &out->local_base, err));
    PLAIT_TRY(hf_flag(hf, "rope_interleave", hf_has_numeric_trait(hf, HF_INTERLEAVED),
                      &out->interleaved, err));
    PLAIT_TRY(json_object_optional(hf->text, "rope_scaling", &object, err));
    if (!json_is_null(&object))
        PLAIT_TRY(read_rope_object(hf, &object, out, err));
    PLAIT_TRY(json_object_optional(hf->text, "rope_parameters", &object, err));
    if (!json_is_null(&object)) {
        json_cursor full, sliding;

        // Use the positions of full layers; windowed layers may have another base.
        PLAIT_TRY(json_object_optional(&object, "full_attention", &full, err));
        PLAIT_TRY(json_object_optional(&object, "sliding_attention", &sliding, err));
        if (json_is_null(&full) && json_is_null(&sliding)) {
            PLAIT_TRY(read_rope_object(hf, &object, out, err));
        } else {
            if (!json_is_null(&full))
                PLAIT_TRY(read_rope_object(hf, &full, out, err));
            if (!json_is_null(&sliding))
                PLAIT_TRY(json_number_optional(&sliding, "rope_theta", JSON_POSITIVE,
                                               &out->local_base, err));
        }
    }
    if (out->local_base == out->base || !windows)
        out->local_base = 0.0;
    return PLAIT_OK;
}

/* ---- routing ---- */

static plait_status read_router(const hf_config *hf, plait_router *out, plait_error *err)
{
    static const char *const scale[] = {"routed_scaling_factor",
                                        "router_scaling_factor",
                                        "moe_router_scaling_factor",
                                        "moe_router_topk_scaling_factor",
                                        "moe_routed_scaling_factor",
                                        "route_scale",
                                        NULL};
    static const char *const aux_loss[] = {"router_aux_loss_coef", "aux_loss_alpha", NULL};
    const char *method = NULL;
    bool experts = false;

    for (int k = 0; k < hf->model->kinds; k++)
        experts = experts || hf->model->kind[k].ffn == PLAIT_FFN_MOE;
    if (!experts)
        return PLAIT_OK;
    *out = (plait_router){
        .score = hf->class.score,
        .normalised = hf_has_numeric_trait(hf, HF_NORMALISED),
        .correction_bias = hf_has_numeric_trait(hf, HF_CORRECTION_BIAS),
        .scale = hf->class.router_scale,
    };

    static const char *const score_keys[] = {"scoring_func",          "moe_router_activation_func",
                                             "score_function",        "score_func",
                                             "moe_router_activation", NULL};
    const char *word = NULL;
    for (const char *const *key = score_keys; *key != NULL; key++)
        PLAIT_TRY(json_string_optional(hf->text, *key, hf->arena, &word, err));
    if (word != NULL) {
        out->score = PLAIT_ROUTER_UNKNOWN;
        for (int score = PLAIT_ROUTER_SOFTMAX; score < PLAIT_ROUTER_SCORES; score++)
            if (strcmp(word, plait_router_score_name[score]) == 0)
                out->score = (plait_router_score)score;
    }
    PLAIT_TRY(json_bool_optional(hf->text, "norm_topk_prob", &out->normalised, err));
    PLAIT_TRY(json_bool_optional(hf->text, "moe_renormalize", &out->normalised, err));
    PLAIT_TRY(json_bool_optional(hf->text, "norm_expert_weight", &out->normalised, err));
    PLAIT_TRY(json_bool_optional(hf->text, "route_norm", &out->normalised, err));
    PLAIT_TRY(json_string_optional(hf->text, "topk_method", hf->arena, &method, err));
    if (method != NULL) // DeepSeek's noaux_tc balances the experts with a bias instead of a loss
        out->correction_bias = strcmp(method, "noaux_tc") == 0;
    PLAIT_TRY(hf_number(hf->text, scale, JSON_POSITIVE, out->scale, &out->scale, err));
    return hf_number(hf->text, aux_loss, JSON_NON_NEGATIVE, 0.0, &out->aux_loss, err);
}

/* ---- all numerics ---- */

/* Granite's key divides the logits, Cohere's multiplies them; MPT's value may be a word. */
static plait_status read_logit_scale(const hf_config *hf, double *out, plait_error *err)
{
    static const char *const words[] = {"inv_sqrt_d_model", NULL};
    double divisor = 0.0;
    json_cursor at;
    int word;

    *out = hf->class.logit_scale;
    PLAIT_TRY(json_value_optional(hf->text, "logit_scale", &at, err));
    if (json_is_string(&at)) {
        PLAIT_TRY(json_as_word(&at, words, &word, err));
        *out = 1.0 / sqrt(hf->model->hidden);
    } else {
        PLAIT_TRY(read_factor(hf, "logit_scale", out, err));
        PLAIT_TRY(read_factor(hf, "logits_scaling", &divisor, err));
        if (divisor != 0.0) {
            if (!isfinite(1.0 / divisor))
                return json_fail_key(hf->text, "logits_scaling", PLAIT_ERROR_RANGE, err,
                                     "expected a number with a finite reciprocal, found %g",
                                     divisor);
            *out = 1.0 / divisor;
        }
    }
    return PLAIT_OK;
}

plait_status hf_read_numerics(const hf_config *hf, plait_numerics *out, plait_error *err)
{
    static const char *const logit_cap[] = {"final_logit_softcapping", "logits_soft_cap", NULL};
    static const char *const attention_cap[] = {"attn_logit_softcapping", NULL};
    static const char *const init[] = {"initializer_range", NULL};
    static const char *const eps[] = {"rms_norm_eps",
                                      "layer_norm_eps",
                                      "layer_norm_epsilon",
                                      "norm_epsilon",
                                      "norm_eps",
                                      "layernorm_epsilon",
                                      NULL};
    bool qk_norm = false;
    const char *word;

    *out = (plait_numerics){0};

    const char *const key = hf_name(hf, hf_activation_keys);
    out->activation = hf->class.activation;
    hf_skip(hf, hf_activation_keys);
    if (json_has(hf->text, key) && !hf_has_numeric_trait(hf, HF_OWN_ACTIVATION)) {
        PLAIT_TRY(json_string(hf->text, key, hf->arena, &word, err));
        out->activation = activation_named(word);
    }
    out->norm_eps = hf->class.norm_eps;
    out->attention_softcap = hf->class.attention_softcap;
    out->logit_softcap = hf->class.logit_softcap;
    PLAIT_TRY(hf_number(hf->text, eps, JSON_FRACTION, out->norm_eps, &out->norm_eps, err));
    PLAIT_TRY(hf_number(hf->text, init, JSON_FRACTION, 0.0, &out->init_std, err));
    PLAIT_TRY(
        hf_number(hf->text, attention_cap, JSON_NON_NEGATIVE, 0.0, &out->attention_softcap, err));
    PLAIT_TRY(hf_number(hf->text, logit_cap, JSON_NON_NEGATIVE, 0.0, &out->logit_softcap, err));
    PLAIT_TRY(hf_alibi(hf, &out->alibi, err));
    for (int k = 0; k < hf->model->kinds; k++)
        qk_norm = qk_norm || hf->model->kind[k].attention.qk_norm;
    out->qk_l2_norm = qk_norm && hf_has_numeric_trait(hf, HF_QK_L2_NORM);
    out->qk_norm_whole = qk_norm && hf_has_numeric_trait(hf, HF_QK_NORM_WHOLE);
    // mup_enabled is a key of AFMoE
    bool root = hf_has_numeric_trait(hf, HF_EMBEDDING_ROOT);
    PLAIT_TRY(json_bool_optional(hf->text, "mup_enabled", &root, err));
    if (root)
        out->embedding_scale = sqrt(hf->model->hidden);
    PLAIT_TRY(read_factor(hf, "embedding_multiplier", &out->embedding_scale, err));
    PLAIT_TRY(read_factor(hf, "residual_multiplier", &out->residual_scale, err));
    PLAIT_TRY(read_attention_scale(hf, &out->attention_scale, err));

    PLAIT_TRY(read_logit_scale(hf, &out->logit_scale, err));
    PLAIT_TRY(read_rope(hf, &out->rope, err));
    return read_router(hf, &out->router, err);
}
