/*
 * family.c - families of constants: their numbers with physical bounds, and the times they predict
 */
#include "calibrate/family.h"

#include <math.h>
#include <string.h>

#include "plait/runtime.h"
#include "plait/units.h"

// ---- constants and their bounds ------------------------------------------------------------

/*
 * LINEAR describes shares (unit 1); SCALED, rates and times, which are fitted by their logarithm.
 */
#define LINEAR(name, member, least, most)                                                          \
    .key = name, .offset = offsetof(family_subject, accelerator.member), .unit = 1.0,              \
    .low = least, .high = most
#define SCALED(name, member, of_one, least, most)                                                  \
    .key = name, .offset = offsetof(family_subject, accelerator.member), .unit = of_one,           \
    .low = least, .high = most, .scales = true

/*
 * Reasons for the bounds: Shares of a peak are at most 1. Shares of the HBM rate can slightly
 * exceed 1, since small operands stay in a cache. The share r128 can exceed 1, since another tile
 * can be faster than the 256x128 tile. No ring exceeds its wire rate. A switch that reduces sends
 * each byte once, and `nvls_gb_per_s` counts bytes of the buffer. A local copy reads and writes
 * each byte, so it runs at half of the HBM rate, or at several times that rate from a cache. The
 * backward pass of attention computes 2.5 times the products of the forward pass.
 */
static const family_number memory_numbers[] = {
    {LINEAR("fraction", memory_op_fraction, 0.1, 1.2)},
    {SCALED("t0_us", memory_op_t0_s, PLAIT_US, 0.2, 20.0)},
};

static const family_number gemm_numbers[] = {
    {LINEAR("emax", gemm[0].emax, 0.1, 1.0)},
    {LINEAR("k0", gemm[0].k0, 0.0, 2000.0)},
    {LINEAR("q", gemm[0].q, 0.0, 1.0)},
    {LINEAR("r128", gemm[0].r128, 0.2, 1.3)},
    {LINEAR("r64", gemm[0].r64, 0.1, 1.3)},
    {LINEAR("r32", gemm[0].r32, 0.05, 1.1)},
    {LINEAR("eb", gemm[0].eb, 0.2, 1.15)},
    {SCALED("p", gemm[0].p, 1.0, 1.2, 16.0)},
    {SCALED("t0_us", gemm[0].t0_s, PLAIT_US, 0.3, 40.0)},
    {LINEAR("cq", gemm[0].cq, 0.0, 8.0), .blocks = ~(1U << PLAIT_BF16 | 1U << PLAIT_FP16)},
};

/* Blocks of the sustained clock: CLOCK_BF16 for 16-bit formats, CLOCK_FP8 for narrower ones. */
enum { CLOCK_BF16, CLOCK_FP8, CLOCKS };

static const family_number sustained_numbers[] = {
    {LINEAR("bf16", sustained[0], 0.5, 1.05), .blocks = 1U << CLOCK_BF16},
    {LINEAR("fp8", sustained[1], 0.5, 1.05), .blocks = 1U << CLOCK_FP8},
};

/* `scale` absorbs clocks and launch times of the training software, which all points share. */
static const family_number weight_gradient_numbers[] = {
    {SCALED("wgrad_ratio", wgrad_ratio, 1.0, 0.8, 1.6)},
    {.offset = offsetof(family_subject, scale),
     .unit = 1.0,
     .low = 0.3,
     .high = 3.0,
     .scales = true},
};

static const family_number grouped_numbers[] = {
    {LINEAR("emax", grouped[0].emax, 0.1, 1.0)},
    {LINEAR("rs", grouped[0].rs, 0.3, 1.0)},
    {LINEAR("k0", grouped[0].k0, 0.0, 2500.0)},
    {LINEAR("eb", grouped[0].eb, 0.2, 1.15)},
    {SCALED("t0_us", grouped[0].t0_s, PLAIT_US, 1.0, 200.0)},
    {LINEAR("permute_passes", grouped[0].permute_passes, 0.0, 10.0)},
};

