/*
 * trainer.c - starts a user's training script with DeepSpeed (ZeRO) or with accelerate (FSDP2)
 *
 * Both wrap a model that the user's own code builds, so their configs have no keys for model,
 * sequence length, attention or recomputation: run.sh lists these as work of the training script.
 *
 * Keys of accelerate are those of huggingface/accelerate 16cb6eb (2026-07-24). Accelerate rejects a
 * key at the top that is not a field of ClusterConfig; the others become the arguments of
 * `accelerate launch`. Keys of parallelism_config are written with their full prefix, since
 * accelerate adds only the prefixes fsdp_, fp8_ and dynamo_. With fsdp_version 2 the strategies of
 * version 1 have no meaning: ZeRO-3 is fsdp_reshard_after_forward, ZeRO-2 its opposite, and hybrid
 * shards are a mesh of two axes.
 */
#include "launch/trainer/trainer.h"

#include <stdio.h>

#include "base/text.h"
#include "launch/write/deepspeed_config.h"
#include "launch/write/training.h"
#include "launch/write/scripts.h"
#include "plan/model_queries.h"

/*
 * Return comment lines for the head of run.sh, including `# plait: KEY VALUE` notes; `more` may be
 * NULL.
 */
static const char *script_notes(const plait_launch *launch, const training_places *places,
                                const char *more, plait_arena *arena)
{
    const plait_problem *const problem = launch->problem;
    const plait_model *const model = problem->model;
    const plait_degrees *const d = &launch->plan->degrees;
    char recompute[96], seq[16];
    text_builder out;

    if (more == NULL)
        return NULL;
    plait_degrees_get(d, PLAIT_KEY_RECOMPUTE, recompute, sizeof recompute);
    text_builder_init(&out, arena);
    training_append_edits(problem, places, &out);
    text_append_printf(
        &out,
        "# The config has no keys for these settings; the training script must set them:\n"
        "#   model          %d layers, hidden %d, vocabulary %d\n"
        "#   sequences      %d tokens each, %d per microbatch and GPU\n"
        "#   attention      %s (attn_implementation=\"%s\")\n",
        model->layers, model->hidden, model->vocab, problem->job.seq, d->mbs,
        plait_attention_kernel_name[d->attention],
        // Hugging Face's name, since most training scripts are written for its models
        tuning_attention_hub[d->attention]);
    text_append(&out, more);
    text_append(&out, "#\n");
    notes_append(launch, &out);
    snprintf(seq, sizeof seq, "%d", problem->job.seq);
    notes_append_one("seq", seq, &out);
    notes_append_one("recompute", recompute, &out);
    return text_builder_finish(&out, NULL);
}

/* Return the part of a plan that only Megatron and torchtitan can express, or NULL. */
const char *trainer_unsupported(const plait_problem *problem, const plait_plan *plan)
{
    const plait_degrees *const d = &plan->degrees;

    (void)problem;
    if (d->tp > 1 || d->pp > 1 || d->cp > 1 || d->ep > 1)
        return "tensor, pipeline, context or expert parallelism, which the training script would "
               "have to build";
    if (d->recompute.kind != PLAIT_RECOMPUTE_NONE && d->recompute.kind != PLAIT_RECOMPUTE_FULL)
        return "recomputation of parts of a layer";
    return d->recompute.layers > 0 ? "recomputation of some layers" : NULL;
}

/* ---- DeepSpeed: ds_config.json ---- */

static const char *deepspeed_notes(const plait_launch *launch, plait_arena *arena)
{
    static const training_places places = {
        .data = "the training script sets it, and also the number of steps and the checkpoints",
        .values = "ds_config.json: optimizer, scheduler, gradient_clipping",
        .cluster = true,
    };
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
        text_append(&more, "#   experts        each block of experts is a leaf module: "
                           "set_z3_leaf_modules, or zero_optimization.leaf_module\n");
    return script_notes(launch, &places, text_builder_finish(&more, NULL), arena);
}

static plait_status render_deepspeed(const plait_launch *launch, plait_arena *arena,
                                     plait_launch_folder *out, plait_error *err)
{
    const launch_program program = {
        .what = "DeepSpeed",
        .script = "TRAIN",
        .notes = deepspeed_notes(launch, arena),
        .start = SCRIPTS_TORCHRUN
        "    \"$TRAIN\" --deepspeed --deepspeed_config \"$here/ds_config.json\" \"$@\"",
    };
    const char *text;

    PLAIT_TRY(plait_check_allocated(program.notes, err));
    PLAIT_TRY(deepspeed_config(launch, DEEPSPEED_ZERO, arena, &text, err));
    PLAIT_TRY(folder_add(out, "ds_config.json", text, false, err));
    return scripts_add(launch, &program, arena, out, err);
}

const launch_target target_deepspeed = {
    .name = "deepspeed",
    .runtime = "deepspeed",
    .rules = PLAIT_RULES_DEEPSPEED,
    .unsupported = trainer_unsupported,
    .render = render_deepspeed,
    .import = deepspeed_import,
    .read_log = deepspeed_read_log,
};

/* ---- accelerate: accelerate.yaml, and accelerator_config.json ---- */

static const char *yes_or_no(bool value)
{
    return value ? "true" : "false";
}

