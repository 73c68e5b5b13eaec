/*
 * torchtune.c - torchtune: torchtune.yaml for its recipes full_finetune_distributed,
 * lora_finetune_distributed, full_dpo_distributed and lora_dpo_distributed
 *
 * Keys are those that these recipes read in pytorch/torchtune bd2a0fc (2026-04-23). A builder of
 * torchtune makes the model, so a model without a builder is not written. The recipes shard by
 * FSDP2; only full_finetune_distributed has tensor parallelism, which is not written. Weights that
 * train, their gradients and their moments have the format `dtype`.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "launch/read/tuning_read.h"
#include "launch/target.h"
#include "launch/write/scripts.h"
#include "launch/write/tuning.h"

typedef struct torchtune_settings {
    tuning_settings base;
    const char *component; /* builder of the model */
    const char *tokenizer, *vocabulary, *merges;
    const char *checkpoint, *type; /* folder and kind of the checkpoint */
    const char *reference, *reference_class, *reference_type; /* recipe of full DPO */
    const char *reference_files, *reference_last, *reference_output;
    const char *scheduler, *loss;
} torchtune_settings;

#define ROW(group, key, kind, field) SETTING(group, key, kind, torchtune_settings, field)

static const char files[] = "model-{}-of-{}.safetensors";

static const setting_row rows[] = {
    ROW(NULL, "output_dir", WORD, base.output),
    ROW("model", "model._component_", WORD, component),
    ROW(NULL, "model.lora_attn_modules", WORDS, base.targets),
    ROW(NULL, "model.apply_lora_to_mlp", SWITCH, base.mlp),
    ROW(NULL, "model.lora_rank", INT, base.rank),
    ROW(NULL, "model.lora_alpha", INT, base.alpha),
    ROW(NULL, "model.quantize_base", SWITCH, base.quantised),
    ROW(NULL, "tokenizer._component_", WORD, tokenizer),
    ROW(NULL, "tokenizer.path", WORD, vocabulary),
    ROW(NULL, "tokenizer.merges_file", WORD, merges),
    ROW(NULL, "tokenizer.max_seq_len", INT, base.seq),
    SETTING_CONSTANT(NULL, "checkpointer._component_",
                     "torchtune.training.FullModelHFCheckpointer"),
    ROW(NULL, "checkpointer.checkpoint_dir", WORD, checkpoint),
    SETTING_CONSTANT(NULL, "checkpointer.checkpoint_files.filename_format", files),
    SETTING_CONSTANT(NULL, "checkpointer.checkpoint_files.max_filename", "\"00001\""),
    SETTING_CONSTANT(NULL, "checkpointer.recipe_checkpoint", "null"),
    SETTING_CONSTANT(NULL, "checkpointer.output_dir", "${output_dir}"),
    ROW(NULL, "checkpointer.model_type", WORD, type),
    ROW(NULL, "ref_checkpointer._component_", WORD, reference_class),
    ROW(NULL, "ref_checkpointer.checkpoint_dir", WORD, reference),
    ROW(NULL, "ref_checkpointer.checkpoint_files.filename_format", WORD, reference_files),
    ROW(NULL, "ref_checkpointer.checkpoint_files.max_filename", WORD, reference_last),
    ROW(NULL, "ref_checkpointer.output_dir", WORD, reference_output),
    ROW(NULL, "ref_checkpointer.model_type", WORD, reference_type),
    SETTING_CONSTANT(NULL, "resume_from_checkpoint", "false"),
    ROW("data", "dataset._component_", WORD, base.dataset),
    ROW(NULL, "dataset.packed", SWITCH, base.packing),
    SETTING_CONSTANT(NULL, "seed", "null"),
    SETTING_CONSTANT(NULL, "shuffle", "true"),
    ROW("batch and memory", "batch_size", INT, base.batch),
    ROW(NULL, "gradient_accumulation_steps", INT, base.steps),
    ROW(NULL, "enable_activation_checkpointing", SWITCH, base.checkpoints),
    SETTING_CONSTANT(NULL, "enable_activation_offloading", "false"),
    ROW(NULL, "data_parallel_shard_dim", INT, base.shard),
    ROW(NULL, "data_parallel_replicate_dim", INT, base.replicate),
    ROW(NULL, "fsdp_reshard_after_forward", SWITCH, base.reshard),
    ROW(NULL, "fsdp_cpu_offload", SWITCH, base.offload),
    SETTING_CONSTANT(NULL, "device", "cuda"),
    ROW(NULL, "dtype", WORD, base.dtype),
    SETTING_CONSTANT(NULL, "compile", "false"),
    SETTING_CONSTANT("optimizer and length", "optimizer._component_", "torch.optim.AdamW"),
    SETTING_CONSTANT(NULL, "optimizer.fused", "true"),
    ROW(NULL, "optimizer.lr", NUMBER, base.lr),
    ROW(NULL, "optimizer.weight_decay", NUMBER, base.weight_decay),
    ROW(NULL, "lr_scheduler._component_", WORD, scheduler),
    ROW(NULL, "lr_scheduler.num_warmup_steps", INT, base.warmup),
    ROW(NULL, "loss._component_", WORD, loss),
    ROW(NULL, "loss.beta", NUMBER, base.beta),
    ROW(NULL, "clip_grad_norm", NUMBER, base.clip),
    SETTING_CONSTANT(NULL, "epochs", "1"),
    ROW(NULL, "max_steps_per_epoch", INT, base.most_steps),
    SETTING_CONSTANT("logs", "metric_logger._component_",
                     "torchtune.training.metric_logging.DiskLogger"),
    SETTING_CONSTANT(NULL, "metric_logger.log_dir", "${output_dir}/logs"),
    SETTING_CONSTANT(NULL, "log_every_n_steps", "1"),
    SETTING_CONSTANT(NULL, "log_peak_memory_stats", "true"),
    SETTING_CONSTANT(NULL, "log_level", "INFO"),
    SETTINGS_END,
};

