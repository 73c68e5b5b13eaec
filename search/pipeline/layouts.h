/*
 * layouts.h - assigns layers to chunks: finds the best layout of one point of the space
 *
 * A model is a row of items in the order of the forward pass: the embedding, each layer, the
 * modules that predict further tokens (one item together), the loss. A layout cuts the row into pp
 * vpp chunks; chunk c is on the rank that the schedule assigns it to.
 *
 *     E | t t t | t t t | t t t m L        items 0 .. 11, chunks end at 1, 4, 7, 12
 *
 * Each chunk except the first and the last has at least q - 1 layers, with q = floor(layers / (pp
 * vpp)). With many chunks q is at most 1. Then some chunks may be empty, but only if the model ranks
 * plans alone: no measured run has an empty chunk.
 *
 *     minimise    the step time of the point with this layout, by the cost model
 *     subject to  each rank's state and activations in flight fit
 *
 *     layout_lower_bound_s   lower bound of every layout                                (S.6, S.7)
 *     layout_solve           the best layout                                      (S.8, S.9, S.10)
 */
#pragma once

#include "plait/search.h"
#include "costmodel/api.h"
#include "plait/lowlevel/schedule.h"

/** Sums over all items of a row before a given position. */
typedef struct layout_sums {
    plait_chunk_time time;
    double work_s; /* work per microbatch, less the time that pairing microbatches hides */
    double state_bytes, saved_bytes;
} layout_sums;

/** A row of items, and the pipeline whose chunks hold them. */
typedef struct layout_items {
    const plait_model *model;
    plait_schedule schedule;
    int ranks, vpp;            /* degrees pp and vpp */
    int chunks;                /* product of pp and vpp */
    int items;                 /* number of items: embedding, layers, modules together, loss */
    int modules_at;            /* index of the item of all modules; -1: none */
    int full_recompute_layers; /* N of recompute full:N; -1: another kind of recomputation */
    /* [items + 1] sums with layers priced as the first N of a chunk (full:N) */
    const layout_sums *sum;
    const layout_sums *rest;  /* [items + 1] sums with layers priced as those after the first N */
    const double *live_bytes; /* [items] bytes that are live in the backward of each item */
    const double *in_flight;  /* [chunks] microbatches in flight if all chunks were equal */
    const int *rank;          /* [chunks] rank of each chunk */
    double rank_bytes, capacity_bytes;
    double fused_s, after_s;
    int microbatches;
    bool fills_all; /* whether every chunk has an item */
} layout_items;

/** Builds the row of a point. Returns false if out of memory. */
bool layout_items_make(const plait_problem *problem, const plait_degrees *degrees,
                       const plait_rank_loads *loads, double capacity_bytes, plait_arena *arena,
                       layout_items *row);

/** Returns the sums of items [first, end) as one chunk. */
layout_sums layout_chunk_sums(const layout_items *row, int first, int end);

/** Returns the most bytes that are live in the backward of any single item of [first, end). */
double layout_live_bytes(const layout_items *row, int first, int end);

/**
 * Returns whether the modules that predict further tokens may be in this chunk. The chunk must be
 * the last of its rank, and its rank must not be the first, unless the chunk is the last of all.
 */
bool layout_takes_modules(const layout_items *row, int chunk);

/**
 * Fills in the chunks of a layout.
 *
 * @param end  [chunks] one past the last item of each chunk
 */
void layout_chunks(const layout_items *row, const int *end, plait_chunk *chunks);

/** The parts of a pipeline that are the same for every layout: its ranks and numbers of items. */
typedef struct layout_shape {
    int ranks, vpp;
    int kinds, layers[PLAIT_MAX_LAYER_KINDS]; /* number of layers of each kind */
    int modules;
    int least; /* least number of layers of a middle chunk: neither the first nor the last */
    bool returns_whole; /* true if backwards visit the chunks in reverse order, each in one pass */
    /* The fields below are set by layout_shape_add_memory. */
    /* [ranks] microbatches in flight of the chunk of the rank that has fewest */
    double in_flight[PLAIT_MAX_LAYERS];
    /* [ranks] number of middle chunks */
    int middle_chunks[PLAIT_MAX_LAYERS];
    /* [ranks] sum of the microbatches in flight of the middle chunks */
    double middle[PLAIT_MAX_LAYERS];
    double mean[PLAIT_MAX_LAYERS]; /* [ranks] mean of the microbatches in flight of its chunks */
} layout_shape;

/** Fills in the shape of all layouts of a point, without the microbatches in flight. */
void layout_shape_init(layout_shape *ranks, const plait_model *model, const plait_degrees *degrees);

/** Fills in the microbatches in flight. */
void layout_shape_add_memory(layout_shape *ranks, const plait_degrees *degrees, int microbatches);

/**
 * Returns a lower bound of the step time of every layout; infinite if the bound reaches limit_s or
 * no layout fits. An infinite capacity requires no layout_shape_add_memory.
 */
double layout_lower_bound_s(const layout_shape *ranks, const plait_rank_loads *loads,
                            double capacity_bytes, double limit_s);

/**
 * Returns the estimated step time of a good layout if chunks could be equal. The estimate is no
 * bound; it only determines the order in which points are tried.
 */
double layout_estimate_s(const layout_shape *ranks, const plait_rank_loads *loads,
                         double capacity_bytes, double limit_s);

/** Prices layouts of one point, and stores the best known step time. */
typedef struct layout_pricer {
    const plait_problem *problem; /* problem whose runtime's rules a layout must obey */
    plait_table *table;
    plait_degrees degrees;
    plait_arena *scratch; /* scratch memory, rewound after use */
    double capacity_bytes;
    double limit_s;              /* best known step time: slower layouts are skipped */
    char text[PLAIT_VALUE_SIZE]; /* text of the layout priced last, to which `degrees` points */
    bool failed;                 /* true if out of memory */
} layout_pricer;

/**
 * The best layout of a row. floor_s and pipeline_s are computed only by dynamic programming (S.8).
 */
typedef struct layout_result {
    bool any;    /* true if a layout fits and is below the limit */
    bool proven; /* true if no other layout of the row is faster */
    bool failed; /* true if out of memory */
    plait_price price;
    double floor_s;    /* lower bound of the step time of every layout */
    double pipeline_s; /* shortest pipeline of all layouts that fit; infinite: not computed */
    char text[PLAIT_VALUE_SIZE]; /* text of the layout */
} layout_result;

/**
 * Returns the price of a layout by the tables of the cost model, which is exact or a lower bound;
 * infinite if the layout does not fit, or would be below the limit and violates a rule.
 */
plait_price layout_price(layout_pricer *pricer, const layout_items *row, const int *end);

/** Returns the price of a layout. The price is exact if its step time is below the limit. */
plait_price layout_price_exact(layout_pricer *pricer, const layout_items *row, const int *end);

/** Records a layout with its exact price if it is the best so far. */
void layout_keep_best(layout_pricer *pricer, const layout_items *row, const int *end,
                      plait_price price, layout_result *found);

/**
 * Lists layouts whose slowest rank is fast, as starting points of the search.
 *
 * @param limit_s  steps of this length are not of interest; may be infinite
 * @param end      [LAYOUT_SEEDS][chunks] receives the layouts
 * @return         number of layouts
 */
enum { LAYOUT_SEEDS = 8 };
int layout_seeds(const layout_items *row, double limit_s, int *end);

/** Finds the best layout of a row, by the method that its schedule and size allow. */
void layout_solve(layout_pricer *pricer, const layout_items *row, layout_result *found);
