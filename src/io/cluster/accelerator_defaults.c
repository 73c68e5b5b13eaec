/*
 * accelerator_defaults.c - constants of a family that replace an accelerator's missing measurements
 *
 * An accelerator's own fit overrides these constants, which are marked as not measured.
 * clusters/families has the numbers; this file has the rules by which one precision replaces
 * another.
 */
#include <math.h>

#include "io/cluster/cluster_file.h"
#include "plait/units.h"

/*
 * The precision whose numbers replace those that a family lacks. fp16 uses the same matrix units as
 * bf16 at the same rate. fp8 has the fractions of bf16 and the time for quantisation of
 * common.json. fp8 with block scales, mxfp8 (no kernel tables were found) and nvfp4 have the
 * numbers of fp8.
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
    fit.measured = fit.measured && precision == PLAIT_FP16; // fp16 and bf16 have the same kernels
    fields_copy_filled(accelerator_gemm_fields, &family->gemm[precision], &fit);
    return fit;
}

plait_grouped_fit accelerator_default_grouped(const accelerator_family *family,
                                              plait_precision precision,
                                              const plait_accelerator *accelerator)
{
    const bool as_another = precision == PLAIT_FP16 || precision == PLAIT_MXFP8;
    plait_grouped_fit fit =
        as_another ? accelerator->grouped[stand_in[precision]] : family->grouped[PLAIT_BF16];

    if (!as_another) // bf16's grouped fit, with the emax of the precision's plain matrix product
        fit.emax = accelerator->gemm[precision].emax;
    fit.measured = fit.measured && precision == PLAIT_FP16;
    fields_copy_filled(accelerator_grouped_fields, &family->grouped[precision], &fit);
    return fit;
}

/*
 * Heads wider than 128 have the same rate as 128. Attention kernels that are not fused have no fit
 * of their own, and get the default of PLAIT_ATTENTION_FLASH.
 */
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

/* Returns the rate of a ring inside the scale-up domain for large messages. */
static double ring_bytes_per_s(const accelerator_family *family,
                               const plait_accelerator *accelerator)
{
    return (accelerator->scale_up_pcie ? family->pcie_ring_share : family->ring_share) *
           accelerator->scale_up_bytes_per_s;
}

/* Data passes the ring twice in an all-reduce, once in other collectives. */
plait_collective_fit accelerator_default_collective(const accelerator_family *family,
                                                    plait_collective_op op,
                                                    const plait_accelerator *accelerator)
{
    const double share = op == PLAIT_ALL_REDUCE ? 1.0 : family->collective.single_pass_share;
    const double bus_bytes_per_s = ring_bytes_per_s(family, accelerator);
    plait_collective_fit fit = {
        .local_bytes_per_s =
            fields_round(family->collective.hbm_share * accelerator->hbm_bytes_per_s, PLAIT_GB),
    };

    for (int size = 0; size < 3; size++) {
        fit.a_s[size] = family->collective.a_s[size];
        fit.b_s[size] = fields_round(family->collective.b_s[size] * share, PLAIT_US);
        fit.bytes_per_s[size] =
            fields_round(family->collective.ring_share[size] * bus_bytes_per_s, PLAIT_GB);
    }
    return fit;
}

/*
 * Returns the share of the port that a send to a neighbour uses: one link of a torus, one of the
 * links to all peers, or the whole port of a switch.
 */
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

    return limit_w == 0.0 ? 0.0 : w; // a limit of 0 W is unknown
}

/* Only boards with a high power limit reduce their clocks under load. */
void accelerator_default_scalars(const accelerator_family *family, plait_accelerator *out)
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
    out->p2p.bytes_per_s =
        fields_round(ring_bytes_per_s(family, out) * neighbour_share(out), PLAIT_GB);
}
