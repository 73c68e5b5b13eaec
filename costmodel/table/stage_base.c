/*
 * stage_base.c - a stage without recompute and offload choices of its layers (C.240 to C.243)
 *
 * It has the terms of a price (cost.c) without the layers' times and activations, which the search
 * adds with each choice. A property test compares the result with plait_plan_cost.
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

// ---- frames --------------------------------------------------------------------------------

/* Sums the weights of all parts, and the times and bytes of the ends alone. */
static stage_load load_of_ends(plait_table *table, const plait_degrees *own, int s,
                               const stage_parts *parts)
{
    const plait_choice of_mtp = {own->recompute, own->offload_acts};
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
    table_fill_base(table, table_end_times(table), table_times(table, of_mtp) + table->kinds,
                    &class, &load);
    return load;
}

/*
 * Activations of the ends in uneven chunks, times the microbatches in flight of their chunk.
 * (C.260)
 */
static double held_by_ends(plait_table *table, const plait_degrees *own, int s,
                           const plait_chunk *chunk, const double *in_flight)
{
    double bytes = 0.0;

    for (int v = 0; v < own->vpp; v++) {
        const plait_stage alone = {.chunks = 1, .chunk = &chunk[v], .degrees = *own};
        stage_part part[ROW_PRICES];
        const stage_parts parts = stage_parts_of(table->problem.model, &alone, part);
        bytes += in_flight[v] * load_of_ends(table, own, s, &parts).saved_bytes;
    }
    return bytes;
}

/* C.81, C.83 and C.84, summed like table_peak_bytes. */
static double frame_bytes(const plait_table *table, const stage_cost *cost)
{
    const stage_state *state = &cost->state;
    const double tensors = state->weights_bytes + state->gradients_bytes + state->optimizer_bytes +
                           state->buffers_bytes + cost->load.held_bytes + cost->buffers_bytes;

    return tensors * table->problem.runtime->keep.fragmentation + table->fixed_bytes;
}

plait_stage_frame plait_stage_frame_of(plait_table *table, const plait_degrees *d, int s,
                                       const plait_chunk *chunk, const plait_degrees *own,
                                       double *in_flight)
{
    const plait_stage stage = {.chunks = d->vpp, .chunk = chunk, .degrees = *own};
    plait_stage_frame frame = {.stage = s};
    stage_part part[ROW_PRICES];

    table_select(table, d);
    const stage_parts parts = stage_parts_of(table->problem.model, &stage, part);
    for (int i = 0; i < parts.count; i++)
        if (part[i].row < ROW_EMBEDDING)
            frame.layers[part[i].row] = part[i].count;
    const sync_routes routes = routes_of_stage(&table->problem, &table->routes, own);
    stage_rows rows = table_rows(table, own);
    rows.routes = &routes;
    stage_cost cost = {.load = load_of_ends(table, own, s, &parts)};
    frame.unlike = stage_chunks_in_flight(d, chunk, s, table->microbatches, in_flight);
    for (int v = 0; v < d->vpp && !frame.unlike; v++)
        in_flight[v] = cost.load.in_flight;
    cost.load.held_bytes = frame.unlike ? held_by_ends(table, own, s, chunk, in_flight)
                                        : cost.load.in_flight * cost.load.saved_bytes;
    stage_cost_complete(&rows, &cost);
    frame.ends = chunk_time_of(&cost.load);
    frame.bytes = frame_bytes(table, &cost);
    frame.scale = table->problem.runtime->keep.fragmentation;
    frame.live_bytes = cost.load.live_bytes;
    frame.paired_s = cost.load.paired_s[d->ep_overlap];
    frame.reduce_s = cost.sync.reduce_s;
    frame.gather_s = cost.sync.gather_s;
    frame.optimizer_s = cost.sync.optimizer_s;
    frame.down_s = cost.sync.down_s;
    frame.downs = cost.sync.downs;
    return frame;
}

double plait_frame_peak(const plait_stage_frame *frame, double held_bytes, double live_bytes)
{
    return frame->bytes + frame->scale * (held_bytes + larger(frame->live_bytes, live_bytes));
}

// ---- the step of frames --------------------------------------------------------------------

static stage_cost cost_of_frame(const plait_stage_frame *frame, const plait_degrees *d,
                                const plait_chunk_time *time)
{
    stage_cost cost = {
        .load = {.index = frame->stage,
                 .count = 1,
                 .forward_s = time->forward_s,
                 .backward_s = time->backward_s,
                 .weight_s = time->weight_s},
        .sync = {.reduce_s = frame->reduce_s,
                 .gather_s = frame->gather_s,
                 .optimizer_s = frame->optimizer_s,
                 .down_s = frame->down_s,
                 .downs = frame->downs},
    };

    cost.load.paired_s[d->ep_overlap] = frame->paired_s;
    if (d->vpp == 1) // with vpp > 1 the times of single chunks are unknown
        cost.load.first = cost.load.last = chunk_time_of(&cost.load);
    return cost;
}

plait_stage_tail plait_frame_tail(const plait_problem *problem, const plait_degrees *d,
                                  const plait_stage_frame *frame, const plait_chunk_time *time)
{
    const stage_cost cost = cost_of_frame(frame, d, time);

    return stage_tail(problem, d, &cost);
}

plait_price plait_frames_price(plait_table *table, const plait_degrees *d,
                               const plait_stage_frame *frame, const plait_chunk_time *time)
{
    table_select(table, d);
    for (int s = 0; s < d->pp; s++) {
        table->scratch[s] = cost_of_frame(&frame[s], d, &time[s]);
        table->frame_run[s] = (stage_run){s, 1};
    }
    const step_parts parts = {
        .problem = &table->problem,
        .degrees = d,
        .microbatches = table->microbatches,
        .send_s = table->send_s,
        .costs = d->pp,
        .cost = table->scratch,
        .runs = d->pp,
        .run = table->frame_run,
        .ranks = table->rank_run,
    };
    const step_sum sum = step_sum_of(&parts);
    return (plait_price){.step_s = sum.total_s, .exact = sum.exact && d->vpp == 1};
}