static const family_number attention_numbers[] = {
    {LINEAR("e", attention[0].e, 0.05, 1.0), .elements = 4},
    {LINEAR("s0", attention[0].s0, 0.0, 4000.0)},
    {LINEAR("q", attention[0].q, 0.0, 1.0)},
    {SCALED("t0_us", attention[0].t0_s, PLAIT_US, 0.3, 80.0)},
};

static const family_number backward_numbers[] = {
    {SCALED("backward_ratio", attention[0].backward_ratio, 1.0, 1.5, 5.0)},
};

static const family_number decode_numbers[] = {
    {LINEAR("eb", decode[0].eb, 0.1, 1.15)},
    {SCALED("few", decode[0].few, 1.0, 0.01, 30.0)},
    {SCALED("t0_us", decode[0].t0_s, PLAIT_US, 0.5, 80.0)},
};

/* The presets are estimates. The NVLS numbers of H100 are 72 us and 0.58 of the wire rate. */
static const family_number collective_numbers[] = {
    {SCALED("a_us", collective[0].a_s, PLAIT_US, 0.5, 400.0), .elements = 3},
    {SCALED("b_us", collective[0].b_s, PLAIT_US, 0.01, 100.0), .elements = 3},
    {SCALED("bus_gb_per_s", collective[0].bytes_per_s, PLAIT_GB, 1e-4, 1.0), .of = OF_WIRE,
     .elements = 3},
    {SCALED("local_gb_per_s", collective[0].local_bytes_per_s, PLAIT_GB, 0.02, 4.0),
     .of = OF_MEMORY},
    {SCALED("nvls_a_us", collective[0].nvls_a_s, PLAIT_US, 5.0, 200.0),
     .blocks = 1U << PLAIT_ALL_REDUCE, .preset = 50.0},
    {SCALED("nvls_gb_per_s", collective[0].nvls_bytes_per_s, PLAIT_GB, 0.05, 1.0), .of = OF_WIRE,
     .blocks = 1U << PLAIT_ALL_REDUCE, .preset = 0.5},
};

static const family_number p2p_numbers[] = {
    {SCALED("latency_us", p2p.latency_s, PLAIT_US, 0.5, 100.0)},
    {SCALED("bandwidth_gb_per_s", p2p.bytes_per_s, PLAIT_GB, 0.005, 1.0), .of = OF_WIRE},
};

// ---- measured software ---------------------------------------------------------------------

/*
 * TensorRT-LLM is preferred for products, since it runs cuBLAS as training does; SGLang is
 * preferred for block-scaled fp8, since it runs DeepGEMM.
 */
static const char *const product_stacks[] = {"trtllm", "vllm", "sglang", "simumax", NULL};
static const char *const scaled_stacks[] = {"sglang", "trtllm", "vllm", "simumax", NULL};
static const char *const attention_stacks[] = {"trtllm",          "vllm",    "sglang",
                                               "flash-attention", "simumax", NULL};
/* vLLM comes first, since TensorRT-LLM's times on Hopper scatter twice as much as vLLM's. */
static const char *const decode_stacks[] = {"vllm", "trtllm", "sglang", NULL};
static const char *const memory_stacks[] = {"vidur", NULL};
static const char *const link_stacks[] = {"aic:nccl-", "vidur", NULL};

const char *const *family_stacks(const family *f, int block)
{
    return f == &families[FAMILY_GEMM] && block == PLAIT_FP8_BLOCK ? scaled_stacks : f->stacks;
}

// ---- the families --------------------------------------------------------------------------

#define NUMBERS(list) list, sizeof(list) / sizeof *(list)
#define PRODUCTS plait_precision_name, 0, PLAIT_PRECISIONS
#define ATTENTION                                                                                  \
    plait_attention_kernel_name, PLAIT_ATTENTION_FLASH, PLAIT_ATTENTION_KERNELS,                   \
        sizeof(plait_attention_fit)

