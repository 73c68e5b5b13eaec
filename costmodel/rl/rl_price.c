/* rl_price.c - a step of reinforcement learning: its phases in time and memory (C.447 to C.449) */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"
#include "base/status.h"
#include "costmodel/rl/rl_parts.h"
#include "plait/units.h"
#include "plan/problem_check.h"
#include "plan/problem_parts.h"

const char *const plait_rl_algorithm_name[PLAIT_RL_ALGORITHMS + 1] = {"grpo", "dapo", "ppo", "rloo",
                                                                      NULL};
const char *const plait_rl_placement_name[PLAIT_RL_PLACEMENTS + 1] = {"colocated", "apart", NULL};
const char *const plait_rl_framework_name[PLAIT_RL_FRAMEWORKS + 1] = {"verl", "nemo-rl", NULL};
const char *const plait_rl_handover_name[PLAIT_RL_HANDOVERS + 1] = {"bucketed", "by_parameter",
                                                                    NULL};

#define X(name, what) #name,
const char *const plait_rl_phase_name[PLAIT_RL_PHASES + 1] = {PLAIT_RL_PHASE_LIST(X) NULL};
#undef X

void plait_rl_job_init(plait_rl_job *job)
{
    *job = (plait_rl_job){.reference = true, .logprobs = true};
    plait_problem_init(&job->problem);
}

/* Both sides of a plan. */
typedef struct parts {
    const rl_training *training;
    const rl_rollout *rollout;
} parts;

/* GPUs of a node that train. */
static int train_gpus_of_node(const plait_rl_job *job, const plait_rl_plan *plan)
{
    return (int)smaller(job->problem.cluster->group[0].gpus_per_node, plan->train_gpus);
}

/* Bytes of one GPU that wait on the host while the engine runs. */
static double offloaded_bytes(const plait_memory *memory)
{
    return memory->weights_bytes + memory->optimizer_bytes;
}

/* With offload only what is outside tensors stays. Gradients are freed. */
double rl_held_bytes(const plait_rl_plan *plan, const rl_training *training)
{
    const plait_memory *const memory = &training->policy.cost.memory;

    if (plan->placement == PLAIT_RL_APART)
        return 0.0;
    return memory->runtime_bytes + (plan->offload ? 0.0 : offloaded_bytes(memory));
}

/* Bytes that the engine keeps for CUDA graphs while it sleeps. */
static double asleep_bytes(const plait_rl_plan *plan, const plait_engine *engine)
{
    return plan->placement == PLAIT_RL_COLOCATED ? engine->graph_bytes : 0.0;
}

// ---- time ----------------------------------------------------------------------------------

/* C.447: state moves to the host before generation and back before training. */
static double swap_s(const plait_rl_job *job, const plait_rl_plan *plan, const plait_memory *memory)
{
    const double rate = plait_cluster_accelerator(job->problem.cluster, 0)->host_bytes_per_s;

    if (plan->placement == PLAIT_RL_APART || !plan->offload || rate <= 0.0)
        return 0.0;
    return 2.0 * offloaded_bytes(memory) / rate;
}

/*
 * C.448: synchronous phases follow each other. Otherwise a step takes the longer of generation and
 * training, and the hand-over, during which generation waits.
 */
