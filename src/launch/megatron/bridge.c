/*
 * bridge.c - Megatron-Bridge: overrides.sh for scripts/training/run_recipe.py
 *
 * As in NVIDIA-NeMo/Megatron-Bridge 067f987 (2026-08-22). A recipe builds the model and sets all
 * options; the overrides set the options again on which the price depends. They do not change the
 * model: if no recipe builds it, the user has to set RECIPE.
 */
#include "launch/megatron/arguments.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "launch/megatron/megatron.h"
#include "launch/write/scripts.h"
#include "launch/write/training.h"
#include "launch/write/tuning.h"
#include "plan/model_queries.h"

static void override_text(launch_args *out, const char *key, const char *value)
{
    args_text(out, key, value != NULL ? value : "null");
}

/* Write a word in quotes, since some parsers read an unquoted none as null. */
static void override_quoted(launch_args *out, const char *key, const char *word)
{
    const char *const quoted = plait_arena_printf(out->arena, "\"%s\"", word);

    if (quoted == NULL)
        out->failed = true;
    else
        args_words(out, key, quoted);
}

static void override_bool(launch_args *out, const char *key, bool value)
{
    override_text(out, key, value ? "true" : "false");
}

/* Write a number, or null for 0, which means that none is given. */
static void override_count(launch_args *out, const char *key, int value)
{
    if (value > 0)
        args_int(out, key, value);
    else
        override_text(out, key, NULL);
}

/*
 * Write the arguments that `keys` lists as SECTION.NAME with blanks between, where NAME is
 * Megatron-LM's.
 */
static void override_fields(launch_args *out, const megatron_args *args, const char *keys)
{
    char key[80];

    for (int used; sscanf(keys, "%79s%n", key, &used) == 1; keys += used) {
        const argument_row *row = megatron_arguments;
        const char *const copy = plait_arena_text(out->arena, key);

        while (row->name != NULL && strcmp(row->name, strchr(key, '.') + 1) != 0)
            row++;
        assert(row->name != NULL);
        const void *const value = (const char *)args + row->field;
        if (row->since > args->core)
            continue;
        if (copy == NULL)
            out->failed = true;
        else if (row->kind == ARGUMENT_SWITCH)
            override_bool(out, copy, *(const bool *)value);
        else if (row->kind == ARGUMENT_NUMBER)
            args_number(out, copy, *(const double *)value);
        else if (row->kind != ARGUMENT_INT)
            override_text(out, copy, *(const char *const *)value);
        else if (row->absent == NULL)
            override_count(out, copy, *(const int *)value);
        else
            args_int(out, copy, *(const int *)value);
    }
}

/*
 * Write ["core_attn","attn_proj"] or [4,2] for words with blanks between; write nothing for NULL.
 */
static void override_list(const char *words, char quote, const char *key, launch_args *out)
{
    text_builder list;
    char *text;

    if (words == NULL)
        return;
    text_builder_init(&list, out->arena);
    text_append(&list, quote ? "[\"" : "[");
    for (const char *at = words; *at; at++)
        if (*at == ' ')
            text_append(&list, quote ? "\",\"" : ",");
        else
            text_append_char(&list, *at);
    text_append(&list, quote ? "\"]" : "]");
    text = text_builder_finish(&list, NULL);
    if (text == NULL)
        out->failed = true;
    else
        args_words(out, key, text);
}

/*
 * Write the layers of a hybrid with | between its stages, and the number of MTP modules, or of runs
 * of one module that the recipe repeats. The provider appends its own pattern of these modules
 * (src/megatron/bridge/models/hybrid/hybrid_provider.py).
 */
static void override_hybrid(const megatron_args *args, launch_args *out)
{
    const char *const pattern = args->hybrid_layer_pattern;

    if (pattern == NULL)
        return;
    const char *const layers =
        plait_arena_printf(out->arena, "%.*s", (int)strcspn(pattern, "/"), pattern);
    if (layers == NULL)
        out->failed = true;
    else
        override_quoted(out, "model.hybrid_layer_pattern", layers);
    if (args->mtp_num_layers > 0)
        override_fields(out, args, "model.mtp_num_layers");
}

