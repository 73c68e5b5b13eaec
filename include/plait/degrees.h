/*
 * degrees.h - one uniform point of the plan space, and its keys
 *
 * plait_degrees is a small value that the search's inner loop prices, and that the command line and
 * plan files give key by key. Everything about a key (its name, its values, its help) is one row of
 * plait_keys, which parsing, printing, limits, files, completion and help read. So a new key is a
 * field and a name here, a row in src/plan/keys.c, a default in src/rules/defaults.c unless it is
 * 0, and its price.
 *
 * In order: plait_degrees_init, plait_degrees_set for "tp=8", plait_degrees_fill for the default
 * values, plait_degrees_check (plan.h) for the verdict.
 */
#ifndef PLAIT_DEGREES_H
#define PLAIT_DEGREES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plait/error.h"
#include "plait/problem.h"

PLAIT_BEGIN_DECLS

/* ---- values of keys ---- */

typedef enum plait_cp_comm {
    PLAIT_CP_P2P,       /* ring attention */
    PLAIT_CP_ALLGATHER, /* keys and values gathered */
    PLAIT_CP_A2A,       /* Ulysses */
    PLAIT_CP_A2A_P2P,   /* all-to-all among neighbours, a ring across their groups */
    PLAIT_CP_COMMS
} plait_cp_comm;

/** Every schedule: its constant, its word, and the descriptor `schedule_...` that prices it. */
#define PLAIT_SCHEDULE_LIST(X)                                                                     \
    X(PLAIT_NAIVE, "naive", schedule_naive)                                                        \
    X(PLAIT_GPIPE, "gpipe", schedule_gpipe)                                                        \
    X(PLAIT_1F1B, "1f1b", schedule_1f1b)                                                           \
    X(PLAIT_INTERLEAVED, "interleaved", schedule_interleaved)                                      \
    X(PLAIT_ZB_H1, "zb-h1", schedule_zb_h1)                                                        \
    X(PLAIT_ZB_H2, "zb-h2", schedule_zb_h2)                                                        \
    X(PLAIT_ZB_V, "zb-v", schedule_zb_v)                                                           \
    X(PLAIT_V_HALF, "v-half", schedule_v_half)                                                     \
    X(PLAIT_V_MIN, "v-min", schedule_v_min)                                                        \
    X(PLAIT_DUALPIPE, "dualpipe", schedule_dualpipe)                                               \
    X(PLAIT_DUALPIPE_V, "dualpipe-v", schedule_dualpipe_v)

typedef enum plait_schedule {
#define X(constant, word, descriptor) constant,
    PLAIT_SCHEDULE_LIST(X)
#undef X
        PLAIT_SCHEDULES
} plait_schedule;

typedef enum plait_grad_sync {
    PLAIT_SYNC_BULK,     /* inside the last microbatch's backward */
    PLAIT_SYNC_BUCKETED, /* in buckets, overlapped with backward */
    PLAIT_SYNC_SHIFTED,  /* each stage after its own last backward */
    PLAIT_GRAD_SYNCS
} plait_grad_sync;

typedef enum plait_recompute_kind {
    PLAIT_RECOMPUTE_NONE,
    PLAIT_RECOMPUTE_SELECTIVE, /* the core attention */
    PLAIT_RECOMPUTE_MODULES,   /* the parts in `modules` */
    PLAIT_RECOMPUTE_SAC,       /* torchtitan's per-operator choice */
    PLAIT_RECOMPUTE_FULL,      /* whole layers */
    PLAIT_RECOMPUTE_KINDS
} plait_recompute_kind;

/** Megatron's names of recomputable modules, bits of plait_recompute.modules. */
#define PLAIT_RECOMPUTE_MODULE_LIST(X)                                                             \
    X(core_attn, "core attention")                                                                 \
    X(layernorm, "norms: their outputs are dropped")                                               \
    X(mla_up_proj, "MLA up-projections and rotary")                                                \
    X(moe_act, "activation of the experts: its output is dropped")                                 \
    X(shared_experts, "the shared experts")                                                        \
    X(mlp, "the dense MLP")                                                                        \
    X(moe, "the whole MoE part, dispatch included")

enum {
#define X(name, what) PLAIT_MODULE_##name,
    PLAIT_RECOMPUTE_MODULE_LIST(X)
#undef X
        PLAIT_MODULES
};

