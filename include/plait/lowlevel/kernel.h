/*
 * kernel.h - seconds of one operator on one accelerator
 *
 * The formulas are those that were fitted to measurements: a GEMM by tiles, waves and an HBM limit,
 * an attention kernel by head width and sequence, a memory-bound pass by bytes.
 *
 * In order: plait_block_describe (block.h) for the operators of a layer, then plait_op_s for the
 * seconds of each. plait_op_s calls the other functions of this header, which are public because
 * calibration fits their constants.
 *
 * Left out: cache reuse between operators, clocks that drift within a step.
 */
#ifndef PLAIT_LOWLEVEL_KERNEL_H
#define PLAIT_LOWLEVEL_KERNEL_H

#include "plait/lowlevel/block.h"
#include "plait/cluster.h"

PLAIT_BEGIN_DECLS

/** One matrix product [m, k] x [k, n], repeated `batch` times by one kernel. */
typedef struct plait_gemm {
    double m, n, k, batch;
    plait_precision precision;
    bool weight_gradient; /* accumulates in fp32, for which plait_op_s applies wgrad_ratio */
    bool quantise;        /* a separate pass quantises the input of a single product */
    double accumulated;   /* bytes of an output element it adds to; 0: writes 16 bits */
    double
        weight_bytes; /* bytes of an element of [k, n] stored in a narrower format; 0: it is not */
} plait_gemm;

/**
 * Time of a matrix product at burst clocks.
 *
 *     T  = t0 + (Tc^p + Tm^p)^(1/p) + [quantise] cq 3 batch m k / (HBM eb)             (C.30)
 *     Tm = batch (es (m k + k n) + 2 m n) / (HBM eb),   2 g m n when it adds to g bytes (C.301)
 *     Tc = min over tiles bm x bn and splits s = 1, 2, 4, 8 of k of
 *          W 2 bm bn (k/s + k0) / (P/SM emax r) + [s > 1] 4 batch m n s / (2 HBM)
 *     W  = q ceil(w) + (1-q) max(w, 1),   w = batch ceil(m/bm) ceil(n/bn) s / SM
 *
 * @return seconds; es is the bytes of an input element, P the dense peak
 *
 * Source: form and constants fitted on ai-dynamo/aiconfigurator kernel tables (Apache-2.0); each
 * accelerator's file has the error on held-out shapes.
 */
double plait_gemm_s(const plait_accelerator *accelerator, plait_gemm gemm);

/**
 * Time of one grouped product over `batch` experts with m rows each. An expert layer has two of
 * them.
 *
 *     Tc = min over bm = 16, 32 .. 256 of max(w, 1) 2 bm 128 (k + k0) / (P/SM emax r)  (C.31)
 *     w  = batch ceil(m/bm) ceil(n/128) / SM,   r = rs^log2(128/bm) for bm < 128, else 1
 *     T  = t0/2 + (Tc^4 + Tm^4)^(1/4),   Tm as in the single product
 */
double plait_grouped_gemm_s(const plait_accelerator *accelerator, plait_gemm gemm);

/**
 * Time of a grouped product as single products, one for each expert, on several streams.
 *
 *     T = batch (C.30 of one)                                                          (C.300)
 */
double plait_streamed_gemm_s(const plait_accelerator *accelerator, plait_gemm gemm);

/** Work of a fused attention kernel. */
typedef struct plait_attention_work {
    double sequences, heads, query, head_dim;
    double ramp;  /* S, sequence length of one call */
    double flops; /* F, over the unmasked pairs of query and key */
    double bytes;
} plait_attention_work;

/**
 * Forward time of a fused attention kernel.
 *
 *     T = t0 + ((F (1 + s0/S) W/w / (P e))^4 + (bytes / (0.8 HBM))^4)^(1/4)            (C.32)
 *     w = sequences heads ceil(query/128) / SM,   W as in C.30
 *
 * e is interpolated between head widths 64, 128, 192, 256, and constant beyond. Backward:
 * backward_ratio times it. Source: fits on aiconfigurator's prefill tables, where causal F is
 * 2 sequences heads head_dim S (S+1), and the flash-attention papers' figures; each accelerator's
 * file has the error.
 */
double plait_attention_s(const plait_accelerator *accelerator, plait_attention_kernel kernel,
                         plait_attention_work work);

/** Work of decode attention: new tokens over the cached keys of each sequence. */
typedef struct plait_decode_work {
    double sequences, kv_heads; /* numbers on one rank; an MLA latent counts as one head */
    double bytes;               /* bytes read, over all sequences */
} plait_decode_work;

/**
 * Time of decode attention.
 *
 *     T = t0 + bytes/(HBM eb) (1 + few/(sequences kv_heads))                           (C.361)
 *
 * Source: form and constants fitted on ai-dynamo/aiconfigurator's decode tables (Apache-2.0). The
 * factor with `few` models SMs that are idle when sequences and heads are few, even if keys are
 * split.
 */
double plait_decode_attention_s(const plait_accelerator *accelerator, plait_kv_format format,
                                plait_decode_work work);

/** Time of a pass over `bytes` of HBM traffic: t0 + bytes / (HBM f). (C.33) */
double plait_memory_op_s(const plait_accelerator *accelerator, double bytes);

/** The accelerator, software and formats that determine the times of operators. */
typedef struct plait_kernel_context {
    const plait_accelerator *accelerator;
    const plait_runtime *runtime;
    plait_precision precision;
    plait_attention_kernel attention;
    plait_switches switches;
    double slowest;      /* plait_slowest of the job; 1 for a single accelerator */
    double weight_bytes; /* weight_bytes of plait_gemm for products in `precision` */
} plait_kernel_context;

/** Expected time of a job's slowest accelerator over their mean time, at least 1. (C.310) */
double plait_slowest(const plait_accelerator *accelerator, const plait_job *job);

/**
 * Seconds of one operator of a block; 0 for collectives.
 *
 * Applies the sustained clock, the runtime's factors and the weight-gradient ratio. (C.36)
 */
double plait_op_s(const plait_kernel_context *context, const plait_op *op);

PLAIT_END_DECLS

#endif
