/*
 * overrides.c - a launch as KEY=VALUE of Megatron-Bridge's config
 *
 * Most keys are a section and what Megatron-LM calls the same. What is off is said too, since a
 * recipe may have it on. Three things differ from Megatron-LM.
 * comm_overlap, where a recipe has it, would overwrite fields of ddp and model: it is taken out.
 * Number formats come as named sets, which also decide in which format gradients are reduced.
 * attention_backend would stay a word where an enumerator is compared with: it is taken out too,
 * and the kernel chosen by Transformer Engine's variables (bridge.c).
 */
#include "launch/megatron/argument_table.h"
#include "launch/megatron/megatron.h"
#include "launch/megatron/releases.h"

static void say_text(launch_args *out, const char *key, const char *value)
{
    args_text(out, key, value != NULL ? value : "null");
}

/* In quotes, since "none" unquoted is read as null by some. */
static void say_word(launch_args *out, const char *key, const char *word)
{
    const char *const quoted = plait_arena_printf(out->arena, "\"%s\"", word);

    if (quoted == NULL)
        out->failed = true;
    else
        args_words(out, key, quoted);
}

static void say_bool(launch_args *out, const char *key, bool value)
{
    say_text(out, key, value ? "true" : "false");
}

/* 0 is "not said". */
static void say_count(launch_args *out, const char *key, int value)
{
    if (value > 0)
        args_int(out, key, value);
    else
        say_text(out, key, NULL);
}

/* An argument under the name that Megatron-LM has for it. */
static void say(launch_args *out, const char *section, size_t field, const megatron_args *args)
{
    const argument_row *const row = megatron_argument(field);

    if (row->since > args->core)
        return;

    const void *const value = (const char *)args + field;
    const char *const key = plait_arena_printf(out->arena, "%s.%s", section, row->name);

    if (key == NULL)
        out->failed = true;
    else if (row->kind == ARGUMENT_SWITCH)
        say_bool(out, key, *(const bool *)value);
    else if (row->kind != ARGUMENT_INT)
        say_text(out, key, *(const char *const *)value);
    else if (row->absent == NULL)
        say_count(out, key, *(const int *)value);
    else
        args_int(out, key, *(const int *)value);
}

/* ["core_attn","attn_proj"] or [4,2], of words with spaces between; NULL: nothing. */
static void say_words(const char *words, char quote, const char *key, launch_args *out)
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

/* ---- groups ---- */

static void say_parallelism(const plait_degrees *d, const megatron_args *args, launch_args *out)
{
    say(out, "model", MEGATRON_FIELD(tensor_model_parallel_size), args);
    say(out, "model", MEGATRON_FIELD(sequence_parallel), args);
    say(out, "model", MEGATRON_FIELD(pipeline_model_parallel_size), args);
    say_count(out, "model.virtual_pipeline_model_parallel_size", d->vpp > 1 ? d->vpp : 0);
    say(out, "model", MEGATRON_FIELD(pipeline_model_parallel_layout), args);
    say_count(out, "model.num_layers_in_first_pipeline_stage",
              args->decoder_first_pipeline_num_layers);
    say_count(out, "model.num_layers_in_last_pipeline_stage",
              args->decoder_last_pipeline_num_layers);
    say(out, "model", MEGATRON_FIELD(account_for_embedding_in_pipeline_split), args);
    say(out, "model", MEGATRON_FIELD(account_for_loss_in_pipeline_split), args);
    say(out, "model", MEGATRON_FIELD(context_parallel_size), args);
    if (megatron_args_says(args, MEGATRON_FIELD(cp_comm_type)))
        say(out, "model", MEGATRON_FIELD(cp_comm_type), args);
    else
        say_text(out, "model.cp_comm_type", NULL);
    say_words(args->hierarchical_context_parallel_sizes, '\0',
              "model.hierarchical_context_parallel_sizes", out);
    if (args->num_experts > 0) {
        say(out, "model", MEGATRON_FIELD(expert_model_parallel_size), args);
        say(out, "model", MEGATRON_FIELD(expert_tensor_parallel_size), args);
    }
    say(out, "dist", MEGATRON_FIELD(use_tp_pp_dp_mapping), args);
}

static void say_batch(const megatron_args *args, launch_args *out)
{
    say(out, "train", MEGATRON_FIELD(micro_batch_size), args);
    say(out, "train", MEGATRON_FIELD(global_batch_size), args);
    say(out, "dataset", MEGATRON_FIELD(seq_length), args);
}

/* Without modules, the selective granularity is that of attention alone. */
static unsigned modules_of(const plait_recompute *recompute)
{
    if (recompute->kind == PLAIT_RECOMPUTE_SELECTIVE)
        return 1u << PLAIT_MODULE_core_attn;
    return recompute->kind == PLAIT_RECOMPUTE_MODULES ? recompute->modules : 0;
}