/* ---- models ---- */

typedef struct builder {
    const char *model, *package, *name; /* torchtune.models.PACKAGE.[lora_]NAME */
} builder;

/* torchtune/models/PACKAGE/_model_builders.py */
static const builder builders[] = {
    {"llama-2-7b", "llama2", "llama2_7b"},
    {"llama-2-13b", "llama2", "llama2_13b"},
    {"llama-2-70b", "llama2", "llama2_70b"},
    {"llama-3-8b", "llama3", "llama3_8b"},
    {"llama-3-70b", "llama3", "llama3_70b"},
    {"llama-3.1-8b", "llama3_1", "llama3_1_8b"},
    {"llama-3.1-70b", "llama3_1", "llama3_1_70b"},
    {"llama-3.1-405b", "llama3_1", "llama3_1_405b"},
    {"llama-3.2-1b", "llama3_2", "llama3_2_1b"},
    {"llama-3.2-3b", "llama3_2", "llama3_2_3b"},
    {"llama-3.3-70b", "llama3_3", "llama3_3_70b"},
    {"mistral-7b", "mistral", "mistral_7b"},
    {"qwen2-7b", "qwen2", "qwen2_7b"},
    {"qwen2.5-0.5b", "qwen2_5", "qwen2_5_0_5b"},
    {"qwen2.5-1.5b", "qwen2_5", "qwen2_5_1_5b_instruct"},
    {"qwen2.5-3b", "qwen2_5", "qwen2_5_3b"},
    {"qwen2.5-7b", "qwen2_5", "qwen2_5_7b_instruct"},
    {"qwen2.5-14b", "qwen2_5", "qwen2_5_14b_instruct"},
    {"qwen2.5-32b", "qwen2_5", "qwen2_5_32b_instruct"},
    {"qwen2.5-72b", "qwen2_5", "qwen2_5_72b_instruct"},
    {"qwen3-0.6b", "qwen3", "qwen3_0_6b_instruct"},
    {"qwen3-1.7b", "qwen3", "qwen3_1_7b_instruct"},
    {"qwen3-4b", "qwen3", "qwen3_4b_instruct"},
    {"qwen3-8b", "qwen3", "qwen3_8b_instruct"},
    {"qwen3-14b", "qwen3", "qwen3_14b_instruct"},
    {"qwen3-32b", "qwen3", "qwen3_32b"},
};

