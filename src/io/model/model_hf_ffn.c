/* model_hf_ffn.c - reads the feed-forward parts of a Hugging Face config */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "io/model/model_hf.h"

static const char *const width_names[] = {"intermediate_size", "n_inner", "ffn_dim",
                                          "ffn_hidden_size", NULL};
static const char *const dense_width_names[] = {
    "block_ff_dim", "intermediate_size_mlp", "dense_intermediate_size", "intermediate_size", NULL};
static const char *const expert_width_names[] = {"moe_intermediate_size", "expert_ffn_hidden_size",
                                                 "expert_hidden_dim", "intermediate_size", NULL};
static const char *const experts_names[] = {"n_routed_experts", "num_local_experts", "num_experts",
                                            "moe_num_experts", NULL};
static const char *const topk_names[] = {"num_experts_per_tok",
                                         "top_k_experts",
                                         "experts_per_token",
                                         "moe_topk",
                                         "moe_k",
                                         "num_experts_per_token",
                                         "moe_top_k",
                                         NULL};
static const char *const shared_width_names[] = {
    "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
    "shared_intermediate_size", "share_expert_dim", NULL};
static const char *const shared_names[] = {"n_shared_experts", "num_shared_experts",
                                           "moe_num_shared_experts", "num_shared_expert", NULL};
static const char *const latent_names[] = {"moe_latent_size", "routed_expert_hidden_size", NULL};
static const char *const groups_names[] = {"n_group", "num_expert_group", "num_expert_groups",
                                           NULL};
static const char *const group_topk_names[] = {"topk_group", "num_limited_groups", NULL};

plait_status hf_read_bias(const hf_config *hf, const char *key, enum hf_trait absent, bool *out,
                          plait_error *err)
{
    bool no_bias = true;

    *out = hf_has_trait(hf, absent);
    if (key != NULL)
        return json_bool_optional(hf->text, key, out, err);
    if (!json_has(hf->text, "no_bias"))
        return PLAIT_OK;
    PLAIT_TRY(json_bool(hf->text, "no_bias", &no_bias, err));
    *out = !no_bias;
    return PLAIT_OK;
}

/* ---- the MLP ---- */

/*
 * Reads the width of an MLP of Nemotron-NAS, as a number or as a multiple of the hidden width,
 * which counts two of three matrices and is rounded up to a multiple of 256.
 */
static plait_status read_block_width(const hf_config *hf, int *out, plait_error *err)
{
    json_cursor parents[2], at;
    double multiple = 0.0;

    PLAIT_TRY(hf_block(hf, "ffn", parents, &at, err));
    if (json_has(&at, "intermediate_size")) {
        PLAIT_TRY(json_int(&at, "intermediate_size", 1, MODEL_MAX_WIDTH, out, err));
    } else {
        PLAIT_TRY(json_number(&at, "ffn_mult", JSON_POSITIVE, &multiple, err));
        const double width = floor(2.0 * multiple * hf->model->hidden / 3.0);
        if (width < 1.0 || width > MODEL_MAX_WIDTH - 256)
            return json_fail_key(&at, "ffn_mult", PLAIT_ERROR_RANGE, err,
                                 "expected a multiple that gives a width from 1 to %d, found %g",
                                 MODEL_MAX_WIDTH - 256, multiple);
        *out = ((int)width + 255) / 256 * 256;
    }
    hf_pick(hf, *out);
    return PLAIT_OK;
}

/*
 * Adjusts the width of LFM2, which counts two of three matrices and is rounded up to a multiple.
 */
static plait_status adjust_width(const hf_config *hf, int *width, plait_error *err)
{
    double multiplier = 1.0;
    int multiple = 256;
    bool adjust = true;

    PLAIT_TRY(json_bool_optional(hf->text, "block_auto_adjust_ff_dim", &adjust, err));
    PLAIT_TRY(json_number_optional(hf->text, "block_ffn_dim_multiplier", JSON_POSITIVE, &multiplier,
                                   err));
    PLAIT_TRY(json_int_optional(hf->text, "block_multiple_of", 1, MODEL_MAX_WIDTH, &multiple, err));
    if (!adjust)
        return PLAIT_OK;
    const double adjusted =
        ceil(floor(multiplier * floor(2.0 * *width / 3.0)) / multiple) * multiple;
    if (adjusted < 1.0 || adjusted > MODEL_MAX_WIDTH)
        return json_fail_key(hf->text, "block_ffn_dim_multiplier", PLAIT_ERROR_RANGE, err,
                             "expected a multiplier that gives a width from 1 to %d, found %g",
                             MODEL_MAX_WIDTH, multiplier);
    *width = (int)adjusted;
    return PLAIT_OK;
}

