/*
 * memory.c - bytes on one GPU at the peak inside a step
 *
 * The peak is in a backward pass. It has the parameters, gradients and optimizer state, the
 * activations of all microbatches in flight, one layer that recomputation restores, and on the last
 * stage the logits.
 */
#include <math.h>

#include "base/normal.h"
#include "costmodel/stage/stage_cost.h"

shard_ways shard_ways_of(const plait_degrees *d)
{
    return (shard_ways){
        .dense = d->shard_group,
        .expert = plait_expert_shard_group(d),
        .node_dense = 1,
        .node_expert = 1,
    };
}

/*
 * Returns the parameters of the embedding and the head on a stage, without encoders. They stay in 16
 * bits or more, since their products are not computed in narrow formats.
 */
static double ends_params(const layer_row *row, const stage_load *load)
{
    return (load->embedding ? row->price[ROW_EMBEDDING].weights.dense - row->encoders.dense : 0.0) +
           (load->loss ? row->price[ROW_HEAD].weights.dense : 0.0);
}

/* The parameters that ZeRO-3 gathers before use. */
typedef struct gathered_kinds {
    bool dense, expert;
} gathered_kinds;

/*
 * Parameters without a replica on another rank are neither gathered nor reduced: all dense ones if
 * dp and cp are 1, and experts if ep takes all ranks of a stage.
 */
static gathered_kinds gathered_kinds_of(const plait_degrees *d)
{
    const bool host = d->offload == PLAIT_OFFLOAD_PARAMS;

    return (gathered_kinds){
        .dense = host || d->dp * d->cp > 1,
        .expert = host || plait_group_of(d, PLAIT_AXIS_EDP).ranks > 1,
    };
}

static double gathered_params(gathered_kinds kinds, plait_weights w)
{
    return (kinds.dense ? w.dense : 0.0) + (kinds.expert ? w.expert : 0.0);
}

/*
 * Bytes of parameters gathered under ZeRO-3: a few layers ahead of their use, and the ends of the
 * model. DeepSpeed bounds its live parameters (stage3_max_live_parameters); it then gathers at most
 * that many, but at least one matrix, about a third of a layer's weights. With reshard `never` all
 * parameters stay gathered. With reshard `node` each node also keeps one copy for backward. (C.169)
 */
static double gathered_bytes(const plait_problem *problem, const plait_degrees *d,
                             const layer_row *row, const plait_state_bytes *state, shard_ways ways,
                             const stage_load *load, gathered_kinds kinds, double widest)
{
    const plait_residents *keep = &problem->runtime->keep;
    const double ahead = keep->transient_layers * widest;
    const double bound = larger(keep->transient_params, widest / 3.0);
    const double alive = keep->transient_params > 0.0 ? smaller(ahead, bound) : ahead;

    if (d->reshard == PLAIT_RESHARD_NEVER)
        return state->gather * gathered_params(kinds, (plait_weights){.dense = load->dense,
                                                                      .expert = load->expert}) +
               state->gradient_reduce * alive;
    plait_weights longer = {.dense = ends_params(row, load)};
    if (d->reshard == PLAIT_RESHARD_NODE) {
        longer.dense += load->dense / ways.node_dense;
        longer.expert = load->expert / ways.node_expert;
    }
    return (state->gather + state->gradient_reduce) * alive +
           state->gather * gathered_params(kinds, longer);
}

/*
 * C.412: bytes of the parameters of a stage that are not trained. The embedding and the head stay in
 * 16 bits.
 */
static double frozen_held(const plait_degrees *d, const layer_row *row,
                          const plait_state_bytes *state, shard_ways ways, const stage_load *load)
{
    static const double wide_bytes = 2.0;
    const double ends = (load->embedding ? row->price[ROW_EMBEDDING].weights.frozen_dense -
                                               row->encoders.frozen_dense
                                         : 0.0) +
                        (load->loss ? row->price[ROW_HEAD].weights.frozen_dense : 0.0);
    const double dense = state->frozen * (load->frozen_dense - ends) + wide_bytes * ends;
    const double expert = state->frozen * load->frozen_expert;

    return d->zero >= 3 ? dense / ways.dense + expert / ways.expert : dense + expert;
}

