/* table_private.h - what a table remembers, and the sums that prices and bounds share */
#pragma once

#include "costmodel/stage/stage_cost.h"

typedef struct class_memo class_memo;

/* A chunk of a rank with uneven chunks, and its microbatches in flight. (C.260) */
typedef struct held_chunk {
    int class;
    double in_flight;
} held_chunk;

/* A class of equal ranks, or of equal chunks, and the layers and ends that it has. */
typedef struct stage_class {
    int stage; /* the earliest of the class */
    int count;
    int first, last; /* classes of a rank's first and last chunk; -1: it has one chunk */
    int uneven;      /* number of held chunks of a rank with uneven chunks; else 0 */
    const held_chunk *held;
    int depth;         /* layers of the longest chunk */
    int ends;          /* number of parts that are ends of the model, which come first */
    stage_parts parts; /* without their recompute choices */
    double in_flight;
    const unsigned short *leading; /* [depth + 1][kinds]: layers of each kind among the first N of
                                      each chunk */
} stage_class;

/*
 * Classes of ranks or of chunks, with their sums. All arrays are made once, for the most classes there
 * can be, and point into each other:
 *
 *     of[c].parts.part  -> part[parts used]      base[c]        weights, and times of the ends
 *     of[c].leading     -> leading[leads used]   cost[c].load   base[c] and the layers of the point
 *     of[c].held        -> held[holds used]      lean[c].load   lean_base[c] and the leanest layers
 *
 * Only classes of ranks have cost[c].state, .buffers_bytes and .sync, which depend on weights alone;
 * lean[c] never has any (bounds leave them out).
 */
typedef struct class_list {
    int count;
    stage_class *of;
    stage_load *base;
    stage_cost *cost;
    stage_cost *lean;
    stage_load *lean_base; /* weights, and times of the ends without gathers */
    unsigned short *leading;
    stage_part *part;
    held_chunk *held;
    size_t leads, parts, holds; /* entries used of each */
} class_list;

/* none, selective, sac, full, then each set of modules. */
enum {
    NO_SLOT = -1,
    SLOT_NONE,
    SLOT_SELECTIVE,
    SLOT_SAC,
    SLOT_FULL,
    SLOT_MODULES,
    SLOTS = SLOT_MODULES + (1 << PLAIT_MODULES),
    TIMES = SLOTS * PLAIT_OFFLOAD_SETS /* with each set of offloaded activations */
};

/* A pipeline that was simulated: of which choice, and of which rows of layers, stages and gathers. */
typedef struct known_pipeline {
    long rows;
    double s;
} known_pipeline;

/* The portions of the point asked last, and what they hang on beside its choice. */
typedef struct known_portions {
    bool known;
    plait_degrees of;
    sync_routes routes;
    gather_row gather;
    plait_portions out;
} known_portions;

struct plait_table {
    plait_problem problem;
    int kinds;
    bool started;                  /* the row of layers is that of `last` ... */
    bool staged;                   /* ... and those of stages ... */
    bool sharded;                  /* ... and those of shards */
    plait_degrees last;            /* the point priced last ... */
    char layout[PLAIT_VALUE_SIZE]; /* ... and its layout */

    plait_pipelines *spans;
    class_memo *classes;
    layer_row row; /* of row.key */
    sync_routes routes;
    gather_row gather;
    int microbatches;
    bool paced; /* what passes between stages is that of `last`: */
    double send_s;
    fused_boundary boundary;
    double fixed_bytes;
    int timed;        /* parts whose time depends on the choice: kinds, and behind them ROW_MTP */
    layer_time *time; /* [TIMES][timed] */
    bool time_known[TIMES];
    layer_time end_time[ROW_PRICES - ROW_EMBEDDING]; /* of the other ends */
    bool ends_known;
    int ends_slot; /* the slot that the ends in `base` were made for */

    known_portions portions;

    long rows; /* counts every change of what a pipeline hangs on */
    known_pipeline known[TIMES + PLAIT_MAX_LAYERS]; /* by choice of recomputation and offload */

    class_list ranks;  /* classes of stages, at most as many as layers */
    class_list chunks; /* first and last chunks of ranks that have several */
    int runs;
    stage_run *run; /* the ranks in order */
    plait_rank_run *rank_run;

    /* by class of ranks */
    stage_cost *fused;   /* costs with fused boundaries */
    stage_cost *scratch; /* costs of frames, and of a bound */

    /* the same without gathers and with the leanest recomputation, for bounds */
    unsigned lean_known; /* bits 1 << plait_ep_overlap: made for this row of layers */
    bool lean_based; /* lean_base is made for this row of layers and of stages, and these pairs */
    unsigned char pairs; /* plait_ep_overlap that lean_time and chosen_time are of */
    layer_time lean[PLAIT_EP_OVERLAPS][ROW_PRICES];
    const layer_time *lean_time; /* [ROW_PRICES] of those */
    layer_time *chosen_time;     /* [TIMES][timed], without gathers alone */
    bool chosen_known[TIMES];
    int copies;        /* on so many ranks a schedule of the software holds each stage (DualPipe) */
    stage_class whole; /* all layers and both ends on one rank ... */
    stage_part whole_part[ROW_PRICES];
    stage_load lean_whole; /* ... and what they add up to */

