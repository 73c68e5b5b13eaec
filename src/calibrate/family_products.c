/* family_products.c - matrix products: single, under sustained load, weight gradients, grouped */
#include <math.h>

#include "plait/runtime.h"

#include "calibrate/family.h"
#include "calibrate/ranges.h"

/* Products as large as in training, with several tiles in each dimension. */
static bool large_product(const plait_accelerator *accelerator, const point *p)
{
    (void)accelerator;
    return p->gemm.m >= 1024.0 && p->gemm.n >= 512.0 && p->gemm.k >= 512.0;
}

static double product_flops(const plait_gemm *g)
{
    return 2.0 * g->batch * g->m * g->n * g->k;
}

static bool has_format(const plait_accelerator *accelerator, int precision)
{
    return accelerator->peak_flops_per_s[precision] > 0.0;
}

/* TensorRT-LLM runs cuBLAS, as training does; for block-scaled fp8 SGLang runs DeepGEMM. */
static const char *const *product_stacks(int block)
{
    static const char *const plain[] = {"trtllm", "vllm", "sglang", "simumax", NULL};
    static const char *const scaled[] = {"sglang", "trtllm", "vllm", "simumax", NULL};

    return block == PLAIT_FP8_BLOCK ? scaled : plain;
}

/* ---- single products (C.30) ---- */

static bool gemm_takes(const plait_accelerator *accelerator, const point *p, int block)
{
    return p->kind == POINT_GEMM && p->block == block && has_format(accelerator, block);
}

#define GEMM_AT(member)                                                                            \
    offsetof(family_subject, accelerator.gemm) + (size_t)block * sizeof(plait_gemm_fit) +          \
        offsetof(plait_gemm_fit, member)

static int gemm_numbers(family_subject *subject, int block, fit_number out[FIT_MAX_NUMBERS])
{
    const plait_accelerator *gpu = &subject->accelerator;
    int n = 0;

    out[n++] = range_number("gemm", "emax", GEMM_AT(emax), gpu);
    out[n++] = range_number("gemm", "k0", GEMM_AT(k0), gpu);
    out[n++] = range_number("gemm", "q", GEMM_AT(q), gpu);
    out[n++] = range_number("gemm", "r128", GEMM_AT(r128), gpu);
    out[n++] = range_number("gemm", "r64", GEMM_AT(r64), gpu);
    out[n++] = range_number("gemm", "r32", GEMM_AT(r32), gpu);
    out[n++] = range_number("gemm", "eb", GEMM_AT(eb), gpu);
    out[n++] = range_number("gemm", "p", GEMM_AT(p), gpu);
    out[n++] = range_number("gemm", "t0_us", GEMM_AT(t0_s), gpu);
    if (block > PLAIT_FP16)
        out[n++] = range_number("gemm", "cq", GEMM_AT(cq), gpu);
    return n;
}

static double gemm_predict_s(const void *subject, const void *what)
{
    const family_subject *s = subject;

    return plait_gemm_s(&s->accelerator, ((const point *)what)->gemm);
}

static uint64_t gemm_shape(const point *p)
{
    return family_mix((const double[]){p->gemm.n, p->gemm.k}, 2);
}

const family family_gemm = {
    .section = "gemm",
    .block_name = plait_precision_name,
    .first = 0,
    .last = PLAIT_PRECISIONS,
    .kernels = true,
    .alone = true,
    .measure = "products",
    .least = 20,
    .large_weight = 3.0,
    .takes = gemm_takes,
    .numbers = gemm_numbers,
    .predict_s = gemm_predict_s,
    .large = large_product,
    .shape = gemm_shape,
    .stacks = product_stacks,
};

/* ---- factors of plait_op_s on a product: clocks under load, weight gradients (C.35, C.36) ---- */