static void override_parallelism(const plait_degrees *d, const megatron_args *args,
                                 launch_args *out)
{
    override_fields(out, args,
                    "model.tensor_model_parallel_size model.sequence_parallel "
                    "model.pipeline_model_parallel_size");
    override_count(out, "model.virtual_pipeline_model_parallel_size", d->vpp > 1 ? d->vpp : 0);
    override_fields(out, args, "model.pipeline_model_parallel_layout");
    override_hybrid(args, out);
    override_count(out, "model.num_layers_in_first_pipeline_stage",
                   args->decoder_first_pipeline_num_layers);
    override_count(out, "model.num_layers_in_last_pipeline_stage",
                   args->decoder_last_pipeline_num_layers);
    override_fields(out, args,
                    "model.account_for_embedding_in_pipeline_split "
                    "model.account_for_loss_in_pipeline_split "
                    "model.context_parallel_size");
    if (megatron_args_is_written(args, MEGATRON_FIELD(cp_comm_type)))
        override_fields(out, args, "model.cp_comm_type");
    else
        override_text(out, "model.cp_comm_type", NULL);
    override_list(args->hierarchical_context_parallel_sizes, '\0',
                  "model.hierarchical_context_parallel_sizes", out);
    if (args->num_experts > 0)
        override_fields(out, args,
                        "model.expert_model_parallel_size model.expert_tensor_parallel_size");
    override_fields(out, args, "dist.use_tp_pp_dp_mapping");
}

/*
 * Write the graphs. From core 0.18 on the scope is an older name, which recipes set and
 * TransformerConfig rejects together with modules. Unlike Megatron-LM, Megatron-Bridge does not
 * choose the generator of random numbers by itself (src/megatron/bridge/models/gpt_provider.py).
 */
static void override_graphs(const plait_switches *switches, const megatron_args *args,
                            launch_args *out)
{
    const bool whole = switches->cuda_graph == PLAIT_GRAPH_FULL;
    const bool modules = megatron_argument(MEGATRON_FIELD(cuda_graph_modules))->since <= args->core;

    override_quoted(out, "model.cuda_graph_impl", args->cuda_graph_impl);
    if (switches->cuda_graph == PLAIT_GRAPH_NONE)
        return;
    if (modules && args->cuda_graph_modules == NULL)
        args_words(out, "model.cuda_graph_modules", "[]");
    override_list(args->cuda_graph_modules, '"', "model.cuda_graph_modules", out);
    override_list(args->cuda_graph_scope, '"', "model.cuda_graph_scope", out);
    if (modules)
        override_text(out, "model.cuda_graph_scope", NULL);
    override_bool(out, "model.use_te_rng_tracker", true);
    override_bool(out, "rng.te_rng_tracker", true);
    if (whole) {
        override_bool(out, "rerun_state_machine.check_for_nan_in_loss", false);
        override_bool(out, "ddp.check_for_nan_in_grad", false);
    }
    if (whole && args->fine_grained_activation_offloading)
        override_fields(out, args, "model.fine_grained_offloading_max_inflight_offloads");
}

static void override_kernels(const plait_switches *switches, const megatron_args *args,
                             launch_args *out)
{
    override_text(out, "model.attention_backend", NULL);
    override_fields(out, args, "model.masked_softmax_fusion model.cross_entropy_loss_fusion");
    override_graphs(switches, args, out);
    if (args->num_experts > 0) {
        override_fields(out, args,
                        "model.moe_grouped_gemm model.moe_permute_fusion "
                        "model.moe_router_fusion model.moe_router_force_load_balancing "
                        "model.moe_token_dispatcher_type");
        if (args->moe_flex_dispatcher_backend != NULL)
            override_fields(out, args, "model.moe_flex_dispatcher_backend");
        override_bool(out, "model.moe_enable_deepep", false); // older name of the flex backend
        override_bool(out, "model.moe_shared_expert_overlap", false);
        if (args->moe_expert_capacity_factor > 0.0)
            override_fields(
                out, args,
                "model.moe_expert_capacity_factor model.moe_pad_expert_input_to_capacity");
        override_fields(out, args,
                        "model.moe_router_padding_for_quantization "
                        "model.use_transformer_engine_op_fuser model.moe_mlp_glu_interleave_size "
                        "model.moe_paged_stash");
        if (args->moe_paged_stash)
            override_fields(out, args,
                            "model.moe_expert_rank_capacity_factor "
                            "model.moe_paged_stash_buffer_size_factor_cuda "
                            "model.moe_paged_stash_buffer_size_factor_cpu");
    }
}

