/*
 * script_import.c - a plan out of a script that starts training with DeepSpeed
 *
 * Flags are those of Hugging Face's Trainer and of DeepSpeed-Chat, which train a model of the hub.
 * The JSON that --deepspeed or --deepspeed_config names is read where it is at hand (named_file.h).
 */
#include <string.h>

#include "launch/trainer/deepspeed.h"
#include "launch/read/deepspeed_file.h"
#include "base/status.h"
#include "launch/read/hub_model.h"
#include "launch/read/launcher.h"
#include "launch/read/named_file.h"
#include "launch/read/plan_reader.h"

/* ---- flags ---- */

/* The first of some names that has a known value; NULL: none. */
static const char *value_of(const launch_flags *flags, const char *const *names)
{
    for (; *names != NULL; names++) {
        const launch_flag *const flag = flags_find(flags, *names);

        if (flag != NULL)
            return flag->value[0];
    }
    return NULL;
}

static int number_of(const launch_flags *flags, const char *const *names, int least)
{
    const char *const value = value_of(flags, names);
    int number;

    return value != NULL && text_parse_int(value, least, 1 << 20, &number) ? number
                                                                           : DEEPSPEED_OPEN;
}

static bool is_on(const launch_flags *flags, const char *const *names)
{
    const char *const value = value_of(flags, names);

    return value != NULL && !flags_value_is_off(value);
}

/* ---- the model ---- */

static plait_status take_model(plan_reader *in, plait_error *err)
{
    static const char *const names[] = {"model_name_or_path", "model_name", "model", NULL};
    const char *const path = value_of(in->flags, names);
    const plait_model *model = NULL;

    if (path != NULL)
        PLAIT_TRY(hub_model_find(path, in->flags->arena, &model, err));
    if (model != NULL)
        in->out->model = model;
    else
        import_warn(in, "the model is not known, give it with --model");
    return PLAIT_OK;
}

/* ---- the plan ---- */

/*
 * Names of configs that ms-swift has: zero0 to zero3, zero2_offload and zero3_offload (the folder ds_config of
 * modelscope/ms-swift v3.8.0 and v4.5.2).
 */
static bool take_built_in(const char *name, deepspeed_file *file)
{
    static const char *const names[] = {"zero0",         "zero1",         "zero2", "zero3",
                                        "zero2_offload", "zero3_offload", NULL};

    if (text_index(name, names) < 0)
        return false;
    file->zero = name[4] - '0';
    file->offload_optimizer = text_ends_with(name, "_offload");
    file->offload_params = file->offload_optimizer && file->zero == 3;
    return true;
}

/* The JSON, or what it would be if the flags said everything. */
static plait_status read_config(plan_reader *in, deepspeed_file *file, plait_error *err)
{
    static const char *const names[] = {"deepspeed_config", "deepspeed", NULL};
    const char *const name = value_of(in->flags, names);
    const char *text = NULL;
    plait_error inner = {.status = PLAIT_OK};

    if (name != NULL && strcmp(name, "true") != 0)
        PLAIT_TRY(named_json(in->flags, name, &text, err));
    if (text != NULL &&
        deepspeed_file_parse(text, strlen(text), name, in->flags->arena, file, &inner) == PLAIT_OK)
        return PLAIT_OK;
    PLAIT_TRY(faults_only(inner.status, &inner, err));
    static const char empty[] = "{\"fp16\": {}}";
    PLAIT_TRY(
        deepspeed_file_parse(empty, strlen(empty), in->flags->file, in->flags->arena, file, err));
    if (name != NULL && !text_equal(name, "true") && !take_built_in(name, file))
        import_warn(in,
                    "the JSON that --deepspeed_config names is neither in the script nor beside "
                    "it, or no config: what it says is taken as not given");
    return PLAIT_OK;
}

static void take_batch(const launch_flags *flags, deepspeed_file *file)
{
    static const char *const micro[] = {"per_device_train_batch_size",
                                        "per_device_training_batch_size", "batch_size", NULL};
    static const char *const steps[] = {"gradient_accumulation_steps", NULL};
    static const char *const zero[] = {"zero_stage", NULL};

    if (file->micro < 0)
        file->micro = number_of(flags, micro, 1);
    if (file->steps < 0)
        file->steps = number_of(flags, steps, 1);
    file->zero = number_of(flags, zero, 0) >= 0 ? number_of(flags, zero, 0) : file->zero;
    file->zero = file->zero > 3 ? DEEPSPEED_OPEN : file->zero;
}

