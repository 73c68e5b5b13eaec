/*
 * layouts.h - layers to chunks: the best layout of one point of the space
 *
 * A model is a row of items in the order in which a token passes them: the embedding, each layer,
 * the modules that predict further tokens as one item, the loss. A layout cuts the row into pp vpp
 * chunks; chunk c is on the rank that the schedule assigns it to.
 *
 *     E | t t t | t t t | t t t m L        items 0 .. 11, chunks end at 1, 4, 7, 12
 *
 * All chunks but the first and the last have at least q - 1 layers, q the whole part of layers /
 * (pp vpp); so if chunks are many, some may be empty.
 *
 *     minimise    the step of the point with this layout, as the cost model prices it
 *     subject to  each rank's state and activations in flight fit
 *
 *     layout_lower_bound_s   lower bound of every layout                                (S.6, S.7)
 *     layout_dp              the best by dynamic programming, where a chain is exact    (S.8)
 *     layout_enumerate       all layouts of a small row                                 (S.9)
 *     layout_local_search    seeds, and steps from them while they gain                 (S.10)
 */
#pragma once

#include "plait/search.h"
#include "costmodel/api.h"
#include "plait/lowlevel/schedule.h"

/** Sums of the items before a place of the row. */
typedef struct layout_sums {
    plait_chunk_time time;
    double work_s; /* of a rank, for a microbatch, less what pairs of microbatches hide */
    double state_bytes, saved_bytes;
} layout_sums;

/** A row of items, and the pipeline whose chunks hold them. */
typedef struct layout_items {
    const plait_model *model;
    plait_schedule schedule;
    int ranks, vpp;            /* pp, vpp */
    int chunks;                /* pp vpp */
    int items;                 /* 1 + layers + (modules) + 1 */
    int modules_at;            /* item of all modules; -1: there are none */
    int full_recompute_layers; /* `leading` of plait_portions; -1: recompute is not full:N */
    const layout_sums *sum;    /* [items + 1] as leading layers of a chunk */
    const layout_sums *rest;   /* [items + 1] as the layers after them */
    const double *live_bytes;  /* [items] alive in the backward of each alone */
    const double *in_flight;   /* [chunks] microbatches, if chunks were equal */
    const int *rank;           /* [chunks] that has it */
    double rank_bytes, capacity_bytes;
    double fused_s, after_s;
    int microbatches;
} layout_items;

/** Makes the row of a point; false when out of memory. */
bool layout_items_make(const plait_problem *problem, const plait_degrees *degrees,
                       const plait_portions *portions, double capacity_bytes, plait_arena *arena,
                       layout_items *row);

/** Sums of the items from `first` up to `end` as one chunk. */
layout_sums layout_chunk_sums(const layout_items *row, int first, int end);

/** The most bytes that the backward of one of these items alone keeps alive. */
double layout_live_bytes(const layout_items *row, int first, int end);

/**
 * True if the modules may be in this chunk: the last of its rank, and not of the first rank unless
 * it is the last of all.
 */
bool layout_takes_modules(const layout_items *row, int chunk);

/** The chunks of a layout. @param end  [chunks] one past each chunk's last item */
void layout_chunks(const layout_items *row, const int *end, plait_chunk *chunks);

/** The ranks of a pipeline and the items to be assigned, whatever the layout. */
typedef struct layout_shape {
    int ranks, vpp;
    int kinds, layers[PLAIT_MAX_LAYER_KINDS]; /* of each kind */
    int modules;
    int least;          /* least layers of a chunk that is neither the first nor the last */
    bool returns_whole; /* backwards return through the chunks of the forwards, and are not split */
    double in_flight[PLAIT_MAX_LAYERS]; /* [ranks] microbatches of any chunk, at least */
    int middle_chunks
        [PLAIT_MAX_LAYERS]; /* [ranks] chunks that are neither the first nor the last ... */
    double middle[PLAIT_MAX_LAYERS]; /* ... and the sum of their microbatches in flight */
    double usual[PLAIT_MAX_LAYERS];  /* [ranks] microbatches in flight of the mean chunk */
} layout_shape;

void layout_shape_init(layout_shape *ranks, const plait_model *model, const plait_degrees *degrees,
                       int microbatches);

/** Lower bound of the step of every layout; infinite from `limit_s` on, and if none fits. */
double layout_lower_bound_s(const layout_shape *ranks, const plait_portions *portions,
                            double capacity_bytes, double limit_s);

/**
 * The step of a good layout if chunks could be equal: no bound, but an order in which to try
 * points.
 */
double layout_estimate_s(const layout_shape *ranks, const plait_portions *portions,
                         double capacity_bytes, double limit_s);

/** The prices of layouts of one point, and the best step known. */
typedef struct layout_pricer {
    plait_table *table;
    plait_degrees degrees;
    plait_arena *scratch; /* rewound */
    double capacity_bytes;
    double limit_s;              /* layouts that are not faster are of no use */
    char text[PLAIT_VALUE_SIZE]; /* the layout priced last, to which `degrees` point */
    bool failed;                 /* out of memory */
} layout_pricer;

/** The best layout. floor_s and pipeline_s are valid after layout_dp alone. */
typedef struct layout_result {
    bool any;    /* a layout fits and is faster than the limit */
    bool proven; /* no other layout of this row is faster */
    bool failed; /* out of memory */
    plait_price price;
    double floor_s;    /* lower bound of every layout's step */
    double pipeline_s; /* of layout_dp: the shortest of all that fit; infinite: not known */
    char text[PLAIT_VALUE_SIZE]; /* layout */
} layout_result;

/**
 * The price of a layout by the tables, a lower bound if it is not exact; infinite if it does not
 * fit.
 */
plait_price layout_price(layout_pricer *pricer, const layout_items *row, const int *end);

/** The price, exact if it is below the limit. */
plait_price layout_price_exact(layout_pricer *pricer, const layout_items *row, const int *end);

/** Takes a layout with this exact price if it is the best so far. */
void layout_keep_best(layout_pricer *pricer, const layout_items *row, const int *end,
                      plait_price price, layout_result *found);

/** True if the pipeline is a chain of stages, as layout_dp needs. */
bool layout_has_chain(const layout_items *row);
void layout_dp(layout_pricer *pricer, const layout_items *row, layout_result *found);

/** True if there are few enough layouts to price all of them. */
bool layout_is_small(const layout_items *row);
void layout_enumerate(layout_pricer *pricer, const layout_items *row, layout_result *found);

void layout_local_search(layout_pricer *pricer, const layout_items *row, layout_result *found);

/**
 * Layouts whose slowest rank is fast, as a start of the local search and as first answers.
 *
 * @param end  [LAYOUT_SEEDS][chunks], filled
 * @return     how many
 */
enum { LAYOUT_SEEDS = 8 };
int layout_seeds(const layout_items *row, int *end);

/** The best layout of a row, by the method for its schedule and size. */
void layout_solve(layout_pricer *pricer, const layout_items *row, layout_result *found);
