/*
 * overlap.c - communication of gradients and parameters, and the part that compute does not hide
 *
 *     ZeRO-0   all-reduce of gradients, once per step
 *     ZeRO-1   reduce-scatter of gradients, all-gather of parameters, once per step
 *     ZeRO-2   reduce-scatter for each microbatch, all-gather once per step
 *     ZeRO-3   all-gather for forward and backward, reduce-scatter for each microbatch
 *     ZeRO++   a second copy of the parameters in each node for backward, fewer bits on the wire
 *     HSDP     shards over fewer ranks than replicas: also an all-reduce across equal shards
 */
#include <math.h>
#include <string.h>

#include "costmodel/stage/stage_cost.h"

static bool tells_nodes_apart(const plait_degrees *d)
{
    return d->zero >= 2 &&
           (d->reshard == PLAIT_RESHARD_NODE || d->quantise >= PLAIT_QUANTISE_GRADIENTS);
}

/*
 * Number of ranks of a shard group in one scale-up domain: the largest number that divides the
 * group and fits into the domain.
 */
static int ranks_in_domain(const plait_cluster *cluster, const plait_group_shape *shard)
{
    int ranks = plait_route_of(cluster, *shard).joined[0];

    while (ranks > 1 && (shard->ranks % ranks != 0 ||
                         (ranks % shard->run[0].size != 0 && shard->run[0].size % ranks != 0)))
        ranks--;
    return ranks;
}

static shard_nodes nodes_of(const plait_cluster *cluster, plait_group_shape replicas, int ways)
{
    const plait_group_shape shard = plait_group_inner(replicas, ways);
    const int ranks = ranks_in_domain(cluster, &shard);

    return (shard_nodes){
        .inside = plait_route_of(cluster, plait_group_inner(shard, ranks)),
        .across = plait_route_of(cluster, plait_group_outer(shard, ranks)),
    };
}

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

    sync_routes routes = {
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
    if (tells_nodes_apart(d)) {
        routes.dense_nodes = nodes_of(problem->cluster, replicas, ways.dense);
        routes.expert_nodes = nodes_of(problem->cluster, experts, ways.expert);
        routes.ways.node_dense = routes.dense_nodes.inside.ranks;
        routes.ways.node_expert = routes.expert_nodes.inside.ranks;
    }
    return routes;
}

shard_ways sync_ways_of(const plait_problem *problem, const plait_degrees *d)
{
    shard_ways ways = shard_ways_of(d);

    if (tells_nodes_apart(d)) {
        const plait_group_shape dense = plait_group_inner(plait_group_replicas(d), ways.dense);
        const plait_group_shape expert =
            plait_group_inner(plait_group_of(d, PLAIT_AXIS_EDP), ways.expert);

        ways.node_dense = ranks_in_domain(problem->cluster, &dense);
        ways.node_expert = ranks_in_domain(problem->cluster, &expert);
    }
    return ways;
}

sync_routes routes_of_stage(const plait_problem *problem, const sync_routes *routes,
                            const plait_degrees *own)
{
    sync_routes of_stage = *routes;

    of_stage.state = plait_state_of(problem, own);
    return of_stage;
}

// ---- ZeRO-2 and -3, by layer (C.63) --------------------------------------------------------

static double over_shards_s(const sync_routes *routes, plait_collective_op op, double dense_bytes,
                            double expert_bytes)
{
    return plait_collective_s(&routes->shard, routes->network, op, dense_bytes) +
           plait_collective_s(&routes->expert_shard, routes->network, op, expert_bytes);
}

static bool weights_quantised(const plait_degrees *d)
{
    return d->quantise == PLAIT_QUANTISE_WEIGHTS || d->quantise == PLAIT_QUANTISE_BOTH;
}

static bool gradients_quantised(const plait_degrees *d)
{
    return d->quantise >= PLAIT_QUANTISE_GRADIENTS;
}

double gathered_value_bytes(const plait_degrees *d, const plait_state_bytes *state)
{
    return weights_quantised(d) ? smaller(state->gather, 1.0) : state->gather;
}

double scattered_value_bytes(const plait_degrees *d, const plait_state_bytes *state)
{
    return gradients_quantised(d) ? 0.5 : state->gradient_reduce;
}

static double pass_s(const plait_problem *problem, double bytes)
{
    return problem->runtime->factor.memory *
           plait_memory_op_s(plait_cluster_accelerator(problem->cluster, 0), bytes);
}

/*
 * Time of the memory passes of a quantised gather: each rank converts its own part to 8 bits, and
 * converts all gathered values back. Each pass reads one format and writes the other. (C.170)
 */