static const builder *builder_of(const plait_model *model)
{
    for (size_t b = 0; b < sizeof builders / sizeof *builders; b++)
        if (text_alike(model->name, builders[b].model))
            return &builders[b];
    return NULL;
}

/* Return the model of a builder; "base" and "instruct" builders have the same sizes. NULL: none. */
static const char *model_of(const char *component)
{
    const char *const dot = strrchr(component, '.');
    const char *name = dot != NULL ? dot + 1 : component;

    name += text_starts_with(name, "qlora_") ? strlen("qlora_") : 0;
    name += text_starts_with(name, "lora_") ? strlen("lora_") : 0;
    for (size_t b = 0; b < sizeof builders / sizeof *builders; b++) {
        const size_t width =
            strlen(builders[b].name) -
            (text_ends_with(builders[b].name, "_instruct") ? strlen("_instruct") : 0);

        if (strncmp(name, builders[b].name, width) == 0 &&
            (name[width] == '\0' || text_equal(name + width, "_base") ||
             text_equal(name + width, "_instruct")))
            return builders[b].model;
    }
    return NULL;
}

/* Set the builder, and the tokenizer and checkpoint of its family, as in recipes/configs. */
static plait_status set_model(const builder *of, plait_arena *arena, torchtune_settings *s,
                              plait_error *err)
{
    const bool llama3 = text_starts_with(of->package, "llama3");
    const bool qwen = text_starts_with(of->package, "qwen");
    const char *const package = llama3 ? "llama3" : of->package;
    const char *const slash = strrchr(s->base.model, '/');
    const char *const folder =
        plait_arena_printf(arena, "checkpoints/%s", slash != NULL ? slash + 1 : s->base.model);

    PLAIT_TRY(plait_check_allocated(folder, err));
    s->checkpoint = folder;
    s->component = plait_arena_printf(arena, "torchtune.models.%s.%s%s", of->package,
                                      s->base.rank > 0 ? "lora_" : "", of->name);
    s->tokenizer = plait_arena_printf(arena, "torchtune.models.%s.%s_tokenizer", package, package);
    s->vocabulary = plait_arena_printf(arena, "%s/%s", folder,
                                       llama3 ? "original/tokenizer.model"
                                       : qwen ? "vocab.json"
                                              : "tokenizer.model");
    s->merges = qwen ? plait_arena_printf(arena, "%s/merges.txt", folder) : NULL;
    s->type = text_equal(of->package, "llama3_2")  ? "LLAMA3_2"
              : llama3                             ? "LLAMA3"
              : text_equal(of->package, "qwen3")   ? "QWEN3"
              : qwen                               ? "QWEN2"
              : text_equal(of->package, "mistral") ? "MISTRAL"
                                                   : "LLAMA2";
    return plait_check_allocated(
        s->component && s->tokenizer && s->vocabulary && (!qwen || s->merges), err);
}

/* ---- writing ---- */

static tuning_names names = {
    [PLAIT_LORA_Q] = "q_proj",
    [PLAIT_LORA_K] = "k_proj",
    [PLAIT_LORA_V] = "v_proj",
    [PLAIT_LORA_O] = "output_proj",
};

/* Names of the MLP, which apply_lora_to_mlp gives adapters to all three products of. */
static tuning_names all_names = {
    [PLAIT_LORA_Q] = "q_proj",      [PLAIT_LORA_K] = "k_proj", [PLAIT_LORA_V] = "v_proj",
    [PLAIT_LORA_O] = "output_proj", [PLAIT_LORA_GATE] = "w1",  [PLAIT_LORA_UP] = "w3",
    [PLAIT_LORA_DOWN] = "w2",
};

static const char *recipe_of(const plait_tuning *tuning)
{
    const bool dpo = tuning->kind == PLAIT_JOB_DPO;

    return tuning->rank > 0 ? (dpo ? "lora_dpo_distributed" : "lora_finetune_distributed")
                            : (dpo ? "full_dpo_distributed" : "full_finetune_distributed");
}

