/*
 * megatron_import.c - Megatron-LM's arguments as a plan
 *
 * What is not given is what Megatron would take. What neither the arguments nor the notes beside
 * them say (the GPUs, above all) stays unknown, and eval asks for it.
 */
#include "megatron_import.h"

#include <limits.h>
#include <string.h>

#include "megatron_private.h"
#include "notes.h"
#include "pattern.h"

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

typedef struct plan_reader {
    const launch_flags *flags;
    plans_entry *out;
    text_builder *warnings;
} plan_reader;

static void give(plan_reader *in, const char *key)
{
    in->out->given |= plans_key_bit(key);
}

static void warn(plan_reader *in, const char *sentence)
{
    text_append_printf(in->warnings, "%s%s", in->warnings->length > 0 ? "\n" : "", sentence);
}

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
    comm = text_index(cp_comm, plait_cp_comm_name);
    if (comm < 0)
        return flags_fail(flags, "cp_comm_type", err,
                          "expected p2p, allgather or a2a, found \"%.40s\"", cp_comm);
    d->cp_comm = (unsigned char)comm;
    for (const char *const *key = keys; *key != NULL; key++)
        give(in, *key);
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
    give(in, "dp");
    give(in, "shard_group");
    return PLAIT_OK;
}

static plait_status read_batch(plan_reader *in, plait_error *err)
{
    PLAIT_TRY(flags_int(in->flags, "seq_length", 1, 1 << 30, &in->out->seq, err));
    PLAIT_TRY(flags_int(in->flags, "global_batch_size", 1, INT_MAX, &in->out->gbs, err));
    if (!flags_has(in->flags, "micro_batch_size"))
        return PLAIT_OK;
    give(in, "mbs");
    return flags_int(in->flags, "micro_batch_size", 1, 1 << 20, &in->out->degrees.mbs, err);
}

/* ---- pipeline ---- */

static bool same_counts(const plait_model *model, const plait_degrees *d, const int *counts)
{
    int dealt[PLAIT_MAX_LAYERS];

    return plait_split_layers(model, d, dealt) &&
           memcmp(dealt, counts, (size_t)(d->pp * d->vpp) * sizeof *counts) == 0;
}

/* The split in our words that deals the layers of a layout. */
static bool split_of_counts(const plait_model *model, plait_degrees *d, const int *counts)
{
    static const plait_split_kind kinds[] = {
        PLAIT_SPLIT_EVEN, PLAIT_SPLIT_SPREAD,     PLAIT_SPLIT_EMBEDDING, PLAIT_SPLIT_LOSS,
        PLAIT_SPLIT_BOTH, PLAIT_SPLIT_FIRST_LAST, PLAIT_SPLIT_COST};
    int first = 0, last = 0;

    for (int v = 0; v < d->vpp; v++) {
        first += counts[v * d->pp];
        last += counts[v * d->pp + d->pp - 1];
    }
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        d->split = (plait_split){.kind = (unsigned char)kinds[k]};
        if (kinds[k] == PLAIT_SPLIT_FIRST_LAST)
            d->split =
                (plait_split){PLAIT_SPLIT_FIRST_LAST, (unsigned short)first, (unsigned short)last};
        if (same_counts(model, d, counts))
            return true;
    }
    return false;
}

static plait_status read_layout(plan_reader *in, const plait_model *model, plait_error *err)
{
    const char *const layout = flags_word(in->flags, "pipeline_model_parallel_layout", "");
    plait_degrees *const d = &in->out->degrees;
    int counts[PLAIT_MAX_LAYERS], layers = 0;
    const int chunks = layout_read(layout, PLAIT_MAX_LAYERS, counts);

    if (chunks == 0 || chunks % d->pp != 0)
        return flags_fail(in->flags, "pipeline_model_parallel_layout", err,
                          "expected a multiple of %d stages, found \"%.80s\"", d->pp, layout);
    for (int c = 0; c < chunks; c++)
        layers += counts[c];
    d->vpp = chunks / d->pp;
    if (model == NULL || layers != model->layers || !split_of_counts(model, d, counts)) {
        warn(in, "the layout of the pipeline is none that plait has a word for: the split is left "
                 "open");
        return PLAIT_OK;
    }
    give(in, "split");
    return PLAIT_OK;
}

static plait_status read_split(plan_reader *in, plait_error *err)
{
    const launch_flags *const flags = in->flags;
    plait_degrees *const d = &in->out->degrees;
    const bool embedding = flags_on(flags, "account_for_embedding_in_pipeline_split", false);
    const bool loss = flags_on(flags, "account_for_loss_in_pipeline_split", false);
    int first = 0, last = 0;

    PLAIT_TRY(
        flags_int(flags, "decoder_first_pipeline_num_layers", 1, PLAIT_MAX_LAYERS, &first, err));
    PLAIT_TRY(
        flags_int(flags, "decoder_last_pipeline_num_layers", 1, PLAIT_MAX_LAYERS, &last, err));
    give(in, "split");
    if (first > 0 && last > 0)
        d->split =
            (plait_split){PLAIT_SPLIT_FIRST_LAST, (unsigned short)first, (unsigned short)last};
    else
        d->split.kind = embedding && loss ? PLAIT_SPLIT_BOTH
                        : embedding       ? PLAIT_SPLIT_EMBEDDING
                        : loss            ? PLAIT_SPLIT_LOSS
                                          : PLAIT_SPLIT_EVEN;
    return PLAIT_OK;
}