static const char *const precision_sets[PLAIT_PRECISIONS] = {
    [PLAIT_BF16] = "bf16_mixed",
    [PLAIT_FP16] = "fp16_mixed",
    [PLAIT_FP8] = "bf16_with_fp8_current_scaling_mixed",
    [PLAIT_FP8_BLOCK] = "bf16_with_fp8_subchannel_scaling_mixed",
    [PLAIT_MXFP8] = "bf16_with_mxfp8_mixed",
    [PLAIT_NVFP4] = "bf16_with_nvfp4_mixed",
};

/*
 * Write the precision. A name sets all fields, and replaces a recipe's; only a config in full can
 * have fp8_dot_product_attention, so its other fields repeat those of the name
 * (src/megatron/bridge/training/mixed_precision.py).
 */
static void override_precision(plait_precision precision, const plait_switches *switches,
                               launch_args *out)
{
    static const char *const fields[PLAIT_PRECISIONS] = {
        [PLAIT_FP8] = "fp8:hybrid,fp8_recipe:tensorwise,first_last_layers_bf16:true,"
                      "num_layers_at_start_in_bf16:1,num_layers_at_end_in_bf16:1",
        [PLAIT_MXFP8] = "fp8:e4m3,fp8_recipe:mxfp8,reuse_grad_buf_for_mxfp8_param_ag:true",
    };
    static const char dtype[] = "{_target_:torch.bfloat16,_call_:false}";

    override_text(out, "mixed_precision", precision_sets[precision]);
    if (switches->fp8_attention && fields[precision] != NULL)
        override_text(
            out, "mixed_precision",
            plait_arena_printf(out->arena,
                               "{_target_:megatron.bridge.training.mixed_precision."
                               "MixedPrecisionConfig,bf16:true,params_dtype:%s,pipeline_dtype:%s,"
                               "%s,fp8_param_gather:true,fp8_dot_product_attention:true}",
                               dtype, dtype, fields[precision]));
}

static void override_placeholders(const megatron_args *args, bool pretrain, int bridge,
                                  launch_args *out)
{
    // a recipe pads its tokenizer's vocabulary, so the tokenizer gets the plan's vocabulary; a
    // recipe of fine-tuning has the model's own tokenizer
    if (pretrain) {
        args_group(out, "vocabulary; the recipe reads it from the tokenizer");
        override_fields(out, args, "tokenizer.tokenizer_type tokenizer.vocab_size");
        if (bridge >= 6) // up to 0.5 the value of model.vocab_size is used
            override_bool(out, "tokenizer.use_tokenizer_vocab_size", true);
        override_fields(out, args, "model.vocab_size model.make_vocab_size_divisible_by");
    }
    args_group(out, "to edit: schedule, checkpoints; the recipe sets the data");
    override_fields(out, args,
                    "train.train_iters optimizer.lr optimizer.min_lr "
                    "optimizer.adam_beta1 optimizer.adam_beta2 optimizer.adam_eps "
                    "optimizer.weight_decay optimizer.clip_grad "
                    "scheduler.lr_decay_style scheduler.lr_wsd_decay_style "
                    "scheduler.lr_wsd_decay_iters scheduler.lr_decay_iters "
                    "scheduler.lr_warmup_iters");
    if (args->num_experts != 0) {
        override_quoted(out, "model.moe_router_load_balancing_type",
                        args->moe_router_load_balancing_type);
        args_number(out, "model.moe_aux_loss_coeff", args->moe_aux_loss_coeff);
        args_number(out, "model.moe_router_bias_update_rate", args->moe_router_bias_update_rate);
        if (args->mtp_num_layers > 0)
            args_number(out, "model.mtp_loss_scaling_factor", args->mtp_loss_scaling_factor);
    }
    override_fields(out, args, bridge >= 4 ? "validation.eval_iters" : "train.eval_iters");
    override_fields(out, args,
                    "logger.log_interval checkpoint.save checkpoint.load "
                    "checkpoint.save_interval train.manual_gc train.manual_gc_interval "
                    "dist.distributed_timeout_minutes");
}

