/* runtime.c - a runtime profile as JSON: what software can run, overlaps, keeps */
#include "plait/runtime.h"

#include "plait/units.h"

#include "fields.h"
#include "runtime_private.h"

static const char *const rules_name[PLAIT_RULES + 1] = {
    [PLAIT_RULES_GENERIC] = "generic",       [PLAIT_RULES_MEGATRON] = "megatron",
    [PLAIT_RULES_TORCHTITAN] = "torchtitan", [PLAIT_RULES_FSDP] = "fsdp",
    [PLAIT_RULES_DEEPSPEED] = "deepspeed",
};

#define RUNTIME(member) FIELD_AT(plait_runtime, member)

static const field kernel_fields[] = {
    {"fused_norm", .is_bool = true, RUNTIME(kernels.fused_norm)},
    {"fused_activation", .is_bool = true, RUNTIME(kernels.fused_activation)},
    {"fused_rotary", .is_bool = true, RUNTIME(kernels.fused_rotary)},
    {"fused_residual", .is_bool = true, RUNTIME(kernels.fused_residual)},
    {"fused_softmax", .is_bool = true, RUNTIME(kernels.fused_softmax)},
    {"fused_loss", .is_bool = true, RUNTIME(kernels.fused_loss)},
    {"cuda_graphs", .is_bool = true, RUNTIME(kernels.cuda_graphs)},
    {.key = NULL},
};

/* Fits may leave a collective slower than alone, so shares may pass 1. */
static const field overlap_fields[] = {
    {"grad_reduce", .is_bool = true, RUNTIME(overlap.grad_reduce)},
    {"ddp", .is_bool = true, RUNTIME(overlap.ddp)},
    {"param_gather", .is_bool = true, RUNTIME(overlap.param_gather)},
    {"p2p", .is_bool = true, RUNTIME(overlap.p2p)},
    {"p2p_scatter", .is_bool = true, RUNTIME(overlap.p2p_scatter)},
    {"moe_dedup", .is_bool = true, RUNTIME(overlap.moe_dedup)},
    {"bucket_mb_per_rank", JSON_NON_NEGATIVE, .most = 1e6, .unit = PLAIT_MB,
     RUNTIME(overlap.bucket_bytes_per_rank)},
    {"bucket_mb", JSON_NON_NEGATIVE, .most = 1e6, .unit = PLAIT_MB, RUNTIME(overlap.bucket_bytes)},
    {"tp_exposed", JSON_NON_NEGATIVE, .most = 10.0, RUNTIME(overlap.tp_exposed)},
    {"dp_exposed", JSON_NON_NEGATIVE, .most = 10.0, RUNTIME(overlap.dp_exposed)},
    {"ep_exposed", JSON_NON_NEGATIVE, .most = 10.0, RUNTIME(overlap.ep_exposed)},
    {"p2p_exposed", JSON_NON_NEGATIVE, .most = 10.0, RUNTIME(overlap.p2p_exposed)},
    {.key = NULL},
};

static const field factor_fields[] = {
    {"gemm", JSON_POSITIVE, .most = 100.0, RUNTIME(factor.gemm)},
    {"memory", JSON_POSITIVE, .most = 100.0, RUNTIME(factor.memory)},
    {"attention", JSON_POSITIVE, .most = 100.0, RUNTIME(factor.attention)},
    {"host_us", JSON_NON_NEGATIVE, .most = 1e9, .unit = PLAIT_US, RUNTIME(factor.host_s)},
    {"host_tp_us", JSON_NON_NEGATIVE, .most = 1e9, .unit = PLAIT_US, RUNTIME(factor.host_tp_s)},
    {"nic", JSON_POSITIVE, .most = 10.0, RUNTIME(factor.nic)},
    {"rails", JSON_NON_NEGATIVE, .most = 1024.0, RUNTIME(factor.rails)},
    {"p2p_us", JSON_NON_NEGATIVE, .most = 1e9, .unit = PLAIT_US, RUNTIME(factor.p2p_s)},
    {"hop_us", JSON_NON_NEGATIVE, .most = 1e9, .unit = PLAIT_US, RUNTIME(factor.hop_s)},
    {"ep_imbalance", JSON_POSITIVE, .most = 100.0, RUNTIME(factor.ep_imbalance)},
    {.key = NULL},
};

