/*
 * accelerator_defaults.c - every constant that stands in for a measurement
 *
 * A file that has its own fit overrides these; what comes from here is marked as not measured.
 * Fits are of ai-dynamo/aiconfigurator's kernel tables (Apache-2.0, 095f58a) unless a comment says
 * otherwise; they were made with the functions of kernel.h and collective.h.
 */
#include <math.h>

#include "plait/units.h"

#include "accelerator_private.h"

const char *const accelerator_family_name[FAMILIES + 1] = {
    [FAMILY_VOLTA] = "volta",         [FAMILY_AMPERE] = "ampere", [FAMILY_HOPPER] = "hopper",
    [FAMILY_BLACKWELL] = "blackwell", [FAMILY_ADA] = "ada",       [FAMILY_OTHER] = "other",
};

/*
 * Matrix products in bf16. The shape constants (k0, q, r*, p) are shared by a family without loss
 * of accuracy. emax, eb and t0 are typical of its members: A100, H100, B200, and between L40S
 * (0.63) and RTX PRO 6000 (0.87). Volta has the shapes of Ampere; its 0.80 comes from training
 * runs. Other vendors have the shapes of Hopper; their emax is a guess that a file should replace
 * by the best measured shape over the peak.
 */
static const plait_gemm_fit gemm_bf16[FAMILIES] = {
    [FAMILY_VOLTA] = {.emax = 0.80,
                      .k0 = 160,
                      .q = 0.70,
                      .r128 = 0.86,
                      .r64 = 0.76,
                      .r32 = 0.70,
                      .eb = 0.77,
                      .t0_s = 3.5 * PLAIT_US,
                      .p = 3.1},
    [FAMILY_AMPERE] = {.emax = 0.91,
                       .k0 = 160,
                       .q = 0.70,
                       .r128 = 0.86,
                       .r64 = 0.76,
                       .r32 = 0.70,
                       .eb = 0.77,
                       .t0_s = 3.5 * PLAIT_US,
                       .p = 3.1},
    [FAMILY_HOPPER] = {.emax = 0.81,
                       .k0 = 120,
                       .q = 0.05,
                       .r128 = 1.0,
                       .r64 = 0.75,
                       .r32 = 0.30,
                       .eb = 0.81,
                       .t0_s = 2.5 * PLAIT_US,
                       .p = 4.0},
    [FAMILY_BLACKWELL] = {.emax = 0.67,
                          .k0 = 10,
                          .q = 0.05,
                          .r128 = 1.03,
                          .r64 = 0.47,
                          .r32 = 0.20,
                          .eb = 0.77,
                          .t0_s = 2.2 * PLAIT_US,
                          .p = 2.6},
    [FAMILY_ADA] = {.emax = 0.80,
                    .k0 = 110,
                    .q = 0.35,
                    .r128 = 0.95,
                    .r64 = 0.85,
                    .r32 = 0.80,
                    .eb = 0.86,
                    .t0_s = 2.0 * PLAIT_US,
                    .p = 10.0},
    [FAMILY_OTHER] = {.emax = 0.65,
                      .k0 = 120,
                      .q = 0.05,
                      .r128 = 1.0,
                      .r64 = 0.75,
                      .r32 = 0.30,
                      .eb = 0.77,
                      .t0_s = 3.0 * PLAIT_US,
                      .p = 4.0},
};

/* fp8 with one scale a tensor: H100, B200 and L40S, whose constants belong together as a set. */
static const plait_gemm_fit gemm_fp8_hopper = {.emax = 0.754,
                                               .k0 = 278,
                                               .q = 0.0,
                                               .r128 = 0.879,
                                               .r64 = 1.04,
                                               .r32 = 0.482,
                                               .eb = 0.795,
                                               .t0_s = 12.0 * PLAIT_US,
                                               .p = 4.37,
                                               .cq = 2.16};
static const plait_gemm_fit gemm_fp8_blackwell = {.emax = 0.70,
                                                  .k0 = 46.5,
                                                  .q = 0.258,
                                                  .r128 = 0.944,
                                                  .r64 = 0.953,
                                                  .r32 = 0.47,
                                                  .eb = 0.725,
                                                  .t0_s = 14.9 * PLAIT_US,
                                                  .p = 2.27,
                                                  .cq = 2.23};
static const plait_gemm_fit gemm_fp8_ada = {.emax = 0.481,
                                            .k0 = 54.3,
                                            .q = 0.098,
                                            .r128 = 1.01,
                                            .r64 = 1.03,
                                            .r32 = 0.124,
                                            .eb = 0.95,
                                            .t0_s = 10.5 * PLAIT_US,
                                            .p = 5.3,
                                            .cq = 0.404};

/* fp8 with a scale a block: H100 (DeepGEMM), B200. */
static const plait_gemm_fit gemm_fp8_block_hopper = {.emax = 0.709,
                                                     .k0 = 224,
                                                     .q = 0.657,
                                                     .r128 = 0.923,
                                                     .r64 = 0.2,
                                                     .r32 = 0.1,
                                                     .eb = 0.892,
                                                     .t0_s = 4.15 * PLAIT_US,
                                                     .p = 2.45,
                                                     .cq = 0.959};