    /* before layers are priced (C.97) */
    layer_row light;               /* of parameters, and with a key to ask halves by */
    layer_key weighed;             /* that its parameters are of; tp 0: of none */
    stage_load light_load;         /* the whole model's */
    layer_key computed;            /* that `computed_s` is of */
    double computed_s[ROW_PRICES]; /* of one layer, by row */

    stage_run *frame_run; /* scratch: runs of frames */
};

/** The chunks of a point; a layout that is still open deals nothing. */
void table_deal(const plait_table *table, const plait_degrees *d,
                plait_chunk chunk[PLAIT_MAX_LAYERS]);

/** Deals the layers of a point and sorts its ranks and chunks. Nothing is allocated. */
void table_classify(plait_table *table, const plait_degrees *d);

/** What the whole model on one rank is made of, and how often ranks hold a stage: once a table. */
void table_make_whole(plait_table *table);

/** Brings the row of layers to the point's keys. */
void table_select_layers(plait_table *table, const plait_degrees *d);

/** Brings the rows of layers and of stages to the point's keys. */
void table_select_stages(plait_table *table, const plait_degrees *d);

/** What passes between stages: no bound of memory asks. The rows of layers and of stages are the point's. */
void table_pace(plait_table *table, const plait_degrees *d);

/** Brings all rows to the point's keys. */
void table_select(plait_table *table, const plait_degrees *d);

/** The times of each kind of layer, and behind them of ROW_MTP, under a choice. */
const layer_time *table_times(plait_table *table, plait_choice choice);

/** Brings all rows and the loads of all classes, in `table->ranks`, to the point's keys. */
void table_fill(plait_table *table, const plait_degrees *d);

/** The cached rows, for these degrees. */
static inline stage_rows table_rows(const plait_table *table, const plait_degrees *d)
{
    return (stage_rows){&table->problem, d, &table->row, &table->gather, &table->routes};
}

/** C.81 to C.84 of one class of ranks with this load, from cached entries. */
double table_peak_bytes(const plait_table *table, int c, const stage_load *load);

/** Times and bytes of the row's layers that no choice of recomputation and offload undercuts: lean_time. */
void table_select_lean(plait_table *table, unsigned char ep_overlap);

/** The keys of a point that shard its state most. */
plait_degrees lean_degrees(const plait_table *table, const plait_degrees *d);

/**
 * Bytes a parameter that no formats of the plan's precision undercut: 8-bit parameters in two copies
 * take more than 16-bit ones under ZeRO-3, and less below it.
 */
plait_state_bytes lean_state_of(const plait_table *table, const plait_degrees *lean);

/** State under the highest ZeRO stage, spread over all replicas; no gathers of ZeRO-3. */
double lean_state_bytes(const plait_problem *problem, const layer_row *row,
                        const plait_degrees *lean, const plait_state_bytes *bytes,
                        const stage_load *load);

/** Where the times of a choice are remembered. full:N uses two: of full and of none. */
int table_slot_of(plait_choice choice);

/**
 * Weights of a class, and the times of its ends.
 *
 * @param end  by ROW_... - ROW_EMBEDDING
 * @param mtp  of a prediction module, which alone of the ends depends on the choice
 */
void table_fill_base(const plait_table *table, const layer_time *end, const layer_time *mtp,
                     const stage_class *class, stage_load *base);

/** Does a class have a prediction module? */
bool table_has_module(const stage_class *class);

/** The times of the ends that do not depend on a choice, by ROW_... - ROW_EMBEDDING. */
const layer_time *table_end_times(plait_table *table);

// ---- sums, inline: a price takes tens of nanoseconds ----------------------------------------

/* A class' place and its parameters. */
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

/* What a point may change of a load, back to the ends alone. */
static inline void take_ends(const stage_load *base, stage_load *load)
{
    load->forward_s = base->forward_s;
    load->backward_s = base->backward_s;
    load->weight_s = base->weight_s;
    load->busy_s = base->busy_s;
    load->moving_s = base->moving_s;
    load->saved_bytes = base->saved_bytes;
    load->live_bytes = base->live_bytes;
}

/* Adds a class' layers, all with the same choice. */
static inline void add_layers(const stage_class *class, const layer_time *time, stage_load *load)
{
    for (int i = class->ends; i < class->parts.count; i++)
        stage_load_add(load, class->parts.share * class->parts.part[i].count,
                       &time[class->parts.part[i].row]);
}

/* The same with another choice for the layers behind the first N of each chunk. */
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

/* The layers of a point on top of the ends: `first` in the first so many of each chunk. */
typedef struct layer_choice {
    const layer_time *first, *rest;
    int leading; /* -1: all */
} layer_choice;

/* full:N: what is behind the first so many layers of each chunk keeps the usual choice. */
static inline bool recomputes_some(const plait_degrees *d)
{
    return d->recompute.kind == PLAIT_RECOMPUTE_FULL && d->recompute.layers > 0;
}

static inline void add_chosen_layers(const plait_table *table, const stage_class *class,
                                     const layer_choice *choice, stage_load *load)
{
    if (choice->leading >= 0)
        add_split_layers(table, class, choice->first, choice->leading, choice->rest, load);
    else
        add_layers(class, choice->first, load);
}

/* A rank's ends: of the chunks that it has, or itself. And what all of them keep in flight. */
static inline void take_chunks(const stage_class *class, const stage_cost *chunks, stage_load *load)
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

/* What the step of these loads adds up, one of each class of ranks. */
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

/* Their step, with boundaries fused where that makes it shorter. */
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
