/*
 * overlap.c - gradients and parameters on the wire, and what of it hides behind compute
 *
 *     ZeRO-0   all-reduce of gradients, once a step
 *     ZeRO-1   reduce-scatter of gradients, all-gather of parameters, once a step
 *     ZeRO-2   reduce-scatter by each microbatch, all-gather once a step
 *     ZeRO-3   all-gather for forward and backward and reduce-scatter by each microbatch
 *     shards over fewer ranks than replicas (HSDP): also an all-reduce of the shard across them
 */
#include <math.h>
#include <string.h>

#include "stage_sum.h"

sync_routes sync_routes_of(const plait_problem *problem, const plait_degrees *d)
{
    const plait_group_shape replicas = plait_group_replicas(d);
    const plait_group_shape experts = plait_group_of(d, PLAIT_AXIS_EDP);
    const plait_group_shape stages = plait_group_of(d, PLAIT_AXIS_PP);
    const shard_ways ways = shard_ways_of(d);
    const plait_group_shape ends = {
        .ranks = d->pp > 1 ? 2 : 1,
        .runs = 1,
        .run = {{d->pp > 1 ? 2 : 1, stages.run[0].stride * (d->pp > 1 ? d->pp - 1 : 1)}},
        .placement = d->placement,
    };

    return (sync_routes){
        .state = plait_state_of(problem, d),
        .ways = ways,
        .shard = plait_route_of(problem->cluster, plait_group_inner(replicas, ways.dense)),
        .replicas = plait_route_of(problem->cluster, plait_group_outer(replicas, ways.dense)),
        .expert_shard = plait_route_of(problem->cluster, plait_group_inner(experts, ways.expert)),
        .expert_replicas =
            plait_route_of(problem->cluster, plait_group_outer(experts, ways.expert)),
        .ends = plait_route_of(problem->cluster, ends),
        .network = network_of(problem),
    };
}

// ---- ZeRO-2 and -3, by layer (C.63) --------------------------------------------------------

double over_shards_s(const sync_routes *routes, plait_collective_op op, double dense_bytes,
                     double expert_bytes)
{
    return plait_collective_s(&routes->shard, routes->network, op, dense_bytes) +
           plait_collective_s(&routes->expert_shard, routes->network, op, expert_bytes);
}

void gather_row_fill(const plait_problem *problem, const plait_degrees *d,
                     const sync_routes *routes, const layer_row *row, gather_row *out)
{
    const plait_state_bytes *state = &routes->state;

    memset(out, 0, sizeof *out);
    out->gathers = d->zero == 3;
    out->scatters = d->zero >= 2;
    if (!out->scatters)
        return;
    for (int i = 0; i < ROW_PRICES; i++) {
        const plait_weights *w = &row->price[i].gathered;
        if (i >= problem->model->kinds && i < ROW_EMBEDDING)
            continue;
        out->layer[i].scatter_s =
            over_shards_s(routes, PLAIT_REDUCE_SCATTER, state->gradient_reduce * w->dense,
                          state->gradient_reduce * w->expert);
        if (out->gathers)
            out->layer[i].gather_s = over_shards_s(
                routes, PLAIT_ALL_GATHER, state->gather * w->dense, state->gather * w->expert);
    }
}

// ---- once a step (C.65) --------------------------------------------------------------------

/* A large buffer goes in buckets, each with its own latency. */
double buckets_of(const plait_overlaps *overlap, const plait_route *route, double bytes)
{
    const double bucket_bytes =
        larger(overlap->bucket_bytes, overlap->bucket_bytes_per_rank * route->ranks);

    return bucket_bytes > 0.0 ? larger(1.0, ceil(bytes / bucket_bytes)) : 1.0;
}

static double bucketed_s(const plait_overlaps *overlap, const plait_route *route,
                         plait_network network, plait_collective_op op, double bytes)
{
    const double buckets = buckets_of(overlap, route, bytes);

    return buckets * plait_collective_s(route, network, op, bytes / buckets);
}