static double gather_passes_s(const plait_problem *problem, const plait_degrees *d,
                              const sync_routes *routes, const plait_weights *w)
{
    const double part = w->dense / routes->ways.dense + w->expert / routes->ways.expert;

    if (!weights_quantised(d))
        return 0.0;
    return pass_s(problem, (routes->state.gather + 1.0) * (part + w->dense + w->expert));
}

static double gather_once_s(const plait_problem *problem, const plait_degrees *d,
                            const sync_routes *routes, const plait_weights *w)
{
    const double bytes = gathered_value_bytes(d, &routes->state);
    const double frozen = routes->state.frozen; // as stored

    return over_shards_s(routes, PLAIT_ALL_GATHER, bytes * w->dense + frozen * w->frozen_dense,
                         bytes * w->expert + frozen * w->frozen_expert) +
           gather_passes_s(problem, d, routes, w);
}

/*
 * Time of the gather before backward, which depends on `reshard`: `always` repeats the gather
 * before forward, `never` needs none, and `node` gathers inside the node. (C.169)
 */
static double gather_again_s(const plait_problem *problem, const plait_degrees *d,
                             const sync_routes *routes, const plait_weights *w, double once_s)
{
    const double bytes = gathered_value_bytes(d, &routes->state);
    const double frozen = routes->state.frozen;

    if (d->reshard == PLAIT_RESHARD_NEVER)
        return 0.0;
    if (d->reshard == PLAIT_RESHARD_ALWAYS)
        return once_s;
    return plait_collective_s(&routes->dense_nodes.inside, routes->network, PLAIT_ALL_GATHER,
                              bytes * w->dense + frozen * w->frozen_dense) +
           plait_collective_s(&routes->expert_nodes.inside, routes->network, PLAIT_ALL_GATHER,
                              bytes * w->expert + frozen * w->frozen_expert) +
           gather_passes_s(problem, d, routes, w);
}

/*
 * Time to reduce gradients in 4 bits. One all-to-all inside each node exchanges gradients, and one
 * across nodes exchanges their sums. Before each exchange a kernel quantises the values, and after
 * it a kernel adds them up. (C.171)
 */
static double scatter_narrow_s(const plait_problem *problem, const sync_routes *routes,
                               const shard_nodes *nodes, double params, int ways)
{
    const double wide = routes->state.gradient_reduce;
    const double inside = nodes->inside.ranks;

    if (params <= 0.0)
        return 0.0;
    return plait_collective_s(&nodes->inside, routes->network, PLAIT_ALL_TO_ALL, 0.5 * params) +
           plait_collective_s(&nodes->across, routes->network, PLAIT_ALL_TO_ALL,
                              0.5 * params / inside) +
           pass_s(problem, params * (wide + 1.0 + 1.0 / inside + wide / ways));
}

static double scatter_once_s(const plait_problem *problem, const plait_degrees *d,
                             const sync_routes *routes, const plait_weights *w)
{
    const double bytes = routes->state.gradient_reduce;

    if (!gradients_quantised(d))
        return over_shards_s(routes, PLAIT_REDUCE_SCATTER, bytes * w->dense, bytes * w->expert);
    return scatter_narrow_s(problem, routes, &routes->dense_nodes, w->dense, routes->ways.dense) +
           scatter_narrow_s(problem, routes, &routes->expert_nodes, w->expert, routes->ways.expert);
}

/*
 * Fills the times of copying a layer's parameters from the host, if they are offloaded there. A
 * rank copies its own shard before each gather. DeepSpeed keeps parameters that are used again
 * within `transient_params` parameters (stage3_max_reuse_distance). The recomputation and the
 * backward of a layer are twice its parameters apart, so a layer larger than half of that distance
 * is copied a third time. (C.381)
 */
static void fill_up(const plait_problem *problem, const plait_degrees *d, const sync_routes *routes,
                    const plait_weights *w, layer_gather *layer)
{
    const double part = w->dense / routes->ways.dense + w->expert / routes->ways.expert;
    const double reuse = problem->runtime->keep.transient_params;

    if (d->offload != PLAIT_OFFLOAD_PARAMS)
        return;
    const double frozen = routes->state.frozen * (w->frozen_dense / routes->ways.dense +
                                                  w->frozen_expert / routes->ways.expert);
    layer->up_s = (routes->state.weight * part + frozen) /
                  plait_cluster_accelerator(problem->cluster, 0)->host_bytes_per_s;
    if (d->reshard == PLAIT_RESHARD_NEVER)
        return;
    layer->up_again_s = layer->up_s;
    if (reuse > 0.0 && 2.0 * (w->dense + w->expert) > reuse)
        layer->up_rerun_s = layer->up_s;
}

