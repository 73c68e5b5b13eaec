/*
 * layer_sharding_cost.c - what the layers of one cut bring to their stage, and what lies between two cuts
 *
 *     relocation  the hidden state on its way from one cut to the next                        (C.281)
 *     share       seconds and bytes of a cut's layers; shares add up                 (C.282 to C.284)
 */
#include "plait/stage.h"
#include "costmodel/stage/layer_sharding.h"

// ---- between two layers --------------------------------------------------------------------

/* A whole hidden state of so many sequences, 16 bits an entry. */
static double hidden_bytes(const plait_problem *problem, double sequences)
{
    return 2.0 * sequences * problem->job.seq * problem->model->hidden;
}

/* Sequences of a microbatch that a rank has with this tp. */
static double sequences_of(const plait_degrees *d, int tp)
{
    return (double)d->mbs * tp / d->tp;
}

static double all_gather_s(const plait_problem *problem, const plait_degrees *d, int ranks,
                           int stride, double bytes)
{
    const plait_group_shape shape = {
        .ranks = ranks, .runs = 1, .run = {{ranks, stride}}, .placement = d->placement};
    const plait_route route = plait_route_of(problem->cluster, shape);

    return plait_collective_s(&route, network_of(problem), PLAIT_ALL_GATHER, bytes);
}

/* Whole on the ranks of the old cut, joined where the new one has more of them, and copied once. */
static double one_way_s(const plait_problem *problem, const plait_degrees *d, int from, int to)
{
    const double old_bytes = hidden_bytes(problem, sequences_of(d, from));
    const double new_bytes = hidden_bytes(problem, sequences_of(d, to));
    const double whole_s = all_gather_s(problem, d, from * d->cp, 1, old_bytes);
    const double joined_s =
        to > from ? all_gather_s(problem, d, to / from, from * d->cp, new_bytes) : 0.0;

    return whole_s + joined_s +
           problem->runtime->factor.memory *
               plait_memory_op_s(plait_cluster_accelerator(problem->cluster, 0),
                                 2.0 * larger(old_bytes, new_bytes));
}

plait_relocation plait_relocation_of(const plait_problem *problem, const plait_degrees *d, int from,
                                     int to)
{
    if (from == to)
        return (plait_relocation){0};
    return (plait_relocation){
        .forward_s = one_way_s(problem, d, from, to),
        .backward_s = one_way_s(problem, d, to, from),
        .bytes = hidden_bytes(problem, sequences_of(d, from) + sequences_of(d, to)),
    };
}

void plait_relocation_add(plait_relocation *sum, plait_relocation more)
{
    sum->forward_s += more.forward_s;
    sum->backward_s += more.backward_s;
    sum->bytes = larger(sum->bytes, more.bytes);
}

// ---- shares --------------------------------------------------------------------------------

/* Buffers shaped like the widest layer, whatever the stage holds. */
double cut_transient_bytes(const plait_stage_sort *sort)
{
    const stage_load nothing = {.count = 1};

    return stage_state_of(&sort->problem, &sort->degrees, &sort->row, &sort->routes.state,
                          sort->routes.ways, &nothing)
        .buffers_bytes;
}

/* Of each cut that the stage has layers of; the largest is there. */
double cut_spare_bytes(const plait_stage_sort *sort, const sorted_stage *sum)
{
    const bool any = sum->load.dense + sum->load.expert > 0.0;

    return any ? cut_transient_bytes(sort) + sort->row.exchange_bytes : 0.0;
}

/* The plan's own: messages and logits; another: NCCL's buffers for groups that the plan has not. */
double cut_beside_bytes(const plait_stage_sort *sort, const sorted_stage *sum, bool own)
{
    const plait_degrees *const d = &sort->degrees;

    if (own)
        return stage_buffer_bytes(&sort->problem, d, &sort->row, &sum->load) -
               sort->row.exchange_bytes;
    return communicator_bytes(&sort->problem, plait_group_replicas(d)) +
           communicator_bytes(&sort->problem, plait_group_of(d, PLAIT_AXIS_TP));
}

static plait_cut_share share_of(const plait_stage_sort *sort, const sorted_stage *sum, bool own)
{
    const stage_state *const state = &sum->state;

    return (plait_cut_share){
        .time = chunk_time_of(&sum->load),
        .saved_bytes = sum->load.saved_bytes,
        .live_bytes = sum->load.live_bytes,
        .state_bytes = state->weights_bytes + state->gradients_bytes + state->optimizer_bytes +
                       state->buffers_bytes - cut_transient_bytes(sort) +
                       cut_beside_bytes(sort, sum, own),
        .spare_bytes = cut_spare_bytes(sort, sum),
        .reduce_s = sum->sync.reduce_s,
        .gather_s = sum->sync.gather_s,
        .optimizer_s = sum->sync.optimizer_s,
    };
}

plait_cut_share plait_cut_share_of(plait_stage_sort *sort, const plait_stage *stage, bool own)
{
    const sorted_stage sum = stage_sort_sum(sort, stage, sort->group, 0.0);

    return share_of(sort, &sum, own);
}

plait_layer_cost plait_cut_layer_cost(const plait_stage_sort *sort, int kind,
                                      plait_recompute recompute)
{
    const plait_choice choice = {.recompute = recompute};
    const layer_time time =
        layer_time_of(&sort->problem, &sort->row.price[kind], &sort->gather.layer[kind], choice);

    return (plait_layer_cost){time.forward_s, time.backward_s, time.weight_s, time.saved_bytes,
                              time.live_bytes};
}

void plait_cut_share_add(plait_cut_share *sum, const plait_cut_share *more)
{
    sum->time.forward_s += more->time.forward_s;
    sum->time.backward_s += more->time.backward_s;
    sum->time.weight_s += more->time.weight_s;
    sum->saved_bytes += more->saved_bytes;
    sum->live_bytes = larger(sum->live_bytes, more->live_bytes);
    sum->state_bytes += more->state_bytes;
    sum->spare_bytes = larger(sum->spare_bytes, more->spare_bytes);
    sum->reduce_s += more->reduce_s;
    sum->gather_s += more->gather_s;
    sum->optimizer_s += more->optimizer_s;
}

double plait_cut_peak(const plait_stage_sort *own, const plait_cut_share *sum, double in_flight)
{
    return own->problem.runtime->keep.fragmentation *
               (sum->state_bytes + sum->spare_bytes + in_flight * sum->saved_bytes +
                sum->live_bytes) +
           runtime_fixed_bytes(&own->problem, &own->degrees);
}

plait_stage_tail plait_cut_tail(const plait_stage_sort *own, int stage, const plait_cut_share *sum)
{
    const stage_load load = {.index = stage,
                             .count = 1,
                             .forward_s = sum->time.forward_s,
                             .backward_s = sum->time.backward_s};
    const stage_sync reduced = {.reduce_s = sum->reduce_s};
    const stage_sync gathered = {.gather_s = sum->gather_s};

    return (plait_stage_tail){
        .reduce_s = sync_exposed_s(&own->problem, &own->degrees, &load, &reduced, 1),
        .gather_s = sync_exposed_s(&own->problem, &own->degrees, &load, &gathered, 1),
        .optimizer_s = sum->optimizer_s,
    };
}

double plait_cut_sends_s(const plait_stage_sort *own)
{
    const plait_degrees *const d = &own->degrees;

    return sends_exposed_s(&own->problem, d, plait_degrees_microbatches(d, own->problem.job.gbs),
                           pipeline_send_s(&own->problem, d, &own->row));
}
