/* volume.c - the communication of a step, call by call, as the slowest stage sees it */
#include <stdio.h>
#include <string.h>

#include "table.h"

/* Adds to the line of the same name, or starts one. */
static void add_volume(plait_cost *cost, plait_volume volume)
{
    if (volume.count <= 0.0 || volume.ranks < 2 || volume.bytes <= 0.0)
        return;
    for (int i = 0; i < cost->volumes; i++) {
        plait_volume *known = &cost->volume[i];
        if (known->axis != volume.axis || known->op != volume.op ||
            known->bytes != volume.bytes) // one line a size
            continue;
        known->count += volume.count;
        known->seconds += volume.seconds;
        known->exposed_s += volume.exposed_s;
        return;
    }
    if (cost->volumes < PLAIT_MAX_VOLUMES)
        cost->volume[cost->volumes++] = volume;
}

static const char *what_of(plait_axis axis, plait_collective_op op)
{
    switch (axis) {
    case PLAIT_AXIS_TP:
        return op == PLAIT_ALL_GATHER       ? "TP all-gather"
               : op == PLAIT_REDUCE_SCATTER ? "TP reduce-scatter"
                                            : "TP all-reduce";
    case PLAIT_AXIS_CP:
        return op == PLAIT_P2P              ? "CP ring exchange"
               : op == PLAIT_ALL_TO_ALL     ? "CP all-to-all"
               : op == PLAIT_REDUCE_SCATTER ? "CP reduce-scatter"
                                            : "CP all-gather";
    case PLAIT_AXIS_EP:
        return "EP all-to-all";
    case PLAIT_AXIS_ETP:
        return op == PLAIT_ALL_GATHER ? "ETP all-gather" : "ETP reduce-scatter";
    default:
        return "collective";
    }
}

/* The collectives of `times` passes over one block. */
static void add_block(const plait_problem *problem, const plait_degrees *d,
                      const plait_block *block, double attention_s, double times, plait_cost *cost)
{
    for (int i = 0; i < block->ops; i++) {
        const plait_op *op = &block->op[i];
        if (op->kind != PLAIT_OP_COLLECTIVE)
            continue;
        const collective_time time = collective_time_of(problem, d, op, attention_s);
        add_volume(cost, (plait_volume){
                             .what = what_of(op->axis, op->collective),
                             .op = op->collective,
                             .axis = op->axis,
                             .ranks = plait_group_of(d, op->axis).ranks,
                             .count = times * op->count,
                             .bytes = op->bytes,
                             .seconds = times * time.seconds,
                             .exposed_s = times * time.exposed_s,
                         });
    }
}

static void add_layers(const plait_problem *problem, const plait_degrees *d, const layer_row *row,
                       int kind, double layers, double recomputed, plait_cost *cost)
{
    const plait_layer *layer = &problem->model->kind[kind];
    const layer_price *price = &row->price[kind];
    plait_block block;

    plait_block_describe(problem->model, layer, &row->shard, pass_of(problem, d, PLAIT_FORWARD),
                         &block);
    add_block(problem, d, &block, price->forward[LAYER_ATTENTION], layers + recomputed, cost);
    plait_block_describe(problem->model, layer, &row->shard, pass_of(problem, d, PLAIT_BACKWARD),
                         &block);
    add_block(problem, d, &block, price->backward[LAYER_ATTENTION], layers, cost);
}

static void add_ends(const plait_problem *problem, const plait_degrees *d, const layer_row *row,
                     const stage_load *load, double times, plait_cost *cost)
{
    static const plait_pass_kind passes[] = {PLAIT_FORWARD, PLAIT_BACKWARD};
    plait_block block;

    for (int p = 0; p < 2; p++) {
        const plait_pass pass = pass_of(problem, d, passes[p]);
        if (load->embedding) {
            plait_block_embedding(problem->model, &row->shard, pass, &block);
            add_block(problem, d, &block, 0.0, times, cost);
        }
        if (load->loss) {
            plait_block_head(problem->model, &row->shard, pass, &block);
            add_block(problem, d, &block, 0.0, times, cost);
        }
    }
}

static void add_sends(const plait_problem *problem, const plait_degrees *d, const layer_row *row,
                      const step_sum *sum, plait_cost *cost)
{
    const double sends = 2.0 * plait_degrees_microbatches(d, problem->job.gbs) * d->vpp;

    add_volume(cost, (plait_volume){.what = "PP send",
                                    .op = PLAIT_P2P,
                                    .axis = PLAIT_AXIS_PP,
                                    .ranks = d->pp,
                                    .count = sends,
                                    .bytes = row->p2p_bytes,
                                    .seconds = sends * pipeline_send_s(problem, d, row),
                                    .exposed_s = sum->pp_comm_s});
}

