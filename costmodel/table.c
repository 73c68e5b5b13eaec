/*
 * table.c - what the search adds up
 *
 * A table remembers the rows that the last point used and makes only those anew whose keys
 * changed. Stages alike (same layers, same ends) form one class; of a class, the earliest stage
 * holds most microbatches and so decides memory, and all have the same time.
 */
#include <string.h>

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
    layer_time lean_time[PLAIT_MAX_LAYER_KINDS];
    stage_load lean_ends[3];
    stage_load lean_whole; /* all layers and both ends on one rank */
    stage_load *lean_load;
    stage_sync *no_sync; /* zeros */
};

plait_table *plait_table_new(const plait_problem *problem, plait_arena *arena)
{
    const size_t stages = (size_t)problem->model->layers;
    const size_t kinds = (size_t)problem->model->kinds;
    plait_table *table = plait_arena_alloc(arena, 1, sizeof *table);

    if (!table)
        return NULL;
    table->problem = *problem;
    table->kinds = problem->model->kinds;
    table->class_of = plait_arena_alloc(arena, stages, sizeof *table->class_of);
    table->leading = plait_arena_alloc(arena, 2 * stages * kinds, sizeof *table->leading);
    table->load = plait_arena_alloc(arena, stages, sizeof *table->load);
    table->sync = plait_arena_alloc(arena, stages, sizeof *table->sync);
    table->state = plait_arena_alloc(arena, stages, sizeof *table->state);
    table->buffers_bytes = plait_arena_alloc(arena, stages, sizeof *table->buffers_bytes);
    table->lean_load = plait_arena_alloc(arena, stages, sizeof *table->lean_load);
    table->no_sync = plait_arena_alloc(arena, stages, sizeof *table->no_sync);
    return table->class_of && table->leading && table->load && table->sync && table->state &&
                   table->buffers_bytes && table->lean_load && table->no_sync
               ? table
               : NULL;
}

// ---- which rows a change of keys makes anew ------------------------------------------------

static bool same_layers(const plait_degrees *a, const plait_degrees *b)
{
    return a->tp == b->tp && a->cp == b->cp && a->ep == b->ep && a->etp == b->etp &&
           a->sp == b->sp && a->cp_comm == b->cp_comm && a->mbs == b->mbs;
}

static bool same_split(const plait_degrees *a, const plait_degrees *b)
{
    return a->pp == b->pp && a->vpp == b->vpp && a->dp == b->dp && a->schedule == b->schedule &&
           a->order == b->order && a->split.kind == b->split.kind &&
           a->split.first == b->split.first && a->split.last == b->split.last;
}

static bool same_shards(const plait_degrees *a, const plait_degrees *b)
{
    return a->zero == b->zero && a->shard_group == b->shard_group;
}

// ---- classes of stages ---------------------------------------------------------------------

/* Writes the leading counts of stage `stage`; returns its number of layers. */
static int count_leading(const plait_table *table, const plait_degrees *d, const int *first,
                         int stage, unsigned short *leading)
{
    const plait_model *model = table->problem.model;
    const size_t kinds = (size_t)table->kinds;
    int layers = 0;

    memset(leading, 0, kinds * sizeof *leading);
    for (int v = 0; v < d->vpp; v++) {
        const int chunk = v * d->pp + stage;
        for (int i = first[chunk]; i < first[chunk + 1]; i++, layers++) {
            unsigned short *next = leading + kinds;
            memcpy(next, leading, kinds * sizeof *leading);
            next[model->layer_kind[i]]++;
            leading = next;
        }
    }
    return layers;
}

static bool same_class(const plait_table *table, const stage_class *a, const stage_class *b)
{
    const size_t size = (size_t)(a->layers + 1) * (size_t)table->kinds * sizeof *a->leading;

    return a->layers == b->layers && a->embedding == b->embedding && a->loss == b->loss &&
           memcmp(a->leading, b->leading, size) == 0;
}

static void classify(plait_table *table, const plait_degrees *d)
{
    const int m = plait_degrees_microbatches(d, table->problem.job.gbs);
    int first[PLAIT_MAX_LAYERS + 1];
    unsigned short *leading = table->leading;

    plait_split_layers(table->problem.model, d, first + 1);
    first[0] = 0;
    for (int c = 0; c < d->pp * d->vpp; c++)
        first[c + 1] += first[c];
    table->classes = 0;
    for (int s = 0; s < d->pp; s++) {
        stage_class stage = {
            .stage = s,
            .count = 1,
            .embedding = s == 0,
            .loss = s == d->pp - 1,
            .leading = leading,
            .layers = count_leading(table, d, first, s, leading),
        };
        int known = table->classes - 1; // alike stages are neighbours nearly always
        while (known >= 0 && !same_class(table, &table->class_of[known], &stage))
            known--;
        if (known >= 0) {
            table->class_of[known].count++;
            continue;
        }
        stage.in_flight =
            plait_schedule_in_flight((plait_schedule)d->schedule, d->pp, s, d->vpp, m);
        table->class_of[table->classes++] = stage;
        leading += (size_t)(stage.layers + 1) * (size_t)table->kinds;
    }
}

