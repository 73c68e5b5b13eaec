/*
 * step.c - the time of a step as the sum of its terms
 *
 *     step = pipeline (C.71 to C.75) + sends (C.64) + gradients and parameters (C.66) + optimizer (C.69)
 *
 * One cost may represent several equal stages (load.count). A search therefore sums only a few
 * costs, and gets the same result as a full price.
 */
#include <math.h>

#include "costmodel/stage/stage_cost.h"

/*
 * The fill and drain of a pipeline wait for 2(p-1) sends even if sends overlap. In the steady state
 * a rank sends and receives for each microbatch and chunk. Synchronous sends are fully exposed, and
 * overlapped sends are exposed by the share p2p_exposed.
 */
double sends_exposed_s(const plait_problem *problem, const plait_degrees *d, int microbatches,
                       double send_s)
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

/* Returns the inputs of a schedule's closed form: runs of equal stages, in order. */
static plait_pipeline_load pipeline_load(const step_parts *parts)
{
    for (int i = 0; i < parts->runs; i++) {
        const stage_load *load = &parts->cost[parts->run[i].cost].load;
        parts->ranks[i] = (plait_rank_run){
            .ranks = parts->run[i].stages,
            .all = {load->forward_s, load->backward_s, load->weight_s},
            .first = load->first,
            .last = load->last,
        };
    }
    return (plait_pipeline_load){
        .ranks = parts->degrees->pp,
        .chunks = parts->degrees->vpp,
        .microbatches = parts->microbatches,
        .no_barrier = parts->degrees->post_validation,
        .unlike = parts->degrees->split.kind == PLAIT_SPLIT_LAYOUT && parts->degrees->vpp > 1,
        .runs = parts->runs,
        .run = parts->ranks,
    };
}

/*
 * C.157: number of pairs of microbatches. In a pair, the forward of one microbatch hides
 * communication of the other.
 */
static double pairs_of(const step_parts *parts)
{
    const plait_degrees *d = parts->degrees;

    return d->ep_overlap == PLAIT_EP_OVERLAP_NONE
               ? 0.0
               : plait_schedule_pairs((plait_schedule)d->schedule, d->pp, d->vpp,
                                      parts->microbatches);
}

/* Finds the slowest stage and the time that pairs of microbatches hide. */
static void take_slowest(const step_parts *parts, step_sum *sum)
{
    const double pairs = pairs_of(parts);
    double longest_s = 0.0;

    for (int i = 0; i < parts->costs; i++) {
        const stage_load *load = &parts->cost[i].load;
        const double alone_s = parts->microbatches * (load->forward_s + load->backward_s);
        const double paired_s = pairs * load->paired_s[parts->degrees->ep_overlap];
        longest_s = larger(longest_s, alone_s);
        sum->most_hidden_s = larger(sum->most_hidden_s, paired_s);
        if (alone_s - paired_s > sum->busy_s) {
            sum->busy_s = alone_s - paired_s;
            sum->paired_s = paired_s;
            sum->slowest = i;
        }
    }
    sum->hidden_s = longest_s - sum->busy_s;
}

double optimizer_left_s(const stage_load *load, const stage_sync *sync)
{
    if (sync->down_s <= load->backward_s)
        return sync->optimizer_s;
    return sync->optimizer_s + sync->downs * (sync->down_s - load->backward_s);
}

/*
 * C.414: a forward pass of all microbatches. The slowest stage is never idle; the first microbatch
 * passes all others, of which each runs one of its vpp chunks at a time.
 */
static double forward_pass_s(const step_parts *parts)
{
    double slowest = 0.0, sum = 0.0;

    for (int i = 0; i < parts->costs; i++) {
        const stage_load *load = &parts->cost[i].load;
        slowest = larger(slowest, load->forward_s);
        sum += load->count * load->forward_s;
    }
    return parts->microbatches * slowest + larger(0.0, sum - slowest) / parts->degrees->vpp;
}

/*
 * C.415: the forward pass of a reference model or a teacher, in the layout of the plan or on other
 * GPUs with the same FLOP/s. Weights that wait in host memory are copied once a step.
 */
static double reference_s(const step_parts *parts, double forward_s)
{
    const plait_job *const job = &parts->problem->job;
    const plait_tuning *const tuning = &job->tuning;
    const double time = tuning->reference_time > 0.0 ? tuning->reference_time : 1.0;
    double bytes = 0.0;

    if (!plait_tuning_refers(tuning))
        return 0.0;
    if (tuning->reference == PLAIT_REFERENCE_APART)
        return time * forward_s * job->gpus / larger(1.0, tuning->reference_gpus);
    if (tuning->reference == PLAIT_REFERENCE_OFFLOADED)
        for (int i = 0; i < parts->costs; i++)
            bytes = larger(bytes,
                           reference_bytes(parts->problem, parts->degrees, &parts->cost[i].load));
    return time * forward_s +
           bytes / plait_cluster_accelerator(parts->problem->cluster, 0)->host_bytes_per_s;
}