typedef struct plait_recompute {
    unsigned char kind;    /* plait_recompute_kind */
    unsigned char modules; /* bits 1 << PLAIT_MODULE_...; when kind is MODULES */
    short layers;          /* FULL: recomputed layers of a stage, the first of each chunk; 0: all */
} plait_recompute;

/** How layers are assigned to pipeline stages. */
typedef enum plait_split_kind {
    PLAIT_SPLIT_EVEN,       /* layers / (pp vpp), which must divide */
    PLAIT_SPLIT_EMBEDDING,  /* the embedding counts as a layer */
    PLAIT_SPLIT_LOSS,       /* the loss counts as a layer */
    PLAIT_SPLIT_BOTH,       /* both count */
    PLAIT_SPLIT_FIRST_LAST, /* given numbers of layers on the first and the last stage, equal
                             * numbers on the others */
    PLAIT_SPLIT_SPREAD,     /* as even as possible: the first chunks get the remaining layers, one
                             * each */
    PLAIT_SPLIT_COST,   /* stage r ends when the running cost exceeds total (r+1)/p (nanotron) */
    PLAIT_SPLIT_LAYOUT, /* a text lists each chunk; it may place embedding, MTP modules and loss
                         * anywhere */
    PLAIT_SPLITS
} plait_split_kind;

typedef struct plait_split {
    unsigned char kind;   /* plait_split_kind */
    unsigned short first; /* FIRST_LAST: layers of the first stage */
    unsigned short last;  /* FIRST_LAST: layers of the last stage */
    const char
        *layout; /* LAYOUT: a text such as "Et*3|(tt|)*29,m|L", which must outlive the plan */
} plait_split;

/** Orders of the axes, innermost first. */
typedef enum plait_order {
    PLAIT_ORDER_TP_CP_DP_PP, /* Megatron's default */
    PLAIT_ORDER_TP_CP_PP_DP, /* Megatron's --use-tp-pp-dp-mapping; Llama-3 */
    PLAIT_ORDERS
} plait_order;

/**
 * The order in which ranks run along the physical axes of a grid of links. `xyz` is the order in
 * which files list the sides; the other values permute the first three axes. Further axes follow in
 * the order of the file.
 */
typedef enum plait_placement {
    PLAIT_PLACE_XYZ,
    PLAIT_PLACE_XZY,
    PLAIT_PLACE_YXZ,
    PLAIT_PLACE_YZX,
    PLAIT_PLACE_ZXY,
    PLAIT_PLACE_ZYX,
    PLAIT_PLACEMENTS
} plait_placement;

/** Number formats of the state that a parameter has. */
typedef enum plait_state_format {
    PLAIT_STATE_FP32,
    PLAIT_STATE_BF16,
    PLAIT_STATE_FP16,
    PLAIT_STATE_FP8,
    PLAIT_STATE_FORMATS
} plait_state_format;

/** The state kept in host memory, where the optimizer then runs. */
typedef enum plait_offload {
    PLAIT_OFFLOAD_NONE,
    PLAIT_OFFLOAD_OPTIMIZER, /* master weights and moments */
    PLAIT_OFFLOAD_GRADIENTS, /* also reduced gradients (ZeRO-Offload) */
    PLAIT_OFFLOAD_PARAMS,    /* also parameters, copied to the GPU for each pass (ZeRO-Infinity) */
    PLAIT_OFFLOADS
} plait_offload;

/** Shares of the optimizer that are offloaded: all of it, or tenths. */
enum { PLAIT_OFFLOAD_SHARES = 10 };

/** Sizes of a bucket of gradients or parameters; value 0 is that of the profile. */
enum { PLAIT_BUCKETS = 7 };

/** Megatron's names of modules whose input may be offloaded to host memory until backward. */
#define PLAIT_OFFLOAD_MODULE_LIST(X)                                                               \
    X(attn_norm)                                                                                   \
    X(core_attn)                                                                                   \
    X(attn_proj)                                                                                   \
    X(mlp_norm)                                                                                    \
    X(expert_fc1)                                                                                  \
    X(moe_act)

enum {
#define X(name) PLAIT_OFFLOAD_##name,
    PLAIT_OFFLOAD_MODULE_LIST(X)
#undef X
        PLAIT_OFFLOAD_MODULES
};

