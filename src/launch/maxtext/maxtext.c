/* maxtext.c - writes MaxText's YAML of a run, and the script that starts it */
#include "launch/maxtext/maxtext.h"

#include <stdio.h>
#include <string.h>

#include "base/numbers.h"
#include "launch/write/training.h"
#include "launch/write/scripts.h"

const char *maxtext_real(double number, char out[TEXT_NUMBER_SIZE])
{
    char text[TEXT_NUMBER_SIZE];
    const char *const said = text_number(number, text);
    const size_t mantissa = strcspn(said, "e");

    if (said[mantissa] == '\0' || memchr(said, '.', mantissa) != NULL)
        snprintf(out, TEXT_NUMBER_SIZE, "%s", said);
    else
        snprintf(out, TEXT_NUMBER_SIZE, "%.*s.0%s", (int)mantissa, said, said + mantissa);
    return out;
}

int maxtext_axes_product(const maxtext_axes *axes)
{
    int product = 1;

#define X(axis) product *= axes->axis;
    MAXTEXT_AXES(X)
#undef X
    return product;
}

/*
 * Dense weights are split over fsdp, context and expert, so the size of a shard group is the
 * product of these axes.
 */
static maxtext_axes axes_of(const plait_degrees *d)
{
    maxtext_axes axes = {
        .data = d->dp * d->cp / d->shard_group,
        .fsdp = d->shard_group / (d->cp * d->ep),
        .pipeline = d->pp,
        .context = d->cp,
        .tensor = d->tp,
        .expert = d->ep,
    };

    if (d->zero == 1) {
        axes.data = d->dp;
        axes.fsdp = 1;
    }
    return axes;
}

/* Move the greatest common divisor of *ici and *slices from *ici to *dcn. */
static void move_common_factor(int *slices, int *ici, int *dcn)
{
    *dcn = (int)common_divisor(*ici, *slices);
    *ici /= *dcn;
    *slices /= *dcn;
}

/*
 * Rule MT8: stages or replicas span all slices; among the axes of replicas, data is split between
 * slices first.
 */
maxtext_mesh maxtext_mesh_of(const plait_problem *problem, const plait_degrees *d)
{
    maxtext_mesh mesh = {axes_of(d), {1, 1, 1, 1, 1, 1}};
    // a slice is the set of devices that the links of the first level connect
    const int slice = problem->cluster->level[0].gpus;

    int slices = slice > 0 && problem->job.gpus > slice ? problem->job.gpus / slice : 1;

    if (d->order == PLAIT_ORDER_TP_CP_DP_PP)
        move_common_factor(&slices, &mesh.ici.pipeline, &mesh.dcn.pipeline);
    move_common_factor(&slices, &mesh.ici.data, &mesh.dcn.data);
    move_common_factor(&slices, &mesh.ici.fsdp, &mesh.dcn.fsdp);
    move_common_factor(&slices, &mesh.ici.expert, &mesh.dcn.expert);
    return mesh;
}

static const training_places places = {
    .data = "random tokens: dataset_type",
    .length = "steps",
    .values = "learning_rate to gradient_clipping_threshold",
    .checkpoints = "enable_checkpointing, checkpoint_period, base_output_directory",
};

/* ---- the plan ---- */

static void append_axes(const char *part, const maxtext_axes *axes, text_builder *out)
{
#define X(axis) text_append_printf(out, "%s_" #axis "_parallelism: %d\n", part, axes->axis);
    MAXTEXT_AXES(X)
#undef X
}

static bool is_tpu(const plait_problem *problem)
{
    const char *const vendor = problem->cluster->group[0].accelerator->vendor;

    return vendor != NULL && strcmp(vendor, "Google") == 0;
}

static void append_memory(const plait_problem *problem, const plait_degrees *d, text_builder *out)
{
    // "minimal" keeps the outputs of all matrix products except those inside attention
    const char *const remat = d->recompute.kind == PLAIT_RECOMPUTE_FULL        ? "full"
                              : d->recompute.kind == PLAIT_RECOMPUTE_SELECTIVE ? "minimal"
                                                                               : "none";
    const char *const attention = d->attention == PLAIT_ATTENTION_UNFUSED ? "dot_product"
                                  : is_tpu(problem)                       ? "flash"
                                                                          : "cudnn_flash_te";

    text_append_printf(out,
                       "\n# memory, kernels, precision\n"
                       "remat_policy: \"%s\"\n"
                       "scan_layers: true\n"
                       "attention: \"%s\"\n"
                       "dtype: \"bfloat16\"\n"
                       "weight_dtype: \"float32\"\n"
                       "quantization: \"%s\"\n"
                       "use_iota_embed: true\n",
                       remat, attention, problem->job.precision == PLAIT_FP8 ? "fp8" : "");
}

static void append_real(const char *key, double number, text_builder *out)
{
    char text[TEXT_NUMBER_SIZE];

    text_append_printf(out, "%s: %s\n", key, maxtext_real(number, text));
}

