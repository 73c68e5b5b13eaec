/*
 * accelerator_defaults.c - what stands in for a measurement, by the numbers of a family
 *
 * A file that has its own fit overrides these; what comes from here is marked as not measured. The
 * numbers are in clusters/families; here are the rules by which one precision stands in for another.
 */
#include <math.h>

#include "io/cluster/accelerator_private.h"

/*
 * Whose numbers a precision has where its family says none. fp16 has the units of bf16 at the same
 * rate. fp8 without a fit has the fractions of bf16, with the passes to quantise that common.json
 * says. Block scales without a fit and mxfp8, of which no kernel tables were found, are as fp8.
 */
static const plait_precision stand_in[PLAIT_PRECISIONS] = {
    [PLAIT_FP16] = PLAIT_BF16, [PLAIT_FP8] = PLAIT_BF16,  [PLAIT_FP8_BLOCK] = PLAIT_FP8,
    [PLAIT_MXFP8] = PLAIT_FP8, [PLAIT_NVFP4] = PLAIT_FP8,
};

plait_gemm_fit accelerator_default_gemm(const accelerator_family *family, plait_precision precision,
                                        const plait_gemm_fit *gemm)
{
    plait_gemm_fit fit = {0};

    if (precision != PLAIT_BF16)
        fit = gemm[stand_in[precision]];
    fit.measured = fit.measured && precision == PLAIT_FP16; // the same kernels
    fields_copy_filled(accelerator_gemm_fields, &family->gemm[precision], &fit);
    return fit;
}

/* Where a family has no fit of experts: the emax of their plain product with the rest of its bf16. */
static plait_grouped_fit grouped_from_plain(const accelerator_family *family,
                                            const plait_gemm_fit *plain)
{
    plait_grouped_fit fit = family->grouped[PLAIT_BF16];

    fit.emax = plain->emax;
    return fit;
}

plait_grouped_fit accelerator_default_grouped(const accelerator_family *family,
                                              plait_precision precision,
                                              const plait_accelerator *accelerator)
{
    const bool as_another = precision == PLAIT_FP16 || precision == PLAIT_MXFP8;
    plait_grouped_fit fit = as_another ? accelerator->grouped[stand_in[precision]]
                                       : grouped_from_plain(family, &accelerator->gemm[precision]);

    fit.measured = fit.measured && precision == PLAIT_FP16;
    fields_copy_filled(accelerator_grouped_fields, &family->grouped[precision], &fit);
    return fit;
}

/* Heads wider than 128 run at its rate. Kernels that are not fused have no fit of their own. */
plait_attention_fit accelerator_default_attention(const accelerator_family *family,
                                                  plait_attention_kernel kernel)
{
    const bool fused = kernel >= PLAIT_ATTENTION_FLASH;
    const double e128 = family->attention.e128[fused ? kernel : PLAIT_ATTENTION_FLASH];

    return (plait_attention_fit){
        .e = {family->attention.e64_over_e128 * e128, e128, e128, e128},
        .s0 = family->attention.s0,
        .q = family->attention.q,
        .t0_s = family->attention.t0_s,
        .fp8_rate = kernel == PLAIT_ATTENTION_FUSED ? family->attention.fp8_rate : 1.0,
        .backward_ratio = family->attention.backward_ratio,
    };
}

/* What a ring reaches inside the scale-up domain with large messages. */
static double ring_bytes_per_s(const accelerator_family *family, bool pcie,
                               const plait_accelerator *accelerator)
{
    return (pcie ? family->pcie_ring_share : family->ring_share) *
           accelerator->scale_up_bytes_per_s;
}

/* Data passes twice in an all-reduce, once in the others. */
plait_collective_fit accelerator_default_collective(const accelerator_family *family, bool pcie,
                                                    plait_collective_op op,
                                                    const plait_accelerator *accelerator)
{
    const double share = op == PLAIT_ALL_REDUCE ? 1.0 : family->collective.single_pass_share;
    const double bus_bytes_per_s = ring_bytes_per_s(family, pcie, accelerator);
    plait_collective_fit fit = {
        .local_bytes_per_s = family->collective.hbm_share * accelerator->hbm_bytes_per_s,
    };

    for (int size = 0; size < 3; size++) {
        fit.a_s[size] = family->collective.a_s[size];
        fit.b_s[size] = family->collective.b_s[size] * share;
        fit.bytes_per_s[size] = family->collective.ring_share[size] * bus_bytes_per_s;
    }
    return fit;
}

/* A send between neighbours: one link of a torus, one of those to all peers, else the whole port. */
static double neighbour_share(const plait_accelerator *accelerator)
{
    int axes = 0;

    if (accelerator->scale_up_full)
        return 1.0 / fmax(1.0, accelerator->scale_up_domain - 1.0);
    for (int axis = 0; axis < 3; axis++)
        axes += accelerator->torus[axis] > 1;
    return axes == 0 ? 1.0 : 1.0 / (2.0 * axes);
}

static double idle_w(const accelerator_family *family, double limit_w)
{
    const double w =
        fmin(fmax(family->idle_share * limit_w, family->idle_least_w), family->idle_most_w);

    return limit_w == 0.0 ? 0.0 : w; // unknown
}

/* Clocks under load over burst clocks: boards with little power hold theirs. */
void accelerator_default_scalars(const accelerator_family *family, bool pcie,
                                 plait_accelerator *out)
{
    const bool capped = out->power_w >= family->sustained_from_w;

    out->sustained[0] = capped ? family->sustained[0] : 1.0;
    out->sustained[1] = capped ? family->sustained[1] : 1.0;
    out->wgrad_ratio = family->wgrad_ratio;
    out->speed_spread = family->speed_spread;
    out->idle_w = idle_w(family, out->power_w);
    out->memory_op_fraction = family->memory_op_fraction;
    out->memory_op_t0_s = family->memory_op_t0_s;
    out->p2p.latency_s = family->p2p_latency_s;
    out->host_bytes_per_s = family->host_bytes_per_s;
    out->host_adam_s = family->host_adam_s;
    out->p2p.bytes_per_s = ring_bytes_per_s(family, pcie, out) * neighbour_share(out);
}