/* Among the ranks of one shard: everything under ZeRO-0, nothing left from ZeRO-2 on. */
static double shard_reduce_s(const plait_overlaps *overlap, int zero, const plait_route *shard,
                             plait_network network, double bytes)
{
    if (zero >= 2) // scattered by each microbatch already
        return 0.0;
    return bucketed_s(overlap, shard, network, zero == 0 ? PLAIT_ALL_REDUCE : PLAIT_REDUCE_SCATTER,
                      bytes);
}

static double reduce_in_shards_s(const plait_problem *problem, const plait_degrees *d,
                                 const sync_routes *routes, const stage_load *load)
{
    const plait_overlaps *overlap = &problem->runtime->overlap;
    const double bytes = routes->state.gradient_reduce;

    return shard_reduce_s(overlap, d->zero, &routes->shard, routes->network, bytes * load->dense) +
           shard_reduce_s(overlap, d->zero, &routes->expert_shard, routes->network,
                          bytes * load->expert);
}

/* Between the holders of one shard (HSDP); routes of one rank cost nothing. */
static double reduce_across_s(const plait_problem *problem, const plait_degrees *d,
                              const sync_routes *routes, const stage_load *load)
{
    const plait_overlaps *overlap = &problem->runtime->overlap;
    const double bytes = routes->state.gradient_reduce;

    if (d->zero == 0)
        return 0.0;
    return bucketed_s(overlap, &routes->replicas, routes->network, PLAIT_ALL_REDUCE,
                      bytes * load->dense / routes->ways.dense) +
           bucketed_s(overlap, &routes->expert_replicas, routes->network, PLAIT_ALL_REDUCE,
                      bytes * load->expert / routes->ways.expert);
}

double tied_gradient_bytes(const plait_problem *problem, const plait_degrees *d,
                           const plait_state_bytes *state)
{
    return state->gradient_reduce * problem->model->vocab / d->tp * problem->model->hidden;
}

/* A tied embedding lives on both ends of the pipeline: its gradients are added up. (C.65) */
static double reduce_tied_s(const plait_problem *problem, const plait_degrees *d,
                            const sync_routes *routes, const stage_load *load)
{
    if (!problem->model->tied || d->pp == 1 || !(load->embedding || load->loss))
        return 0.0;
    return plait_collective_s(&routes->ends, routes->network, PLAIT_ALL_REDUCE,
                              tied_gradient_bytes(problem, d, &routes->state));
}

static double gather_s(const plait_problem *problem, const plait_degrees *d,
                       const sync_routes *routes, const stage_load *load)
{
    const double bytes = routes->state.gather;
    const plait_overlaps *overlap = &problem->runtime->overlap;

    if (d->zero != 1 && d->zero != 2)
        return 0.0;
    return bucketed_s(overlap, &routes->shard, routes->network, PLAIT_ALL_GATHER,
                      bytes * load->dense) +
           bucketed_s(overlap, &routes->expert_shard, routes->network, PLAIT_ALL_GATHER,
                      bytes * load->expert);
}

// ---- the optimizer step (C.69) -------------------------------------------------------------

/*
 * On the host: gradients go down and parameters up the link of each GPU, and the GPUs of a node share
 * its processors. Nothing of it overlaps: a bound from above of what software hides. (C.69)
 */
static double host_step_s(const plait_problem *problem, const plait_state_bytes *state,
                          double shard)
{
    const plait_accelerator *gpu = plait_cluster_accelerator(problem->cluster, 0);
    const int node = problem->cluster->group[0].gpus_per_node;
    const int neighbours = node < problem->job.gpus ? node : problem->job.gpus;

    return shard * (state->gradient_reduce + state->gather) / gpu->host_bytes_per_s +
           shard * neighbours * gpu->host_adam_s;
}

/*
 * The optimizer moves step_bytes a parameter of its shard and passes its gradient shard_passes times
 * (norm, clip); gradient buffers are zeroed and scaled whole, buffer_passes. (C.69)
 */
