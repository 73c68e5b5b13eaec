/*
 * torchtitan.c - writes recipe.py, the same plan as arguments and as TOML, and the scripts that
 * start torchtitan
 *
 * Keys, types and choices are those of pytorch/torchtitan b5bcd76 (2026-08-21); those of TOML of
 * 238fa99 (2026-02), the last version that read it.
 *
 * Versions that read TOML support only flavours as models, pipelines for two families, and no
 * NVFP4.
 */
#include "launch/torchtitan/torchtitan.h"

#include <string.h>

#include "launch/write/args.h"
#include "launch/write/scripts.h"
#include "plan/model_queries.h"

static bool titan_has_toml(const plait_launch *launch)
{
    const plait_problem *const problem = launch->problem;
    const plait_degrees *const d = &launch->plan->degrees;
    const titan_flavour *const flavour = titan_flavour_of(problem->model);

    if (flavour == NULL || !flavour->toml || problem->model->mtp_layers > 0 ||
        problem->job.precision == PLAIT_NVFP4 || (d->tp > 1 && !d->sp) ||
        problem->job.seq % (2LL * d->tp * d->cp) != 0)
        return false;
    if (d->pp > 1 && flavour->family != TITAN_LLAMA3 && flavour->family != TITAN_DEEPSEEK_V3)
        return false;
    // in these versions FlexAttention, which is built into the other flavours, does not support
    // context parallelism
    return d->cp == 1 || (flavour->family == TITAN_LLAMA3 || flavour->family == TITAN_QWEN3);
}

/* ---- the split ---- */

static void append_toml_split(const plait_launch *launch, text_builder *out)
{
    const plait_degrees *const d = &launch->plan->degrees;

    if (d->pp == 1)
        return;
    text_append(out, "module_fqns_per_model_part = [\n");
    for (int c = 0; c < d->pp * d->vpp; c++) {
        const plait_chunk *const chunk = plait_plan_chunk(launch->plan, c);
        const char *between = "";

        text_append(out, "    [");
        if (chunk->embedding) {
            text_append(out, "\"tok_embeddings\"");
            between = ", ";
        }
        for (int i = chunk->first; i < chunk->last; i++) {
            text_append_printf(out, "%s\"layers.%d\"", between, i);
            between = ", ";
        }
        if (chunk->loss)
            text_append_printf(out, "%s\"norm\", \"output\"", between);
        text_append(out, "],\n");
    }
    text_append(out, "]\n");
}

static void append_real(const char *key, double number, text_builder *out)
{
    text_append_printf(out, "%s = ", key);
    text_append_number(out, number);
    text_append_char(out, '\n');
}

static void append_length(const plait_launch *launch, text_builder *out)
{
    text_append_printf(out, "steps = %d\ndataset = \"c4_test\"\n", TRAINING_TRY_STEPS);
    append_real("max_norm", training_of(launch->problem).clip, out);
}

static void append_toml_training(const plait_launch *launch, text_builder *out)
{
    const launch_training t = training_of(launch->problem);
    const char *const folder = training_checkpoints(launch->problem->model, out->arena);

    text_append(out, "\n[optimizer]\n");
    append_real("lr", t.lr, out);
    append_real("beta1", t.beta1, out);
    append_real("beta2", t.beta2, out);
    append_real("eps", t.eps, out);
    append_real("weight_decay", t.weight_decay, out);
    text_append_printf(out,
                       "\n[lr_scheduler]\nwarmup_steps = %d\ntotal_steps = %d\n"
                       "decay_type = \"%s\"\n",
                       t.warmup_steps, t.total_steps,
                       t.decay == PLAIT_LR_CONSTANT ? "linear" : plait_lr_decay_name[t.decay]);
    append_real("decay_ratio", titan_decay_ratio(&t), out);
    append_real("min_lr_factor", titan_end(&t), out);
    text_append_printf(out, "\n[checkpoint]\nenable = true\nfolder = \"%s\"\ninterval = %d\n",
                       folder != NULL ? folder : "", TRAINING_SAVE_STEPS);
    out->failed = out->failed || folder == NULL;
}

