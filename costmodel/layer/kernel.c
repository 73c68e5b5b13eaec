/*
 * kernel.c - seconds of one operator on one accelerator
 *
 * Every kernel has a compute time and a memory time, which a p-norm joins: the longer time counts,
 * and near the ridge point both do. The shares of the peak rates that kernels reach are constants
 * of the accelerator, fitted to measured kernels (clusters/accelerators).
 */
#include "plait/lowlevel/kernel.h"

#include <math.h>

#include "plait/runtime.h"
#include "base/numbers.h"

/* Bytes per element of bf16 and fp16, the formats of all tensors but the inputs of products. */
static const double half_bytes = 2.0;

/*
 * Bytes per element of a product's inputs, scale factors included: each block of 32 (MXFP8) or 16
 * (NVFP4) values has a scale of one byte. The scale of 128 fp8 values (four bytes, 3 %) is left
 * out.
 */
static double element_bytes(plait_precision precision)
{
    switch (precision) {
    case PLAIT_FP8:
    case PLAIT_FP8_BLOCK:
        return 1.0;
    case PLAIT_MXFP8:
        return 1.0 + 1.0 / 32.0;
    case PLAIT_NVFP4:
        return 0.5 + 1.0 / 16.0;
    default:
        return half_bytes;
    }
}

/* The precision of 16-bit products: bf16, or fp16 on accelerators without bf16 (V100). */
static plait_precision plain_precision(const plait_accelerator *gpu, plait_precision precision)
{
    if (precision <= PLAIT_FP16)
        return precision;
    return gpu->peak_flops_per_s[PLAIT_BF16] > 0.0 ? PLAIT_BF16 : PLAIT_FP16;
}

static double plain_peak(const plait_accelerator *gpu)
{
    return gpu->peak_flops_per_s[plain_precision(gpu, PLAIT_FP8)];
}

// ---- matrix products -----------------------------------------------------------------------

/* Tile sizes of GEMM libraries, largest first, and the maximum split-K factor. */
enum { TILES = 6 };
static const double tile_rows[TILES] = {256, 128, 128, 128, 64, 64};
static const double tile_columns[TILES] = {128, 256, 128, 64, 128, 64};
static const double most_splits = 8.0;

/* Index of each tile's rate in group_rate, its share of the best tile's rate. (C.30) */
static const int tile_group[TILES] = {0, 0, 1, 2, 2, 3};

/*
 * Rounds in which the SMs process w tiles per SM. A partial last round takes as long as a whole one
 * (ceil w rounds), or less if the kernel has other work for the idle SMs (w rounds). `quantised` is
 * the weight of the first case. (C.30)
 */
static double waves(double w, double quantised)
{
    return quantised * ceil(w) + (1.0 - quantised) * larger(w, 1.0);
}

/*
 * The memory time Tm of C.30: both inputs are read and the output is written once, at the share eb
 * of the HBM rate. If the product adds to its output, the output is also read (C.301).
 */
static double gemm_memory_s(const plait_accelerator *gpu, double eb, const plait_gemm *g)
{
    const double element = element_bytes(g->precision);
    const double weight = g->weight_bytes > 0.0 ? g->weight_bytes : element;
    const double inputs = element * g->m * g->k + weight * g->k * g->n;
    const double output = g->accumulated > 0.0 ? 2.0 * g->accumulated : half_bytes;

    return g->batch * (inputs + output * g->m * g->n) / (gpu->hbm_bytes_per_s * eb);
}

/* (a^p + b^p)^(1/p), without overflow for tiny or huge values. */
static double p_norm(double a, double b, double p)
{
    const double high = larger(a, b);
    const double low = smaller(a, b);

    return high > 0.0 ? high * pow(1.0 + pow(low / high, p), 1.0 / p) : 0.0;
}

/*
 * C.30: t0 + (Tc^p + Tm^p)^(1/p) with compute time Tc and memory time Tm. If g.quantise is set, cq
 * passes that quantise the input are added; each reads 2 bytes per element and writes 1. An fp8 or
 * fp4 product without these passes has the t0 of a 16-bit product. Tc is the minimum over all tiles
 * (rows x columns) and all numbers s of parts into which k is split:
 *
 *     waves x 2 rows columns (k / s + k0) / (peak of one SM x emax x rate of the tile)
 *     + with s > 1: 4 bytes of each of the s partial sums, at twice the HBM rate (they stay in L2)
 */
