/*
 * space_kernels.c - chooses the attention kernels of rows
 *
 *     a dominates b:   forward_a <= forward_b,  backward_a <= backward_b,  kept_a <= kept_b     (S.80)
 *                      in every kind of layer; of equal ones the default kernel, then the first
 *
 * A price depends on the kernel only through these three costs, and no increase of a cost makes it
 * lower.
 */
#include "rules/kernels.h"
#include "plait/cost.h"
#include "plait/plan.h"
#include "search/space/space_private.h"
#include "plan/model_queries.h"
#include "costmodel/api.h"

/*
 * Cost of each kernel in each kind of layer; kinds with the same mixer are priced once, as the
 * first of them.
 */
typedef struct kernel_uses {
    int kinds;
    int usual;
    unsigned runs; /* bits 1 << kernel */
    plait_attention_use use[PLAIT_ATTENTION_KERNELS][PLAIT_MAX_LAYER_KINDS];
} kernel_uses;

/* Orders kernels with equal costs: the default first, then by number. */
static bool comes_first(const kernel_uses *uses, int a, int b)
{
    return a == uses->usual || (b != uses->usual && a < b);
}

static bool dominates(const kernel_uses *uses, int a, int b)
{
    bool less = false;

    for (int k = 0; k < uses->kinds; k++) {
        const plait_attention_use *const x = &uses->use[a][k], *const y = &uses->use[b][k];
        if (x->forward_s > y->forward_s || x->backward_s > y->backward_s ||
            x->kept_bytes > y->kept_bytes)
            return false;
        less = less || x->forward_s < y->forward_s || x->backward_s < y->backward_s ||
               x->kept_bytes < y->kept_bytes;
    }
    return less || comes_first(uses, a, b);
}

unsigned space_running_kernels(const plan_space *space, const plait_degrees *row)
{
    plait_degrees d = *row;
    unsigned runs = 0;

    for (int kernel = 0; kernel < PLAIT_ATTENTION_KERNELS; kernel++) {
        d.attention = (unsigned char)kernel;
        if (kernel != PLAIT_ATTENTION_FUSED &&
            !limits_allow_value(space->options, PLAIT_KEY_FP8_ATTENTION, 0))
            continue;
        if ((space_takes(space, PLAIT_KEY_ATTENTION) >> kernel & 1u) &&
            limits_allow_value(space->options, PLAIT_KEY_ATTENTION, kernel) &&
            plan_attention_is_legal(space->problem, &d))
            runs |= 1u << kernel;
    }
    return runs;
}

static bool is_dominated(const kernel_uses *uses, int kernel)
{
    for (int other = 0; other < PLAIT_ATTENTION_KERNELS; other++)
        if (other != kernel && (uses->runs >> other & 1u) && dominates(uses, other, kernel))
            return true;
    return false;
}

unsigned space_kernels_of(const plan_space *space, const plait_degrees *row)
{
    kernel_uses uses = {.kinds = space->problem->model->kinds,
                        .usual = (int)plait_attention_usual(space->problem),
                        .runs = space_running_kernels(space, row)};
    unsigned left = uses.runs;

    if ((uses.runs & (uses.runs - 1)) == 0) // at most one kernel
        return uses.runs;
    plait_degrees d = *row;
    for (int kernel = 0; kernel < PLAIT_ATTENTION_KERNELS; kernel++) {
        d.attention = (unsigned char)kernel;
        for (int k = 0; (uses.runs >> kernel & 1u) && k < uses.kinds; k++)
            if (model_first_with_mixer(space->problem->model, k) == k)
                uses.use[kernel][k] = plait_attention_use_of(space->problem, &d, k);
    }
    for (int kernel = 0; kernel < PLAIT_ATTENTION_KERNELS; kernel++)
        if ((uses.runs >> kernel & 1u) && is_dominated(&uses, kernel))
            left &= ~(1u << kernel);
    return left;
}