static void fill_time(const plait_rl_job *job, const plait_rl_plan *plan, const parts *p,
                      plait_rl_price *out)
{
    const rl_update *const policy = &p->training->policy;
    const rl_update *const critic = &p->training->critic;
    double *const phase = out->phase_s;

    phase[PLAIT_RL_rollout] = p->rollout->seconds;
    phase[PLAIT_RL_logprob] = job->logprobs ? policy->forward_s : 0.0;
    phase[PLAIT_RL_reference] = job->reference ? policy->forward_s : 0.0;
    if (job->critic)
        phase[PLAIT_RL_critic] = critic->forward_s + critic->updates * critic->update_s;
    if (job->reward)
        phase[PLAIT_RL_reward] = p->training->reward.forward_s;
    phase[PLAIT_RL_train] = policy->updates * policy->update_s;
    phase[PLAIT_RL_handover] = rl_handover_s(job, plan);
    phase[PLAIT_RL_swap] = swap_s(job, plan, &policy->cost.memory);
    const double training_s = phase[PLAIT_RL_logprob] + phase[PLAIT_RL_reference] +
                              phase[PLAIT_RL_critic] + phase[PLAIT_RL_reward] +
                              phase[PLAIT_RL_train];
    const double between_s = phase[PLAIT_RL_handover] + phase[PLAIT_RL_swap];
    const double rollout_s = phase[PLAIT_RL_rollout];

    if (plan->staleness > 0)
        phase[PLAIT_RL_wait] = larger(0.0, rollout_s - training_s);
    out->step_s =
        between_s + (plan->staleness > 0 ? larger(rollout_s, training_s) : rollout_s + training_s);
    const double gpus = plan->placement == PLAIT_RL_APART ? plan->train_gpus + plan->rollout_gpus
                                                          : plan->train_gpus;
    const double busy = plan->placement == PLAIT_RL_APART
                            ? plan->train_gpus * training_s + plan->rollout_gpus * rollout_s
                            : plan->train_gpus * (training_s + rollout_s);
    const double usd = plait_cluster_accelerator(job->problem.cluster, 0)->usd_per_hour;

    out->idle_share = larger(0.0, 1.0 - busy / (gpus * out->step_s));
    out->tokens = rl_answers(job) * rl_mean_tokens(job);
    out->tokens_per_s_per_gpu = out->tokens / out->step_s / gpus;
    out->usd = usd > 0.0 ? usd / 3600.0 * gpus * out->step_s : (double)NAN;
}

// ---- memory --------------------------------------------------------------------------------

/*
 * C.449: memory of the phases. Colocated, the host holds the state of training while the engine
 * runs. Forward passes need weights and buffers; the reference's weights come from the host for its
 * pass.
 */
static void fill_memory(const plait_rl_job *job, const plait_rl_plan *plan, const parts *p,
                        plait_rl_price *out)
{
    const plait_memory *const memory = &p->training->policy.cost.memory;
    const double asleep = asleep_bytes(plan, &p->rollout->engine);
    const double node = train_gpus_of_node(job, plan);
    const bool adapters = job->problem.job.tuning.rank > 0;
    const double reference_bytes = job->reference && !adapters ? node * memory->weights_bytes : 0.0;
    const double critic_bytes =
        job->critic ? node * offloaded_bytes(&p->training->critic.cost.memory) : 0.0;

    out->capacity_bytes = memory->capacity_bytes;
    out->host_capacity_bytes = memory->host_capacity_bytes;
    out->rollout.device_bytes = rl_held_bytes(plan, p->training) +
                                p->rollout->engine.memory_fraction * p->rollout->memory.all;
    out->rollout.host_bytes = memory->host_bytes + reference_bytes + critic_bytes +
                              (plan->offload ? node * offloaded_bytes(memory) : 0.0);
    out->update.device_bytes =
        larger(memory->peak_bytes, job->critic ? p->training->critic.cost.memory.peak_bytes : 0.0) +
        asleep;
    out->update.host_bytes = memory->host_bytes + reference_bytes + critic_bytes;
    out->forward.device_bytes = memory->weights_bytes + memory->buffers_bytes +
                                memory->runtime_bytes + asleep +
                                (plan->offload ? 0.0 : memory->optimizer_bytes);
    out->forward.host_bytes = out->update.host_bytes;
}

static void refuse(plait_rl_price *out, plait_verdict verdict, const char *what, const char *why)
{
    out->verdict = verdict;
    snprintf(out->why, sizeof out->why, "%s%s%.200s", what, what[0] != '\0' ? ": " : "", why);
}

static void judge(const plait_rl_plan *plan, const parts *p, plait_rl_price *out)
{
    const double device = p->rollout->memory.all;
    char why[128];

    out->verdict = PLAIT_FITS;
    if (p->training->policy.cost.verdict > PLAIT_FITS)
        refuse(out, p->training->policy.cost.verdict, "training", p->training->policy.cost.why);
    else if (out->update.device_bytes > out->capacity_bytes) {
        snprintf(why, sizeof why, "updates need %.1f GiB, plans may use %.1f GiB",
                 out->update.device_bytes / PLAIT_GIB, out->capacity_bytes / PLAIT_GIB);
        refuse(out, PLAIT_OUT_OF_MEMORY, "training", why);
    } else if (out->host_capacity_bytes > 0.0 &&
               larger(out->rollout.host_bytes, out->update.host_bytes) > out->host_capacity_bytes) {
        snprintf(why, sizeof why, "%.0f GiB on a node of %.0f GiB",
                 larger(out->rollout.host_bytes, out->update.host_bytes) / PLAIT_GIB,
                 out->host_capacity_bytes / PLAIT_GIB);
        refuse(out, PLAIT_OUT_OF_MEMORY, "host memory", why);
    }
    if (out->verdict <= PLAIT_TIGHT && p->rollout->why != NULL)
        refuse(out, device > 0.0 ? PLAIT_OUT_OF_MEMORY : PLAIT_INVALID, "generation",
               p->rollout->why);
    if (out->verdict <= PLAIT_TIGHT && plan->placement == PLAIT_RL_COLOCATED && plan->staleness > 0)
        refuse(out, PLAIT_INVALID, "", "colocated generation cannot run ahead of training");
}