/*
 * C.417: the expected maximum (`side` 1) or minimum (-1) of n variables with mean 1 and this
 * deviation, log-normal, from the expected maximum z of n normal ones (Blom), whose variance is about
 * 1 / (1 + z^2).
 */
static double extreme_of(double deviation, double n, double side)
{
    const double p = (n - 0.375) / (n + 0.25);
    const double z = 4.91 * (pow(p, 0.14) - pow(1.0 - p, 0.14)); // Tukey's lambda: normal quantile
    const double variance = log(1.0 + deviation * deviation);

    return exp(side * sqrt(variance) * z - 0.5 * variance * z * z / (1.0 + z * z));
}

/* Data-parallel ranks that wait for each other in each microbatch: for parameters, or for tokens. */
static double lockstep_ranks(const plait_degrees *d)
{
    const double experts = (double)d->ep * d->etp / ((double)d->tp * d->cp);
    const double shards = d->zero >= 3 ? (double)d->shard_group / d->cp : 1.0;

    return larger(1.0, larger(shards, d->ep > 1 ? experts : 1.0));
}

/*
 * C.417: seconds of a step in which ranks wait for the one with more work. If packs are sorted, those
 * of a round differ by their place in the order alone, and the rounds share the range of all packs.
 */
static double data_s(const step_parts *parts)
{
    const plait_degrees *const d = parts->degrees;
    const double m = parts->microbatches, packs = m * d->mbs;
    varied_time varied = {0.0, 0.0, 0.0};

    if (parts->problem->job.documents.lengths == 0)
        return 0.0;
    for (int i = 0; i < parts->costs; i++)
        if (parts->cost[i].load.varied.deviation_s > varied.deviation_s)
            varied = parts->cost[i].load.varied;
    if (varied.deviation_s <= 0.0)
        return 0.0;
    const double deviation = varied.deviation_s / varied.mean_s;
    const double one = deviation * sqrt(d->mbs); // deviation of one pack
    double factor = larger(extreme_of(deviation, lockstep_ranks(d), 1.0),
                           extreme_of(deviation / sqrt(m), d->dp, 1.0));
    if (parts->problem->job.documents.balanced && packs > 1.0)
        factor = smaller(factor, 1.0 + 0.5 *
                                           (extreme_of(one, d->dp * packs, 1.0) -
                                            extreme_of(one, d->dp * packs, -1.0)) /
                                           packs);
    return m * smaller((factor - 1.0) * varied.mean_s, varied.most_s) +
           (d->pp - 1.0) / d->vpp *
               smaller((extreme_of(deviation, m, 1.0) - 1.0) * varied.mean_s, varied.most_s);
}

/*
 * Sums the terms of a step (C.80). busy_s_a_gpu and moving_s_a_gpu, which determine energy (C.96),
 * are means over GPUs: each stage has weight 1 / pp, since a GPU computes the microbatches of its
 * own stage only. All GPUs wait for the longest optimizer step, which is memory-bound.
 */
step_sum step_sum_of(const step_parts *parts)
{
    const plait_degrees *d = parts->degrees;
    const plait_schedule schedule = (plait_schedule)d->schedule;
    const plait_pipeline_load pipeline = pipeline_load(parts);
    step_sum sum = {.alone_s = plait_pipeline_s(schedule, &pipeline),
                    .exact = plait_pipeline_exact(schedule, &pipeline)};

    take_slowest(parts, &sum);
    for (int i = 0; i < parts->costs; i++) {
        const stage_load *load = &parts->cost[i].load;
        const double share = load->count * (double)parts->microbatches / d->pp;
        sum.busy_s_a_gpu += share * load->busy_s;
        sum.moving_s_a_gpu += share * load->moving_s;
        sum.optimizer_s = larger(sum.optimizer_s, optimizer_left_s(load, &parts->cost[i].sync));
    }
    sum.moving_s_a_gpu += sum.optimizer_s;
    sum.pp_comm_s = sends_exposed_s(parts->problem, d, parts->microbatches, parts->send_s);
    sum.dp_comm_s = sync_exposed_s(parts->problem, d, parts->cost, parts->costs);
    sum.forward_s = forward_pass_s(parts);
    sum.data_s = data_s(parts);
    const bool apart = parts->problem->job.tuning.reference == PLAIT_REFERENCE_APART;
    *(apart ? &sum.other_gpus_s : &sum.reference_s) = reference_s(parts, sum.forward_s);
    step_sum_take(&sum, sum.alone_s);
    return sum;
}

void step_sum_take(step_sum *sum, double pipeline_s)
{
    sum->alone_s = pipeline_s;
    sum->pipeline_s = pipeline_s - sum->hidden_s;
    const double own_s =
        sum->pipeline_s + sum->pp_comm_s + sum->dp_comm_s + sum->optimizer_s + sum->data_s;
    if (sum->other_gpus_s > 0.0)
        sum->reference_s = larger(0.0, sum->other_gpus_s - own_s);
    sum->total_s = own_s + sum->reference_s;
}
