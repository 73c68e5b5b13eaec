/*
 * import_deepspeed.c - what DeepSpeed's JSON adds to the arguments of Megatron-DeepSpeed
 *
 * A path is not followed: only a file that the script itself makes, or one of the script's own
 * folder, is read.
 */
#include <ctype.h>
#include <string.h>

#include "deepspeed_file.h"
#include "file.h"
#include "import_parts.h"

enum { CONFIG_MAX_BYTES = 1 << 20 };

static const char *base_name(const char *path)
{
    const char *const slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* JSON has no word for what is not known: null outside of quotes, ? inside. */
static const char *without_unknown(const char *text, plait_arena *arena)
{
    bool quoted = false;
    text_builder out;

    text_builder_init(&out, arena);
    for (; *text != '\0'; text++) {
        quoted = *text == '"' ? !quoted : quoted;
        if (!shell_word_known((char[]){*text, '\0'})) {
            text_append(&out, quoted ? "?" : "null");
            text += strspn(text + 1, "0123456789");
            text += text[1] == '\x02';
        } else {
            text_append_char(&out, *text);
        }
    }
    return text_builder_finish(&out, NULL);
}

/* A file that the script makes: under the very name, or one that ends alike. */
static const char *made_by_script(const launch_flags *flags, const char *name)
{
    const shell_words *const script = &flags->script;

    for (int f = script->files - 1; f >= 0; f--)
        if (strcmp(base_name(script->file[f].name), base_name(name)) == 0)
            return without_unknown(script->file[f].text, flags->arena);
    return NULL;
}

static const char *beside_script(const launch_flags *flags, const char *name)
{
    const size_t folder = (size_t)(base_name(flags->file) - flags->file);
    const char *const path =
        plait_arena_printf(flags->arena, "%.*s%s", (int)folder, flags->file, base_name(name));
    const char *text;

    if (path == NULL || base_name(name)[0] == '\0' || !shell_word_known(name) ||
        file_read_all(path, CONFIG_MAX_BYTES, flags->arena, &text, NULL, NULL) != PLAIT_OK)
        return NULL;
    return text;
}

static void take_config(const deepspeed_file *file, megatron_args *args, plan_reader *in)
{
    if (file->zero >= 0)
        args->zero_stage = file->zero;
    if (args->micro_batch_size == 0 && file->micro > 0)
        args->micro_batch_size = file->micro;
    if (args->global_batch_size == 0 && file->train > 0)
        args->global_batch_size = file->train;
    if (!args->bf16 && !args->fp16) {
        args->bf16 = file->bf16 == true;
        args->fp16 = file->fp16 == true;
    }
    if (file->offload)
        import_warn(in, "DeepSpeed's offloading to CPU or NVMe is not priced");
    if (file->quantized)
        import_warn(in, "quantized communication (ZeRO++) is not priced");
}

static plait_status read_config(const char *name, megatron_args *args, plan_reader *in,
                                plait_error *err)
{
    const char *text = made_by_script(in->flags, name);
    plait_error inner = {.status = PLAIT_OK};
    deepspeed_file file;

    text = text != NULL ? text : beside_script(in->flags, name);
    if (text == NULL || deepspeed_file_parse(text, strlen(text), base_name(name), in->flags->arena,
                                             &file, &inner) != PLAIT_OK) {
        if (inner.status == PLAIT_ERROR_NOMEM)
            return plait_fail_nomem(err);
        import_warn(in, text == NULL
                            ? "the JSON that --deepspeed_config names is neither in the script nor "
                              "beside it: what it says is taken as not given"
                            : "the JSON that --deepspeed_config names cannot be read: what it says "
                              "is taken as not given");
        return PLAIT_OK;
    }
    take_config(&file, args, in);
    return PLAIT_OK;
}

plait_status megatron_read_deepspeed(megatron_args *args, plan_reader *in, plait_error *err)
{
    const launch_flag *const config = flags_last(in->flags, MEGATRON_NAME(deepspeed_config));

    args->deepspeed = args->deepspeed || config != NULL || args->zero_stage > 0;
    if (config != NULL)
        PLAIT_TRY(read_config(config->value[0], args, in, err));
    if (args->no_pipeline_parallel)
        args->pipeline_model_parallel_size = 1;
    if (args->deepspeed && args->bf16 && args->zero_stage < 1)
        args->zero_stage = 1; // its BF16_Optimizer shards what stage 1 does
    return PLAIT_OK;
}
