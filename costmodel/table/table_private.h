/*
 * table_private.h - the cache of a table, and the sums that prices and bounds share
 *
 * A point is one set of degrees. The ends of the model are its embedding, head and prediction
 * modules.
 */
#pragma once

#include "costmodel/stage/stage_cost.h"

typedef struct class_cache class_cache;

/*
 * A chunk and its microbatches in flight, of a rank whose chunks have different numbers of layers.
 * (C.260)
 */
typedef struct chunk_in_flight {
    int class;
    double in_flight;
} chunk_in_flight;

/* A class of equal ranks or of equal chunks, with the layers and ends that each of them has. */
typedef struct stage_class {
    int stage; /* index of the first stage in the class */
    int count;
    int first, last; /* classes of a rank's first and last chunk; -1: the rank has one chunk */
    int uneven; /* number of entries in `held`; 0 if all chunks have the same number of layers */
    const chunk_in_flight *held;
    int depth;         /* number of layers in the longest chunk */
    int ends;          /* number of ends in `parts`, which come before the layers */
    stage_parts parts; /* layers and ends, without recompute choices */
    double in_flight;
    const unsigned short *leading; /* [depth + 1][kinds]: layers of each kind among the first N of
                                      each chunk */
} stage_class;

/*
 * Classes of ranks or of chunks, with their sums. All arrays are allocated once, for the largest
 * possible number of classes, and point into each other:
 *
 *     of[c].parts.part  -> part[parts used]      base[c]        weights, and times of the ends
 *     of[c].leading     -> leading[leads used]   cost[c].load   base[c] and the layers of the point
 *     of[c].held        -> held[holds used]      bound[c].load   bound_base[c] and the leanest layers
 *
 * cost[c].state, .buffers_bytes and .sync are valid in lists of ranks only, and depend on weights
 * alone. bound[c] has only a load, since bounds leave out the other terms.
 */
typedef struct class_list {
    int count;
    stage_class *of;
    stage_load *base;
    stage_cost *cost;
    stage_cost *bound;
    stage_load *bound_base; /* weights, and times of the ends without ZeRO-3 gathers */
    unsigned short *leading;
    stage_part *part;
    chunk_in_flight *held;
    size_t leads, parts, holds; /* used entries of leading, part and held */
} class_list;

/* Slots of recompute choices: none, selective, sac, full, and one for each set of modules. */
enum {
    NO_SLOT = -1,
    SLOT_NONE,
    SLOT_SELECTIVE,
    SLOT_SAC,
    SLOT_FULL,
    SLOT_MODULES,
    SLOTS = SLOT_MODULES + (1 << PLAIT_MODULES),
    TIMES = SLOTS * PLAIT_OFFLOAD_SETS /* slots times sets of offloaded activations */
};

/* A simulated pipeline. It is valid while `rows` equals plait_table.rows. */
typedef struct cached_pipeline {
    long rows;
    double s;
} cached_pipeline;

/*
 * Loads of the point `of`. They are also valid for points that differ from it only in their split,
 * their recompute and offload choice, and their number of chunks, except for the time outside the
 * pipeline: that of the optimizer and the exposed sends.
 */
typedef struct cached_rank_loads {
    bool known;
    plait_degrees of;
    double optimizer_s, send_s; /* optimizer step of the mean rank, one send */
    sync_routes routes;
    gather_row gather;
    plait_rank_loads out;
} cached_rank_loads;

/* Seconds of one layer of each kind for one microbatch, by row, as C.97 needs them. */
typedef struct layer_seconds {
    layer_key key; /* tp 0: none yet */
    double s[ROW_PRICES];
} layer_seconds;

enum { COMPUTED = 256 }; /* a power of two */