static void adapt(const plait_launch *launch, torchtune_settings *s)
{
    const plait_degrees *const d = &launch->plan->degrees;
    const plait_tuning *const tuning = &launch->problem->job.tuning;
    const bool dpo = tuning->kind == PLAIT_JOB_DPO;

    s->base.dtype = "bf16";
    s->base.mlp = tuning->rank > 0 ? s->base.mlp : SETTING_OPEN;
    s->base.reshard = d->zero == 3;
    s->base.offload = d->offload == PLAIT_OFFLOAD_PARAMS;
    if (d->shard_group < d->dp && !dpo) {
        s->base.shard = d->shard_group;
        s->base.replicate = d->dp / d->shard_group;
    }
    s->base.dataset = dpo ? "torchtune.datasets.stack_exchange_paired_dataset"
                          : "torchtune.datasets.alpaca_cleaned_dataset";
    s->loss = dpo ? "torchtune.rlhf.loss.DPOLoss" : "torchtune.modules.loss.LinearCrossEntropyLoss";
    s->scheduler = "torchtune.training.lr_schedulers.get_cosine_schedule_with_warmup";
    if (dpo && tuning->rank == 0) {
        s->reference = s->checkpoint;
        s->reference_class = "torchtune.training.FullModelHFCheckpointer";
        s->reference_type = s->type;
        s->reference_files = files;
        s->reference_last = "00001";
        s->reference_output = s->base.output;
    }
}

static plait_status render(const plait_launch *launch, plait_arena *arena, plait_launch_folder *out,
                           plait_error *err)
{
    launch_program program = {.what = "torchtune", .runs_here = true};
    torchtune_settings settings = {0};
    text_builder text;

    PLAIT_TRY(tuning_settings_of(launch, names, arena, &settings.base, err));
    PLAIT_TRY(set_model(builder_of(launch->problem->model), arena, &settings, err));
    adapt(launch, &settings);
    text_builder_init(&text, arena);
    scripts_append_head(launch, "# torchtune.yaml - config of a torchtune recipe; run.sh starts it",
                        NULL, &text);
    text_append(&text, "#\n# To edit before a real run; the plan sets everything else:\n"
                       "#   data         dataset\n"
                       "#   checkpoints  checkpointer, tokenizer: folders, and max_filename, the\n"
                       "#                number of the last file of weights\n"
                       "#   training     optimizer, lr_scheduler, lora_alpha: usual values\n"
                       "#   length       max_steps_per_epoch\n"
                       "# torchtune keeps weights that train, and their moments, in 16 bits.\n#\n");
    tuning_append_notes(launch, &text);
    settings_append_yaml(rows, &settings, &text);
    PLAIT_TRY(folder_add(out, "torchtune.yaml", text_builder_finish(&text, NULL), false, err));
    program.start = plait_arena_printf(
        arena,
        "cd \"$here\"\n"
        "exec tune run --nnodes \"$nodes\" --nproc_per_node \"$gpus_per_node\" \\\n"
        "    --node_rank \"$node_rank\" --master_addr \"$head\" --master_port \"$port\" \\\n"
        "    %s --config torchtune.yaml \"$@\"",
        recipe_of(&launch->problem->job.tuning));
    PLAIT_TRY(plait_check_allocated(program.start, err));
    return scripts_add(launch, &program, arena, out, err);
}

#define RECIPES "pytorch/torchtune bd2a0fc: recipes/"
#define ANY (~0u)
#define OTHERS (ANY & ~(1u << PLAIT_JOB_SFT))

static const tuning_limit limits[] = {
    {ANY, PLAIT_KEY_PP, "pipeline parallelism, which no recipe has", RECIPES "*_distributed.py"},
    {ANY, PLAIT_KEY_EP, "expert parallelism, which no recipe has", RECIPES "*_distributed.py"},
    {OTHERS, PLAIT_KEY_TP, "tensor parallelism, which the recipes of adapters and of DPO refuse",
     RECIPES "lora_finetune_distributed.py, full_dpo_distributed.py"},
    {ANY, PLAIT_KEY_TP, "tensor parallelism, whose plan for a model plait does not write",
     RECIPES "full_finetune_distributed.py: tensor_parallel_plan"},
    {ANY, PLAIT_KEY_CP, "context parallelism, which not all of its recipes have",
     RECIPES "full_finetune_distributed.py, lora_finetune_distributed.py"},
    {0, PLAIT_KEY_TP, NULL, NULL},
};