const family families[FAMILIES] = {
    // Memory passes (C.33).
    [FAMILY_MEMORY] = {"memory_op", "memory passes", NULL, 0, 1, 0, NUMBERS(memory_numbers),
                       1U << POINT_MEMORY, false, true, "memory-bound kernels", 12, 2.0,
                       memory_stacks},
    // Single products (C.30).
    [FAMILY_GEMM] = {"gemm", NULL, PRODUCTS, sizeof(plait_gemm_fit), NUMBERS(gemm_numbers),
                     1U << POINT_GEMM, false, true, "products", 20, 3.0, product_stacks},
    // Clocks under load (C.35).
    [FAMILY_SUSTAINED] = {"sustained", "sustained clock", NULL, 0, CLOCKS, 0,
                          NUMBERS(sustained_numbers), 1U << POINT_SUSTAINED, false, false,
                          "products in long loops", 20, 3.0, product_stacks},
    // Weight gradients (C.36).
    [FAMILY_WEIGHT_GRADIENT] = {NULL, "weight gradients", NULL, 0, 1, 0,
                                NUMBERS(weight_gradient_numbers), 1U << POINT_LAYOUT, false, false,
                                "products of training", 20, 3.0, product_stacks},
    // Grouped products of experts (C.31).
    [FAMILY_GROUPED] = {"grouped_gemm", NULL, PRODUCTS, sizeof(plait_grouped_fit),
                        NUMBERS(grouped_numbers), 1U << POINT_GROUPED | 1U << POINT_EXPERTS, false,
                        true, "expert layers", 20, 2.0, product_stacks},
    // Forward pass of attention (C.32).
    [FAMILY_ATTENTION] = {"attention", NULL, ATTENTION, NUMBERS(attention_numbers),
                          1U << POINT_ATTENTION, false, false, "attention kernels", 20, 2.0,
                          attention_stacks},
    // Backward pass of attention, as a multiple of the forward pass.
    [FAMILY_BACKWARD] = {"attention", "attention backward", ATTENTION, NUMBERS(backward_numbers),
                         1U << POINT_BACKWARD, false, false, "pairs of passes", 8, 2.0,
                         attention_stacks},
    // Attention in decode steps (C.361).
    [FAMILY_DECODE] = {"attention_decode", NULL, plait_kv_name, 0, PLAIT_KV_FORMATS,
                       sizeof(plait_decode_fit), NUMBERS(decode_numbers), 1U << POINT_DECODE, false,
                       true, "decode kernels", 20, 2.0, decode_stacks},
    // Collectives (C.50).
    [FAMILY_COLLECTIVE] = {"collectives", NULL, plait_collective_name, 0, PLAIT_FITTED_COLLECTIVES,
                           sizeof(plait_collective_fit), NUMBERS(collective_numbers),
                           1U << POINT_COLLECTIVE, true, true, "collectives", 16, 1.0, link_stacks},
    // Sends (C.59).
    [FAMILY_P2P] = {"p2p", "sends", NULL, 0, 1, 0, NUMBERS(p2p_numbers), 1U << POINT_P2P, true,
                    true, "sends", 12, 1.0, link_stacks},
};

void family_subject_init(const plait_accelerator *accelerator, family_subject *out)
{
    *out = (family_subject){.accelerator = *accelerator, .scale = 1.0};
    out->domain = (plait_cluster){
        .name = accelerator->name,
        .source = "",
        .groups = 1,
        .group[0] = {.accelerator = &out->accelerator,
                     .gpus_per_node = accelerator->scale_up_domain,
                     .nodes = 1},
        .levels = 1,
        .level[0] = {.name = "",
                     .kind = accelerator->scale_up_full ? PLAIT_LEVEL_FULL : PLAIT_LEVEL_SWITCH,
                     .gpus = accelerator->scale_up_domain,
                     .link = {.bytes_per_s = accelerator->scale_up_bytes_per_s},
                     .efficiency = 1.0,
                     .oversubscription = 1.0},
        .gpus = accelerator->scale_up_domain,
        .host_speed = 1.0,
    };
}