void gather_row_fill(const plait_problem *problem, const plait_degrees *d,
                     const sync_routes *routes, const layer_row *row, gather_row *out)
{
    const bool gathers = d->zero == 3;
    const bool scatters = plait_scatters_each(d);

    memset(out, 0, sizeof *out);
    out->travels = gathers || scatters;
    out->pairs = d->ep_overlap;
    for (int i = 0; i < ROW_PRICES; i++) {
        const plait_weights *w = &row->price[i].gathered;
        layer_gather *layer = &out->layer[i];
        if (i >= problem->model->kinds && i < ROW_EMBEDDING)
            continue;
        layer->paired_s = row->price[i].paired_s[d->ep_overlap];
        if (scatters)
            layer->scatter_s = scatter_once_s(problem, d, routes, w);
        if (!gathers)
            continue;
        layer->gather_s = gather_once_s(problem, d, routes, w);
        layer->again_s = gather_again_s(problem, d, routes, w, layer->gather_s);
        fill_up(problem, d, routes, w, layer);
    }
}

// ---- once a step (C.65) --------------------------------------------------------------------

/*
 * Number of buckets of a buffer; each bucket costs one latency. Its size is that of the plan or,
 * without one, of the profile. (C.65)
 */
double buckets_of(const plait_overlaps *overlap, const plait_route *route, double plan_bucket_bytes,
                  double bytes)
{
    const double bucket_bytes =
        plan_bucket_bytes > 0.0
            ? plan_bucket_bytes
            : larger(overlap->bucket_bytes, overlap->bucket_bytes_per_rank * route->ranks);

    return bucket_bytes > 0.0 ? larger(1.0, ceil(bytes / bucket_bytes)) : 1.0;
}

static double bucketed_s(const plait_overlaps *overlap, const plait_route *route,
                         plait_network network, plait_collective_op op, double plan_bucket_bytes,
                         double bytes)
{
    const double buckets = buckets_of(overlap, route, plan_bucket_bytes, bytes);

    return buckets * plait_collective_s(route, network, op, bytes / buckets);
}

/* ZeRO-1 needs only the reduced gradients of its shard, but some software all-reduces. (C.65) */
plait_collective_op reduction_of(const plait_overlaps *overlap, const plait_degrees *d)
{
    return d->zero == 0 || (d->zero == 1 && overlap->reduce_whole) ? PLAIT_ALL_REDUCE
                                                                   : PLAIT_REDUCE_SCATTER;
}

/*
 * Time of the reduction within a shard group, once per step; 0 if each microbatch already
 * reduce-scatters its gradients. (C.172)
 */
static double shard_reduce_s(const plait_overlaps *overlap, const plait_degrees *d,
                             const plait_route *shard, plait_network network,
                             double plan_bucket_bytes, double bytes)
{
    if (plait_scatters_each(d))
        return 0.0;
    return bucketed_s(overlap, shard, network, reduction_of(overlap, d), plan_bucket_bytes, bytes);
}

static double reduce_in_shards_s(const plait_problem *problem, const plait_degrees *d,
                                 const sync_routes *routes, const stage_load *load)
{
    const plait_overlaps *overlap = &problem->runtime->overlap;
    const double bytes = routes->state.gradient_reduce;
    const double own = bytes * plait_bucket_elements(d);

    return shard_reduce_s(overlap, d, &routes->shard, routes->network, own, bytes * load->dense) +
           shard_reduce_s(overlap, d, &routes->expert_shard, routes->network, own,
                          bytes * load->expert);
}

/*
 * Time of the reduction across ranks that hold the same shard (HSDP); 0 if only one rank holds it.
 */
static double reduce_across_s(const plait_problem *problem, const plait_degrees *d,
                              const sync_routes *routes, const stage_load *load)
{
    const plait_overlaps *overlap = &problem->runtime->overlap;
    const double bytes = routes->state.gradient_reduce;
    const double own = bytes * plait_bucket_elements(d);

    if (d->zero == 0)
        return 0.0;
    return bucketed_s(overlap, &routes->replicas, routes->network, PLAIT_ALL_REDUCE, own,
                      bytes * load->dense / routes->ways.dense) +
           bucketed_s(overlap, &routes->expert_replicas, routes->network, PLAIT_ALL_REDUCE, own,
                      bytes * load->expert / routes->ways.expert);
}