// ---- a plan --------------------------------------------------------------------------------

plait_status plait_rl_job_check(const plait_rl_job *job, plait_error *err)
{
    plait_problem problem = job->problem;

    if (!job->engine || !job->lengths || job->lengths->count < 1)
        return plait_fail(err, PLAIT_ERROR_RANGE, "job",
                          "expected an engine and lengths of answers, found none");
    if (job->prompts < 1 || job->generations < 1 || rl_answers(job) > PLAIT_MAX_GBS)
        return plait_fail(err, PLAIT_ERROR_RANGE, "prompts",
                          "expected 1 to %d answers in a step, found %d prompts of %d",
                          PLAIT_MAX_GBS, job->prompts, job->generations);
    if (job->algorithm == PLAIT_RL_PPO && !job->critic)
        return plait_fail(err, PLAIT_ERROR_RANGE, "critic",
                          "expected a critic for ppo, found none");
    if (!(job->environment_s >= 0.0 && isfinite(job->environment_s)) ||
        (unsigned)job->framework >= PLAIT_RL_FRAMEWORKS)
        return plait_fail(err, PLAIT_ERROR_RANGE, "job",
                          "expected a framework and seconds of an environment, found others");
    plait_rl_update_job(job, &problem.job);
    PLAIT_TRY(problem_check(&problem, err));
    if (job->critic)
        PLAIT_TRY(model_check_parts(job->critic, err));
    return job->reward ? model_check_parts(job->reward, err) : PLAIT_OK;
}

void rl_price_join(const plait_rl_job *job, const plait_rl_plan *plan, const rl_training *training,
                   const rl_rollout *rollout, plait_rl_price *out)
{
    static const char *const what[] = {"training", "critic", "reward"};
    const rl_update *const update[] = {&training->policy, &training->critic, &training->reward};
    const rl_update *const policy = &training->policy;
    const parts p = {training, rollout};

    *out = (plait_rl_price){.verdict = PLAIT_INVALID};
    for (int i = 0; i < 3; i++)
        if (update[i]->cost.verdict == PLAIT_INVALID) {
            refuse(out, PLAIT_INVALID, what[i], update[i]->cost.why);
            return;
        }
    out->updates = policy->updates;
    out->update_s = policy->update_s;
    out->imbalance = policy->imbalance;
    out->sequences = policy->problem.job.gbs;
    out->sequence_tokens = policy->problem.job.seq;
    out->replicas = rollout->replicas;
    out->batch = rollout->batch;
    out->memory_fraction = rollout->engine.memory_fraction;
    out->cache_tokens = rollout->cache_tokens;
    out->handover_bytes = rl_handover_bytes(job);
    fill_memory(job, plan, &p, out);
    fill_time(job, plan, &p, out);
    judge(plan, &p, out);
}

plait_status plait_rl_price_of(const plait_rl_job *job, const plait_rl_plan *plan, bool simulate,
                               plait_arena *arena, plait_rl_price *out, plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    rl_training *const training = plait_arena_alloc(arena, 1, sizeof *training);
    rl_rollout rollout = {0};
    plait_status status = plait_check_allocated(training, err);

    *out = (plait_rl_price){.verdict = PLAIT_INVALID};
    if (status == PLAIT_OK)
        status = plait_rl_job_check(job, err);
    if (status == PLAIT_OK)
        status = rl_training_of(job, plan, arena, training, err);
    if (status == PLAIT_OK && training->policy.cost.verdict != PLAIT_INVALID)
        status = rl_rollout_of(job, plan, rl_held_bytes(plan, training), simulate ? INT_MAX : 1,
                               NULL, arena, &rollout, err);
    if (status == PLAIT_OK)
        rl_price_join(job, plan, training, &rollout, out);
    plait_arena_rewind(arena, mark);
    return status;
}
