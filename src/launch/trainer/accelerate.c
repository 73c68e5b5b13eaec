/*
 * accelerate.c - FSDP2 as Hugging Face's accelerate starts it: accelerate.yaml and the scripts
 *
 * Keys are those of huggingface/accelerate 16cb6eb (2026-07-24): a key at the top that ClusterConfig
 * has no field for is refused; the others become the arguments of `accelerate launch`, and those of
 * parallelism_config are spelled out in full, since only fsdp_, fp8_ and dynamo_ are put in front
 * where they are missing. With fsdp_version 2 the strategies of version 1 have no meaning: ZeRO-3 is
 * fsdp_reshard_after_forward, ZeRO-2 its opposite, and hybrid shards are a mesh of two axes.
 */
#include "launch/write/scripts.h"
#include "base/text.h"
#include "launch/write/training.h"
#include "launch/trainer/training_script.h"

static bool is_hybrid(const plait_degrees *d)
{
    return d->shard_group < d->dp;
}

static const char *yes_or_no(bool value)
{
    return value ? "true" : "false";
}

/* torchao, the backend that FSDP2 gathers in FP8 with, takes no weights from rank 0. */
static void append_fsdp(const plait_problem *problem, const plait_degrees *d, text_builder *out)
{
    text_append_printf(out,
                       "fsdp_config:\n"
                       "  fsdp_version: 2\n"
                       "  fsdp_reshard_after_forward: %s\n"
                       "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
                       "  fsdp_activation_checkpointing: %s\n"
                       "  fsdp_offload_params: %s\n"
                       "  fsdp_cpu_ram_efficient_loading: %s\n"
                       "  fsdp_state_dict_type: SHARDED_STATE_DICT\n",
                       yes_or_no(d->zero == 3),
                       yes_or_no(d->recompute.kind == PLAIT_RECOMPUTE_FULL),
                       yes_or_no(d->offload == PLAIT_OFFLOAD_PARAMS),
                       yes_or_no(problem->job.precision != PLAIT_FP8));
}

static void append_mesh(const plait_degrees *d, text_builder *out)
{
    text_append_printf(out,
                       "parallelism_config:\n"
                       "  parallelism_config_dp_replicate_size: %d\n"
                       "  parallelism_config_dp_shard_size: %d\n"
                       "  parallelism_config_tp_size: 1\n"
                       "  parallelism_config_cp_size: 1\n",
                       d->dp / d->shard_group, d->shard_group);
}

static void append_precision(plait_precision precision, text_builder *out)
{
    text_append_printf(out, "mixed_precision: %s\n", plait_precision_name[precision]);
    if (precision == PLAIT_FP8)
        text_append(out, "fp8_config:\n"
                         "  fp8_backend: ao\n");
}

/* One launcher a node gets its rank and the head's address on its command line. */
static void append_machines(const plait_problem *problem, text_builder *out)
{
    int gpus_per_node;

    text_append_printf(out,
                       "num_machines: %d\n"
                       "num_processes: %d\n"
                       "machine_rank: 0 # run.sh says which\n"
                       "rdzv_backend: static\n"
                       "same_network: true\n"
                       "main_training_function: main\n"
                       "use_cpu: false\n"
                       "debug: false\n",
                       scripts_nodes(problem, &gpus_per_node), problem->job.gpus);
}

static const char *config(const plait_launch *launch, plait_arena *arena)
{
    const plait_problem *const problem = launch->problem;
    const plait_degrees *const d = &launch->plan->degrees;
    text_builder out;

    text_builder_init(&out, arena);
    scripts_append_head(
        launch, "# accelerate.yaml - accelerate launch --config_file; run.sh does it", NULL, &out);
    text_append(&out, "compute_environment: LOCAL_MACHINE\n"
                      "distributed_type: FSDP\n");
    append_fsdp(problem, d, &out);
    if (is_hybrid(d))
        append_mesh(d, &out);
    append_precision(problem->job.precision, &out);
    append_machines(problem, &out);
    return text_builder_finish(&out, NULL);
}