static double op_s(const plait_accelerator *accelerator, const plait_gemm *gemm)
{
    static const plait_runtime neutral = {.factor = {.gemm = 1.0, .memory = 1.0, .attention = 1.0}};
    const plait_kernel_context context = {
        .accelerator = accelerator,
        .runtime = &neutral,
        .precision = gemm->precision,
        .attention = PLAIT_ATTENTION_FUSED,
        .slowest = 1.0,
    };
    const plait_op op = {
        .kind = PLAIT_OP_GEMM,
        .flops = product_flops(gemm),
        .m = gemm->m,
        .n = gemm->n,
        .k = gemm->k,
        .batch = gemm->batch,
        .layout = gemm->weight_gradient ? PLAIT_BACKWARD_WEIGHT : PLAIT_FORWARD,
        .matrix_precision = true,
        .count = 1.0,
    };

    return plait_op_s(&context, &op);
}

enum { CLOCK_BF16, CLOCK_FP8, CLOCKS };

static bool sustained_takes(const plait_accelerator *accelerator, const point *p, int block)
{
    return p->kind == POINT_SUSTAINED && has_format(accelerator, p->block) &&
           block == (p->gemm.precision <= PLAIT_FP16 ? CLOCK_BF16 : CLOCK_FP8);
}

static int sustained_numbers(family_subject *subject, int block, fit_number out[FIT_MAX_NUMBERS])
{
    out[0] = range_number("sustained", block == CLOCK_BF16 ? "bf16" : "fp8",
                          offsetof(family_subject, accelerator.sustained) +
                              (size_t)block * sizeof(double),
                          &subject->accelerator);
    return 1;
}

/* Returns the measured burst time times the model's slowdown under sustained clocks. */
static double sustained_predict_s(const void *subject, const void *what)
{
    const family_subject *s = subject;
    const point *p = what;
    plait_accelerator burst = s->accelerator;

    burst.sustained[0] = burst.sustained[1] = 1.0;
    return p->beside_s * op_s(&s->accelerator, &p->gemm) / op_s(&burst, &p->gemm);
}

static bool sustained_large(const plait_accelerator *accelerator, const point *p)
{
    (void)accelerator;
    return product_flops(&p->gemm) >= 3e10;
}

const family family_sustained = {
    .section = "sustained",
    .what = "sustained clock",
    .block_name = NULL,
    .first = 0,
    .last = CLOCKS,
    .kernels = true,
    .measure = "products in long loops",
    .least = 20,
    .large_weight = 3.0,
    .takes = sustained_takes,
    .numbers = sustained_numbers,
    .predict_s = sustained_predict_s,
    .large = sustained_large,
    .stacks = product_stacks,
};

static bool layout_takes(const plait_accelerator *accelerator, const point *p, int block)
{
    (void)block;
    return p->kind == POINT_LAYOUT && p->block == PLAIT_BF16 && has_format(accelerator, PLAIT_BF16);
}

/* `scale` absorbs clocks and launch times of the training software, common to all its points. */
static int layout_numbers(family_subject *subject, int block, fit_number out[FIT_MAX_NUMBERS])
{
    (void)block;
    out[0] = range_number("wgrad_ratio", "wgrad_ratio",
                          offsetof(family_subject, accelerator.wgrad_ratio), &subject->accelerator);
    out[1] = (fit_number){.key = NULL,
                          .element = -1,
                          .offset = offsetof(family_subject, scale),
                          .unit = 1.0,
                          .low = 0.3,
                          .high = 3.0,
                          .scales = true};
    return 2;
}

static double layout_predict_s(const void *subject, const void *what)
{
    const family_subject *s = subject;

    return s->scale * op_s(&s->accelerator, &((const point *)what)->gemm);
}

const family family_weight_gradient = {
    .section = NULL,
    .what = "weight gradients",
    .block_name = NULL,
    .first = 0,
    .last = 1,
    .kernels = true,
    .measure = "products of training",
    .least = 20,
    .large_weight = 3.0,
    .takes = layout_takes,
    .numbers = layout_numbers,
    .predict_s = layout_predict_s,
    .large = large_product,
    .stacks = product_stacks,
};

/* ---- grouped products of experts (C.31) ---- */