/*
 * Return the modules of adapters. Patterns keep adapters of the MLP away from routed experts, whose
 * modules have the same names, unless the experts have adapters as well.
 */
static const char *adapter_modules(const plait_problem *problem, plait_arena *arena)
{
    const unsigned targets = problem->job.tuning.targets;
    const bool apart = model_has_experts(problem->model) && !(targets & 1u << PLAIT_LORA_EXPERTS);
    text_builder out;

    text_builder_init(&out, arena);
    for (int t = 0; t < PLAIT_LORA_TARGETS; t++) {
        const char *const name = tuning_names_megatron[t];
        const bool mlp = t == PLAIT_LORA_FC1 || t == PLAIT_LORA_DOWN;

        if (name == NULL || !(targets & 1u << t))
            continue;
        if (apart && mlp)
            text_append_printf(&out, "%s*.mlp.%s *.shared_experts.%s", out.length > 0 ? " " : "",
                               name, name);
        else
            text_append_printf(&out, "%s%s", out.length > 0 ? " " : "", name);
    }
    return text_builder_finish(&out, NULL);
}

/*
 * Write the adapters, and the weights from which fine-tuning begins. The recipes pack samples to the
 * length of a sequence (offline packing).
 */
static void override_tuning(const plait_problem *problem, launch_args *out)
{
    const plait_tuning *const tuning = &problem->job.tuning;
    char name[SCRIPTS_NAME_SIZE];

    if (tuning->kind == PLAIT_JOB_PRETRAIN)
        return;
    args_group(out, "fine-tuning");
    args_printf(out, "checkpoint.pretrained_checkpoint", "pretrained/%s",
                scripts_plain_name(problem->model, name));
    override_bool(out, "dataset.enable_offline_packing", true);
    if (tuning->rank == 0)
        return;
    const char *const modules = adapter_modules(problem, out->arena);

    args_int(out, "peft.dim", tuning->rank);
    args_int(out, "peft.alpha", 2 * tuning->rank);
    override_list(modules != NULL ? modules : "", '"', "peft.target_modules", out);
    if (tuning->targets & 1u << PLAIT_LORA_EXPERTS)
        override_bool(out, "peft.share_expert_adapters", false);
}

static void append_overrides(const plait_launch *launch, const megatron_args *args,
                             text_builder *text)
{
    const plait_problem *const problem = launch->problem;
    const plait_degrees *const d = &launch->plan->degrees;
    launch_args out;

    args_init(&out, text->arena);
    out.between = '=';
    args_group(&out, "parallelism");
    override_parallelism(d, args, &out);
    args_group(&out, "batch");
    override_fields(&out, args,
                    "train.micro_batch_size train.global_batch_size dataset.seq_length");
    args_group(&out, "memory");
    // without modules, the selective granularity recomputes attention alone
    const char *const modules = d->recompute.kind == PLAIT_RECOMPUTE_SELECTIVE
                                    ? plait_recompute_module_name[PLAIT_MODULE_core_attn]
                                    : args->recompute_modules;

    override_fields(&out, args,
                    "model.recompute_granularity model.recompute_method "
                    "model.recompute_num_layers");
    if (modules != NULL)
        override_list(modules, '"', "model.recompute_modules", &out);
    else
        override_text(&out, "model.recompute_modules", NULL);
    override_bool(&out, "model.cpu_offloading", false);
    override_fields(&out, args, "model.fine_grained_activation_offloading");
    override_list(args->offload_modules, '"', "model.offload_modules", &out);
    args_group(&out, "optimizer");
    // master weights and moments are in fp32, as the price assumes
    static const char *const formats[] = {"optimizer.main_params_dtype",
                                          "optimizer.main_grads_dtype", "optimizer.exp_avg_dtype",
                                          "optimizer.exp_avg_sq_dtype"};
    const bool fsdp = args->use_megatron_fsdp;
    override_fields(&out, args, "optimizer.optimizer optimizer.use_precision_aware_optimizer");
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++)
        override_text(&out, formats[f], "torch.float32");
    override_fields(&out, args,
                    "optimizer.optimizer_cpu_offload "
                    "optimizer.use_distributed_optimizer ddp.use_distributed_optimizer "
                    "ddp.num_distributed_optimizer_instances ddp.use_megatron_fsdp");
    override_text(&out, "ddp.data_parallel_sharding_strategy",
                  fsdp ? args->data_parallel_sharding_strategy : "no_shard");
    override_fields(&out, args, "checkpoint.ckpt_format");
    if (fsdp)
        override_fields(&out, args, "model.gradient_accumulation_fusion");
    args_group(&out, "overlap");
    // sends between stages overlap only with interleaving, as Megatron-LM chooses and the price
    // assumes
    const bool interleaved = d->vpp > 1;
    override_text(&out, "comm_overlap", NULL);
    override_fields(&out, args, "ddp.overlap_grad_reduce ddp.overlap_param_gather");
    override_fields(&out, args, "optimizer.overlap_param_gather_with_optimizer_step");
    override_bool(&out, "ddp.align_param_gather", args->overlap_param_gather && interleaved);
    override_fields(&out, args, "model.tp_comm_overlap");
    override_bool(&out, "model.overlap_p2p_comm", interleaved);
    override_bool(&out, "model.batch_p2p_comm", !interleaved);
    override_fields(&out, args, "model.overlap_moe_expert_parallel_comm model.delay_wgrad_compute");
    args_group(&out, "kernels");
    override_kernels(&d->switches, args, &out);
    args_group(&out, "precision");
    override_precision(problem->job.precision, &d->switches, &out);
    override_placeholders(args, problem->job.tuning.kind == PLAIT_JOB_PRETRAIN,
                          megatron_bridge_of(problem->runtime), &out);
    override_tuning(problem, &out);
    args_append_shell(&out, text);
}