/* Return config.toml for a plan that passes titan_has_toml; NULL: out of memory. */
static const char *titan_toml(const plait_launch *launch, plait_arena *arena)
{
    static const training_places places = {
        .data = "training.dataset, model.hf_assets_path",
        .length = "training.steps",
        .values = "optimizer, lr_scheduler, training.max_norm",
        .checkpoints = "checkpoint",
    };
    text_builder out;

    text_builder_init(&out, arena);
    titan_append_head(launch, "# config.toml - the plan of recipe.py for torchtitan before 2026-03",
                      &places, &out);
    const titan_flavour *const flavour = titan_flavour_of(launch->problem->model);
    const bool experts = model_has_experts(launch->problem->model);
    const char *const converter = launch->problem->job.precision == PLAIT_FP8 ? "float8" : "mx";
    text_append(&out, "\n[job]\ndescription = ");
    titan_append_quoted(launch->problem->model->name, &out);
    text_append_printf(&out, "\n\n[model]\nname = \"%s\"\nflavor = \"%s\"\n",
                       titan_module[flavour->family], flavour->name);
    text_append(&out, "hf_assets_path = \"./tests/assets/tokenizer\"\n");
    if (launch->problem->job.precision != PLAIT_BF16) {
        text_append_printf(&out, "converters = [\"quantize.linear.%s\"", converter);
        if (experts)
            text_append_printf(&out, ", \"quantize.grouped_mm.%s\"", converter);
        text_append(&out, "]\n");
    }
    titan_settings settings;
    const char *section = "";
    titan_toml_settings_of(launch, &settings);
    for (int i = 0; i < settings.count; i++) {
        const titan_setting *const s = &settings.setting[i];

        if (strcmp(section, s->section) != 0) {
            if (strcmp(section, "parallelism") == 0)
                append_toml_split(launch, &out);
            text_append_printf(&out, "\n[%s]\n", section = s->section);
        }
        text_append_printf(&out, "%s = ", s->key);
        titan_append_value(s, "true", "false", &out);
        text_append_char(&out, '\n');
        if (i == 2) // the length follows the batch
            append_length(launch, &out);
    }
    // both converters skip the head; experts have their own converter
    const bool fp8 = launch->problem->job.precision == PLAIT_FP8;
    if (launch->problem->job.precision != PLAIT_BF16) {
        text_append_printf(&out, "\n[quantize.linear.%s]\n%sfilter_fqns = [\"output\"%s]\n",
                           fp8 ? "float8" : "mx", fp8 ? "recipe_name = \"rowwise\"\n" : "",
                           experts ? ", \"router.gate\"" : "");
        if (experts)
            text_append_printf(&out, "\n[quantize.grouped_mm.%s]\nfqns = [\"experts\"]\n",
                               fp8 ? "float8" : "mx");
    }
    append_toml_training(launch, &out);
    return text_builder_finish(&out, NULL);
}

/* Return torchtitan's configuration function for the plan's model and number format; NULL: none. */
static const char *own_config(const plait_launch *launch)
{
    const plait_problem *const problem = launch->problem;
    const titan_flavour *const flavour = titan_flavour_of(problem->model);
    titan_weights weights;

    if (flavour == NULL || problem->model->mtp_layers > 0 ||
        problem->job.seq > flavour->positions ||
        (launch->plan->degrees.pp > 1 && !titan_weights_of(launch, &weights)))
        return NULL;
    const bool varlen = strcmp(titan_attention(launch), "varlen") == 0;
    if (varlen != (flavour->family == TITAN_GPT_OSS)) // the functions choose the attention
        return NULL;
    if (problem->job.precision == PLAIT_BF16)
        return flavour->config;
    return problem->job.precision == PLAIT_FP8 && titan_is_compiled(launch) ? flavour->quantized
                                                                            : NULL;
}

static void append_settings(const plait_launch *launch, launch_args *args)
{
    titan_settings settings;
    const char *section = "";

    titan_settings_of(launch, &settings);
    for (int i = 0; i < settings.count; i++) {
        if (strcmp(section, settings.setting[i].section) != 0)
            args_group(args, section = settings.setting[i].section);
        const titan_setting *const s = &settings.setting[i];
        const char *const no = s->kind == TITAN_SWITCH && s->number == 0 ? "no-" : "";
        const char *const name =
            plait_arena_printf(args->arena, "--%s.%s%s", s->section, no, s->key);

        if (name == NULL)
            args->failed = true;
        else if (s->kind == TITAN_SWITCH)
            args_switch(args, name);
        else if (s->kind == TITAN_NUMBER)
            args_printf(args, name, "%lld", (long long)s->number);
        else
            args_text(args, name, s->text);
    }
}

