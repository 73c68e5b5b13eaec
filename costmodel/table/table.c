/*
 * table.c - cached prices of points (bound.c computes the bounds)
 *
 *     keys of a layer        layer_row_fill      priced operators of each kind
 *     ranks and stages       table_classes.c     classes of equal stages
 *     shards                 gather, fill        gathers, reductions, state of each class
 *     recomputation          table_times         one entry for each choice, filled at its first use
 *
 * Stages with the same layers and the same ends form one class. They take the same time, and the
 * one with most microbatches in flight determines memory. table_private.h describes which field is
 * valid when.
 */
#include <stdio.h>
#include <string.h>

#include "costmodel/plan/cost_parts.h"
#include "costmodel/layer/layer_ops.h"
#include "plan/problem_check.h"
#include "plan/split.h"
#include "costmodel/table/table_private.h"

static bool make_list(class_list *list, size_t most, size_t kinds, plait_arena *arena)
{
    list->of = plait_arena_alloc(arena, most, sizeof *list->of);
    list->base = plait_arena_alloc(arena, most, sizeof *list->base);
    list->cost = plait_arena_alloc(arena, most, sizeof *list->cost);
    list->bound = plait_arena_alloc(arena, most, sizeof *list->bound);
    list->bound_base = plait_arena_alloc(arena, most, sizeof *list->bound_base);
    list->leading = plait_arena_alloc(arena, 2 * most * kinds, sizeof *list->leading);
    list->held = plait_arena_alloc(arena, most, sizeof *list->held);
    list->part =
        plait_arena_alloc(arena, most * (size_t)stage_parts_most((int)kinds), sizeof *list->part);
    return list->of && list->base && list->cost && list->bound && list->bound_base &&
           list->leading && list->part && list->held;
}

plait_table *plait_table_new(const plait_problem *problem, plait_arena *arena)
{
    if (problem_check(problem, NULL) != PLAIT_OK)
        return NULL;
    const size_t stages = (size_t)split_most_chunks(problem->model->layers, PLAIT_SPLIT_LAYOUT);
    const size_t kinds = (size_t)problem->model->kinds;
    plait_table *table = plait_arena_alloc(arena, 1, sizeof *table);

    if (!table)
        return NULL;
    table->problem = *problem;
    table->kinds = problem->model->kinds;
    table_make_whole(table);
    table->row.cache = layer_cache_new(problem, arena);
    table->light.cache = table->row.cache;
    table->spans = span_cache_new(arena);
    table->classes = class_cache_new(arena);
    table->timed_rows = table->kinds + (problem->model->mtp_layers > 0);
    table->time = plait_arena_alloc(arena, TIMES * (size_t)table->timed_rows, sizeof *table->time);
    table->chosen_time =
        plait_arena_alloc(arena, TIMES * (size_t)table->timed_rows, sizeof *table->chosen_time);
    table->run = plait_arena_alloc(arena, stages, sizeof *table->run);
    table->rank_run = plait_arena_alloc(arena, stages, sizeof *table->rank_run);
    table->fused = plait_arena_alloc(arena, 2 * stages, sizeof *table->fused);
    table->scratch = plait_arena_alloc(arena, 2 * stages, sizeof *table->scratch);
    table->single_run = plait_arena_alloc(arena, stages, sizeof *table->single_run);
    // Lists have two entries per stage: a rank has a first and a last chunk, and under DualPipe two
    // stages.
    return table->row.cache && table->spans && table->classes && table->time &&
                   table->chosen_time && table->run && table->rank_run && table->fused &&
                   table->scratch && table->single_run &&
                   make_list(&table->ranks, 2 * stages, kinds, arena) &&
                   make_list(&table->chunks, 2 * stages, kinds, arena)
               ? table
               : NULL;
}

void plait_table_remember(plait_table *table, plait_half_bounds *bounds, plait_arena *arena)
{
    layer_cache_grow(table->row.cache, arena, bounds);
    span_cache_grow(table->spans, arena);
    class_cache_grow(table->classes, arena);
}

// ---- keys on which groups of fields depend -------------------------------------------------

/* Are all keys equal that table_classify reads? */
static bool same_split(const plait_degrees *a, const plait_degrees *b)
{
    return a->pp == b->pp && a->vpp == b->vpp && a->dp == b->dp && a->schedule == b->schedule &&
           a->order == b->order && a->post_validation == b->post_validation &&
           split_same(&a->split, &b->split);
}

/* Do the ranks of both points form the same groups? Requires equal layer keys. */
static bool same_groups(const plait_degrees *a, const plait_degrees *b)
{
    return a->pp == b->pp && a->dp == b->dp && a->order == b->order;
}