static const char *unsupported(const plait_problem *problem, const plait_plan *plan)
{
    static const tuning_support support = {
        .kinds = 1u << PLAIT_JOB_SFT | 1u << PLAIT_JOB_LORA | 1u << PLAIT_JOB_QLORA |
                 1u << PLAIT_JOB_DPO,
        .names = all_names,
        .nf4 = true,
        .limits = limits,
    };
    static const unsigned mlp = 1u << PLAIT_LORA_GATE | 1u << PLAIT_LORA_UP | 1u << PLAIT_LORA_DOWN;
    const plait_degrees *const d = &plan->degrees;
    const unsigned of_mlp = problem->job.tuning.targets & mlp;
    const char *const why = tuning_unsupported(problem, &plan->degrees, &support);

    if (why != NULL)
        return why;
    if (builder_of(problem->model) == NULL)
        return "a model without a builder in torchtune";
    if (of_mlp != 0 && of_mlp != mlp)
        return "adapters on a part of the MLP's products";
    if (d->zero < 2)
        return "weights and gradients that are not sharded, while FSDP shards them";
    if (d->shard_group < d->dp && problem->job.tuning.kind == PLAIT_JOB_DPO)
        return "shards over some of the GPUs with DPO";
    if (d->recompute.kind != PLAIT_RECOMPUTE_NONE && d->recompute.kind != PLAIT_RECOMPUTE_FULL)
        return "recomputation of parts of a layer";
    if (problem->job.precision != PLAIT_BF16)
        return "products in another format than bf16";
    return d->recompute.layers > 0 ? "recomputation of some layers" : NULL;
}

/* ---- reading ---- */

static plait_status import(const char *text, size_t length, const char *name,
                           const launch_call *call, plait_arena *arena, plans_entry *out,
                           text_builder *warnings, plait_error *err)
{
    torchtune_settings settings = {.base = tuning_settings_init()};
    tuning_settings *const s = &settings.base;
    settings_source source;

    PLAIT_TRY(settings_open(text, length, name, false, call, arena, &source, err));
    PLAIT_TRY(settings_read(rows, &source, &settings, err));
    if (settings.component == NULL)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, name,
                          "expected a config of torchtune, found no model._component_");
    PLAIT_TRY(notes_read(text, length, name, arena, out, err));
    if (call != NULL && call->model != NULL)
        out->model = call->model;
    if (out->gpus == 0 && call != NULL)
        out->gpus = call->gpus;
    const char *const model = model_of(settings.component);
    s->model = model != NULL ? model : settings.component;
    s->adapters = s->rank > 0;
    s->quantised = s->quantised == 1 || strstr(settings.component, ".qlora_") != NULL;
    if (s->mlp == 1) {
        s->targets = plait_arena_printf(arena, "%s w1 w2 w3", s->targets != NULL ? s->targets : "");
        PLAIT_TRY(plait_check_allocated(s->targets, err));
    }
    const bool dpo = settings.loss != NULL && strstr(settings.loss, "DPOLoss") != NULL;
    out->runtime = out->runtime != NULL ? out->runtime : "fsdp";
    if (!(out->given & PLAIT_KEY_BIT(PLAIT_KEY_ZERO)))
        import_set_key(out, PLAIT_KEY_ZERO, s->reshard == 0 ? 2 : 3);
    if (s->offload == 1 && !(out->given & PLAIT_KEY_BIT(PLAIT_KEY_OFFLOAD)))
        import_set_key(out, PLAIT_KEY_OFFLOAD, PLAIT_OFFLOAD_PARAMS);
    PLAIT_TRY(
        tuning_take(s, dpo ? PLAIT_JOB_DPO : PLAIT_JOB_SFT, all_names, arena, warnings, out, err));
    out->not_read = settings_not_read(&source);
    return plait_check_allocated(out->not_read, err);
}

const launch_target target_torchtune = {
    .name = "torchtune",
    .runtime = "fsdp",
    .rules = PLAIT_RULES_FSDP,
    .tunes = true,
    .unsupported = unsupported,
    .render = render,
    .import = import,
};
