/*
 * cluster.h - the hardware: accelerators, and the levels of links that join them
 *
 * A cluster is one or more node groups (accelerator, node shape, count) and a list of levels from
 * the accelerator outwards: the scale-up domain, the NIC or rail, the leaf switch, the spine. A
 * level has the number of accelerators that it joins, and the rate of one of them through it, in
 * one direction. Rank r is on accelerator r; consecutive ranks share the innermost level.
 *
 * In order: plait_accelerator_load, plait_cluster_load or plait_cluster_synthetic, then
 * plait_cluster_take for the GPUs of a job. Constants fitted to measurements have `measured` set;
 * default constants lower the confidence that reports print.
 *
 * Left out: routing inside a switch, congestion between jobs, failures.
 */
#ifndef PLAIT_CLUSTER_H
#define PLAIT_CLUSTER_H

#include <stdbool.h>

#include "plait/arena.h"
#include "plait/error.h"

PLAIT_BEGIN_DECLS

/** Number formats of the matrix units. fp16 runs at the bf16 rate unless a file has its own. */
typedef enum plait_precision {
    PLAIT_BF16,
    PLAIT_FP16,
    PLAIT_FP8,
    PLAIT_FP8_BLOCK,
    PLAIT_MXFP8,
    PLAIT_NVFP4,
    PLAIT_PRECISIONS
} plait_precision;

/** Attention kernels, slowest first. */
typedef enum plait_attention_kernel {
    PLAIT_ATTENTION_UNFUSED,
    PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL, /* unfused, except for one scale-mask-softmax kernel */
    PLAIT_ATTENTION_FLASH,
    PLAIT_ATTENTION_FLASH2,
    PLAIT_ATTENTION_FLASH3,
    PLAIT_ATTENTION_FUSED, /* cuDNN */
    PLAIT_ATTENTION_KERNELS
} plait_attention_kernel;

/**
 * Kernels that some accelerator does not have: each kind of attention, each number format, and a
 * few more. `plait_accelerator.missing_kernels` has a bit for each; clusters/families lists the
 * missing ones with reasons.
 */
typedef enum plait_kernel {
    PLAIT_KERNEL_ATTENTION,                                        /* + plait_attention_kernel */
    PLAIT_KERNEL_PRECISION = PLAIT_ATTENTION_KERNELS,              /* + plait_precision */
    PLAIT_KERNEL_WIDE = PLAIT_KERNEL_PRECISION + PLAIT_PRECISIONS, /* cuDNN, head width over 128 */
    PLAIT_KERNEL_GROUPED_GEMM,
    PLAIT_KERNEL_MULTICAST, /* stores that a switch copies to all GPUs of a domain */
    PLAIT_KERNEL_DEEPEP, /* exchange of experts over NVLink and InfiniBand by the library DeepEP */
    PLAIT_KERNEL_HYBRIDEP,    /* exchange of experts by the library HybridEP */
    PLAIT_KERNEL_ANY_WIDTH,   /* fused attention other than cuDNN's, without cuDNN's limits */
    PLAIT_KERNEL_BETWEEN,     /* cuDNN, head width over 128, at most 256 */
    PLAIT_KERNEL_ALIBI,       /* cuDNN with ALiBi */
    PLAIT_KERNEL_CUDA_GRAPH,  /* graphs of launches that one call replays */
    PLAIT_KERNEL_FLASH2_WIDE, /* FlashAttention 2, head width over 192, in TE or with dropout */
    PLAIT_KERNELS
} plait_kernel;

/** Names of kernels, those of attention and of formats first. */
extern const char *const plait_kernel_name[PLAIT_KERNELS + 1];

/**
 * Constants of the time of a GEMM (C.30): efficiency by tiles and waves, rate of memory, launch
 * time.
 */
