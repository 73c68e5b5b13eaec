/*
 * import.c - Megatron-LM's arguments as a plan
 *
 * What is not given is what Megatron would take. What neither the arguments nor the notes beside
 * them say (the GPUs, above all) stays unknown, and eval asks for it.
 */
#include "import_parts.h"

#include <limits.h>
#include <string.h>

#include "megatron.h"
#include "notes_read.h"

/* Switches whose destination is not their own name. */
static const flag_alias aliases[] = {
    {"disable_bias_linear", "add_bias_linear", true},
    {"no_masked_softmax_fusion", "masked_softmax_fusion", true},
    {"fp8_format", "fp8", false},
    {"fp4_format", "fp4", false},
    {"torch_fsdp2_no_reshard_after_forward", "torch_fsdp2_reshard_after_forward", true},
    {"recompute_activations", "recompute_granularity_selective", false},
    {"use_custom_fsdp", "use_megatron_fsdp", false},
    {"nproc_per_node", "gpus_per_node", false},
    {NULL, NULL, false},
};

/* ---- degrees ---- */

static plait_status read_degrees(plan_reader *in, plait_error *err)
{
    static const char *const keys[] = {"tp", "sp",  "pp",    "cp", "cp_comm",
                                       "ep", "etp", "order", NULL};
    const launch_flags *const flags = in->flags;
    plait_degrees *const d = &in->out->degrees;
    const char *cp_comm = flags_word(flags, "cp_comm_type", "p2p");
    int comm;

    PLAIT_TRY(flags_int(flags, "tensor_model_parallel_size", 1, 1 << 20, &d->tp, err));
    PLAIT_TRY(flags_int(flags, "pipeline_model_parallel_size", 1, 1 << 12, &d->pp, err));
    PLAIT_TRY(flags_int(flags, "context_parallel_size", 1, 1 << 20, &d->cp, err));
    PLAIT_TRY(flags_int(flags, "expert_model_parallel_size", 1, 1 << 20, &d->ep, err));
    d->etp = d->tp;
    PLAIT_TRY(flags_int(flags, "expert_tensor_parallel_size", 1, 1 << 20, &d->etp, err));
    d->sp = d->tp > 1 && flags_on(flags, "sequence_parallel", false);
    d->order = flags_on(flags, "use_tp_pp_dp_mapping", false) ? PLAIT_ORDER_TP_CP_PP_DP
                                                              : PLAIT_ORDER_TP_CP_DP_PP;
    comm = strcmp(cp_comm, "all_gather") == 0 ? PLAIT_CP_ALLGATHER
                                              : text_index(cp_comm, plait_cp_comm_name);
    if (comm < 0)
        return flags_fail(flags, "cp_comm_type", err,
                          "expected p2p, allgather or a2a, found \"%.40s\"", cp_comm);
    d->cp_comm = (unsigned char)comm;
    for (const char *const *key = keys; *key != NULL; key++)
        import_give(in, *key);
    return PLAIT_OK;
}

static plait_status read_world(plan_reader *in, plait_error *err)
{
    plans_entry *const out = in->out;
    int nodes = 0, gpus_per_node = 0;

    PLAIT_TRY(flags_int(in->flags, "world_size", 1, 1 << 24, &out->gpus, err));
    PLAIT_TRY(flags_int(in->flags, "nnodes", 1, 1 << 20, &nodes, err));
    PLAIT_TRY(flags_int(in->flags, "gpus_per_node", 1, 1 << 12, &gpus_per_node, err));
    if (out->gpus == 0 && nodes > 0 && gpus_per_node > 0 && nodes <= (1 << 24) / gpus_per_node)
        out->gpus = nodes * gpus_per_node;
    return PLAIT_OK;
}

/* What follows once the GPUs are known. */
static plait_status read_replicas(plan_reader *in, plait_error *err)
{
    plait_degrees *const d = &in->out->degrees;
    int instances = 1;

    PLAIT_TRY(
        flags_int(in->flags, "num_distributed_optimizer_instances", 1, 1 << 20, &instances, err));
    d->dp = in->out->gpus > 0 ? plait_degrees_dp(in->out->gpus, d->tp, d->pp, d->cp) : 0;
    if (d->dp == 0)
        return PLAIT_OK;
    if (d->dp * d->cp % instances != 0)
        return flags_fail(in->flags, "num_distributed_optimizer_instances", err,
                          "expected a divisor of dp x cp = %d, found %d", d->dp * d->cp, instances);
    d->shard_group = d->dp * d->cp / instances;
    import_give(in, "shard_group");
    return PLAIT_OK;
}