/*
 * Reads the width of the MLP. Older classes omit it if it is the default multiple of the hidden
 * width.
 */
static plait_status read_dense_width(const hf_config *hf, int *out, plait_error *err)
{
    double ratio = 4.0;

    *out = 0;
    if (hf->class.pattern == HF_PATTERN_BLOCKS)
        return read_block_width(hf, out, err);
    if (hf->class.mlp_width != NULL)
        return json_int(hf->text, hf->class.mlp_width, 1, MODEL_MAX_WIDTH, out, err);
    PLAIT_TRY(hf_int_optional(hf, dense_width_names, 1, MODEL_MAX_WIDTH, out, err));
    if (*out > 0)
        return PLAIT_OK;
    PLAIT_TRY(json_number_optional(hf->text, "expansion_ratio", JSON_POSITIVE, &ratio, err));
    if (!hf->known || !hf_has_trait(hf, HF_PLAIN_MLP) || json_has(hf->text, "n_inner"))
        return hf_int_or(hf, width_names, 1, MODEL_MAX_WIDTH, hf_nested(hf, hf->class.width), out,
                         err);
    if (ratio * hf->model->hidden > MODEL_MAX_WIDTH || ratio * hf->model->hidden < 1.0)
        return json_fail_key(hf->text, "expansion_ratio", PLAIT_ERROR_RANGE, err,
                             "expected a ratio that gives a width from 1 to %d, found %g",
                             MODEL_MAX_WIDTH, ratio);
    *out = (int)(ratio * hf->model->hidden);
    return hf_int_optional(hf, width_names, 1, MODEL_MAX_WIDTH, out, err);
}

/* In Gemma 4 E2B the layers that reuse keys and values have MLPs of twice the width. */
static plait_status double_width(const hf_config *hf, int *width, plait_error *err)
{
    bool wide = false, reused;

    PLAIT_TRY(json_bool_optional(hf->text, "use_double_wide_mlp", &wide, err));
    if (!wide)
        return PLAIT_OK;
    PLAIT_TRY(hf_reuses_kv(hf, &reused, err));
    if (reused && *width > MODEL_MAX_WIDTH / 2)
        return json_fail_key(hf->text, "intermediate_size", PLAIT_ERROR_RANGE, err,
                             "expected at most %d, half of the width of some layers, found %d",
                             MODEL_MAX_WIDTH / 2, *width);
    *width *= reused ? 2 : 1;
    return PLAIT_OK;
}

plait_status hf_read_mlp(const hf_config *hf, plait_layer *out, plait_error *err)
{
    out->ffn = PLAIT_FFN_MLP;
    out->mlp = (plait_mlp){.gated = !hf_has_trait(hf, HF_PLAIN_MLP)};
    PLAIT_TRY(hf_read_bias(hf, hf->class.mlp_bias, HF_MLP_BIAS, &out->mlp.bias, err));
    PLAIT_TRY(read_dense_width(hf, &out->mlp.width, err));
    PLAIT_TRY(double_width(hf, &out->mlp.width, err));
    if (strcmp(hf->class.type, "lfm2") == 0)
        return adjust_width(hf, &out->mlp.width, err);
    if (!hf_has_trait(hf, HF_HALF_WIDTH))
        return PLAIT_OK;
    if (out->mlp.width < 2)
        return json_fail_key(hf->text, "intermediate_size", PLAIT_ERROR_RANGE, err,
                             "expected at least 2, found %d", out->mlp.width);
    out->mlp.width /= 2;
    return PLAIT_OK;
}

/* ---- experts ---- */

static void skip_experts(const hf_config *hf)
{
    hf_skip(hf, experts_names);
    hf_skip(hf, topk_names);
    hf_skip(hf, shared_names);
    hf_skip(hf, (const char *const[]){"moe_intermediate_size", NULL});
}

