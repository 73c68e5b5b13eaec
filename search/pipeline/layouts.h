/*
 * layouts.h - assigns layers to chunks: finds the best layout of one point of the space
 *
 * A model is a row of items in the order of the forward pass: the embedding, each layer, the
 * modules that predict further tokens (one item together), the loss. A layout cuts the row into pp
 * vpp chunks; chunk c is on the rank that the schedule assigns it to.
 *
 *     E | t t t | t t t | t t t m L        items 0 .. 11, chunks end at 1, 4, 7, 12
 *
 * All chunks but the first and the last have at least q - 1 layers, with q = floor(layers / (pp
 * vpp)). So with many chunks some may be empty.
 *
 *     minimise    the step of the point with this layout, as the cost model prices it
 *     subject to  each rank's state and activations in flight fit
 *
 *     layout_lower_bound_s   lower bound of every layout                                (S.6, S.7)
 *     layout_solve           the best layout                                      (S.8, S.9, S.10)
 */
#pragma once

#include "plait/search.h"
#include "costmodel/api.h"
#include "plait/lowlevel/schedule.h"

/** Prefix sums of the row: sums of the items before a place. */
typedef struct layout_sums {
    plait_chunk_time time;
    double work_s; /* work per microbatch, less the time hidden by pairing microbatches */
    double state_bytes, saved_bytes;
} layout_sums;

/** A row of items, and the pipeline whose chunks hold them. */
typedef struct layout_items {
    const plait_model *model;
    plait_schedule schedule;
    int ranks, vpp;            /* pp, vpp */
    int chunks;                /* pp vpp */
    int items;                 /* 1 + layers + (modules) + 1 */
    int modules_at;            /* index of the item of all modules; -1: none */
    int full_recompute_layers; /* N of recompute full:N; -1: another recompute */
    const layout_sums *sum;    /* [items + 1] with layers priced as leading ones of a chunk */
    const layout_sums *rest;   /* [items + 1] with layers priced as those after them */
    const double *live_bytes;  /* [items] bytes alive in the backward of each item */
    const double *in_flight;   /* [chunks] microbatches, if chunks were equal */
    const int *rank;           /* [chunks] rank of each chunk */
    double rank_bytes, capacity_bytes;
    double fused_s, after_s;
    int microbatches;
} layout_items;

/** Builds the row of a point. Returns false if out of memory. */
bool layout_items_make(const plait_problem *problem, const plait_degrees *degrees,
                       const plait_rank_loads *loads, double capacity_bytes, plait_arena *arena,
                       layout_items *row);

/** Returns the sums of items [first, end) as one chunk. */
layout_sums layout_chunk_sums(const layout_items *row, int first, int end);

/** Returns the most bytes alive in the backward of any single item of [first, end). */
double layout_live_bytes(const layout_items *row, int first, int end);

/**
 * Returns whether the modules may be in this chunk: it must be the last chunk of its rank, and not
 * on the first rank unless it is the last chunk of all.
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
    int least;          /* least layers of a chunk that is neither the first nor the last */
    bool returns_whole; /* true if backwards visit the chunks in reverse and are not split */
    double in_flight[PLAIT_MAX_LAYERS]; /* [ranks] least microbatches in flight of any chunk */
    int middle_chunks
        [PLAIT_MAX_LAYERS]; /* [ranks] chunks that are neither the first nor the last ... */
    double middle[PLAIT_MAX_LAYERS]; /* ... and the sum of their microbatches in flight */
    double mean[PLAIT_MAX_LAYERS];   /* [ranks] microbatches in flight of the mean chunk */
} layout_shape;

void layout_shape_init(layout_shape *ranks, const plait_model *model, const plait_degrees *degrees,
                       int microbatches);

/**
 * Returns a lower bound of the step of every layout; infinite if it reaches limit_s or none fits.
 */
double layout_lower_bound_s(const layout_shape *ranks, const plait_rank_loads *loads,
                            double capacity_bytes, double limit_s);

/**
 * Returns the step of a good layout if chunks could be equal. This is no bound; it only determines
 * the order in which points are tried.
 */
double layout_estimate_s(const layout_shape *ranks, const plait_rank_loads *loads,
                         double capacity_bytes, double limit_s);

/** Prices layouts of one point, and has the best known step. */
typedef struct layout_pricer {
    plait_table *table;
    plait_degrees degrees;
    plait_arena *scratch; /* scratch memory, rewound after use */
    double capacity_bytes;
    double limit_s;              /* best known step: slower layouts are skipped */
    char text[PLAIT_VALUE_SIZE]; /* layout priced last; `degrees` points to it */
    bool failed;                 /* out of memory */
} layout_pricer;

/** The best layout. floor_s and pipeline_s are valid after dynamic programming (S.8) alone. */
typedef struct layout_result {
    bool any;    /* true if a layout fits and is below the limit */
    bool proven; /* true if no other layout of this row is faster */
    bool failed; /* out of memory */
    plait_price price;
    double floor_s;              /* lower bound of the step of every layout */
    double pipeline_s;           /* shortest pipeline of all layouts that fit; infinite: unknown */
    char text[PLAIT_VALUE_SIZE]; /* layout as text */
} layout_result;

/**
 * Returns the price of a layout by the tables, which is exact or a lower bound; infinite if the
 * layout does not fit.
 */
plait_price layout_price(layout_pricer *pricer, const layout_items *row, const int *end);

/** Returns the price of a layout, which is exact if it is below the limit. */
plait_price layout_price_exact(layout_pricer *pricer, const layout_items *row, const int *end);

/** Records a layout with this exact price if it is the best so far. */
void layout_keep_best(layout_pricer *pricer, const layout_items *row, const int *end,
                      plait_price price, layout_result *found);

/**
 * Lists layouts with a fast slowest rank, from which the local search starts.
 *
 * @param end  [LAYOUT_SEEDS][chunks] receives the layouts
 * @return     number of layouts
 */
enum { LAYOUT_SEEDS = 8 };
int layout_seeds(const layout_items *row, int *end);

/** Finds the best layout of a row, by the method that its schedule and size allow. */
void layout_solve(layout_pricer *pricer, const layout_items *row, layout_result *found);