typedef struct plait_gemm_fit {
    bool measured;
    double emax; /* fraction of the peak that the best tile reaches */
    double k0;   /* cost of a tile's prologue, in elements of k */
    double q;    /* weight of whole waves: 1 counts ceil(w) waves, 0 counts w */
    double r128; /* rate of a 128x128 tile over that of a 256x128 tile */
    double r64;  /* rate of a 128x64 tile over that of a 256x128 tile */
    double r32;  /* rate of a 64x64 tile over that of a 256x128 tile */
    double eb;   /* fraction of the HBM rate */
    double t0_s; /* fixed time of one kernel */
    double p;    /* exponent that joins compute and memory time: (c^p + m^p)^(1/p) */
    double cq;   /* passes over the input for its quantisation; 0 for bf16 */
} plait_gemm_fit;

/** Constants of an attention kernel's forward time (C.32). */
typedef struct plait_attention_fit {
    bool measured;
    double e[4]; /* fraction of the bf16 peak at head widths 64, 128, 192, 256 */
    double s0;   /* start-up cost of a call, in tokens of sequence length */
    double q;    /* weight of whole waves, as in plait_gemm_fit */
    double t0_s;
    double fp8_rate;       /* speedup with inputs in fp8; 1: no such kernel */
    double backward_ratio; /* backward time over forward time */
} plait_attention_fit;

/** Formats of the cache of keys and values. */
typedef enum plait_kv_format { PLAIT_KV_BF16, PLAIT_KV_FP8, PLAIT_KV_FORMATS } plait_kv_format;

extern const char *const plait_kv_name[PLAIT_KV_FORMATS + 1];

/** Constants of decode attention, for one format of the cache (C.361). */
typedef struct plait_decode_fit {
    bool measured;
    double eb;   /* fraction of the HBM rate */
    double few;  /* sequences times key heads at which half of that rate is reached */
    double t0_s; /* fixed time of one call */
} plait_decode_fit;

/** Constants of the grouped GEMM of experts (C.31). */
typedef struct plait_grouped_fit {
    bool measured;
    double emax;
    double rs; /* rate kept per halving of rows below 128 */
    double k0;
    double eb;
    double t0_s;
    double permute_passes; /* permute and finalise, in passes of 8 bytes per routed element */
} plait_grouped_fit;

/** Collectives: constant, and word in files. The first four have fitted constants. */
#define PLAIT_COLLECTIVE_LIST(X)                                                                   \
    X(PLAIT_ALL_REDUCE, "all_reduce")                                                              \
    X(PLAIT_ALL_GATHER, "all_gather")                                                              \
    X(PLAIT_REDUCE_SCATTER, "reduce_scatter")                                                      \
    X(PLAIT_ALL_TO_ALL, "all_to_all")                                                              \
    X(PLAIT_BROADCAST, "broadcast")                                                                \
    X(PLAIT_P2P, "p2p")                                                                            \
    X(PLAIT_M2MS, "m2ms")

typedef enum plait_collective_op {
#define X(constant, word) constant,
    PLAIT_COLLECTIVE_LIST(X)
#undef X
        PLAIT_COLLECTIVES,
    PLAIT_FITTED_COLLECTIVES = PLAIT_ALL_TO_ALL + 1
} plait_collective_op;

/**
 * Constants of a collective inside one scale-up domain (C.50), for small, medium and large
 * messages.
 */
typedef struct plait_collective_fit {
    bool measured;
    double a_s[3];            /* fixed time */
    double b_s[3];            /* added for each rank beyond the first */
    double bytes_per_s[3];    /* bus rate */
    double local_bytes_per_s; /* rate at which a rank copies its own shard */
    double nvls_a_s;          /* fixed time of an in-switch reduction; 0: none */
    double nvls_bytes_per_s;
} plait_collective_fit;

/** One class of network hop, as seen by one GPU. */
typedef struct plait_link {
    double latency_s;   /* alpha: a message of zero bytes */
    double bytes_per_s; /* beta: one direction */
} plait_link;

typedef enum plait_confidence {
    PLAIT_CONFIDENCE_LOW,
    PLAIT_CONFIDENCE_MEDIUM,
    PLAIT_CONFIDENCE_HIGH,
    PLAIT_CONFIDENCES
} plait_confidence;

