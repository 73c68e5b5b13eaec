/*
 * import.c - reads a plan from Megatron-LM's arguments
 *
 * Arguments that are not given have Megatron's defaults; arguments take precedence over plait's
 * notes in the same file. Facts that neither arguments nor notes give (above all the GPUs) stay
 * unknown, and eval requires options for them.
 */
#include "launch/megatron/arguments.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "launch/megatron/megatron.h"
#include "launch/read/deepspeed_file.h"
#include "launch/read/model_names.h"
#include "launch/read/plan_reader.h"
#include "plan/model_queries.h"

static const flag_alias older[] = {
    {"model_parallel_size", "tensor_model_parallel_size", NULL},
    {"batch_size", "micro_batch_size", NULL},

    {"checkpoint_activations", "recompute_granularity", "full"},
    {"checkpoint_activations", "recompute_method", "uniform"},
    {"checkpoint_num_layers", "recompute_num_layers", NULL},
    {"activations_checkpoint_method", "recompute_granularity", "full"},
    {"activations_checkpoint_method", "recompute_method", NULL},
    {"activations_checkpoint_granularity", "recompute_granularity", NULL},
    {"activations_checkpoint_num_layers", "recompute_num_layers", NULL},
    {"distribute_checkpointed_activations", "distribute_saved_activations", "true"},

    {"ds_sequence_parallel_size", "context_parallel_size", NULL}, // Ulysses
    {"ds_sequence_parallel_size", "cp_comm_type", "a2a"},
    {"moe_expert_parallel_size", "expert_model_parallel_size", NULL},
    {"topk", "moe_router_topk", NULL},
    {"moe_loss_coeff", "moe_aux_loss_coeff", NULL},
    {"moe_train_capacity_factor", "moe_expert_capacity_factor", NULL},
    {"moe_router_padding_for_fp8", "moe_router_padding_for_quantization", NULL},
    {"moe_enable_deepep", "moe_flex_dispatcher_backend", "deepep"},
    {"enable_cuda_graph", "cuda_graph_impl", "local"},
    {"external_cuda_graph", "cuda_graph_impl", "transformer_engine"},
    {"cpu_optimizer", "optimizer_cpu_offload", "true"},

    {"intermediate_size", "ffn_hidden_size", NULL}, // of Pai-Megatron-Patch, as is n_head_kv
    {"n_head_kv", "num_query_groups", NULL},
    {"n_head_kv", "group_query_attention", "true"},
    {"rotary_scale_factor", "rotary_seq_len_interpolation_factor", NULL},
    {"use_alibi_mask", "position_embedding_type", "alibi"},
    {"glu_activation", "swiglu", "true"},
    {"hybrid_override_pattern", "hybrid_layer_pattern", NULL},
    {"disable_bias_linear_fc", "disable_bias_linear", "true"},
    {"pad_vocab_size_to", "padded_vocab_size", NULL},
    {"num_key_value_heads", "num_query_groups", NULL},
    {"num_key_value_heads", "group_query_attention", "true"},
    {"use_rotary_position_embeddings", "position_embedding_type", "rope"},
    {"use_llama2_rotary_position_embeddings", "position_embedding_type", "rope"},
    {"use_rotary_emb", "position_embedding_type", "rope"},
    {"rotary_position_embeddings_theta", "rotary_base", NULL},
    {"use_flash_attn", "attention_backend", "flash"},
    {"use_flash_attn_v1", "attention_backend", "flash"},
    {"use_flash_attn_v2", "attention_backend", "flash"},
    {"use_flash_attn_triton", "attention_backend", "flash"},
    {"use_flash_attn_builder", "attention_backend", "flash"},
    {"fp8_e4m3", "fp8_format", "e4m3"},
    {"fp8_hybrid", "fp8_format", "hybrid"},
    {NULL, NULL, NULL},
};

bool megatron_flag_is_older(const char *name)
{
    for (const flag_alias *row = older; row->name != NULL; row++)
        if (strcmp(row->name, name) == 0)
            return true;
    return false;
}