// ---- rows ----------------------------------------------------------------------------------

static int slot_of(plait_recompute recompute)
{
    switch ((plait_recompute_kind)recompute.kind) {
    case PLAIT_RECOMPUTE_SELECTIVE:
        return SLOT_SELECTIVE;
    case PLAIT_RECOMPUTE_SAC:
        return SLOT_SAC;
    case PLAIT_RECOMPUTE_FULL:
        return SLOT_FULL;
    case PLAIT_RECOMPUTE_MODULES:
        return SLOT_MODULES + recompute.modules % (1 << PLAIT_MODULES);
    default:
        return SLOT_NONE;
    }
}

static const layer_time *times_of(plait_table *table, plait_recompute recompute)
{
    const int slot = slot_of(recompute);

    if (!table->time_known[slot]) {
        for (int k = 0; k < table->kinds; k++)
            table->time[slot][k] = layer_time_of(&table->problem, &table->row.price[k],
                                                 &table->gather.layer[k], recompute);
        table->time_known[slot] = true;
    }
    return table->time[slot];
}

/* Embedding only, loss only, both. */
static void make_ends(const plait_table *table, const plait_degrees *d, const gather_row *gather,
                      stage_load ends[3])
{
    for (int i = 0; i < 3; i++) {
        ends[i] = (stage_load){0};
        stage_load_add_ends(&table->problem, d, &table->row, gather, i != 1, i != 0,
                            table->problem.model->mtp_layers, &ends[i]);
    }
}

static const stage_load *ends_of(const stage_class *class, const stage_load ends[3])
{
    return class->embedding || class->loss ? &ends[class->embedding + 2 * class->loss - 1] : NULL;
}

/* The ends depend on recomputation only through multi-token-prediction layers. */
static void fill_ends(plait_table *table, const plait_degrees *d)
{
    const int slot = table->problem.model->mtp_layers > 0 ? slot_of(d->recompute) : SLOT_NONE;

    if (table->ends_slot != slot)
        make_ends(table, d, &table->gather, table->ends);
    table->ends_slot = slot;
}