enum { PLAIT_OFFLOAD_SETS = 9 }; /* sets of modules that a plan may name, the empty one first */

/** The time at which ZeRO-3 frees gathered parameters. */
typedef enum plait_reshard {
    PLAIT_RESHARD_ALWAYS, /* after each pass */
    PLAIT_RESHARD_NEVER,  /* after backward: one gather per microbatch */
    PLAIT_RESHARD_NODE,   /* second copy over each node, which backward gathers (ZeRO++ hpZ) */
    PLAIT_RESHARDS
} plait_reshard;

/** The time at which ZeRO-2 and -3 scatter gradients. */
typedef enum plait_scatter {
    PLAIT_SCATTER_MICROBATCH,
    PLAIT_SCATTER_STEP, /* summed unsharded, scattered after the last microbatch */
    PLAIT_SCATTERS
} plait_scatter;

/** Communication in fewer bits under ZeRO-3 (ZeRO++): parameters in 8, gradients in 4. */
typedef enum plait_quantise {
    PLAIT_QUANTISE_NONE,
    PLAIT_QUANTISE_WEIGHTS,   /* qwZ */
    PLAIT_QUANTISE_GRADIENTS, /* qgZ */
    PLAIT_QUANTISE_BOTH,
    PLAIT_QUANTISES
} plait_quantise;

/** How tokens are sent to the ranks of their experts, and back. */
typedef enum plait_dispatcher {
    PLAIT_DISPATCH_ALLTOALL,   /* the software's own: each copy, or once per node (moe_dedup) */
    PLAIT_DISPATCH_ALLGATHER,  /* all tokens gathered to all ranks, results reduce-scattered */
    PLAIT_DISPATCH_DEEPEP,     /* each token once per node, then once per rank in it */
    PLAIT_DISPATCH_DEEPEP_FP8, /* as DeepEP, dispatched in 8 bits */
    PLAIT_DISPATCH_HYBRIDEP,   /* as DeepEP, by kernels that occupy fewer SMs */
    PLAIT_DISPATCHERS
} plait_dispatcher;

/** Computation that hides expert communication. */
typedef enum plait_ep_overlap {
    PLAIT_EP_OVERLAP_NONE,
    PLAIT_EP_OVERLAP_PAIRS, /* forward of one microbatch during the backward of another */
    PLAIT_EP_OVERLAP_PAIRS_DELAYED_WGRAD, /* pairs, with delayed expert weight gradients */
    PLAIT_EP_OVERLAPS
} plait_ep_overlap;

/** The launches of a step that CUDA graphs replay without the host. */
typedef enum plait_cuda_graph {
    PLAIT_GRAPH_NONE,
    PLAIT_GRAPH_LAYERS, /* all parts of layers but experts, whose shapes change */
    PLAIT_GRAPH_FULL,   /* a whole iteration, with buffers of a fixed size for experts */
    PLAIT_GRAPHS
} plait_cuda_graph;

/** Switches of kernels and launches. A struct without padding, which layer prices depend on. */
typedef struct plait_switches {
    unsigned char cuda_graph; /* plait_cuda_graph */
    bool fp8_attention;       /* core attention of 8- and 4-bit jobs in 8 bits */
    bool fused_grouped_mlp;   /* both products, bias and activation of experts are one kernel */
    bool tp_comm_overlap;     /* products hide the gathers and scatters of tensor parallelism */
    bool permute_fusion;      /* one kernel permutes the tokens of experts, one each way (C.390) */
    bool router_fusion;       /* the scores, choice and loss of a router are one kernel each */
} plait_switches;

static inline bool plait_switches_same(plait_switches a, plait_switches b)
{
    return a.cuda_graph == b.cuda_graph && a.fp8_attention == b.fp8_attention &&
           a.fused_grouped_mlp == b.fused_grouped_mlp && a.tp_comm_overlap == b.tp_comm_overlap &&
           a.permute_fusion == b.permute_fusion && a.router_fusion == b.router_fusion;
}

/** Fused collectives of two adjacent parallelisms, if that is faster (plait/lowlevel/fuse.h). */
typedef enum plait_fusion { PLAIT_FUSION_NONE, PLAIT_FUSION_AUTO, PLAIT_FUSIONS } plait_fusion;

/* ---- the point ---- */