int family_numbers(const family *f, family_subject *subject, int block,
                   fit_number out[FIT_MAX_NUMBERS])
{
    const plait_accelerator *const gpu = &subject->accelerator;
    // NVIDIA's switches reduce (NVLS) since Hopper; fp8, which came with Hopper, identifies these.
    const bool nvls = strcmp(gpu->vendor, "NVIDIA") == 0 &&
                      gpu->peak_flops_per_s[PLAIT_FP8] > 0.0 &&
                      gpu->scale_up_bytes_per_s >= 100.0 * PLAIT_GB && !gpu->scale_up_full;
    int count = 0;

    for (const family_number *n = f->number; n < f->number + f->numbers; n++) {
        const double base = n->of == OF_WIRE     ? gpu->scale_up_bytes_per_s
                            : n->of == OF_MEMORY ? gpu->hbm_bytes_per_s
                                                 : n->unit;

        if ((n->blocks != 0 && (n->blocks >> block & 1U) == 0) || (n->preset > 0.0 && !nvls))
            continue;
        for (int e = 0; e == 0 || e < n->elements; e++) {
            out[count] = (fit_number){
                .key = n->key,
                .element = n->elements > 0 ? e : -1,
                .offset = n->offset + (size_t)block * f->block_size + (size_t)e * sizeof(double),
                .unit = n->unit,
                .low = n->low * base,
                .high = n->high * base,
                .scales = n->scales,
                .preset = n->preset > 0.0,
            };
            if (n->preset > 0.0)
                *(double *)(void *)((char *)subject + out[count].offset) = n->preset * base;
            count++;
        }
    }
    return count;
}

// ---- points --------------------------------------------------------------------------------

bool family_takes(const family *f, const plait_accelerator *accelerator, const point *p, int block)
{
    if ((f->kinds >> p->kind & 1U) == 0)
        return false;
    switch (p->kind) {
    case POINT_MEMORY:
        return true;
    case POINT_SUSTAINED:
        return accelerator->peak_flops_per_s[p->block] > 0.0 &&
               block == (p->gemm.precision <= PLAIT_FP16 ? CLOCK_BF16 : CLOCK_FP8);
    case POINT_LAYOUT:
        return accelerator->peak_flops_per_s[p->block] > 0.0 && p->block == PLAIT_BF16;
    case POINT_GEMM:
    case POINT_GROUPED:
    case POINT_EXPERTS:
        return accelerator->peak_flops_per_s[p->block] > 0.0 && p->block == block;
    case POINT_COLLECTIVE:
    case POINT_P2P:
        // Only groups inside one scale-up domain, which can span several nodes.
        return (p->kind == POINT_P2P || p->block == block) && accelerator->torus[0] == 0 &&
               p->ranks <= accelerator->scale_up_domain &&
               (p->nodes <= 1 || accelerator->scale_up_domain > accelerator->gpus_per_node);
    default:
        return p->block == block;
    }
}

static double product_flops(const plait_gemm *g)
{
    return 2.0 * g->batch * g->m * g->n * g->k;
}

/*
 * Returns the number of rows that the experts of one rank process. A token has one row for each
 * expert that it is routed to.
 */
static double routed_rows(const point_experts *e)
{
    return e->tokens * e->topk / e->ranks;
}

bool family_is_large(const plait_accelerator *accelerator, const point *p)
{
    const plait_attention_work *const w = &p->attention;

    switch (p->kind) {
    case POINT_GEMM:
    case POINT_LAYOUT: // several tiles in each dimension, as in training
        return p->gemm.m >= 1024.0 && p->gemm.n >= 512.0 && p->gemm.k >= 512.0;
    case POINT_SUSTAINED:
        return product_flops(&p->gemm) >= 3e10;
    case POINT_GROUPED:
        return p->gemm.m >= 128.0;
    case POINT_EXPERTS:
        return routed_rows(&p->experts) * p->experts.ranks / p->experts.experts >= 128.0;
    case POINT_ATTENTION: // at least 1024 tokens and one full wave of thread blocks
        return w->query >= 1024.0 &&
               w->sequences * w->heads * ceil(w->query / 128.0) >= accelerator->sms;
    case POINT_BACKWARD:
        return w->query >= 1024.0;
    case POINT_DECODE: // more than 20 us at the full HBM rate, which exceeds the launch time
        return p->decode.bytes > 20e-6 * accelerator->hbm_bytes_per_s;
    default:
        return p->bytes >= PLAIT_MIB;
    }
}