typedef struct recipe_row {
    const char *model;
    int layers; /* layers of the recipe's model, since a file may have the name of another model */
    int hidden;
    const char *recipe;
} recipe_row;

static const recipe_row recipes[] = {
    {"deepseek-v2-lite", 27, 2048, "deepseek_v2_lite_pretrain_config"},
    {"deepseek-v2", 60, 5120, "deepseek_v2_pretrain_config"},
    {"deepseek-v3", 61, 7168, "deepseek_v3_pretrain_config"},
    {"glm-4.5", 92, 5120, "glm45_355b_pretrain_config"},
    {"glm-4.5-air", 46, 4096, "glm45_air_106b_pretrain_config"},
    {"gpt3-175b", 96, 12288, "gpt3_175b_pretrain_config"},
    {"gpt-oss-20b", 24, 2880, "gpt_oss_20b_pretrain_config"},
    {"gpt-oss-120b", 36, 2880, "gpt_oss_120b_pretrain_config"},
    {"kimi-k2", 61, 7168, "kimi_k2_pretrain_config"},
    {"llama-2-7b", 32, 4096, "llama2_7b_pretrain_config"},
    {"llama-3-8b", 32, 4096, "llama3_8b_pretrain_config"},
    {"llama-3-70b", 80, 8192, "llama3_70b_pretrain_config"},
    {"llama-3.1-8b", 32, 4096, "llama31_8b_pretrain_config"},
    {"llama-3.1-70b", 80, 8192, "llama31_70b_pretrain_config"},
    {"llama-3.1-405b", 126, 16384, "llama31_405b_pretrain_config"},
    {"llama-3.2-1b", 16, 2048, "llama32_1b_pretrain_config"},
    {"llama-3.2-3b", 28, 3072, "llama32_3b_pretrain_config"},
    {"nemotron-h-4b", 52, 3072, "nemotronh_4b_pretrain_config"},
    {"nemotron-h-8b", 52, 4096, "nemotronh_8b_pretrain_config"},
    {"nemotron-h-47b", 98, 8192, "nemotronh_47b_pretrain_config"},
    {"nemotron-h-56b", 118, 8192, "nemotronh_56b_pretrain_config"},
    {"nemotron-nano-9b-v2", 56, 4480, "nemotron_nano_9b_v2_pretrain_config"},
    {"nemotron-nano-12b-v2", 62, 5120, "nemotron_nano_12b_v2_pretrain_config"},
    {"nemotron-3-nano-4b", 42, 3136, "nemotron_3_nano_4b_pretrain_config"},
    {"nemotron-3-nano", 52, 2688, "nemotron_3_nano_pretrain_config"},
    {"nemotron-3-super", 88, 4096, "nemotron_3_super_pretrain_config"},
    {"nemotron-3-ultra", 108, 8192, "nemotron_3_ultra_pretrain_config"},
    {"qwen2.5-7b", 28, 3584, "qwen25_7b_pretrain_config"},
    {"qwen2.5-14b", 48, 5120, "qwen25_14b_pretrain_config"},
    {"qwen2.5-32b", 64, 5120, "qwen25_32b_pretrain_config"},
    {"qwen2.5-72b", 80, 8192, "qwen25_72b_pretrain_config"},
    {"qwen3-0.6b", 28, 1024, "qwen3_600m_pretrain_config"},
    {"qwen3-1.7b", 28, 2048, "qwen3_1p7b_pretrain_config"},
    {"qwen3-4b", 36, 2560, "qwen3_4b_pretrain_config"},
    {"qwen3-8b", 36, 4096, "qwen3_8b_pretrain_config"},
    {"qwen3-14b", 40, 5120, "qwen3_14b_pretrain_config"},
    {"qwen3-32b", 64, 5120, "qwen3_32b_pretrain_config"},
    {"qwen3-30b-a3b", 48, 2048, "qwen3_30b_a3b_pretrain_config"},
    {"qwen3-235b-a22b", 94, 4096, "qwen3_235b_a22b_pretrain_config"},
    {"qwen3-next-80b-a3b", 48, 2048, "qwen3_next_80b_a3b_pretrain_config"},
};

