/*
 * memory.c - bytes on one GPU at the peak inside a step
 *
 * The peak is in a backward pass: state, the activations of all microbatches in flight, one layer
 * rebuilt by recomputation, and on the last stage the logits.
 */
#include "stage_sum.h"

shard_ways shard_ways_of(const plait_degrees *d)
{
    return (shard_ways){.dense = d->shard_group, .expert = plait_expert_shard_group(d)};
}

/* Parameters gathered under ZeRO-3: a few layers ahead, and the ends of the model. */
static double gathered_bytes(const plait_problem *problem, const layer_row *row,
                             const stage_load *load, double widest)
{
    const plait_state_bytes *state = &problem->runtime->state;
    const double ends = (load->embedding ? row->price[ROW_EMBEDDING].weights.dense : 0.0) +
                        (load->loss ? row->price[ROW_HEAD].weights.dense : 0.0);

    return problem->runtime->keep.transient_layers * (state->gather + state->gradient_reduce) *
               widest +
           state->gather * ends;
}

/*
 * C.81: ZeRO-1 shards the optimizer, ZeRO-2 the gradients, ZeRO-3 the weights too. Schedules that
 * hold every stage on two ranks (DualPipe) hold weights and gradients twice, the optimizer once.
 * Beside it buffers: what the software copies, transients shaped like the widest layer's weights,
 * and layers gathered ahead.
 */
stage_state stage_state_of(const plait_problem *problem, const plait_degrees *d,
                           const layer_row *row, shard_ways ways, const stage_load *load)
{
    const plait_state_bytes *state = &problem->runtime->state;
    const double whole = load->dense + load->expert;
    const double shard = load->dense / ways.dense + load->expert / ways.expert;
    const double copies = plait_schedule_copies((plait_schedule)d->schedule);
    double widest = 0.0;

    for (int k = 0; k < problem->model->kinds; k++)
        widest = larger(widest, row->price[k].weights.dense + row->price[k].weights.expert);
    return (stage_state){
        .weights_bytes = copies * state->weight * (d->zero >= 3 ? shard : whole),
        .gradients_bytes = copies * state->gradient * (d->zero >= 2 ? shard : whole),
        .optimizer_bytes = state->optimizer * (d->zero >= 1 ? shard : whole),
        .buffers_bytes = state->replicated * whole +
                         problem->runtime->keep.weight_transient * widest +
                         (d->zero >= 3 ? gathered_bytes(problem, row, load, widest) : 0.0),
    };
}

/* C.82: what each microbatch in flight keeps, and one layer that is whole again for its backward. */
double stage_activation_bytes(const stage_load *load)
{
    return load->in_flight * load->saved_bytes + load->live_bytes;
}

/* C.83: exchanged context, messages between stages, and on the last stage logits and their gradient. */
double stage_buffer_bytes(const plait_problem *problem, const plait_degrees *d,
                          const layer_row *row, const stage_load *load)
{
    const plait_residents *keep = &problem->runtime->keep;
    double bytes = row->cp_buffer_bytes;

    if (d->pp > 1) // one message in, one out
        bytes += 2.0 * row->p2p_bytes;
    if (load->loss)
        bytes += row->logit_bytes +
                 keep->head_transient * problem->model->vocab / d->tp * problem->model->hidden;
    return bytes;
}

static bool spans_nodes(const plait_problem *problem, plait_group_shape group)
{
    return plait_route_of(problem->cluster, group).levels > 1;
}

/*
 * C.84: driver context and workspaces, and NCCL's buffers for each communicator that leaves its
 * scale-up domain. Replicas of dense and of expert parameters count once.
 */
double runtime_fixed_bytes(const plait_problem *problem, const plait_degrees *d)
{
    const plait_residents *keep = &problem->runtime->keep;
    int communicators = spans_nodes(problem, plait_group_replicas(d));

    for (int axis = 0; axis < PLAIT_GROUPS; axis++)
        if (axis != PLAIT_AXIS_DP && axis != PLAIT_AXIS_EDP)
            communicators += spans_nodes(problem, plait_group_of(d, (plait_axis)axis));
    return keep->reserved_ratio * keep->workspace_bytes + keep->context_bytes +
           keep->nccl_bytes * communicators;
}

/*
 * The peak of a GPU: tensors times what the allocator reserves for them, and what lies outside it.
 * Terms sum to it, so the allocator's surplus is part of `runtime`.
 */
plait_memory stage_memory(const plait_problem *problem, const plait_degrees *d,
                          const layer_row *row, const stage_load *load, const stage_state *state)
{
    plait_memory memory = {
        .weights_bytes = state->weights_bytes,
        .gradients_bytes = state->gradients_bytes,
        .optimizer_bytes = state->optimizer_bytes,
        .activations_bytes = stage_activation_bytes(load),
        .buffers_bytes = state->buffers_bytes + stage_buffer_bytes(problem, d, row, load),
        .capacity_bytes = plait_capacity_bytes(problem),
    };
    const plait_residents *keep = &problem->runtime->keep;
    const double tensors = memory.weights_bytes + memory.gradients_bytes + memory.optimizer_bytes +
                           memory.activations_bytes + memory.buffers_bytes;

    memory.allocated_bytes = tensors + keep->workspace_bytes;
    memory.reserved_bytes = keep->reserved_ratio * memory.allocated_bytes;
    memory.peak_bytes = keep->reserved_ratio * tensors + runtime_fixed_bytes(problem, d);
    memory.runtime_bytes = memory.peak_bytes - tensors;
    return memory;
}

/*
 * Published peaks differ from the predicted ones by about 5 %, either way: a plan counts as fitting
 * only when so much is left (C.85).
 */
static const double headroom = 0.05;

double plait_capacity_bytes(const plait_problem *problem)
{
    return (1.0 - headroom) * plait_cluster_accelerator(problem->cluster, 0)->memory_bytes;
}
