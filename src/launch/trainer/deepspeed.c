/* deepspeed.c - DeepSpeed's ds_config.json, and what starts a training script with it */
#include "launch/trainer/deepspeed.h"
#include "launch/write/deepspeed_config.h"
#include "launch/write/scripts.h"
#include "launch/write/training.h"
#include "launch/trainer/training_script.h"
#include "plan/model_queries.h"

/* ---- what the training script does ---- */

static const training_places places = {
    .data = "the training script's, as are its length and checkpoints",
    .values = "ds_config.json: optimizer, scheduler, gradient_clipping",
    .cluster = true,
};

static const char *notes(const plait_launch *launch, plait_arena *arena)
{
    const plait_degrees *const d = &launch->plan->degrees;
    text_builder more;

    text_builder_init(&more, arena);
    text_append(&more, d->recompute.kind == PLAIT_RECOMPUTE_FULL
                           ? "#   recomputation  of every layer: gradient_checkpointing_enable()\n"
                           : "#   recomputation  none\n");
    if (d->zero == 3)
        text_append_printf(&more,
                           "#   weights        built inside deepspeed.zero.%s("
                           "config_dict_or_path=...)\n",
                           d->shard_group < d->dp ? "MiCS_Init" : "Init");
    if (d->zero == 3 && model_has_experts(launch->problem->model))
        text_append(&more, "#   experts        each block of experts a leaf module: "
                           "set_z3_leaf_modules, or zero_optimization.leaf_module\n");
    return training_script_notes(launch, &places, text_builder_finish(&more, NULL), arena);
}

static plait_status render(const plait_launch *launch, plait_arena *arena, plait_launch_folder *out,
                           plait_error *err)
{
    const launch_program program = {
        .what = "DeepSpeed",
        .script = "TRAIN",
        .notes = notes(launch, arena),
        .start = SCRIPTS_TORCHRUN
        "    \"$TRAIN\" --deepspeed --deepspeed_config \"$here/ds_config.json\" \"$@\"",
    };
    const char *text;

    if (program.notes == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(deepspeed_config(launch, DEEPSPEED_ZERO, arena, &text, err));
    PLAIT_TRY(folder_add(out, "ds_config.json", text, false, err));
    return scripts_add(launch, &program, arena, out, err);
}

const launch_target target_deepspeed = {
    .name = "deepspeed",
    .runtime = "deepspeed",
    .rules = PLAIT_RULES_DEEPSPEED,
    .lacks = training_script_lacks,
    .render = render,
    .import = deepspeed_import,
};
