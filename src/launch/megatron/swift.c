/*
 * swift.c - ms-swift: args.sh for `megatron sft` and `megatron rlhf`, and both of its launches back
 *
 * Arguments are those of swift/megatron/arguments/megatron_args.py of modelscope/ms-swift 3602360
 * (4.6.0.dev0, 2026-08-22). Most have Megatron-LM's names, but a switch takes true or false, and
 * some are on by default. Its loader builds the model from the hub. `swift sft` and `swift rlhf` run
 * Hugging Face's Trainer; they are read only.
 */
#include <string.h>

#include "base/status.h"
#include "launch/megatron/megatron.h"
#include "launch/read/deepspeed_file.h"
#include "launch/read/tuning_read.h"
#include "launch/write/hub_id.h"
#include "launch/write/scripts.h"
#include "plan/model_queries.h"

#define ROW(group, key, kind, field) SETTING(group, key, kind, tuning_settings, field)

/* Arguments that Megatron-LM does not have. */
static const setting_row rows[] = {
    ROW("model and job", "model", WORD, model),
    ROW(NULL, "rlhf_type", WORD, stage),
    ROW(NULL, "tuner_type", WORD, method),
    ROW(NULL, "lora_rank", INT, rank),
    ROW(NULL, "lora_alpha", INT, alpha),
    ROW(NULL, "target_modules", WORDS, targets),
    ROW(NULL, "freeze_vit", SWITCH, freeze_vision),
    ROW(NULL, "freeze_aligner", SWITCH, freeze_projector),
    ROW(NULL, "beta", NUMBER, beta),
    ROW("data", "dataset", WORD, dataset),
    ROW(NULL, "max_length", INT, seq),
    ROW(NULL, "packing", SWITCH, packing),
    ROW("optimizer and length", "lr", NUMBER, lr),
    ROW(NULL, "lr_decay_style", WORD, decay),
    ROW(NULL, "lr_warmup_iters", INT, warmup),
    ROW(NULL, "adam_beta1", NUMBER, beta1),
    ROW(NULL, "adam_beta2", NUMBER, beta2),
    ROW(NULL, "adam_eps", NUMBER, eps),
    ROW(NULL, "weight_decay", NUMBER, weight_decay),
    ROW(NULL, "clip_grad", NUMBER, clip),
    ROW(NULL, "train_iters", INT, most_steps),
    ROW(NULL, "save_steps", INT, save_steps),
    ROW(NULL, "output_dir", WORD, output),
    SETTINGS_END,
};

/* ---- writing ---- */

/* Arguments of Megatron-LM that ms-swift has, in the order in which they are written. */
static const char *const fields[] = {"tensor_model_parallel_size",
                                     "sequence_parallel",
                                     "pipeline_model_parallel_size",
                                     "pipeline_model_parallel_layout",
                                     "decoder_first_pipeline_num_layers",
                                     "decoder_last_pipeline_num_layers",
                                     "account_for_embedding_in_pipeline_split",
                                     "account_for_loss_in_pipeline_split",
                                     "context_parallel_size",
                                     "cp_comm_type",
                                     "expert_model_parallel_size",
                                     "expert_tensor_parallel_size",
                                     "micro_batch_size",
                                     "global_batch_size",
                                     "recompute_method",
                                     "recompute_num_layers",
                                     "recompute_modules",
                                     "optimizer",
                                     "use_distributed_optimizer",
                                     "optimizer_cpu_offload",
                                     "optimizer_offload_fraction",
                                     "use_precision_aware_optimizer",
                                     "exp_avg_dtype",
                                     "exp_avg_sq_dtype",
                                     "use_megatron_fsdp",
                                     "data_parallel_sharding_strategy",
                                     "overlap_grad_reduce",
                                     "overlap_param_gather",
                                     "overlap_param_gather_with_optimizer_step",
                                     "tp_comm_overlap",
                                     "attention_backend",
                                     "masked_softmax_fusion",
                                     "cross_entropy_loss_fusion",
                                     "gradient_accumulation_fusion",
                                     "moe_grouped_gemm",
                                     "moe_permute_fusion",
                                     "moe_token_dispatcher_type",
                                     "moe_expert_capacity_factor",
                                     "moe_pad_expert_input_to_capacity",
                                     "mtp_num_layers",
                                     "te_rng_tracker",
                                     "fp16",
                                     "bf16",
                                     "fp8",
                                     "fp8_recipe",
                                     "fp8_param_gather",
                                     "fp4",
                                     "fp4_recipe",
                                     "fp4_param_gather",
                                     NULL};