/**
 * Upper bound of a degree. For dp and shard_group, which follow from other degrees, the bound is
 * PLAIT_MAX_GPUS.
 */
enum { PLAIT_MAX_DEGREE = 1 << 20 };

/** One uniform point of the plan space. */
typedef struct plait_degrees {
    int tp;
    int cp;
    int pp;
    int vpp; /* model chunks per rank; 1: not interleaved */
    int ep;
    int etp;         /* tensor parallelism inside an expert */
    int dp;          /* gpus / (tp pp cp) */
    int mbs;         /* sequences of one microbatch on one data-parallel rank */
    int shard_group; /* ranks of a ZeRO shard, at most dp cp */
    plait_recompute recompute;
    plait_split split;
    bool sp;
    unsigned char zero;            /* ZeRO stage 0..3 */
    unsigned char cp_comm;         /* plait_cp_comm */
    unsigned char schedule;        /* plait_schedule */
    unsigned char grad_sync;       /* plait_grad_sync */
    unsigned char order;           /* plait_order */
    unsigned char placement;       /* plait_placement */
    unsigned char fusion;          /* plait_fusion */
    unsigned char grad_reduce;     /* plait_state_format of the gradient buffer and its reduction */
    unsigned char optimizer_state; /* plait_state_format of Adam's two moments */
    bool
        post_validation; /* no barrier before the optimizer: gradients are checked after its step */
    bool fp8_params;     /* parameters kept and gathered in the format of the products */
    bool gather_with_step; /* the optimizer step of other chunks hides the gather of the first */
    unsigned char bucket;  /* index in plait_bucket_name */
    unsigned char offload; /* plait_offload */
    unsigned char offload_share; /* offloaded tenths of the optimizer; 0: all */
    unsigned char offload_acts;  /* index of a set of PLAIT_OFFLOAD_SETS */
    unsigned char reshard;       /* plait_reshard */
    unsigned char scatter;       /* plait_scatter */
    unsigned char quantise;      /* plait_quantise */
    unsigned char dispatcher;    /* plait_dispatcher */
    unsigned char ep_overlap;    /* plait_ep_overlap */
    unsigned char attention;     /* plait_attention_kernel of the core attention */
    plait_switches switches;
} plait_degrees;

/** All ones, 1F1B, no recomputation: a legal single-GPU point to start from. */
plait_degrees plait_degrees_init(void);

/** Data-parallel size: gpus / (tp pp cp), 0 if that does not divide. (C.2) */
int plait_degrees_dp(int gpus, int tp, int pp, int cp);

/** Microbatches of one pipeline: gbs / (dp mbs), 0 if that does not divide. */
int plait_degrees_microbatches(const plait_degrees *degrees, int gbs);

/* ---- keys of a point ---- */

/**
 * The keys, in the order of files and reports: a key comes after those that its default depends on.
 */
typedef enum plait_key_id {
    PLAIT_KEY_TP,
    PLAIT_KEY_SP,
    PLAIT_KEY_PP,
    PLAIT_KEY_VPP,
    PLAIT_KEY_CP,
    PLAIT_KEY_CP_COMM,
    PLAIT_KEY_EP,
    PLAIT_KEY_ETP,
    PLAIT_KEY_DISPATCHER,
    PLAIT_KEY_EP_OVERLAP,
    PLAIT_KEY_DP,
    PLAIT_KEY_ZERO,
    PLAIT_KEY_SHARD_GROUP,
    PLAIT_KEY_RESHARD,
    PLAIT_KEY_SCATTER,
    PLAIT_KEY_QUANTISE,
    PLAIT_KEY_MBS,
    PLAIT_KEY_ATTENTION,
    PLAIT_KEY_FP8_ATTENTION,
    PLAIT_KEY_FUSED_GROUPED_MLP,
    PLAIT_KEY_TP_COMM_OVERLAP,
    PLAIT_KEY_PERMUTE_FUSION,
    PLAIT_KEY_ROUTER_FUSION,
    PLAIT_KEY_CUDA_GRAPH,
    PLAIT_KEY_RECOMPUTE,
    PLAIT_KEY_OFFLOAD_ACTS,
    PLAIT_KEY_SCHEDULE,
    PLAIT_KEY_POST_VALIDATION,
    PLAIT_KEY_GRAD_SYNC,
    PLAIT_KEY_GATHER_WITH_STEP,
    PLAIT_KEY_BUCKET,
    PLAIT_KEY_FUSION,
    PLAIT_KEY_SPLIT,
    PLAIT_KEY_ORDER,
    PLAIT_KEY_PLACEMENT,
    PLAIT_KEY_GRAD_REDUCE,
    PLAIT_KEY_OPTIMIZER_STATE,
    PLAIT_KEY_OFFLOAD,
    PLAIT_KEY_OFFLOAD_SHARE,
    PLAIT_KEY_FP8_PARAMS,
    PLAIT_KEYS
} plait_key_id;