/*
 * Frozen parameters that ZeRO-3 gathers a few layers ahead, and of weights in NF4 the largest
 * matrix, about a third of a layer, in 16 bits.
 */
static double frozen_buffers(const plait_problem *problem, const plait_degrees *d,
                             const plait_state_bytes *state, double widest)
{
    static const double wide_bytes = 2.0;
    const double ahead =
        d->zero >= 3 ? problem->runtime->keep.transient_layers * state->frozen * widest : 0.0;

    return ahead +
           (problem->job.tuning.format == PLAIT_FROZEN_NF4 ? wide_bytes * widest / 3.0 : 0.0);
}

double reference_bytes(const plait_problem *problem, const plait_degrees *d, const stage_load *load)
{
    static const double weight_bytes = 2.0;
    const plait_tuning *const tuning = &problem->job.tuning;
    const double ratio = tuning->reference_weights > 0.0 ? tuning->reference_weights : 1.0;
    const shard_ways ways = shard_ways_of(d);
    const double dense = load->dense + load->frozen_dense;
    const double expert = load->expert + load->frozen_expert;

    return ratio * weight_bytes *
           (d->zero >= 3 ? dense / ways.dense + expert / ways.expert : dense + expert);
}

/*
 * C.81: ZeRO-1 shards the optimizer state, ZeRO-2 also the gradients, ZeRO-3 also the weights.
 * Gradients that ZeRO-2 and -3 reduce once per step are summed unsharded in the format of the
 * reduction (torch FSDPParam.to_accumulated_grad_if_needed), unless nothing reduces them.
 * DualPipe, which has every stage on two ranks, needs weights and gradients twice, but the
 * optimizer state once. The buffers are copies that the software makes, transients shaped like the
 * widest layer's weights, layers gathered ahead, and the gradients of two layers on their way to
 * the host (C.165).
 */
stage_state stage_state_of(const plait_problem *problem, const plait_degrees *d,
                           const layer_row *row, const plait_state_bytes *state, shard_ways ways,
                           const stage_load *load)
{
    const plait_state_bytes *usual = &problem->runtime->state;
    const double whole = load->dense + load->expert;
    const double shard = load->dense / ways.dense + load->expert / ways.expert;
    const double copies = plait_schedule_replicas((plait_schedule)d->schedule);
    const double ends = ends_params(row, load);
    const double held_ends = d->zero >= 3 ? ends / ways.dense : ends;
    const double frozen = frozen_held(d, row, state, ways, load);
    const double reference = problem->job.tuning.reference == PLAIT_REFERENCE_RESIDENT
                                 ? reference_bytes(problem, d, load)
                                 : 0.0;
    const gathered_kinds kinds = gathered_kinds_of(d);
    const double gathered =
        gathered_params(kinds, (plait_weights){.dense = load->dense, .expert = load->expert});
    // Gradients that a step allocates grow while backward frees gathered parameters.
    const bool fresh = problem->runtime->keep.gradients_freed && d->zero >= 3 &&
                       d->reshard == PLAIT_RESHARD_NEVER &&
                       plait_degrees_microbatches(d, problem->job.gbs) == 1;
    const double summed = larger(state->gradient, state->gradient_reduce) - state->gradient;
    const double gradients_bytes =
        copies * (plait_scatters_each(d)
                      ? state->gradient * shard
                      : state->gradient * whole + (d->zero >= 2 ? summed * gathered : 0.0));
    const double away = plait_gradients_offloaded(d) ? plait_offload_share_of(d) : 0.0;
    double widest = 0.0, widest_gathered = 0.0, widest_frozen = 0.0;

    for (int k = 0; k < problem->model->kinds; k++) {
        const plait_weights *const w = &row->price[k].weights;
        widest = larger(widest, w->dense + w->expert);
        widest_gathered = larger(widest_gathered, gathered_params(kinds, *w));
        widest_frozen = larger(widest_frozen, w->frozen_dense + w->frozen_expert);
    }
    const double weights_bytes = copies * (state->weight * (d->zero >= 3 ? shard : whole) +
                                           (usual->weight - state->weight) * held_ends);
    return (stage_state){
        .weights_bytes =
            reference +
            (d->offload == PLAIT_OFFLOAD_PARAMS ? 0.0 : weights_bytes + copies * frozen),
        .gradients_bytes = fresh ? larger(0.0, gradients_bytes - state->gather * gathered)
                                 : (1.0 - away) * gradients_bytes,
        .optimizer_bytes = state->optimizer * (d->zero >= 1 ? shard : whole),
        .buffers_bytes =
            state->replicated * whole - (state->replicated - usual->replicated) * ends +
            problem->runtime->keep.weight_transient * widest +
            smaller(2.0 * state->gradient * widest, away * gradients_bytes) +
            (d->zero >= 3
                 ? gathered_bytes(problem, d, row, state, ways, load, kinds, widest_gathered)
                 : 0.0) +
            frozen_buffers(problem, d, state, widest_frozen),
    };
}