double plait_gemm_s(const plait_accelerator *gpu, plait_gemm g)
{
    if ((unsigned)g.precision >= PLAIT_PRECISIONS)
        return (double)NAN;
    const plait_gemm_fit *fit = &gpu->gemm[g.precision];
    const double sm_rate = gpu->peak_flops_per_s[g.precision] / gpu->sms * fit->emax;
    const double group_rate[] = {1.0, fit->r128, fit->r64, fit->r32};
    const double memory_s = gemm_memory_s(gpu, fit->eb, &g);
    const double quantise_s =
        g.quantise ? fit->cq * 3.0 * g.batch * g.m * g.k / (gpu->hbm_bytes_per_s * fit->eb) : 0.0;
    const bool apart = g.precision > PLAIT_FP16 && !g.quantise; // fit->t0_s includes quantisation
    const double t0_s = apart ? gpu->gemm[plain_precision(gpu, g.precision)].t0_s : fit->t0_s;
    double compute_s = HUGE_VAL;

    for (int t = 0; t < TILES; t++) {
        const double rate = sm_rate * group_rate[tile_group[t]];
        const double tiles = g.batch * ceil(g.m / tile_rows[t]) * ceil(g.n / tile_columns[t]);
        const double area = 2.0 * tile_rows[t] * tile_columns[t] / rate;
        for (double split = 1.0; split <= most_splits; split *= 2.0) {
            double s = waves(tiles * split / gpu->sms, fit->q) * area * (g.k / split + fit->k0);
            if (split > 1.0)
                s += 4.0 * g.batch * g.m * g.n * split / (2.0 * gpu->hbm_bytes_per_s);
            compute_s = smaller(compute_s, s);
        }
    }
    return t0_s + p_norm(compute_s, memory_s, fit->p) + quantise_s;
}

/* Exponents p of the p-norms of C.31 and C.32; the exponent of C.30 is fitted. */
static const double grouped_join = 4.0, attention_join = 4.0;

/*
 * C.31: the products of all experts of a rank in one kernel, with the cheapest tile of 16 to 256
 * rows and 128 columns. Below 128 rows each halving of the rows multiplies the tile's rate by rs,
 * since the tile loads as many weights for half the work. If the weights are stored in fewer bytes,
 * this loss is smaller in proportion. The fitted t0 covers both products of an expert layer.
 */
double plait_grouped_gemm_s(const plait_accelerator *gpu, plait_gemm g)
{
    if ((unsigned)g.precision >= PLAIT_PRECISIONS)
        return (double)NAN;
    static const double columns = 128.0;
    const plait_grouped_fit *fit = &gpu->grouped[g.precision];
    const double sm_rate = gpu->peak_flops_per_s[g.precision] / gpu->sms * fit->emax;
    const double element = element_bytes(g.precision);
    const double loads = g.weight_bytes > 0.0 ? g.weight_bytes / element : 1.0;
    double compute_s = HUGE_VAL;
    double rate = fit->rs * fit->rs * fit->rs; // 16 rows: three halvings of 128

    for (double rows = 16.0; rows <= 256.0; rows *= 2.0) {
        const double tiles = g.batch * ceil(g.m / rows) * ceil(g.n / columns);
        const double w = larger(tiles / gpu->sms, 1.0);
        const double slower = 1.0 + loads * (1.0 / rate - 1.0);
        compute_s =
            smaller(compute_s, w * 2.0 * rows * columns * (g.k + fit->k0) * slower / sm_rate);
        rate = smaller(1.0, rate / fit->rs);
    }
    return fit->t0_s / 2.0 + p_norm(compute_s, gemm_memory_s(gpu, fit->eb, &g), grouped_join);
}

/* C.300: products on concurrent streams of one device take as long as one after the other. */
double plait_streamed_gemm_s(const plait_accelerator *gpu, plait_gemm g)
{
    const double experts = g.batch;

    g.batch = 1.0;
    return experts * plait_gemm_s(gpu, g);
}

// ---- attention and memory ------------------------------------------------------------------

/*
 * C.32: the blocks of 128 queries of all heads fill the SMs in rounds, as the tiles of a product
 * do. The start-up (ramp) of a sequence takes as long as s0 more tokens. The share e of the peak
 * rate is interpolated between the fitted head widths 64, 128, 192 and 256. Bytes move at 0.8 of
 * the HBM rate, as in the source of the fits (aiconfigurator's attention model).
 */