/*
 * Stores the point as the last one, with a copy of its layout's text, which the caller may free or
 * overwrite.
 */
static void cache_degrees(plait_table *table, const plait_degrees *d)
{
    table->last = *d;
    if (d->split.kind != PLAIT_SPLIT_LAYOUT || !d->split.layout)
        return;
    snprintf(table->layout, sizeof table->layout, "%s", d->split.layout);
    table->last.split.layout = table->layout;
}

/* Are all other keys equal on which gathers, reductions and state depend? */
static bool same_shards(int gbs, const plait_degrees *a, const plait_degrees *b)
{
    const bool one = plait_degrees_microbatches(a, gbs) == 1;

    return one == (plait_degrees_microbatches(b, gbs) == 1) && a->zero == b->zero &&
           a->shard_group == b->shard_group && a->grad_reduce == b->grad_reduce &&
           a->optimizer_state == b->optimizer_state && a->fp8_params == b->fp8_params &&
           a->offload == b->offload && a->offload_share == b->offload_share &&
           a->bucket == b->bucket && a->reshard == b->reshard && a->scatter == b->scatter &&
           a->quantise == b->quantise && a->ep_overlap == b->ep_overlap;
}

// ---- rows ----------------------------------------------------------------------------------

static int recompute_slot(plait_recompute recompute)
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

int table_slot_of(plait_choice choice)
{
    return choice.offload_acts * SLOTS + recompute_slot(choice.recompute);
}

static plait_choice plan_choice(const plait_degrees *d)
{
    return (plait_choice){d->recompute, d->offload_acts};
}

const layer_time *table_times(plait_table *table, plait_choice choice)
{
    const int slot = table_slot_of(choice);
    layer_time *const time = table->time + slot * table->timed_rows;

    if (!table->time_valid[slot]) {
        for (int i = 0; i < table->timed_rows; i++) {
            const int row = i < table->kinds ? i : ROW_MTP;
            time[i] = layer_time_of(&table->problem, &table->row.price[row],
                                    &table->gather.layer[row], choice);
        }
        table->time_valid[slot] = true;
    }
    return time;
}

/*
 * Returns the slot of the ends. Prediction modules are the only ends that depend on recomputation
 * and offload.
 */
static int ends_slot_of(const plait_table *table, const plait_degrees *d)
{
    return table->problem.model->mtp_layers > 0 ? table_slot_of(rest_choice(d)) : SLOT_NONE;
}

const layer_time *table_end_times(plait_table *table)
{
    const plait_choice none = {.offload_acts = 0};

    for (int row = ROW_EMBEDDING; row < ROW_PRICES && !table->end_time_valid; row++) {
        table->end_time[row - ROW_EMBEDDING] =
            layer_time_of(&table->problem, &table->row.price[row], &table->gather.layer[row], none);
    }
    table->end_time_valid = true;
    return table->end_time;
}

void table_fill_base(const plait_table *table, const layer_time *end, const layer_time *mtp,
                     const stage_class *class, stage_load *base)
{
    *base = begin_load(&table->row, class);
    for (int i = 0; i < class->ends; i++) {
        const stage_part *part = &class->parts.part[i];
        stage_load_add(base, class->parts.share * part->count,
                       part->row == ROW_MTP ? mtp : &end[part->row - ROW_EMBEDDING]);
    }
}

bool table_has_module(const stage_class *class)
{
    for (int i = 0; i < class->ends; i++)
        if (class->parts.part[i].row == ROW_MTP)
            return true;
    return false;
}

/* Fills base[] of all classes, or without `all` only of those that depend on the choice. */
static void fill_bases(plait_table *table, const plait_degrees *d, bool all, class_list *list)
{
    const layer_time *const end = table_end_times(table);
    const layer_time *const mtp = table_times(table, rest_choice(d)) + table->kinds;

    for (int c = 0; c < list->count; c++) {
        if (!all && !table_has_module(&list->of[c]))
            continue;
        table_fill_base(table, end, mtp, &list->of[c], &list->base[c]);
        list->cost[c].load = list->base[c];
    }
}

static void fill_ends(plait_table *table, const plait_degrees *d, bool all)
{
    fill_bases(table, d, all, &table->chunks);
    fill_bases(table, d, all, &table->ranks);
    table->ends_slot = ends_slot_of(table, d);
}

/* Fills the state, reductions and buffers of all classes of ranks. They depend on weights alone. */
static void fill_classes(plait_table *table, const plait_degrees *d)
{
    const stage_rows rows = table_rows(table, d);

    for (int c = 0; c < table->ranks.count; c++)
        stage_cost_complete(&rows, &table->ranks.cost[c]);
}