/*
 * A cache of all terms in the price of one point.
 *
 * Consecutive points of a search share most of their keys. The table keeps the terms of the last
 * point. It recomputes a group of fields when a key changes on which the group depends. Each group
 * also depends on the groups above it in this list, so recomputing a group clears the flags of all
 * groups below:
 *
 *     group of fields                           keys                              valid if
 *     ----------------------------------------  --------------------------------  ---------------------
 *     row                                       layer_key (tp, cp, ep, mbs ...)   row_valid
 *     microbatches, ranks.of, chunks.of, run,   pp, vpp, dp, schedule, split ...  stages_valid
 *       fixed_bytes
 *     send_s, boundary                          the same                          sends_valid
 *     routes, gather, base[], cost[]            zero, shard_group, offload ...    shards_valid
 *     time[slot], end_time                      recompute, offload_acts: `slot`   time_valid[slot],
 *                                                                                 end_time_valid
 *
 * `last` has all keys of the first four groups. `ends_slot` is the slot for which base[] has the
 * times of the ends.
 *
 * Bounds use other terms, without gathers: those of the recompute choice that keeps the fewest
 * bytes (min_memory_*), or of one choice (chosen_time). They depend on row alone:
 *
 *     min_memory_times[overlap]                 bit `overlap` of min_memory_valid
 *     min_memory_time, chosen_time[slot]        of overlap `pairs`; chosen_time_valid[slot]
 *     bound_base[] of both lists                bound_base_valid
 *     bound[] with min_memory_time              min_loads_valid
 *     min_memory_whole                          if min_memory_valid has PLAIT_EP_OVERLAP_NONE
 *
 * C.97 bounds a pipeline before its layers are priced. For this, `light` has the parameters of the
 * layers under key `weighed` (tp 0: none yet), and `computed` has the seconds of layers with the
 * latest microbatch sizes.
 */
struct plait_table {
    plait_problem problem;
    int kinds;            /* number of kinds of layers */
    int replicas;         /* largest number of ranks that have the same stage (DualPipe: 2) */
    bool split_backwards; /* true: a schedule of the software delays weight gradients */
    plait_degrees last;
    char layout[PLAIT_VALUE_SIZE]; /* text of last.split if it is a layout */
    bool row_valid, stages_valid, sends_valid, shards_valid;
    long rows; /* counter, incremented when an input of simulated pipelines changes */

    plait_pipelines *spans; /* cache of simulated schedules */
    class_cache *classes;   /* cache of ranks.of, chunks.of and run */
    cached_pipeline
        known[TIMES + PLAIT_MAX_LAYERS]; /* simulated pipelines, by recompute and offload choice */
    cached_rank_loads loads;

    layer_row row;
    sync_routes routes;
    gather_row gather;
    int microbatches;
    double send_s;
    fused_boundary boundary;
    double fixed_bytes; /* driver context and communicators (C.84) */

    int timed_rows;   /* rows that depend on the choice: all kinds of layers, then ROW_MTP */
    layer_time *time; /* [TIMES][timed_rows] */
    bool time_valid[TIMES];
    layer_time end_time[ROW_PRICES - ROW_EMBEDDING]; /* times of all ends but ROW_MTP */
    bool end_time_valid;
    int ends_slot;

    class_list ranks;  /* classes of ranks */
    class_list chunks; /* classes of chunks, for ranks with several chunks */
    int runs;
    stage_run *run;           /* [runs], runs of neighbouring ranks of one class, in order */
    plait_rank_run *rank_run; /* [runs], scratch of step_sum_of */
    stage_run *single_run;    /* scratch: one run per stage */
    stage_cost *fused;        /* scratch: costs with fused boundaries */
    stage_cost *scratch;      /* scratch: costs of a bound */

    unsigned min_memory_valid;
    bool bound_base_valid;
    bool min_loads_valid;
    unsigned char pairs; /* plait_ep_overlap */
    layer_time min_memory_times[PLAIT_EP_OVERLAPS][ROW_PRICES];
    const layer_time *min_memory_time; /* [ROW_PRICES], a row of min_memory_times */
    layer_time *chosen_time;           /* [TIMES][timed_rows] */
    bool chosen_time_valid[TIMES];
    stage_class whole; /* all layers and all ends on one rank */
    stage_part whole_part[ROW_PRICES];
    stage_load min_memory_whole; /* sum of `whole` */

    layer_row light;
    layer_key weighed;
    stage_load light_load;            /* parameters of the whole model on one rank */
    layer_seconds computed[COMPUTED]; /* by hash of mbs; a later key replaces an earlier one */
};

// class_cache.c
/**
 * Creates a cache, which stores nothing before class_cache_grow is called. Returns NULL when out of
 * memory.
 */
class_cache *class_cache_new(plait_arena *arena);

/** Lets the cache store classes in `arena`, which must not be rewound. */
void class_cache_grow(class_cache *cache, plait_arena *arena);

/** Fills the table's classes and runs from the cache. Returns false if they are not cached. */
bool class_cache_get(const class_cache *cache, const plait_degrees *degrees, plait_table *table);

/**
 * Stores the table's classes and runs if the cache has space. Layouts are not stored, since a
 * search visits each layout only once.
 */
void class_cache_put(class_cache *cache, const plait_degrees *degrees, const plait_table *table);

