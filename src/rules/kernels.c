/* kernels.c - checks that the accelerator of a plan has the kernels that the plan needs
 *
 * Data files (clusters/families) list the kernels of accelerators. This file determines the kernels
 * that plans need.
 */
#include "rules/kernels.h"

#include "plait/plan.h"

#include "rules/rules.h"
#include "plan/model_queries.h"

/*
 * cuDNN's attention trains heads up to width USUAL_HEAD on every GPU, and no heads wider than
 * WIDE_HEAD. Heads between these widths must have values as wide as queries, or the widths of
 * latent attention: 192 for queries and 128 for values (NVIDIA/TransformerEngine d0067d0,
 * transformer_engine/common/fused_attn/fused_attn.cpp).
 */
enum { USUAL_HEAD = 128, WIDE_HEAD = 256, LATENT_HEAD = 192, LATENT_VALUES = 128 };

/*
 * Widest head of each kernel; 0: the kernel has no limit. FlashAttention 1 has 128
 * (Dao-AILab/flash-attention issue 277), versions 2 and 3 have 256 (issue 2427; TransformerEngine
 * issue 3006).
 */
static const int widest_taken[PLAIT_ATTENTION_KERNELS] = {
    [PLAIT_ATTENTION_FLASH] = 128,
    [PLAIT_ATTENTION_FLASH2] = 256,
    [PLAIT_ATTENTION_FLASH3] = 256,
};

/*
 * Widest head that FlashAttention 2 trains on every GPU that it supports (TransformerEngine
 * d0067d0, transformer_engine/pytorch/attention/dot_product_attention/utils.py).
 */
enum { USUAL_FLASH2_HEAD = 192 };

/*
 * Longest sequence of Megatron's fused softmax, which uses PyTorch's softmax for longer ones
 * (FusedScaleMaskSoftmax in megatron/core/fusions/fused_softmax.py).
 */
enum { SOFTMAX_KERNEL_SEQ = 4096 };

static const plait_accelerator *gpu_of(const plait_problem *problem)
{
    return problem->cluster->group[0].accelerator;
}

/*
 * Returns the width of queries and keys; latent attention adds a part for positions. 0 for
 * DeepSeek-V4's attention, whose sparse kernels no plan selects.
 */
static int head_width(const plait_layer *layer)
{
    if (layer->mixer == PLAIT_MIXER_ATTENTION && attention_is_shared_latent(&layer->attention))
        return 0;
    if (layer->mixer == PLAIT_MIXER_MLA)
        return layer->mla.nope_dim + layer->mla.rope_dim;
    return layer->mixer == PLAIT_MIXER_ATTENTION ? layer->attention.head_dim : 0;
}

static int widest_head(const plait_model *model)
{
    int widest = 0;

    for (int k = 0; k < model->kinds; k++)
        if (head_width(&model->kind[k]) > widest)
            widest = head_width(&model->kind[k]);
    return widest;
}

static int value_width(const plait_layer *layer)
{
    return layer->mixer == PLAIT_MIXER_MLA ? layer->mla.v_dim : attention_v_dim(&layer->attention);
}

/* Returns whether cuDNN supports the head widths. */
static bool widths_fit_cudnn(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++) {
        const int queries = head_width(&model->kind[k]), values = value_width(&model->kind[k]);

        if (queries > USUAL_HEAD && queries != values &&
            !(queries == LATENT_HEAD && values == LATENT_VALUES))
            return false;
    }
    return true;
}

/* Returns whether an accelerator runs cuDNN, and not another vendor's library in its place. */
static bool has_cudnn(const plait_accelerator *gpu)
{
    return !plait_accelerator_runs(gpu, PLAIT_KERNEL_ANY_WIDTH);
}

static bool is_cudnn(const plait_accelerator *gpu, plait_attention_kernel kernel)
{
    return kernel == PLAIT_ATTENTION_FUSED && has_cudnn(gpu);
}

static bool has_sinks(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer == PLAIT_MIXER_ATTENTION && model->kind[k].attention.sinks)
            return true;
    return false;
}

/*
 * cuDNN on Blackwell trains wide heads of two shapes only. Heads of 256 use its deterministic
 * backward pass, which supports neither dropout nor ALiBi nor sinks (fused_attn.cpp).
 */