/* ["core_attn","moe_act"] */
static void say_modules(unsigned modules, launch_args *out)
{
    text_builder list;
    char *text;

    if (modules == 0) {
        say_text(out, "model.recompute_modules", NULL);
        return;
    }
    text_builder_init(&list, out->arena);
    for (int m = 0; m < PLAIT_MODULES; m++)
        if (modules >> m & 1u)
            text_append_printf(&list, "%s\"%s\"", list.length > 0 ? "," : "[",
                               plait_recompute_module_name[m]);
    text_append_char(&list, ']');
    text = text_builder_finish(&list, NULL);
    if (text == NULL)
        out->failed = true;
    else
        args_words(out, "model.recompute_modules", text);
}

static void say_memory(const plait_recompute *recompute, const megatron_args *args,
                       launch_args *out)
{
    say(out, "model", MEGATRON_FIELD(recompute_granularity), args);
    say(out, "model", MEGATRON_FIELD(recompute_method), args);
    say(out, "model", MEGATRON_FIELD(recompute_num_layers), args);
    say_modules(modules_of(recompute), out);
    say_bool(out, "model.cpu_offloading", false);
    say(out, "model", MEGATRON_FIELD(fine_grained_activation_offloading), args);
    say_words(args->offload_modules, '"', "model.offload_modules", out);
}

/* Master weights and moments in fp32, as the price has them. */
static void say_optimizer(const megatron_args *args, launch_args *out)
{
    static const char *const formats[] = {"optimizer.main_params_dtype",
                                          "optimizer.main_grads_dtype", "optimizer.exp_avg_dtype",
                                          "optimizer.exp_avg_sq_dtype"};
    const bool fsdp = args->use_megatron_fsdp;

    say(out, "optimizer", MEGATRON_FIELD(optimizer), args);
    say(out, "optimizer", MEGATRON_FIELD(use_precision_aware_optimizer), args);
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++)
        say_text(out, formats[f], "torch.float32");
    say(out, "optimizer", MEGATRON_FIELD(optimizer_cpu_offload), args);
    say(out, "optimizer", MEGATRON_FIELD(use_distributed_optimizer), args);
    say(out, "ddp", MEGATRON_FIELD(use_distributed_optimizer), args);
    say(out, "ddp", MEGATRON_FIELD(num_distributed_optimizer_instances), args);
    say(out, "ddp", MEGATRON_FIELD(use_megatron_fsdp), args);
    say_text(out, "ddp.data_parallel_sharding_strategy",
             fsdp ? args->data_parallel_sharding_strategy : "no_shard");
    say(out, "checkpoint", MEGATRON_FIELD(ckpt_format), args);
    if (fsdp)
        say(out, "model", MEGATRON_FIELD(gradient_accumulation_fusion), args);
}

/* Sends between stages overlap where Megatron-LM chooses so, which interleaving is priced with. */
static void say_overlap(bool interleaved, const megatron_args *args, launch_args *out)
{
    say_text(out, "comm_overlap", NULL);
    say(out, "ddp", MEGATRON_FIELD(overlap_grad_reduce), args);
    say(out, "ddp", MEGATRON_FIELD(overlap_param_gather), args);
    say_bool(out, "ddp.align_param_gather", args->overlap_param_gather && interleaved);
    say(out, "model", MEGATRON_FIELD(tp_comm_overlap), args);
    say_bool(out, "model.overlap_p2p_comm", interleaved);
    say_bool(out, "model.batch_p2p_comm", !interleaved);
    say(out, "model", MEGATRON_FIELD(overlap_moe_expert_parallel_comm), args);
    say(out, "model", MEGATRON_FIELD(delay_wgrad_compute), args);
}

static void say_experts(const megatron_args *args, launch_args *out)
{
    say(out, "model", MEGATRON_FIELD(moe_grouped_gemm), args);
    say(out, "model", MEGATRON_FIELD(moe_permute_fusion), args);
    say(out, "model", MEGATRON_FIELD(moe_router_fusion), args);
    say(out, "model", MEGATRON_FIELD(moe_router_force_load_balancing), args);
    say(out, "model", MEGATRON_FIELD(moe_token_dispatcher_type), args);
    if (args->moe_flex_dispatcher_backend != NULL)
        say(out, "model", MEGATRON_FIELD(moe_flex_dispatcher_backend), args);
    say_bool(out, "model.moe_enable_deepep", false); // an older name of the flex backend
    say_bool(out, "model.moe_shared_expert_overlap", false);
    if (args->moe_expert_capacity_factor > 0.0) {
        say(out, "model", MEGATRON_FIELD(moe_expert_capacity_factor), args);
        say(out, "model", MEGATRON_FIELD(moe_pad_expert_input_to_capacity), args);
    }
    say(out, "model", MEGATRON_FIELD(moe_router_padding_for_quantization), args);
}

static void say_kernels(const plait_runtime *runtime, const megatron_args *args, launch_args *out)
{
    say_text(out, "model.attention_backend", NULL);
    say(out, "model", MEGATRON_FIELD(masked_softmax_fusion), args);
    say(out, "model", MEGATRON_FIELD(cross_entropy_loss_fusion), args);
    if (!runtime->kernels.cuda_graphs)
        say_word(out, "model.cuda_graph_impl", "none");
    if (args->num_experts > 0)
        say_experts(args, out);
}

