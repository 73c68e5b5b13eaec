/* rl_update.c - packed sequences, time of an update and of a forward pass (C.440 to C.443) */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/status.h"
#include "costmodel/rl/rl_parts.h"

double rl_answers(const plait_rl_job *job)
{
    return (double)job->prompts * job->generations;
}

double rl_mean_tokens(const plait_rl_job *job)
{
    return job->lengths->input.mean + job->lengths->output.mean;
}

/* Mean of the squares of the lengths, over their mean: the reach of attention. (C.441) */
static double mean_reach(const plait_lengths *lengths)
{
    double sum = 0.0, squares = 0.0;

    for (int i = 0; i < lengths->count; i++) {
        const double length = lengths->request[i].input + lengths->request[i].output;
        sum += length;
        squares += length * length;
    }
    return squares / sum;
}

/*
 * Sets *out to the expected longest of n answers with their prompts, the mean of a maximum of n
 * draws.
 */
static plait_status longest_of(const plait_lengths *lengths, double n, plait_arena *arena,
                               double *out, plait_error *err)
{
    const int count = lengths->count;
    double *const length = plait_arena_alloc(arena, (size_t)count, sizeof *length);

    PLAIT_TRY(plait_check_allocated(length, err));
    for (int i = 0; i < count; i++)
        length[i] = lengths->request[i].input + lengths->request[i].output;
    qsort(length, (size_t)count, sizeof *length, compare_doubles);
    *out = 0.0;
    for (int i = 0; i < count; i++)
        *out += (pow((i + 1.0) / count, n) - pow((double)i / count, n)) * length[i];
    return PLAIT_OK;
}

/* A divisor of the GPUs, all of them or at most a quarter of the packs. */
static double divisor_of(int gpus, double packs)
{
    int unit = gpus;

    while (packs < gpus && unit > packs / 4.0 && unit % 2 == 0)
        unit /= 2;
    return unit <= packs ? unit : 1.0;
}

/*
 * C.440: packed sequences of an update. A pack holds as many mean sequences as fit into
 * pack_tokens, but there is a pack for each GPU if there are as many answers. All packs have the
 * same tokens. Their number is rounded up such that data-parallel degrees divide it.
 */
static int packs_of(const plait_rl_job *job, double answers, int gpus)
{
    const double mean = rl_mean_tokens(job);
    const double most = job->pack_tokens > 0.0 ? job->pack_tokens : job->lengths->longest;
    const double full = ceil(answers / larger(floor(most / mean), 1.0));
    const double packs = larger(full, smaller(answers, gpus));
    const double unit = divisor_of(gpus, packs);

    return (int)smaller(unit * ceil(packs / unit), PLAIT_MAX_GBS);
}

/* Tokens of a pack, padded such that tensor and context parallelism divide them. */
static int padded(double tokens)
{
    static const double unit = 64.0;

    return (int)smaller(unit * larger(1.0, ceil(tokens / unit)), PLAIT_MAX_SEQ);
}

static int update_prompts_of(const plait_rl_job *job)
{
    return job->update_prompts > 0 && job->update_prompts < job->prompts ? job->update_prompts
                                                                         : job->prompts;
}

void plait_rl_update_job(const plait_rl_job *job, plait_job *out)
{
    const double answers = (double)update_prompts_of(job) * job->generations;

    out->gbs = packs_of(job, answers, out->gpus);
    out->seq = padded(answers * rl_mean_tokens(job) / out->gbs);
    out->document = (int)smaller(larger(mean_reach(job->lengths) + 0.5, 1.0), PLAIT_MAX_SEQ);
}

/*
 * C.442: the tokens of the fullest data-parallel rank over the mean, if answers are distributed by
 * their lengths: at least the longest answer is on one rank.
 */
static plait_status imbalance_of(const plait_rl_job *job, double answers, int ranks,
                                 plait_arena *arena, double *out, plait_error *err)
{
    double longest = 0.0;

    *out = 1.0;
    if (ranks <= 1)
        return PLAIT_OK;
    PLAIT_TRY(longest_of(job->lengths, answers, arena, &longest, err));
    *out = larger(1.0, longest * ranks / (answers * rl_mean_tokens(job)));
    return PLAIT_OK;
}

