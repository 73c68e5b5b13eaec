/*
 * layer_row.h - prices (seconds and bytes) of every part of a model under one set of layer degrees
 *
 *     layer_row    (layer_key)           each kind of layer, the embedding, the head, MTP modules
 *     gather_row   (zero, shard_group)   gathers and scatters of ZeRO-2 and -3
 *     layer_time                         both, with kernel launches and recomputation
 */
#pragma once

#include "costmodel/api.h"
#include "plait/lowlevel/block.h"
#include "plait/lowlevel/collective.h"
#include "plait/cost.h"
#include "plait/lowlevel/kernel.h"
#include "plait/model.h"
#include "plan/documents.h"

/** Terms of a layer's time: those of PLAIT_STEP_TERMS that a layer has, with the same names. */
#define LAYER_TERM_LIST(X)                                                                         \
    X(matmul)                                                                                      \
    X(attention)                                                                                   \
    X(memory_ops)                                                                                  \
    X(recompute)                                                                                   \
    X(launch)                                                                                      \
    X(tp_comm)                                                                                     \
    X(cp_comm)                                                                                     \
    X(ep_comm)                                                                                     \
    X(gather)                                                                                      \
    X(offload)

typedef enum layer_term {
#define X(name) LAYER_##name,
    LAYER_TERM_LIST(X)
#undef X
        LAYER_TERMS
} layer_term;

/** Indices of the parts of a model: its kinds of layers, then its ends. */
enum {
    ROW_EMBEDDING = PLAIT_MAX_LAYER_KINDS,
    ROW_HEAD,     /* final norm, vocabulary projection, loss */
    ROW_TABLE,    /* a copy of the embedding on the head's stage */
    ROW_MTP,      /* the layer of a multi-token-prediction module, with its projection */
    ROW_MTP_HEAD, /* the pass of such a module through the head */
    ROW_PRICES
};

/** The keys of a plan on which a layer's price depends. Rows are cached by these keys. */
typedef struct layer_key {
    int tp, cp, ep, etp, mbs;
    bool sp;
    unsigned char cp_comm;     /* plait_cp_comm */
    unsigned char placement;   /* plait_placement */
    unsigned char fusion;      /* plait_fusion */
    unsigned char dispatcher;  /* plait_dispatcher */
    unsigned char attention;   /* plait_attention_kernel */
    unsigned char grad_reduce; /* plait_state_format */
    plait_switches switches;
} layer_key;

static inline layer_key layer_key_of(const plait_degrees *d)
{
    return (layer_key){d->tp,        d->cp,          d->ep,        d->etp,    d->mbs,
                       d->sp,        d->cp_comm,     d->placement, d->fusion, d->dispatcher,
                       d->attention, d->grad_reduce, d->switches};
}

static inline bool layer_key_same(layer_key a, layer_key b)
{
    return a.tp == b.tp && a.cp == b.cp && a.ep == b.ep && a.etp == b.etp && a.mbs == b.mbs &&
           a.sp == b.sp && a.cp_comm == b.cp_comm && a.placement == b.placement &&
           a.fusion == b.fusion && a.dispatcher == b.dispatcher && a.attention == b.attention &&
           a.grad_reduce == b.grad_reduce && plait_switches_same(a.switches, b.switches);
}

/** The price of one part of the model for one microbatch on one rank. */
typedef struct layer_price {
    double forward[LAYER_TERMS]; /* seconds by term, without kernel launches */
    double backward[LAYER_TERMS];
    double part_s[PLAIT_PARTS]; /* forward seconds by plait_part, for recomputation */
    double forward_gpu_s;
    double backward_gpu_s;
    double weight_s;                    /* weight-gradient part of the backward */
    double paired_s[PLAIT_EP_OVERLAPS]; /* seconds that overlapping two microbatches saves */
    double forward_sent_s[2];  /* dispatch and combine of the forward pass, hidden or exposed */
    double backward_sent_s[2]; /* dispatch and combine of the backward pass */
    double unread_s;           /* part of the forward that full recomputation leaves out */
    bool core_recurs;          /* selective recomputation skips core_attn (C.26) */
    double busy_s;             /* products and attention of both passes */
    double moving_s;           /* memory-bound kernels of both passes */
    document_load documents;   /* deviations of the work of microbatches */
    double host_s;             /* launch time of the forward on the host */
    double saved_bytes[PLAIT_TENSORS];
    double kept_bytes;      /* sum of saved_bytes, all kept without recomputation */
    double input_bytes;     /* bytes kept under full recomputation */
    double exchanged_bytes; /* largest buffers of context exchange and of gathered tokens */
    plait_weights weights;  /* parameters that the part adds to its rank */
    plait_weights gathered; /* parameters that ZeRO-3 gathers, shared ones included */
} layer_price;

