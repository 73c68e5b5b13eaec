/* kernels.c - the kernels that a plan asks of its accelerator, and whether it has them
 *
 * What an accelerator lacks is data (clusters/families); here is what asks for it.
 */
#include "kernels.h"

#include "plait/plan.h"

#include "rules.h"
#include "traits.h"

/* Widest head that cuDNN's attention takes everywhere, forward and backward. */
enum { USUAL_HEAD = 128 };

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

bool plan_attention_runs(const plait_problem *problem, const plait_degrees *d,
                         const plan_reason *why)
{
    const plait_accelerator *const gpu = gpu_of(problem);
    const plait_attention_kernel kernel = (plait_attention_kernel)d->attention;
    const int head = widest_head(problem->model);

    if (!plait_accelerator_runs(gpu, PLAIT_KERNEL_ATTENTION + (int)kernel))
        return because(why, "%s has no attention %s", gpu->name,
                       plait_attention_kernel_name[kernel]);
    if (kernel == PLAIT_ATTENTION_FUSED && head > USUAL_HEAD &&
        !plait_accelerator_runs(gpu, PLAIT_KERNEL_WIDE))
        return because(why, "%s has no attention fused for heads of %d, only up to %d", gpu->name,
                       head, USUAL_HEAD);
    return true;
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