static plait_status read_batch(plan_reader *in, plait_error *err)
{
    PLAIT_TRY(flags_int(in->flags, "seq_length", 1, 1 << 30, &in->out->seq, err));
    PLAIT_TRY(flags_int(in->flags, "global_batch_size", 1, INT_MAX, &in->out->gbs, err));
    if (!flags_has(in->flags, "micro_batch_size"))
        return PLAIT_OK;
    import_give(in, "mbs");
    return flags_int(in->flags, "micro_batch_size", 1, 1 << 20, &in->out->degrees.mbs, err);
}

/* ---- memory ---- */

static plait_status read_modules(plan_reader *in, plait_recompute *out, plait_error *err)
{
    const launch_flag *const flag = flags_find(in->flags, "recompute_modules");

    out->kind = flag == NULL ? PLAIT_RECOMPUTE_SELECTIVE : PLAIT_RECOMPUTE_MODULES;
    for (int v = 0; flag != NULL && v < flag->values; v++) {
        const int module = text_index(flag->value[v], plait_recompute_module_name);

        if (module < 0)
            return flags_fail(in->flags, "recompute_modules", err,
                              "expected modules that plait knows, found \"%.40s\"", flag->value[v]);
        out->modules |= (unsigned char)(1u << module);
    }
    return PLAIT_OK;
}

static plait_status read_recompute(plan_reader *in, plait_error *err)
{
    const char *const granularity = flags_word(in->flags, "recompute_granularity", "");
    const char *const method = flags_word(in->flags, "recompute_method", "");
    plait_recompute *const out = &in->out->degrees.recompute;
    int layers = 1;

    import_give(in, "recompute");
    PLAIT_TRY(flags_int(in->flags, "recompute_num_layers", 1, PLAIT_MAX_LAYERS, &layers, err));
    if (strcmp(granularity, "selective") == 0 ||
        flags_on(in->flags, "recompute_granularity_selective", false))
        return read_modules(in, out, err);
    if (strcmp(granularity, "full") != 0)
        return PLAIT_OK;
    out->kind = PLAIT_RECOMPUTE_FULL;
    if (strcmp(method, "block") == 0) {
        const int of_stage = layers * in->out->degrees.vpp;

        out->layers = (short)(of_stage < PLAIT_MAX_LAYERS ? of_stage : PLAIT_MAX_LAYERS);
    } else if (layers > 1) {
        import_warn(in, "recomputation of several layers as one is priced as of each layer");
    }
    return PLAIT_OK;
}

static void read_sharding(plan_reader *in)
{
    const launch_flags *const flags = in->flags;
    plait_degrees *const d = &in->out->degrees;
    const char *const strategy =
        flags_word(flags, "data_parallel_sharding_strategy", "optim_grads_params");

    if (flags_on(flags, "use_torch_fsdp2", false))
        d->zero = flags_on(flags, "torch_fsdp2_reshard_after_forward", true) ? 3 : 2;
    else if (flags_on(flags, "use_megatron_fsdp", false))
        d->zero = strcmp(strategy, "optim_grads_params") == 0 ? 3
                  : strcmp(strategy, "optim_grads") == 0      ? 2
                  : strcmp(strategy, "optim") == 0            ? 1
                                                              : 0;
    else
        d->zero = flags_on(flags, "use_distributed_optimizer", false);
    d->grad_sync =
        flags_on(flags, "overlap_grad_reduce", false) || flags_on(flags, "use_torch_fsdp2", false)
            ? PLAIT_SYNC_BUCKETED
            : PLAIT_SYNC_SHIFTED;
    import_give(in, "zero");
    import_give(in, "grad_sync");
}

/* ---- formats and kernels ---- */

static void read_precision(plan_reader *in)
{
    const launch_flags *const flags = in->flags;
    const char *const recipe = flags_word(flags, "fp8_recipe", "delayed");

    if (flags_has(flags, "fp4"))
        in->out->precision = PLAIT_NVFP4;
    else if (flags_has(flags, "fp8"))
        in->out->precision = strcmp(recipe, "blockwise") == 0 ? PLAIT_FP8_BLOCK
                             : strcmp(recipe, "mxfp8") == 0   ? PLAIT_MXFP8
                                                              : PLAIT_FP8;
    else if (flags_on(flags, "fp16", false))
        in->out->precision = PLAIT_FP16;
    else if (flags_on(flags, "bf16", false))
        in->out->precision = PLAIT_BF16;
    else
        import_warn(in, "neither --bf16 nor --fp16: plait prices no training in fp32");
}

