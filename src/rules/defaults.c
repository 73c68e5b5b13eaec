/*
 * defaults.c - the default values of keys that a plan does not set, for a runtime
 *
 * A default can depend on earlier keys in plait_keys. A key without an entry in this file has
 * default 0.
 */
#include "base/saturating.h"
#include "plait/plan.h"
#include "plait/lowlevel/schedule.h"
#include "plan/reason.h"
#include "rules/plan_check.h"
#include "rules/rules.h"

static int default_one(const plait_problem *problem, const plait_degrees *d, plait_key_id key)
{
    (void)problem, (void)d, (void)key;
    return 1;
}

/* Returns the default in the runtime's profile, which does not depend on other keys. */
static int default_of_runtime(const plait_problem *problem, const plait_degrees *d,
                              plait_key_id key)
{
    (void)d;
    return problem->runtime->defaults.key[key];
}

/* Returns the profile's dispatcher, or the first that the accelerator runs in its place. */
static int default_dispatcher(const plait_problem *problem, const plait_degrees *d,
                              plait_key_id key)
{
    const unsigned takes = problem->runtime->can.takes[key];
    plait_degrees with = *d;

    with.dispatcher = (unsigned char)problem->runtime->defaults.key[key];
    if (problem->cluster == NULL || plan_dispatcher_runs(problem, &with, &no_reason))
        return with.dispatcher;
    for (with.dispatcher = 0; with.dispatcher < PLAIT_DISPATCHERS; with.dispatcher++)
        if ((takes >> with.dispatcher & 1u) && plan_dispatcher_runs(problem, &with, &no_reason))
            return with.dispatcher;
    return problem->runtime->defaults.key[key];
}

static int default_attention(const plait_problem *problem, const plait_degrees *d, plait_key_id key)
{
    (void)d, (void)key;
    return (int)plait_attention_usual(problem);
}

static int default_sp(const plait_problem *problem, const plait_degrees *d, plait_key_id key)
{
    return d->tp > 1 && (problem->runtime->can.takes[key] >> 1 & 1u);
}

static int default_etp(const plait_problem *problem, const plait_degrees *d, plait_key_id key)
{
    const rule_set *set = rule_set_of(problem->runtime->rules);

    (void)key;
    while (set->etp == NULL && set->base != NULL)
        set = set->base;
    return set->etp ? set->etp(problem, d) : 1;
}

static int default_dp(const plait_problem *problem, const plait_degrees *d, plait_key_id key)
{
    const int dp = plait_degrees_dp(problem->job.gpus, d->tp, d->pp, d->cp);

    (void)key;
    return dp > 0 ? dp : 1;
}

static int default_shard_group(const plait_problem *problem, const plait_degrees *d,
                               plait_key_id key)
{
    const int replicas = saturating_mul(d->dp, d->cp);

    (void)problem, (void)key;
    return replicas < PLAIT_MAX_GPUS ? replicas
                                     : PLAIT_MAX_GPUS; // callers can pass any number of GPUs
}

/* Returns the runtime's default where the model has experts, else 0. */
static int default_fusion(const plait_problem *problem, const plait_degrees *d, plait_key_id key)
{
    return plait_keys[key].matters(problem, d) ? default_of_runtime(problem, d, key) : 0;
}

/* Returns the default vpp: 2 if the plan's schedule needs two chunks per rank, else 1. */
static int default_chunks(const plait_problem *problem, const plait_degrees *d, plait_key_id key)
{
    (void)problem, (void)key;
    return plait_schedule_chunks((plait_schedule)d->schedule) == 2 ? 2 : 1;
}

/*
 * Returns the default schedule. With one chunk per rank it is 1F1B if the plan has one stage or the
 * software has 1F1B; several chunks per rank need another schedule.
 */
static int default_schedule(const plait_problem *problem, const plait_degrees *d, plait_key_id key)
{
    const unsigned takes = problem->runtime->can.takes[key];

    if (d->vpp > 1) {
        for (int s = 0; s < PLAIT_SCHEDULES; s++)
            if ((takes >> s & 1u) && plait_schedule_takes((plait_schedule)s, d->vpp))
                return s;
        return PLAIT_INTERLEAVED; // the software has no such schedule; plan_check reports that
    }
    return d->pp == 1 || (takes >> PLAIT_1F1B & 1u) ? PLAIT_1F1B
                                                    : problem->runtime->defaults.key[key];
}

