/*
 * bridge.c - Megatron-Bridge: overrides.sh for scripts/training/run_recipe.py
 *
 * As in NVIDIA-NeMo/Megatron-Bridge 067f987 (2026-08-22). A recipe builds the model and sets
 * everything once; the overrides (overrides.c) set again what the price assumed. The model
 * itself is the recipe's, nothing of it is overridden: without a recipe of its name, RECIPE is to
 * name one.
 */
#include <string.h>

#include "launch/megatron/megatron.h"
#include "launch/write/notes.h"
#include "launch/megatron/releases.h"
#include "launch/write/scripts.h"
#include "launch/write/training.h"

/* The first 0.N that has scripts/training/run_recipe.py. */
enum { FIRST_BRIDGE = 3 };

static training_places places_of(const megatron_args *args)
{
    return (training_places){
        .data = args->moe_router_force_load_balancing
                    ? "the recipe's dataset, random unless it is told of one: then without "
                      "model.moe_router_force_load_balancing; tokenizer.tokenizer_type, with the "
                      "vocabulary of the plan"
                    : "the recipe's dataset; tokenizer.tokenizer_type, with the vocabulary of the "
                      "plan",
        .length = "train.train_iters",
        .values = "optimizer.*, scheduler.*",
        .checkpoints = "checkpoint.save, checkpoint.load, checkpoint.save_interval",
        .cluster = true,
    };
}

static const char *file_text(const plait_launch *launch, const megatron_args *args,
                             plait_arena *arena)
{
    const plait_model *const model = launch->problem->model;
    const char *const list = megatron_overrides(launch, args, arena);
    const training_places places = places_of(args);
    text_builder out;

    if (list == NULL)
        return NULL;
    text_builder_init(&out, arena);
    scripts_append_head(
        launch,
        "# shellcheck shell=bash disable=SC2034,SC2140,SC2211,SC2276,SC2288\n"
        "# overrides.sh - KEY=VALUE of run_recipe.py, one a line; run.sh reads them",
        &places, &out);
    text_append_printf(
        &out,
        "# The recipe builds the model: %d layers, hidden %d; the vocabulary, %d, is "
        "set here.\n",
        model->layers, model->hidden, model->vocab);
    notes_append(launch, &out);
    text_append(&out, list);
    return text_builder_finish(&out, NULL);
}

/* Containers that its documents name, by the release in them (docs/releases/software-versions.md). */
static const char *image_of(int bridge)
{
    static const char *const images[] = {"nvcr.io/nvidia/nemo:26.02",
                                         "nvcr.io/nvidia/nemo:26.04.01",
                                         "nvcr.io/nvidia/nemo:26.06", "nvcr.io/nvidia/nemo:26.08"};
    enum { IMAGES = sizeof images / sizeof *images };

    return images[bridge < FIRST_BRIDGE + IMAGES ? bridge - FIRST_BRIDGE : IMAGES - 1];
}

/* A recipe need not list a field that its nested config has: ++ sets it in any case. */
static const char *start(const plait_launch *launch, const megatron_args *args, plait_arena *arena)
{
    const char *const recipe = megatron_recipe_of(launch->problem->model);
    text_builder out;

    text_builder_init(&out, arena);
    megatron_append_environment(launch, &out);
    megatron_append_attention(args, &out);
    text_append_printf(&out, "recipe=${RECIPE:%s%s}\n", recipe != NULL ? "-" : "?",
                       recipe != NULL ? recipe : "expected the recipe that builds this model");
    // without --mode, which 0.4 and 0.5 lack: the name of the recipe contains pretrain
    text_append(&out, "# ++ sets a field whether the recipe lists it or only its nested config has "
                      "it.\n" SCRIPTS_TORCHRUN
                      "    scripts/training/run_recipe.py --recipe \"$recipe\" \"${args[@]/#/++}\" "
                      "\"$@\"");
    return text_builder_finish(&out, NULL);
}

static plait_status render(const plait_launch *launch, plait_arena *arena, plait_launch_folder *out,
                           plait_error *err)
{
    launch_program program = {
        .what = "Megatron-Bridge",
        .checkout = "BRIDGE",
        .args = "overrides.sh",
    };
    const int bridge = megatron_bridge_of(launch->problem->runtime);
    megatron_args args;

    if (bridge < FIRST_BRIDGE)
        return plait_fail(err, PLAIT_ERROR_RANGE, "runtime",
                          "expected a release with Megatron-Bridge's run_recipe.py, "
                          "bridge-v0.%d.0 or later, found %.60s",
                          FIRST_BRIDGE, launch->problem->runtime->name);
    program.image = image_of(bridge);

    PLAIT_TRY(megatron_args_of(launch->problem, launch->plan, arena, &args, err));
    program.start = start(launch, &args, arena);
    if (program.start == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(folder_add(out, "overrides.sh", file_text(launch, &args, arena), false, err));
    return scripts_add(launch, &program, arena, out, err);
}

/*
 * The named sets reduce in fp16 with fp16, and in fp32 with all others; they keep parameters in 8 bits
 * where one scale a tensor or MXFP8 does. Formats of the optimizer are no words of an override.
 */
static const char *lacks(const plait_problem *problem, const plait_plan *plan)
{
    const plait_degrees *const d = &plan->degrees;
    const plait_precision precision = problem->job.precision;
    const bool halves = d->grad_reduce != PLAIT_STATE_FP32;

    if (precision == PLAIT_FP16 && !halves)
        return "fp16 with gradients reduced in fp32";
    if (precision != PLAIT_FP16 && halves)
        return "gradients reduced in 16 bits without fp16";
    if (d->fp8_params != (precision == PLAIT_FP8 || precision == PLAIT_MXFP8))
        return d->fp8_params ? "8-bit parameters with this precision"
                             : "16-bit parameters with this precision";
    if (d->optimizer_state != PLAIT_STATE_FP32 || d->offload != PLAIT_OFFLOAD_NONE)
        return "moments in fewer than 32 bits, or an optimizer on the host";
    return NULL;
}

const launch_target target_megatron_bridge = {
    .name = "megatron-bridge",
    .runtime = "megatron",
    .rules = PLAIT_RULES_MEGATRON,
    .lacks = lacks,
    .render = render,
};
