/* accelerator_private.h - what the parts of the accelerator reader and writer share */
#pragma once

#include "plait/cluster.h"

#include "io/cluster/accelerator_family.h"
#include "io/json/fields.h"

/* ---- accelerator_defaults.c: what stands in for a measurement, by the numbers of a family ---- */

/**
 * Constants of a precision for which the file has none.
 *
 * @param gemm  fits of the precisions before this one, already read
 */
plait_gemm_fit accelerator_default_gemm(const accelerator_family *family, plait_precision precision,
                                        const plait_gemm_fit *gemm);
plait_grouped_fit accelerator_default_grouped(const accelerator_family *family,
                                              plait_precision precision,
                                              const plait_accelerator *accelerator);
plait_attention_fit accelerator_default_attention(const accelerator_family *family,
                                                  plait_attention_kernel kernel);
plait_collective_fit accelerator_default_collective(const accelerator_family *family, bool pcie,
                                                    plait_collective_op op,
                                                    const plait_accelerator *accelerator);

/** The scalars: sustained clocks, idle power, memory passes, sends. */
void accelerator_default_scalars(const accelerator_family *family, bool pcie,
                                 plait_accelerator *out);

/* ---- accelerator_fits.c ---- */

/* The numbers of a fit, as accelerators and families have them. */
extern const field accelerator_gemm_fields[];
extern const field accelerator_grouped_fields[];
extern const field accelerator_decode_fields[];

/** The section "gemm" or "grouped_gemm", whose keys are precisions; null when it is missing. */
plait_status accelerator_products(const json_cursor *at, const char *key, json_cursor *section,
                                  plait_error *err) PLAIT_MUST_CHECK;

/** The section "attention_decode", whose keys are formats of the cache; null when it is missing. */
plait_status accelerator_decodes(const json_cursor *at, json_cursor *section,
                                 plait_error *err) PLAIT_MUST_CHECK;

/** Reads "gemm", "attention", "attention_decode", "grouped_gemm", "collectives" over the family's defaults. */
plait_status accelerator_read_fits(const json_cursor *at, const accelerator_family *family,
                                   bool pcie, plait_accelerator *out,
                                   plait_error *err) PLAIT_MUST_CHECK;
void accelerator_write_fits(json_writer *json, const plait_accelerator *accelerator);

/* ---- accelerator_unsupported.c: kernels that an accelerator or a family has not ---- */

/** The block "lacks"; *lacks stays as it is when it is missing. */
plait_status accelerator_read_lacks(const json_cursor *at, unsigned *lacks,
                                    plait_error *err) PLAIT_MUST_CHECK;
void accelerator_write_lacks(json_writer *json, unsigned lacks);

/* ---- accelerator.c ---- */

/** Reads an accelerator from the object at the cursor, as a cluster may hold one. */
plait_status accelerator_read(const json_cursor *at, plait_arena *arena, plait_accelerator *out,
                              plait_error *err) PLAIT_MUST_CHECK;
