/*
 * deal.h - layers to chunks: the best layout of one point of the space
 *
 * A model is a row of items in the order in which a token passes them: the embedding, each layer, the
 * modules that predict further tokens as one item, the loss. A deal cuts the row into pp vpp chunks,
 * all but the first and the last with at least q - 1 layers, q the whole part of layers / (pp vpp); so
 * where chunks are many, some may be empty. Chunk c lies on the rank that its schedule says.
 *
 *     minimise    the step of the point with this layout, as the cost model prices it
 *     subject to  each rank's state and activations in flight fit
 *
 *     layout_lower_bound_s    what no deal undercuts                                 (S.6, S.7)
 *     layout_dp      the best by dynamic programming, where a chain is exact (S.8)
 *     layout_enumerate        every deal of a small row                              (S.9)
 *     layout_local_search      seeds, and steps from them while they pay              (S.10)
 */
#pragma once

#include "plait/search.h"

/** Items before some place, added up. */
typedef struct layout_sums {
    plait_chunk_time time;
    double work_s; /* of a rank, for a microbatch, less what pairs hide */
    double state_bytes, saved_bytes;
} layout_sums;

/** A row of items, and the pipeline that it is dealt to. */
typedef struct layout_items {
    const plait_model *model;
    plait_schedule schedule;
    int ranks, turns;         /* pp, vpp */
    int chunks;               /* pp vpp */
    int items;                /* 1 + layers + (modules) + 1 */
    int modules_at;           /* the item of all modules; -1: there are none */
    int leading;              /* as in plait_portions */
    const layout_sums *sum;   /* [items + 1], as the first `leading` layers of a chunk */
    const layout_sums *rest;  /* [items + 1], as those behind them */
    const double *live_bytes; /* [items] in the backward of each alone */
    const double *held;       /* [chunks] microbatches in flight, of equal chunks */
    const int *rank;          /* [chunks] on which it lies */
    double rank_bytes, capacity_bytes;
    double fused_s, after_s;
    int microbatches;
} layout_items;

/** Makes the row of a point; false when out of memory. */
bool layout_items_make(const plait_problem *problem, const plait_degrees *degrees,
                       const plait_portions *portions, double capacity_bytes, plait_arena *arena,
                       layout_items *row);

/** What the items from `first` up to `end` add up to as one chunk. */
layout_sums layout_chunk_sums(const layout_items *row, int first, int end);

/** The most that the backward of one of these items has alone. */
double layout_live_bytes(const layout_items *row, int first, int end);

/** May the modules stand in this chunk: the last of its rank, and not the first rank's but alone? */
bool layout_takes_modules(const layout_items *row, int chunk);

/** The chunks of a deal. @param end  [chunks] the item behind each chunk's last */
void layout_chunks(const layout_items *row, const int *end, plait_chunk *chunks);

/** The ranks of a pipeline, and what is dealt to them whatever the order. */
typedef struct layout_shape {
    int ranks, turns;
    int kinds, layers[PLAIT_MAX_LAYER_KINDS]; /* of each kind */
    int modules;
    int least;                     /* layers of a chunk in the middle */
    bool turns_back;               /* backwards return through the chunks of the forwards, whole */
    double held[PLAIT_MAX_LAYERS]; /* [ranks] microbatches that it keeps of any chunk, at least */
    int middles[PLAIT_MAX_LAYERS]; /* [ranks] its chunks in the middle ... */
    double middle[PLAIT_MAX_LAYERS]; /* ... and microbatches of them together */
    double usual[PLAIT_MAX_LAYERS];  /* [ranks] of the mean chunk */
} layout_shape;

void layout_shape_init(layout_shape *ranks, const plait_model *model, const plait_degrees *degrees,
                       int microbatches);

/** Seconds of a step that no deal undercuts; infinite from `limit_s` on, and where none fits. */
double layout_lower_bound_s(const layout_shape *ranks, const plait_portions *portions,
                            double capacity_bytes, double limit_s);

/** What a good deal would take if chunks could be equal: no bound, but what to try first. */
double layout_estimate_s(const layout_shape *ranks, const plait_portions *portions,
                         double capacity_bytes, double limit_s);

/** What a deal is tried by: its price; `limit_s` is that of the best known. */
typedef struct layout_pricer {
    plait_table *table;
    plait_degrees degrees;
    plait_arena *scratch; /* rewound */
    double capacity_bytes;
    double limit_s;              /* only what is faster is of use */
    char text[PLAIT_VALUE_SIZE]; /* the layout tried last, which `degrees` say */
    bool failed;                 /* out of memory */
} layout_pricer;

/** A deal that was found, with its price. */
typedef struct layout_result {
    bool any;    /* one that fits and is faster than the limit */
    bool proven; /* no other deal of this row is faster */
    bool failed; /* out of memory */
    plait_price price;
    double floor_s;    /* no deal of this row is faster, where `proven` does not say so */
    double pipeline_s; /* of layout_dp: the shortest of all that fit; infinite: not known */
    char text[PLAIT_VALUE_SIZE]; /* its layout */
} layout_result;

/** The price of a deal by the tables, a bound where it is not exact; infinite where it does not fit. */
plait_price layout_price(layout_pricer *trial, const layout_items *row, const int *end);

/** The same, exact where it is below the limit. */
plait_price layout_price_exact(layout_pricer *trial, const layout_items *row, const int *end);

/** Takes a deal with this exact price if it is the best so far. */
void layout_keep_best(layout_pricer *trial, const layout_items *row, const int *end,
                      plait_price price, layout_result *found);

/** Is layout_dp's form that of the schedule? */
bool layout_has_chain(const layout_items *row);
void layout_dp(layout_pricer *trial, const layout_items *row, layout_result *found);

/** Are there few enough deals to try all? */
bool layout_is_small(const layout_items *row);
void layout_enumerate(layout_pricer *trial, const layout_items *row, layout_result *found);

void layout_local_search(layout_pricer *trial, const layout_items *row, layout_result *found);

/**
 * Deals to climb from, dealt so that no rank works longer than it must.
 *
 * @param end  [LAYOUT_SEEDS][chunks], filled
 * @return     how many
 */
enum { LAYOUT_SEEDS = 8 };
int layout_seeds(const layout_items *row, int *end);

/** Chunks that work alike; what is left over goes to ranks that work least, nearest to chunk `near`. */
void layout_level(const layout_items *row, int near, int *end);

/** The best deal of a row by the way that suits it. */
void layout_solve(layout_pricer *trial, const layout_items *row, layout_result *found);