double plait_attention_s(const plait_accelerator *gpu, plait_attention_kernel kernel,
                         plait_attention_work work)
{
    if ((unsigned)kernel >= PLAIT_ATTENTION_KERNELS)
        return (double)NAN;
    static const double query_block = 128.0, hbm_share = 0.8, width_step = 64.0;
    const plait_attention_fit *fit = &gpu->attention[kernel];
    const double w = work.sequences * work.heads * ceil(work.query / query_block) / gpu->sms;
    const double ramp = 1.0 + fit->s0 / larger(work.ramp, 1.0);
    const double x = smaller(larger(work.head_dim / width_step - 1.0, 0.0), 3.0);
    const int i = x < 2.0 ? (int)x : 2;
    const double e = fit->e[i] + (x - i) * (fit->e[i + 1] - fit->e[i]);
    const double compute_s = work.flops * ramp * waves(w, fit->q) / w / (plain_peak(gpu) * e);
    const double memory_s = work.bytes / (hbm_share * gpu->hbm_bytes_per_s);

    return fit->t0_s + p_norm(compute_s, memory_s, attention_join);
}

/*
 * C.361: if the keys of a sequence are split over SMs, a second kernel joins the results; t0
 * includes its launch.
 */
double plait_decode_attention_s(const plait_accelerator *gpu, plait_kv_format format,
                                plait_decode_work work)
{
    const plait_decode_fit *fit = &gpu->decode[format];
    const double full_s = work.bytes / (gpu->hbm_bytes_per_s * fit->eb);

    return fit->t0_s + full_s * (1.0 + fit->few / (work.sequences * work.kv_heads));
}

/*
 * C.33: a memory-bound kernel moves its bytes at the share of the HBM rate that elementwise kernels
 * reach.
 */
double plait_memory_op_s(const plait_accelerator *gpu, double bytes)
{
    return gpu->memory_op_t0_s + bytes / (gpu->hbm_bytes_per_s * gpu->memory_op_fraction);
}

// ---- operators of a block ------------------------------------------------------------------

/*
 * With a scale for each row and column, a CUTLASS kernel reaches 90 to 100 % of the rate of cuBLAS
 * with one scale per tensor (pytorch issue 147971). (C.302)
 */
static const double rowwise_slowdown = 1.0 / 0.95;

/*
 * C.36: seconds of a product of a layer, from C.30, C.31 or C.300. Products for weight gradients
 * take wgrad_ratio times as long. The runtime's factor multiplies the time of all products, and the
 * sustained share of the clock divides it. Separate quantisation adds a memory-bound kernel
 * (C.302).
 *
 * C.35: large products run at the clock that the power limit sustains, small products at the burst
 * clock. The rate drops between 3 and 30 GFLOP per product (aiconfigurator, sustained against burst
 * runs).
 */
static double product_s(const plait_kernel_context *context, const plait_op *op)
{
    const plait_accelerator *gpu = context->accelerator;
    const plait_precision precision =
        op->matrix_precision ? context->precision : plain_precision(gpu, context->precision);
    const plait_gemm gemm = {
        .m = op->m,
        .n = op->n,
        .k = op->k,
        .batch = op->batch,
        .precision = precision,
        .weight_gradient = op->layout == PLAIT_BACKWARD_WEIGHT,
        .accumulated = op->accumulated,
        .weight_bytes = op->matrix_precision ? context->weight_bytes : 0.0,
    };
    static const double onset_flops = 3e9;
    const plait_factors *factor = &context->runtime->factor;
    const plait_kernel_set *kernels = &context->runtime->kernels;
    const double full_clock = gpu->sustained[precision <= PLAIT_FP16 ? 0 : 1];
    const double onset = smaller(larger(log10(larger(op->flops, 1.0) / onset_flops), 0.0), 1.0);
    double s = op->kind != PLAIT_OP_GROUPED_GEMM ? plait_gemm_s(gpu, gemm)
               : kernels->expert_streams         ? plait_streamed_gemm_s(gpu, gemm)
                                                 : plait_grouped_gemm_s(gpu, gemm);

    if (gemm.weight_gradient)
        s *= gpu->wgrad_ratio;
    if (precision == PLAIT_FP8 && kernels->rowwise_scaling)
        s *= rowwise_slowdown;
    s *= 1.0 + op->misaligned;
    s *= factor->gemm / (1.0 + onset * (full_clock - 1.0));
    if (op->quantised > 0.0)
        s += factor->memory * plait_memory_op_s(gpu, op->quantised);
    return s;
}

