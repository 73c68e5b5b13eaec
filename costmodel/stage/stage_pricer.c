/*
 * stage_pricer.c - stages that differ: each priced on its own nodes, and what lies between them
 *
 *     sort    row of layers, gathers, routes: those of a plan that has these degrees in all stages, on
 *             its node group alone                                                          (C.221)
 *     stage   parts, load, state, sync: the sums that every price makes
 *     sends   one way each, over what joins the two groups                                  (C.222)
 */
#include "costmodel/stage/stage_pricer.h"

#include <math.h>

int plait_stage_sort_stages(const plait_problem *problem, int group, const plait_degrees *d)
{
    const int gpus = plait_cluster_taken(problem->cluster, problem->job.gpus, group);
    const int64_t stages = gpus / ((int64_t)d->tp * d->cp * d->dp);
    const int layers = problem->model->layers > 2 ? problem->model->layers : 2;

    return stages < 2 ? 2 : stages < layers ? (int)stages : layers;
}

plait_stage_sort *plait_stage_sort_new(const plait_problem *problem, int group,
                                       const plait_degrees *d, plait_arena *arena)
{
    const size_t parts = (size_t)stage_parts_most(problem->model->layers);
    plait_stage_sort *sort = plait_arena_alloc(arena, 1, sizeof *sort);

    if (!sort)
        return NULL;
    sort->part = plait_arena_alloc(arena, parts, sizeof *sort->part);
    if (!sort->part)
        return NULL;
    sort->problem = plait_problem_of_group(problem, group, d, &sort->cluster);
    sort->degrees = *d;
    sort->whole = problem->cluster;
    sort->group = group;
    layer_row_fill(&sort->problem, layer_key_of(d), &sort->row);
    sort->routes = sync_routes_of(&sort->problem, d);
    gather_row_fill(&sort->problem, d, &sort->routes, &sort->row, &sort->gather);
    return sort;
}

double plait_stage_sort_capacity_bytes(const plait_stage_sort *sort, double risk)
{
    return plait_capacity_bytes(&sort->problem, risk);
}

// ---- one stage -----------------------------------------------------------------------------

/* Two GPUs of unlike groups. (C.220) */
static plait_route pair_route(const plait_cluster *pair)
{
    const plait_group_shape two = {.ranks = 2, .runs = 1, .run = {{2, 1}}};

    return plait_route_of(pair, two);
}

/* The two copies of a tied embedding meet over what joins their groups. (C.227) */
static stage_sync sync_of(const plait_stage_sort *sort, const stage_load *load, int other)
{
    if (other == sort->group || !sort->problem.model->tied)
        return stage_sync_of(&sort->problem, &sort->degrees, &sort->routes, load);
    const plait_cluster pair = plait_cluster_of_pair(sort->whole, sort->group, other);
    sync_routes routes = sort->routes;

    routes.ends = pair_route(&pair);
    return stage_sync_of(&sort->problem, &sort->degrees, &routes, load);
}

sorted_stage stage_sort_sum(plait_stage_sort *sort, const plait_stage *stage, int other,
                            double in_flight)
{
    const plait_problem *problem = &sort->problem;
    sorted_stage out = {.parts = stage_parts_of(problem->model, stage, sort->part)};

    out.load = (stage_load){
        .count = 1,
        .in_flight = in_flight,
        .embedding = stage_parts_have(&out.parts, ROW_EMBEDDING),
        .loss = stage_parts_have(&out.parts, ROW_HEAD),
    };
    stage_load_add_parts(problem, &sort->row, &sort->gather, &out.parts, &out.load);
    out.load.held_bytes = in_flight * out.load.saved_bytes;
    out.state = stage_state_of(problem, &sort->degrees, &sort->row, &sort->routes.state,
                               sort->routes.ways, &out.load);
    out.sync = sync_of(sort, &out.load, other);
    return out;
}

plait_stage_price stage_sort_price_of(const plait_stage_sort *sort, const sorted_stage *stage)
{
    const stage_load *load = &stage->load;
    const double gather_s =
        gather_left_s(&sort->problem.runtime->overlap, grad_sync_of(&sort->problem, &sort->degrees),
                      load, &stage->sync);
    stage_load idle = *load;

    idle.held_bytes = 0.0;
    return (plait_stage_price){
        .forward_s = load->forward_s,
        .backward_s = load->backward_s,
        .state_bytes =
            stage_memory(&sort->problem, &sort->degrees, &sort->row, &idle, &stage->state)
                .peak_bytes,
        .flight_bytes = sort->problem.runtime->keep.fragmentation * load->saved_bytes,
        .reduce_s =
            sync_exposed_s(&sort->problem, &sort->degrees, load, &stage->sync, 1) - gather_s,
        .gather_s = gather_s,
        .optimizer_s = optimizer_left_s(load, &stage->sync),
        .busy_s = load->busy_s,
        .moving_s = load->moving_s,
    };
}

plait_stage_price plait_stage_sort_price(plait_stage_sort *sort, const plait_stage *stage,
                                         int other)
{
    const sorted_stage sum = stage_sort_sum(sort, stage, other, 0.0);

    return stage_sort_price_of(sort, &sum);
}

// ---- between stages ------------------------------------------------------------------------

/*
 * One microbatch to stages of other degrees: each receiver takes its own part, and senders share them
 * out evenly, so that one GPU sends or receives the larger of the two. Each further peer costs a
 * latency. (C.222)
 */
static double resharded_s(const plait_stage_sort *from, const plait_stage_sort *to)
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

/* Inside one sort a send is that of any plan. (C.64) */
static double one_way_s(const plait_stage_sort *from, const plait_stage_sort *to)
{
    return from == to ? pipeline_send_s(&from->problem, &from->degrees, &from->row)
                      : resharded_s(from, to);
}

void plait_between_add_boundary(plait_between_stages *sum, const plait_stage_sort *from,
                                const plait_stage_sort *to)
{
    const double there_s = one_way_s(from, to);
    const double back_s = one_way_s(to, from);

    sum->sends_s += there_s + back_s;
    sum->slowest_s = larger(sum->slowest_s, there_s + back_s);
    sum->link_s = larger(sum->link_s, larger(there_s, back_s));
}

void plait_between_add_stage(plait_between_stages *sum, const plait_stage_price *price)
{
    sum->reduce_s = larger(sum->reduce_s, price->reduce_s);
    sum->gather_s = larger(sum->gather_s, price->gather_s);
    sum->optimizer_s = larger(sum->optimizer_s, price->optimizer_s);
}

/*
 * The fill and drain wait for every boundary; in the steady state for the slowest, all of it when
 * synchronous, else a share, and never less than its link takes for all microbatches. (C.224, C.225)
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
    return pipeline_s + plait_between_sends_s(problem, sum, m, pipeline_s) + sum->reduce_s +
           sum->gather_s + sum->optimizer_s;
}
