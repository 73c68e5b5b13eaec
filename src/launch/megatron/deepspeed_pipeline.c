/*
 * deepspeed_pipeline.c - DeepSpeed's pipeline engine under Megatron-DeepSpeed's pretrain_gpt.py
 *
 * args.sh has the model and the degrees, ds_config.json the batch, ZeRO and precision, partition.py
 * the layers of each stage. A user's own script that builds a PipelineModule needs only the last
 * two.
 */
#include "launch/megatron/megatron.h"

#include <math.h>

#include "base/text.h"
#include "launch/write/deepspeed_config.h"
#include "launch/write/training.h"
#include "launch/write/scripts.h"

static void known_number(launch_args *out, const char *name, double number)
{
    if (!isnan(model_number(number)))
        args_number(out, name, number);
}

static void switch_if(launch_args *out, const char *name, bool on)
{
    if (on)
        args_switch(out, name);
}

static void append_sizes(const plait_problem *problem, const model_facts *facts, launch_args *out)
{
    const plait_model *const model = problem->model;

    args_group(out, "model");
    args_int(out, "--num-layers", model->layers);
    args_int(out, "--hidden-size", model->hidden);
    args_int(out, "--ffn-hidden-size", facts->mlp->width);
    args_int(out, "--seq-length", problem->job.seq);
    args_int(out, "--max-position-embeddings",
             model->learned_positions > 0        ? model->learned_positions
             : model->max_seq > problem->job.seq ? model->max_seq
                                                 : problem->job.seq);
    args_int(out, "--vocab-size", model->vocab);
    args_int(out, "--make-vocab-size-divisible-by", 128);
    switch_if(out, "--untie-embeddings-and-output-weights", !model->tied);
}

static void append_positions(const plait_model *model, const plait_attention *attention,
                             launch_args *out)
{
    const plait_rope *const rope = &model->numerics.rope;

    if (model->learned_positions > 0)
        return; // learned positions are the default
    if (!attention->rotary) {
        args_switch(out, "--no-position-embedding");
        return;
    }
    args_switch(out, "--use-rotary-position-embeddings");
    if (rope->base >= 1.0)
        args_printf(out, "--rotary-position-embeddings-theta", "%.0f", rope->base);
    if (rope->fraction > 0.0 && rope->fraction < 1.0)
        args_number(out, "--rotary-percent", rope->fraction);
}

static void append_numerics(const plait_model *model, const model_facts *facts, launch_args *out)
{
    const plait_numerics *const numerics = &model->numerics;
    const double dropout = model->dropout ? 0.1 : 0.0; // the rate of GPT-2 and Megatron's default

    args_group(out, "norms, activation, biases");
    args_text(out, "--normalization", model->layer_norm ? "layernorm" : "rmsnorm");
    known_number(out, "--layernorm-epsilon", numerics->norm_eps);
    switch_if(out, "--swiglu", facts->mlp->gated);
    switch_if(out, "--squared-relu", !facts->mlp->gated && numerics->activation == PLAIT_RELU2);
    switch_if(out, "--disable-bias-linear", !facts->bias);
    args_number(out, "--hidden-dropout", dropout);
    args_number(out, "--attention-dropout", dropout);
    known_number(out, "--init-method-std", numerics->init_std);
}

/* ---- values that no plan decides ---- */