typedef struct plait_accelerator {
    const char *name;
    const char *vendor;
    const char *source;
    plait_confidence confidence;               /* confidence in the data sheet figures */
    double peak_flops_per_s[PLAIT_PRECISIONS]; /* dense; 0: not supported */
    unsigned missing_kernels;  /* bits of plait_kernel that are missing; 0: none known */
    bool fp16_only;            /* the accelerator has no bf16 units (V100); bf16 entries have the
                                * values of fp16 */
    double vector_flops_per_s; /* fp32 outside the matrix units; no price reads it */
    int sms;                   /* SMs, CUs or cores */
    double memory_bytes;       /* bytes that a process can use */
    double hbm_bytes_per_s;
    double power_w; /* board limit; 0: unknown */
    double idle_w;
    double usd_per_hour; /* 0: unknown */
    double sustained[2]; /* clock under load over burst clock: [0] bf16, [1] fp8 and narrower */
    double wgrad_ratio;  /* weight-gradient GEMM time over forward's */
    double speed_spread; /* deviation of speed among accelerators of one kind (C.310) */
    plait_gemm_fit gemm[PLAIT_PRECISIONS];
    plait_attention_fit
        attention[PLAIT_ATTENTION_KERNELS]; /* entries from PLAIT_ATTENTION_FLASH on */
    plait_decode_fit decode[PLAIT_KV_FORMATS];
    plait_grouped_fit grouped[PLAIT_PRECISIONS];
    double memory_op_fraction; /* fraction of the HBM rate that elementwise kernels reach */
    double memory_op_t0_s;
    bool memory_op_measured;
    plait_collective_fit collective[PLAIT_FITTED_COLLECTIVES];
    plait_link p2p; /* link between two GPUs of a domain */
    /* the accelerator's standard node, from which synthetic clusters are built */
    int gpus_per_node;
    int scale_up_domain;
    double scale_up_bytes_per_s; /* one direction, one GPU */
    bool scale_up_pcie;          /* GPUs are joined by PCIe only */
    bool scale_up_full;      /* direct links between pairs: the full rate needs traffic to all peers
                              * at once */
    int torus[3];            /* shape of the scale-up torus; 0: not a torus */
    int wrap_block;          /* as in plait_level */
    double nic_bytes_per_s;  /* share of one GPU */
    double host_bytes_per_s; /* rate to host memory, one direction, one GPU */
    double host_adam_s;      /* time of an Adam update of one parameter by a node's processors */
    const char *price_source; /* source of usd_per_hour, from the file; NULL: none */
} plait_accelerator;

/** Every kind of link: constant, word, and descriptor in costmodel/network. */
#define PLAIT_LEVEL_LIST(X)                                                                        \
    X(PLAIT_LEVEL_SWITCH, "switch", link_switch)     /* all pairs reach the full rate */           \
    X(PLAIT_LEVEL_FULL, "full", link_full)           /* direct links, shared evenly among peers */ \
    X(PLAIT_LEVEL_RING, "ring", link_grid)           /* a torus of one axis */                     \
    X(PLAIT_LEVEL_MESH, "mesh", link_grid)           /* a grid: lines along each axis */           \
    X(PLAIT_LEVEL_TORUS, "torus", link_grid)         /* a grid whose axes close to rings */        \
    X(PLAIT_LEVEL_HYPERCUBE, "hypercube", link_grid) /* a grid of sides of two */

typedef enum plait_level_kind {
#define X(constant, word, descriptor) constant,
    PLAIT_LEVEL_LIST(X)
#undef X
        PLAIT_LEVEL_KINDS
} plait_level_kind;

enum { PLAIT_MAX_SIDES = 6 };

/** The whole grid of which a job uses a slice. */
typedef struct plait_whole_grid {
    int gpus; /* 0: the grid is whole */
    int side[PLAIT_MAX_SIDES];
    bool wrap[PLAIT_MAX_SIDES];
} plait_whole_grid;