/* One of the two is given: the other stages share the rest evenly. */
static void complete_first_last(plan_reader *in, const plait_model *model)
{
    plait_degrees *const d = &in->out->degrees;
    int first = 0, last = 0;

    if (flags_int(in->flags, "decoder_first_pipeline_num_layers", 1, PLAIT_MAX_LAYERS, &first,
                  NULL) != PLAIT_OK ||
        flags_int(in->flags, "decoder_last_pipeline_num_layers", 1, PLAIT_MAX_LAYERS, &last,
                  NULL) != PLAIT_OK ||
        (first > 0) == (last > 0) || d->pp < 2)
        return;
    const int rest = model != NULL ? model->layers - first - last : 0;
    const int share = rest / (d->pp - 1);
    if (model == NULL || rest < 0 || rest % (d->pp - 1) != 0) {
        in->out->given &= ~plans_key_bit("split");
        warn(in, "layers of the first or last stage alone: the split is left open");
        return;
    }
    d->split = (plait_split){PLAIT_SPLIT_FIRST_LAST, (unsigned short)(first > 0 ? first : share),
                             (unsigned short)(last > 0 ? last : share)};
}

static plait_status read_chunks(plan_reader *in, const plait_model *model, plait_error *err)
{
    const launch_flags *const flags = in->flags;
    plait_degrees *const d = &in->out->degrees;
    int per_chunk = 0;

    PLAIT_TRY(flags_int(flags, "num_virtual_stages_per_pipeline_rank", 1, 1 << 12, &d->vpp, err));
    PLAIT_TRY(flags_int(flags, "virtual_pipeline_model_parallel_size", 1, 1 << 12, &d->vpp, err));
    PLAIT_TRY(flags_int(flags, "num_layers_per_virtual_pipeline_stage", 1, PLAIT_MAX_LAYERS,
                        &per_chunk, err));
    if (per_chunk > 0 && model != NULL && model->layers >= d->pp * per_chunk)
        d->vpp = model->layers / d->pp / per_chunk;
    if (flags_has(flags, "pipeline_model_parallel_layout")) {
        PLAIT_TRY(read_layout(in, model, err));
    } else {
        PLAIT_TRY(read_split(in, err));
        complete_first_last(in, model);
    }
    d->schedule = d->vpp > 1 ? PLAIT_INTERLEAVED : PLAIT_1F1B;
    give(in, "vpp");
    give(in, "schedule");
    return PLAIT_OK;
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

    give(in, "recompute");
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
        warn(in, "recomputation of several layers as one is priced as of each layer");
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
    d->grad_sync = flags_on(flags, "overlap_grad_reduce", false) || d->zero > 1
                       ? PLAIT_SYNC_BUCKETED
                       : PLAIT_SYNC_SHIFTED;
    give(in, "zero");
    give(in, "grad_sync");
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
        warn(in, "neither --bf16 nor --fp16: plait prices no training in fp32");
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
        in->out->attention = PLAIT_ATTENTION_FLASH2;
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
    in->out->model = flags_has(in->flags, "hybrid_layer_pattern") ? NULL : model;
    PLAIT_TRY(read_degrees(in, err));
    PLAIT_TRY(read_world(in, err));
    PLAIT_TRY(read_replicas(in, err));
    PLAIT_TRY(read_batch(in, err));
    PLAIT_TRY(read_chunks(in, in->out->model, err));
    PLAIT_TRY(read_recompute(in, err));
    read_sharding(in);
    read_precision(in);
    read_attention(in);
    choose_runtime(in);
    warn_of_unpriced(in);
    return PLAIT_OK;
}

plait_status megatron_import(const char *text, size_t length, const char *name, plait_arena *arena,
                             plans_entry *out, const char **warning, plait_error *err)
{
    launch_flags flags;
    notes_found notes;
    text_builder warnings;
    plan_reader in = {&flags, out, &warnings};

    text_builder_init(&warnings, arena);
    PLAIT_TRY(notes_read(text, length, name, arena, out, &notes, err));
    PLAIT_TRY(flags_read(text, length, name, aliases, arena, &flags, err));
    if (flags.unknown != NULL)
        text_append_printf(&warnings, "not known, and taken as not given: %.60s", flags.unknown);
    PLAIT_TRY(read_all(&in, notes.model != NULL ? notes.model : "imported", err));
    *warning = text_builder_finish(&warnings, NULL);
    return *warning != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