static bool wide_heads_fit_blackwell(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++) {
        const int queries = head_width(&model->kind[k]);
        const bool latent = model->kind[k].mixer == PLAIT_MIXER_MLA;

        if (queries > USUAL_HEAD &&
            !(latent && queries == LATENT_HEAD && model->kind[k].mla.v_dim == LATENT_VALUES) &&
            (queries != WIDE_HEAD || model->dropout || model->numerics.alibi || has_sinks(model)))
            return false;
    }
    return true;
}

/* Returns whether the training scripts of a runtime build models of Hugging Face's transformers. */
static bool is_transformers(const plait_runtime *runtime)
{
    return runtime->rules == PLAIT_RULES_FSDP || runtime->rules == PLAIT_RULES_DEEPSPEED;
}

static bool is_flash(plait_attention_kernel kernel)
{
    return kernel == PLAIT_ATTENTION_FLASH || kernel == PLAIT_ATTENTION_FLASH2 ||
           kernel == PLAIT_ATTENTION_FLASH3;
}

/*
 * Returns whether a kernel supports attention sinks. torchtitan applies sinks after the kernel,
 * from the log-sum-exp that the kernel returns (gpt_oss/model.py at b5bcd76), so any kernel works.
 * FlashAttention has no sinks (Dao-AILab/flash-attention issue 1895), and transformers runs gpt-oss
 * with neither FlashAttention (pull request 42736) nor SDPA (modular_gpt_oss.py).
 */
static bool kernel_takes_sinks(const plait_problem *problem, plait_attention_kernel kernel)
{
    const plait_runtime *const runtime = problem->runtime;

    return runtime->rules == PLAIT_RULES_TORCHTITAN || !has_sinks(problem->model) ||
           !(is_flash(kernel) || (is_transformers(runtime) && kernel == PLAIT_ATTENTION_FUSED));
}

/*
 * Returns whether a kernel supports ALiBi. Among versions of FlashAttention, only version 2 does.
 * In transformers, BLOOM and MPT have eager attention only.
 */
static bool kernel_takes_alibi(const plait_problem *problem, plait_attention_kernel kernel)
{
    return !problem->model->numerics.alibi ||
           (kernel != PLAIT_ATTENTION_FLASH && kernel != PLAIT_ATTENTION_FLASH3 &&
            (!is_transformers(problem->runtime) || kernel == PLAIT_ATTENTION_UNFUSED));
}

/* Checks that the kernel supports the model's dropout, sinks and ALiBi. */
static bool kernel_takes_model(const plait_problem *problem, plait_attention_kernel kernel,
                               const plan_reason *why)
{
    const char *const name = plait_attention_kernel_name[kernel];
    const plait_accelerator *const gpu = gpu_of(problem);

    if (problem->model->dropout && kernel == PLAIT_ATTENTION_FLASH3)
        return fail_because(why,
                            "the model is trained with dropout, which attention flash3 does not "
                            "support (rule P55)");
    if (!kernel_takes_sinks(problem, kernel))
        return fail_because(
            why, "the model needs sinks, which attention %s under %s does not support (rule P56)",
            name, problem->runtime->name);
    if (!kernel_takes_alibi(problem, kernel))
        return fail_because(
            why, "the model needs ALiBi, which attention %s under %s does not support (rule P57)",
            name, problem->runtime->name);
    return !problem->model->numerics.alibi || !is_cudnn(gpu, kernel) ||
           plait_accelerator_runs(gpu, PLAIT_KERNEL_ALIBI) ||
           fail_because(why, "the model needs ALiBi, which attention fused on %s does not support",
                        gpu->name);
}

/*
 * Checks that the kernel supports the model's soft cap of scores and the length of the sequence.
 * FlashAttention supports a soft cap since version 2.6; cuDNN's attention in Transformer Engine and
 * PyTorch, and Megatron's fused softmax, do not.
 */
static bool kernel_takes_scores(const plait_problem *problem, plait_attention_kernel kernel,
                                const plan_reason *why)
{
    const bool capped = problem->model->numerics.attention_softcap > 0.0;

    if (capped &&
        (kernel == PLAIT_ATTENTION_FLASH || kernel == PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL ||
         is_cudnn(gpu_of(problem), kernel)))
        return fail_because(why,
                            "the model needs soft-capped attention scores, which attention %s does "
                            "not support (rule P51)",
                            plait_attention_kernel_name[kernel]);
    return kernel != PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL ||
           problem->job.seq <= SOFTMAX_KERNEL_SEQ ||
           fail_because(why, "attention %s supports sequences up to %d tokens, found %d (rule P52)",
                        plait_attention_kernel_name[kernel], SOFTMAX_KERNEL_SEQ, problem->job.seq);
}