static void forget_times(plait_table *table)
{
    memset(table->time_valid, 0, sizeof table->time_valid);
    table->end_time_valid = false;
}

/*
 * Fills the routes of shards, and for each layer its gathers (ZeRO-2 and -3) and the time that
 * pairs of microbatches save. The times of layers depend on both.
 */
static void fill_gather(plait_table *table, const plait_degrees *d)
{
    table->routes = sync_routes_of(&table->problem, d);
    if (d->zero < 2 && !table->gather.travels && table->gather.pairs == d->ep_overlap)
        return; // unchanged
    gather_row_fill(&table->problem, d, &table->routes, &table->row, &table->gather);
    table->rows++;
    forget_times(table);
    table->ends_slot = NO_SLOT;
}

void table_select_layers(plait_table *table, const plait_degrees *d)
{
    const layer_key key = layer_key_of(d);

    if (table->row_valid && layer_key_same(table->row.key, key))
        return;
    layer_row_fill(&table->problem, key, &table->row);
    table->gather = (gather_row){0};
    forget_times(table);
    table->row_valid = true;
    table->min_memory_valid = 0;
    table->bound_base_valid = false;
    table->min_loads_valid = false;
    table->stages_valid = false;
    table->shards_valid = false;
}

void table_select_stages(plait_table *table, const plait_degrees *d)
{
    table_select_layers(table, d);
    if (table->stages_valid && same_split(&table->last, d))
        return;
    table_classify(table, d);
    table->bound_base_valid = false;
    table->min_loads_valid = false;
    table->rows++;
    if (!table->stages_valid || !same_groups(&table->last, d))
        table->fixed_bytes = runtime_fixed_bytes(&table->problem, d);
    table->ends_slot = NO_SLOT;
    cache_degrees(table, d);
    table->stages_valid = true;
    table->sends_valid = false;
    table->shards_valid = false;
}

void table_select_sends(plait_table *table, const plait_degrees *d)
{
    plait_chunk chunk[PLAIT_MAX_LAYERS];

    if (table->sends_valid)
        return;
    table->send_s = pipeline_send_s(&table->problem, d, &table->row);
    table->boundary = (fused_boundary){0};
    if (d->fusion != PLAIT_FUSION_NONE) {
        table_assign_layers(table, d, chunk);
        table->boundary = fused_boundary_of(&table->problem, d, &table->row, chunk);
    }
    table->sends_valid = true;
}

void table_select(plait_table *table, const plait_degrees *d)
{
    table_select_stages(table, d);
    table_select_sends(table, d);
    const bool shards = table->shards_valid && same_shards(table->problem.job.gbs, &table->last, d);

    if (!shards)
        fill_gather(table, d);
    if (!shards || table->ends_slot != ends_slot_of(table, d))
        fill_ends(table, d, !shards);
    if (!shards)
        fill_classes(table, d);
    cache_degrees(table, d);
    table->shards_valid = true;
}

// ---- the sum -------------------------------------------------------------------------------

double table_peak_of(const plait_table *table, const stage_state *state, double buffers_bytes,
                     const stage_load *load)
{
    const double allocated = state->weights_bytes + state->gradients_bytes +
                             state->optimizer_bytes + stage_activation_bytes(load) +
                             state->buffers_bytes + buffers_bytes;

    return allocated * table->problem.runtime->keep.fragmentation + table->fixed_bytes;
}

double table_peak_bytes(const plait_table *table, int c, const stage_load *load)
{
    const stage_cost *const cost = &table->ranks.cost[c];

    return table_peak_of(table, &cost->state, cost->buffers_bytes, load);
}

static layer_choice choice_of(plait_table *table, const plait_degrees *d)
{
    return (layer_choice){table_times(table, plan_choice(d)), table_times(table, rest_choice(d)),
                          recomputes_some(d) ? d->recompute.layers / d->vpp : -1};
}

static void fill_loads(const plait_table *table, const layer_choice *choice, class_list *list)
{
    for (int c = 0; c < list->count; c++) {
        reset_to_ends(&list->base[c], &list->cost[c].load);
        add_chosen_layers(table, &list->of[c], choice, &list->cost[c].load);
    }
}

void table_fill(plait_table *table, const plait_degrees *d)
{
    table_select(table, d);
    const layer_choice choice = choice_of(table, d);
    fill_loads(table, &choice, &table->chunks);
    fill_loads(table, &choice, &table->ranks);
    for (int c = 0; c < table->ranks.count; c++)
        add_chunk_times(&table->ranks.of[c], table->chunks.cost, &table->ranks.cost[c].load);
}

/*
 * Prices a point. This is the inner loop of a search and takes tens of nanoseconds. For each class
 * it adds its ends and, for each kind of layer, the number of layers times their cached time. The
 * closed form of the schedule then gives the step.
 */