plait_status megatron_translate(launch_flags *flags, const flag_alias *row, plait_error *err)
{
    for (; row->name != NULL; row++) {
        const launch_flag *const flag = flags_last(flags, row->name);

        if (flag == NULL || flags_value_is_off(flag->value[0]) ||
            flags_last(flags, row->meant) != NULL)
            continue;
        PLAIT_TRY(
            flags_add(flags, row->meant, row->value != NULL ? row->value : flag->value[0], err));
    }
    return PLAIT_OK;
}

bool megatron_flags_are_of_2021(const launch_flags *flags)
{
    static const char *const names[] = {
        "model_parallel_size",           "batch_size", "checkpoint_activations",
        "activations_checkpoint_method", "DDP_impl",   NULL};

    for (const char *const *name = names; *name != NULL; name++)
        if (flags_last(flags, *name) != NULL)
            return true;
    return false;
}

/*
 * Set the batch, ZeRO and precision from DeepSpeed's JSON unless flags give them. The script writes
 * the JSON, or the JSON is in the script's folder. With DeepSpeed's engine zero_stage is known
 * afterwards.
 */
static plait_status megatron_read_deepspeed(megatron_args *args, plan_reader *in, plait_error *err)
{
    const launch_flag *const config = flags_last(in->flags, MEGATRON_NAME(deepspeed_config));

    args->deepspeed = args->deepspeed || config != NULL || args->zero_stage > 0;
    if (config != NULL) {
        plait_error inner = {.status = PLAIT_OK};
        deepspeed_file file;
        const char *text;
        PLAIT_TRY(named_json(in->flags, config->value[0], &text, err));
        if (text == NULL || deepspeed_file_parse(text, strlen(text), config->value[0],
                                                 in->flags->arena, &file, &inner) != PLAIT_OK) {
            PLAIT_TRY(faults_only(inner.status, &inner, err));
            import_warn(in->warnings,
                        text == NULL
                            ? "the JSON file of --deepspeed_config is neither in the script "
                              "nor in its folder; its values are treated as not given"
                            : "the JSON file of --deepspeed_config cannot be read; its values "
                              "are treated as not given");
        } else {
            if (file.zero >= 0)
                args->zero_stage = file.zero;
            if (args->micro_batch_size == 0 && file.micro > 0)
                args->micro_batch_size = file.micro;
            if (args->global_batch_size == 0 && file.train > 0)
                args->global_batch_size = file.train;
            if (!args->bf16 && !args->fp16) {
                args->bf16 = file.bf16 == true;
                args->fp16 = file.fp16 == true;
            }
            if (file.offload_params || file.offload_optimizer || file.nvme != NULL)
                import_warn(in->warnings, "DeepSpeed's offloading to CPU or NVMe is not priced");
            if (file.weights == true || file.gradients == true)
                import_warn(in->warnings, "quantized communication (ZeRO++) is not priced");
        }
    }
    if (args->deepspeed) {
        // Megatron-DeepSpeed's defaults: one expert per token, experts in every second layer, and
        // each expert whole on every tensor-parallel rank
        if (args->num_experts >= 2) {
            if (flags_last(in->flags, MEGATRON_NAME(moe_router_topk)) == NULL)
                args->moe_router_topk = 1;
            if (args->expert_interval == 0)
                args->expert_interval = 2;
            if (flags_last(in->flags, "enable_expert_tensor_parallelism") == NULL &&
                args->expert_tensor_parallel_size == 0)
                args->expert_tensor_parallel_size = 1;
        }
    }
    if (args->no_pipeline_parallel)
        args->pipeline_model_parallel_size = 1;
    if (args->deepspeed && args->bf16 && args->zero_stage < 1)
        args->zero_stage = 1; // DeepSpeed's BF16_Optimizer shards as stage 1 does
    return PLAIT_OK;
}

/*
 * Append --mtp-hybrid-override-pattern to a hybrid's pattern, once per MTP module, unless the
 * pattern has modules (validate_args in megatron/training/arguments.py).
 */
