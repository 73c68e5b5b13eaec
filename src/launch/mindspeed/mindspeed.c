/* mindspeed.c - MindSpeed-LLM's pretrain_gpt.py on Ascend: args.sh, and what starts it */
#include "launch/mindspeed/mindspeed.h"

#include "launch/write/notes.h"
#include "launch/write/scripts.h"
#include "launch/write/training.h"

static const training_places places = {
    .data = "random tokens: --mock-data, --tokenizer-type",
    .length = "--train-iters",
    .values = "--lr to --clip-grad",
    .checkpoints = "--save, --load, --save-interval",
    .cluster = true,
};

static void append_head(const plait_launch *launch, text_builder *out)
{
    scripts_append_head(launch,
                        "# shellcheck shell=bash disable=SC2215\n"
                        "# args.sh - arguments of MindSpeed-LLM's pretrain_gpt.py, one a line; "
                        "run.sh reads them",
                        &places, out);
    notes_append(launch, out);
}

/* As the project's examples have it; the queue of one connection is Megatron's own condition. */
static const char environment[] = "\n# environment\n"
                                  "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"
                                  "export HCCL_CONNECT_TIMEOUT=3600\n"
                                  "export HCCL_EXEC_TIMEOUT=3600\n"
                                  "export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True\n";

static const char *arguments(const plait_launch *launch, const launch_args *flags,
                             plait_arena *arena)
{
    const char *const list = args_shell(flags);
    text_builder out;

    if (list == NULL)
        return NULL;
    text_builder_init(&out, arena);
    append_head(launch, &out);
    text_append(&out, environment);
    text_append(&out, list);
    return text_builder_finish(&out, NULL);
}

static plait_status render(const plait_launch *launch, plait_arena *arena, plait_launch_folder *out,
                           plait_error *err)
{
    static const launch_device npu = {"gres=npu", "huawei.com/Ascend910",
                                      "one of CANN and torch_npu"};
    static const launch_program program = {
        .what = "MindSpeed-LLM",
        .checkout = "MINDSPEED_LLM",
        .args = "args.sh",
        .notes = "# The folder of MindSpeed-LLM is to hold the folder megatron of Megatron Core "
                 "0.12.1; MindSpeed is\n"
                 "# installed beside torch_npu.\n",
        .device = &npu,
        .start = SCRIPTS_TORCHRUN "    pretrain_gpt.py \"${args[@]}\" \"$@\"",
    };

    megatron_args args;
    launch_args flags, own;

    PLAIT_TRY(megatron_args_of(launch->problem, launch->plan, arena, &args, err));
    args_init(&own, arena);
    mindspeed_words(launch->problem, launch->plan, &args, &own);
    args_init(&flags, arena);
    megatron_args_append(&args, &flags);
    args_append(&flags, &own);
    PLAIT_TRY(folder_add(out, "args.sh", arguments(launch, &flags, arena), false, err));
    return scripts_add(launch, &program, arena, out, err);
}

const launch_target target_mindspeed = {
    .name = "mindspeed",
    .runtime = "mindspeed",
    .rules = PLAIT_RULES_MINDSPEED,
    .render = render,
    .import = mindspeed_import,
};