bool plan_attention_runs(const plait_problem *problem, const plait_degrees *d,
                         const plan_reason *why)
{
    const plait_accelerator *const gpu = gpu_of(problem);
    const plait_attention_kernel kernel = (plait_attention_kernel)d->attention;

    if (!plait_accelerator_runs(gpu, PLAIT_KERNEL_ATTENTION + (int)kernel))
        return fail_because(why, "%s has no attention %s", gpu->name,
                            plait_attention_kernel_name[kernel]);

    const int head = widest_head(problem->model);
    const int widest = is_cudnn(gpu, kernel) ? WIDE_HEAD : widest_taken[kernel];
    if (kernel == PLAIT_ATTENTION_FUSED && head > USUAL_HEAD &&
        !plait_accelerator_runs(gpu, PLAIT_KERNEL_WIDE))
        return fail_because(why, "attention fused on %s supports head widths up to %d, found %d",
                            gpu->name, USUAL_HEAD, head);
    if (widest > 0 && head > widest)
        return fail_because(why, "attention %s supports head widths up to %d, found %d (rule P49)",
                            plait_attention_kernel_name[kernel], widest, head);
    if (is_cudnn(gpu, kernel) && !widths_fit_cudnn(problem->model))
        return fail_because(
            why,
            "attention fused supports heads wider than %d only if values have the same "
            "width, or if heads have width %d and values %d (rule P50)",
            USUAL_HEAD, LATENT_HEAD, LATENT_VALUES);
    if (is_cudnn(gpu, kernel) && !plait_accelerator_runs(gpu, PLAIT_KERNEL_BETWEEN) &&
        !wide_heads_fit_blackwell(problem->model))
        return fail_because(
            why,
            "attention fused on %s supports heads wider than %d only with width %d and no "
            "dropout, ALiBi or sinks, or with width %d and values of width %d (rule P58)",
            gpu->name, USUAL_HEAD, WIDE_HEAD, LATENT_HEAD, LATENT_VALUES);

    // Transformer Engine lists the GPUs on which it runs FlashAttention 2 with heads wider than
    // 192. The library also trains such heads without dropout on other GPUs (README of
    // Dao-AILab/flash-attention, since 2.5.5).
    const bool megatron = rules_are_kin(problem->runtime->rules, PLAIT_RULES_MEGATRON);
    if (kernel == PLAIT_ATTENTION_FLASH2 && head > USUAL_FLASH2_HEAD &&
        !plait_accelerator_runs(gpu, PLAIT_KERNEL_FLASH2_WIDE) &&
        (megatron || problem->model->dropout))
        return fail_because(
            why, "attention flash2 on %s supports head widths up to %d %s, found %d (rule P59)",
            gpu->name, USUAL_FLASH2_HEAD, megatron ? "in Transformer Engine" : "with dropout",
            head);
    return kernel_takes_scores(problem, kernel, why) && kernel_takes_model(problem, kernel, why) &&
           (d->cp == 1 || !problem->model->numerics.alibi ||
            fail_because(why, "the model needs ALiBi, which does not work with cp > 1 (rule P60)"));
}

/*
 * The fused kernel has gated activations and the squared ReLU, and multiplies outputs by the
 * router's weights. Only Llama 4 multiplies inputs.
 */
static bool experts_fit_one_kernel(const plait_model *model)
{
    static const int multiple = 64;
    const plait_router *const router = &model->numerics.router;

    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *const layer = &model->kind[k];
        const int width = layer->moe.latent > 0 ? layer->moe.latent : model->hidden;
        const bool fits = layer->moe.gated || model->numerics.activation == PLAIT_RELU2;
        const bool of_inputs =
            router->score == PLAIT_ROUTER_SIGMOID && !router->normalised && layer->moe.topk == 1;
        if (layer->ffn == PLAIT_FFN_MOE &&
            (!fits || of_inputs || width % multiple != 0 || layer->moe.width % multiple != 0))
            return false;
    }
    return true;
}