static const plait_gemm_fit gemm_fp8_block_blackwell = {.emax = 0.613,
                                                        .k0 = 39.2,
                                                        .q = 0.006,
                                                        .r128 = 1.07,
                                                        .r64 = 0.535,
                                                        .r32 = 0.268,
                                                        .eb = 0.419,
                                                        .t0_s = 5.91 * PLAIT_US,
                                                        .p = 3.69,
                                                        .cq = 0.512};

/* nvfp4: B200. */
static const plait_gemm_fit gemm_nvfp4 = {.emax = 0.539,
                                          .k0 = 443,
                                          .q = 0.529,
                                          .r128 = 0.498,
                                          .r64 = 0.236,
                                          .r32 = 0.125,
                                          .eb = 0.595,
                                          .t0_s = 6.99 * PLAIT_US,
                                          .p = 2.39,
                                          .cq = 1.19};

/* Where a family has no fp8 fit: its bf16 fractions, and the quantisation passes of Hopper. */
static plait_gemm_fit gemm_fp8_from(const plait_gemm_fit *bf16)
{
    plait_gemm_fit fit = *bf16;

    fit.t0_s = gemm_fp8_hopper.t0_s;
    fit.cq = gemm_fp8_hopper.cq;
    return fit;
}

static plait_gemm_fit unmeasured(plait_gemm_fit fit)
{
    fit.measured = false;
    return fit;
}

plait_gemm_fit accelerator_default_gemm(accelerator_family family, plait_precision precision,
                                        const plait_gemm_fit *gemm)
{
    switch (precision) {
    case PLAIT_BF16:
        return gemm_bf16[family];
    case PLAIT_FP16:
        return gemm[PLAIT_BF16]; // the same units at the same rate
    case PLAIT_FP8:
        return family == FAMILY_HOPPER      ? gemm_fp8_hopper
               : family == FAMILY_BLACKWELL ? gemm_fp8_blackwell
               : family == FAMILY_ADA       ? gemm_fp8_ada
                                            : unmeasured(gemm_fp8_from(&gemm[PLAIT_BF16]));
    case PLAIT_FP8_BLOCK:
        return family == FAMILY_HOPPER      ? gemm_fp8_block_hopper
               : family == FAMILY_BLACKWELL ? gemm_fp8_block_blackwell
                                            : unmeasured(gemm[PLAIT_FP8]);
    case PLAIT_MXFP8:
        return unmeasured(gemm[PLAIT_FP8]); // no published kernel tables
    default:
        return gemm_nvfp4;
    }
}

/* Experts' grouped products: H100, B200. Elsewhere the plain product's emax with Hopper's rest. */
plait_grouped_fit accelerator_default_grouped(accelerator_family family, plait_precision precision,
                                              const plait_accelerator *accelerator)
{
    static const plait_grouped_fit hopper[] = {
        [PLAIT_BF16] = {false, 0.848, 0.55, 0, 0.89, 33.4 * PLAIT_US, 1.79},
        [PLAIT_FP8] = {false, 0.976, 0.79, 1990, 0.87, 40.4 * PLAIT_US, 1.0},
        [PLAIT_FP8_BLOCK] = {false, 0.455, 0.84, 420, 0.90, 32.9 * PLAIT_US, 3.86},
    };
    static const plait_grouped_fit blackwell[] = {
        [PLAIT_BF16] = {false, 0.789, 0.65, 0, 0.87, 37.8 * PLAIT_US, 2.5},
        [PLAIT_FP8] = {false, 0.945, 0.82, 1997, 0.86, 42.2 * PLAIT_US, 2.31},
        [PLAIT_FP8_BLOCK] = {false, 0.759, 0.79, 1509, 0.76, 40.7 * PLAIT_US, 1.3},
    };
    /* 34 % off on shapes that it was not fitted on */
    static const plait_grouped_fit nvfp4 = {false, 0.595, 0.83, 1970, 0.83, 56.1 * PLAIT_US, 3.26};
    plait_grouped_fit fit = hopper[PLAIT_BF16];

    if (precision == PLAIT_FP16)
        return accelerator->grouped[PLAIT_BF16];
    if (precision == PLAIT_NVFP4)
        return nvfp4;
    if (precision == PLAIT_MXFP8) {
        fit = accelerator->grouped[PLAIT_FP8];
        fit.measured = false;
        return fit;
    }
    if (family == FAMILY_HOPPER)
        return hopper[precision];
    if (family == FAMILY_BLACKWELL)
        return blackwell[precision];
    fit.emax = accelerator->gemm[precision].emax;
    return fit;
}

/*
 * Fused attention, forward, as a fraction of the bf16 peak at head width 128. Ampere and Hopper:
 * training runs and FlashAttention's own figures; Blackwell's flash and flash2: the rate of
 * Hopper's kernels, which do not use its new instructions; Ada: L40S and RTX PRO 6000; Volta and
 * other vendors: guesses. A width of 64 runs at 0.9 of the rate in training.
 */