/*
 * Returns the default format of gradient reduction. Jobs in fp16 reduce in fp16, even if the
 * software reduces the gradients of bf16 jobs in fp32 to avoid rounding.
 */
static int default_grad_reduce(const plait_problem *problem, const plait_degrees *d,
                               plait_key_id key)
{
    const unsigned takes = problem->runtime->can.takes[key];
    const bool half = problem->job.precision == PLAIT_FP16 && (takes >> PLAIT_STATE_FP16 & 1u);

    return half ? PLAIT_STATE_FP16 : default_of_runtime(problem, d, key);
}

/*
 * Returns the default of fp8_params, as in NVIDIA's recipes: on if products read 8-bit weights in a
 * format that can be stored, and the optimizer's shards contain the master weights.
 */
static int default_fp8_params(const plait_problem *problem, const plait_degrees *d,
                              plait_key_id key)
{
    const plait_precision precision = problem->job.precision;

    return (precision == PLAIT_FP8 || precision == PLAIT_MXFP8) && d->zero > 0 &&
           d->offload == PLAIT_OFFLOAD_NONE && (problem->runtime->can.takes[key] >> 1 & 1u);
}

static int (*const default_of[PLAIT_KEYS])(const plait_problem *problem, const plait_degrees *d,
                                           plait_key_id key) = {
    [PLAIT_KEY_TP] = default_one,
    [PLAIT_KEY_SP] = default_sp,
    [PLAIT_KEY_PP] = default_one,
    [PLAIT_KEY_VPP] = default_chunks,
    [PLAIT_KEY_CP] = default_one,
    [PLAIT_KEY_CP_COMM] = default_of_runtime,
    [PLAIT_KEY_EP] = default_one,
    [PLAIT_KEY_ETP] = default_etp,
    [PLAIT_KEY_DISPATCHER] = default_dispatcher,
    [PLAIT_KEY_EP_OVERLAP] = default_of_runtime,
    [PLAIT_KEY_DP] = default_dp,
    [PLAIT_KEY_ZERO] = default_of_runtime,
    [PLAIT_KEY_SHARD_GROUP] = default_shard_group,
    [PLAIT_KEY_MBS] = default_one,
    [PLAIT_KEY_ATTENTION] = default_attention,
    [PLAIT_KEY_PERMUTE_FUSION] = default_fusion,
    [PLAIT_KEY_ROUTER_FUSION] = default_fusion,
    [PLAIT_KEY_CUDA_GRAPH] = default_of_runtime,
    [PLAIT_KEY_RECOMPUTE] = default_of_runtime,
    [PLAIT_KEY_SCHEDULE] = default_schedule,
    [PLAIT_KEY_GRAD_SYNC] = default_of_runtime,
    [PLAIT_KEY_SPLIT] = default_of_runtime,
    [PLAIT_KEY_ORDER] = default_of_runtime,
    [PLAIT_KEY_GRAD_REDUCE] = default_grad_reduce,
    [PLAIT_KEY_OPTIMIZER_STATE] = default_of_runtime,
    [PLAIT_KEY_FP8_PARAMS] = default_fp8_params,
    [PLAIT_KEY_OFFLOAD] = default_of_runtime,
};

int plait_key_default(const plait_problem *problem, const plait_degrees *d, plait_key_id key)
{
    return default_of[key] ? default_of[key](problem, d, key) : 0;
}

bool plait_key_is_usual(const plait_problem *problem, const plait_degrees *d, plait_key_id key)
{
    return key >= 0 && key < PLAIT_KEYS &&
           plait_key_value(d, key) == plait_key_default(problem, d, key);
}

void plait_degrees_fill(const plait_problem *problem, plait_key_set given, plait_degrees *d)
{
    for (int key = 0; key < PLAIT_KEYS; key++)
        if (!(given & PLAIT_KEY_BIT(key)))
            plait_key_put(d, (plait_key_id)key, plait_key_default(problem, d, (plait_key_id)key));

    // Offloading the optimizer offloads gradients too if the software cannot separate them
    // (DeepSpeed).
    if (d->offload == PLAIT_OFFLOAD_OPTIMIZER && plait_optimizer_takes_gradients(problem->runtime))
        d->offload = PLAIT_OFFLOAD_GRADIENTS;
}
