/* table_private.h - what a table remembers, and the sums that prices and bounds share */
#ifndef PLAIT_COSTMODEL_TABLE_PRIVATE_H
#define PLAIT_COSTMODEL_TABLE_PRIVATE_H

#include "numbers.h"
#include "table.h"

/* One class of stages: what its layers are, and how many of each kind lead its first N. */
typedef struct stage_class {
    int stage; /* the earliest of it */
    int count;
    int layers;
    bool embedding;
    bool loss;
    double in_flight;
    const unsigned short *leading; /* [layers + 1][kinds]: of each kind among the first N */
} stage_class;

/* none, selective, sac, full, then each set of modules. */
enum {
    NO_SLOT = -1,
    SLOT_NONE,
    SLOT_SELECTIVE,
    SLOT_SAC,
    SLOT_FULL,
    SLOT_MODULES,
    SLOTS = SLOT_MODULES + (1 << PLAIT_MODULES)
};

struct plait_table {
    plait_problem problem;
    int kinds;
    bool started;       /* the row of layers is that of `last` ... */
    bool staged;        /* ... and those of stages ... */
    bool sharded;       /* ... and those of shards */
    plait_degrees last; /* the point priced last */

    layer_row row;
    sync_routes routes;
    gather_row gather;
    int microbatches;
    double send_s;
    double fixed_bytes;
    layer_time time[SLOTS][PLAIT_MAX_LAYER_KINDS];
    bool time_known[SLOTS];
    int ends_slot;      /* the slot that `ends` was made for */
    stage_load ends[3]; /* embedding only, loss only, both */

    /* by class of stages, at most as many as layers */
    int classes;
    stage_class *class_of;
    unsigned short *leading;
    stage_load *load;
    stage_sync *sync;
    stage_state *state;
    double *buffers_bytes; /* that do not depend on recomputation */

    /* the same without gathers and with the leanest recomputation, for bounds */
    bool lean_known; /* made for this row of layers */
    layer_time lean_time[PLAIT_MAX_LAYER_KINDS];
    stage_load lean_ends[3];
    stage_load lean_whole; /* all layers and both ends on one rank */
    stage_load *lean_load;
    stage_sync *no_sync; /* zeros */
};

/** Brings the row of layers to the point's keys. */
void table_select_layers(plait_table *table, const plait_degrees *d);

/** Brings the rows of layers and of stages to the point's keys. */
void table_select_stages(plait_table *table, const plait_degrees *d);

/** Embedding only, loss only, both. */
void table_make_ends(const plait_table *table, const plait_degrees *d, const gather_row *gather,
                     stage_load ends[3]);

// ---- sums, inline: a price takes tens of nanoseconds ----------------------------------------

static inline const stage_load *ends_of(const stage_class *class, const stage_load ends[3])
{
    return class->embedding || class->loss ? &ends[class->embedding + 2 * class->loss - 1] : NULL;
}

/* A class' place, its parameters, and its ends. */
static inline stage_load begin_load(const plait_table *table, const stage_class *class,
                                    const stage_load *ends)
{
    const unsigned short *all = class->leading + class->layers * table->kinds;
    stage_load load = {
        .index = class->stage,
        .count = class->count,
        .in_flight = class->in_flight,
    };

    for (int k = 0; k < table->kinds; k++) {
        load.dense += all[k] * table->row.price[k].weights.dense;
        load.expert += all[k] * table->row.price[k].weights.expert;
        load.weight_s += all[k] * table->row.price[k].weight_s;
    }
    if (ends)
        stage_load_join(ends, &load);
    return load;
}

/* Adds a class' layers: `full` of the first N of them, `rest` of the others. */
static inline void add_layers(const plait_table *table, const stage_class *class,
                              const layer_time *first, int first_layers, const layer_time *rest,
                              stage_load *load)
{
    const int split = first_layers < class->layers ? first_layers : class->layers;
    const unsigned short *leading = class->leading + split * table->kinds;
    const unsigned short *all = class->leading + class->layers * table->kinds;

    for (int k = 0; k < table->kinds; k++) {
        const double lead = leading[k];
        const double tail = all[k] - leading[k];
        load->forward_s += lead * first[k].forward_s + tail * rest[k].forward_s;
        load->backward_s += lead * first[k].backward_s + tail * rest[k].backward_s;
        load->busy_s += lead * first[k].busy_s + tail * rest[k].busy_s;
        load->moving_s += lead * first[k].moving_s + tail * rest[k].moving_s;
        load->saved_bytes += lead * first[k].saved_bytes + tail * rest[k].saved_bytes;
        if (lead > 0.0)
            load->live_bytes = larger(load->live_bytes, first[k].live_bytes);
        if (tail > 0.0)
            load->live_bytes = larger(load->live_bytes, rest[k].live_bytes);
    }
}

static inline plait_price price_of(const step_sum *sum, double peak_bytes)
{
    return (plait_price){
        .step_s = sum->total_s,
        .peak_bytes = peak_bytes,
        .busy_s = sum->busy_s_a_gpu,
        .moving_s = sum->moving_s_a_gpu,
    };
}

#endif