/*
 * C.36: C.32 is fitted to forward kernels; the backward takes backward_ratio times as long. The
 * FLOPs of a backward are PLAIT_ATTENTION_BACKWARD times those of its forward. A sparse kernel
 * (C.175) in a plan whose other attention is unfused has the rates of the fused kernel.
 */
static double attention_op_s(const plait_kernel_context *context, const plait_op *op)
{
    const bool backward = op->layout == PLAIT_BACKWARD;
    const bool narrow = context->precision >= PLAIT_FP8 && context->switches.fp8_attention;
    const plait_attention_kernel kernel =
        context->attention > PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL ? context->attention
                                                                    : PLAIT_ATTENTION_FUSED;
    const plait_attention_fit *fit = &context->accelerator->attention[kernel];
    const double earned = 1.0 - plait_unearned(context->runtime, PLAIT_KEY_FP8_ATTENTION, 1);
    const double rate = narrow ? 1.0 + earned * (fit->fp8_rate - 1.0) : 1.0;
    const double forward_flops = backward ? op->flops / PLAIT_ATTENTION_BACKWARD : op->flops;
    const double s = plait_attention_s(context->accelerator, kernel,
                                       (plait_attention_work){
                                           .sequences = op->sequences,
                                           .heads = op->heads,
                                           .query = op->query,
                                           .head_dim = op->head_dim,
                                           .ramp = op->ramp,
                                           .flops = forward_flops / rate,
                                           .bytes = op->bytes,
                                       });

    return context->runtime->factor.attention * s * (backward ? fit->backward_ratio : 1.0);
}

/*
 * All accelerators wait for the slowest. The slowest of n normally distributed speeds lies
 * sqrt(2 ln n) standard deviations from the mean if n is large. (C.310)
 */
double plait_slowest(const plait_accelerator *accelerator, const plait_job *job)
{
    const int gpus = job->group_gpus > 0 ? job->group_gpus : job->gpus;

    return 1.0 + accelerator->speed_spread * sqrt(2.0 * log((double)(gpus > 1 ? gpus : 1)));
}

/*
 * FLOP/s of a scan. Triton's kernels of recurrences reach 0.07 of the peak of an H100, and hardly
 * more on faster accelerators. The rate of an indexer is an estimate. (C.34)
 */
static double scan_flops(const plait_accelerator *gpu, plait_part part)
{
    static const double recurrence_rate = 0.07, recurrence_most = 1e14, indexer_rate = 0.2;

    if (part == PLAIT_PART_opaque)
        return plain_peak(gpu) * gpu->gemm[PLAIT_BF16].emax;
    if (part == PLAIT_PART_indexer)
        return plain_peak(gpu) * indexer_rate;
    return smaller(plain_peak(gpu) * recurrence_rate, recurrence_most);
}

/*
 * Seconds of all repetitions of an operator; 0 for a collective, which collective.c prices.
 *
 * Unfused permutation of experts' tokens reads and writes them several times (permute_passes,
 * fitted to expert layers). Opaque layers run at the rate of products.
 */
double plait_op_s(const plait_kernel_context *context, const plait_op *op)
{
    const plait_accelerator *gpu = context->accelerator;
    const plait_factors *factor = &context->runtime->factor;
    const double count = op->count * context->slowest;
    const bool opaque = op->part == PLAIT_PART_opaque;
    const plait_kernel_set *kernels = &context->runtime->kernels;
    const bool permutes = !kernels->fused_permute && !kernels->indexed_permute &&
                          (op->part == PLAIT_PART_dispatch || op->part == PLAIT_PART_combine);
    const double passes = permutes ? gpu->grouped[context->precision].permute_passes : 1.0;

    switch (op->kind) {
    case PLAIT_OP_GEMM:
    case PLAIT_OP_GROUPED_GEMM:
        return count * product_s(context, op);
    case PLAIT_OP_ATTENTION:
        return count * attention_op_s(context, op);
    case PLAIT_OP_MEMORY:
        return count * factor->memory * plait_memory_op_s(gpu, op->bytes * passes);
    case PLAIT_OP_SCAN:
        return count *
               (larger(op->flops / scan_flops(gpu, op->part), plait_memory_op_s(gpu, op->bytes)) *
                (opaque ? factor->gemm : factor->memory));
    case PLAIT_OP_COLLECTIVE:
    case PLAIT_OP_KINDS:
        break;
    }
    return 0.0;
}
