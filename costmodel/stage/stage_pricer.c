/*
 * stage_pricer.c - heterogeneous pipelines: the price of a stage on its own nodes, and of its sends
 *
 *     pricer   rows, gathers and routes of a plan that has these degrees in all stages, on its node
 *              group alone                                                                (C.221)
 *     stage    summed as in every other price (stage_cost.c)
 *     sends    one time in each direction, over the link between the two groups           (C.222)
 */
#include "costmodel/stage/stage_cost.h"

#include <math.h>

#include "costmodel/layer/layer_ops.h"

struct plait_stage_cache {
    const plait_problem *problem;
    plait_arena *arena;
    layer_cache *layers[PLAIT_MAX_NODE_GROUPS]; /* NULL: not used yet */
};

int plait_stage_pricer_stages(const plait_problem *problem, int group, const plait_degrees *d)
{
    const int gpus = plait_cluster_taken(problem->cluster, problem->job.gpus, group);
    const int64_t stages = gpus / ((int64_t)d->tp * d->cp * d->dp);
    const int layers = problem->model->layers > 2 ? problem->model->layers : 2;

    return stages < 2 ? 2 : stages < layers ? (int)stages : layers;
}

plait_stage_cache *plait_stage_cache_new(const plait_problem *problem, plait_arena *arena)
{
    plait_stage_cache *const cache = plait_arena_alloc(arena, 1, sizeof *cache);

    if (cache)
        *cache = (plait_stage_cache){.problem = problem, .arena = arena};
    return cache;
}

/*
 * Returns the cache of one group; NULL: no cache. Routes over direct links and grids may depend on
 * the number of GPUs of the cluster, which differs between the pricers of a group.
 */
static layer_cache *cache_of(plait_stage_cache *cache, const plait_cluster *of_group, int group)
{
    if (!cache || of_group->level[of_group->levels - 1].kind != PLAIT_LEVEL_SWITCH)
        return NULL;
    if (!cache->layers[group]) {
        cache->layers[group] = layer_cache_new(cache->problem, cache->arena);
        if (cache->layers[group])
            layer_cache_grow(cache->layers[group], cache->arena, NULL);
    }
    return cache->layers[group];
}

static plait_stage_pricer *pricer_new(const plait_problem *problem, const plait_degrees *d,
                                      int layers, layer_cache *cache, plait_arena *arena)
{
    plait_stage_pricer *pricer = plait_arena_alloc(arena, 1, sizeof *pricer);

    if (!pricer)
        return NULL;
    pricer->part = plait_arena_alloc(arena, (size_t)stage_parts_most(layers), sizeof *pricer->part);
    if (!pricer->part)
        return NULL;
    pricer->problem = *problem;
    pricer->degrees = *d;
    pricer->whole = problem->cluster;
    pricer->row.cache = cache;
    layer_row_fill(&pricer->problem, layer_key_of(d), &pricer->row);
    pricer->row.cache = NULL;
    pricer->routes = sync_routes_of(&pricer->problem, d);
    gather_row_fill(&pricer->problem, d, &pricer->routes, &pricer->row, &pricer->gather);
    return pricer;
}

plait_stage_pricer *stage_pricer_new(const plait_problem *problem, const plait_degrees *d,
                                     int layers, plait_arena *arena)
{
    return pricer_new(problem, d, layers, NULL, arena);
}

plait_stage_pricer *plait_stage_pricer_new(const plait_problem *problem, int group,
                                           const plait_degrees *d, plait_stage_cache *cache,
                                           plait_arena *arena)
{
    plait_cluster *cluster = plait_arena_alloc(arena, 1, sizeof *cluster);

    if (!cluster)
        return NULL;
    const plait_problem of_group = plait_problem_of_group(problem, group, d, cluster);
    plait_stage_pricer *pricer =
        pricer_new(&of_group, d, problem->model->layers, cache_of(cache, cluster, group), arena);
    if (!pricer)
        return NULL;
    pricer->whole = problem->cluster;
    pricer->group = group;
    return pricer;
}

stage_rows stage_rows_of(const plait_stage_pricer *pricer)
{
    return (stage_rows){&pricer->problem, &pricer->degrees, &pricer->row, &pricer->gather,
                        &pricer->routes};
}

double plait_stage_pricer_capacity_bytes(const plait_stage_pricer *sort, double risk)
{
    return plait_capacity_bytes(&sort->problem, risk);
}

// ---- one stage -----------------------------------------------------------------------------

/* Route between two GPUs of different groups. (C.220) */
static plait_route pair_route(const plait_cluster *pair)
{
    const plait_group_shape two = {.ranks = 2, .runs = 1, .run = {{2, 1}}};

    return plait_route_of(pair, two);
}

/*
 * The two copies of a tied embedding exchange gradients over the link between their node groups.
 * (C.227)
 */
stage_cost stage_pricer_sum(plait_stage_pricer *pricer, const plait_stage *stage, int other,
                            double in_flight, stage_parts *parts)
{
    const stage_parts list = stage_parts_of(pricer->problem.model, stage, pricer->part);
    stage_rows rows = stage_rows_of(pricer);
    plait_cluster pair; // routes.ends points to it
    sync_routes routes;

    if (parts)
        *parts = list;
    if (other != pricer->group && pricer->problem.model->tied) {
        pair = plait_cluster_of_pair(pricer->whole, pricer->group, other);
        routes = pricer->routes;
        routes.ends = pair_route(&pair);
        rows.routes = &routes;
    }
    return stage_cost_of(&rows, &list, in_flight);
}

