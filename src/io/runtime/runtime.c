/* runtime.c - reads a runtime profile: what software supports, overlaps and keeps in memory */
#include "plait/runtime.h"

#include <string.h>

#include "base/runtime_numbers.h"
#include "io/json/fields.h"
#include "io/runtime/runtime_file.h"

#define RUNTIME(member) FIELD_AT(plait_runtime, member)
#define NUMBER(name, member, kind, low, high, base)                                                \
    {name, JSON_##kind, .least = low, .most = high, .unit = base, RUNTIME(member)},

static const field kernel_fields[] = {
    {"fused_norm", .is_bool = true, RUNTIME(kernels.fused_norm)},
    {"norm_in_product", .is_bool = true, RUNTIME(kernels.norm_in_product)},
    {"fused_activation", .is_bool = true, RUNTIME(kernels.fused_activation)},
    {"fused_rotary", .is_bool = true, RUNTIME(kernels.fused_rotary)},
    {"fused_residual", .is_bool = true, RUNTIME(kernels.fused_residual)},
    {"fused_softmax", .is_bool = true, RUNTIME(kernels.fused_softmax)},
    {"fused_loss", .is_bool = true, RUNTIME(kernels.fused_loss)},
    {"fused_permute", .is_bool = true, RUNTIME(kernels.fused_permute)},
    {"indexed_permute", .is_bool = true, RUNTIME(kernels.indexed_permute)},
    {"fused_accumulation", .is_bool = true, RUNTIME(kernels.fused_accumulation)},
    {"expert_streams", .is_bool = true, RUNTIME(kernels.expert_streams)},
    {"recompute_stops", .is_bool = true, RUNTIME(kernels.recompute_stops)},
    {"narrow_head", .is_bool = true, RUNTIME(kernels.narrow_head)},
    {"unpadded_vocab", .is_bool = true, RUNTIME(kernels.unpadded_vocab)},
    {"delayed_scaling", .is_bool = true, RUNTIME(kernels.delayed_scaling)},
    {"rowwise_scaling", .is_bool = true, RUNTIME(kernels.rowwise_scaling)},
    {"compiled_step", .is_bool = true, RUNTIME(kernels.compiled_step)},
    {"mamba_chunk", .is_int = true, .least = 0, .most = 1 << 20, .rare = true,
     RUNTIME(kernels.mamba_chunk)},
    {.key = NULL},
};

static const field overlap_fields[] = {
    {"grad_reduce", .is_bool = true, RUNTIME(overlap.grad_reduce)},
    {"ddp", .is_bool = true, RUNTIME(overlap.ddp)},
    {"reduce_whole", .is_bool = true, RUNTIME(overlap.reduce_whole)},
    {"param_gather", .is_bool = true, RUNTIME(overlap.param_gather)},
    {"p2p", .is_bool = true, RUNTIME(overlap.p2p)},
    {"p2p_scatter", .is_bool = true, RUNTIME(overlap.p2p_scatter)},
    {"moe_dedup", .is_bool = true, RUNTIME(overlap.moe_dedup)},
    RUNTIME_OVERLAP_NUMBERS(NUMBER){.key = NULL},
};

static const field factor_fields[] = {
    RUNTIME_FACTOR_NUMBERS(NUMBER){.key = NULL},
};

static const field state_fields[] = {
    RUNTIME_STATE_NUMBERS(NUMBER){.key = NULL},
};

static const field keep_fields[] = {
#define X(name, what) RUNTIME_KEPT_NUMBER(NUMBER, name)
    PLAIT_TENSOR_LIST(X)
#undef X
        {.key = NULL},
};

static const field resident_fields[] = {
    {"quantised_inputs", .is_bool = true, RUNTIME(keep.quantised_inputs)},
    {"gradients_freed", .is_bool = true, RUNTIME(keep.gradients_freed)},
    {"logits_whole", .is_bool = true, RUNTIME(keep.logits_whole)},
    RUNTIME_RESIDENT_NUMBERS(NUMBER){.key = NULL},
};

/*
 * Defaults of missing keys: neutral factors, no fused or hidden communication, mixed-precision Adam
 * with fp32 gradients (18 bytes per parameter), and bf16 activations with fused kernels. The
 * shipped profiles have the sources of numbers that are not neutral.
 */
enum { as_norm_out = -1 };
static const plait_runtime defaults_of_keys = {
    .source = "",
    .held = "",
    .family = "",
    .overlap = {.tp_exposed = 1, .dp_exposed = 1, .ep_exposed = 1, .p2p_exposed = 1, .window = 0.8},
    .factor = {.gemm = 1,
               .memory = 1,
               .attention = 1,
               .host_experts = 2.2,
               .host_backward = 1.2,
               .nic = 1,
               .ep_imbalance = 1},
    .state = {.weight = 2,
              .gradient = 4,
              .gradient_reduce = 4,
              .gather = 2,
              .optimizer = 12,
              .step_bytes = 30,
              .shard_passes = 4,
              .buffer_passes = 3},
    .keep = {.keeps = {[PLAIT_TENSOR_norm_in] = 2,
                       [PLAIT_TENSOR_norm_out] = 2,
                       [PLAIT_TENSOR_linear_norm_out] = as_norm_out,
                       [PLAIT_TENSOR_router_in] = as_norm_out,
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
             .reserved_ratio = 1,
             .fragmentation = 1},
};

/* ---- defaults of a plan ---- */

/*
 * Returns the neutral value of a key if the software supports it, otherwise the first value that it
 * supports.
 */
int runtime_default(const plait_key *row, unsigned mask)
{
    int bit = 0;

    if (row->absent_value >= 0 && (mask >> row->absent_value & 1u))
        return row->absent_value;
    while (!(mask >> bit & 1u))
        bit++;
    return bit;
}

/* Reads the default of a key, which is required if the key has no neutral value. */
static plait_status read_default(const json_cursor *at, const plait_capabilities *can,
                                 plait_key_id key, int *out, plait_error *err)
{
    const plait_key *const row = &plait_keys[key];
    json_cursor value;

    *out = row->kind == PLAIT_KEY_NUMBER ? row->low : runtime_default(row, can->takes[key]);
    if (!row->has_default)
        return PLAIT_OK;
    PLAIT_TRY(json_value_optional(at, row->name, &value, err));
    if (json_is_null(&value) && row->absent_value >= 0)
        return PLAIT_OK;
    PLAIT_TRY(row->words != NULL ? json_word(at, row->name, row->words, out, err)
                                 : json_int(at, row->name, row->low, row->high, out, err));
    if ((can->takes[key] >> *out & 1u) == 0)
        return json_fail_key(at, row->name, PLAIT_ERROR_RANGE, err,
                             "expected a value that /can/%s lists, found another", row->limit_name);
    return PLAIT_OK;
}

/* ---- the profile ---- */

const char *const plait_number_source_name[PLAIT_NUMBER_SOURCES + 1] = {"runs", "family", NULL};

/* Checks "determined_by", which has the sources of fitted numbers for human readers. */
static plait_status check_sources(const json_cursor *at, plait_error *err)
{
    static const char *const keys[] = {"gemm",       "memory",     "attention", "host_us",
                                       "tp_exposed", "dp_exposed", "nic",       "rails",
                                       "nic_ranks",  "hop_us",     "source",    NULL};
    int source = PLAIT_NUMBER_OF_RUNS;
    json_cursor by;

    PLAIT_TRY(json_object_optional(at, "determined_by", &by, err));
    if (json_is_null(&by))
        return PLAIT_OK;
    PLAIT_TRY(json_keys_among(&by, keys, err));
    for (const char *const *key = keys; strcmp(*key, "source") != 0; key++)
        PLAIT_TRY(json_word_optional(&by, *key, plait_number_source_name, &source, err));
    return PLAIT_OK;
}

static plait_status read_whole(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                               plait_error *err)
{
    static const plait_tensor also[] = {PLAIT_TENSOR_linear_norm_out, PLAIT_TENSOR_router_in};
    static const char *const keys[] = {
        "name",     "source",        "family",     "calibrated",  "held",    "rules",     "can",
        "defaults", "kernels",       "overlap",    "state_bytes", "factors", "residents", "keeps",
        "releases", "determined_by", "numbers_of", "since",       NULL,
    };
    json_cursor can, defaults;
    plait_runtime *other;
    const char *name, *names[PLAIT_KEYS + 2];

    *out = defaults_of_keys;
    PLAIT_TRY(json_keys_among(at, keys, err));

    int rules = PLAIT_RULES_GENERIC;
    PLAIT_TRY(json_string(at, "name", arena, &out->name, err));
    PLAIT_TRY(json_string_optional(at, "source", arena, &out->source, err));
    PLAIT_TRY(json_string_optional(at, "family", arena, &out->family, err));
    PLAIT_TRY(json_bool_optional(at, "calibrated", &out->calibrated, err));
    PLAIT_TRY(json_string_optional(at, "held", arena, &out->held, err));
    PLAIT_TRY(json_word_optional(at, "rules", plait_rules_name, &rules, err));
    out->rules = (plait_rules)rules;
    PLAIT_TRY(runtime_read_releases(at, arena, out, err));
    PLAIT_TRY(json_object(at, "can", &can, err));
    PLAIT_TRY(runtime_read_capabilities(&can, &out->can, err));
    PLAIT_TRY(runtime_read_since(at, arena, out, err));
    PLAIT_TRY(json_object(at, "defaults", &defaults, err));

    int count = 0;
    for (int key = 0; key < PLAIT_KEYS; key++)
        if (plait_keys[key].has_default)
            names[count++] = plait_keys[key].name;
    names[count++] = "source";
    names[count] = NULL;
    PLAIT_TRY(json_keys_among(&defaults, names, err));
    for (int key = 0; key < PLAIT_KEYS; key++)
        PLAIT_TRY(
            read_default(&defaults, &out->can, (plait_key_id)key, &out->defaults.key[key], err));
    PLAIT_TRY(fields_read_optional(at, "kernels", kernel_fields, out, err));

    // Software without measured runs may use the numbers of other software that has the same
    // kernels and collectives.
    if (json_has(at, "numbers_of")) {
        other = plait_arena_alloc(arena, 1, sizeof *other);
        PLAIT_TRY(plait_check_allocated(other, err));
        PLAIT_TRY(runtime_read_other(at, "numbers_of", arena, &name, other, err));
        out->overlap = other->overlap;
        out->factor = other->factor;
    }
    PLAIT_TRY(fields_read_optional(at, "overlap", overlap_fields, out, err));
    PLAIT_TRY(fields_read_optional(at, "factors", factor_fields, out, err));
    PLAIT_TRY(fields_read_optional(at, "state_bytes", state_fields, out, err));
    PLAIT_TRY(fields_read_optional(at, "keeps", keep_fields, out, err));

    // Norm outputs that a profile does not list separately are kept like norm_out.
    for (size_t i = 0; i < sizeof also / sizeof *also; i++)
        if (out->keep.keeps[also[i]] == as_norm_out)
            out->keep.keeps[also[i]] = out->keep.keeps[PLAIT_TENSOR_norm_out];
    PLAIT_TRY(check_sources(at, err));
    return fields_read_optional(at, "residents", resident_fields, out, err);
}

/* Reads a variant. Its missing keys have the values of the software's own profile. */
static plait_status read_variant(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                                 plait_error *err)
{
    static const char *const keys[] = {"name",    "source",  "variant_of",    "held",
                                       "overlap", "factors", "determined_by", NULL};

    PLAIT_TRY(json_keys_among(at, keys, err));
    PLAIT_TRY(runtime_read_base(at, arena, out, err));
    PLAIT_TRY(json_string_optional(at, "source", arena, &out->source, err));
    PLAIT_TRY(json_string_optional(at, "held", arena, &out->held, err));
    PLAIT_TRY(fields_read_optional(at, "overlap", overlap_fields, out, err));
    PLAIT_TRY(fields_read_optional(at, "factors", factor_fields, out, err));
    return check_sources(at, err);
}

plait_status runtime_read(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                          plait_error *err)
{
    return json_has(at, "variant_of") ? read_variant(at, arena, out, err)
                                      : read_whole(at, arena, out, err);
}

static plait_status read_root(const json_cursor *root, plait_arena *arena, void *out,
                              plait_error *err)
{
    return runtime_read(root, arena, out, err);
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