static void append_run(const plait_launch *launch, text_builder *out)
{
    const launch_training t = training_of(launch->problem);
    const double steps = t.total_steps;
    // a plateau before the decay needs the schedule wsd; a constant rate ends at its initial value
    const bool plateau = t.decay_steps < t.total_steps - t.warmup_steps;
    char name[SCRIPTS_NAME_SIZE];

    scripts_plain_name(launch->problem->model, name);
    text_append_printf(out,
                       "\n# to edit: data, schedule, checkpoints\n"
                       "run_name: \"%s\"\n"
                       "base_output_directory: \"outputs\" # gs://... if hosts share no disk\n"
                       "hardware: \"%s\"\n"
                       "dataset_type: \"synthetic\"\n"
                       "steps: %d\n",
                       name, is_tpu(launch->problem) ? "tpu" : "gpu", TRAINING_TRY_STEPS);
    append_real("learning_rate", t.lr, out);
    append_real("learning_rate_final_fraction",
                t.decay == PLAIT_LR_CONSTANT || t.lr <= 0.0 ? 1.0 : t.min_lr / t.lr, out);
    text_append_printf(out, "learning_rate_schedule_steps: %d\n", t.total_steps);
    append_real("warmup_steps_fraction", t.warmup_steps / steps, out);
    text_append_printf(out, "lr_schedule_type: \"%s\"\n", plateau ? "wsd" : "cosine");
    if (plateau) {
        append_real("wsd_decay_steps_fraction", t.decay_steps / steps, out);
        text_append_printf(out, "wsd_decay_style: \"%s\"\n",
                           t.decay == PLAIT_LR_COSINE ? "cosine" : "linear");
    }
    text_append(out, "opt_type: \"adamw\"\n");
    append_real("adam_b1", t.beta1, out);
    append_real("adam_b2", t.beta2, out);
    append_real("adam_eps", t.eps, out);
    append_real("adam_weight_decay", t.weight_decay, out);
    append_real("gradient_clipping_threshold", t.clip, out);
    text_append_printf(out, "enable_checkpointing: false\ncheckpoint_period: %d\n",
                       TRAINING_SAVE_STEPS);
}

static const char *config_text(const plait_launch *launch, plait_arena *arena)
{
    const plait_degrees *const d = &launch->plan->degrees;
    text_builder out;

    text_builder_init(&out, arena);
    scripts_append_head(launch, "# config.yml - a configuration of MaxText; run.sh starts it",
                        &places, &out);
    // the mesh determines the order of ranks, and JAX their placement
    static const plait_key_id keys[] = {PLAIT_KEY_ORDER, PLAIT_KEY_PLACEMENT};

    notes_append(launch, &out);
    notes_append_keys(launch, keys, sizeof keys / sizeof *keys, &out);
    text_append(&out, "\nbase_config: \"base.yml\"\n\n# model\n");
    maxtext_append_model(launch->problem->model, &out);
    const maxtext_mesh mesh = maxtext_mesh_of(launch->problem, d);
    text_append(&out, "\n# mesh: inside a slice, and between slices\n");
    append_axes("ici", &mesh.ici, &out);
    append_axes("dcn", &mesh.dcn, &out);
    text_append_printf(&out, "shard_optimizer_over_data: %s\n", d->zero == 1 ? "true" : "false");
    if (d->cp > 1)
        text_append(&out, "context_parallel_strategy: \"all_gather\"\n"
                          "context_parallel_load_balance: true\n");
    if (d->pp > 1)
        text_append_printf(&out,
                           "num_layers_per_pipeline_stage: %d\n"
                           "num_pipeline_repeats: 1\n"
                           "num_pipeline_microbatches: %d\n",
                           launch->problem->model->layers / d->pp,
                           plait_degrees_microbatches(d, launch->problem->job.gbs));
    const int microbatches = plait_degrees_microbatches(d, launch->problem->job.gbs);
    const int passes = d->pp > 1 ? microbatches : 1;
    // sequences of one device in one pass; MaxText accepts a fraction
    const double sequences = (double)d->mbs * passes / ((double)d->tp * d->cp * d->pp);
    char batch[TEXT_NUMBER_SIZE];

    text_append_printf(&out,
                       "\n# batch: %d sequences per step\n"
                       "per_device_batch_size: %s\n"
                       "gradient_accumulation_steps: %d\n"
                       "max_target_length: %d\n",
                       launch->problem->job.gbs, maxtext_real(sequences, batch),
                       d->pp > 1 ? 1 : microbatches, launch->problem->job.seq);
    append_memory(launch->problem, d, &out);
    append_run(launch, &out);
    return text_builder_finish(&out, NULL);
}

static plait_status render(const plait_launch *launch, plait_arena *arena, plait_launch_folder *out,
                           plait_error *err)
{
    PLAIT_TRY(folder_add(out, "config.yml", config_text(launch, arena), false, err));
    const maxtext_mesh mesh = maxtext_mesh_of(launch->problem, &launch->plan->degrees);
    const int slices = maxtext_axes_product(&mesh.dcn);
    text_builder text;
    text_builder_init(&text, arena);
    text_append_printf(
        &text,
        "#!/bin/bash\n"
        "# run.sh - starts training on one host; run it on each host of %d slice%s of %d chips\n"
        "#\n"
        "#   gcloud compute tpus tpu-vm ssh NAME --worker=all --command=...    runs it on all "
        "hosts of a slice\n"
        "#\n"
        "# Arguments of the form KEY=VALUE override the configuration.\n"
        "set -euo pipefail\n" LAUNCH_FINDS_HERE "\n"
        "cd -- \"${MAXTEXT:?expected the folder of a checkout of MaxText}\"\n"
        "exec python3 -m maxtext.trainers.pre_train.train \"$here/config.yml\" \"$@\"\n",
        slices, slices > 1 ? "s" : "", maxtext_axes_product(&mesh.ici));
    return folder_add(out, "run.sh", text_builder_finish(&text, NULL), true, err);
}

const launch_target target_maxtext = {
    .name = "maxtext",
    .runtime = "maxtext",
    .rules = PLAIT_RULES_MAXTEXT,
    .render = render,
    .import = maxtext_import,
};