/* Gradients and parameters: once a step, or by each microbatch under ZeRO-2 and -3. */
static void add_replicas(const plait_problem *problem, const plait_degrees *d,
                         const stage_load *load, const step_sum *sum, plait_cost *cost)
{
    const sync_routes routes = sync_routes_of(problem, d);
    const stage_sync sync = stage_sync_of(problem, d, &routes, load);
    const plait_state_bytes *state = &problem->runtime->state;
    const double m = plait_degrees_microbatches(d, problem->job.gbs);
    const double all_s = sync.reduce_s + sync.gather_s;
    const double exposed = all_s > 0.0 ? sum->dp_comm_s / all_s : 0.0;
    plait_volume reduce = {
        .what = d->zero == 0 ? "DP gradient all-reduce" : "DP gradient reduce-scatter",
        .op = d->zero == 0 ? PLAIT_ALL_REDUCE : PLAIT_REDUCE_SCATTER,
        .axis = PLAIT_AXIS_DP,
        .ranks = d->shard_group,
        .count = d->zero >= 2 ? m : 1.0,
        .bytes = state->gradient_reduce * (load->dense + load->expert),
        .seconds = sync.reduce_s - sync.across_s,
        .exposed_s = exposed * (sync.reduce_s - sync.across_s),
    };
    const plait_volume across = {
        .what = "DP gradient all-reduce",
        .op = PLAIT_ALL_REDUCE,
        .axis = PLAIT_AXIS_DP,
        .ranks = d->dp * d->cp / d->shard_group,
        .count = 1.0,
        .bytes = state->gradient_reduce *
                 (load->dense / routes.ways.dense + load->expert / routes.ways.expert),
        .seconds = sync.across_s,
        .exposed_s = exposed * sync.across_s,
    };
    plait_volume gather = {
        .what = "DP parameter all-gather",
        .op = PLAIT_ALL_GATHER,
        .axis = PLAIT_AXIS_DP,
        .ranks = d->shard_group,
        .count = d->zero == 3   ? 2.0 * m
                 : d->zero >= 1 ? 1.0
                                : 0.0,
        .bytes = state->gather * (load->dense + load->expert),
        .seconds = sync.gather_s,
        .exposed_s = exposed * sync.gather_s,
    };

    if (d->zero >= 2) { // listed whole; what is exposed of it is the term `gather`
        const plait_collective_op scatter = PLAIT_REDUCE_SCATTER;
        reduce.seconds += m * over_shards_s(&routes, scatter, state->gradient_reduce * load->dense,
                                            state->gradient_reduce * load->expert);
        reduce.exposed_s += cost->step.gather_s * (d->zero == 3 ? 1.0 / 3.0 : 1.0);
    }
    if (d->zero == 3) {
        gather.seconds += 2.0 * m *
                          over_shards_s(&routes, PLAIT_ALL_GATHER, state->gather * load->dense,
                                        state->gather * load->expert);
        gather.exposed_s += cost->step.gather_s * 2.0 / 3.0;
    }
    add_volume(cost, reduce);
    add_volume(cost, across);
    add_volume(cost, gather);
}

void volumes_of(const plait_problem *problem, const plait_plan *plan, const layer_row *row,
                const stage_load *load, const step_sum *sum, plait_cost *cost)
{
    const plait_degrees *d = &plan->degrees;
    const plait_stage *stage = &plan->stage[sum->slowest];
    const double m = plait_degrees_microbatches(d, problem->job.gbs);
    double layers[PLAIT_MAX_LAYER_KINDS] = {0};
    double again[PLAIT_MAX_LAYER_KINDS] = {0};
    int at = 0;

    for (int c = 0; c < stage->chunks; c++) {
        for (int i = stage->chunk[c].first; i < stage->chunk[c].last; i++, at++) {
            const int kind = problem->model->layer_kind[i];
            layers[kind] += m;
            again[kind] += stage->recompute[at].kind == PLAIT_RECOMPUTE_FULL ? m : 0.0;
        }
        layers[problem->model->mtp_kind] += stage->chunk[c].mtp * m;
    }
    cost->volumes = 0;
    for (int k = 0; k < problem->model->kinds; k++)
        if (layers[k] > 0.0)
            add_layers(problem, d, row, k, layers[k], again[k], cost);
    add_ends(problem, d, row, load, m, cost);
    add_sends(problem, d, row, sum, cost);
    add_replicas(problem, d, load, sum, cost);
}