static void append_training(const plait_launch *launch, launch_args *args)
{
    const launch_training t = training_of(launch->problem);
    const char *const folder = training_checkpoints(launch->problem->model, args->arena);

    args_int(args, "--training.steps", TRAINING_TRY_STEPS);
    args_number(args, "--training.max_norm", t.clip);
    args_int(args, "--lr_scheduler.warmup_steps", t.warmup_steps);
    args_int(args, "--lr_scheduler.total_steps", t.total_steps);
    args_text(args, "--lr_scheduler.decay_type",
              t.decay == PLAIT_LR_CONSTANT ? "linear" : plait_lr_decay_name[t.decay]);
    args_number(args, "--lr_scheduler.decay_ratio", titan_decay_ratio(&t));
    args_number(args, "--lr_scheduler.min_lr_factor", titan_end(&t));
    args_switch(args, "--checkpoint.enable");
    args_text(args, "--checkpoint.folder", folder != NULL ? folder : "");
    args_int(args, "--checkpoint.interval", TRAINING_SAVE_STEPS);
    args->failed = args->failed || folder == NULL;
}

static const char *titan_args(const plait_launch *launch, plait_arena *arena)
{
    static const training_places places = {
        .data = "the configuration's dataset; --hf_assets_path",
        .length = "--training.steps",
        .values = "--training.max_norm, --lr_scheduler.*; the configuration sets the optimizer",
        .checkpoints = "--checkpoint.*",
    };
    const char *const own = own_config(launch);
    const titan_family family = titan_family_of(launch->problem->model);
    launch_args args;
    args_init(&args, arena);
    args_group(&args, "model");
    args_text(&args, "--module", own != NULL ? titan_module[family] : "recipe");
    args_text(&args, "--config", own != NULL ? own : "plan");
    append_settings(launch, &args);
    if (own != NULL) {
        titan_weights weights;
        if (launch->plan->degrees.pp != 1 && titan_weights_of(launch, &weights)) {
            args_group(&args, "assignment of layers to stages");
            args_int(&args, "--parallelism.pipeline_parallel_first_stage_less_layers",
                     weights.first);
            args_int(&args, "--parallelism.pipeline_parallel_last_stage_less_layers", weights.last);
            if (weights.layers_per_stage > 0)
                args_int(&args, "--parallelism.pipeline_parallel_layers_per_stage",
                         weights.layers_per_stage);
        }
    }
    args_group(&args, "to edit: tokenizer, length, schedule, checkpoints");
    args_text(&args, "--hf_assets_path", "./tests/assets/tokenizer");
    append_training(launch, &args);
    // the choice of a class is a word without dashes and must end the list
    args_group(&args, "recomputation of activations");
    args_switch(&args, plait_arena_printf(args.arena, "activation-checkpoint:%s",
                                          titan_checkpoint(launch)));
    text_builder out;

    text_builder_init(&out, arena);
    text_append(&out, "# shellcheck shell=bash disable=SC2215\n");
    titan_append_head(launch, "# args.sh - the plan of recipe.py as arguments of torchtitan.train",
                      &places, &out);
    if (own == NULL)
        text_append(&out, "#\n# Add the folder of recipe.py to PYTHONPATH.\n");
    args_append_shell(&args, &out);
    return text_builder_finish(&out, NULL);
}

static plait_status render(const plait_launch *launch, plait_arena *arena, plait_launch_folder *out,
                           plait_error *err)
{
    static const launch_program program = {
        .what = "torchtitan",
        .checkout = "TORCHTITAN",
        .start = "export PYTORCH_ALLOC_CONF=expandable_segments:True\n"
                 "if [[ $here == *:* ]]; then\n"
                 "    echo \"run.sh: expected a folder without a colon, which PYTHONPATH "
                 "interprets, found $here\" >&2\n"
                 "    exit 1\n"
                 "fi\n"
                 "export PYTHONPATH=\"$here${PYTHONPATH:+:$PYTHONPATH}\"\n" SCRIPTS_TORCHRUN
                 "    -m torchtitan.train --module recipe --config plan \"$@\"",
    };

    PLAIT_TRY(folder_add(out, "recipe.py", titan_recipe(launch, arena), false, err));
    PLAIT_TRY(folder_add(out, "args.sh", titan_args(launch, arena), false, err));
    if (titan_has_toml(launch))
        PLAIT_TRY(folder_add(out, "config.toml", titan_toml(launch, arena), false, err));
    return scripts_add(launch, &program, arena, out, err);
}

const launch_target target_torchtitan = {
    .name = "torchtitan",
    .runtime = "torchtitan",
    .rules = PLAIT_RULES_TORCHTITAN,
    .render = render,
    .import = titan_import,
    .read_log = titan_read_log,
};