/* True for "meta-llama/Llama-3.1-8B" and llama-3.1-8b. */
static bool same_name(const char *name, const char *wanted)
{
    const char *const slash = strrchr(name, '/');

    return text_alike(slash != NULL ? slash + 1 : name, wanted);
}

/* Families without recipes of fine-tuning (src/megatron/bridge/recipes). */
static bool only_pretrains(const char *recipe)
{
    static const char *const begins[] = {"deepseek_v2", "deepseek_v3",      "gpt3_", "kimi_k2",
                                         "llama2_",     "nemotron_3_ultra", NULL};

    for (const char *const *begin = begins; *begin != NULL; begin++)
        if (text_starts_with(recipe, *begin))
            return true;
    return false;
}

/*
 * Return the recipe of Megatron-Bridge that builds a model and trains a kind of job; NULL: none.
 * Names of recipes differ in one word: pretrain, sft, or peft.
 */
static const char *recipe_of(const plait_problem *problem, plait_arena *arena)
{
    static const char mode[] = "pretrain";
    const plait_model *const model = problem->model;
    const plait_tuning *const tuning = &problem->job.tuning;

    for (size_t r = 0; r < sizeof recipes / sizeof recipes[0]; r++) {
        const char *const recipe = recipes[r].recipe, *const word = strstr(recipe, mode);

        if (!same_name(model->name, recipes[r].model) || model->layers != recipes[r].layers ||
            model->hidden != recipes[r].hidden)
            continue;
        if (tuning->kind == PLAIT_JOB_PRETRAIN)
            return recipe;
        return only_pretrains(recipe)
                   ? NULL
                   : plait_arena_printf(arena, "%.*s%s%s", (int)(word - recipe), recipe,
                                        tuning->rank > 0 ? "peft" : "sft", word + sizeof mode - 1);
    }
    return NULL;
}

/* True if two names of recipes differ at most in the word for the kind of job. */
static bool same_recipe(const char *name, const char *pretrain)
{
    static const char *const modes[] = {"pretrain", "sft", "peft", NULL};
    const char *const word = strstr(pretrain, modes[0]);
    const size_t before = (size_t)(word - pretrain);

    for (const char *const *mode = modes; *mode != NULL; mode++)
        if (strncmp(name, pretrain, before) == 0 && text_starts_with(name + before, *mode) &&
            text_equal(name + before + strlen(*mode), word + strlen(modes[0])))
            return true;
    return false;
}

