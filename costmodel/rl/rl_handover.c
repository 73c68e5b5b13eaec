/* rl_handover.c - new weights from training to the engine (C.446) */
#include "base/numbers.h"
#include "costmodel/rl/rl_parts.h"
#include "plait/lowlevel/collective.h"
#include "plan/model_queries.h"

/*
 * Time of one small collective with the work of Python around it, and the collectives of a tensor:
 * one for a dense matrix, three for one of an expert (over its tensor-parallel, expert-parallel and
 * pipeline ranks). **Chosen** by the published hand-overs of verl: 0.12 s for the 340 tensors of a
 * model of 7.6e9 parameters and 15.8 s for the 18,900 of Qwen3-30B-A3B one by one, 23.7 s for the
 * 37,000 of Qwen3-235B-A22B in buckets. For NeMo-RL, whose hand-over is not published, by five whole
 * steps of DeepSeek-V3.
 */
static const double call_s[PLAIT_RL_FRAMEWORKS] = {
    [PLAIT_RL_VERL] = 2e-4, [PLAIT_RL_NEMO_RL] = 3e-4};
static const double dense_calls = 1.0, expert_calls = 3.0;

/* Bytes of a weight as it is sent. */
static const double sent_bytes = 2.0;

/*
 * Tensors of a published checkpoint: dense ones, and those of experts. Mixers count as six tensors:
 * four projections, and two norms or biases.
 */
typedef struct tensors {
    double dense, expert;
} tensors;

static tensors count_tensors(const plait_model *model)
{
    tensors sum = {.dense = 3.0}; // embedding, last norm, head

    for (int i = 0; i < model->layers; i++) {
        const plait_layer *const layer = &model->kind[model->layer_kind[i]];
        sum.dense += 2.0 + (layer->mixer != PLAIT_MIXER_NONE ? 6.0 : 0.0); // norms, projections
        if (layer->ffn == PLAIT_FFN_MLP)
            sum.dense += layer->mlp.gated ? 3.0 : 2.0;
        if (layer->ffn == PLAIT_FFN_MOE)
            sum.expert += (layer->moe.gated ? 3.0 : 2.0) * layer->moe.experts;
    }
    return sum;
}

double rl_handover_bytes(const plait_rl_job *job)
{
    const plait_tuning *const tuning = &job->problem.job.tuning;

    if (tuning->rank > 0)
        return 0.0; // adapters are small
    return sent_bytes * plait_model_params(job->problem.model).total;
}

static double gather_s(const plait_problem *problem, double bytes, int ranks)
{
    const plait_route route = plait_route_of(
        problem->cluster, (plait_group_shape){.ranks = ranks, .runs = 1, .run = {{ranks, 1}}});

    return ranks > 1
               ? plait_collective_s(&route, (plait_network){.nic = 1.0}, PLAIT_ALL_GATHER, bytes)
               : 0.0;
}

/*
 * C.446: every rank of training gathers each tensor from the ranks that hold its parts. If
 * generation has separate GPUs, the tensors are then broadcast to them; this takes one more
 * collective for each tensor if they are not packed into buckets.
 */
double rl_handover_s(const plait_rl_job *job, const plait_rl_plan *plan)
{
    const plait_problem *const problem = &job->problem;
    const plait_degrees *const d = &plan->degrees;
    const double bytes = rl_handover_bytes(job);
    const bool apart = plan->placement == PLAIT_RL_APART;
    const bool single = apart && plan->handover == PLAIT_RL_BY_PARAMETER;
    const tensors count = count_tensors(problem->model);
    const double calls =
        count.dense * (dense_calls + single) + count.expert * (expert_calls + single);
    const double parts = (double)d->pp * larger((double)d->tp * d->cp, d->ep);
    const int shards = d->zero >= 3 ? plan->train_gpus : (int)smaller(plan->train_gpus, parts);

    if (bytes <= 0.0)
        return 0.0;
    return calls * call_s[job->framework] + gather_s(problem, bytes, shards) +
           (apart ? gather_s(problem, bytes, plan->train_gpus + plan->rollout_gpus) : 0.0);
}
