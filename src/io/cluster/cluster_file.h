/* cluster_file.h - reading and writing accelerators, their families and clusters as JSON */
#pragma once

#include "plait/cluster.h"

#include "io/json/fields.h"

// ---- families (accelerator_family.c) -----------------------------------------------------------

/**
 * A family of accelerators. Its constants replace missing measurements by the rules in
 * accelerator_defaults.c. The file clusters/families/NAME.json overrides
 * clusters/families/common.json, which has the constants that all families share.
 *
 * A number that no file gives is blank (fields.h). Only the numbers of precisions other than bf16
 * and the emax of bf16's grouped fit may be blank. Unless its comment names another base, a share
 * is a fraction of the link's rate.
 */
typedef struct accelerator_family {
    const char *name;
    plait_gemm_fit gemm[PLAIT_PRECISIONS];
    plait_grouped_fit grouped[PLAIT_PRECISIONS];
    struct {
        double e128[PLAIT_ATTENTION_KERNELS]; /* share of the peak at width 128, from FLASH on */
        double e64_over_e128;
        double fp8_rate; /* fp8 rate of the fused kernel over its bf16 rate */
        double s0, q, t0_s, backward_ratio;
    } attention;
    plait_decode_fit decode[PLAIT_KV_FORMATS]; /* fits that are never marked as measured */
    struct {
        double a_s[3], b_s[3];    /* b_s is that of an all-reduce */
        double single_pass_share; /* b_s of other collectives over that of an all-reduce */
        double ring_share[3]; /* share of the ring's rate for small, medium and large messages */
        double hbm_share;     /* share of the HBM's rate at which a rank copies its own shard */
    } collective;
    double ring_share, pcie_ring_share; /* share that a ring reaches with large messages */
    double p2p_latency_s;
    double host_bytes_per_s, host_adam_s;
    double bf16_over_fp32;   /* bf16 rate over fp32 rate, used if the data sheet has no fp32 */
    double sustained_from_w; /* board power from which `sustained` applies */
    double sustained[2]; /* clock under load over peak clock: in bf16, and in fp8 and narrower */
    double wgrad_ratio;
    double speed_spread;
    double idle_share, idle_least_w, idle_most_w; /* idle power over the limit, and its bounds */
    double memory_op_fraction, memory_op_t0_s;
    unsigned missing_kernels; /* kernels that the hardware does not have, as bits of plait_kernel */
} accelerator_family;

/** Loads a family by its name. *out lives in `arena`. */
plait_status accelerator_family_find(const char *name, plait_arena *arena, accelerator_family *out,
                                     plait_error *err) PLAIT_MUST_CHECK;

/** Parses a text in place of the family's own file; error messages have `name` as its path. */
plait_status accelerator_family_parse(const char *text, size_t length, const char *name,
                                      plait_arena *arena, accelerator_family *out,
                                      plait_error *err) PLAIT_MUST_CHECK;

/** Reads a member that names a family; *name stays unchanged if the member is missing or null. */
plait_status accelerator_family_name(const json_cursor *at, const char *key, plait_arena *arena,
                                     const char **name, plait_error *err) PLAIT_MUST_CHECK;

// ---- defaults of a family (accelerator_defaults.c) ---------------------------------------------

/**
 * Returns the default fit of a matrix product.
 *
 * @param gemm  fits that have already been read, of all precisions before this one
 */
plait_gemm_fit accelerator_default_gemm(const accelerator_family *family, plait_precision precision,
                                        const plait_gemm_fit *gemm);
plait_grouped_fit accelerator_default_grouped(const accelerator_family *family,
                                              plait_precision precision,
                                              const plait_accelerator *accelerator);
plait_attention_fit accelerator_default_attention(const accelerator_family *family,
                                                  plait_attention_kernel kernel);
plait_collective_fit accelerator_default_collective(const accelerator_family *family,
                                                    plait_collective_op op,
                                                    const plait_accelerator *accelerator);