static void deepspeed_args_append(const plait_launch *launch, launch_args *out)
{
    const plait_problem *const problem = launch->problem;
    const model_facts facts = model_facts_of(problem->model);

    append_sizes(problem, &facts, out);
    const plait_attention *const attention = facts.attention;

    args_group(out, "attention and positions");
    args_int(out, "--num-attention-heads", attention->heads);
    args_int(out, "--kv-channels", attention->head_dim);
    if (attention->kv_heads != attention->heads)
        args_int(out, "--num-key-value-heads", attention->kv_heads);
    append_positions(problem->model, attention, out);
    append_numerics(problem->model, &facts, out);
    args_group(out, "parallelism");
    args_int(out, "--tensor-model-parallel-size", launch->plan->degrees.tp);
    args_int(out, "--pipeline-model-parallel-size", launch->plan->degrees.pp);
    args_group(out, "batch");
    args_int(out, "--micro-batch-size", launch->plan->degrees.mbs);
    args_int(out, "--global-batch-size", problem->job.gbs);
    args_group(out, "memory");
    if (launch->plan->degrees.recompute.kind == PLAIT_RECOMPUTE_FULL) {
        args_text(out, "--recompute-granularity", "full");
        args_text(out, "--recompute-method", "uniform");
        args_int(out, "--recompute-num-layers", 1);
    }
    args_group(out, "DeepSpeed; run.sh adds --deepspeed_config");
    args_switch(out, "--deepspeed");
    args_int(out, "--zero-stage", launch->plan->degrees.zero);
    args_group(out, "kernels and precision");
    switch_if(out, "--no-masked-softmax-fusion",
              launch->plan->degrees.attention == PLAIT_ATTENTION_UNFUSED);
    args_switch(out, problem->job.precision == PLAIT_FP16 ? "--fp16" : "--bf16");
    const launch_training t = training_of(problem);
    const char *const checkpoints = training_checkpoints(problem->model, out->arena);

    out->failed = out->failed || checkpoints == NULL;
    args_group(out, "to edit: data, tokenizer, schedule, checkpoints");
    args_text(out, "--data-path", "data/tokens_text_document");
    args_text(out, "--tokenizer-type", "NullTokenizer");
    args_int(out, "--train-iters", TRAINING_TRY_STEPS);
    // Megatron-DeepSpeed's schedules have no plateau
    args_number(out, "--lr", t.lr);
    args_number(out, "--min-lr", t.min_lr);
    args_text(out, "--lr-decay-style", plait_lr_decay_name[t.decay]);
    args_int(out, "--lr-decay-iters", t.total_steps);
    args_int(out, "--lr-warmup-iters", t.warmup_steps);
    args_number(out, "--adam-beta1", t.beta1);
    args_number(out, "--adam-beta2", t.beta2);
    args_number(out, "--adam-eps", t.eps);
    args_number(out, "--weight-decay", t.weight_decay);
    args_number(out, "--clip-grad", t.clip);
    args_int(out, "--eval-iters", 0);
    args_int(out, "--log-interval", 1);
    args_text(out, "--save", checkpoints != NULL ? checkpoints : "");
    args_text(out, "--load", checkpoints != NULL ? checkpoints : "");
    args_int(out, "--save-interval", TRAINING_SAVE_STEPS);
    args_int(out, "--distributed-timeout-minutes", TRAINING_TIMEOUT_MINUTES);
}

static const training_places places = {
    .data = "--data-path, --tokenizer-type; random tokens are not supported",
    .length = "--train-iters",
    .values = "--lr to --clip-grad; gradient_clipping in ds_config.json",
    .checkpoints = "--save, --load, --save-interval",
    .cluster = true,
};

static const char *argument_lines(const plait_launch *launch, plait_arena *arena)
{
    // an import finds these keys neither in the arguments nor in the JSON
    static const plait_key_id keys[] = {PLAIT_KEY_SPLIT, PLAIT_KEY_GRAD_REDUCE};
    launch_args flags;
    text_builder out;

    args_init(&flags, arena);
    deepspeed_args_append(launch, &flags);
    text_builder_init(&out, arena);
    scripts_append_head(launch, MEGATRON_ARGS_HEAD, &places, &out);
    notes_append(launch, &out);
    notes_append_keys(launch, keys, sizeof keys / sizeof *keys, &out);
    args_append_shell(&flags, &out);
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
    PLAIT_TRY(folder_add(out, "args.sh", argument_lines(launch, arena), false, err));
    PLAIT_TRY(folder_add(out, "ds_config.json", config, false, err));
    // partition.py assigns layers of a PipelineModule to stages
    text_builder text;
    text_builder_init(&text, arena);
    scripts_append_head(
        launch,
        "# partition.py - assigns the layers of DeepSpeed's PipelineModule to the plan's stages",
        NULL, &text);
    text_append(&text, "#\n"
                       "#   torchrun ... partition.py SCRIPT ARGUMENTS     as in run.sh\n"
                       "#   from partition import PlannedPipelineModule    in your own script\n"
                       "\n");
    text_append(&text, "LAYERS = [");
    for (int s = 0; s < launch->plan->degrees.pp; s++) {
        const plait_chunk *const chunk = plait_plan_chunk(launch->plan, s);

        text_append_printf(&text, "%s%d", s > 0 ? ", " : "", chunk->last - chunk->first);
    }
    text_append(&text,
                "]  # by stage; the first also has the embedding, the last also norm and head\n");
    text_append(&text, "LAYER = \"transformer\"  # pattern for the class name of a layer\n\n");
    text_append(&text, launch_partition_py.text);
    PLAIT_TRY(folder_add(out, "partition.py", text_builder_finish(&text, NULL), false, err));
    return scripts_add(launch, &program, arena, out, err);
}

const launch_target target_deepspeed_pipeline = {
    .name = "deepspeed-pipeline",
    .runtime = "megatron-deepspeed",
    .rules = PLAIT_RULES_MEGATRON_DEEPSPEED,
    .render = render,
    .import = megatron_import,
};
