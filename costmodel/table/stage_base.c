/*
 * stage_base.c - a stage without recompute and offload choices of its layers (C.240 to C.243)
 *
 * Its terms are those of a price (cost.c), without the times and activations of layers, which a
 * search adds for each choice. A property test compares the result with plait_plan_cost.
 */
#include "costmodel/api.h"

#include "costmodel/table/table_private.h"

plait_layer_cost plait_layer_cost_of(plait_table *table, const plait_degrees *d, int kind,
                                     plait_choice choice)
{
    table_select(table, d);
    const layer_time *time = &table_times(table, choice)[kind];

    return (plait_layer_cost){time->forward_s, time->backward_s, time->weight_s, time->saved_bytes,
                              time->live_bytes};
}

// ---- the base of a stage -------------------------------------------------------------------

/* Sums the weights of all parts of a stage, but the times and bytes of its ends only. */
static stage_load load_of_ends(plait_table *table, const plait_degrees *own, int s,
                               const stage_parts *parts)
{
    stage_class class = {
        .stage = s,
        .count = 1,
        .parts = *parts,
        .in_flight = plait_schedule_in_flight((plait_schedule)own->schedule, own->pp, s, own->vpp,
                                              table->microbatches),
    };
    stage_load load;

    while (class.ends < parts->count && parts->part[class.ends].row >= ROW_EMBEDDING)
        class.ends++;
    table_fill_base(table, table_end_times(table),
                    table_times(table, rest_choice(own)) + table->kinds, &class, &load);
    return load;
}

/*
 * If chunks have different numbers of layers, the activations of an end count once for each
 * microbatch that its own chunk has in flight. (C.260)
 */
plait_stage_base plait_stage_base_of(plait_table *table, const plait_degrees *d, int s,
                                     const plait_chunk *chunk, const plait_degrees *own,
                                     double *in_flight)
{
    const plait_stage stage = {.chunks = d->vpp, .chunk = chunk, .degrees = *own};
    plait_stage_base out = {.bytes = 0.0};
    stage_cost *const cost = &out.cost;
    stage_part part[ROW_PRICES];

    table_select(table, d);
    const stage_parts parts = stage_parts_of(table->problem.model, &stage, part);
    for (int i = 0; i < parts.count; i++)
        if (part[i].row < ROW_EMBEDDING)
            out.layers[part[i].row] = part[i].count;
    const sync_routes routes = routes_of_stage(&table->problem, &table->routes, own);
    stage_rows rows = table_rows(table, own);
    rows.routes = &routes;
    cost->load = load_of_ends(table, own, s, &parts);
    out.uneven = stage_chunks_in_flight(d, chunk, s, table->microbatches, in_flight);
    if (!out.uneven)
        cost->load.held_bytes = cost->load.in_flight * cost->load.saved_bytes;
    for (int v = 0; v < d->vpp; v++) {
        const plait_stage alone = {.chunks = 1, .chunk = &chunk[v], .degrees = *own};
        if (!out.uneven) {
            in_flight[v] = cost->load.in_flight;
            continue;
        }
        const stage_parts parts_of = stage_parts_of(table->problem.model, &alone, part);
        cost->load.held_bytes += in_flight[v] * load_of_ends(table, own, s, &parts_of).saved_bytes;
    }
    stage_cost_complete(&rows, cost);
    // Memory peak without activations of layers (C.81, C.83, C.84), summed like table_peak_bytes.
    const double tensors = cost->state.weights_bytes + cost->state.gradients_bytes +
                           cost->state.optimizer_bytes + cost->state.buffers_bytes +
                           cost->load.held_bytes + cost->buffers_bytes;
    out.bytes = tensors * table->problem.runtime->keep.fragmentation + table->fixed_bytes;
    return out;
}

double plait_stage_base_peak(const plait_problem *problem, const plait_stage_base *base,
                             double held_bytes, double live_bytes)
{
    return base->bytes + problem->runtime->keep.fragmentation *
                             (held_bytes + larger(base->cost.load.live_bytes, live_bytes));
}

stage_cost plait_stage_base_cost(const plait_stage_base *base, const plait_degrees *d,
                                 const plait_chunk_time *time)
{
    stage_cost cost = base->cost;

    cost.load.forward_s = time->forward_s;
    cost.load.backward_s = time->backward_s;
    cost.load.weight_s = time->weight_s;
    if (d->vpp == 1) // with vpp > 1 the times of single chunks are unknown
        cost.load.first = cost.load.last = *time;
    return cost;
}

plait_price plait_stages_price(plait_table *table, const plait_degrees *d, const stage_cost *cost)
{
    table_select(table, d);
    for (int s = 0; s < d->pp; s++)
        table->single_run[s] = (stage_run){s, 1};
    const step_parts parts = {
        .problem = &table->problem,
        .degrees = d,
        .microbatches = table->microbatches,
        .send_s = table->send_s,
        .costs = d->pp,
        .cost = cost,
        .runs = d->pp,
        .run = table->single_run,
        .ranks = table->rank_run,
    };
    const step_sum sum = step_sum_of(&parts);
    return (plait_price){.step_s = sum.total_s, .exact = sum.exact && d->vpp == 1};
}