static plait_status append_mtp_pattern(megatron_args *args, const plan_reader *in, plait_error *err)
{
    const char *const pattern = args->hybrid_layer_pattern;
    const launch_flag *const flag =
        pattern != NULL ? flags_find(in->flags, "mtp_hybrid_override_pattern") : NULL;
    static const char quotes[] = "'\"";
    text_builder out;

    if (flag == NULL || strchr(pattern, '/') != NULL || flags_value_is_off(flag->value[0]))
        return PLAIT_OK;
    const char *const letters = flag->value[0] + strspn(flag->value[0], quotes);
    text_builder_init(&out, in->flags->arena);
    text_append(&out, pattern);
    for (int m = 0; m < args->mtp_num_layers; m++)
        text_append_printf(&out, "/%.*s", (int)strcspn(letters, quotes), letters);
    args->hybrid_layer_pattern = text_builder_finish(&out, NULL);
    return plait_check_allocated(args->hybrid_layer_pattern, err);
}

/*
 * Flags outside the table that change the price or the model, and that no reader supports: the step
 * of the optimizer is captured in a graph, shared experts overlap with communication, products
 * around attention run in 8 bits, and switches reduce; models whose layers are given as shares of
 * the mixers or are heterogeneous, or with an encoder and a decoder, are not supported.
 */
static const char *const unpriced[] = {
    // graphs, kernels, overlap
    "optimizer_cuda_graph", "moe_shared_expert_overlap", "fp8_multi_head_attention", "use_sharp",
    // models and stages
    "hybrid_attention_ratio", "hybrid_mlp_ratio", "heterogeneous_layers_config_path",
    "standalone_embedding_stage", "pipeline_model_parallel_split_rank", NULL};

/* Warn that the model is unknown; `wanted` is an argument that could not be read, NULL: none. */
static void warn_of_model(const megatron_args *args, const char *wanted, plan_reader *in)
{
    const struct {
        const char *said;
        bool missing;
    } parts[] = {
        {"--num-layers", args->num_layers == 0 && args->hybrid_layer_pattern == NULL},
        {"--hidden-size", args->hidden_size == 0},
        {"--num-attention-heads", args->num_attention_heads == 0},
        {"--vocab-size or a known tokenizer", megatron_vocab(args) == 0},
        {wanted, wanted != NULL},
    };
    bool any = false;

    if (in->out->model != NULL || (parts[0].missing && parts[1].missing && parts[2].missing) ||
        flags_last(in->flags, MEGATRON_MODEL_FLAG) != NULL)
        return;
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        if (parts[p].missing && !any)
            import_warn(in->warnings,
                        "the model is unknown; give it with --model, or add to the file: ");
        if (parts[p].missing)
            text_append_printf(in->warnings, "%s%s", any ? ", " : "", parts[p].said);
        any = any || parts[p].missing;
    }
}

/* Return a flag that changes the named model; NULL: none. */
static const char *changed_part(const megatron_args *args, const launch_flags *flags,
                                const plait_model *named)
{
    const bool latent = named->kinds > 0 && named->kind[0].mixer == PLAIT_MIXER_MLA;
    const struct {
        size_t field;
        int given, of_model; /* values of the flag and of the named model; of_model -1: any */
    } parts[] = {
        {MEGATRON_FIELD(num_layers), args->num_layers, named->layers},
        {MEGATRON_FIELD(hidden_size), args->hidden_size, named->hidden},
        {MEGATRON_FIELD(num_experts), args->num_experts, -1},
        {MEGATRON_FIELD(num_attention_heads), args->num_attention_heads, -1},
        {MEGATRON_FIELD(ffn_hidden_size), args->ffn_hidden_size, -1},
        {MEGATRON_FIELD(moe_ffn_hidden_size), args->moe_ffn_hidden_size, -1},
    };

    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
        if (parts[p].given > 0 && parts[p].given != parts[p].of_model)
            return megatron_args_name(parts[p].field);
    return flags_last(flags, MEGATRON_NAME(multi_latent_attention)) != NULL &&
                   args->multi_latent_attention != latent
               ? MEGATRON_NAME(multi_latent_attention)
               : NULL;
}