static void take_precision(const launch_flags *flags, deepspeed_file *file)
{
    static const char *const bf16[] = {"bf16", NULL}, *const fp16[] = {"fp16", NULL};
    static const char *const words[] = {"dtype", "mixed_precision", "torch_dtype", NULL};
    static const char *const bf16_words[] = {"bf16", "bfloat16", NULL};
    static const char *const fp16_words[] = {"fp16", "float16", NULL};
    const char *const word = value_of(flags, words);

    if (file->bf16 == true || file->fp16 == true)
        return;
    file->bf16 = is_on(flags, bf16) || (word != NULL && text_index(word, bf16_words) >= 0);
    file->fp16 =
        !file->bf16 && (is_on(flags, fp16) || (word != NULL && text_index(word, fp16_words) >= 0));
}

static void take_job(plan_reader *in, const deepspeed_file *file)
{
    static const char *const seq[] = {"max_seq_len", "max_seq_length", "max_length", "block_size",
                                      NULL};
    plans_entry *const out = in->out;
    const int64_t steps = file->steps > 0 ? file->steps : 1;

    out->seq = number_of(in->flags, seq, 1) > 0 ? number_of(in->flags, seq, 1) : 0;
    if (out->gpus == 0)
        out->gpus = launcher_gpus(in->flags);
    if (out->gbs == 0 && file->micro > 0 && out->gpus > 0 &&
        steps * file->micro <= PLAIT_MAX_GBS / out->gpus)
        out->gbs = (int)(steps * file->micro * out->gpus);
}

/* --zero_stage $2: the value is an argument of the script, or set in its environment. */
static void warn_of_open(plan_reader *in)
{
    bool any = false;

    for (int i = 0; i < in->flags->count; i++) {
        const launch_flag *const flag = &in->flags->flag[i];
        const shell_origin *const origin =
            flag->values > 0 ? shell_word_origin(&in->flags->script, flag->value[0]) : NULL;

        if (origin == NULL || !flag->read || !flags_is_last(in->flags, flag))
            continue;
        if (!any)
            import_warn(in, "set outside the file, and taken as not given: ");
        text_append_printf(in->warnings, "%s--%s %s", any ? ", " : "", flag->name, origin->text);
        any = true;
    }
}

/* A script of which nothing was read starts no training with DeepSpeed. */
static plait_status check_read(const launch_flags *flags, plait_error *err)
{
    for (int i = 0; i < flags->count; i++)
        if (flags->flag[i].read)
            return PLAIT_OK;
    return plait_fail(err, PLAIT_ERROR_SCHEMA, flags->file,
                      "expected a JSON of DeepSpeed, or a script that starts training with it, "
                      "found no flag such as --zero_stage");
}

plait_status deepspeed_script_import(const char *text, size_t length, const char *name,
                                     const launch_call *call, plait_arena *arena, plans_entry *out,
                                     const char **warning, plait_error *err)
{
    static const char *const checkpoints[] = {"gradient_checkpointing", "activation_checkpointing",
                                              "actor_gradient_checkpointing", NULL};
    static const char *const offload[] = {"offload", NULL};
    launch_flags flags;
    text_builder warnings;
    plan_reader in = {&flags, out, &warnings};
    deepspeed_file file;

    text_builder_init(&warnings, arena);
    PLAIT_TRY(flags_read(text, length, name, call, arena, &flags, err));
    PLAIT_TRY(take_model(&in, err));
    PLAIT_TRY(read_config(&in, &file, err));
    take_batch(&flags, &file);
    take_precision(&flags, &file);
    if (file.checkpoints < 0)
        file.checkpoints = is_on(&flags, checkpoints);
    if (is_on(&flags, offload)) // both sections on cpu: DeepSpeedExamples' dschat/utils/ds_utils.py
        file.offload_params = file.offload_optimizer = true;
    out->gpus = call != NULL ? call->gpus : 0;
    PLAIT_TRY(deepspeed_take_file(&file, name, &warnings, out, err));
    take_job(&in, &file);
    warn_of_open(&in);
    PLAIT_TRY(check_read(&flags, err));
    out->not_read = flags_not_read(&flags);
    *warning = text_builder_finish(&warnings, NULL);
    return *warning != NULL && out->not_read != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