static double optimizer_s(const plait_problem *problem, const plait_degrees *d,
                          const plait_state_bytes *state, double whole, double shard)
{
    const plait_accelerator *gpu = plait_cluster_accelerator(problem->cluster, 0);

    if (d->offload == PLAIT_OFFLOAD_OPTIMIZER)
        return host_step_s(problem, state, shard) +
               problem->runtime->factor.memory *
                   plait_memory_op_s(gpu, state->buffer_passes * state->gradient * whole);
    const double bytes = shard * (state->step_bytes + state->shard_passes * state->gradient) +
                         state->buffer_passes * state->gradient * whole;

    return problem->runtime->factor.memory * plait_memory_op_s(gpu, bytes);
}

stage_sync stage_sync_of(const plait_problem *problem, const plait_degrees *d,
                         const sync_routes *routes, const stage_load *load)
{
    const double whole = load->dense + load->expert;
    const double shard = load->dense / routes->ways.dense + load->expert / routes->ways.expert;

    const double across_s = reduce_across_s(problem, d, routes, load);

    return (stage_sync){
        .reduce_s = reduce_in_shards_s(problem, d, routes, load) + across_s +
                    reduce_tied_s(problem, d, routes, load),
        .across_s = across_s,
        .gather_s = gather_s(problem, d, routes, load),
        .optimizer_s = optimizer_s(problem, d, &routes->state, d->zero >= 2 ? shard : whole,
                                   d->zero >= 1 ? shard : whole),
    };
}

// ---- what stays exposed --------------------------------------------------------------------

/*
 * What sticks out of a window of computing, `window` of compute_s: collectives share the device and
 * begin when their first bucket is full. A share never hides. (C.66)
 */
static double overlapped_s(const plait_overlaps *overlap, double comm_s, double compute_s)
{
    return larger(overlap->dp_exposed * comm_s, comm_s - overlap->window * compute_s);
}

/* DistributedDataParallel has its own buckets under ZeRO-0, whatever the plan says. */
static plait_grad_sync sync_of(const plait_problem *problem, const plait_degrees *d)
{
    return d->zero == 0 && problem->runtime->overlap.ddp ? PLAIT_SYNC_BUCKETED
                                                         : (plait_grad_sync)d->grad_sync;
}

/*
 * Of one stage. Bucketed, it hides behind the stage's last backward; shifted, later stages have
 * finished theirs earlier and begin while others still compute (C.68); in bulk it is all exposed.
 */
static double reduction_exposed_s(const plait_overlaps *overlap, plait_grad_sync how,
                                  const stage_load *load, const stage_sync *sync, double backward_s)
{
    switch (how) {
    case PLAIT_SYNC_BUCKETED:
        return overlapped_s(overlap, sync->reduce_s, load->backward_s);
    case PLAIT_SYNC_SHIFTED:
        return larger(0.0, sync->reduce_s - load->index * backward_s);
    default:
        return sync->reduce_s;
    }
}

static double gather_left_s(const plait_overlaps *overlap, const stage_load *load,
                            const stage_sync *sync)
{
    return overlap->param_gather ? overlapped_s(overlap, sync->gather_s, load->forward_s)
                                 : sync->gather_s;
}

/*
 * Bulk synchronisation (Alpa) puts each stage's reduction on the way of the next: times of all stages
 * add up, and a load may stand for several (C.67). Else the slowest of what sticks out counts.
 */
double sync_exposed_s(const plait_problem *problem, const plait_degrees *d, const stage_load *loads,
                      const stage_sync *syncs, int count)
{
    const plait_overlaps *overlap = &problem->runtime->overlap;
    const plait_grad_sync how = sync_of(problem, d);
    double backward_s = HUGE_VAL;
    double reduce_left_s = 0.0;
    double gather_s_left = 0.0;

    for (int i = 0; i < count; i++)
        backward_s = smaller(backward_s, loads[i].backward_s);
    for (int i = 0; i < count; i++) {
        const double left_s = reduction_exposed_s(overlap, how, &loads[i], &syncs[i], backward_s);
        reduce_left_s = how == PLAIT_SYNC_BULK ? reduce_left_s + loads[i].count * left_s
                                               : larger(reduce_left_s, left_s);
        gather_s_left = larger(gather_s_left, gather_left_s(overlap, &loads[i], &syncs[i]));
    }
    return reduce_left_s + gather_s_left;
}