plait_price plait_degrees_cost(plait_table *table, const plait_degrees *d)
{
    table_fill(table, d);
    const step_sum sum = table_sum(table, d, table->ranks.cost);
    double fullest = 0.0;

    for (int c = 0; c < table->ranks.count; c++)
        fullest = larger(fullest, table_peak_bytes(table, c, &table->ranks.cost[c].load));
    return price_of(&sum, fullest);
}

/*
 * Bytes of activations that a rank of a class offloads per microbatch. Fully recomputed layers
 * offload none.
 */
static double class_away_bytes(const plait_table *table, const plait_degrees *d,
                               const stage_class *class)
{
    const plait_choice rest = rest_choice(d);
    const int full = recomputes_some(d) ? d->recompute.layers / d->vpp : 0;
    const int whole = full < class->depth ? full : class->depth;
    double bytes = 0.0;

    for (int i = 0; i < class->parts.count; i++) {
        const stage_part *part = &class->parts.part[i];
        const bool layer = i >= class->ends;
        const int lead = layer && whole > 0 ? class->leading[whole * table->kinds + part->row] : 0;
        if (layer || part->row == ROW_MTP)
            bytes += class->parts.share * (part->count - lead) *
                     layer_away_bytes(&table->row.price[part->row], rest);
    }
    return bytes;
}

double plait_degrees_host_bytes(plait_table *table, const plait_degrees *d)
{
    double most = 0.0;

    if (d->offload == PLAIT_OFFLOAD_NONE && d->offload_acts == 0 &&
        table->problem.job.tuning.reference != PLAIT_REFERENCE_OFFLOADED)
        return 0.0;
    table_select(table, d);
    for (int c = 0; c < table->ranks.count; c++)
        most = larger(most, stage_host_bytes(&table->problem, d, &table->ranks.base[c],
                                             class_away_bytes(table, d, &table->ranks.of[c])));
    return most;
}

/*
 * Returns the cached pipeline of a recompute and offload choice. full:N has one entry for each N,
 * after the entries of all other choices.
 */
static cached_pipeline *cached_pipeline_of(plait_table *table, const plait_degrees *d)
{
    const bool some = recomputes_some(d);

    return &table->known[some ? TIMES + d->recompute.layers % PLAIT_MAX_LAYERS
                              : table_slot_of(plan_choice(d))];
}

/* Simulates the pipeline with and without fused boundaries. The result is not cached. */
static plait_status simulate_fused(plait_table *table, const plait_degrees *d, plait_arena *scratch,
                                   plait_price *price, plait_error *err)
{
    const step_parts parts = parts_of_classes(table, d, table->ranks.cost);
    const stage_rows rows = table_rows(table, d);
    const plait_arena_mark mark = plait_arena_save(scratch);
    plait_plan plan;
    step_sum sum;
    bool chosen;

    PLAIT_TRY(plait_plan_expand(&table->problem, d, scratch, &plan, err));
    PLAIT_TRY(simulated_sum_of(&parts, &plan, &rows, &table->boundary, table->fused, table->spans,
                               scratch, &sum, &chosen, err));
    plait_arena_rewind(scratch, mark);
    price->step_s = sum.total_s;
    price->exact = true;
    return PLAIT_OK;
}

plait_status plait_degrees_simulate(plait_table *table, const plait_degrees *d,
                                    plait_arena *scratch, plait_price *price, plait_error *err)
{
    cached_pipeline *known = cached_pipeline_of(table, d);
    const step_parts parts = parts_of_classes(table, d, table->ranks.cost);
    step_sum sum = step_sum_of(&parts);

    if (table->boundary.faster)
        return simulate_fused(table, d, scratch, price, err);
    if (known->rows != table->rows) {
        const stage_rows rows = table_rows(table, d);
        const plait_arena_mark mark = plait_arena_save(scratch);
        plait_plan plan;
        known->s = sum.alone_s;
        PLAIT_TRY(plait_plan_expand(&table->problem, d, scratch, &plan, err));
        PLAIT_TRY(pipeline_simulate(&rows, &plan, NULL, table->spans, scratch, &known->s, err));
        plait_arena_rewind(scratch, mark);
        known->rows = table->rows;
    }
    step_sum_take(&sum, known->s);
    price->step_s = sum.total_s;
    price->exact = true;
    return PLAIT_OK;
}

plait_status plait_table_plan_cost(plait_table *table, const plait_plan *plan, plait_arena *arena,
                                   plait_cost *cost, plait_error *err)
{
    return plait_plan_evaluate(&table->problem, plan, table->spans, arena, cost, err);
}
