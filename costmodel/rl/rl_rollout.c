/* rl_rollout.c - memory of the engine, and time of generation by simulation (C.444, C.445) */
#include <math.h>

#include "base/numbers.h"
#include "base/status.h"
#include "costmodel/rl/rl_parts.h"

/*
 * Share of device memory of an engine that shares its GPUs with training:
 * policy.generation.vllm_cfg.gpu_memory_utilization of NeMo-RL's examples/configs/grpo_math_1B.yaml.
 */
static const double colocated_fraction = 0.6;

/*
 * Host time of a framework for each running answer of a step of the engine, in addition to that of a server:
 * log-probabilities of every token, and a coroutine for each answer. **Chosen** by 10 published
 * steps of NeMo-RL; 6 of verl need none.
 */
static const double framework_sequence_s[PLAIT_RL_FRAMEWORKS] = {[PLAIT_RL_NEMO_RL] = 1.2e-4};

/* C.444: an engine that shares GPUs with training gets at most the memory that training does not hold. */
static double fraction_of(const plait_rl_job *job, const plait_rl_plan *plan, double all_bytes,
                          double held_bytes)
{
    const double free_share = larger(0.0, 1.0 - held_bytes / all_bytes);
    const double usual =
        plan->placement == PLAIT_RL_COLOCATED ? colocated_fraction : job->engine->memory_fraction;

    return smaller(free_share, plan->memory_fraction > 0.0 ? plan->memory_fraction : usual);
}

/* All answers of a prompt share its cache: one of them processes the prompt. */
static plait_status shared_prompts(const plait_rl_job *job, plait_arena *arena, plait_lengths *out,
                                   plait_error *err)
{
    const plait_lengths *const lengths = job->lengths;
    const double found = 1.0 - 1.0 / job->generations;
    plait_request_lengths *const request =
        plait_arena_alloc(arena, (size_t)lengths->count, sizeof *request);

    PLAIT_TRY(plait_check_allocated(request, err));
    for (int i = 0; i < lengths->count; i++) {
        request[i] = lengths->request[i];
        request[i].cached = found * request[i].input;
        request[i].repeated = request[i].cached;
    }
    *out = plait_lengths_of(request, lengths->count);
    return PLAIT_OK;
}

/*
 * C.445: a synchronous step waits for the last answer. If generation runs k steps ahead, the engine
 * has the answers of k steps at once, so a step takes 1/k of their time. If answers continue while
 * weights are replaced, no step waits for its last answer, as with many steps ahead.
 */
static int steps_at_once(const plait_rl_job *job, const plait_rl_plan *plan)
{
    static const int many = 8;

    if (plan->staleness <= 0)
        return 1;
    return job->partial && plan->staleness < many ? many : plan->staleness;
}

/* Simulates `workers` of out->replicas workers. */
static plait_status simulate(const plait_rl_job *job, const plait_step_table *table, int workers,
                             plait_arena *arena, rl_rollout *out, plait_error *err)
{
    const int steps = out->steps;
    const double answers = steps * rl_answers(job);
    const int simulated = workers < out->replicas ? workers : out->replicas;
    plait_lengths lengths;
    plait_serve_sim_result result;

    PLAIT_TRY(shared_prompts(job, arena, &lengths, err));
    const plait_deployment deployment = {
        .engine = &out->engine,
        .replicas = simulated,
        .pool = {plait_pool_of(table, &out->engine, &out->memory, 1, 0.0)},
    };
    const plait_load load = {.kind = PLAIT_LOAD_OFFLINE,
                             .input = lengths.input.mean,
                             .output = lengths.output.mean,
                             .cached = lengths.cached,
                             .lengths = &lengths};
    const double requests = ceil(answers * simulated / out->replicas);
    if (requests > 1 << 24)
        return plait_fail(err, PLAIT_ERROR_RANGE, "prompts",
                          "expected at most %d answers in a step, found %.0f", 1 << 24, answers);
    PLAIT_TRY(plait_serve_simulate(&deployment, load,
                                   (plait_serve_sim_options){.seed = 1, .requests = (int)requests},
                                   arena, &result, err));
    out->batch = rl_answers(job) / out->replicas;
    out->cache_tokens = deployment.pool[0].kv_tokens;
    out->seconds = result.seconds / steps + job->environment_s;
    return PLAIT_OK;
}

/* Copies a known generation if the engine has the same memory and answers in this plan. */
static bool is_known(const plait_rl_job *job, const plait_rl_plan *plan, double held_bytes,
                     const rl_rollout *known, rl_rollout *out)
{
    if (!known || known->steps != steps_at_once(job, plan) ||
        known->engine.memory_fraction != fraction_of(job, plan, known->memory.all, held_bytes))
        return false;
    *out = *known;
    return true;
}

plait_status rl_rollout_of(const plait_rl_job *job, const plait_rl_plan *plan, double held_bytes,
                           int workers, const rl_rollout *known, plait_arena *arena,
                           rl_rollout *out, plait_error *err)
{
    const plait_problem *const problem = &job->problem;
    const plait_serving serving = {.model = problem->model,
                                   .cluster = problem->cluster,
                                   .worker = plan->worker,
                                   .weights = plan->weights,
                                   .lora_adapters = problem->job.tuning.rank > 0,
                                   .lora_rank = problem->job.tuning.rank};
    const int gpus = plait_worker_gpus(plan->worker);
    const plait_load load = {.lengths = job->lengths};

    if (is_known(job, plan, held_bytes, known, out))
        return PLAIT_OK;
    *out = (rl_rollout){.engine = *job->engine};
    plait_engine_on(&out->engine, plait_cluster_accelerator(problem->cluster, 0));
    out->engine.sequence_s += framework_sequence_s[job->framework];
    out->replicas = gpus > 0 ? plan->rollout_gpus / gpus : 0;
    out->why = out->replicas < 1 ? "the worker has more GPUs than generate" : NULL;
    plait_step_table *const table = plait_arena_alloc(arena, 1, sizeof *table);
    PLAIT_TRY(plait_check_allocated(table, err));
    if (out->why == NULL)
        out->why = plait_step_table_fill(&serving, table);
    if (out->why != NULL)
        return PLAIT_OK;
    out->memory = plait_serve_memory_of(&serving, plait_load_whole(&load));
    out->engine.memory_fraction = fraction_of(job, plan, out->memory.all, held_bytes);
    if (plait_serve_kv_tokens(&out->memory, &out->engine) < job->lengths->longest) {
        out->why = "weights of the engine leave no cache for the longest answer";
        return PLAIT_OK;
    }
    if (workers < 1)
        return PLAIT_OK;
    out->steps = steps_at_once(job, plan);
    return simulate(job, table, workers, arena, out, err);
}