typedef struct layer_row {
    struct layer_cache *cache; /* prices of earlier rows; NULL: no cache */
    layer_key key;
    plait_shard shard;
    bool placed;                     /* the routes below are computed for the key */
    plait_route route[PLAIT_GROUPS]; /* routes of tp, cp, ep and etp */
    unsigned char fused
        [PLAIT_MAX_LAYER_KINDS]; /* bits 1 << PLAIT_FUSE_...: rules applied to each kind of layer */
    plait_route cp_heads, cp_rings; /* a2a+p2p: routes of the all-to-alls and of the rings of cp */
    layer_price price[ROW_PRICES];
    plait_weights encoders; /* part of the embedding's weights that is of encoders */
    double p2p_bytes;       /* activation of one microbatch sent between stages */
    double logit_bytes;     /* logits of one microbatch, on the last stage */
    double exchange_bytes;  /* buffers of the widest layer's exchanges */
    double pair_bytes;      /* activations of one layer, kept twice by a pair of microbatches */
    double boundary_s;      /* upper bound on a microbatch's saving by one fused boundary (C.91) */
} layer_row;

/** Seconds of ZeRO collectives and transfers of one part, and the time that paired passes save. */
typedef struct layer_gather {
    double gather_s; /* ZeRO-3's gather of parameters before the forward */
    double again_s;  /* ZeRO-3's gather of parameters before the backward */
    double scatter_s;
    double paired_s;   /* time that pairs of microbatches save in both passes */
    double up_s;       /* transfer of the rank's shard from host memory before gather_s */
    double up_again_s; /* another transfer of the shard before again_s */
    double up_rerun_s; /* another transfer if the whole layer is recomputed (C.381) */
} layer_gather;

typedef struct gather_row {
    layer_gather layer[ROW_PRICES];
    bool travels;        /* each microbatch gathers or scatters */
    unsigned char pairs; /* plait_ep_overlap by which microbatches are paired */
} gather_row;

/** Time and memory of one part and microbatch, with gathers, launches and recomputation. */
typedef struct layer_time {
    double forward_s;
    double backward_s;
    double weight_s; /* weight-gradient part of backward_s, with its launches */
    double saved_bytes;
    double live_bytes; /* bytes recomputed or fetched in the backward of one layer */
    double busy_s;     /* products, attention and recomputation of both passes */
    double moving_s;   /* memory-bound kernels of both passes */
    varied_time varied;
} layer_time;

/** Seconds of all calls of one collective operator, and their exposed part. */
typedef struct collective_time {
    double seconds;
    double exposed_s;
} collective_time;

// layer_price.c
void layer_row_fill(const plait_problem *problem, layer_key key, layer_row *row);
/** Sets the key of a row, and the fields that follow from it alone. */
void layer_row_set_key(const plait_problem *problem, layer_key key, layer_row *row);
/** Fills the routes of a row's groups unless they are filled. */
void layer_row_place_groups(const plait_problem *problem, layer_row *row);
/** Sets the key and the parameters of each part, without prices. */
void layer_row_fill_weights(const plait_problem *problem, layer_key key, layer_row *row);
plait_kernel_context kernel_context_of(const plait_problem *problem, const layer_key *key);
plait_network network_of(const plait_problem *problem);
plait_pass pass_of(const plait_problem *problem, const layer_key *key, plait_pass_kind kind);
/** Returns the layer of a part of a row; NULL: the part is an end of the model. */
const plait_layer *row_layer(const plait_model *model, int row);
/** Describes a part in one pass; `r` must not be ROW_TABLE, which has no operators. */
void row_describe(const plait_problem *problem, const layer_row *row, int r, plait_pass_kind kind,
                  plait_block *block);

// layer_ops.c
/** Returns the route of the ranks that a collective of a layer joins. */
const plait_route *op_route(const layer_row *row, const plait_op *op);
collective_time collective_time_of(const plait_problem *problem, const layer_row *row,
                                   const plait_op *op, double attention_s);
layer_term term_of(const plait_op *op);
/**
 * Fills lower bounds on the seconds of both passes of each kind of layer, whether or not microbatches
 * overlap: the time without the exchange of experts' tokens. 0 if the cache has no lower bounds, or
 * if fusion may shorten the passes.
 *
 * @param row  only its key is read; its routes are filled if a half is not cached
 * @param s    [kinds of the model]
 */
void layers_computed_s(const plait_problem *problem, layer_row *row, double *s);

// layer_time.c
layer_time layer_time_of(const plait_problem *problem, const layer_price *price,
                         const layer_gather *gather, plait_choice choice);
/** Bytes of a microbatch that one layer keeps for backward. (C.25, C.26) */
double layer_saved_bytes(const layer_price *price, plait_recompute recompute);
/** The part of layer_saved_bytes() that is offloaded to host memory. (C.166) */
double layer_away_bytes(const layer_price *price, plait_choice choice);
/** Time of both passes of a layer, by term. */
void layer_terms_of(const plait_problem *problem, const layer_price *price,
                    const layer_gather *gather, plait_choice choice, double terms[LAYER_TERMS]);
/** The share of an operator's part that a recompute choice repeats: 0, 1/2 or 1. */
double recomputed_share(const plait_problem *problem, const plait_layer *layer,
                        plait_recompute recompute, plait_part part);

/** Is the core attention of a layer a recurrence, which only full recomputation repeats? (C.26) */
bool layer_core_recurs(const plait_layer *layer);

/** Returns the masks of a choice for a layer whose core has a recurrence or not. (C.26) */
plait_recompute_masks layer_recompute_masks(plait_recompute recompute, bool core_recurs);

/**
 * Does full recomputation leave out the layer's last product, because the backward does not read
 * its output? (C.26)
 */
bool recompute_stops_early(const plait_problem *problem, const plait_layer *layer);