const char *megatron_bridge_model(const char *recipe)
{
    for (size_t r = 0; r < sizeof recipes / sizeof recipes[0]; r++)
        if (same_recipe(recipe, recipes[r].recipe))
            return recipes[r].model;
    return NULL;
}

/*
 * N of Megatron-Bridge 0.N: the first with scripts/training/run_recipe.py, and the first whose
 * provider of hybrids takes hybrid_layer_pattern.
 */
enum { FIRST_BRIDGE = 3, HYBRID_BRIDGE = 5 };

static const char *file_text(const plait_launch *launch, const megatron_args *args,
                             plait_arena *arena)
{
    const plait_model *const model = launch->problem->model;
    const bool tunes = launch->problem->job.tuning.kind != PLAIT_JOB_PRETRAIN;
    const training_places places = (training_places){
        .data = tunes ? "the recipe's dataset (SQuAD); checkpoint.pretrained_checkpoint, weights "
                        "that Megatron-Bridge has imported"
                : args->moe_router_force_load_balancing
                    ? "the recipe's dataset, random by default; with real data remove "
                      "model.moe_router_force_load_balancing; tokenizer.tokenizer_type, with the "
                      "vocabulary of the plan"
                    : "the recipe's dataset; tokenizer.tokenizer_type, with the vocabulary of the "
                      "plan",
        .length = "train.train_iters",
        .values = "optimizer.*, scheduler.*",
        .checkpoints = "checkpoint.save, checkpoint.load, checkpoint.save_interval",
        .cluster = true,
    };
    text_builder out;

    text_builder_init(&out, arena);
    scripts_append_head(
        launch,
        "# shellcheck shell=bash disable=SC2034,SC2140,SC2211,SC2276,SC2288\n"
        "# overrides.sh - KEY=VALUE of run_recipe.py, one per line; run.sh reads them",
        &places, &out);
    text_append_printf(
        &out,
        tunes ? "# The recipe builds the model: %d layers, hidden %d, vocabulary %d.\n"
              : "# The recipe builds the model: %d layers, hidden %d; the vocabulary, %d, is "
                "set here.\n",
        model->layers, model->hidden, model->vocab);
    notes_append(launch, &out);
    if (tunes)
        notes_append_one("job", plait_job_name[launch->problem->job.tuning.kind], &out);
    append_overrides(launch, args, &out);
    return text_builder_finish(&out, NULL);
}

static plait_status render(const plait_launch *launch, plait_arena *arena, plait_launch_folder *out,
                           plait_error *err)
{
    launch_program program = {
        .what = "Megatron-Bridge",
        .checkout = "BRIDGE",
        .args = "overrides.sh",
    };
    const int bridge = megatron_bridge_of(launch->problem->runtime);
    megatron_args args;

    if (bridge < FIRST_BRIDGE)
        return plait_fail(err, PLAIT_ERROR_RANGE, "runtime",
                          "expected a release with Megatron-Bridge's run_recipe.py, "
                          "bridge-v0.%d.0 or later, found %.60s",
                          FIRST_BRIDGE, launch->problem->runtime->name);
    // Containers of consecutive releases from FIRST_BRIDGE on (docs/releases/software-versions.md
    // of Megatron-Bridge).
    static const char *const images[] = {"nvcr.io/nvidia/nemo:26.02",
                                         "nvcr.io/nvidia/nemo:26.04.01",
                                         "nvcr.io/nvidia/nemo:26.06", "nvcr.io/nvidia/nemo:26.08"};
    enum { IMAGES = sizeof images / sizeof *images };

    program.image = images[bridge < FIRST_BRIDGE + IMAGES ? bridge - FIRST_BRIDGE : IMAGES - 1];

    PLAIT_TRY(megatron_args_of(launch->problem, launch->plan, arena, &args, err));
    if (launch->problem->job.tuning.kind != PLAIT_JOB_PRETRAIN) {
        // usual rates, as in the recipes; the router decides, since the data are real
        args.lr = launch->problem->job.tuning.rank > 0 ? 1e-4 : 1e-5;
        args.min_lr = 0.0;
        args.moe_router_force_load_balancing = false;
    }
    // ++ also sets a field that the recipe's nested config does not list
    const char *const recipe = recipe_of(launch->problem, arena);
    text_builder text;
    text_builder_init(&text, arena);
    megatron_append_environment(launch, &text);
    megatron_append_attention(&args, &text);
    text_append_printf(&text, "recipe=${RECIPE:%s%s}\n", recipe != NULL ? "-" : "?",
                       recipe != NULL ? recipe : "expected the recipe that builds this model");
    // omit --mode, which 0.4 and 0.5 do not have; the recipe's name already contains pretrain
    text_append(
        &text,
        "# ++ also sets fields that only a nested config of the recipe has.\n" SCRIPTS_TORCHRUN
        "    scripts/training/run_recipe.py --recipe \"$recipe\" \"${args[@]/#/++}\" "
        "\"$@\"");
    program.start = text_builder_finish(&text, NULL);
    PLAIT_TRY(plait_check_allocated(program.start, err));
    PLAIT_TRY(folder_add(out, "overrides.sh", file_text(launch, &args, arena), false, err));
    return scripts_add(launch, &program, arena, out, err);
}