static const field state_fields[] = {
    {"weight", JSON_NON_NEGATIVE, .most = 64.0, RUNTIME(state.weight)},
    {"gradient", JSON_NON_NEGATIVE, .most = 64.0, RUNTIME(state.gradient)},
    {"gradient_reduce", JSON_NON_NEGATIVE, .most = 64.0, RUNTIME(state.gradient_reduce)},
    {"gather", JSON_NON_NEGATIVE, .most = 64.0, RUNTIME(state.gather)},
    {"optimizer", JSON_NON_NEGATIVE, .most = 64.0, RUNTIME(state.optimizer)},
    {"replicated", JSON_NON_NEGATIVE, .most = 64.0, RUNTIME(state.replicated)},
    {.key = NULL},
};

static const field keep_fields[] = {
#define X(name, what)                                                                              \
    {#name, JSON_NON_NEGATIVE, .most = 64.0, RUNTIME(keep.keeps[PLAIT_TENSOR_##name])},
    PLAIT_TENSOR_LIST(X)
#undef X
        {.key = NULL},
};

static const field resident_fields[] = {
    {"keeps_gathered", JSON_NON_NEGATIVE, .most = 1.0, RUNTIME(keep.keeps_gathered)},
    {"logits", JSON_NON_NEGATIVE, .most = 64.0, RUNTIME(keep.logits)},
    {"logits_whole", .is_bool = true, RUNTIME(keep.logits_whole)},
    {"transient_layers", JSON_NON_NEGATIVE, .most = 1000.0, RUNTIME(keep.transient_layers)},
    {"weight_transient", JSON_NON_NEGATIVE, .most = 64.0, RUNTIME(keep.weight_transient)},
    {"head_transient", JSON_NON_NEGATIVE, .most = 64.0, RUNTIME(keep.head_transient)},
    {"workspace_gib", JSON_NON_NEGATIVE, .most = 1e6, .unit = PLAIT_GIB,
     RUNTIME(keep.workspace_bytes)},
    {"context_gib", JSON_NON_NEGATIVE, .most = 1e6, .unit = PLAIT_GIB, RUNTIME(keep.context_bytes)},
    {"nccl_mib", JSON_NON_NEGATIVE, .most = 1e6, .unit = PLAIT_MIB, RUNTIME(keep.nccl_bytes)},
    {"reserved_ratio", JSON_POSITIVE, .most = 10.0, RUNTIME(keep.reserved_ratio)},
    {.key = NULL},
};

/*
 * What a key that is missing stands for: neutral factors, nothing fused or hidden, mixed-precision
 * Adam with fp32 gradients (18 bytes a parameter), and activations in bf16 with fused kernels.
 */
static const plait_runtime unsaid = {
    .source = "",
    .overlap = {.tp_exposed = 1, .dp_exposed = 1, .ep_exposed = 1, .p2p_exposed = 1},
    .factor = {.gemm = 1, .memory = 1, .attention = 1, .nic = 1, .ep_imbalance = 1},
    .state = {.weight = 2, .gradient = 4, .gradient_reduce = 4, .gather = 2, .optimizer = 12},
    .keep = {.keeps = {[PLAIT_TENSOR_norm_in] = 2,
                       [PLAIT_TENSOR_norm_out] = 2,
                       [PLAIT_TENSOR_qkv] = 2,
                       [PLAIT_TENSOR_keys] = 2,
                       [PLAIT_TENSOR_latent] = 2,
                       [PLAIT_TENSOR_scores] = 2,
                       [PLAIT_TENSOR_scores_dropout] = 3,
                       [PLAIT_TENSOR_lse] = 4,
                       [PLAIT_TENSOR_core_out] = 2,
                       [PLAIT_TENSOR_scan] = 2,
                       [PLAIT_TENSOR_fc1_out] = 2,
                       [PLAIT_TENSOR_act_out] = 2,
                       [PLAIT_TENSOR_dropout] = 1,
                       [PLAIT_TENSOR_router] = 4,
                       [PLAIT_TENSOR_routed] = 2,
                       [PLAIT_TENSOR_expert_fc1_out] = 2,
                       [PLAIT_TENSOR_expert_act_out] = 2,
                       [PLAIT_TENSOR_routed_out] = 2,
                       [PLAIT_TENSOR_shared_fc1_out] = 2,
                       [PLAIT_TENSOR_shared_act_out] = 2,
                       [PLAIT_TENSOR_opaque] = 1},
             .logits = 4,
             .transient_layers = 2,
             .reserved_ratio = 1},
};

/* ---- defaults of a plan ---- */

/* A default must be something that the software can. */
static plait_status check_able(const json_cursor *at, const char *key, unsigned mask, int value,
                               const char *able, plait_error *err)
{
    if ((mask >> value & 1u) == 0)
        return json_fail_key(at, key, PLAIT_ERROR_RANGE, err,
                             "expected one of those in /can/%s, found another", able);
    return PLAIT_OK;
}

static plait_status read_defaults(const json_cursor *at, const plait_capabilities *can,
                                  plait_runtime_defaults *out, plait_error *err)
{
    static const char *const keys[] = {"zero", "cp_comm", "grad_sync", "attention", "source", NULL};
    int cp_comm = 0, grad_sync = 0, attention = 0;

    PLAIT_TRY(json_keys_among(at, keys, err));
    PLAIT_TRY(json_int(at, "zero", 0, 3, &out->zero, err));
    PLAIT_TRY(json_word(at, "cp_comm", plait_cp_comm_name, &cp_comm, err));
    PLAIT_TRY(json_word(at, "grad_sync", plait_grad_sync_name, &grad_sync, err));
    PLAIT_TRY(json_word(at, "attention", plait_attention_kernel_name, &attention, err));
    PLAIT_TRY(check_able(at, "zero", can->zero, out->zero, "zero", err));
    PLAIT_TRY(check_able(at, "cp_comm", can->cp_comm, cp_comm, "cp_comm", err));
    PLAIT_TRY(check_able(at, "grad_sync", can->grad_sync, grad_sync, "grad_sync", err));
    PLAIT_TRY(check_able(at, "attention", can->attention, attention, "attention", err));
    out->cp_comm = (plait_cp_comm)cp_comm;
    out->grad_sync = (plait_grad_sync)grad_sync;
    out->attention = (plait_attention_kernel)attention;
    return PLAIT_OK;
}

/* ---- the whole ---- */

static plait_status read_identity(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                                  plait_error *err)
{
    int rules = PLAIT_RULES_GENERIC;

    PLAIT_TRY(json_string(at, "name", arena, &out->name, err));
    PLAIT_TRY(json_string_optional(at, "source", arena, &out->source, err));
    PLAIT_TRY(json_bool_optional(at, "calibrated", &out->calibrated, err));
    PLAIT_TRY(json_word_optional(at, "rules", rules_name, &rules, err));
    out->rules = (plait_rules)rules;
    return PLAIT_OK;
}

static plait_status read_runtime(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                                 plait_error *err)
{
    static const char *const keys[] = {
        "name",    "source",      "calibrated", "rules",     "can",   "defaults", "kernels",
        "overlap", "state_bytes", "factors",    "residents", "keeps", NULL,
    };
    json_cursor can, defaults;

    *out = unsaid;
    PLAIT_TRY(json_keys_among(at, keys, err));
    PLAIT_TRY(read_identity(at, arena, out, err));
    PLAIT_TRY(json_object(at, "can", &can, err));
    PLAIT_TRY(runtime_read_capabilities(&can, &out->can, err));
    PLAIT_TRY(json_object(at, "defaults", &defaults, err));
    PLAIT_TRY(read_defaults(&defaults, &out->can, &out->defaults, err));
    PLAIT_TRY(fields_read_optional(at, "kernels", kernel_fields, out, err));
    PLAIT_TRY(fields_read_optional(at, "overlap", overlap_fields, out, err));
    PLAIT_TRY(fields_read_optional(at, "factors", factor_fields, out, err));
    PLAIT_TRY(fields_read_optional(at, "state_bytes", state_fields, out, err));
    PLAIT_TRY(fields_read_optional(at, "keeps", keep_fields, out, err));
    return fields_read_optional(at, "residents", resident_fields, out, err);
}

static plait_status read_root(const json_cursor *root, plait_arena *arena, void *out,
                              plait_error *err)
{
    return read_runtime(root, arena, out, err);
}

plait_status plait_runtime_load(const char *path, plait_arena *arena, plait_runtime *out,
                                plait_error *err)
{
    return json_load(path, read_root, arena, out, err);
}

plait_status plait_runtime_parse(const char *text, size_t length, const char *name,
                                 plait_arena *arena, plait_runtime *out, plait_error *err)
{
    return json_parse(text, length, name, read_root, arena, out, err);
}
