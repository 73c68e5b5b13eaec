/*
 * table.c - what the search adds up; bound.c has the bounds
 *
 * A table remembers the rows that the last point used and makes only those anew whose keys
 * changed. Stages alike (same layers, same ends) form one class; of a class, the earliest stage
 * holds most microbatches and so decides memory, and all have the same time.
 */
#include <string.h>

#include "numbers.h"
#include "table_private.h"

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

void table_make_ends(const plait_table *table, const plait_degrees *d, const gather_row *gather,
                     stage_load ends[3])
{
    for (int i = 0; i < 3; i++) {
        ends[i] = (stage_load){0};
        stage_load_add_ends(&table->problem, d, &table->row, gather, i != 1, i != 0,
                            table->problem.model->mtp_layers, &ends[i]);
    }
}

/* The ends depend on recomputation only through multi-token-prediction layers. */
static void fill_ends(plait_table *table, const plait_degrees *d)
{
    const int slot = table->problem.model->mtp_layers > 0 ? slot_of(d->recompute) : SLOT_NONE;

    if (table->ends_slot != slot)
        table_make_ends(table, d, &table->gather, table->ends);
    table->ends_slot = slot;
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

void table_select_layers(plait_table *table, const plait_degrees *d)
{
    if (table->started && same_layers(&table->last, d))
        return;
    layer_row_fill(&table->problem, d, &table->row);
    memset(table->time_known, 0, sizeof table->time_known);
    table->last = *d;
    table->started = true;
    table->lean_known = false;
    table->staged = false;
    table->sharded = false;
}

void table_select_stages(plait_table *table, const plait_degrees *d)
{
    table_select_layers(table, d);
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
    table_select_stages(table, d);
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