/*
 * Megatron-Bridge's named precisions reduce gradients in fp16 with fp16 and otherwise in fp32, and
 * keep parameters in 8 bits only with one scale per tensor or with MXFP8. The overrides set no
 * other optimizer formats than fp32. A gather in the optimizer step needs checkpoints in the format
 * torch, which Megatron-Bridge does not load (src/megatron/bridge/training/checkpointing.py).
 */
static const char *unsupported(const plait_problem *problem, const plait_plan *plan)
{
    // a separate field names adapters of experts
    static tuning_names module_names = {
        [PLAIT_LORA_QKV] = "linear_qkv",  [PLAIT_LORA_O] = "linear_proj",
        [PLAIT_LORA_FC1] = "linear_fc1",  [PLAIT_LORA_DOWN] = "linear_fc2",
        [PLAIT_LORA_EXPERTS] = "experts",
    };
    const plait_degrees *const d = &plan->degrees;
    const plait_precision precision = problem->job.precision;
    const bool halves = d->grad_reduce != PLAIT_STATE_FP32;
    const plait_tuning *const tuning = &problem->job.tuning;
    static const tuning_support support = {
        .kinds = 1u << PLAIT_JOB_PRETRAIN | 1u << PLAIT_JOB_SFT | 1u << PLAIT_JOB_LORA,
        .names = module_names,
    };
    const char *const why = tuning_unsupported(problem, &plan->degrees, &support);

    if (why != NULL)
        return why;
    if (problem->job.documents.padded)
        return "padded documents, since its recipes pack them";
    // ConfigContainer.validate in src/megatron/bridge/training/config.py
    if (tuning->kind != PLAIT_JOB_PRETRAIN && d->mbs > 1)
        return "microbatches of more than one packed sequence";
    if (tuning->kind != PLAIT_JOB_PRETRAIN && model_is_hybrid(problem->model))
        return "fine-tuning of a hybrid";
    if (model_is_hybrid(problem->model) && d->vpp > 1)
        return "several chunks per rank of a hybrid, which HybridModelProvider rejects";
    if (model_is_hybrid(problem->model) && megatron_bridge_of(problem->runtime) < HYBRID_BRIDGE)
        return "a hybrid, which the overrides describe from bridge-v0.5.0 on";
    if (precision == PLAIT_FP16 && !halves)
        return "fp16 with gradients reduced in fp32";
    if (precision != PLAIT_FP16 && halves)
        return "gradients reduced in 16 bits without fp16";
    if (d->fp8_params != (precision == PLAIT_FP8 || precision == PLAIT_MXFP8))
        return d->fp8_params ? "8-bit parameters with this precision"
                             : "16-bit parameters with this precision";
    if (d->optimizer_state != PLAIT_STATE_FP32 || d->offload != PLAIT_OFFLOAD_NONE)
        return "moments in fewer than 32 bits, or an optimizer on the host";
    if (d->gather_with_step)
        return "gather_with_step 1, whose checkpoints Megatron-Bridge cannot load";
    return NULL;
}

const launch_target target_megatron_bridge = {
    .name = "megatron-bridge",
    .runtime = "megatron",
    .rules = PLAIT_RULES_MEGATRON,
    .tunes = true,
    .unsupported = unsupported,
    .render = render,
    .import = bridge_import,
};