/* Arguments that other arguments of ms-swift, or its defaults, replace. */
static const char *const replaced[] = {"num_virtual_stages_per_pipeline_rank",
                                       "recompute_granularity",
                                       "accumulate_allreduce_grads_in_fp32",
                                       "create_attention_mask_in_dataloader",
                                       "check_for_nan_in_loss_and_grad",
                                       "ckpt_format",
                                       "flash_attention_version",
                                       NULL};

static void append_field(const argument_row *row, const megatron_args *args, launch_args *out)
{
    const void *const value = (const char *)args + row->field;
    const char *const name =
        row->flag != NULL && row->kind == ARGUMENT_WORD ? row->flag : row->name;
    const char *const key = plait_arena_printf(out->arena, "--%s", name);

    if (key == NULL)
        out->failed = true;
    else if (row->kind == ARGUMENT_SWITCH)
        args_text(out, key, *(const bool *)value ? "true" : "false");
    else if (row->kind == ARGUMENT_INT && *(const int *)value > 0)
        args_int(out, key, *(const int *)value);
    else if (row->kind == ARGUMENT_NUMBER && megatron_args_is_written(args, row->field))
        args_number(out, key, *(const double *)value);
    else if (row->kind >= ARGUMENT_WORD && *(const char *const *)value != NULL &&
             megatron_args_is_written(args, row->field))
        args_words(out, key, *(const char *const *)value);
}

static bool matters(const char *name, const megatron_args *args)
{
    const argument_row *const row = megatron_argument_named(name);
    const bool experts = strncmp(name, "moe_", 4) == 0 || strncmp(name, "expert_", 7) == 0;

    return row != NULL && (!experts || args->num_experts > 0) &&
           (args->use_megatron_fsdp || strcmp(name, "data_parallel_sharding_strategy") != 0) &&
           (args->fp8 != NULL || strncmp(name, "fp8", 3) != 0) &&
           (args->fp4 != NULL || strncmp(name, "fp4", 3) != 0);
}

/*
 * Return the first argument of the plan that ms-swift does not have; NULL: none. Arguments before
 * world_size describe the model.
 */
static const char *missing(const megatron_args *args)
{
    const argument_row *row = megatron_argument(MEGATRON_FIELD(world_size));

    for (; row->name != NULL; row++)
        if (megatron_args_is_written(args, row->field) && !row->placeholder && !row->optional &&
            text_index(row->name, fields) < 0 && text_index(row->name, replaced) < 0)
            return row->name;
    return args->moe_flex_dispatcher_backend != NULL &&
                   !text_equal(args->moe_flex_dispatcher_backend, "deepep")
               ? "moe_flex_dispatcher_backend"
               : NULL;
}

static void append_plan(const plait_launch *launch, const megatron_args *args, launch_args *out)
{
    const plait_degrees *const d = &launch->plan->degrees;

    args_group(out, "plan");
    for (const char *const *name = fields; *name != NULL; name++)
        if (matters(*name, args))
            append_field(megatron_argument_named(*name), args, out);
    if (d->vpp > 1 && args->pipeline_model_parallel_layout == NULL)
        args_int(out, "--virtual_pipeline_model_parallel_size", d->vpp);
    // the default is selective
    args_text(out, "--recompute_granularity",
              args->recompute_granularity != NULL ? args->recompute_granularity : "none");
    if (args->num_experts > 0)
        args_text(out, "--moe_enable_deepep",
                  args->moe_flex_dispatcher_backend != NULL ? "true" : "false");
}