/** One level of links; level 0 is the scale-up domain. A unit is an instance of the level below. */
typedef struct plait_level {
    const char *name;
    plait_level_kind kind;
    int gpus;                  /* GPUs that one instance of the level connects; INT_MAX: all */
    plait_link link;           /* rate of one GPU; latency in addition to NCCL's constants */
    double efficiency;         /* fraction of the wire rate that large messages reach */
    double ramp_bytes;         /* bytes added to a message per hop, since short ones do not fill the
                                * link */
    double oversubscription;   /* divisor of the rate when all GPUs send, >= 1 */
    double scattered;          /* share of neighbours in another instance of the level, compared
                                * with a packed job (C.115) */
    double in_network;         /* speed of in-switch all-reduces over two passes; 0: none (C.114) */
    int side[PLAIT_MAX_SIDES]; /* grid: units along x, y, z, ...; 1: no such axis */
    bool wrap[PLAIT_MAX_SIDES]; /* whether the whole axis closes to a ring */
    int ports;                  /* grid: links of one unit, which share its rate */
    int wrap_block; /* side of a block in units; the axes of slices of whole blocks close to rings;
                     * 0: no blocks */
    plait_whole_grid whole;
} plait_level;

enum { PLAIT_MAX_LEVELS = 6, PLAIT_MAX_NODE_GROUPS = 4 };

typedef struct plait_node_group {
    const plait_accelerator *accelerator;
    int gpus_per_node;
    int nodes;                /* number of nodes; 0: as many as a job needs */
    int levels;               /* number of levels in `level`; 0: the levels of the cluster apply */
    const plait_level *level; /* [levels] */
    const char *site;         /* groups with the same name are at one site; NULL: no name */
} plait_node_group;

typedef struct plait_cluster {
    const char *name;
    const char *source;
    int groups;
    plait_node_group group[PLAIT_MAX_NODE_GROUPS];
    int levels;
    plait_level level[PLAIT_MAX_LEVELS];
    plait_level between;    /* level between sites; link.bytes_per_s 0: as inside a site */
    int gpus;               /* GPUs of the job; 0 before plait_cluster_take if the file gives no
                             * size */
    double node_overhead_w; /* host, fans, NICs: one node */
    double pue;             /* facility power over IT power */
    double
        host_speed; /* launch rate of its CPU over that of the CPU that profiles were fitted on */
    double host_memory_bytes; /* host memory of one node; 0: unknown */
    bool pue_given;           /* whether a file has `pue`; else it is the default */
    const char *power_source; /* source of both power figures, from the file; NULL: none */
} plait_cluster;

/** Load an accelerator file. *out lives in `arena`. */
PLAIT_MUST_CHECK plait_status plait_accelerator_load(const char *path, plait_arena *arena,
                                                     plait_accelerator *out, plait_error *err);

PLAIT_MUST_CHECK plait_status plait_accelerator_parse(const char *text, size_t length,
                                                      const char *name, plait_arena *arena,
                                                      plait_accelerator *out, plait_error *err);

/** Load a cluster file; the accelerators it names are found in the data folder. */
PLAIT_MUST_CHECK plait_status plait_cluster_load(const char *path, plait_arena *arena,
                                                 plait_cluster *out, plait_error *err);

PLAIT_MUST_CHECK plait_status plait_cluster_parse(const char *text, size_t length, const char *name,
                                                  plait_arena *arena, plait_cluster *out,
                                                  plait_error *err);

/**
 * A cluster from a string: ACCELERATOR:NODESxGPUS[,nic=GBPS], such as "h100-80gb-sxm:64x8" or
 * "h100-80gb-sxm:64x8,nic=400" (network Gb/s per GPU). Several such terms, joined by +, are several
 * node groups, as in "h100-80gb-sxm:16x8+a100-80gb-sxm:16x8,nic=200"; between=GBPS after any of
 * them is the rate between the groups.
 */
PLAIT_MUST_CHECK plait_status plait_cluster_synthetic(const char *text, plait_arena *arena,
                                                      plait_cluster *out, plait_error *err);

