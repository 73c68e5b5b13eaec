/*
 * accelerator_family.h - a family of accelerators, whose constants stand in for measurements
 *
 * A family is clusters/families/NAME.json over clusters/families/common.json, which has what all
 * families share: the list of families is what the folder holds. What an accelerator's file does
 * not have is its family's, by the rules of accelerator_defaults.c.
 */
#pragma once

#include "plait/cluster.h"

#include "io/json/json.h"

/** A number that no file says is blank (fields.h): only in precisions other than bf16. */
typedef struct accelerator_family {
    const char *name;
    plait_gemm_fit gemm[PLAIT_PRECISIONS];       /* bf16's is whole */
    plait_grouped_fit grouped[PLAIT_PRECISIONS]; /* bf16's is whole, but for emax */
    struct {
        double e128[PLAIT_ATTENTION_KERNELS]; /* from PLAIT_ATTENTION_FLASH on, head width 128 */
        double e64_over_e128;
        double fp8_rate; /* of fused attention */
        double s0, q, t0_s, backward_ratio;
    } attention;
    plait_decode_fit decode[PLAIT_KV_FORMATS]; /* never measured */
    struct {
        double a_s[3], b_s[3];    /* b_s of an all-reduce */
        double single_pass_share; /* of b_s, where data passes once */
        double ring_share[3];     /* of what a ring reaches: small, middle, large messages */
        double hbm_share;         /* the copy of the rank's own shard */
    } collective;
    double ring_share, pcie_ring_share; /* of the wire, what a ring reaches with large messages */
    double p2p_latency_s;
    double host_bytes_per_s, host_adam_s;
    double bf16_over_fp32; /* matrix units over vector units, where the sheet has no fp32 */
    double sustained_from_w;
    double sustained[2]; /* bf16, fp8 and below, on boards of at least so many watts */
    double wgrad_ratio;
    double speed_spread;
    double idle_share, idle_least_w, idle_most_w; /* of the board's limit, and its bounds */
    double memory_op_fraction, memory_op_t0_s;
    unsigned lacks; /* bits of plait_kernel */
} accelerator_family;

/** Loads a family by its name. *out lives in `arena`. */
plait_status accelerator_family_find(const char *name, plait_arena *arena, accelerator_family *out,
                                     plait_error *err) PLAIT_MUST_CHECK;

/** The same of a text in place of the family's own file; `name` stands for the path. */
plait_status accelerator_family_parse(const char *text, size_t length, const char *name,
                                      plait_arena *arena, accelerator_family *out,
                                      plait_error *err) PLAIT_MUST_CHECK;

/** A member that names a family; *name stays as it is when the member is missing or null. */
plait_status accelerator_family_name(const json_cursor *at, const char *key, plait_arena *arena,
                                     const char **name, plait_error *err) PLAIT_MUST_CHECK;
