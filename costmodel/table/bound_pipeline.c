/*
 * bound_pipeline.c - lower bounds of a pipeline for any schedule and split (C.91, C.97)
 *
 * The slowest stage takes at least the mean time of all stages, and the fullest stage needs at
 * least their mean memory. Some rank has at least ceil(layers / ranks) layers of each kind: with 61
 * layers on 16 ranks, one rank has at least 4, while the mean is 3.8.
 */
#include <math.h>

#include "base/hash.h"
#include "costmodel/table/table_private.h"

/*
 * Lower bounds for one rank, without bubble, sends and buffers of the ends, with one microbatch in
 * flight.
 */
typedef struct rank_floor {
    double seconds; /* time of one microbatch */
    double bytes;   /* bytes of tensors, without fragmentation and driver context */
} rank_floor;

static plait_price price_of_rank(const plait_table *table, rank_floor rank)
{
    const plait_residents *keep = &table->problem.runtime->keep;

    return (plait_price){
        .step_s = rank.seconds,
        .peak_bytes =
            keep->fragmentation * (rank.bytes + keep->workspace_bytes) + keep->context_bytes,
    };
}

/*
 * Lower bound on the number of layers of one kind on the rank with most of them, if the model has
 * `count`. If ranks have two stages, half of both stages' layers count.
 */
static double most_of_rank(const plait_table *table, int count, int pp)
{
    return ceil((double)table->replicas * count / pp) / table->replicas;
}

// ---- after the row is priced -----------------------------------------------------------------

/* Delayed weight gradients save the most, unless measured runs support only part of it (C.345). */
static double hidden_s(const stage_load *load)
{
    return larger(load->paired_s[PLAIT_EP_OVERLAP_PAIRS],
                  load->paired_s[PLAIT_EP_OVERLAP_PAIRS_DELAYED_WGRAD]);
}

/*
 * Returns the bound of C.91 for one microbatch. The state of the mean rank is computed from the
 * whole model, since the ends have other formats than the layers.
 */
plait_price plait_microbatch_bound(plait_table *table, const plait_degrees *d)
{
    const plait_problem *problem = &table->problem;
    const plait_degrees most_sharded = min_memory_degrees(table, d);
    const plait_state_bytes bytes = min_memory_state_of(table, &most_sharded);
    const double stages = d->pp;

    table_select_layers(table, d);
    table_select_min_memory(table, PLAIT_EP_OVERLAP_NONE);
    const stage_load *whole = &table->min_memory_whole;
    // Upper bound on the time that fused boundaries save: at most layers + 1 boundaries exist.
    const double fused_s = (problem->model->layers + 1.0) * table->row.boundary_s;
    rank_floor most = {
        .seconds =
            larger(0.0, whole->forward_s + whole->backward_s - fused_s - hidden_s(whole)) / stages,
        .bytes = (min_memory_state_bytes(problem, &table->row, &most_sharded, &bytes, whole) +
                  whole->saved_bytes) /
                 stages,
    };
    for (int i = 0; i < table->whole.parts.count; i++) {
        const stage_part *part = &table->whole.parts.part[i];
        if (part->row >= table->kinds)
            continue;
        const double layers = most_of_rank(table, part->count, d->pp);
        stage_load load = load_of_layers(&table->row, part->row, layers);
        stage_load_add(&load, layers, &table->min_memory_time[part->row]);
        most.seconds =
            larger(most.seconds, load.forward_s + load.backward_s - fused_s - hidden_s(&load));
        most.bytes = larger(
            most.bytes, min_memory_state_bytes(problem, &table->row, &most_sharded, &bytes, &load) +
                            load.saved_bytes);
    }
    plait_price price = price_of_rank(table, most);
    price.busy_s = whole->busy_s / stages;
    price.moving_s = whole->moving_s / stages;
    return price;
}

plait_price plait_pipeline_bound(plait_table *table, const plait_degrees *d)
{
    const double m = plait_degrees_microbatches(d, table->problem.job.gbs);
    plait_price price = plait_microbatch_bound(table, d);

    price.step_s = larger(m * price.step_s, plait_pipeline_floor_s(table, d));
    price.busy_s *= m;
    price.moving_s *= m;
    return price;
}

// ---- before the row is priced ----------------------------------------------------------------

