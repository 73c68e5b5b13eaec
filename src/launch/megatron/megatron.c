/*
 * megatron.c - Megatron-LM's pretrain_gpt.py: args.sh, and what starts it
 *
 * Flags, types and choices are those of NVIDIA/Megatron-LM d98e8a6 (2026-08-22).
 */
#include "megatron.h"
#include "notes.h"
#include "scripts.h"

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
    text_append(out, "export TORCH_NCCL_AVOID_RECORD_STREAMS=1\n"
                     "export PYTORCH_ALLOC_CONF=expandable_segments:True\n");
}

/* What a run needs and no plan decides: with these it starts on random tokens. */
static void append_placeholders(launch_args *args)
{
    args_group(args, "yours to replace: data, tokenizer, schedule, checkpoints");
    args_switch(args, "--mock-data");
    args_text(args, "--tokenizer-type", "NullTokenizer");
    args_int(args, "--train-iters", 100);
    args_number(args, "--lr", 1e-4);
    args_number(args, "--min-lr", 1e-5);
    args_text(args, "--lr-decay-style", "cosine");
    args_int(args, "--eval-iters", 0);
    args_int(args, "--log-interval", 1);
}

static const char *arguments(const plait_launch *launch, plait_arena *arena)
{
    const char *const title = scripts_title(launch, arena);
    const char *const expectation = scripts_expectation(launch, arena);
    launch_args args;
    text_builder out;
    const char *list;

    args_init(&args, arena);
    megatron_append_model(launch->problem, &args);
    megatron_append_plan(launch->problem, &launch->plan->degrees, &args);
    append_placeholders(&args);
    list = args_shell(&args);
    if (title == NULL || expectation == NULL || list == NULL)
        return NULL;
    text_builder_init(&out, arena);
    text_append_printf(&out,
                       "# shellcheck shell=bash disable=SC2215\n"
                       "# args.sh - arguments of pretrain_gpt.py, one a line; run.sh reads them\n"
                       "#\n# %s\n# %s\n",
                       title, expectation);
    notes_append(launch, &out);
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

    PLAIT_TRY(folder_add(out, "args.sh", arguments(launch, arena), false, err));
    return scripts_add(launch, &program, arena, out, err);
}

const launch_target target_megatron = {
    .name = "megatron",
    .runtime = "megatron",
    .rules = PLAIT_RULES_MEGATRON,
    .render = render,
    .import = megatron_import,
};
