/*
 * table.c - what the search adds up; bound.c has the bounds
 *
 *     keys of a layer        layer_row_fill      operators of each kind, priced
 *     ranks and stages       classify            classes of stages alike, and how many of each kind
 *     shards                 gather, fill        gathers, reductions, state of each class
 *     recomputation          times_of            one entry a choice, made when first asked for
 *
 * A table remembers the rows that the last point used and makes only those anew whose keys
 * changed. Stages alike (same layers, same ends) form one class; of a class, the earliest stage
 * holds most microbatches and so decides memory, and all have the same time.
 */
#include <string.h>

#include "split.h"
#include "table_private.h"

plait_table *plait_table_new(const plait_problem *problem, plait_arena *arena)
{
    const size_t stages = (size_t)split_most_chunks(problem->model->layers);
    const size_t kinds = (size_t)problem->model->kinds;
    plait_table *table = plait_arena_alloc(arena, 1, sizeof *table);

    if (!table)
        return NULL;
    table->problem = *problem;
    table->kinds = problem->model->kinds;
    table->class_of = plait_arena_alloc(arena, stages, sizeof *table->class_of);
    table->leading = plait_arena_alloc(arena, 2 * stages * kinds, sizeof *table->leading);
    table->part = plait_arena_alloc(arena, stages * (size_t)stage_parts_most((int)kinds),
                                    sizeof *table->part);
    table->base = plait_arena_alloc(arena, stages, sizeof *table->base);
    table->load = plait_arena_alloc(arena, stages, sizeof *table->load);
    table->sync = plait_arena_alloc(arena, stages, sizeof *table->sync);
    table->state = plait_arena_alloc(arena, stages, sizeof *table->state);
    table->buffers_bytes = plait_arena_alloc(arena, stages, sizeof *table->buffers_bytes);
    table->lean_load = plait_arena_alloc(arena, stages, sizeof *table->lean_load);
    table->no_sync = plait_arena_alloc(arena, stages, sizeof *table->no_sync);
    return table->class_of && table->leading && table->part && table->base && table->load &&
                   table->sync && table->state && table->buffers_bytes && table->lean_load &&
                   table->no_sync
               ? table
               : NULL;
}

// ---- which rows a change of keys makes anew ------------------------------------------------

/* Keys of the pipeline that `classify` reads. */
static bool same_split(const plait_degrees *a, const plait_degrees *b)
{
    return a->pp == b->pp && a->vpp == b->vpp && a->dp == b->dp && a->schedule == b->schedule &&
           a->order == b->order && a->split.kind == b->split.kind &&
           a->split.first == b->split.first && a->split.last == b->split.last;
}

/* Keys that what is gathered and reduced hangs on, beside those before. */
static bool same_shards(const plait_degrees *a, const plait_degrees *b)
{
    return a->zero == b->zero && a->shard_group == b->shard_group &&
           a->grad_reduce == b->grad_reduce && a->optimizer_state == b->optimizer_state &&
           a->fp8_params == b->fp8_params && a->offload == b->offload;
}

// ---- classes of stages ---------------------------------------------------------------------

/*
 * Writes how many of each kind are among the first N layers of a stage's chunks, for every N up to
 * the longest chunk, whose length it returns: full:N runs those of N / vpp again.
 */
static int count_leading(const plait_table *table, const plait_stage *stage,
                         unsigned short *leading)
{
    const plait_model *model = table->problem.model;
    const size_t kinds = (size_t)table->kinds;
    bool more = true;
    int depth = 0;

    memset(leading, 0, kinds * sizeof *leading);
    while (more) {
        unsigned short *next = leading + kinds;
        more = false;
        for (int c = 0; c < stage->chunks; c++) {
            const int layer = stage->chunk[c].first + depth;
            if (layer >= stage->chunk[c].last)
                continue;
            if (!more)
                memcpy(next, leading, kinds * sizeof *leading);
            more = true;
            next[model->layer_kind[layer]]++;
        }
        leading = next;
        depth += more;
    }
    return depth;
}

static bool same_ends(const stage_class *a, const stage_class *b)
{
    if (a->ends != b->ends)
        return false;
    for (int i = 0; i < a->ends; i++)
        if (a->parts.part[i].row != b->parts.part[i].row ||
            a->parts.part[i].count != b->parts.part[i].count)
            return false;
    return true;
}

static bool same_class(const plait_table *table, const stage_class *a, const stage_class *b)
{
    const size_t size = (size_t)(a->depth + 1) * (size_t)table->kinds * sizeof *a->leading;

    return a->depth == b->depth && same_ends(a, b) && memcmp(a->leading, b->leading, size) == 0;
}

/* What one pipeline rank holds, in lists at the ends of those that are known. */
static stage_class class_of_rank(const plait_table *table, const plait_degrees *d,
                                 const plait_chunk *all, int rank, unsigned short *leading,
                                 stage_part *part)
{
    plait_chunk chunk[PLAIT_MAX_LAYERS];
    const plait_stage stage = {.chunks = d->vpp, .chunk = chunk, .degrees = *d};
    stage_class class = {.stage = rank, .count = 1, .leading = leading};

    for (int v = 0; v < d->vpp; v++)
        chunk[v] = all[plait_schedule_chunk((plait_schedule)d->schedule, d->pp, rank, v)];
    class.depth = count_leading(table, &stage, leading);
    class.parts = stage_parts_of(table->problem.model, &stage, part);
    while (class.ends < class.parts.count && part[class.ends].row >= PLAIT_MAX_LAYER_KINDS)
        class.ends++;
    return class;
}