/*
 * Caches the parameters of a row. They do not depend on context parallelism, the microbatch size,
 * the exchange of experts and the kernels.
 */
static void weigh_layers(plait_table *table, layer_key key)
{
    key.mbs = key.cp = 1;
    key.attention = key.dispatcher = key.cp_comm = key.placement = key.fusion = 0;
    key.switches = (plait_switches){0};
    if (layer_key_same(table->weighed, key))
        return;
    layer_row_fill_weights(&table->problem, key, &table->light);
    table->light_load = begin_load(&table->light, &table->whole);
    table->weighed = key;
}

/*
 * Returns the seconds of one layer of each kind and of a prediction module, for one microbatch. CUDA
 * graphs of layers change only bytes and launches, so rows with and without them share the seconds.
 */
static const double *computed_layers(plait_table *table, layer_key key)
{
    const plait_model *model = table->problem.model;

    if (key.switches.cuda_graph == PLAIT_GRAPH_LAYERS)
        key.switches.cuda_graph = PLAIT_GRAPH_NONE;
    layer_seconds *const known = &table->computed[hash_ints(0, &key.mbs, 1) % COMPUTED];
    if (layer_key_same(known->key, key))
        return known->s;
    layer_row_set_key(&table->problem, key, &table->light);
    layers_computed_s(&table->problem, &table->light, known->s);
    if (model->mtp_layers > 0)
        known->s[ROW_MTP] = known->s[model->mtp_kind];
    known->key = key;
    return known->s;
}

/*
 * Bytes of state on the mean rank, or on the rank with most layers of a kind, whichever is larger.
 */
static double least_state_bytes(plait_table *table, const plait_degrees *d)
{
    const plait_problem *problem = &table->problem;
    const plait_degrees most_sharded = min_memory_degrees(table, d);
    const plait_state_bytes bytes = min_memory_state_of(table, &most_sharded);
    double most =
        min_memory_state_bytes(problem, &table->light, &most_sharded, &bytes, &table->light_load) /
        d->pp;

    for (int i = 0; i < table->whole.parts.count; i++) {
        const stage_part *part = &table->whole.parts.part[i];
        if (part->row >= table->kinds)
            continue;
        const stage_load load =
            load_of_layers(&table->light, part->row, most_of_rank(table, part->count, d->pp));
        most = larger(most,
                      min_memory_state_bytes(problem, &table->light, &most_sharded, &bytes, &load));
    }
    return most;
}

/* Seconds of one microbatch on all stages, one after the other. */
static double whole_computed_s(const plait_table *table, const double *computed_s)
{
    double whole = 0.0;

    for (int i = 0; i < table->whole.parts.count; i++)
        whole += table->whole.parts.part[i].count * computed_s[table->whole.parts.part[i].row];
    return whole;
}

/*
 * Seconds per microbatch on the mean rank, or on the rank with most layers of a kind, whichever is
 * larger.
 */
static double least_computed_s(const plait_table *table, const double *computed_s, int pp)
{
    double most = whole_computed_s(table, computed_s) / pp;

    for (int i = 0; i < table->whole.parts.count; i++) {
        const stage_part *part = &table->whole.parts.part[i];
        if (part->row < table->kinds)
            most = larger(most, most_of_rank(table, part->count, pp) * computed_s[part->row]);
    }
    return most;
}

double plait_pipeline_floor_bytes(plait_table *table, const plait_degrees *d)
{
    weigh_layers(table, layer_key_of(d));
    return price_of_rank(table, (rank_floor){.bytes = least_state_bytes(table, d)}).peak_bytes;
}

double plait_microbatch_floor_s(plait_table *table, const plait_degrees *d)
{
    return least_computed_s(table, computed_layers(table, layer_key_of(d)), d->pp);
}

double plait_serial_floor_s(plait_table *table, const plait_degrees *d)
{
    return table->split_backwards
               ? 0.0
               : whole_computed_s(table, computed_layers(table, layer_key_of(d)));
}

double plait_pipeline_floor_s(plait_table *table, const plait_degrees *d)
{
    const double of_rank_s = plait_microbatch_floor_s(table, d);

    return larger(plait_degrees_microbatches(d, table->problem.job.gbs) * of_rank_s,
                  plait_serial_floor_s(table, d));
}
