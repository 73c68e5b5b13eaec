/*
 * rank_loads.c - time and bytes that each layer or end of the model adds to a rank (C.261)
 *
 * Each layer or end is priced as a load with one part, since memory and state are linear in the
 * parts.
 */
#include <stddef.h>
#include <string.h>

#include "costmodel/table/table_private.h"

/* Prices of one point's layers and ends. */
typedef struct part_maker {
    stage_rows rows;
    double pairs; /* plait_rank_loads.pairs */
} part_maker;

/* Bytes of state and buffers of a rank with this load, without activations. */
static double rank_bytes(const part_maker *maker, const stage_load *load)
{
    stage_cost cost = {.load = *load};

    stage_cost_add_state(&maker->rows, &cost);
    return maker->rows.problem->runtime->keep.fragmentation *
           (cost.state.weights_bytes + cost.state.gradients_bytes + cost.state.optimizer_bytes +
            cost.state.buffers_bytes + cost.buffers_bytes);
}

/*
 * Adds one part to a load. Layers and prediction modules offload activations, and the other ends do
 * not.
 */
static void add_row(const part_maker *maker, int r, plait_recompute recompute, stage_load *load)
{
    const layer_price *price = &maker->rows.row->price[r];
    const bool layer = r < ROW_EMBEDDING || r == ROW_MTP;
    const plait_choice choice = {recompute, layer ? maker->rows.degrees->offload_acts : 0};
    const layer_time time =
        layer_time_of(maker->rows.problem, price, &maker->rows.gather->layer[r], choice);

    stage_load_add(load, 1.0, &time);
    stage_load_add_weights(load, 1.0, price);
}

/* Fills the terms of a load that depend on the recompute choice. */
static void fill_times(const part_maker *maker, const stage_load *load, plait_layer_load *out)
{
    const double loss = maker->rows.problem->runtime->keep.fragmentation;

    out->time = (plait_chunk_time){load->forward_s, load->backward_s, load->weight_s};
    out->paired_s = load->paired_s[maker->rows.degrees->ep_overlap];
    out->work_s = plait_layer_work_s(out, maker->pairs);
    out->saved_bytes = loss * load->saved_bytes;
    out->live_bytes = loss * load->live_bytes;
}

static plait_layer_load part_of(const part_maker *maker, const stage_load *load)
{
    const stage_load nothing = {.count = 1};
    plait_layer_load out = {.state_bytes = rank_bytes(maker, load) - rank_bytes(maker, &nothing)};

    fill_times(maker, load, &out);
    return out;
}

static plait_layer_load part_of_row(const part_maker *maker, int r, plait_recompute recompute)
{
    stage_load load = {.count = 1, .embedding = r == ROW_EMBEDDING, .loss = r == ROW_HEAD};

    add_row(maker, r, recompute, &load);
    return part_of(maker, &load);
}

/* Replaces the terms of a layer that depend on the recompute choice. */
static void retime_layer(const part_maker *maker, int r, plait_recompute recompute,
                         plait_layer_load *out)
{
    stage_load load = {.count = 1};

    add_row(maker, r, recompute, &load);
    fill_times(maker, &load, out);
}

/* Are the first and the last chunk of the pipeline on one rank? */
static bool ends_meet(const plait_degrees *d)
{
    const plait_schedule schedule = (plait_schedule)d->schedule;

    return plait_schedule_rank(schedule, d->pp, 0) ==
           plait_schedule_rank(schedule, d->pp, d->pp * d->vpp - 1);
}

/* Seconds of the optimizer step of the mean rank. */
static double mean_optimizer_s(const part_maker *maker)
{
    const plait_model *model = maker->rows.problem->model;
    const plait_degrees *d = maker->rows.degrees;
    stage_load mean = {.count = 1};

    for (int i = 0; i < model->layers; i++)
        stage_load_add_weights(&mean, 1.0 / d->pp, &maker->rows.row->price[model->layer_kind[i]]);
    return stage_sync_of(maker->rows.problem, d, maker->rows.routes, &mean).optimizer_s;
}

/* Returns the prices of a point, and its number of pairs per microbatch. (C.157) */
static part_maker part_maker_of(const plait_table *table, const plait_degrees *d,
                                const cached_rank_loads *known)
{
    const int microbatches = known->out.microbatches;
    const double pairs =
        d->ep_overlap == PLAIT_EP_OVERLAP_NONE
            ? 0.0
            : plait_schedule_pairs((plait_schedule)d->schedule, d->pp, d->vpp, microbatches) /
                  microbatches;

    return (part_maker){{&table->problem, d, &table->row, &known->gather, &known->routes}, pairs};
}