// table_classes.c
/** Fills the chunks of a point. If its split is a layout without text, all chunks are empty. */
void table_assign_layers(const plait_table *table, const plait_degrees *d,
                         plait_chunk chunk[PLAIT_MAX_LAYERS]);

/** Assigns the layers of a point to chunks and finds the classes of ranks. Allocates nothing. */
void table_classify(plait_table *table, const plait_degrees *d);

// bound.c
/** Fills table->whole and table->replicas, once per table. */
void table_make_whole(plait_table *table);

// table.c
/** Recomputes `row` if one of its keys differs from the last point's. */
void table_select_layers(plait_table *table, const plait_degrees *d);

/** Recomputes `row` and the classes of ranks and chunks if their keys changed. */
void table_select_stages(plait_table *table, const plait_degrees *d);

/**
 * Recomputes send_s and boundary. Requires table_select_stages. Bounds on memory do not need them.
 */
void table_select_sends(plait_table *table, const plait_degrees *d);

/** Recomputes all groups of fields whose keys changed, without the loads of layers. */
void table_select(plait_table *table, const plait_degrees *d);

/** Returns the times of each kind of layer, followed by those of ROW_MTP, for one choice. */
const layer_time *table_times(plait_table *table, plait_choice choice);

/** Recomputes all groups of fields whose keys changed, and the loads in ranks.cost[]. */
void table_fill(plait_table *table, const plait_degrees *d);

/** Returns a view of the cached rows for these degrees. */
static inline stage_rows table_rows(const plait_table *table, const plait_degrees *d)
{
    return (stage_rows){&table->problem, d, &table->row, &table->gather, &table->routes};
}

/** Returns the memory peak of a rank with this state, these buffers and this load (C.81 to C.84). */
double table_peak_of(const plait_table *table, const stage_state *state, double buffers_bytes,
                     const stage_load *load);

/** Returns the memory peak of class c of ranks with this load, from cached entries. */
double table_peak_bytes(const plait_table *table, int c, const stage_load *load);

/**
 * Selects min_memory_time for this overlap: lower bounds of time and bytes over all recompute and
 * offload choices.
 */
void table_select_min_memory(plait_table *table, unsigned char ep_overlap);

/**
 * Returns the times of a choice for each kind of layer, then for ROW_MTP, without gathers. Requires
 * table_select_min_memory.
 */
const layer_time *table_chosen_times(plait_table *table, plait_choice choice);

/** Returns the point `d` with the keys that shard its state most. */
plait_degrees min_memory_degrees(const plait_table *table, const plait_degrees *d);

/**
 * Returns a lower bound on the bytes per parameter, over the formats of the plan's precision.
 * Compared with 16-bit parameters, 8-bit parameters in two copies take more memory under ZeRO-3,
 * but less under lower ZeRO stages.
 */
plait_state_bytes min_memory_state_of(const plait_table *table, const plait_degrees *bound);

/**
 * Bytes of weights, gradients and optimizer state under the highest ZeRO stage over all replicas,
 * without gathered parameters.
 */
double min_memory_state_bytes(const plait_problem *problem, const layer_row *row,
                              const plait_degrees *bound, const plait_state_bytes *bytes,
                              const stage_load *load);

/**
 * Returns the slot of a choice in table->time. full:N uses two slots, those of full and of none.
 */
int table_slot_of(plait_choice choice);

/**
 * Fills `base` with the parameters of a stage class and the times of its ends.
 *
 * @param end  times of the other ends, indexed by ROW_x - ROW_EMBEDDING
 * @param mtp  time of a prediction module, the only end whose time depends on the choice
 */
void table_fill_base(const plait_table *table, const layer_time *end, const layer_time *mtp,
                     const stage_class *class, stage_load *base);

/** Does the class have a prediction module? */
bool table_has_module(const stage_class *class);

/**
 * Returns the times of the ends that do not depend on a choice, indexed by ROW_x - ROW_EMBEDDING.
 */
const layer_time *table_end_times(plait_table *table);

// ---- sums, inline: a price takes tens of nanoseconds ----------------------------------------

/* Returns a load that has the parameters of a class, and no times yet. */
static inline stage_load begin_load(const layer_row *row, const stage_class *class)
{
    stage_load load = {
        .index = class->stage,
        .count = class->count,
        .in_flight = class->in_flight,
    };

    for (int i = 0; i < class->parts.count; i++) {
        const stage_part *part = &class->parts.part[i];
        stage_load_add_weights(&load, class->parts.share * part->count, &row->price[part->row]);
        load.embedding = load.embedding || part->row == ROW_EMBEDDING;
        load.loss = load.loss || part->row == ROW_HEAD || part->row == ROW_MTP_HEAD;
    }
    return load;
}