/*
 * Deals the layers and sorts stages into classes: most pipelines have three or four, however many
 * stages. All lists stand end to end in arrays that were made once, so nothing is allocated here.
 */
static void classify(plait_table *table, const plait_degrees *d)
{
    const int m = plait_degrees_microbatches(d, table->problem.job.gbs);
    plait_chunk chunk[PLAIT_MAX_LAYERS];
    unsigned short *leading = table->leading;
    stage_part *part = table->part;

    plait_chunks_of(table->problem.model, d, chunk);
    table->classes = 0;
    for (int s = 0; s < d->pp; s++) {
        stage_class class = class_of_rank(table, d, chunk, s, leading, part);
        int known = table->classes - 1; // alike stages are neighbours nearly always
        while (known >= 0 && !same_class(table, &table->class_of[known], &class))
            known--;
        if (known >= 0) {
            table->class_of[known].count++;
            continue;
        }
        class.in_flight =
            plait_schedule_in_flight((plait_schedule)d->schedule, d->pp, s, d->vpp, m);
        table->class_of[table->classes++] = class;
        leading += (size_t)(class.depth + 1) * (size_t)table->kinds;
        part += class.parts.count;
    }
}

// ---- rows ----------------------------------------------------------------------------------

/* Where the times of a choice are remembered. full:N uses two: of full and of none. */
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

/* Only a prediction module's time depends on recomputation. */
static int ends_slot_of(const plait_table *table, const plait_degrees *d)
{
    return table->problem.model->mtp_layers > 0 ? slot_of(d->recompute) : SLOT_NONE;
}

static void add_ends(const plait_table *table, const plait_degrees *d, const stage_class *class,
                     stage_load *load)
{
    const plait_recompute none = {.kind = PLAIT_RECOMPUTE_NONE};

    for (int i = 0; i < class->ends; i++) {
        const stage_part *part = &class->parts.part[i];
        const layer_time time = layer_time_of(&table->problem, &table->row.price[part->row],
                                              &table->gather.layer[part->row],
                                              part->row == ROW_MTP ? d->recompute : none);
        stage_load_add(load, part->count, &time);
    }
}

/* What does not depend on the layers' choice: weights, state, reductions, buffers, the ends' times. */
static void fill_classes(plait_table *table, const plait_degrees *d)
{
    const plait_problem *problem = &table->problem;
    const sync_routes *routes = &table->routes;

    for (int c = 0; c < table->classes; c++) {
        stage_load *base = &table->base[c];
        *base = begin_load(table, &table->class_of[c]);
        table->state[c] =
            stage_state_of(problem, d, &table->row, &routes->state, routes->ways, base);
        table->buffers_bytes[c] = stage_buffer_bytes(problem, d, &table->row, base);
        add_ends(table, d, &table->class_of[c], base);
        table->sync[c] = stage_sync_of(problem, d, &table->routes, base);
        table->load[c] = *base;
    }
    table->ends_slot = ends_slot_of(table, d);
}

/* Routes of the shards, and under ZeRO-2 and -3 what each layer gathers: times hang on it. */
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
    const layer_key key = layer_key_of(d);

    if (table->started && layer_key_same(table->row.key, key))
        return;
    layer_row_fill(&table->problem, key, &table->row);
    memset(table->time_known, 0, sizeof table->time_known);
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

    if (!shards)
        fill_gather(table, d);
    if (!shards || table->ends_slot != ends_slot_of(table, d))
        fill_classes(table, d);
    table->last = *d;
    table->sharded = true;
}

// ---- the sum -------------------------------------------------------------------------------

/* C.81 to C.84 of one class, from entries that are remembered. */
static double peak_bytes(const plait_table *table, int c)
{
    const stage_state *state = &table->state[c];
    const double allocated = state->weights_bytes + state->gradients_bytes +
                             state->optimizer_bytes + stage_activation_bytes(&table->load[c]) +
                             state->buffers_bytes + table->buffers_bytes[c];

    return allocated * table->problem.runtime->keep.fragmentation + table->fixed_bytes;
}

/*
 * The inner loop of a search, tens of nanoseconds a point: for each class the ends, then the counts
 * of its kinds times their remembered times; then the closed form of the schedule over the classes.
 */
plait_price plait_degrees_cost(plait_table *table, const plait_degrees *d)
{
    const plait_recompute none = {.kind = PLAIT_RECOMPUTE_NONE};
    const bool some = d->recompute.kind == PLAIT_RECOMPUTE_FULL && d->recompute.layers > 0;
    double fullest = 0.0;

    select_rows(table, d);
    const layer_time *first = times_of(table, d->recompute);
    const layer_time *rest = some ? times_of(table, none) : first;
    for (int c = 0; c < table->classes; c++) {
        const stage_class *class = &table->class_of[c];
        stage_load *load = &table->load[c];
        take_ends(&table->base[c], load);
        if (some)
            add_split_layers(table, class, first, d->recompute.layers / d->vpp, rest, load);
        else
            add_layers(class, first, load);
        fullest = larger(fullest, peak_bytes(table, c));
    }
    const step_sum sum = step_sum_of(&table->problem, d, table->microbatches, table->send_s,
                                     table->load, table->sync, table->classes);
    return price_of(&sum, fullest);
}