/* The notes are finer: which flash attention the library has is not an argument. */
static void read_attention(plan_reader *in)
{
    const char *backend = flags_word(in->flags, "attention_backend", "auto");

    if (text_starts_with(backend, "AttnBackend."))
        backend += strlen("AttnBackend.");
    if (in->out->attention >= 0)
        return;
    if (strcmp(backend, "flash") == 0)
        in->out->attention = strcmp(flags_word(in->flags, "flash_attention_version", "2"), "3") == 0
                                 ? PLAIT_ATTENTION_FLASH3
                                 : PLAIT_ATTENTION_FLASH2;
    else if (strcmp(backend, "fused") == 0)
        in->out->attention = PLAIT_ATTENTION_FUSED;
    else if (strcmp(backend, "unfused") == 0)
        in->out->attention = flags_on(in->flags, "masked_softmax_fusion", true)
                                 ? PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL
                                 : PLAIT_ATTENTION_UNFUSED;
}

static void choose_runtime(plan_reader *in)
{
    const bool overlaps = flags_on(in->flags, "overlap_grad_reduce", false) ||
                          flags_on(in->flags, "tp_comm_overlap", false);

    if (in->out->runtime != NULL)
        return;
    in->out->runtime = in->out->degrees.zero > 1 ? "megatron-fsdp"
                       : overlaps                ? "megatron"
                                                 : "megatron-no-overlap";
}

/* Arguments that change the price and that plait has no term for. */
static void warn_of_unpriced(plan_reader *in)
{
    static const char *const names[] = {"cpu_offloading_num_layers",
                                        "optimizer_cpu_offload",
                                        "fine_grained_activation_offloading",
                                        "hybrid_context_parallel",
                                        "tensor_parallel_num_weight_shards",
                                        "moe_expert_capacity_factor",
                                        "overlap_moe_expert_parallel_comm",
                                        "first_last_layers_bf16",
                                        "fp8_param_gather",
                                        "hybrid_layer_pattern",
                                        "step_batch_size_schedule",
                                        "use_precision_aware_optimizer",
                                        "distribute_saved_activations",
                                        NULL};
    bool any = false;

    for (const char *const *name = names; *name != NULL; name++) {
        if (!flags_on(in->flags, *name, false))
            continue;
        text_append_printf(in->warnings, "%s%s",
                           any                        ? ", "
                           : in->warnings->length > 0 ? "\nnot priced: "
                                                      : "not priced: ",
                           *name);
        any = true;
    }
}

static plait_status read_all(plan_reader *in, const char *name, plait_error *err)
{
    const plait_model *model;

    PLAIT_TRY(megatron_read_model(in->flags, name, &model, err));
    if (model != NULL) // else the one that a note names
        in->out->model = model;
    if (flags_has(in->flags, "hybrid_layer_pattern"))
        in->out->model = NULL;
    PLAIT_TRY(read_degrees(in, err));
    PLAIT_TRY(read_world(in, err));
    PLAIT_TRY(read_replicas(in, err));
    PLAIT_TRY(read_batch(in, err));
    PLAIT_TRY(megatron_read_pipeline(in, in->out->model, err));
    PLAIT_TRY(read_recompute(in, err));
    read_sharding(in);
    read_precision(in);
    read_attention(in);
    choose_runtime(in);
    warn_of_unpriced(in);
    return PLAIT_OK;
}

/* "scripts/pretrain_13b.sh" launches pretrain_13b. */
static const char *name_of_file(const char *path, plait_arena *arena)
{
    const char *const slash = strrchr(path, '/');
    char *const name = plait_arena_text(arena, slash != NULL && slash[1] ? slash + 1 : path);
    char *const dot = name != NULL ? strrchr(name, '.') : NULL;

    if (dot != NULL && dot != name)
        *dot = '\0';
    return name;
}

plait_status megatron_import(const char *text, size_t length, const char *name, plait_arena *arena,
                             plans_entry *out, const char **warning, plait_error *err)
{
    launch_flags flags;
    text_builder warnings;
    plan_reader in = {&flags, out, &warnings};
    const char *model;

    text_builder_init(&warnings, arena);
    PLAIT_TRY(notes_read(text, length, name, arena, out, err));
    PLAIT_TRY(flags_read(text, length, name, aliases, arena, &flags, err));
    if (flags.unknown != NULL)
        text_append_printf(&warnings, "set outside the file, and taken as not given: %.60s",
                           flags.unknown);
    model = notes_find(text, length, "model", arena);
    if (model == NULL)
        model = name_of_file(name, arena);
    if (model == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(read_all(&in, model, err));
    *warning = text_builder_finish(&warnings, NULL);
    return *warning != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