double tied_gradient_bytes(const plait_problem *problem, const plait_degrees *d,
                           const plait_state_bytes *state)
{
    return state->gradient_reduce * problem->model->vocab / d->tp * problem->model->hidden;
}

/*
 * Time of the all-reduce of a tied embedding's gradients between the first and the last stage.
 * (C.65)
 */
static double reduce_tied_s(const plait_problem *problem, const plait_degrees *d,
                            const sync_routes *routes, const stage_load *load)
{
    if (!problem->model->tied || plait_tuning_freezes(&problem->job.tuning) || d->pp == 1 ||
        !(load->embedding || load->loss))
        return 0.0;
    return plait_collective_s(&routes->ends, routes->network, PLAIT_ALL_REDUCE,
                              tied_gradient_bytes(problem, d, &routes->state));
}

static double gather_s(const plait_problem *problem, const plait_degrees *d,
                       const sync_routes *routes, const stage_load *load)
{
    const double bytes = routes->state.gather;
    const plait_overlaps *overlap = &problem->runtime->overlap;
    const double own = bytes * plait_bucket_elements(d);

    if (d->zero != 1 && d->zero != 2)
        return 0.0;
    return bucketed_s(overlap, &routes->shard, routes->network, PLAIT_ALL_GATHER, own,
                      bytes * load->dense) +
           bucketed_s(overlap, &routes->expert_shard, routes->network, PLAIT_ALL_GATHER, own,
                      bytes * load->expert);
}

// ---- the optimizer step (C.69) -------------------------------------------------------------

/*
 * Time of an optimizer step on the host. Each GPU sends its gradients over its link unless backward
 * has sent them, and receives parameters unless they stay on the host. The GPUs of a node share its
 * processors. Software may overlap some of this, so the sum is an upper bound. (C.69)
 */
static double host_step_s(const plait_problem *problem, const plait_degrees *d,
                          const plait_state_bytes *state, double shard)
{
    const double down = plait_gradients_offloaded(d) ? 0.0 : state->gradient_reduce;
    const double up = d->offload == PLAIT_OFFLOAD_PARAMS ? 0.0 : state->gather;
    const plait_accelerator *gpu = plait_cluster_accelerator(problem->cluster, 0);

    return shard * (down + up) / gpu->host_bytes_per_s +
           shard * node_gpus(problem) * gpu->host_adam_s;
}

/*
 * Time of an optimizer step. It moves step_bytes for each parameter of its shard, and reads the
 * shard's gradients shard_passes times (norm, clip). The whole gradient buffer is zeroed and scaled
 * in buffer_passes passes. The host may update a share of the shard. (C.69, C.165)
 */
static double optimizer_s(const plait_problem *problem, const plait_degrees *d,
                          const plait_state_bytes *state, double whole, double shard)
{
    const plait_accelerator *gpu = plait_cluster_accelerator(problem->cluster, 0);

    const double away = plait_offload_share_of(d);
    const double bytes =
        (1.0 - away) * shard * (state->step_bytes + state->shard_passes * state->gradient) +
        state->buffer_passes * state->gradient * whole;
    const double here_s = problem->runtime->factor.memory * plait_memory_op_s(gpu, bytes);

    return away > 0.0 ? host_step_s(problem, d, state, away * shard) + here_s : here_s;
}

/* Time to send the gradients of one backward pass to the host. (C.165) */
static double down_s(const plait_problem *problem, const plait_degrees *d,
                     const plait_state_bytes *state, double shard)
{
    if (!plait_gradients_offloaded(d))
        return 0.0;
    return plait_offload_share_of(d) * shard * state->gradient_reduce /
           plait_cluster_accelerator(problem->cluster, 0)->host_bytes_per_s;
}

stage_sync stage_sync_of(const plait_problem *problem, const plait_degrees *d,
                         const sync_routes *routes, const stage_load *load)
{
    const double whole = load->dense + load->expert;
    const double shard = load->dense / routes->ways.dense + load->expert / routes->ways.expert;

    return (stage_sync){
        .reduce_s = reduce_in_shards_s(problem, d, routes, load) +
                    reduce_across_s(problem, d, routes, load) +
                    reduce_tied_s(problem, d, routes, load),
        .gather_s = gather_s(problem, d, routes, load),
        .optimizer_s =
            optimizer_s(problem, d, &routes->state, plait_scatters_each(d) ? shard : whole,
                        d->zero >= 1 ? shard : whole),
        .down_s = down_s(problem, d, &routes->state, d->zero >= 1 ? shard : whole),
        .downs = plait_scatters_each(d) ? plait_degrees_microbatches(d, problem->job.gbs) : 1.0,
    };
}