/* Returns whether one expert means an MLP without a router, as in Jamba and Hunyuan. */
static bool one_is_dense(const hf_config *hf)
{
    return hf->class.pattern == HF_PATTERN_MODULO || text_starts_with(hf->class.type, "hunyuan");
}

plait_status hf_experts(const hf_config *hf, int *out, plait_error *err)
{
    bool enabled = !hf_has_trait(hf, HF_MOE_ON_REQUEST);

    *out = 0;
    PLAIT_TRY(json_bool_optional(hf->text, "enable_moe_block", &enabled, err));
    if (!enabled) {
        skip_experts(hf);
        return PLAIT_OK;
    }
    PLAIT_TRY(hf_int_optional(hf, experts_names, 0, MODEL_MAX_EXPERTS, out, err));
    if (*out == 1 && one_is_dense(hf)) {
        skip_experts(hf);
        *out = 0;
    }
    return PLAIT_OK;
}

plait_status hf_read_moe(const hf_config *hf, plait_layer *out, plait_error *err)
{
    plait_moe *const moe = &out->moe;

    out->ffn = PLAIT_FFN_MOE;
    *moe = (plait_moe){.gated = !hf_has_trait(hf, HF_PLAIN_MLP),
                       .bias = hf_has_trait(hf, HF_EXPERT_BIAS),
                       .router_bias = hf_has_trait(hf, HF_ROUTER_BIAS)};
    PLAIT_TRY(hf_int(hf, experts_names, 1, MODEL_MAX_EXPERTS, &moe->experts, err));
    PLAIT_TRY(hf_int(hf, topk_names, 1, MODEL_MAX_EXPERTS, &moe->topk, err));
    PLAIT_TRY(model_check_topk(hf->text, hf_name(hf, topk_names), moe->experts, moe->topk, err));
    PLAIT_TRY(hf_int(hf, expert_width_names, 1, MODEL_MAX_WIDTH, &moe->width, err));

    // Read the shared experts, which are given as a number of experts, as the width of one expert,
    // or as a dense MLP.
    int shared = hf->class.shared;
    PLAIT_TRY(hf_int_optional(hf, shared_names, 0, MODEL_MAX_EXPERTS, &shared, err));
    if (shared > MODEL_MAX_WIDTH / moe->width)
        return json_fail_key(
            hf->text, hf_name(hf, shared_names), PLAIT_ERROR_RANGE, err,
            "expected shared experts with a total width of at most %d, found %d experts",
            MODEL_MAX_WIDTH, shared);
    moe->shared_width = shared * moe->width;
    if (hf_has_trait(hf, HF_SHARED_MLP)) {
        PLAIT_TRY(hf_int(hf, width_names, 1, MODEL_MAX_WIDTH, &moe->shared_width, err));
    } else {
        PLAIT_TRY(
            hf_int_optional(hf, shared_width_names, 0, MODEL_MAX_WIDTH, &moe->shared_width, err));
        moe->shared_gate = moe->shared_width > 0 && hf_has_trait(hf, HF_SHARED_GATE);
    }

    // A single group does not limit the routing, so it is stored as no groups.
    PLAIT_TRY(hf_int_optional(hf, groups_names, 0, MODEL_MAX_EXPERTS, &moe->groups, err));
    PLAIT_TRY(hf_int_optional(hf, group_topk_names, 0, MODEL_MAX_EXPERTS, &moe->group_topk, err));
    if (moe->groups <= 1) {
        moe->groups = 0;
        moe->group_topk = 0;
    }
    PLAIT_TRY(
        json_bool_optional(hf->text, "moe_router_enable_expert_bias", &moe->router_bias, err));
    PLAIT_TRY(json_bool_optional(hf->text, "use_expert_bias", &moe->router_bias, err));
    PLAIT_TRY(json_int_optional(hf->text, "zero_expert_num", 0, MODEL_MAX_EXPERTS,
                                &moe->zero_experts, err));
    PLAIT_TRY(hf_int_optional(hf, latent_names, 0, MODEL_MAX_WIDTH, &moe->latent, err));
    PLAIT_TRY(json_bool_optional(hf->text, "latent_moe_use_norm", &moe->latent_norm, err));
    moe->latent_norm = moe->latent_norm && moe->latent > 0;
    return model_check_groups(hf->text, hf_name(hf, groups_names), "topk_group", moe, err);
}