/**
 * Take `gpus` of a cluster for a job: whole nodes, or part of one node.
 *
 * Fails (RANGE) if the cluster has fewer, or if `gpus` is neither at most one node nor a multiple
 * of a node. A grid shrinks to the most compact slice of the taken units. Taking again takes from the
 * whole grid. A shortened axis no longer closes, unless the slice consists of whole wrap_blocks.
 * (C.113)
 */
PLAIT_MUST_CHECK plait_status plait_cluster_take(plait_cluster *cluster, int gpus,
                                                 plait_error *err);

/** Number of node groups that a job of `gpus` GPUs uses: it fills them in order. */
int plait_cluster_groups(const plait_cluster *cluster, int gpus);

/**
 * Does a uniform plan on this many GPUs of the cluster have a price, because all nodes are of one
 * kind?
 *
 * @param why   receives a sentence if not; may be NULL
 */
bool plait_cluster_priced(const plait_cluster *cluster, int gpus, char *why, size_t size);

/** Number of GPUs of group g that a job of `gpus` GPUs uses; groups are filled in order. */
int plait_cluster_taken(const plait_cluster *cluster, int gpus, int g);

/** Are the nodes of two groups of one kind: equal numbers, links and site? */
bool plait_cluster_equal(const plait_cluster *cluster, int g, int h);

/** Group g alone, of any number of nodes, `gpus` of which are taken. */
plait_cluster plait_cluster_of_group(const plait_cluster *cluster, int g, int gpus);

/**
 * The cluster of one GPU of group g and one of another group h: their outermost level is the slower
 * of the two groups', or the link between their sites. (C.220)
 */
plait_cluster plait_cluster_of_pair(const plait_cluster *cluster, int g, int h);

/** Is the level a grid (ring, mesh, torus, hypercube)? */
bool plait_level_is_grid(const plait_level *level);

/** Units that level l joins in this cluster; 0: any number. */
int plait_level_units(const plait_cluster *cluster, int l);

/** A level as a graph of units, or a whole cluster as one of accelerators. */
typedef struct plait_graph {
    double nodes;                 /* number of nodes of the graph; 0: any number, and the other
                                   * fields are unknown */
    double links;                 /* pairs of neighbours; in a switch one per node */
    double cut_links;             /* links between its halves; 0 for a switch */
    double diameter;              /* hops; a path through a switch has two */
    double mean_hops;             /* mean over ordered pairs, including a node and itself */
    double bisection_bytes_per_s; /* bandwidth between the halves, both directions */
} plait_graph;

/** The graph of one instance of level l. (C.110) */
plait_graph plait_level_graph(const plait_cluster *cluster, int l);

/** The graph of all levels: a message passes the innermost level that joins both ends. (C.119) */
plait_graph plait_cluster_graph(const plait_cluster *cluster);

/** A fat tree of switches of `ports` ports without oversubscription. (C.118) */
typedef struct plait_fat_tree {
    double endpoints;
    double switches;
    double links; /* links between switches */
} plait_fat_tree;

plait_fat_tree plait_fat_tree_of(int ports, int layers);

/** The accelerator of rank `rank`; NULL: the cluster has no such rank. */
const plait_accelerator *plait_cluster_accelerator(const plait_cluster *cluster, int rank);

/**
 * Does the accelerator have this kernel? For a number format, the matrix units must also support
 * the format.
 *
 * @param kernel  of plait_kernel
 */
bool plait_accelerator_runs(const plait_accelerator *accelerator, int kernel);

/** FLOP per byte at which compute and memory time are equal: flops_per_s / bytes_per_s. */
double plait_ridge_flops_per_byte(double flops_per_s, double bytes_per_s);

extern const char *const plait_precision_name[PLAIT_PRECISIONS + 1];
extern const char *const plait_attention_kernel_name[PLAIT_ATTENTION_KERNELS + 1];
extern const char *const plait_collective_name[PLAIT_COLLECTIVES + 1];
extern const char *const plait_level_kind_name[PLAIT_LEVEL_KINDS + 1];

PLAIT_END_DECLS

#endif
