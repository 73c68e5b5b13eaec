/*
 * step.c - only adds the terms up
 *
 *     step = pipeline (C.71 to C.76) + sends (C.64) + gradients and parameters (C.66) + optimizer (C.69)
 *
 * A load may stand for several stages alike (`count`), which is what makes a price of a search cheap
 * and a full price the same sum.
 */
#include "stage_sum.h"

/* C.64: a send's bytes on the wire, and what the software spends on it. */
double pipeline_send_s(const plait_problem *problem, const plait_degrees *d, const layer_row *row)
{
    if (d->pp == 1)
        return 0.0;
    const plait_route route = plait_route_of(problem->cluster, plait_group_of(d, PLAIT_AXIS_PP));
    return plait_p2p_s(&route, network_of(problem), row->p2p_bytes) +
           problem->runtime->factor.p2p_s;
}

/*
 * The fill and drain wait for 2(p-1) sends whatever overlaps. In the steady state a rank sends and
 * receives for each microbatch and chunk: all exposed when synchronous, else a share.
 */
static double sends_exposed_s(const plait_problem *problem, const plait_degrees *d,
                              int microbatches, double send_s)
{
    const plait_overlaps *overlap = &problem->runtime->overlap;
    const double sends = (double)microbatches * d->vpp;

    if (d->pp == 1)
        return 0.0;
    if (plait_schedule_alone((plait_schedule)d->schedule))
        return 2.0 * (d->pp - 1.0) * sends * send_s;
    if (overlap->p2p)
        return (2.0 * (d->pp - 1.0) + overlap->p2p_exposed * sends) * send_s;
    return 2.0 * (sends + d->pp - 2.0) * send_s;
}

double pipeline_sends(const plait_problem *problem, const plait_degrees *d)
{
    const double sends = (double)plait_degrees_microbatches(d, problem->job.gbs) * d->vpp;

    if (d->pp == 1)
        return 0.0;
    if (plait_schedule_alone((plait_schedule)d->schedule))
        return 2.0 * (d->pp - 1.0) * sends;
    if (problem->runtime->overlap.p2p)
        return larger(2.0 * sends, 2.0 * (d->pp - 1.0) + sends);
    return 2.0 * (sends + d->pp - 2.0);
}

/* What a schedule's closed form needs of the stages: their sum, and the slowest in each respect. */
static plait_pipeline_load pipeline_load(const plait_degrees *d, int microbatches,
                                         const stage_load *loads, int count, int *slowest)
{
    plait_pipeline_load pipeline = {
        .stages = d->pp,
        .chunks = d->vpp,
        .microbatches = microbatches,
        .least_w_s = loads[0].weight_s,
    };

    *slowest = 0;
    for (int i = 0; i < count; i++) {
        const double s = loads[i].forward_s + loads[i].backward_s;
        pipeline.sum_s += loads[i].count * s;
        pipeline.max_f_s = larger(pipeline.max_f_s, loads[i].forward_s);
        pipeline.max_b_s = larger(pipeline.max_b_s, loads[i].backward_s);
        pipeline.least_w_s = smaller(pipeline.least_w_s, loads[i].weight_s);
        if (s > pipeline.max_s) {
            pipeline.max_s = s;
            *slowest = i;
        }
    }
    return pipeline;
}

/*
 * C.80, with shares of the device's time beside it for energy (C.96): a GPU computes its own stage's
 * microbatches, so the mean over the pipeline weighs each stage by 1 / pp. All wait for the longest
 * optimizer step, which moves memory.
 */
step_sum step_sum_of(const plait_problem *problem, const plait_degrees *d, int microbatches,
                     double send_s, const stage_load *loads, const stage_sync *syncs, int count)
{
    step_sum sum = {0};
    const plait_pipeline_load pipeline = pipeline_load(d, microbatches, loads, count, &sum.slowest);

    sum.pipeline_s = plait_pipeline_s((plait_schedule)d->schedule, &pipeline);
    sum.busy_s = pipeline.microbatches * pipeline.max_s;
    for (int i = 0; i < count; i++) {
        const double share = loads[i].count * (double)microbatches / d->pp;
        sum.busy_s_a_gpu += share * loads[i].busy_s;
        sum.moving_s_a_gpu += share * loads[i].moving_s;
        sum.optimizer_s = larger(sum.optimizer_s, syncs[i].optimizer_s);
    }
    sum.moving_s_a_gpu += sum.optimizer_s;
    sum.pp_comm_s = sends_exposed_s(problem, d, microbatches, send_s);
    sum.dp_comm_s = sync_exposed_s(problem, d, loads, syncs, count);
    sum.total_s = sum.pipeline_s + sum.pp_comm_s + sum.dp_comm_s + sum.optimizer_s;
    return sum;
}