static plait_status check_any(const launch_flags *flags, const plans_entry *out, plait_error *err)
{
    if (megatron_has_flags(flags) || out->given != 0 || out->gpus > 0 || out->seq > 0 ||
        out->model != NULL)
        return PLAIT_OK;
    return plait_fail(err, PLAIT_ERROR_SCHEMA, flags->file,
                      "expected a script, list, JSON or YAML with flags of Megatron-LM, such as "
                      "--num-layers 32, found no such flag");
}

/* The caller's model overrides the model of the file. */
static plait_status take_model(const megatron_args *args, const char *name, const launch_call *call,
                               plan_reader *in, const char **wanted, plait_error *err)
{
    const plait_model *model;

    PLAIT_TRY(megatron_read_model(args, in->flags, name, &model, wanted, err));
    const launch_flag *const share = flags_last(in->flags, "hybrid_attention_ratio");
    const bool shares =
        args->hybrid_layer_pattern == NULL && share != NULL && !flags_value_is_off(share->value[0]);
    if (model != NULL && !shares) // otherwise a note may name the model
        in->out->model = model;
    if (model != NULL && shares)
        *wanted = "--hybrid-layer-pattern in the place of --hybrid-attention-ratio";
    if (call != NULL && call->model != NULL)
        in->out->model = call->model;
    // if the arguments build no model, take the model that a wrapper names
    const launch_flag *const flag = flags_find(in->flags, MEGATRON_MODEL_FLAG);
    const plait_model *named;

    if (flag == NULL || in->out->model != NULL)
        return PLAIT_OK;
    PLAIT_TRY(hub_model_find(flag->value[0], in->flags->arena, &named, err));
    const char *const changed = named != NULL ? changed_part(args, in->flags, named) : NULL;
    if (named != NULL && changed == NULL) {
        in->out->model = named;
        return PLAIT_OK;
    }
    text_append_printf(import_warn(in->warnings, "the model is unknown; give it with --model: "),
                       "%s%.80s%s", changed != NULL ? changed : "plait has no model ",
                       changed != NULL ? " differs from that of " : "", flag->value[0]);
    return PLAIT_OK;
}