static const char *const precision_sets[PLAIT_PRECISIONS] = {
    [PLAIT_BF16] = "bf16_mixed",
    [PLAIT_FP16] = "fp16_mixed",
    [PLAIT_FP8] = "bf16_with_fp8_current_scaling_mixed",
    [PLAIT_FP8_BLOCK] = "bf16_with_fp8_subchannel_scaling_mixed",
    [PLAIT_MXFP8] = "bf16_with_mxfp8_mixed",
    [PLAIT_NVFP4] = "bf16_with_nvfp4_mixed",
};

/* A recipe pads what its tokenizer has, so the tokenizer has the plan's vocabulary. */
static void say_vocabulary(const megatron_args *args, int bridge, launch_args *out)
{
    args_group(out, "vocabulary, which the recipe takes from its tokenizer");
    say(out, "tokenizer", MEGATRON_FIELD(tokenizer_type), args);
    say(out, "tokenizer", MEGATRON_FIELD(vocab_size), args);
    if (bridge >= 6) // up to 0.5 the model's own number is taken
        say_bool(out, "tokenizer.use_tokenizer_vocab_size", true);
    say(out, "model", MEGATRON_FIELD(vocab_size), args);
    say(out, "model", MEGATRON_FIELD(make_vocab_size_divisible_by), args);
}

static void say_schedule(const megatron_args *args, launch_args *out)
{
    say(out, "scheduler", MEGATRON_FIELD(lr_decay_style), args);
    say(out, "scheduler", MEGATRON_FIELD(lr_wsd_decay_style), args);
    say(out, "scheduler", MEGATRON_FIELD(lr_wsd_decay_iters), args);
    say(out, "scheduler", MEGATRON_FIELD(lr_decay_iters), args);
    args_int(out, "scheduler.lr_warmup_iters", args->lr_warmup_iters);
}

static void say_rates(const megatron_args *args, launch_args *out)
{
    args_number(out, "optimizer.lr", args->lr);
    args_number(out, "optimizer.min_lr", args->min_lr);
    args_number(out, "optimizer.adam_beta1", args->adam_beta1);
    args_number(out, "optimizer.adam_beta2", args->adam_beta2);
    args_number(out, "optimizer.adam_eps", args->adam_eps);
    args_number(out, "optimizer.weight_decay", args->weight_decay);
    args_number(out, "optimizer.clip_grad", args->clip_grad);
    say_schedule(args, out);
    if (args->num_experts == 0)
        return;
    say_word(out, "model.moe_router_load_balancing_type", args->moe_router_load_balancing_type);
    args_number(out, "model.moe_aux_loss_coeff", args->moe_aux_loss_coeff);
    args_number(out, "model.moe_router_bias_update_rate", args->moe_router_bias_update_rate);
    if (args->mtp_num_layers > 0)
        args_number(out, "model.mtp_loss_scaling_factor", args->mtp_loss_scaling_factor);
}

static void say_placeholders(const megatron_args *args, int bridge, launch_args *out)
{
    say_vocabulary(args, bridge, out);
    args_group(out, "yours to edit: schedule, checkpoints; data are the recipe's");
    say(out, "train", MEGATRON_FIELD(train_iters), args);
    say_rates(args, out);
    say(out, bridge >= 4 ? "validation" : "train", MEGATRON_FIELD(eval_iters), args);
    say(out, "logger", MEGATRON_FIELD(log_interval), args);
    say(out, "checkpoint", MEGATRON_FIELD(save), args);
    say(out, "checkpoint", MEGATRON_FIELD(load), args);
    say(out, "checkpoint", MEGATRON_FIELD(save_interval), args);
    say(out, "train", MEGATRON_FIELD(manual_gc), args);
    say(out, "train", MEGATRON_FIELD(manual_gc_interval), args);
    say(out, "dist", MEGATRON_FIELD(distributed_timeout_minutes), args);
}

const char *megatron_overrides(const plait_launch *launch, const megatron_args *args,
                               plait_arena *arena)
{
    const plait_problem *const problem = launch->problem;
    const plait_degrees *const d = &launch->plan->degrees;
    launch_args out;

    args_init(&out, arena);
    out.between = '=';
    args_group(&out, "parallelism");
    say_parallelism(d, args, &out);
    args_group(&out, "batch");
    say_batch(args, &out);
    args_group(&out, "memory");
    say_memory(&d->recompute, args, &out);
    args_group(&out, "optimizer");
    say_optimizer(args, &out);
    args_group(&out, "overlap");
    say_overlap(d->vpp > 1, args, &out);
    args_group(&out, "kernels");
    say_kernels(problem->runtime, args, &out);
    args_group(&out, "precision");
    say_text(&out, "mixed_precision", precision_sets[problem->job.precision]);
    say_placeholders(args, megatron_bridge_of(problem->runtime), &out);
    return args_shell(&out);
}