/* Return args.sh; NULL: out of memory. */
static const char *file_text(const plait_launch *launch, const megatron_args *args,
                             const tuning_settings *settings, plait_arena *arena)
{
    launch_args out;
    text_builder text;

    args_init(&out, arena);
    settings_append_args(rows, settings, &out);
    append_plan(launch, args, &out);
    text_builder_init(&text, arena);
    scripts_append_head(launch,
                        "# shellcheck shell=bash disable=SC2215\n"
                        "# args.sh - arguments of ms-swift, one per line; run.sh reads them",
                        NULL, &text);
    text_append(&text, "#\n# To edit before a real run; the plan sets everything else:\n"
                       "#   data         --dataset\n"
                       "#   training     --lr to --clip_grad, --lora_alpha: usual values\n"
                       "#   length       --train_iters, --save_steps, --output_dir\n#\n");
    notes_append(launch, &text);
    notes_append_one("job", plait_job_name[launch->problem->job.tuning.kind], &text);
    text_append(&text, "\n# environment\n");
    megatron_append_environment(launch, &text);
    args_append_shell(&out, &text);
    return text_builder_finish(&text, NULL);
}

static plait_status render(const plait_launch *launch, plait_arena *arena, plait_launch_folder *out,
                           plait_error *err)
{
    const plait_tuning *const tuning = &launch->problem->job.tuning;
    const bool dpo = tuning->kind == PLAIT_JOB_DPO;
    launch_program program = {.what = "ms-swift", .args = "args.sh"};
    tuning_settings settings;
    megatron_args args;

    PLAIT_TRY(megatron_args_of(launch->problem, launch->plan, arena, &args, err));
    const char *const absent = missing(&args);
    if (absent != NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "plan",
                          "expected a plan that ms-swift can run, found one that needs Megatron's "
                          "argument %.60s",
                          absent);
    PLAIT_TRY(tuning_settings_of(launch, tuning_names_megatron, arena, &settings, err));
    settings.method = tuning->rank > 0 ? "lora" : "full";
    settings.stage = dpo ? "dpo" : NULL;
    settings.dataset = dpo ? "AI-ModelScope/orpo-dpo-mix-40k" : "AI-ModelScope/alpaca-gpt4-data-en";
    PLAIT_TRY(folder_add(out, "args.sh", file_text(launch, &args, &settings, arena), false, err));
    program.start = plait_arena_printf(
        arena,
        "export NNODES=\"$nodes\" NODE_RANK=\"$node_rank\" NPROC_PER_NODE=\"$gpus_per_node\"\n"
        "export MASTER_ADDR=\"$head\" MASTER_PORT=\"$port\"\n"
        "exec megatron %s \"${args[@]}\" \"$@\"",
        dpo ? "rlhf" : "sft");
    PLAIT_TRY(plait_check_allocated(program.start, err));
    return scripts_add(launch, &program, arena, out, err);
}

static const char *unsupported(const plait_problem *problem, const plait_plan *plan)
{
    static const tuning_support support = {
        .kinds = 1u << PLAIT_JOB_SFT | 1u << PLAIT_JOB_LORA | 1u << PLAIT_JOB_DPO,
        .names = tuning_names_megatron,
        .towers = true,
    };
    const plait_tuning *const tuning = &problem->job.tuning;
    static const unsigned mlp = 1u << PLAIT_LORA_FC1 | 1u << PLAIT_LORA_DOWN;
    const char *const why = tuning_unsupported(problem, &plan->degrees, &support);

    if (why != NULL)
        return why;
    if (model_is_hybrid(problem->model))
        return "a hybrid, which plait writes for Megatron-LM only";
    if (tuning->rank > 0 && tuning->targets & mlp && model_has_experts(problem->model))
        return "adapters of the MLP without adapters of the experts, whose modules have the same "
               "names";
    if (plan->degrees.switches.cuda_graph != PLAIT_GRAPH_NONE)
        return "CUDA graphs";
    return model_has_experts(problem->model) && plan->degrees.switches.router_fusion
               ? "the router's fused kernels; plan with --router-fusion 0"
               : NULL;
}

/* ---- reading ---- */

/* Arguments of the Trainer in `swift sft` (swift/arguments), with the names of ms-swift 3 as well. */
static const setting_row trainer_rows[] = {
    ROW(NULL, "train_type", WORD, method),
    ROW(NULL, "attn_impl", WORD, attention),
    ROW(NULL, "quant_bits", INT, bits),
    ROW(NULL, "per_device_train_batch_size", INT, batch),
    ROW(NULL, "gradient_accumulation_steps", INT, steps),
    ROW(NULL, "gradient_checkpointing", SWITCH, checkpoints),
    ROW(NULL, "fp16", SWITCH, fp16),
    ROW(NULL, "deepspeed", WORD, deepspeed),
    SETTINGS_END,
};

