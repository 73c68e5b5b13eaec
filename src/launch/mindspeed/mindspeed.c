/*
 * mindspeed.c - MindSpeed-LLM's pretrain_gpt.py on Ascend: args.sh, and the scripts that start it
 */
#include "launch/mindspeed/mindspeed.h"

#include <math.h>
#include <string.h>

#include "launch/megatron/megatron.h"
#include "launch/write/training.h"
#include "launch/write/scripts.h"

/* ---- positions ---- */

static void add_number(launch_args *own, const char *name, double number, double otherwise)
{
    const double said = number > 0.0 ? number : otherwise;

    if (said > 0.0)
        args_number(own, name, said);
}

static void move_positions(const plait_rope *rope, megatron_args *args, launch_args *own)
{
    args->rope_type = NULL;
    args->use_rope_scaling = false;
    args->rope_scaling_factor = 8.0; // Megatron's default, which is not written
    args->rotary_scaling_factor = args->mscale = args->mscale_all_dim = (double)NAN;
    args->apply_rope_fusion = !args->rotary_interleaved;
    if (strcmp(args->position_embedding_type, "rope") != 0)
        return;
    if (rope->kind == PLAIT_ROPE_LLAMA3) {
        // none of these has a default: values that a model leaves open are those of Llama 3.1
        args_text(own, "--rope-scaling-type", "llama3");
        add_number(own, "--rope-scaling-factor", rope->factor, 8.0);
        add_number(own, "--low-freq-factor", rope->low_freq, 1.0);
        add_number(own, "--high-freq-factor", rope->high_freq, 4.0);
        add_number(own, "--original-max-position-embeddings", rope->original_seq, 8192.0);
    } else if (rope->kind == PLAIT_ROPE_YARN) {
        args_text(own, "--rope-scaling-type", "yarn");
        add_number(own, "--rope-scaling-factor", rope->factor, 0.0);
        add_number(own, "--beta-fast", rope->beta_fast, 0.0);
        add_number(own, "--beta-slow", rope->beta_slow, 0.0);
        add_number(own, "--rope-scaling-mscale", rope->mscale, 0.0);
        add_number(own, "--rope-scaling-mscale-all-dim", rope->mscale_all_dim, 0.0);
        add_number(own, "--rope-scaling-original-max-position-embeddings", rope->original_seq, 0.0);
    }
}

/* ---- experts, chunks ---- */

/*
 * Rule MSM3: dense layers precede those with experts. MindSpeed-LLM does not read Megatron's lists.
 */
static void move_dense_layers(const plait_model *model, megatron_args *args, launch_args *own)
{
    const bool mixed = args->moe_layer_freq != NULL && strcmp(args->moe_layer_freq, "1") != 0;

    args->moe_router_padding_for_quantization = false; // Core 0.12.1 lacks it
    if (args->moe_router_load_balancing_type != NULL &&
        strcmp(args->moe_router_load_balancing_type, "global_aux_loss") == 0)
        args->moe_router_load_balancing_type = "aux_loss"; // the global loss needs pp 1
    if (!mixed)
        return;
    args->moe_layer_freq = "1";
    args_int(own, "--first-k-dense-replace",
             model->layers - model_count_layers(model, layer_has_experts));
    args_int(own, "--moe-layer-freq", 1);
}

/* ---- kernels ---- */

/*
 * Move arguments that MindSpeed-LLM names in its own way from Megatron-LM's into `own`.
 *
 * @param args  loses arguments that Core 0.12.1 does not parse or its Ascend kernels ignore
 */