/** The type of a key's field. */
typedef enum plait_key_kind {
    PLAIT_KEY_NUMBER,       /* int */
    PLAIT_KEY_SMALL_NUMBER, /* unsigned char */
    PLAIT_KEY_SWITCH,       /* bool */
    PLAIT_KEY_WORD,         /* unsigned char: which of `words` */
    PLAIT_KEY_OF_RECOMPUTE, /* plait_recompute; `words` name its kinds */
    PLAIT_KEY_OF_SPLIT,     /* plait_split; `words` name its kinds */
    PLAIT_KEY_KINDS
} plait_key_kind;

/** A key: one row of plait_keys. */
typedef struct plait_key {
    const char *name; /* "cp_comm"; its flag is --cp-comm */
    plait_key_kind kind;
    size_t offset;            /* offset of its field in plait_degrees */
    int low, high;            /* range of numbers */
    const char *const *words; /* NULL-terminated; NULL: numbers */
    const char *limit_name;   /* name of its bound or list in "can" of a profile; NULL: neither */
    bool has_default;         /* "defaults" of a profile have its default value */
    bool numerics;    /* changes the numerics of a step: searched only if allowed or requested */
    int absent_value; /* value of software without the feature, in which tables omit the key; -1:
                       * none */
    /** Does the key have an effect, given the others? NULL: always. */
    bool (*matters)(const plait_problem *problem, const plait_degrees *degrees);
    const char *title; /* title of its column in tables */
    const char *value; /* name of its value in --help */
    const char *help;
} plait_key;

extern const plait_key plait_keys[PLAIT_KEYS];

/** The key of this name; -1: unknown. */
int plait_key_find(const char *name);

/**
 * All values of a key as bits 1 << value, if its values are words or a switch; 0 if it is a number.
 */
unsigned plait_key_all(plait_key_id key);

/** The value of a key: a number, the index of a word, or a kind. */
int plait_key_value(const plait_degrees *degrees, plait_key_id key);

/** Sets the value of a key. For recompute and split, sets the kind and clears the other fields. */
void plait_key_put(plait_degrees *degrees, plait_key_id key, int value);

/** Do two points have the same value of a key? */
bool plait_key_same(const plait_degrees *a, const plait_degrees *b, plait_key_id key);

/** A set of keys: bits 1 << plait_key_id. */
typedef uint64_t plait_key_set;

/**
 * Do two points agree in all of `keys`? Numbers and words agree if they are equal, ZeRO if it is 3
 * in both or in neither, recomputation if both points recompute nothing, parts of layers, or whole
 * layers.
 */
bool plait_degrees_equal_on(plait_key_set keys, const plait_degrees *a, const plait_degrees *b);

/** Traits of a plan, as numbers: predictions of plans that share a trait have correlated errors. */
enum {
    PLAIT_TRAIT_TP,
    PLAIT_TRAIT_PP,
    PLAIT_TRAIT_VPP,
    PLAIT_TRAIT_MBS,
    PLAIT_TRAIT_ZERO3,     /* 0 or 1 */
    PLAIT_TRAIT_RECOMPUTE, /* 0: none, 1: parts of layers, 2: whole layers */
    PLAIT_TRAITS
};

extern const char *const plait_trait_name[PLAIT_TRAITS + 1];

/** Fills the traits of a point. */
void plait_traits_of(const plait_degrees *degrees, int trait[PLAIT_TRAITS]);

/** The keys that distinguish plans in rankings: tp, pp, vpp, cp, ep, mbs, recompute, zero. */
plait_key_set plait_distinct_keys(void);

/** The default value of a key in the runtime. It may depend on the values of earlier keys. */
int plait_key_default(const plait_problem *problem, const plait_degrees *degrees, plait_key_id key);