const char *accelerate_config(const plait_launch *launch, plait_arena *arena)
{
    const plait_problem *const problem = launch->problem;
    const plait_degrees *const d = &launch->plan->degrees;
    const bool fp8 = problem->job.precision == PLAIT_FP8;
    int gpus_per_node;
    text_builder out;

    text_builder_init(&out, arena);
    scripts_append_head(launch, "# accelerate.yaml - config of accelerate launch; run.sh starts it",
                        NULL, &out);
    // torchao, the backend with which FSDP2 gathers in FP8, cannot load weights from rank 0
    text_append_printf(&out,
                       "compute_environment: LOCAL_MACHINE\n"
                       "distributed_type: FSDP\n"
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
                       yes_or_no(d->offload == PLAIT_OFFLOAD_PARAMS), yes_or_no(!fp8));
    if (d->shard_group < d->dp)
        text_append_printf(&out,
                           "parallelism_config:\n"
                           "  parallelism_config_dp_replicate_size: %d\n"
                           "  parallelism_config_dp_shard_size: %d\n"
                           "  parallelism_config_tp_size: 1\n"
                           "  parallelism_config_cp_size: 1\n",
                           d->dp / d->shard_group, d->shard_group);
    text_append_printf(&out, "mixed_precision: %s\n", plait_precision_name[problem->job.precision]);
    if (fp8)
        text_append(&out, "fp8_config:\n"
                          "  fp8_backend: ao\n");
    text_append_printf(&out,
                       "num_machines: %d\n"
                       "num_processes: %d\n"
                       "machine_rank: 0 # run.sh sets it\n"
                       "rdzv_backend: static\n"
                       "same_network: true\n"
                       "main_training_function: main\n"
                       "use_cpu: false\n"
                       "debug: false\n",
                       scripts_nodes(problem, &gpus_per_node), problem->job.gpus);
    return text_builder_finish(&out, NULL);
}

bool trainer_reduces_each_microbatch(const plait_launch *launch)
{
    const plait_degrees *const d = &launch->plan->degrees;

    return d->zero >= 2 && plait_degrees_microbatches(d, launch->problem->job.gbs) > 1;
}

static const char *accelerate_notes(const plait_launch *launch, plait_arena *arena)
{
    static const training_places places = {
        .data = "the training script sets it, and also the number of steps and the checkpoints",
        .values = "the training script sets them to the values below",
        .cluster = true,
    };
    const launch_training t = training_of(launch->problem);
    text_builder more;

    text_builder_init(&more, arena);
    text_append(&more,
                "#   layers         listed in the model's _no_split_modules, each as one unit\n");
    if (trainer_reduces_each_microbatch(launch))
        text_append(&more, "#   gradients      reduced with each microbatch: a Trainer's "
                           "accelerator_config=\"accelerator_config.json\", or\n"
                           "#                  Accelerator(gradient_accumulation_plugin="
                           "GradientAccumulationPlugin(..., sync_each_batch=True))\n");
    text_append_printf(&more,
                       "#   optimizer      AdamW, lr %g, betas %g and %g, epsilon %g, weight decay "
                       "%g; gradients clipped at %g\n"
                       "#   schedule       %d steps of warm-up, then %s to %g, over %d steps\n",
                       t.lr, t.beta1, t.beta2, t.eps, t.weight_decay, t.clip, t.warmup_steps,
                       plait_lr_decay_name[t.decay], t.min_lr, t.total_steps);
    return script_notes(launch, &places, text_builder_finish(&more, NULL), arena);
}

static plait_status render_accelerate(const plait_launch *launch, plait_arena *arena,
                                      plait_launch_folder *out, plait_error *err)
{
    const int steps = plait_degrees_microbatches(&launch->plan->degrees, launch->problem->job.gbs);
    const launch_program program = {
        .what = "accelerate",
        .script = "TRAIN",
        .notes = accelerate_notes(launch, arena),
        .start = plait_arena_printf(
            arena,
            "export ACCELERATE_GRADIENT_ACCUMULATION_STEPS=%d\n"
            "exec accelerate launch --config_file \"$here/accelerate.yaml\" \\\n"
            "    --num_machines \"$nodes\" --num_processes \"$((nodes * gpus_per_node))\" \\\n"
            "    --machine_rank \"$node_rank\" --main_process_ip \"$head\" "
            "--main_process_port \"$port\" \\\n"
            "    \"$TRAIN\" \"$@\"",
            steps),
    };

    PLAIT_TRY(plait_check_allocated(program.notes && program.start, err));
    PLAIT_TRY(folder_add(out, "accelerate.yaml", accelerate_config(launch, arena), false, err));
    // accelerate.yaml has no key for this; a Trainer's accelerator_config has
    if (trainer_reduces_each_microbatch(launch))
        PLAIT_TRY(folder_add(out, "accelerator_config.json",
                             plait_arena_printf(arena,
                                                "{\n"
                                                "  \"gradient_accumulation_kwargs\": {\n"
                                                "    \"num_steps\": %d,\n"
                                                "    \"sync_each_batch\": true\n"
                                                "  }\n"
                                                "}\n",
                                                steps),
                             false, err));
    return scripts_add(launch, &program, arena, out, err);
}

const launch_target target_accelerate = {
    .name = "accelerate",
    .runtime = "fsdp",
    .rules = PLAIT_RULES_FSDP,
    .unsupported = trainer_unsupported,
    .render = render_accelerate,
};