/* Rounds the packs of an update up to a multiple of dp mbs: some ranks then get fewer tokens. */
static void divide_packs(plait_job *job, const plait_degrees *d)
{
    const int64_t unit = (int64_t)d->dp * d->mbs;
    const double tokens = plait_job_tokens(job);

    if (unit <= 0 || job->gbs % unit == 0 || unit > PLAIT_MAX_GBS)
        return;
    const int64_t packs = (job->gbs + unit - 1) / unit * unit;
    if (packs > PLAIT_MAX_GBS)
        return;
    job->gbs = (int)packs;
    job->seq = padded(tokens / (double)packs);
}

/*
 * The microbatch with the longest answer needs the most memory, so the memory of the plan is that of
 * microbatches of this many tokens.
 */
static plait_status use_longest(const plait_rl_job *job, rl_update *u, plait_arena *arena,
                                plait_error *err)
{
    const int mbs = u->plan.degrees.mbs;
    plait_problem longest = u->problem;
    plait_cost cost;

    if ((double)mbs * u->problem.job.seq >= job->lengths->longest)
        return PLAIT_OK;
    longest.job.seq = padded(job->lengths->longest / mbs);
    PLAIT_TRY(plait_plan_evaluate(&longest, &u->plan, NULL, arena, &cost, err));
    if (cost.verdict == PLAIT_INVALID)
        return PLAIT_OK;
    u->cost.memory = cost.memory;
    u->cost.verdict = cost.verdict;
    memcpy(u->cost.why, cost.why, sizeof u->cost.why);
    return PLAIT_OK;
}

static plait_status update_of(const plait_rl_job *job, const plait_rl_plan *plan,
                              const plait_model *model, plait_arena *arena, rl_update *out,
                              plait_error *err)
{
    plait_problem *const problem = &out->problem;

    *problem = job->problem;
    problem->model = model;
    problem->job.gpus = plan->train_gpus;
    plait_rl_update_job(job, &problem->job);
    const double updates = ceil((double)job->prompts / update_prompts_of(job));
    divide_packs(&problem->job, &plan->degrees);
    out->updates = (int)updates;
    const plait_verdict legal =
        plait_degrees_check(problem, &plan->degrees, out->cost.why, sizeof out->cost.why);
    if (legal == PLAIT_INVALID) {
        out->cost.verdict = PLAIT_INVALID;
        return PLAIT_OK;
    }
    PLAIT_TRY(plait_plan_expand(problem, &plan->degrees, arena, &out->plan, err));
    PLAIT_TRY(plait_plan_evaluate(problem, &out->plan, NULL, arena, &out->cost, err));
    if (out->cost.verdict == PLAIT_INVALID)
        return PLAIT_OK;
    PLAIT_TRY(use_longest(job, out, arena, err));
    const double answers = rl_answers(job);
    const plait_step_time *const step = &out->cost.step;
    const double once_s = step->dp_comm_s + step->optimizer_s;
    double of_step = 1.0;
    PLAIT_TRY(imbalance_of(job, answers / updates, plan->degrees.dp, arena, &out->imbalance, err));
    PLAIT_TRY(imbalance_of(job, answers, plan->degrees.dp, arena, &of_step, err));
    out->update_s = out->imbalance * (out->cost.step_s - once_s) + once_s;
    // C.443: a forward pass over all answers of the step
    out->forward_s = updates * of_step * out->cost.forward_pass_s;
    return PLAIT_OK;
}

plait_status rl_training_of(const plait_rl_job *job, const plait_rl_plan *plan, plait_arena *arena,
                            rl_training *out, plait_error *err)
{
    memset(out, 0, sizeof *out);
    PLAIT_TRY(update_of(job, plan, job->problem.model, arena, &out->policy, err));
    if (out->policy.cost.verdict == PLAIT_INVALID)
        return PLAIT_OK;
    if (job->critic)
        PLAIT_TRY(update_of(job, plan, job->critic, arena, &out->critic, err));
    return job->reward ? update_of(job, plan, job->reward, arena, &out->reward, err) : PLAIT_OK;
}