/* Set the defaults of ms-swift: LoRA of rank 8 on all modules, but full for `megatron`. */
static void add_defaults(bool megatron, tuning_settings *s)
{
    if (s->method == NULL)
        s->method = megatron ? "full" : "lora";
    s->adapters = !text_equal(s->method, "full");
    if (s->adapters && s->rank == SETTING_OPEN)
        s->rank = 8;
    if (s->adapters && s->targets == NULL)
        s->targets = "all-linear";
}

/* Read `swift sft`. Its defaults: one sequence, recomputation of all layers. */
static plait_status import_trainer(const settings_source *source, plait_job_kind kind,
                                   tuning_settings *s, plait_arena *arena, text_builder *warnings,
                                   plans_entry *out, plait_error *err)
{
    deepspeed_file file = {.zero = DEEPSPEED_OPEN};

    out->gpus = out->gpus > 0 ? out->gpus : launcher_gpus(source->flags);
    out->runtime = s->deepspeed != NULL ? "deepspeed" : "fsdp";
    if (s->deepspeed != NULL && deepspeed_file_named(s->deepspeed, &file)) {
        import_set_key(out, PLAIT_KEY_ZERO, file.zero);
        import_set_key(out, PLAIT_KEY_OFFLOAD,
                       file.offload_params      ? PLAIT_OFFLOAD_PARAMS
                       : file.offload_optimizer ? PLAIT_OFFLOAD_GRADIENTS
                                                : PLAIT_OFFLOAD_NONE);
    } else if (s->deepspeed != NULL) {
        import_warn(warnings, "the JSON file of --deepspeed is not read");
    }
    if (s->checkpoints == SETTING_OPEN)
        s->checkpoints = 1;
    PLAIT_TRY(tuning_take(s, kind, tuning_names_hub, arena, warnings, out, err));
    out->not_read = settings_not_read(source);
    return plait_check_allocated(out->not_read, err);
}

static plait_status import(const char *text, size_t length, const char *name,
                           const launch_call *call, plait_arena *arena, plans_entry *out,
                           text_builder *warnings, plait_error *err)
{
    tuning_settings s = tuning_settings_init();
    settings_source source = {.arena = arena};
    launch_flags flags;

    PLAIT_TRY(flags_read(text, length, name, call, arena, &flags, err));
    source.flags = &flags;
    PLAIT_TRY(settings_read(rows, &source, &s, err));
    PLAIT_TRY(settings_read(trainer_rows, &source, &s, err));
    const bool trainer = flags_find(&flags, "per_device_train_batch_size") != NULL ||
                         (flags.launch >= 0 && !flags_are_of_swift(&flags));
    const plait_job_kind kind =
        s.stage != NULL && text_equal(s.stage, "dpo") ? PLAIT_JOB_DPO : PLAIT_JOB_SFT;
    if (s.stage != NULL && kind != PLAIT_JOB_DPO)
        return flags_fail(&flags, "rlhf_type", err, "expected dpo, found %.40s", s.stage);
    add_defaults(!trainer, &s);
    PLAIT_TRY(notes_read(text, length, name, arena, out, err));
    if (call != NULL && call->model != NULL)
        out->model = call->model;
    if (call != NULL && call->gpus > 0)
        out->gpus = call->gpus;
    if (trainer)
        return import_trainer(&source, kind, &s, arena, warnings, out, err);
    PLAIT_TRY(megatron_translate_swift(&flags, warnings, err));
    PLAIT_TRY(megatron_import_flags(&flags, text, length, call, warnings, out, err));
    // without experts their tensor parallelism, 1 by default, has no meaning
    if (out->model != NULL && !model_has_experts(out->model))
        import_set_key(out, PLAIT_KEY_ETP, out->degrees.tp);
    tuning_take_job(&s, kind, tuning_names_megatron, warnings, out);
    return PLAIT_OK;
}

const launch_target target_ms_swift = {
    .name = "ms-swift",
    .runtime = "megatron",
    .rules = PLAIT_RULES_MEGATRON,
    .stages_differ = true,
    .tunes = true,
    .unsupported = unsupported,
    .render = render,
    .import = import,
};