plait_stage_price stage_pricer_price(const plait_stage_pricer *pricer, const stage_cost *cost)
{
    const plait_problem *problem = &pricer->problem;
    const stage_load *load = &cost->load;
    stage_cost idle = *cost;

    idle.load.held_bytes = 0.0;
    return (plait_stage_price){
        .time = {load->forward_s, load->backward_s, 0.0},
        .tail = plait_stage_tail_of(problem, &pricer->degrees, cost),
        .state_bytes = stage_memory(problem, &pricer->degrees, &idle).peak_bytes,
        .flight_bytes = problem->runtime->keep.fragmentation * load->saved_bytes,
        .busy_s = load->busy_s,
        .moving_s = load->moving_s,
    };
}

plait_stage_price plait_stage_pricer_price(plait_stage_pricer *pricer, const plait_stage *stage,
                                           int other)
{
    const stage_cost cost = stage_pricer_sum(pricer, stage, other, 0.0, NULL);

    return stage_pricer_price(pricer, &cost);
}

// ---- between stages ------------------------------------------------------------------------

/*
 * Time to send one microbatch to a stage with other degrees. The receivers' parts are distributed
 * evenly over the senders, and the side with fewer GPUs limits the rate. Each peer beyond the first
 * adds one latency. (C.222)
 */
static double resharded_s(const plait_stage_pricer *from, const plait_stage_pricer *to)
{
    const plait_degrees *a = &from->degrees, *b = &to->degrees;
    const double senders = (double)a->tp * a->cp * a->dp;
    const double receivers = (double)b->tp * b->cp * b->dp;
    const double share = receivers / senders;
    const double bytes = to->row.p2p_bytes * larger(1.0, share);
    const double peers = ceil(larger(share, 1.0 / share));
    const plait_cluster pair = plait_cluster_of_pair(from->whole, from->group, to->group);
    const plait_route route = pair_route(&pair);
    const plait_network network = network_of(&from->problem);

    return peers * (plait_p2p_s(&route, network, 0.0) + from->problem.runtime->factor.p2p_s) +
           plait_p2p_s(&route, network, bytes) - plait_p2p_s(&route, network, 0.0);
}

plait_layer_cost plait_stage_pricer_layer(const plait_stage_pricer *pricer, int kind,
                                          plait_recompute recompute)
{
    const layer_time time =
        layer_time_of(&pricer->problem, &pricer->row.price[kind], &pricer->gather.layer[kind],
                      (plait_choice){.recompute = recompute});

    return (plait_layer_cost){time.forward_s, time.backward_s, time.weight_s, time.saved_bytes,
                              time.live_bytes};
}

double plait_stage_pricer_sends_s(const plait_stage_pricer *pricer)
{
    const plait_problem *const problem = &pricer->problem;
    const plait_degrees *const d = &pricer->degrees;

    return sends_exposed_s(problem, d, plait_degrees_microbatches(d, problem->job.gbs),
                           pipeline_send_s(problem, d, &pricer->row));
}

/* Two stages with the same pricer send as in a uniform plan. (C.64) */
static double one_way_s(const plait_stage_pricer *from, const plait_stage_pricer *to)
{
    return from == to ? pipeline_send_s(&from->problem, &from->degrees, &from->row)
                      : resharded_s(from, to);
}

void plait_between_add_boundary(plait_between_stages *sum, const plait_stage_pricer *from,
                                const plait_stage_pricer *to)
{
    const double there_s = one_way_s(from, to);
    const double back_s = one_way_s(to, from);

    sum->sends_s += there_s + back_s;
    sum->slowest_s = larger(sum->slowest_s, there_s + back_s);
    sum->link_s = larger(sum->link_s, larger(there_s, back_s));
}

void plait_between_add_stage(plait_between_stages *sum, const plait_stage_price *price)
{
    sum->tail.reduce_s = larger(sum->tail.reduce_s, price->tail.reduce_s);
    sum->tail.gather_s = larger(sum->tail.gather_s, price->tail.gather_s);
    sum->tail.optimizer_s = larger(sum->tail.optimizer_s, price->tail.optimizer_s);
}

/*
 * The fill and drain of the pipeline wait for every boundary. The steady state waits for the
 * slowest one: fully if sends are synchronous, else for a share of its time. Pipeline and sends
 * together take at least as long as the slowest link needs for all microbatches. (C.224, C.225)
 */
double plait_between_sends_s(const plait_problem *problem, const plait_between_stages *sum, int m,
                             double pipeline_s)
{
    const plait_overlaps *overlap = &problem->runtime->overlap;
    const double steady_s =
        overlap->p2p ? overlap->p2p_exposed * m * sum->slowest_s / 2.0 : (m - 1.0) * sum->slowest_s;

    return larger(sum->sends_s + steady_s, sum->sends_s + m * sum->link_s - pipeline_s);
}

double plait_between_step_s(const plait_problem *problem, const plait_between_stages *sum, int m,
                            double pipeline_s)
{
    return pipeline_s + plait_between_sends_s(problem, sum, m, pipeline_s) + sum->tail.reduce_s +
           sum->tail.gather_s + sum->tail.optimizer_s;
}