plait_attention_fit accelerator_default_attention(accelerator_family family,
                                                  plait_attention_kernel kernel)
{
    static const struct family_attention {
        double flash, flash2, flash3, fused, s0, t0_us, backward;
    } known[FAMILIES] = {
        [FAMILY_VOLTA] = {0.30, 0.30, 0.30, 0.30, 500, 15, 2.8},
        [FAMILY_AMPERE] = {0.40, 0.58, 0.58, 0.55, 500, 13, 2.8},
        [FAMILY_HOPPER] = {0.25, 0.36, 0.67, 0.58, 1100, 15, 2.8},
        [FAMILY_BLACKWELL] = {0.11, 0.16, 0.55, 0.55, 1900, 16, 2.6},
        [FAMILY_ADA] = {0.35, 0.44, 0.44, 0.44, 650, 10, 2.8},
        [FAMILY_OTHER] = {0.25, 0.40, 0.40, 0.40, 1000, 15, 2.8},
    };
    const struct family_attention *a = &known[family];
    const double e128 = kernel == PLAIT_ATTENTION_FUSED    ? a->fused
                        : kernel == PLAIT_ATTENTION_FLASH3 ? a->flash3
                        : kernel == PLAIT_ATTENTION_FLASH2 ? a->flash2
                                                           : a->flash;

    return (plait_attention_fit){
        .e = {0.9 * e128, e128, e128, e128},
        .s0 = a->s0,
        .q = 1.0,
        .t0_s = a->t0_us * PLAIT_US,
        .backward_ratio = a->backward,
    };
}

/* NCCL's rings reach 240 of 300 GB/s on A100, 360 of 450 on H100, 720 of 900 on B200. PCIe 5
 * reaches 26 of 63 GB/s with peer-to-peer (RTX PRO 6000); without it less, as the host allows. */
double accelerator_default_ring_share(bool pcie)
{
    return pcie ? 0.4 : 0.8;
}

/*
 * Collectives in a scale-up domain: 8 us and 2.2 us for each further rank for small messages (half
 * of that where data passes once); middle messages reach half of the ring's rate, as they do on
 * A100, H100 and B200. The copy of the own shard runs at a quarter of the HBM rate (A100 0.30,
 * H100 0.23, B200 0.15).
 */
plait_collective_fit accelerator_default_collective(plait_collective_op op, double bus_bytes_per_s,
                                                    double hbm_bytes_per_s)
{
    const double hop = op == PLAIT_ALL_REDUCE ? 1.0 : 0.5;

    return (plait_collective_fit){
        .a_s = {8.0 * PLAIT_US, 9.0 * PLAIT_US, 25.0 * PLAIT_US},
        .b_s = {2.2 * hop * PLAIT_US, 2.4 * hop * PLAIT_US, 4.5 * hop * PLAIT_US},
        .bytes_per_s = {0.04 * bus_bytes_per_s, 0.5 * bus_bytes_per_s, bus_bytes_per_s},
        .local_bytes_per_s = 0.25 * hbm_bytes_per_s,
    };
}

/* A send between neighbours: one link of a torus, one pair of a mesh, else the whole port. */
static double neighbour_share(const plait_accelerator *accelerator)
{
    int axes = 0;

    if (accelerator->scale_up_mesh)
        return 1.0 / fmax(1.0, accelerator->scale_up_domain - 1.0);
    for (int axis = 0; axis < 3; axis++)
        axes += accelerator->torus[axis] > 1;
    return axes == 0 ? 1.0 : 1.0 / (2.0 * axes);
}

/*
 * Clocks under load over burst clocks: 0.86 in bf16 and 0.92 below it on parts of 700 W and more,
 * which sit at their power cap in long loops (H200, B200, GB200: 1.12 to 1.20 slower). wgrad: fp32
 * accumulation (SimuMax, A100 and B200: 1.03 to 1.05). Memory passes: between fused training
 * kernels (0.67 on B200, 0.9 on A100) and separate inference kernels (vidur). Idle power of 70 to
 * 140 W: an assumption.
 */
void accelerator_default_scalars(bool pcie, plait_accelerator *out)
{
    const bool capped = out->power_w >= 700.0;

    out->sustained[0] = capped ? 0.86 : 1.0;
    out->sustained[1] = capped ? 0.92 : 1.0;
    out->wgrad_ratio = 1.04;
    out->idle_w = out->power_w == 0.0 ? 0.0 : fmin(fmax(0.14 * out->power_w, 20.0), 140.0);
    out->memory_op_fraction = 0.75;
    out->memory_op_t0_s = 3.0 * PLAIT_US;
    out->p2p.latency_s = 10.0 * PLAIT_US;
    out->p2p.bytes_per_s =
        accelerator_default_ring_share(pcie) * out->scale_up_bytes_per_s * neighbour_share(out);
}