int node_gpus(const plait_problem *problem)
{
    const int node = problem->cluster->group[0].gpus_per_node;

    return node < problem->job.gpus ? node : problem->job.gpus;
}

double stage_host_bytes(const plait_problem *problem, const plait_degrees *d,
                        const stage_load *load, double away_bytes)
{
    const shard_ways ways = shard_ways_of(d);
    const double held = d->zero >= 1 ? load->dense / ways.dense + load->expert / ways.expert
                                     : load->dense + load->expert;

    const double frozen =
        d->offload == PLAIT_OFFLOAD_PARAMS
            ? 2.0 * (load->frozen_dense / ways.dense + load->frozen_expert / ways.expert)
            : 0.0;
    const double reference = problem->job.tuning.reference == PLAIT_REFERENCE_OFFLOADED
                                 ? reference_bytes(problem, d, load)
                                 : 0.0;
    return node_gpus(problem) * (held * plait_host_param_bytes(problem, d) + frozen + reference +
                                 load->in_flight * away_bytes);
}

/*
 * C.82: activations of all microbatches in flight, and those recomputed for the backward of one
 * layer.
 */
double stage_activation_bytes(const stage_load *load)
{
    return load->held_bytes + load->live_bytes;
}

/*
 * C.83: buffers for exchanged context and tokens, for messages between stages, and on the last
 * stage for logits and their gradient. If microbatches run in pairs, one layer keeps the
 * activations of both microbatches. (C.158)
 */
double stage_buffer_bytes(const plait_problem *problem, const plait_degrees *d,
                          const layer_row *row, const stage_load *load)
{
    const plait_residents *keep = &problem->runtime->keep;
    double bytes = row->exchange_bytes;

    if (d->ep_overlap != PLAIT_EP_OVERLAP_NONE)
        bytes += row->pair_bytes;
    if (d->pp > 1) // one message in, one out
        bytes += 2.0 * row->p2p_bytes;
    if (load->loss)
        bytes += row->logit_bytes +
                 keep->head_transient * problem->model->vocab / d->tp * problem->model->hidden;
    return bytes;
}

double communicator_bytes(const plait_problem *problem, plait_group_shape group)
{
    return plait_route_of(problem->cluster, group).levels > 1 ? problem->runtime->keep.nccl_bytes
                                                              : 0.0;
}

/*
 * C.84: the driver context, workspaces, and NCCL's buffers for each communicator that leaves its
 * scale-up domain. The replicas of dense and of expert parameters count as one communicator.
 */