/** Does a point have the default value of a key? */
bool plait_key_is_usual(const plait_problem *problem, const plait_degrees *degrees,
                        plait_key_id key);

/**
 * Should a table show the value? True if the key has an effect and its value is not absent_value,
 * or for a switch with a default in the profile not that default.
 */
bool plait_key_applies(const plait_problem *problem, const plait_degrees *degrees,
                       plait_key_id key);

/**
 * Set one key ("tp", "recompute", "schedule", ...) from its text.
 *
 * Fails (RANGE) on an unknown key or a value outside the key's own range; `where` is the key. The
 * text of a layout is not copied: it must outlive the degrees (or plait_plan_lay copies it).
 */
PLAIT_MUST_CHECK plait_status plait_degrees_set(plait_degrees *degrees, const char *key,
                                                const char *value, plait_error *err);

/** Size of the text of any value, with its terminating zero. */
enum { PLAIT_VALUE_SIZE = 1024 };

/** The text of one key for plait_degrees_set; "" for an invalid value. Returns `text`. */
char *plait_degrees_get(const plait_degrees *degrees, plait_key_id key, char *text, size_t size);

/** The same text for a value of a key with words or small numbers. */
char *plait_key_text(plait_key_id key, int value, char *text, size_t size);

#define PLAIT_KEY_BIT(key) ((plait_key_set)1 << (key))

/** The set of all keys. */
#define PLAIT_ALL_KEYS (PLAIT_KEY_BIT(PLAIT_KEYS) - 1)

/** Bits 1 << PLAIT_OFFLOAD_... of the modules of a set. */
unsigned plait_offload_modules(unsigned char set);

/** Does a search try the set by default? Subsets of an equivalent larger set are skipped. */
bool plait_offload_searched(unsigned char set);

/** The share of the optimizer in host memory: 0 without offload. */
double plait_offload_share_of(const plait_degrees *degrees);

/** Elements of a bucket of the plan; 0: the size of the profile. (C.65) */
double plait_bucket_elements(const plait_degrees *degrees);

/** Are reduced gradients offloaded, besides the optimizer? */
static inline bool plait_gradients_offloaded(const plait_degrees *degrees)
{
    return degrees->offload >= PLAIT_OFFLOAD_GRADIENTS;
}

/** Are gradients scattered by each microbatch? */
static inline bool plait_scatters_each(const plait_degrees *degrees)
{
    return degrees->zero >= 2 && degrees->scatter == PLAIT_SCATTER_MICROBATCH;
}

/** Gives each key that is not in `given` its default value. */
void plait_degrees_fill(const plait_problem *problem, plait_key_set given, plait_degrees *degrees);

extern const char *const plait_cp_comm_name[PLAIT_CP_COMMS + 1];
extern const char *const plait_schedule_name[PLAIT_SCHEDULES + 1];
extern const char *const plait_grad_sync_name[PLAIT_GRAD_SYNCS + 1];
extern const char *const plait_split_name[PLAIT_SPLITS + 1];
extern const char *const plait_order_name[PLAIT_ORDERS + 1];
extern const char *const plait_placement_name[PLAIT_PLACEMENTS + 1];
extern const char *const plait_state_format_name[PLAIT_STATE_FORMATS + 1];
extern const char *const plait_dispatcher_name[PLAIT_DISPATCHERS + 1];
extern const char *const plait_ep_overlap_name[PLAIT_EP_OVERLAPS + 1];
extern const char *const plait_offload_name[PLAIT_OFFLOADS + 1];
extern const char *const plait_offload_share_name[PLAIT_OFFLOAD_SHARES + 1];
extern const char *const plait_bucket_name[PLAIT_BUCKETS + 1];
extern const char *const plait_offload_acts_name[PLAIT_OFFLOAD_SETS + 1];
extern const char *const plait_offload_module_name[PLAIT_OFFLOAD_MODULES + 1];
extern const char *const plait_reshard_name[PLAIT_RESHARDS + 1];
extern const char *const plait_scatter_name[PLAIT_SCATTERS + 1];
extern const char *const plait_quantise_name[PLAIT_QUANTISES + 1];
extern const char *const plait_recompute_name[PLAIT_RECOMPUTE_KINDS + 1];
extern const char *const plait_recompute_module_name[PLAIT_MODULES + 1];

PLAIT_END_DECLS

#endif