/* ---- gradients of each microbatch ---- */

/* With no_sync, gradients are summed whole until the last microbatch: no plan has the memory. */
static bool reduces_each(const plait_launch *launch)
{
    const plait_degrees *const d = &launch->plan->degrees;

    return d->zero >= 2 && plait_degrees_microbatches(d, launch->problem->job.gbs) > 1;
}

/* accelerator_config.json: no key of accelerate.yaml says it, a Trainer's accelerator_config does. */
static const char *accumulation(const plait_launch *launch, plait_arena *arena)
{
    return plait_arena_printf(
        arena,
        "{\n"
        "  \"gradient_accumulation_kwargs\": {\n"
        "    \"num_steps\": %d,\n"
        "    \"sync_each_batch\": true\n"
        "  }\n"
        "}\n",
        plait_degrees_microbatches(&launch->plan->degrees, launch->problem->job.gbs));
}

/* ---- what the training script does ---- */

static const training_places places = {
    .data = "the training script's, as are its length and checkpoints",
    .values = "the training script's, as below",
    .cluster = true,
};

static void append_training(const plait_problem *problem, text_builder *out)
{
    const launch_training t = training_of(problem);

    text_append_printf(out,
                       "#   optimizer      AdamW, lr %g, betas %g and %g, epsilon %g, weight decay "
                       "%g; gradients clipped at %g\n"
                       "#   schedule       %d steps of warm-up, then %s to %g, over %d steps\n",
                       t.lr, t.beta1, t.beta2, t.eps, t.weight_decay, t.clip, t.warmup_steps,
                       plait_lr_decay_name[t.decay], t.min_lr, t.total_steps);
}

static const char *notes(const plait_launch *launch, plait_arena *arena)
{
    text_builder more;

    text_builder_init(&more, arena);
    text_append(&more,
                "#   layers         named in the model's _no_split_modules: each is one unit\n");
    if (reduces_each(launch))
        text_append(&more, "#   gradients      reduced with each microbatch: a Trainer's "
                           "accelerator_config=\"accelerator_config.json\", or\n"
                           "#                  Accelerator(gradient_accumulation_plugin="
                           "GradientAccumulationPlugin(..., sync_each_batch=True))\n");
    append_training(launch->problem, &more);
    return training_script_notes(launch, &places, text_builder_finish(&more, NULL), arena);
}

static const char *start(const plait_launch *launch, plait_arena *arena)
{
    const plait_problem *const problem = launch->problem;
    const int steps = plait_degrees_microbatches(&launch->plan->degrees, problem->job.gbs);

    return plait_arena_printf(arena,
                              "export ACCELERATE_GRADIENT_ACCUMULATION_STEPS=%d\n"
                              "exec accelerate launch --config_file \"$here/accelerate.yaml\" \\\n"
                              "    --num_machines \"$nodes\" "
                              "--num_processes \"$((nodes * gpus_per_node))\" \\\n"
                              "    --machine_rank \"$node_rank\" --main_process_ip \"$head\" "
                              "--main_process_port \"$port\" \\\n"
                              "    \"$TRAIN\" \"$@\"",
                              steps);
}

static plait_status render(const plait_launch *launch, plait_arena *arena, plait_launch_folder *out,
                           plait_error *err)
{
    const launch_program program = {
        .what = "accelerate",
        .script = "TRAIN",
        .notes = notes(launch, arena),
        .start = start(launch, arena),
    };

    if (program.notes == NULL || program.start == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(folder_add(out, "accelerate.yaml", config(launch, arena), false, err));
    if (reduces_each(launch))
        PLAIT_TRY(
            folder_add(out, "accelerator_config.json", accumulation(launch, arena), false, err));
    return scripts_add(launch, &program, arena, out, err);
}

const launch_target target_accelerate = {
    .name = "accelerate",
    .runtime = "fsdp",
    .rules = PLAIT_RULES_FSDP,
    .lacks = training_script_lacks,
    .render = render,
};
