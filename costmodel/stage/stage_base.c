/*
 * stage_base.c - a stage taken apart: what its layers choose, and what it has in any case
 *
 * The same parts and sums as a price's (cost.c), without the layers: whoever chooses adds those. A
 * property test holds what comes out to plait_plan_cost.
 */
#include "plait/stage.h"

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

/* Weights of all parts; times and bytes of the ends alone. Counts the layers of each kind. */
static stage_load load_of_ends(const plait_table *table, const plait_degrees *d, int s,
                               const stage_parts *parts, int layers[PLAIT_MAX_LAYER_KINDS])
{
    stage_load load = {
        .index = s,
        .count = 1,
        .in_flight = plait_schedule_in_flight((plait_schedule)d->schedule, d->pp, s, d->vpp,
                                              table->microbatches),
        .embedding = stage_parts_have(parts, ROW_EMBEDDING),
        .loss = stage_parts_have(parts, ROW_HEAD) || stage_parts_have(parts, ROW_MTP_HEAD),
    };

    for (int i = 0; i < parts->count; i++) {
        const stage_part *part = &parts->part[i];
        stage_load_add_weights(&load, part->count, &table->row.price[part->row]);
        if (part->row < ROW_EMBEDDING) {
            layers[part->row] = part->count;
            continue;
        }
        const layer_time time = layer_time_of(&table->problem, &table->row.price[part->row],
                                              &table->gather.layer[part->row], part->choice);
        stage_load_add(&load, part->count, &time);
    }
    return load;
}

/* What the ends of unlike chunks hold, each as often as its chunk is in flight. (C.260) */
static double held_by_ends(const plait_table *table, const plait_degrees *own, int s,
                           const plait_chunk *chunk, const double *in_flight)
{
    double bytes = 0.0;

    for (int v = 0; v < own->vpp; v++) {
        const plait_stage alone = {.chunks = 1, .chunk = &chunk[v], .degrees = *own};
        int layers[PLAIT_MAX_LAYER_KINDS];
        stage_part part[ROW_PRICES];
        const stage_parts parts = stage_parts_of(table->problem.model, &alone, part);
        bytes += in_flight[v] * load_of_ends(table, own, s, &parts, layers).saved_bytes;
    }
    return bytes;
}

/* C.81, C.83 and C.84, as peak_bytes in table.c. */
static double frame_bytes(const plait_table *table, const plait_degrees *own,
                          const sync_routes *routes, const stage_load *load)
{
    const stage_state state =
        stage_state_of(&table->problem, own, &table->row, &routes->state, routes->ways, load);
    const double tensors = state.weights_bytes + state.gradients_bytes + state.optimizer_bytes +
                           state.buffers_bytes + load->held_bytes +
                           stage_buffer_bytes(&table->problem, own, &table->row, load);

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
    const sync_routes routes = routes_of_stage(&table->problem, &table->routes, own);
    stage_load load = load_of_ends(table, d, s, &parts, frame.layers);
    frame.unlike = stage_chunks_held(d, chunk, s, table->microbatches, in_flight);
    for (int v = 0; v < d->vpp && !frame.unlike; v++)
        in_flight[v] = load.in_flight;
    load.held_bytes = frame.unlike ? held_by_ends(table, own, s, chunk, in_flight)
                                   : load.in_flight * load.saved_bytes;
    const stage_sync sync = stage_sync_of(&table->problem, own, &routes, &load);
    frame.ends = chunk_time_of(&load);
    frame.bytes = frame_bytes(table, own, &routes, &load);
    frame.scale = table->problem.runtime->keep.fragmentation;
    frame.live_bytes = load.live_bytes;
    frame.paired_s = load.paired_s[d->ep_overlap];
    frame.reduce_s = sync.reduce_s;
    frame.gather_s = sync.gather_s;
    frame.optimizer_s = sync.optimizer_s;
    frame.down_s = sync.down_s;
    frame.downs = sync.downs;
    return frame;
}

double plait_frame_peak(const plait_stage_frame *frame, double held_bytes, double live_bytes)
{
    return frame->bytes + frame->scale * (held_bytes + larger(frame->live_bytes, live_bytes));
}

// ---- their step ----------------------------------------------------------------------------

static stage_load load_of_frame(const plait_stage_frame *frame, const plait_degrees *d,
                                const plait_chunk_time *time)
{
    stage_load load = {
        .index = frame->stage,
        .count = 1,
        .forward_s = time->forward_s,
        .backward_s = time->backward_s,
        .weight_s = time->weight_s,
    };

    load.paired_s[d->ep_overlap] = frame->paired_s;
    if (d->vpp == 1) // of several chunks none is known: nothing bounds them
        load.first = load.last = chunk_time_of(&load);
    return load;
}

static stage_sync sync_of_frame(const plait_stage_frame *frame)
{
    return (stage_sync){.reduce_s = frame->reduce_s,
                        .gather_s = frame->gather_s,
                        .optimizer_s = frame->optimizer_s,
                        .down_s = frame->down_s,
                        .downs = frame->downs};
}

plait_stage_tail plait_frame_tail(const plait_problem *problem, const plait_degrees *d,
                                  const plait_stage_frame *frame, const plait_chunk_time *time)
{
    const stage_load load = load_of_frame(frame, d, time);
    const stage_sync sync = sync_of_frame(frame);
    const stage_sync reduced = {.reduce_s = sync.reduce_s};
    const stage_sync gathered = {.gather_s = sync.gather_s};

    return (plait_stage_tail){
        .reduce_s = sync_exposed_s(problem, d, &load, &reduced, 1),
        .gather_s = sync_exposed_s(problem, d, &load, &gathered, 1),
        .optimizer_s = optimizer_left_s(&load, &sync),
    };
}

plait_price plait_frames_price(plait_table *table, const plait_degrees *d,
                               const plait_stage_frame *frame, const plait_chunk_time *time)
{
    stage_load *const load = table->fused;
    stage_sync *const sync = table->frame_sync;
    stage_run *const run = table->frame_run;

    table_select(table, d);
    for (int s = 0; s < d->pp; s++) {
        load[s] = load_of_frame(&frame[s], d, &time[s]);
        sync[s] = sync_of_frame(&frame[s]);
        run[s] = (stage_run){s, 1};
    }
    const step_parts parts = {
        .problem = &table->problem,
        .degrees = d,
        .microbatches = table->microbatches,
        .send_s = table->send_s,
        .loads = d->pp,
        .load = load,
        .sync = sync,
        .runs = d->pp,
        .run = run,
        .ranks = table->rank_run,
    };
    const step_sum sum = step_sum_of(&parts);
    return (plait_price){.step_s = sum.total_s, .exact = sum.exact && d->vpp == 1};
}