static bool grouped_takes(const plait_accelerator *accelerator, const point *p, int block)
{
    return (p->kind == POINT_EXPERTS || p->kind == POINT_GROUPED) && p->block == block &&
           has_format(accelerator, block);
}

#define GROUPED_AT(member)                                                                         \
    offsetof(family_subject, accelerator.grouped) + (size_t)block * sizeof(plait_grouped_fit) +    \
        offsetof(plait_grouped_fit, member)

static int grouped_numbers(family_subject *subject, int block, fit_number out[FIT_MAX_NUMBERS])
{
    const plait_accelerator *gpu = &subject->accelerator;

    out[0] = range_number("grouped_gemm", "emax", GROUPED_AT(emax), gpu);
    out[1] = range_number("grouped_gemm", "rs", GROUPED_AT(rs), gpu);
    out[2] = range_number("grouped_gemm", "k0", GROUPED_AT(k0), gpu);
    out[3] = range_number("grouped_gemm", "eb", GROUPED_AT(eb), gpu);
    out[4] = range_number("grouped_gemm", "t0_us", GROUPED_AT(t0_s), gpu);
    out[5] = range_number("grouped_gemm", "permute_passes", GROUPED_AT(permute_passes), gpu);
    return 6;
}

/* Returns the rows that one rank's experts process; a token counts once per chosen expert. */
static double routed_rows(const point_experts *e)
{
    return e->tokens * e->topk / e->ranks;
}

/* Returns the time of an expert layer as in block_ffn.c: permute, fc1, activation, fc2, permute. */
static double experts_s(const plait_accelerator *gpu, const point *p)
{
    const point_experts *e = &p->experts;
    const double rows = routed_rows(e);
    const double idle = pow(1.0 - 1.0 / e->experts, e->tokens * e->topk); // share without a token
    const double active = e->experts / e->ranks * (1.0 - idle);
    const double passes = gpu->grouped[p->block].permute_passes;
    plait_gemm fc1 = p->gemm, fc2 = p->gemm;

    fc1.batch = fc2.batch = active;
    fc1.m = fc2.m = rows / active;
    fc1.n = 2.0 * e->width;
    fc1.k = fc2.n = e->hidden;
    fc2.k = e->width;
    return plait_grouped_gemm_s(gpu, fc1) + plait_grouped_gemm_s(gpu, fc2) +
           plait_memory_op_s(gpu, 6.0 * rows * e->width) +
           2.0 * plait_memory_op_s(gpu, 4.0 * rows * e->hidden * passes);
}

static double grouped_predict_s(const void *subject, const void *what)
{
    const family_subject *s = subject;
    const point *p = what;

    return p->kind == POINT_GROUPED ? plait_grouped_gemm_s(&s->accelerator, p->gemm)
                                    : experts_s(&s->accelerator, p);
}

static bool grouped_large(const plait_accelerator *accelerator, const point *p)
{
    (void)accelerator;
    if (p->kind == POINT_GROUPED)
        return p->gemm.m >= 128.0;
    return routed_rows(&p->experts) * p->experts.ranks / p->experts.experts >= 128.0;
}

static uint64_t grouped_shape(const point *p)
{
    const point_experts *e = &p->experts;

    if (p->kind == POINT_GROUPED)
        return family_mix((const double[]){p->gemm.n, p->gemm.k, p->gemm.batch}, 3);
    return family_mix((const double[]){e->hidden, e->width, e->experts}, 3);
}

static const char *const *grouped_stacks(int block)
{
    static const char *const stacks[] = {"trtllm", "vllm", "sglang", "simumax", NULL};

    (void)block;
    return stacks;
}

const family family_grouped = {
    .section = "grouped_gemm",
    .block_name = plait_precision_name,
    .first = 0,
    .last = PLAIT_PRECISIONS,
    .kernels = true,
    .alone = true,
    .measure = "expert layers",
    .least = 20,
    .large_weight = 2.0,
    .takes = grouped_takes,
    .numbers = grouped_numbers,
    .predict_s = grouped_predict_s,
    .large = grouped_large,
    .shape = grouped_shape,
    .stacks = grouped_stacks,
};