/* A class' place, its parameters, and its ends. */
static stage_load begin_load(const plait_table *table, const stage_class *class,
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

static void fill_classes(plait_table *table, const plait_degrees *d)
{
    const plait_problem *problem = &table->problem;
    const shard_ways ways = shard_ways_of(d);

    for (int c = 0; c < table->classes; c++) {
        const stage_class *class = &table->class_of[c];
        table->load[c] = begin_load(table, class, ends_of(class, table->ends));
        table->state[c] = stage_state_of(problem, d, &table->row, ways, &table->load[c]);
        table->buffers_bytes[c] = stage_buffer_bytes(problem, d, &table->row, &table->load[c]);
        table->sync[c] = stage_sync_of(problem, d, &table->routes, &table->load[c]);
    }
}

static void fill_gather(plait_table *table, const plait_degrees *d)
{
    table->routes = sync_routes_of(&table->problem, d);
    if (d->zero < 2 && !table->gather.scatters)
        return; // nothing before, nothing now
    gather_row_fill(&table->problem, d, &table->routes, &table->row, &table->gather);
    memset(table->time_known, 0, sizeof table->time_known);
    table->ends_slot = NO_SLOT;
}

/* The fewest bytes of one layer that any recompute choice of the runtime keeps. */
static double least_saved_bytes(const plait_problem *problem, const layer_price *price)
{
    const plait_capabilities *can = &problem->runtime->can;
    const layer_gather nothing = {0};
    double least = price->kept_bytes;

    for (int kind = 0; kind < PLAIT_RECOMPUTE_KINDS; kind++) {
        plait_recompute choice = {.kind = (unsigned char)kind};
        for (int s = 0; s < can->module_sets && kind == PLAIT_RECOMPUTE_MODULES; s++)
            choice.modules = (unsigned char)(choice.modules | can->module_set[s]);
        if (can->recompute >> kind & 1u)
            least = smaller(least, layer_time_of(problem, price, &nothing, choice).saved_bytes);
    }
    return least;
}

static void fill_lean(plait_table *table, const plait_degrees *d)
{
    const plait_recompute none = {.kind = PLAIT_RECOMPUTE_NONE};
    const layer_gather nothing = {0};
    const gather_row no_gather = {0};
    plait_degrees lean = *d;
    stage_load kept[3];

    for (int k = 0; k < table->kinds; k++) {
        const layer_price *price = &table->row.price[k];
        table->lean_time[k] = layer_time_of(&table->problem, price, &nothing, none);
        table->lean_time[k].saved_bytes = least_saved_bytes(&table->problem, price);
        table->lean_time[k].live_bytes = 0.0;
    }
    lean.recompute.kind = PLAIT_RECOMPUTE_FULL; // keeps least of a prediction layer
    make_ends(table, &lean, &no_gather, kept);
    lean.recompute.kind = PLAIT_RECOMPUTE_NONE;
    make_ends(table, &lean, &no_gather, table->lean_ends);
    for (int i = 0; i < 3; i++) {
        table->lean_ends[i].saved_bytes = kept[i].saved_bytes;
        table->lean_ends[i].live_bytes = 0.0;
    }
    table->lean_whole = table->lean_ends[2];
    for (int i = 0; i < table->problem.model->layers; i++) {
        const int kind = table->problem.model->layer_kind[i];
        stage_load_add_layer(&table->row.price[kind], &table->lean_time[kind], &table->lean_whole);
    }
}

static void select_layers(plait_table *table, const plait_degrees *d)
{
    if (table->started && same_layers(&table->last, d))
        return;
    layer_row_fill(&table->problem, d, &table->row);
    memset(table->time_known, 0, sizeof table->time_known);
    fill_lean(table, d);
    table->last = *d;
    table->started = true;
    table->staged = false;
    table->sharded = false;
}

/* Brings the rows of layers and of stages to the point's keys. */
static void select_stages(plait_table *table, const plait_degrees *d)
{
    select_layers(table, d);
    if (table->staged && same_split(&table->last, d))
        return;
    classify(table, d);
    table->microbatches = plait_degrees_microbatches(d, table->problem.job.gbs);
    table->send_s = pipeline_send_s(&table->problem, d, &table->row);
    table->fixed_bytes = runtime_fixed_bytes(&table->problem, d);
    table->ends_slot = NO_SLOT;
    table->last = *d;
    table->staged = true;
    table->sharded = false;
}

/* Brings all rows to the point's keys. */
static void select_rows(plait_table *table, const plait_degrees *d)
{
    select_stages(table, d);
    const bool shards = table->sharded && same_shards(&table->last, d);
    const bool ends = shards && (table->problem.model->mtp_layers == 0 ||
                                 table->ends_slot == slot_of(d->recompute));

    if (!shards)
        fill_gather(table, d);
    if (!ends) {
        fill_ends(table, d);
        fill_classes(table, d);
    }
    table->last = *d;
    table->sharded = true;
}

// ---- the sum -------------------------------------------------------------------------------

/* Adds a class' layers: `full` of the first N of them, `rest` of the others. */
static void add_layers(const plait_table *table, const stage_class *class, const layer_time *first,
                       int first_layers, const layer_time *rest, stage_load *load)
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

static double peak_bytes(const plait_table *table, int c)
{
    const stage_state *state = &table->state[c];
    const double allocated = state->weights_bytes + state->gradients_bytes +
                             state->optimizer_bytes + stage_activation_bytes(&table->load[c]) +
                             state->buffers_bytes + table->buffers_bytes[c];

    return allocated * table->problem.runtime->keep.reserved_ratio + table->fixed_bytes;
}

static void sum_class(plait_table *table, int c, const layer_time *first, int first_layers,
                      const layer_time *rest)
{
    const stage_class *class = &table->class_of[c];
    const stage_load *ends = ends_of(class, table->ends);
    stage_load *load = &table->load[c];

    load->forward_s = ends ? ends->forward_s : 0.0;
    load->backward_s = ends ? ends->backward_s : 0.0;
    load->busy_s = ends ? ends->busy_s : 0.0;
    load->moving_s = ends ? ends->moving_s : 0.0;
    load->saved_bytes = ends ? ends->saved_bytes : 0.0;
    load->live_bytes = ends ? ends->live_bytes : 0.0;
    add_layers(table, class, first, first_layers, rest, load);
}

static plait_price price_of(const step_sum *sum, double peak_bytes)
{
    return (plait_price){
        .step_s = sum->total_s,
        .peak_bytes = peak_bytes,
        .busy_s = sum->busy_s_a_gpu,
        .moving_s = sum->moving_s_a_gpu,
    };
}

plait_price plait_degrees_cost(plait_table *table, const plait_degrees *d)
{
    const plait_recompute none = {.kind = PLAIT_RECOMPUTE_NONE};
    const bool some = d->recompute.kind == PLAIT_RECOMPUTE_FULL && d->recompute.layers > 0;
    double fullest = 0.0;

    select_rows(table, d);
    const layer_time *first = times_of(table, d->recompute);
    const layer_time *rest = some ? times_of(table, none) : first;
    const int first_layers = some ? d->recompute.layers : PLAIT_MAX_LAYERS;
    for (int c = 0; c < table->classes; c++) {
        sum_class(table, c, first, first_layers, rest);
        fullest = larger(fullest, peak_bytes(table, c));
    }
    const step_sum sum = step_sum_of(&table->problem, d, table->microbatches, table->send_s,
                                     table->load, table->sync, table->classes);
    return price_of(&sum, fullest);
}

// ---- bounds (C.90) -------------------------------------------------------------------------

static int highest_zero(const plait_problem *problem)
{
    int zero = 3;

    while (zero > 0 && !(problem->runtime->can.zero >> zero & 1u))
        zero--;
    return zero;
}

/* State under the highest ZeRO stage, spread over all replicas; no gathers of ZeRO-3. */
static double lean_state_bytes(const plait_table *table, const plait_degrees *lean,
                               const stage_load *load)
{
    const stage_state state =
        stage_state_of(&table->problem, lean, &table->row, shard_ways_of(lean), load);

    return state.weights_bytes + state.gradients_bytes + state.optimizer_bytes +
           (lean->zero == 3 ? 0.0 : state.buffers_bytes);
}

static double lean_peak_bytes(const plait_table *table, const plait_degrees *lean,
                              const stage_load *load)
{
    const double allocated = lean_state_bytes(table, lean, load) + stage_activation_bytes(load) +
                             stage_buffer_bytes(&table->problem, lean, &table->row, load);

    return allocated * table->problem.runtime->keep.reserved_ratio + table->fixed_bytes;
}

static plait_degrees lean_degrees(const plait_table *table, const plait_degrees *d)
{
    plait_degrees lean = *d;

    lean.zero = (unsigned char)highest_zero(&table->problem);
    lean.shard_group = d->dp * d->cp;
    return lean;
}

/*
 * Time: no recomputation, no gathers, no reduction, no optimizer: each only adds. Memory: the
 * highest ZeRO stage over all replicas, and of activations what the leanest choice keeps, with
 * nothing rebuilt.
 */
plait_price plait_degrees_bound(plait_table *table, const plait_degrees *d)
{
    const plait_degrees lean = lean_degrees(table, d);
    double fullest = 0.0;

    select_stages(table, d);
    for (int c = 0; c < table->classes; c++) {
        const stage_class *class = &table->class_of[c];
        table->lean_load[c] = begin_load(table, class, ends_of(class, table->lean_ends));
        add_layers(table, class, table->lean_time, PLAIT_MAX_LAYERS, table->lean_time,
                   &table->lean_load[c]);
        fullest = larger(fullest, lean_peak_bytes(table, &lean, &table->lean_load[c]));
    }
    const step_sum sum = step_sum_of(&table->problem, &lean, table->microbatches, table->send_s,
                                     table->lean_load, table->no_sync, table->classes);
    return price_of(&sum, fullest);
}

/* The slowest and the fullest stage are at least the mean one. */
plait_price plait_pipeline_bound(plait_table *table, const plait_degrees *d)
{
    const plait_degrees lean = lean_degrees(table, d);
    const double m = plait_degrees_microbatches(d, table->problem.job.gbs);
    const double stages = d->pp;

    select_layers(table, d);
    stage_load mean = table->lean_whole;
    mean.dense /= stages;
    mean.expert /= stages;
    mean.saved_bytes /= stages;
    mean.embedding = mean.loss = false;
    const double allocated = lean_state_bytes(table, &lean, &mean) + mean.saved_bytes;
    return (plait_price){
        .step_s = m * (mean.forward_s + mean.backward_s) / stages,
        .peak_bytes = allocated * table->problem.runtime->keep.reserved_ratio,
        .busy_s = m * mean.busy_s / stages,
        .moving_s = m * mean.moving_s / stages,
    };
}
