/* accelerator_private.h - what the parts of the accelerator reader and writer share */
#ifndef ACCELERATOR_PRIVATE_H
#define ACCELERATOR_PRIVATE_H

#include "plait/cluster.h"

#include "fields.h"

/** Families whose kernels have one shape: what is not measured on a part is its family's. */
typedef enum accelerator_family {
    FAMILY_VOLTA,
    FAMILY_AMPERE,
    FAMILY_HOPPER,
    FAMILY_BLACKWELL,
    FAMILY_ADA,
    FAMILY_OTHER, /* other vendors, other architectures: shapes of Hopper, low fractions */
    FAMILIES
} accelerator_family;

extern const char *const accelerator_family_name[FAMILIES + 1];

/* ---- accelerator_defaults.c: every constant that stands in for a measurement ---- */

/**
 * Constants of a precision for which the file has none.
 *
 * @param gemm  fits of the precisions before this one, already read
 */
plait_gemm_fit accelerator_default_gemm(accelerator_family family, plait_precision precision,
                                        const plait_gemm_fit *gemm);
plait_grouped_fit accelerator_default_grouped(accelerator_family family, plait_precision precision,
                                              const plait_accelerator *accelerator);
plait_attention_fit accelerator_default_attention(accelerator_family family,
                                                  plait_attention_kernel kernel);
/** @param bus_bytes_per_s  what a ring reaches with large messages */
plait_collective_fit accelerator_default_collective(plait_collective_op op, double bus_bytes_per_s,
                                                    double hbm_bytes_per_s);

/** Share of the wire that a ring reaches inside the scale-up domain, over PCIe or another link. */
double accelerator_default_ring_share(bool pcie);

/** The scalars: sustained clocks, idle power, fp32 rate, memory passes, sends. */
void accelerator_default_scalars(bool pcie, plait_accelerator *out);

/* ---- accelerator_fits.c ---- */

/** Reads "gemm", "attention", "grouped_gemm", "collectives" over the family's defaults. */
plait_status accelerator_read_fits(const json_cursor *at, accelerator_family family, bool pcie,
                                   plait_accelerator *out, plait_error *err) PLAIT_MUST_CHECK;
void accelerator_write_fits(json_writer *json, const plait_accelerator *accelerator);

/* ---- accelerator.c ---- */

/** Reads an accelerator from the object at the cursor, as a cluster may hold one. */
plait_status accelerator_read(const json_cursor *at, plait_arena *arena, plait_accelerator *out,
                              plait_error *err) PLAIT_MUST_CHECK;

#endif
