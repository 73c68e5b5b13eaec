/*
 * megatron.c - Megatron-LM's pretrain_gpt.py: args.sh, and what starts it
 *
 * What it says is arguments.h's, how it is spelled argument_table.c's.
 */
#include "megatron.h"
#include "notes.h"
#include "scripts.h"
#include "training.h"
#include "user_buffers.h"

/* Blackwell and later schedule copies and kernels beside each other without being told. */
static bool needs_one_connection(const plait_problem *problem, const plait_degrees *d)
{
    const plait_accelerator *const gpu = problem->cluster->group[0].accelerator;

    return (d->tp > 1 || d->cp > 1) && d->zero < 2 && gpu->peak_flops_per_s[PLAIT_MXFP8] <= 0.0;
}

void megatron_append_environment(const plait_launch *launch, text_builder *out)
{
    if (needs_one_connection(launch->problem, &launch->plan->degrees))
        text_append(out, "export CUDA_DEVICE_MAX_CONNECTIONS=1\n");
    if (launch->problem->runtime->overlap.tp_comm &&
        user_buffers_of(launch->problem, &launch->plan->degrees) == USER_BUFFERS_IPC)
        text_append(out, "export UB_SKIPMC=1\n");
    if (launch->plan->degrees.offload_acts > 0) // Transformer Engine's own offload stands aside
        text_append(out, "export NVTE_CPU_OFFLOAD_V1=1\n");
    text_append(out, "export TORCH_NCCL_AVOID_RECORD_STREAMS=1\n"
                     "export PYTORCH_ALLOC_CONF=expandable_segments:True\n");
}

static const training_places places = {
    .data = "random tokens: --mock-data, --tokenizer-type",
    .length = "--train-iters",
    .values = "--lr to --clip-grad",
    .checkpoints = "--save, --load, --save-interval",
    .cluster = true,
};

static void append_head(const plait_launch *launch, const megatron_args *args, text_builder *out)
{
    const int since = megatron_args_since(args);

    scripts_append_head(launch, MEGATRON_ARGS_HEAD, &places, out);
    if (since > 0)
        text_append_printf(out, "# its flags need Megatron Core 0.%d.0 or later\n", since);
    notes_append(launch, out);
}

static const char *arguments(const plait_launch *launch, const megatron_args *args,
                             plait_arena *arena)
{
    launch_args flags;
    text_builder out;
    const char *list;

    args_init(&flags, arena);
    megatron_args_append(args, &flags);
    list = args_shell(&flags);
    if (list == NULL)
        return NULL;
    text_builder_init(&out, arena);
    append_head(launch, args, &out);
    text_append(&out, "\n# environment\n");
    megatron_append_environment(launch, &out);
    text_append(&out, list);
    return text_builder_finish(&out, NULL);
}

static plait_status render(const plait_launch *launch, plait_arena *arena, plait_launch_folder *out,
                           plait_error *err)
{
    static const launch_program program = {
        .what = "Megatron-LM",
        .checkout = "MEGATRON",
        .args = "args.sh",
        .start = SCRIPTS_TORCHRUN "    pretrain_gpt.py \"${args[@]}\" \"$@\"",
    };

    megatron_args args;

    PLAIT_TRY(megatron_args_of(launch->problem, launch->plan, arena, &args, err));
    PLAIT_TRY(folder_add(out, "args.sh", arguments(launch, &args, arena), false, err));
    return scripts_add(launch, &program, arena, out, err);
}

const launch_target target_megatron = {
    .name = "megatron",
    .runtime = "megatron",
    .rules = PLAIT_RULES_MEGATRON,
    .render = render,
    .import = megatron_import,
};