/*
 * Do two points differ at most in their recompute and offload choice, their split and their number
 * of chunks? Comparing bytes is the fast path.
 */
static bool same_but_chunks(const plait_degrees *a, const plait_degrees *b)
{
    plait_degrees alike = *a;

    if (ends_meet(a) != ends_meet(b))
        return false;
    alike.vpp = b->vpp;
    alike.recompute = b->recompute;
    alike.offload_acts = b->offload_acts;
    alike.split = b->split;
    if (memcmp(&alike, b, sizeof alike) == 0)
        return true;
    for (int key = 0; key < PLAIT_KEYS; key++)
        if (key != PLAIT_KEY_RECOMPUTE && key != PLAIT_KEY_OFFLOAD_ACTS && key != PLAIT_KEY_SPLIT &&
            key != PLAIT_KEY_VPP && !plait_key_same(a, b, (plait_key_id)key))
            return false;
    return true;
}

/*
 * Fills the terms that depend neither on the recompute choice nor on the number of chunks, and the
 * layers without recomputation.
 */
static void fill_cached_loads(plait_table *table, const plait_degrees *d, cached_rank_loads *known)
{
    const plait_recompute none = {.kind = PLAIT_RECOMPUTE_NONE};
    const stage_load nothing = {.count = 1};

    known->known = true;
    known->of = *d;
    known->of.split = (plait_split){.kind = PLAIT_SPLIT_EVEN}; // the text of a layout may be freed
    known->routes = sync_routes_of(&table->problem, d);
    gather_row_fill(&table->problem, d, &known->routes, &table->row, &known->gather);
    known->out = (plait_rank_loads){
        .microbatches = plait_degrees_microbatches(d, table->problem.job.gbs),
        .fused_s = table->row.boundary_s,
    };
    plait_rank_loads *out = &known->out;
    const part_maker maker = part_maker_of(table, d, known);
    for (int k = 0; k < table->kinds; k++)
        out->layer[k] = part_of_row(&maker, k, none);
    out->embedding = part_of_row(&maker, ROW_EMBEDDING, none);
    // A tied head, or else a prediction module, reads a copy of the embedding table, unless the
    // first and the last chunk are on one rank.
    const plait_model *const model = table->problem.model;
    stage_load loss = {.count = 1, .loss = true}, module = {.count = 1};
    add_row(&maker, ROW_HEAD, none, &loss);
    for (int m = 0; m < model->mtp_layers; m++)
        add_row(&maker, ROW_MTP_HEAD, none, &loss);
    if (model->mtp_layers > 0)
        add_row(&maker, ROW_MTP, none, &module);
    if (!ends_meet(d))
        stage_load_add_weights(model->tied ? &loss : &module, 1.0, &table->row.price[ROW_TABLE]);
    out->loss = part_of(&maker, &loss);
    if (model->mtp_layers > 0)
        out->module = part_of(&maker, &module);
    out->rank_bytes = rank_bytes(&maker, &nothing) + runtime_fixed_bytes(&table->problem, d);
    known->optimizer_s = mean_optimizer_s(&maker);
    known->send_s = pipeline_send_s(&table->problem, d, &table->row);
}

plait_rank_loads plait_degrees_rank_loads(plait_table *table, const plait_degrees *d)
{
    const plait_recompute none = {.kind = PLAIT_RECOMPUTE_NONE};
    const bool some = recomputes_some(d);
    cached_rank_loads *known = &table->loads;
    plait_recompute all = d->recompute;

    table_select_layers(table, d);
    if (!known->known || !same_but_chunks(&known->of, d))
        fill_cached_loads(table, d, known);
    plait_rank_loads out;
    // Only the model's kinds of layers are copied, since PLAIT_MAX_LAYER_KINDS is much larger.
    const size_t ends = offsetof(plait_rank_loads, leading);
    memcpy(out.layer, known->out.layer, (size_t)table->kinds * sizeof *out.layer);
    memcpy((char *)&out + ends, (const char *)&known->out + ends, sizeof out - ends);
    const part_maker maker = part_maker_of(table, d, known);
    all.layers = 0;
    out.pairs = maker.pairs;
    out.after_s =
        known->optimizer_s + sends_exposed_s(&table->problem, d, out.microbatches, known->send_s);
    out.leading = some ? d->recompute.layers / d->vpp : -1;
    for (int k = 0; k < table->kinds; k++) {
        retime_layer(&maker, k, all, &out.layer[k]);
        out.rest[k] = out.layer[k];
        if (some)
            retime_layer(&maker, k, none, &out.rest[k]);
    }
    if (table->problem.model->mtp_layers > 0)
        retime_layer(&maker, ROW_MTP, some ? none : all, &out.module);
    return out;
}
