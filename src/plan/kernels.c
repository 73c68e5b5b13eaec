/* kernels.c - the kernels that a plan asks of its accelerator, and whether it has them
 *
 * What an accelerator lacks is data (clusters/families); here is what asks for it.
 */
#include "kernels.h"

#include "plait/plan.h"

#include "rules.h"
#include "traits.h"

/* Widest head that cuDNN's attention takes everywhere, forward and backward, and that it takes at all. Heads
 * between the two have values as wide as queries, or are those of latent attention, 192 and 128 wide
 * (NVIDIA/TransformerEngine d0067d0, transformer_engine/common/fused_attn/fused_attn.cpp). */
enum { USUAL_HEAD = 128, WIDE_HEAD = 256, LATENT_HEAD = 192, LATENT_VALUES = 128 };

/* FlashAttention 1 ends at heads of 128 (Dao-AILab/flash-attention issue 277), versions 2 and 3 end at 256
 * (issue 2427; TransformerEngine issue 3006). 0: no limit of the kernel itself. */
static const int widest_taken[PLAIT_ATTENTION_KERNELS] = {
    [PLAIT_ATTENTION_FLASH] = 128,
    [PLAIT_ATTENTION_FLASH2] = 256,
    [PLAIT_ATTENTION_FLASH3] = 256,
};

/* Longest sequence of Megatron's fused softmax; beyond it, PyTorch's runs (FusedScaleMaskSoftmax in
 * megatron/core/fusions/fused_softmax.py). */
enum { SOFTMAX_KERNEL_SEQ = 4096 };

static const plait_accelerator *gpu_of(const plait_problem *problem)
{
    return problem->cluster->group[0].accelerator;
}

/* Of queries and keys: those of latent attention have a part for positions. */
static int head_width(const plait_layer *layer)
{
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

/* Heads of latent attention have queries and keys wider than values. */
static bool widths_fit_cudnn(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++) {
        const plait_mla *const mla = &model->kind[k].mla;
        const int queries = head_width(&model->kind[k]);

        if (model->kind[k].mixer == PLAIT_MIXER_MLA && queries > USUAL_HEAD &&
            queries != mla->v_dim && !(queries == LATENT_HEAD && mla->v_dim == LATENT_VALUES))
            return false;
    }
    return true;
}

/* cuDNN's attention, rather than what takes its place on accelerators of other vendors. */
static bool is_cudnn(const plait_accelerator *gpu, plait_attention_kernel kernel)
{
    return kernel == PLAIT_ATTENTION_FUSED && !plait_accelerator_runs(gpu, PLAIT_KERNEL_ANY_WIDTH);
}

static bool kernel_takes_heads(const plait_problem *problem, plait_attention_kernel kernel,
                               const plan_reason *why)
{
    const plait_accelerator *const gpu = gpu_of(problem);
    const int widest = is_cudnn(gpu, kernel) ? WIDE_HEAD : widest_taken[kernel];
    const int head = widest_head(problem->model);

    if (kernel == PLAIT_ATTENTION_FUSED && head > USUAL_HEAD &&
        !plait_accelerator_runs(gpu, PLAIT_KERNEL_WIDE))
        return because(why, "%s has no attention fused for heads of %d, only up to %d", gpu->name,
                       head, USUAL_HEAD);
    if (widest > 0 && head > widest)
        return because(why,
                       "attention %s takes heads up to %d, the model has heads of %d (rule P49)",
                       plait_attention_kernel_name[kernel], widest, head);
    return !is_cudnn(gpu, kernel) || widths_fit_cudnn(problem->model) ||
           because(why,
                   "attention fused trains heads wider than %d with values of the same width, or "
                   "as %d with values of %d (rule P50)",
                   USUAL_HEAD, LATENT_HEAD, LATENT_VALUES);
}

/* FlashAttention takes a soft cap from version 2.6 on; cuDNN's attention in Transformer Engine and in PyTorch,
 * and Megatron's fused softmax, have none. */
static bool kernel_takes_scores(const plait_problem *problem, plait_attention_kernel kernel,
                                const plan_reason *why)
{
    const bool capped = problem->model->numerics.attention_softcap > 0.0;

    if (capped &&
        (kernel == PLAIT_ATTENTION_FLASH || kernel == PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL ||
         is_cudnn(gpu_of(problem), kernel)))
        return because(why,
                       "attention %s has no soft cap of scores, which the model needs (rule P51)",
                       plait_attention_kernel_name[kernel]);
    return kernel != PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL ||
           problem->job.seq <= SOFTMAX_KERNEL_SEQ ||
           because(why, "attention %s takes sequences up to %d, found %d (rule P52)",
                   plait_attention_kernel_name[kernel], SOFTMAX_KERNEL_SEQ, problem->job.seq);
}

bool plan_attention_runs(const plait_problem *problem, const plait_degrees *d,
                         const plan_reason *why)
{
    const plait_accelerator *const gpu = gpu_of(problem);
    const plait_attention_kernel kernel = (plait_attention_kernel)d->attention;

    if (!plait_accelerator_runs(gpu, PLAIT_KERNEL_ATTENTION + (int)kernel))
        return because(why, "%s has no attention %s", gpu->name,
                       plait_attention_kernel_name[kernel]);
    return kernel_takes_heads(problem, kernel, why) && kernel_takes_scores(problem, kernel, why);
}

bool plan_experts_run(const plait_problem *problem, const plan_reason *why)
{
    const plait_accelerator *const gpu = gpu_of(problem);

    return !model_has_experts(problem->model) ||
           plait_accelerator_runs(gpu, PLAIT_KERNEL_GROUPED_GEMM) ||
           because(why, "%s has no grouped GEMM, which experts need", gpu->name);
}

bool plan_attention_suits(const plait_problem *problem, const plait_degrees *d)
{
    plait_degrees plain = *d;

    plain.attention = PLAIT_ATTENTION_FUSED; // which no rule refuses
    return (problem->runtime->can.takes[PLAIT_KEY_ATTENTION] >> d->attention & 1u) &&
           plan_attention_runs(problem, d, &nobody_asks) && !plan_rule_parts(problem, d, &plain);
}

/* What binds a kernel and a model, whatever the plan: one rank breaks no other rule. */
static bool kernel_suits(const plait_problem *problem, plait_attention_kernel kernel)
{
    plait_degrees one = plait_degrees_init();

    one.attention = (unsigned char)kernel;
    return plan_attention_suits(problem, &one);
}

plait_attention_kernel plait_attention_usual(const plait_problem *problem)
{
    const plait_attention_kernel usual =
        (plait_attention_kernel)problem->runtime->defaults.key[PLAIT_KEY_ATTENTION];

    if (kernel_suits(problem, usual))
        return usual;
    for (int kernel = PLAIT_ATTENTION_KERNELS - 1; kernel >= 0; kernel--)
        if (kernel_suits(problem, (plait_attention_kernel)kernel))
            return (plait_attention_kernel)kernel;
    return usual;
}
