/*
 * finetune.c - fine-tuning by Hugging Face's Trainer: what TRL and LLaMA-Factory share
 *
 * A YAML file has the arguments of the Trainer. The parallelism is in another file: accelerate.yaml
 * for FSDP2, or the JSON of DeepSpeed that the argument `deepspeed` names.
 */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "launch/trainer/trainer.h"
#include "launch/write/deepspeed_config.h"
#include "launch/write/scripts.h"

/* ---- writing ---- */

/* Return the kind of job as the name of a file: adapters are a way to do SFT. */
static const char *kind_word(const plait_tuning *tuning)
{
    return tuning->kind == PLAIT_JOB_DPO ? "dpo" : "sft";
}

static const char *config_text(const plait_launch *launch, const trainer_dialect *dialect,
                               const tuning_settings *settings, plait_arena *arena)
{
    const char *const kind = kind_word(&launch->problem->job.tuning);
    const char *const first = plait_arena_printf(
        arena, "# %s.yaml - arguments of %s; run.sh starts it", kind, dialect->what);
    text_builder out;

    text_builder_init(&out, arena);
    scripts_append_head(launch, first != NULL ? first : "", NULL, &out);
    text_append_printf(&out,
                       "#\n# To edit before a real run; the plan sets everything else:\n%s#\n",
                       dialect->edits);
    tuning_append_notes(launch, &out);
    settings_append_yaml(dialect->rows, settings, &out);
    out.failed = out.failed || first == NULL;
    return text_builder_finish(&out, NULL);
}

plait_status trainer_render(const plait_launch *launch, const trainer_dialect *dialect,
                            plait_arena *arena, plait_launch_folder *out, plait_error *err)
{
    const bool fsdp = launch->problem->runtime->rules == PLAIT_RULES_FSDP;
    const char *const kind = kind_word(&launch->problem->job.tuning);
    const char *const name = plait_arena_printf(arena, "%s.yaml", kind);
    tuning_settings settings;
    launch_program program = {.what = dialect->what, .runs_here = true};
    const char *text;
    text_builder start;

    PLAIT_TRY(plait_check_allocated(name, err));
    PLAIT_TRY(tuning_settings_of(launch, tuning_names_hub, arena, &settings, err));
    dialect->adapt(launch, fsdp, &settings);
    if (fsdp) {
        PLAIT_TRY(folder_add(out, "accelerate.yaml", accelerate_config(launch, arena), false, err));
        // the Trainer rejects its own recomputation together with that of FSDP
        settings.checkpoints = 0;
        settings.plain = 1;
        if (trainer_reduces_each_microbatch(launch))
            settings.accelerator =
                "{\"gradient_accumulation_kwargs\": {\"sync_each_batch\": true}}";
    } else {
        settings.deepspeed = "ds_config.json";
        PLAIT_TRY(deepspeed_config(launch, DEEPSPEED_TRAINER, arena, &text, err));
        PLAIT_TRY(folder_add(out, settings.deepspeed, text, false, err));
    }
    PLAIT_TRY(folder_add(out, name, config_text(launch, dialect, &settings, arena), false, err));
    text_builder_init(&start, arena);
    text_append(&start, "cd \"$here\"\n");
    // %s of the start is the kind of job, as often as it occurs
    for (const char *at = fsdp ? dialect->start_fsdp : dialect->start_deepspeed; *at != '\0'; at++)
        if (at[0] == '%' && at[1] == 's') {
            text_append(&start, kind);
            at++;
        } else {
            text_append_char(&start, *at);
        }
    program.start = text_builder_finish(&start, NULL);
    PLAIT_TRY(plait_check_allocated(program.start, err));
    return scripts_add(launch, &program, arena, out, err);
}

/* ---- reading ---- */

static plait_status take_deepspeed(const tuning_settings *settings, const char *name,
                                   plait_arena *arena, text_builder *warnings, plans_entry *out,
                                   plait_error *err)
{
    const launch_flags folder = {.file = name, .arena = arena, .launch = -1};
    static const char empty[] = "{\"fp16\": {}}";
    deepspeed_file file;
    const char *text;
    plait_error inner = {.status = PLAIT_OK};

    PLAIT_TRY(named_json(&folder, settings->deepspeed, &text, err));
    if (text == NULL || deepspeed_file_parse(text, strlen(text), settings->deepspeed, arena, &file,
                                             &inner) != PLAIT_OK) {
        PLAIT_TRY(faults_only(inner.status, &inner, err));
        PLAIT_TRY(deepspeed_file_parse(empty, strlen(empty), name, arena, &file, err));
        file.zero = DEEPSPEED_OPEN;
        if (!deepspeed_file_named(settings->deepspeed, &file))
            import_warn(warnings, "the JSON file of DeepSpeed is not in the folder of the config; "
                                  "its values are treated as not given");
    }
    if (file.micro < 0)
        file.micro = settings->batch > 0 ? settings->batch : 1;
    if (file.steps < 0)
        file.steps = settings->steps > 0 ? settings->steps : 1;
    file.checkpoints = DEEPSPEED_OPEN; // the Trainer's argument decides
    return deepspeed_take_file(&file, name, warnings, out, err);
}

plait_status trainer_import(const trainer_dialect *dialect,
                            plait_job_kind (*kind_of)(const settings_source *, tuning_settings *),
                            const char *text, size_t length, const char *name,
                            const launch_call *call, plait_arena *arena, plans_entry *out,
                            text_builder *warnings, plait_error *err)
{
    tuning_settings settings = tuning_settings_init();
    settings_source source;

    PLAIT_TRY(settings_open(text, length, name, false, call, arena, &source, err));
    PLAIT_TRY(settings_read(dialect->rows, &source, &settings, err));
    PLAIT_TRY(notes_read(text, length, name, arena, out, err));
    if (call != NULL && call->model != NULL)
        out->model = call->model;
    const plait_job_kind kind = kind_of(&source, &settings);
    const char *const named = out->runtime;
    const int gpus = out->gpus;
    if (settings.deepspeed != NULL)
        PLAIT_TRY(take_deepspeed(&settings, name, arena, warnings, out, err));
    out->runtime = named != NULL ? named : settings.deepspeed != NULL ? "deepspeed" : "fsdp";
    out->gpus = gpus > 0 ? gpus : call != NULL && call->gpus > 0 ? call->gpus : out->gpus;
    PLAIT_TRY(tuning_take(&settings, kind, tuning_names_hub, arena, warnings, out, err));
    out->not_read = settings_not_read(&source);
    return plait_check_allocated(out->not_read, err);
}
