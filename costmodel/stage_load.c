/* stage_load.c - layers summed up to a stage */
#include "numbers.h"
#include "table.h"

void stage_load_begin(const plait_problem *problem, const plait_degrees *d, int stage,
                      stage_load *load)
{
    *load = (stage_load){
        .index = stage,
        .count = 1,
        .in_flight = plait_schedule_in_flight((plait_schedule)d->schedule, d->pp, stage, d->vpp,
                                              plait_degrees_microbatches(d, problem->job.gbs)),
    };
}

void stage_load_add_layer(const layer_price *price, const layer_time *time, stage_load *load)
{
    load->forward_s += time->forward_s;
    load->backward_s += time->backward_s;
    load->weight_s += price->weight_s;
    load->busy_s += time->busy_s;
    load->moving_s += time->moving_s;
    load->saved_bytes += time->saved_bytes;
    load->live_bytes = larger(load->live_bytes, time->live_bytes);
    load->dense += price->weights.dense;
    load->expert += price->weights.expert;
}

/*
 * The embedding, the head with its loss, and the multi-token-prediction modules: each of these a
 * layer and a head of its own, and the weights of a projection of [hidden; embedding], whose time
 * (1 % of a layer) is left out.
 */
void stage_load_add_ends(const plait_problem *problem, const plait_degrees *d, const layer_row *row,
                         const gather_row *gather, bool embedding, bool loss, int mtp,
                         stage_load *load)
{
    const plait_recompute none = {.kind = PLAIT_RECOMPUTE_NONE};
    const plait_model *model = problem->model;
    const double hidden = model->hidden;

    if (embedding) {
        const layer_price *price = &row->price[ROW_EMBEDDING];
        const layer_time time = layer_time_of(problem, price, &gather->layer[ROW_EMBEDDING], none);
        stage_load_add_layer(price, &time, load);
        load->embedding = true;
    }
    if (loss) {
        const layer_price *price = &row->price[ROW_HEAD];
        const layer_time time = layer_time_of(problem, price, &gather->layer[ROW_HEAD], none);
        stage_load_add_layer(price, &time, load);
        load->loss = true;
        if ((model->tied || mtp > 0) && !embedding) // a copy of the table
            load->dense += (double)((model->vocab + d->tp - 1) / d->tp) * hidden;
        for (int i = 0; i < mtp; i++) {
            const layer_price *layer = &row->price[model->mtp_kind];
            const layer_time again =
                layer_time_of(problem, layer, &gather->layer[model->mtp_kind], d->recompute);
            const double dense = load->dense;
            stage_load_add_layer(layer, &again, load);
            stage_load_add_layer(price, &time, load);
            load->dense = dense + layer->weights.dense + 2.0 * hidden * hidden / d->tp;
        }
    }
}

void stage_load_join(const stage_load *part, stage_load *load)
{
    load->embedding = load->embedding || part->embedding;
    load->loss = load->loss || part->loss;
    load->forward_s += part->forward_s;
    load->backward_s += part->backward_s;
    load->weight_s += part->weight_s;
    load->busy_s += part->busy_s;
    load->moving_s += part->moving_s;
    load->saved_bytes += part->saved_bytes;
    load->live_bytes = larger(load->live_bytes, part->live_bytes);
    load->dense += part->dense;
    load->expert += part->expert;
}