bool plan_switches_run(const plait_problem *problem, const plait_degrees *d, const plan_reason *why)
{
    const plait_switches *const s = &d->switches;
    const plait_precision precision = problem->job.precision;
    const plait_accelerator *const gpu = gpu_of(problem);
    const bool blackwell =
        has_cudnn(gpu) && plait_accelerator_runs(gpu, PLAIT_KERNEL_PRECISION + (int)PLAIT_MXFP8);
    const bool experts = model_has_experts(problem->model);

    if (s->fp8_attention && (d->attention != PLAIT_ATTENTION_FUSED || !blackwell ||
                             (precision != PLAIT_FP8 && precision != PLAIT_MXFP8)))
        return fail_because(why,
                            "fp8_attention 1 needs attention fused, precision fp8 or mxfp8, and an "
                            "accelerator with cuDNN and mxfp8, found %s in %s on %s (rule P63)",
                            plait_attention_kernel_name[d->attention],
                            plait_precision_name[precision], gpu->name);
    if (s->fused_grouped_mlp) {
        const char *const needs =
            !experts ? "a model with experts"
            : !blackwell || precision != PLAIT_MXFP8 || d->etp > 1
                ? "precision mxfp8, etp 1, and an accelerator with cuDNN and mxfp8"
            : !experts_fit_one_kernel(problem->model) ? "experts with gates or squared ReLU that "
                                                        "weigh their outputs, and widths that are "
                                                        "multiples of 64"
                                                      : NULL;

        if (needs != NULL)
            return fail_because(
                why, "fused_grouped_mlp 1 needs %s, found %s and etp %d on %s (rule P64)", needs,
                plait_precision_name[precision], d->etp, gpu->name);
    }
    if (s->cuda_graph != PLAIT_GRAPH_NONE && !plait_accelerator_runs(gpu, PLAIT_KERNEL_CUDA_GRAPH))
        return fail_because(why, "%s has no CUDA graphs", gpu->name);
    if (s->cuda_graph == PLAIT_GRAPH_FULL && experts &&
        (d->ep == 1 || d->dispatcher != PLAIT_DISPATCH_HYBRIDEP || !s->fused_grouped_mlp))
        return fail_because(why,
                            "cuda_graph full_iteration with experts needs ep > 1, dispatcher "
                            "hybridep and fused_grouped_mlp 1, found ep %d and %s (rule P65)",
                            d->ep, plait_dispatcher_name[d->dispatcher]);
    // A stage with tp 1 has nothing to hide, and may be part of a plan that hides traffic elsewhere.
    if (s->tp_comm_overlap && d->tp > 1 && !tp_overlap_runs(problem, d->tp, d->sp))
        return fail_because(why,
                            "tp_comm_overlap 1 needs sp, tp ranks inside one node whose "
                            "accelerators are joined directly, and kernels for accelerator and "
                            "precision, found tp %d, sp %d and %s on %s (rule P68)",
                            d->tp, d->sp, plait_precision_name[precision], gpu->name);
    return true;
}

bool plan_experts_run(const plait_problem *problem, const plan_reason *why)
{
    const plait_accelerator *const gpu = gpu_of(problem);

    return !model_has_experts(problem->model) ||
           plait_accelerator_runs(gpu, PLAIT_KERNEL_GROUPED_GEMM) ||
           fail_because(why, "%s has no grouped GEMM, which experts need", gpu->name);
}

bool plan_attention_is_legal(const plait_problem *problem, const plait_degrees *d)
{
    plait_degrees plain = *d;

    plain.attention = PLAIT_ATTENTION_FUSED; // a kernel that no rule rejects
    return (problem->runtime->can.takes[PLAIT_KEY_ATTENTION] >> d->attention & 1u) &&
           plan_attention_runs(problem, d, &no_reason) && !plan_rule_separates(problem, d, &plain);
}

/*
 * Returns whether a kernel is legal for the model in some plan. The function checks a plan of one
 * rank, since such a plan breaks no other rule.
 */
static bool kernel_is_legal(const plait_problem *problem, plait_attention_kernel kernel)
{
    plait_degrees one = plait_degrees_init();

    one.attention = (unsigned char)kernel;
    return plan_attention_is_legal(problem, &one);
}

plait_attention_kernel plait_attention_usual(const plait_problem *problem)
{
    const plait_attention_kernel usual =
        (plait_attention_kernel)problem->runtime->defaults.key[PLAIT_KEY_ATTENTION];

    if (kernel_is_legal(problem, usual))
        return usual;
    for (int kernel = PLAIT_ATTENTION_KERNELS - 1; kernel >= 0; kernel--)
        if (kernel_is_legal(problem, (plait_attention_kernel)kernel))
            return (plait_attention_kernel)kernel;
    return usual;
}
