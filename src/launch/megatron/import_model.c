/* import_model.c - the model out of Megatron-LM's arguments */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "launch/megatron/import_parts.h"

static void read_sizes(const megatron_args *args, plait_model *out)
{
    out->layers = args->num_layers;
    out->hidden = args->hidden_size;
    out->vocab = megatron_vocab(args);
    out->max_seq = args->max_position_embeddings;
    out->mtp_layers = args->mtp_num_layers;
    out->tied = !args->untie_embeddings_and_output_weights;
}

/* ---- feed-forward parts ---- */

/* SwiGLU without a width keeps two thirds of 4 h, in steps of 64. */
static int usual_width(int hidden, bool gated)
{
    return gated ? (int)(4.0 * hidden * 2 / 3 / 64) * 64 : 4 * hidden;
}

static plait_mlp mlp_of(const megatron_args *args)
{
    const bool gated = args->swiglu || args->quick_geglu;
    const int width = args->ffn_hidden_size;

    return (plait_mlp){
        .width = width > 0 ? width : usual_width(args->hidden_size, gated),
        .gated = gated,
        .bias = args->add_bias_linear,
    };
}

static plait_moe moe_of(const megatron_args *args, const plait_mlp *mlp)
{
    const int width = args->moe_ffn_hidden_size;
    const double capacity = args->moe_expert_capacity_factor; // not a number, or below 0: none

    return (plait_moe){
        .experts = args->num_experts > 1 ? args->num_experts : 0,
        .topk = args->moe_router_topk,
        .width = width > 0 ? width : mlp->width,
        .shared_width = args->moe_shared_expert_intermediate_size,
        .groups = args->moe_router_num_groups,
        .group_topk = args->moe_router_group_topk,
        .gated = mlp->gated,
        .bias = mlp->bias,
        .router_bias = mlp->bias || args->moe_router_enable_expert_bias,
        .shared_gate = args->moe_shared_expert_gate,
        .capacity = capacity > 0.0 ? capacity : 0.0,
        .padded = capacity > 0.0 && args->moe_pad_expert_input_to_capacity,
    };
}

static plait_status check_groups(const model_reader *in, plait_error *err)
{
    const int experts = in->full.moe.experts;
    const int groups = in->full.moe.groups, topk = in->full.moe.group_topk;

    if (groups > 0 && experts % groups != 0)
        return flags_fail(in->flags, MEGATRON_NAME(moe_router_num_groups), err,
                          "expected a divisor of the %d experts, found %d", experts, groups);
    if (topk > groups || (groups > 0 && topk < 1))
        return flags_fail(in->flags, MEGATRON_NAME(moe_router_group_topk), err,
                          "expected 1 to %d groups, found %d", groups, topk);
    return PLAIT_OK;
}

static plait_status read_ffn(model_reader *in, plait_error *err)
{
    in->full.mlp = mlp_of(in->args);
    in->full.moe = moe_of(in->args, &in->full.mlp);
    const int experts = in->full.moe.experts, topk = in->full.moe.topk;
    if (topk < 1 || (experts > 0 && topk > experts))
        return flags_fail(in->flags, MEGATRON_NAME(moe_router_topk), err,
                          "expected 1 to %d experts, found %d", experts, topk);
    return experts > 0 ? check_groups(in, err) : PLAIT_OK;
}

/* ---- numbers inside ---- */

static plait_router router_of(const megatron_args *args)
{
    const double scale = args->moe_router_topk_scaling_factor;
    const bool sigmoid = strcmp(args->moe_router_score_function, "sigmoid") == 0;

    return (plait_router){
        .score = sigmoid ? PLAIT_ROUTER_SIGMOID : PLAIT_ROUTER_SOFTMAX,
        .normalised = sigmoid ? !args->moe_apply_probs_on_input : !args->moe_router_pre_softmax,
        .correction_bias = args->moe_router_enable_expert_bias,
        .scale = isnan(scale) ? 0.0 : scale,
        .aux_loss = args->moe_aux_loss_coeff,
    };
}

/* Of the training values only what the choice of the loss says; the others are the reader's own. */
static plait_training training_of(const megatron_args *args)
{
    static const char *const types[PLAIT_BALANCES] = {
        [PLAIT_BALANCE_NONE] = "none",
        [PLAIT_BALANCE_BATCH] = "aux_loss",
        [PLAIT_BALANCE_SEQUENCE] = "seq_aux_loss",
        [PLAIT_BALANCE_GLOBAL] = "global_aux_loss",
    };
    plait_training out = {.source = "the arguments of a launch", .weight_decay = (double)NAN};

    for (int b = PLAIT_BALANCE_NONE; b < PLAIT_BALANCES; b++)
        if (strcmp(args->moe_router_load_balancing_type, types[b]) == 0)
            out.balance = (plait_balance)b;
    return out.balance != PLAIT_BALANCE_UNKNOWN ? out : (plait_training){0};
}

static void read_numerics(model_reader *in)
{
    const megatron_args *const args = in->args;
    plait_numerics *const n = &in->model->numerics;

    in->model->layer_norm = strcasecmp(args->normalization, "RMSNorm") != 0;
    in->model->dropout = args->hidden_dropout > 0.0;
    n->activation = args->quick_geglu    ? PLAIT_CLAMPED_SWIGLU
                    : args->swiglu       ? PLAIT_SILU
                    : args->squared_relu ? PLAIT_RELU2
                                         : PLAIT_GELU;
    n->norm_eps = args->norm_epsilon;
    n->init_std = args->init_method_std;
    n->qk_l2_norm = args->qk_l2_norm;
    if (in->full.moe.experts == 0)
        return;
    n->router = router_of(args);
    in->model->training = training_of(args);
}

/* ---- the whole ---- */

plait_status megatron_read_model(const megatron_args *args, const launch_flags *flags,
                                 const char *name, const plait_model **out, plait_error *err)
{
    plait_model *const model = plait_arena_alloc(flags->arena, 1, sizeof *model);
    model_reader in = {.args = args, .flags = flags, .model = model};

    *out = NULL;
    if (model == NULL)
        return plait_fail_nomem(err);
    *model = (plait_model){.name = name, .family = "", .source = "Megatron-LM arguments"};
    read_sizes(args, model);
    if (model->layers < 1 || model->hidden < 1)
        return PLAIT_OK;
    PLAIT_TRY(megatron_read_mixers(&in, err));
    if (in.full.mixer == PLAIT_MIXER_NONE || model->vocab < 1)
        return PLAIT_OK;
    PLAIT_TRY(read_ffn(&in, err));
    PLAIT_TRY(megatron_read_layers(&in, err));
    read_numerics(&in);
    megatron_read_positions(&in);
    *out = model;
    return PLAIT_OK;
}
