/*
 * deepspeed_pipeline.c - DeepSpeed's pipeline engine under Megatron-DeepSpeed's pretrain_gpt.py
 *
 * args.sh says the model and the degrees, ds_config.json the batch, ZeRO and precision, partition.py
 * the layers of each stage. A script of one's own that builds a PipelineModule needs the last two alone.
 */
#include "launch/write/deepspeed_config.h"
#include "launch/megatron/deepspeed_parts.h"
#include "launch/megatron/megatron.h"
#include "launch/write/notes.h"
#include "launch/write/scripts.h"
#include "launch/write/training.h"

static const training_places places = {
    .data = "--data-path, --tokenizer-type: there are no random tokens",
    .length = "--train-iters",
    .values = "--lr to --clip-grad; gradient_clipping in ds_config.json",
    .checkpoints = "--save, --load, --save-interval",
    .cluster = true,
};

/* What neither the arguments nor the JSON beside them say to an import. */
static void append_notes(const plait_launch *launch, text_builder *out)
{
    static const plait_key_id keys[] = {PLAIT_KEY_SPLIT, PLAIT_KEY_GRAD_REDUCE};
    char value[PLAIT_VALUE_SIZE];

    notes_append(launch, out);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        notes_append_one(plait_keys[keys[k]].name,
                         plait_degrees_get(&launch->plan->degrees, keys[k], value, sizeof value),
                         out);
}

static const char *arguments(const plait_launch *launch, plait_arena *arena)
{
    launch_args flags;
    text_builder out;
    const char *list;

    args_init(&flags, arena);
    deepspeed_args_append(launch, &flags);
    list = args_shell(&flags);
    if (list == NULL)
        return NULL;
    text_builder_init(&out, arena);
    scripts_append_head(launch, MEGATRON_ARGS_HEAD, &places, &out);
    append_notes(launch, &out);
    text_append(&out, list);
    return text_builder_finish(&out, NULL);
}

static plait_status render(const plait_launch *launch, plait_arena *arena, plait_launch_folder *out,
                           plait_error *err)
{
    static const launch_program program = {
        .what = "Megatron-DeepSpeed",
        .checkout = "MEGATRON",
        .args = "args.sh",
        .start = SCRIPTS_TORCHRUN "    \"$here/partition.py\" pretrain_gpt.py \\\n"
                                  "    --deepspeed_config \"$here/ds_config.json\" "
                                  "\"${args[@]}\" \"$@\"",
    };
    const char *config;

    PLAIT_TRY(deepspeed_config(launch, DEEPSPEED_PIPELINE, arena, &config, err));
    PLAIT_TRY(folder_add(out, "args.sh", arguments(launch, arena), false, err));
    PLAIT_TRY(folder_add(out, "ds_config.json", config, false, err));
    PLAIT_TRY(folder_add(out, "partition.py", deepspeed_partition(launch, arena), false, err));
    return scripts_add(launch, &program, arena, out, err);
}

const launch_target target_deepspeed_pipeline = {
    .name = "deepspeed-pipeline",
    .runtime = "megatron-deepspeed",
    .rules = PLAIT_RULES_MEGATRON_DEEPSPEED,
    .render = render,
    .import = megatron_import,
};