static void move_own_arguments(const plait_problem *problem, const plait_plan *plan,
                               megatron_args *args, launch_args *own)
{
    const plait_degrees *const d = &plan->degrees;

    args_group(own, "MindSpeed");
    // pretrain_gpt.py builds norms of q and k and latent attention only from a specification
    if (args->multi_latent_attention)
        args_words(own, "--spec", "mindspeed_llm.tasks.models.spec.deepseek_spec layer_spec");
    else if (args->qk_layernorm)
        args_words(own, "--spec", "mindspeed_llm.tasks.models.spec.qwen3_spec layer_spec");
    move_positions(&problem->model->numerics.rope, args, own);
    move_dense_layers(problem->model, args, own);
    static const char *const algorithms[PLAIT_CP_COMMS] = {
        [PLAIT_CP_P2P] = "megatron_cp_algo",
        [PLAIT_CP_ALLGATHER] = "kvallgather_cp_algo",
        [PLAIT_CP_A2A] = "ulysses_cp_algo",
    };

    args->attention_backend = "auto";
    args->flash_attention_version = 0;
    args->cp_comm_type = NULL;
    args->masked_softmax_fusion = false;
    args->create_attention_mask_in_dataloader =
        true; // written if true: MindSpeed-LLM makes no masks by default
    args_switch(own, "--use-flash-attn");
    if (d->cp > 1)
        args_text(own, "--context-parallel-algo", algorithms[d->cp_comm]);
    // MindSpeed reads only the layers of a chunk, where Megatron also takes their number
    if (d->vpp != 1 && d->split.kind == PLAIT_SPLIT_EVEN) {
        args->num_virtual_stages_per_pipeline_rank = 0;
        args->num_layers_per_virtual_pipeline_stage = problem->model->layers / (d->pp * d->vpp);
    }
    const plait_kernel_set *const kernels = &problem->runtime->kernels;
    const bool rotary = strcmp(args->position_embedding_type, "rope") == 0;

    args_group(own, "kernels of Ascend");
    args->tp_comm_overlap = false; // of Transformer Engine
    args->gradient_accumulation_fusion = kernels->fused_accumulation;
    args_text(own, "--transformer-impl", args->fp8 != NULL ? "transformer_engine" : "local");
    if (kernels->fused_norm && strcmp(args->normalization, "RMSNorm") == 0)
        args_switch(own, "--use-fused-rmsnorm");
    if (kernels->fused_activation && args->swiglu)
        args_switch(own, "--use-fused-swiglu");
    if (kernels->fused_rotary && rotary && !args->rotary_interleaved)
        args_switch(own, "--use-fused-rotary-pos-emb");
    // MC2 hides traffic behind products; the fitted share of exposed tensor-parallel traffic
    // contains its effect
    if (problem->runtime->overlap.tp_comm && d->tp > 1 && d->sp && args->num_experts == 0)
        args_switch(own, "--use-ascend-mc2");
    args->ckpt_format = "torch";
    args->padded_vocab_size = 0;
}

static const training_places places = {
    .data = "random tokens: --mock-data, --tokenizer-type",
    .length = "--train-iters",
    .values = "--lr to --clip-grad",
    .checkpoints = "--save, --load, --save-interval",
    .cluster = true,
};

/* Variables of the project's examples; Megatron itself requires the queue of one connection. */
static const char environment[] = "\n# environment\n"
                                  "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"
                                  "export HCCL_CONNECT_TIMEOUT=3600\n"
                                  "export HCCL_EXEC_TIMEOUT=3600\n"
                                  "export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True\n";

static const char *argument_lines(const plait_launch *launch, const launch_args *flags,
                                  plait_arena *arena)
{
    const char *const list = args_shell(flags);
    text_builder out;

    if (list == NULL)
        return NULL;
    text_builder_init(&out, arena);
    scripts_append_head(launch,
                        "# shellcheck shell=bash disable=SC2215\n"
                        "# args.sh - arguments of MindSpeed-LLM's pretrain_gpt.py, one per line; "
                        "run.sh reads them",
                        &places, &out);
    notes_append(launch, &out);
    text_append(&out, environment);
    text_append(&out, list);
    return text_builder_finish(&out, NULL);
}

static plait_status render(const plait_launch *launch, plait_arena *arena, plait_launch_folder *out,
                           plait_error *err)
{
    static const launch_device npu = {"gres=npu", "huawei.com/Ascend910",
                                      "an image with CANN and torch_npu"};
    static const launch_program program = {
        .what = "MindSpeed-LLM",
        .checkout = "MINDSPEED_LLM",
        .args = "args.sh",
        .notes = "# Copy the folder megatron of Megatron Core 0.12.1 into that of MindSpeed-LLM, "
                 "and install MindSpeed\n"
                 "# together with torch_npu.\n",
        .device = &npu,
        .start = SCRIPTS_TORCHRUN "    pretrain_gpt.py \"${args[@]}\" \"$@\"",
    };

    megatron_args args;
    launch_args flags, own;

    PLAIT_TRY(megatron_args_of(launch->problem, launch->plan, arena, &args, err));
    args_init(&own, arena);
    move_own_arguments(launch->problem, launch->plan, &args, &own);
    args_init(&flags, arena);
    megatron_args_append(&args, &flags);
    args_append(&flags, &own);
    PLAIT_TRY(folder_add(out, "args.sh", argument_lines(launch, &flags, arena), false, err));
    return scripts_add(launch, &program, arena, out, err);
}

const launch_target target_mindspeed = {
    .name = "mindspeed",
    .runtime = "mindspeed",
    .rules = PLAIT_RULES_MINDSPEED,
    .render = render,
    .import = mindspeed_import,
};