/* FNV-1a hash of the integer parts. It makes the held-out set the same on every machine. */
static uint64_t hash_numbers(const double *number, int count)
{
    uint64_t mix = 14695981039346656037u;

    for (int i = 0; i < count; i++) {
        uint64_t bits = (uint64_t)number[i];
        for (int byte = 0; byte < 8; byte++, bits >>= 8)
            mix = (mix ^ (bits & 0xff)) * 1099511628211u;
    }
    return mix ^ (mix >> 29);
}

/* Holds out 30 % of the shapes of products, and every fourth point of the other kinds. */
bool family_holds_out(const point *p, int index)
{
    const double product[] = {p->gemm.n, p->gemm.k, p->gemm.batch};
    const double experts[] = {p->experts.hidden, p->experts.width, p->experts.experts};

    switch (p->kind) {
    case POINT_GEMM:
        return hash_numbers(product, 2) % 10 < 3;
    case POINT_GROUPED:
        return hash_numbers(product, 3) % 10 < 3;
    case POINT_EXPERTS:
        return hash_numbers(experts, 3) % 10 < 3;
    default:
        return index % 4 == 3;
    }
}

// ---- predicted times -----------------------------------------------------------------------

/*
 * Returns the seconds of a product: plait_op_s() with the effects of the sustained clock (C.35) and
 * of weight gradients (C.36).
 */
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

/* Returns the measured time of the burst times the predicted slowdown at the sustained clock. */
static double sustained_s(const plait_accelerator *gpu, const point *p)
{
    plait_accelerator burst = *gpu;

    burst.sustained[0] = burst.sustained[1] = 1.0;
    return p->beside_s * op_s(gpu, &p->gemm) / op_s(&burst, &p->gemm);
}

/* Returns the seconds of an expert layer: permute, fc1, activation, fc2, permute (block_ffn.c). */
static double experts_s(const plait_accelerator *gpu, const point *p)
{
    const point_experts *e = &p->experts;
    const double rows = routed_rows(e);
    const double idle = pow(1.0 - 1.0 / e->experts, e->tokens * e->topk); // share without tokens
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

static double link_s(const family_subject *s, const point *p)
{
    static const plait_network neutral = {.nic = 1.0};
    const int ranks = p->kind == POINT_P2P ? 2 : p->ranks;
    const plait_route route = {.cluster = &s->domain,
                               .accelerator = &s->accelerator,
                               .ranks = ranks,
                               .levels = 1,
                               .joined = {ranks}};

    return p->kind == POINT_P2P
               ? plait_p2p_s(&route, neutral, p->bytes)
               : plait_collective_s(&route, neutral, (plait_collective_op)p->block, p->bytes);
}

/* Returns the time of a backward pass, or of both passes if no forward pass was measured. */
static double backward_s(const plait_accelerator *gpu, const point *p)
{
    const double ratio = gpu->attention[p->block].backward_ratio;

    if (p->beside_s > 0.0)
        return p->beside_s * ratio;
    return (1.0 + ratio) * plait_attention_s(gpu, (plait_attention_kernel)p->block, p->attention);
}

double family_predict_s(const void *subject, const void *what)
{
    const family_subject *const s = subject;
    const plait_accelerator *const gpu = &s->accelerator;
    const point *const p = what;

    switch (p->kind) {
    case POINT_GEMM:
        return plait_gemm_s(gpu, p->gemm);
    case POINT_LAYOUT:
        return s->scale * op_s(gpu, &p->gemm);
    case POINT_SUSTAINED:
        return sustained_s(gpu, p);
    case POINT_GROUPED:
        return plait_grouped_gemm_s(gpu, p->gemm);
    case POINT_EXPERTS:
        return experts_s(gpu, p);
    case POINT_ATTENTION:
        return plait_attention_s(gpu, (plait_attention_kernel)p->block, p->attention);
    case POINT_DECODE:
        return plait_decode_attention_s(gpu, (plait_kv_format)p->block, p->decode);
    case POINT_BACKWARD:
        return backward_s(gpu, p);
    case POINT_MEMORY:
        return plait_memory_op_s(gpu, p->bytes);
    default:
        return link_s(s, p);
    }
}