static plait_status read_all(const char *name, bool own, const launch_call *call, plan_reader *in,
                             plait_error *err)
{
    const bool of_plait = in->out->runtime != NULL; // a note names the runtime
    megatron_args args;

    megatron_args_init(&args);
    // degrees of the notes are defaults of the flags
    args.tensor_model_parallel_size = in->out->degrees.tp;
    args.pipeline_model_parallel_size = in->out->degrees.pp;
    args.context_parallel_size = in->out->degrees.cp;
    args.expert_model_parallel_size = in->out->degrees.ep;
    PLAIT_TRY(megatron_args_parse(in->flags, &args, err));
    PLAIT_TRY(megatron_read_deepspeed(&args, in, err));
    PLAIT_TRY(append_mtp_pattern(&args, in, err));
    PLAIT_TRY(megatron_divide_pattern(&args, in, err));
    if (own && args.padded_vocab_size == 0)
        args.padded_vocab_size = args.vocab_size;
    const char *wanted;
    PLAIT_TRY(take_model(&args, name, call, in, &wanted, err));
    // a recipe builds the model, so the overrides do not have its number of experts
    if (in->flags->recipe && args.num_experts == 0 && in->out->model != NULL &&
        model_has_experts(in->out->model))
        args.num_experts = model_facts_of(in->out->model).moe->experts;
    PLAIT_TRY(megatron_read_degrees(&args, in, err));
    PLAIT_TRY(megatron_read_pipeline(&args, in->out->model, in, err));
    PLAIT_TRY(megatron_read_settings(&args, in, err));
    // --moe-router-force-load-balancing states even routing. Without this flag and
    // without a capacity factor the router decides, and neither flags nor model give its imbalance.
    // A file that plait wrote is read as the plan for which it was written, although the file
    // forces balance for its mock data
    const launch_flag *forced = flags_last(in->flags, "moe_router_force_load_balancing");
    if (args.num_experts != 0 && args.expert_model_parallel_size >= 2 && !of_plait) {
        if (forced != NULL && !flags_is_off(in->flags, forced) &&
            !flags_value_is_off(forced->value[0]))
            in->out->imbalance = 1.0;
        else if (isnan(args.moe_expert_capacity_factor)) {
            in->out->natural_routing = true;
            import_warn(
                in->warnings,
                "routing is natural (no --moe-router-force-load-balancing), which widens the "
                "band of the step time; give the expert imbalance with --imbalance");
        }
    }
    import_list list = {in->warnings, "options that the price ignores", false};
    megatron_args absent;
    megatron_args_init(&absent);
    for (const argument_row *row = megatron_arguments; row->name != NULL; row++)
        if (row->unpriced && !megatron_argument_same(row, &args, &absent))
            import_list_add(&list, row->name);
    import_list_add_flags(&list, in->flags, unpriced);
    warn_of_model(&args, wanted, in);
    if (!of_plait) // the overrides that plait writes set all keys
        megatron_leave_to_recipe(in);
    megatron_warn_of_flags(&args, in);
    // the layers that a script without a hybrid names with --spec are not read
    for (int i = 0; i < in->flags->count && args.hybrid_layer_pattern == NULL; i++)
        if (strcmp(in->flags->flag[i].name, MEGATRON_NAME(spec)) == 0)
            in->flags->flag[i].read = false;
    in->out->not_read = flags_not_read(in->flags);
    return in->out->not_read != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

plait_status megatron_import_flags(launch_flags *flags, const char *text, size_t length,
                                   const launch_call *call, text_builder *warnings,
                                   plans_entry *out, plait_error *err)
{
    plait_arena *const arena = flags->arena;
    plan_reader in = {flags, out, warnings};
    const char *model;

    PLAIT_TRY(notes_read(text, length, flags->file, arena, out, err));
    PLAIT_TRY(check_any(flags, out, err));
    PLAIT_TRY(megatron_translate(flags, older, err));
    if (call != NULL && call->gpus > 0)
        PLAIT_TRY(flags_add(flags, "world_size", plait_arena_printf(arena, "%d", call->gpus), err));
    PLAIT_TRY(notes_find(text, length, "model", arena, &model, err));
    const bool own = model != NULL; // plait wrote the file, and priced it without padding
    if (model == NULL) {
        // name the model after the file: pretrain_13b for scripts/pretrain_13b.sh
        const char *const path = flags->file;
        const char *const slash = strrchr(path, '/');
        char *const name = plait_arena_text(arena, slash != NULL && slash[1] ? slash + 1 : path);
        char *const dot = name != NULL ? strrchr(name, '.') : NULL;

        if (dot != NULL && dot != name)
            *dot = '\0';
        model = name;
    }
    return model != NULL ? read_all(model, own, call, &in, err) : plait_fail_nomem(err);
}

plait_status megatron_import(const char *text, size_t length, const char *name,
                             const launch_call *call, plait_arena *arena, plans_entry *out,
                             text_builder *warnings, plait_error *err)
{
    launch_flags flags;

    if (megatron_is_yaml(text, length))
        PLAIT_TRY(megatron_read_yaml(text, length, name, arena, &flags, warnings, err));
    else
        PLAIT_TRY(flags_read(text, length, name, call, arena, &flags, err));
    if (flags_are_of_swift(&flags))
        PLAIT_TRY(megatron_translate_swift(&flags, warnings, err));
    PLAIT_TRY(megatron_translate_bridge(&flags, err));
    return megatron_import_flags(&flags, text, length, call, warnings, out, err);
}
