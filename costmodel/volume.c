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

/* The lines of one kind of parameter: how its gradients and copies travel among its replicas. */
typedef struct replica_lines {
    const char *scatter, *reduce, *across, *gather;
    plait_axis axis;
    double params;
    const plait_route *shard;    /* the ranks that share one copy */
    const plait_route *replicas; /* those that hold the same shard */
} replica_lines;

/* Lines that one term pays for: it is shared out among them by their seconds. */
typedef struct line_set {
    int count;
    double seconds;
    plait_volume line[8];
} line_set;

static void put_line(line_set *set, plait_volume line)
{
    if (line.count <= 0.0 || line.ranks < 2)
        return;
    set->seconds += line.seconds;
    set->line[set->count++] = line;
}

static void add_lines(const line_set *set, double exposed_s, plait_cost *cost)
{
    for (int i = 0; i < set->count; i++) {
        plait_volume line = set->line[i];
        line.exposed_s = set->seconds > 0.0 ? exposed_s * line.seconds / set->seconds : 0.0;
        add_volume(cost, line);
    }
}

static plait_volume line_of(const char *what, plait_collective_op op, const replica_lines *lines,
                            const plait_route *route, plait_network network, double count,
                            double bytes)
{
    return (plait_volume){
        .what = what,
        .op = op,
        .axis = lines->axis,
        .ranks = route->ranks,
        .count = count,
        .bytes = bytes,
        .seconds = count * plait_collective_s(route, network, op, bytes),
    };
}

/* Once a step, in buckets. */
static plait_volume buckets_line(const plait_problem *problem, const char *what,
                                 plait_collective_op op, const replica_lines *lines,
                                 const plait_route *route, double bytes)
{
    const double buckets = buckets_of(&problem->runtime->overlap, route, bytes);

    return line_of(what, op, lines, route, network_of(problem), buckets, bytes / buckets);
}

/* Gradients and parameters of one kind: once a step, or by each microbatch (ZeRO-2 and -3). */
static void put_lines(const plait_problem *problem, const plait_degrees *d,
                      const replica_lines *lines, line_set *step, line_set *each)
{
    const plait_network network = network_of(problem);
    const plait_state_bytes *state = &problem->runtime->state;
    const double m = plait_degrees_microbatches(d, problem->job.gbs);
    const double gradient = state->gradient_reduce * lines->params;
    const double parameter = state->gather * lines->params;

    if (d->zero == 0) {
        put_line(step, buckets_line(problem, lines->reduce, PLAIT_ALL_REDUCE, lines, lines->shard,
                                    gradient));
        return;
    }
    if (d->zero == 1)
        put_line(step, buckets_line(problem, lines->scatter, PLAIT_REDUCE_SCATTER, lines,
                                    lines->shard, gradient));
    else
        put_line(each, line_of(lines->scatter, PLAIT_REDUCE_SCATTER, lines, lines->shard, network,
                               m, gradient));
    put_line(step, buckets_line(problem, lines->across, PLAIT_ALL_REDUCE, lines, lines->replicas,
                                gradient / lines->shard->ranks));
    if (d->zero == 3)
        put_line(each, line_of(lines->gather, PLAIT_ALL_GATHER, lines, lines->shard, network,
                               2.0 * m, parameter));
    else
        put_line(step, buckets_line(problem, lines->gather, PLAIT_ALL_GATHER, lines, lines->shard,
                                    parameter));
}

static void add_replicas(const plait_problem *problem, const plait_degrees *d,
                         const stage_load *load, const step_sum *sum, plait_cost *cost)
{
    const sync_routes routes = sync_routes_of(problem, d);
    const replica_lines dense = {
        "DP gradient reduce-scatter",
        "DP gradient all-reduce",
        "DP gradient all-reduce",
        "DP parameter all-gather",
        PLAIT_AXIS_DP,
        load->dense,
        &routes.shard,
        &routes.replicas,
    };
    const replica_lines expert = {
        "EDP gradient reduce-scatter",
        "EDP gradient all-reduce",
        "EDP gradient all-reduce",
        "EDP parameter all-gather",
        PLAIT_AXIS_EDP,
        load->expert,
        &routes.expert_shard,
        &routes.expert_replicas,
    };
    line_set step = {0};
    line_set each = {0};

    put_lines(problem, d, &dense, &step, &each);
    if (load->expert > 0.0)
        put_lines(problem, d, &expert, &step, &each);
    add_lines(&step, sum->dp_comm_s, cost);
    add_lines(&each, cost->step.gather_s, cost);
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
