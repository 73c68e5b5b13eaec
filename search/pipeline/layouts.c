/* layouts.c - builds the row of items and prices layouts */
#include "search/pipeline/layouts.h"

#include <math.h>

#include "plan/layout.h"
#include "rules/plan_check.h"
#include "costmodel/api.h"
#include "plait/lowlevel/schedule.h"

// ---- the row -------------------------------------------------------------------------------

/* Arrays of a row while items are added. */
typedef struct row_maker {
    layout_sums *sum, *rest;
    double *live_bytes;
    int items;
} row_maker;

static void add(layout_sums *sum, const plait_layer_load *load, int count)
{
    sum[1] = (layout_sums){
        .time = {sum->time.forward_s + count * load->time.forward_s,
                 sum->time.backward_s + count * load->time.backward_s,
                 sum->time.weight_s + count * load->time.weight_s},
        .work_s = sum->work_s + count * load->work_s,
        .state_bytes = sum->state_bytes + count * load->state_bytes,
        .saved_bytes = sum->saved_bytes + count * load->saved_bytes,
    };
}

/* Adds an item that consists of `count` equal parts. */
static void add_item(row_maker *row, const plait_layer_load *leading, const plait_layer_load *rest,
                     int count)
{
    const int i = row->items++;

    add(&row->sum[i], leading, count);
    add(&row->rest[i], rest, count);
    row->live_bytes[i] = fmax(leading->live_bytes, rest->live_bytes);
}

/*
 * Fills in the rank of each chunk and its microbatches in flight. With equal chunks the peak occurs
 * at several moments; the schedule determines which of them counts.
 */
static bool list_chunks(const plait_degrees *d, int microbatches, plait_arena *arena,
                        layout_items *row)
{
    double weight[PLAIT_MAX_LAYERS], of_rank[PLAIT_MAX_LAYERS];
    double *held = plait_arena_alloc(arena, (size_t)row->chunks, sizeof *held);
    int *rank = plait_arena_alloc(arena, (size_t)row->chunks, sizeof *rank);

    row->in_flight = held;
    row->rank = rank;
    if (!held || !rank)
        return false;
    for (int v = 0; v < d->vpp; v++)
        weight[v] = 1.0;
    for (int r = 0; r < d->pp; r++) {
        plait_schedule_in_flight_chunks((plait_schedule)d->schedule, d->pp, r, d->vpp, microbatches,
                                        weight, of_rank);
        for (int v = 0; v < d->vpp; v++) {
            const int chunk = plait_schedule_chunk((plait_schedule)d->schedule, d->pp, r, v);

            held[chunk] = of_rank[v];
            rank[chunk] = r;
        }
    }
    return true;
}

bool layout_items_make(const plait_problem *problem, const plait_degrees *d,
                       const plait_rank_loads *loads, double capacity_bytes, plait_arena *arena,
                       layout_items *row)
{
    const plait_model *model = problem->model;
    const size_t most = (size_t)model->layers + 4;
    row_maker maker = {
        .sum = plait_arena_alloc(arena, most, sizeof *maker.sum),
        .rest = plait_arena_alloc(arena, most, sizeof *maker.rest),
        .live_bytes = plait_arena_alloc(arena, most, sizeof *maker.live_bytes),
    };

    *row = (layout_items){
        .model = model,
        .schedule = (plait_schedule)d->schedule,
        .ranks = d->pp,
        .vpp = d->vpp,
        .chunks = d->pp * d->vpp,
        .modules_at = model->mtp_layers > 0 ? 1 + model->layers : -1,
        .full_recompute_layers = loads->leading,
        .sum = maker.sum,
        .rest = maker.rest,
        .live_bytes = maker.live_bytes,
        .rank_bytes = loads->rank_bytes,
        .capacity_bytes = capacity_bytes,
        .fused_s = loads->fused_s,
        .after_s = loads->after_s,
        .microbatches = loads->microbatches,
        .fills_all = problem->runtime->support.judged,
    };
    if (!maker.sum || !maker.rest || !maker.live_bytes ||
        !list_chunks(d, loads->microbatches, arena, row))
        return false;
    maker.sum[0] = maker.rest[0] = (layout_sums){.work_s = 0.0};
    add_item(&maker, &loads->embedding, &loads->embedding, 1);
    for (int i = 0; i < model->layers; i++)
        add_item(&maker, &loads->layer[model->layer_kind[i]], &loads->rest[model->layer_kind[i]],
                 1);
    if (model->mtp_layers > 0) // one item, since the modules share a chunk
        add_item(&maker, &loads->module, &loads->module, model->mtp_layers);
    add_item(&maker, &loads->loss, &loads->loss, 1);
    row->items = maker.items;
    return true;
}