/** Sets the defaults of sustained clocks, idle power, memory passes, sends and host transfers. */
void accelerator_default_scalars(const accelerator_family *family, plait_accelerator *out);

// ---- fits (accelerator_fits.c) -----------------------------------------------------------------

extern const field accelerator_gemm_fields[];
extern const field accelerator_grouped_fields[];
extern const field accelerator_decode_fields[];

/** Finds the section "gemm" or "grouped_gemm", whose keys are precisions; null if it is missing. */
plait_status accelerator_products(const json_cursor *at, const char *key, json_cursor *section,
                                  plait_error *err) PLAIT_MUST_CHECK;

/** Finds the section "attention_decode", whose keys are formats of the cache; null if it is missing. */
plait_status accelerator_decodes(const json_cursor *at, json_cursor *section,
                                 plait_error *err) PLAIT_MUST_CHECK;

/**
 * Reads "gemm", "attention", "attention_decode", "grouped_gemm" and "collectives", which override
 * the family's defaults.
 */
plait_status accelerator_read_fits(const json_cursor *at, const accelerator_family *family,
                                   plait_accelerator *out, plait_error *err) PLAIT_MUST_CHECK;
void accelerator_write_fits(json_writer *json, const plait_accelerator *accelerator);

// ---- accelerators (accelerator.c) --------------------------------------------------------------

/**
 * Reads the list of kernels that the hardware does not have; *lacks stays unchanged if the block is
 * missing.
 */
plait_status accelerator_read_missing_kernels(const json_cursor *at, unsigned *lacks,
                                              plait_error *err) PLAIT_MUST_CHECK;

/** Reads an accelerator from the object at the cursor, which may be inside a cluster. */
plait_status accelerator_read(const json_cursor *at, plait_arena *arena, plait_accelerator *out,
                              plait_error *err) PLAIT_MUST_CHECK;

/** Writes an accelerator in the format of its files, with all defaults. */
void accelerator_write(json_writer *json, const plait_accelerator *accelerator);

// ---- clusters ----------------------------------------------------------------------------------

enum {
    CLUSTER_MAX_NODE = 4096,     /* GPUs of a node */
    CLUSTER_MAX_NODES = 1 << 20, /* nodes of a group */
    CLUSTER_MAX_GPUS = 1 << 22
};

/*
 * Power of host, fans and NICs per GPU, assuming that they take 0.5 to 1 kW in a node of eight
 * GPUs.
 */
#define CLUSTER_GPU_OVERHEAD_W 125.0
/* Facility power over IT power (PUE) of a modern site, which is 1.1 to 1.2. */
#define CLUSTER_PUE 1.2

/** Reads a cluster from the object at the cursor, which may be inside a file of plans. */
plait_status cluster_read(const json_cursor *at, plait_arena *arena, plait_cluster *out,
                          plait_error *err) PLAIT_MUST_CHECK;

/**
 * Writes a cluster in the format of its files. Its accelerators are written in full, so that no
 * other file is needed to read it. The number of GPUs that plait_cluster_take() set is not written.
 */
void cluster_write(json_writer *json, const plait_cluster *cluster);

/**
 * Reads the sides of a grid and which axes have wrap-around links, and computes its ports.
 *
 * @param below  GPUs of one unit that the grid joins
 */
plait_status cluster_read_shape(const json_cursor *at, int below, plait_level *level,
                                plait_error *err) PLAIT_MUST_CHECK;

/** Writes the shape of the whole grid, even if the cluster uses only a part of it. */
void cluster_write_shape(json_writer *json, const plait_level *level);

/** Returns the number of links of a unit: two per axis, but one for an axis of two units. */
int cluster_ports(const int *side);

/** Gives a group its own copy of the links, which lives in `arena`. */
plait_status cluster_group_links(plait_arena *arena, int levels, const plait_level *level,
                                 plait_node_group *group, plait_error *err) PLAIT_MUST_CHECK;

/** Merges equal groups. If a single group is left, its links become the cluster's. */
void cluster_merge_groups(plait_cluster *cluster);