/* Returns the parameters of `layers` layers of a kind. */
static inline stage_load load_of_layers(const layer_row *row, int kind, double layers)
{
    stage_load load = {.count = 1};

    stage_load_add_weights(&load, layers, &row->price[kind]);
    return load;
}

/* Resets the times and bytes of a load to those of its ends, before layers are added. */
static inline void reset_to_ends(const stage_load *base, stage_load *load)
{
    load->forward_s = base->forward_s;
    load->backward_s = base->backward_s;
    load->weight_s = base->weight_s;
    load->busy_s = base->busy_s;
    load->moving_s = base->moving_s;
    load->varied = base->varied;
    load->saved_bytes = base->saved_bytes;
    load->live_bytes = base->live_bytes;
}

/* Adds the layers of a class, all with the same choice. */
static inline void add_layers(const stage_class *class, const layer_time *time, stage_load *load)
{
    for (int i = class->ends; i < class->parts.count; i++)
        stage_load_add(load, class->parts.share * class->parts.part[i].count,
                       &time[class->parts.part[i].row]);
}

/*
 * Adds the layers of a class, with the times `first` for the first first_layers layers of each
 * chunk, and `rest` for the others.
 */
static inline void add_split_layers(const plait_table *table, const stage_class *class,
                                    const layer_time *first, int first_layers,
                                    const layer_time *rest, stage_load *load)
{
    const int split = first_layers < class->depth ? first_layers : class->depth;
    const unsigned short *leading = class->leading + split * table->kinds;

    for (int i = class->ends; i < class->parts.count; i++) {
        const stage_part *part = &class->parts.part[i];
        const int lead = leading[part->row];
        if (lead > 0)
            stage_load_add(load, class->parts.share * lead, &first[part->row]);
        if (part->count > lead)
            stage_load_add(load, class->parts.share * (part->count - lead), &rest[part->row]);
    }
}

/*
 * Times of a point's layers. `first` applies to the first full_recompute_layers layers of each
 * chunk, and `rest` to the others.
 */
typedef struct layer_choice {
    const layer_time *first, *rest;
    int full_recompute_layers; /* number of layers per chunk; -1: `first` applies to all */
} layer_choice;

static inline void add_chosen_layers(const plait_table *table, const stage_class *class,
                                     const layer_choice *choice, stage_load *load)
{
    if (choice->full_recompute_layers >= 0)
        add_split_layers(table, class, choice->first, choice->full_recompute_layers, choice->rest,
                         load);
    else
        add_layers(class, choice->first, load);
}

/* Fills the times of a rank's first and last chunk, and the activations of all chunks in flight. */
static inline void add_chunk_times(const stage_class *class, const stage_cost *chunks,
                                   stage_load *load)
{
    load->first = load->last = chunk_time_of(load);
    load->held_bytes = load->in_flight * load->saved_bytes;
    if (class->uneven > 0)
        load->held_bytes = 0.0;
    for (int i = 0; i < class->uneven; i++)
        load->held_bytes +=
            class->held[i].in_flight * chunks[class->held[i].class].load.saved_bytes;
    if (class->first >= 0) {
        load->first = chunk_time_of(&chunks[class->first].load);
        load->last = chunk_time_of(&chunks[class->last].load);
    }
}

/* Returns the inputs of step_sum_of for these costs, one for each class of ranks. */
static inline step_parts parts_of_classes(const plait_table *table, const plait_degrees *d,
                                          const stage_cost *cost)
{
    return (step_parts){
        .problem = &table->problem,
        .degrees = d,
        .microbatches = table->microbatches,
        .send_s = table->send_s,
        .costs = table->ranks.count,
        .cost = cost,
        .runs = table->runs,
        .run = table->run,
        .ranks = table->rank_run,
    };
}

/* Sums the step of these costs, with fused boundaries if that is shorter. */
static inline step_sum table_sum(const plait_table *table, const plait_degrees *d,
                                 const stage_cost *cost)
{
    const step_parts parts = parts_of_classes(table, d, cost);

    return table->boundary.faster ? cheaper_sum_of(&parts, &table->boundary, table->fused)
                                  : step_sum_of(&parts);
}

static inline plait_price price_of(const step_sum *sum, double peak_bytes)
{
    return (plait_price){
        .exact = sum->exact,
        .step_s = sum->total_s,
        .peak_bytes = peak_bytes,
        .busy_s = sum->busy_s_a_gpu,
        .moving_s = sum->moving_s_a_gpu,
    };
}