double runtime_fixed_bytes(const plait_problem *problem, const plait_degrees *d)
{
    const plait_residents *keep = &problem->runtime->keep;
    double communicators = communicator_bytes(problem, plait_group_replicas(d));

    for (int axis = 0; axis < PLAIT_GROUPS; axis++)
        if (axis != PLAIT_AXIS_DP && axis != PLAIT_AXIS_EDP)
            communicators += communicator_bytes(problem, plait_group_of(d, (plait_axis)axis));
    return keep->fragmentation * keep->workspace_bytes + keep->context_bytes + communicators;
}

/*
 * Fills the memory of a GPU. The peak is the tensors times a fragmentation factor, plus memory
 * outside the allocator. Cached free blocks do not count: PyTorch's allocator frees them and
 * retries before it fails, so a run needs less memory than it has reserved. `runtime` includes the
 * fragmentation, so that the terms sum to the peak.
 */
plait_memory stage_memory(const plait_problem *problem, const plait_degrees *d,
                          const stage_cost *cost)
{
    const stage_state *state = &cost->state;
    plait_memory memory = {
        .weights_bytes = state->weights_bytes,
        .gradients_bytes = state->gradients_bytes,
        .optimizer_bytes = state->optimizer_bytes,
        .activations_bytes = stage_activation_bytes(&cost->load),
        .buffers_bytes = state->buffers_bytes + cost->buffers_bytes,
    };
    const plait_residents *keep = &problem->runtime->keep;
    const double tensors = memory.weights_bytes + memory.gradients_bytes + memory.optimizer_bytes +
                           memory.activations_bytes + memory.buffers_bytes;

    memory.allocated_bytes = tensors + keep->workspace_bytes;
    memory.reserved_bytes = keep->reserved_ratio * memory.allocated_bytes;
    memory.peak_bytes = keep->fragmentation * tensors + runtime_fixed_bytes(problem, d);
    memory.runtime_bytes = memory.peak_bytes - tensors;
    return memory;
}

// ---- risk of running out -------------------------------------------------------------------

/*
 * C.85: the ratio of needed to predicted memory is assumed to have the same distribution as that of
 * measured to predicted peaks. Its logarithm is normal, and the band gives its 90 % quantile:
 *
 *     risk(peak) = P(need > device) = 1 - Phi(log(device / peak) / sigma)
 */

/* The 90 % quantile of the normal distribution. */
static const double z90 = 1.2815515655446004;

/*
 * Default band for problems without measured peaks: 5 % in both directions, the spread of published
 * peaks.
 */
static const plait_band unknown = {.low = 0.95, .high = 1.05};

plait_band risk_band(const plait_problem *problem)
{
    return problem->memory_band.high > 1.0 ? problem->memory_band : unknown;
}

static double sigma_of(const plait_problem *problem)
{
    return log(risk_band(problem).high) / z90;
}

/* Probability that a standard normal value exceeds z. */
static double normal_tail(double z)
{
    return 0.5 * erfc(z / sqrt(2.0));
}

/*
 * Inverse of normal_tail(): 60 bisections of an interval of 16 standard deviations, exact to the last
 * digits.
 */
static double quantile_above(double probability)
{
    double low = -8.0, high = 8.0;

    for (int i = 0; i < 60; i++) {
        const double middle = 0.5 * (low + high);

        if (normal_tail(middle) > probability)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

static double device_bytes(const plait_problem *problem)
{
    return plait_cluster_accelerator(problem->cluster, 0)->memory_bytes;
}

double plait_memory_risk(const plait_problem *problem, double peak_bytes)
{
    if (!(peak_bytes > 0.0))
        return 0.0;
    return normal_rounded(normal_tail(log(device_bytes(problem) / peak_bytes) / sigma_of(problem)));
}

double risk_accepted(double risk)
{
    return risk > 0.0 && risk < 1.0 ? risk : PLAIT_USUAL_RISK;
}

double plait_capacity_bytes(const plait_problem *problem, double risk)
{
    return device_bytes(problem) * exp(-quantile_above(risk_accepted(risk)) * sigma_of(problem));
}