// ---- exposed time --------------------------------------------------------------------------

/*
 * Exposed part of communication that overlaps a share `window` of compute_s. The window is below 1,
 * since collectives share the device with compute and begin only when their first bucket is full. A
 * share dp_exposed of the communication is always exposed. (C.66)
 */
static double overlapped_s(const plait_overlaps *overlap, double comm_s, double compute_s)
{
    return larger(overlap->dp_exposed * comm_s, comm_s - overlap->window * compute_s);
}

/*
 * Returns the way gradients are reduced. Under ZeRO-0, DistributedDataParallel ignores the plan's
 * grad_sync and uses its own buckets. In a pipeline these buckets delay the gradient for which the
 * previous stage waits, so the reduction counts as bulk. Without replicas there are no buckets, and
 * only a tied table is summed, as under the other ZeRO stages. (C.67)
 */
plait_grad_sync grad_sync_of(const plait_problem *problem, const plait_degrees *d)
{
    if (d->zero > 0 || d->dp * d->cp == 1 || !problem->runtime->overlap.ddp)
        return (plait_grad_sync)d->grad_sync;
    return d->pp > 1 ? PLAIT_SYNC_BULK : PLAIT_SYNC_BUCKETED;
}

/*
 * Exposed time of one stage's reduction. A bucketed reduction overlaps the stage's last backward.
 * With shifted reductions, later stages finish earlier and reduce while earlier stages still
 * compute (C.68). A bulk reduction is fully exposed.
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

/*
 * Part of a stage's gather that gather_with_step hides: the first chunk is gathered while the
 * optimizer updates the other chunks. Only the share that evidence supports counts. (C.391)
 */
static double gather_in_step_s(const plait_runtime *runtime, int chunks, const stage_sync *sync)
{
    const double first = 1.0 / chunks;

    return (1.0 - plait_unearned(runtime, PLAIT_KEY_GATHER_WITH_STEP, 1)) *
           smaller(first * sync->gather_s, (1.0 - first) * sync->optimizer_s);
}

/*
 * Exposed time of parameter gathers. If reductions do not overlap, gathers do not overlap either.
 * (C.66)
 */
double gather_left_s(const plait_problem *problem, const plait_degrees *d, const stage_load *load,
                     const stage_sync *sync)
{
    const plait_overlaps *overlap = &problem->runtime->overlap;
    const double left_s = overlap->param_gather && grad_sync_of(problem, d) != PLAIT_SYNC_SHIFTED
                              ? overlapped_s(overlap, sync->gather_s, load->forward_s)
                              : sync->gather_s;

    return d->gather_with_step
               ? larger(0.0, left_s - gather_in_step_s(problem->runtime, d->vpp, sync))
               : left_s;
}

/*
 * Exposed time of reductions and gathers. With bulk synchronisation (Alpa) each stage waits for the
 * reduction of another, so the times of all stages add up; one cost may represent several stages
 * (C.67). Otherwise the maximum over stages counts.
 */
double sync_exposed_s(const plait_problem *problem, const plait_degrees *d, const stage_cost *cost,
                      int count)
{
    const plait_overlaps *overlap = &problem->runtime->overlap;
    const plait_grad_sync how = grad_sync_of(problem, d);
    double backward_s = HUGE_VAL;
    double reduce_left_s = 0.0;
    double gather_s_left = 0.0;

    for (int i = 0; i < count; i++)
        backward_s = smaller(backward_s, cost[i].load.backward_s);
    for (int i = 0; i < count; i++) {
        const stage_load *load = &cost[i].load;
        const stage_sync *sync = &cost[i].sync;
        const double left_s = reduction_exposed_s(overlap, how, load, sync, backward_s);
        reduce_left_s = how == PLAIT_SYNC_BULK ? reduce_left_s + load->count * left_s
                                               : larger(reduce_left_s, left_s);
        gather_s_left = larger(gather_s_left, gather_left_s(problem, d, load, sync));
    }
    return reduce_left_s + gather_s_left;
}

plait_stage_tail plait_stage_tail_of(const plait_problem *problem, const plait_degrees *d,
                                     const stage_cost *cost)
{
    const plait_overlaps *overlap = &problem->runtime->overlap;
    const plait_grad_sync how = grad_sync_of(problem, d);
    const stage_load *load = &cost->load;

    return (plait_stage_tail){
        .reduce_s = reduction_exposed_s(overlap, how, load, &cost->sync, load->backward_s),
        .gather_s = gather_left_s(problem, d, load, &cost->sync),
        .optimizer_s = optimizer_left_s(load, &cost->sync),
    };
}