// ---- chunks --------------------------------------------------------------------------------

static void add_difference(layout_sums *sum, const layout_sums *end, const layout_sums *first)
{
    sum->time.forward_s += end->time.forward_s - first->time.forward_s;
    sum->time.backward_s += end->time.backward_s - first->time.backward_s;
    sum->time.weight_s += end->time.weight_s - first->time.weight_s;
    sum->work_s += end->work_s - first->work_s;
    sum->state_bytes += end->state_bytes - first->state_bytes;
    sum->saved_bytes += end->saved_bytes - first->saved_bytes;
}

/*
 * With full:N the first N layers of a chunk are recomputed; the embedding does not count as a
 * layer.
 */
layout_sums layout_chunk_sums(const layout_items *row, int first, int end)
{
    const int led = first + row->full_recompute_layers + (first == 0);
    const int turn = row->full_recompute_layers < 0 || led > end ? end : led;
    layout_sums sum = {.work_s = 0.0};

    add_difference(&sum, &row->sum[turn], &row->sum[first]);
    if (turn < end)
        add_difference(&sum, &row->rest[end], &row->rest[turn]);
    return sum;
}

double layout_live_bytes(const layout_items *row, int first, int end)
{
    double most = 0.0;

    for (int i = first; i < end; i++)
        most = fmax(most, row->live_bytes[i]);
    return most;
}

bool layout_takes_modules(const layout_items *row, int chunk)
{
    return chunk == row->chunks - 1 || (chunk >= row->chunks - row->ranks && row->rank[chunk] != 0);
}

void layout_chunks(const layout_items *row, const int *end, plait_chunk *chunks)
{
    const int layers = row->model->layers;

    for (int c = 0, first = 0; c < row->chunks; first = end[c++]) {
        const int from = first > 0 ? first - 1 : 0;
        const int to = end[c] - 1;
        chunks[c] = (plait_chunk){
            .first = from < layers ? from : layers,
            .last = to < 0        ? 0
                    : to < layers ? to
                                  : layers,
            .embedding = first == 0 && end[c] > 0,
            .loss = first < row->items && end[c] == row->items,
            .mtp =
                row->modules_at >= first && row->modules_at < end[c] ? row->model->mtp_layers : 0,
        };
    }
}

// ---- prices --------------------------------------------------------------------------------

static const plait_price too_much = {.step_s = HUGE_VAL, .peak_bytes = HUGE_VAL, .exact = true};

static bool has_empty_chunk(const layout_items *row, const int *end)
{
    for (int c = 1; c < row->chunks; c++)
        if (end[c] == end[c - 1])
            return true;
    return false;
}

plait_price layout_price(layout_pricer *pricer, const layout_items *row, const int *end)
{
    plait_chunk chunks[PLAIT_MAX_LAYERS];

    if (row->fills_all && has_empty_chunk(row, end))
        return too_much;
    layout_chunks(row, end, chunks);
    if (!layout_write(chunks, row->chunks, pricer->text))
        return too_much;
    pricer->degrees.split = (plait_split){.kind = PLAIT_SPLIT_LAYOUT, .layout = pricer->text};
    const plait_price price = plait_degrees_cost(pricer->table, &pricer->degrees);
    // Only a layout that may become the best is compared with the rules, which takes longer.
    return price.peak_bytes <= pricer->capacity_bytes &&
                   (price.step_s >= pricer->limit_s ||
                    plan_degrees_legal(pricer->problem, &pricer->degrees, &no_reason))
               ? price
               : too_much;
}

plait_price layout_price_exact(layout_pricer *pricer, const layout_items *row, const int *end)
{
    plait_price price = layout_price(pricer, row, end);

    if (price.exact || price.step_s >= pricer->limit_s)
        return price;
    if (plait_degrees_simulate(pricer->table, &pricer->degrees, pricer->scratch, &price, NULL) !=
        PLAIT_OK)
        pricer->failed = true;
    return price;
}

void layout_keep_best(layout_pricer *pricer, const layout_items *row, const int *end,
                      plait_price price, layout_result *found)
{
    plait_chunk chunks[PLAIT_MAX_LAYERS];

    if (price.step_s >= pricer->limit_s)
        return;
    layout_chunks(row, end, chunks);
    found->any = layout_write(chunks, row->chunks, found->text);
    found->price = price;
    pricer->limit_s = price.step_s;
}
