/* rl_fewest.c - the fewest GPUs on which a reinforcement-learning step runs (S.120) */
#include <string.h>

#include "base/status.h"
#include "search/rl/rl_search.h"

/* Do the limits of training allow parameters or gradients in host memory? */
static bool may_offload(const plait_search_options *training)
{
    for (int i = 0; i < training->limits; i++)
        if (training->limit[i].key == PLAIT_KEY_OFFLOAD)
            return true;
    return false;
}

/*
 * Lower bound on the bytes of a GPU for weights and gradients in 16 bits, or for frozen weights, in
 * all plans that are searched.
 */
static double least_bytes(const plait_rl_job *job, const plait_rl_options *options, int gpus)
{
    static const double weight_and_gradient_bytes = 4.0;
    const plait_tuning *const tuning = &job->problem.job.tuning;
    const double each =
        tuning->rank > 0 ? plait_frozen_format_bytes(tuning->format) : weight_and_gradient_bytes;

    return may_offload(&options->training)
               ? 0.0
               : each * plait_model_params(job->problem.model).total / gpus;
}

/* Does a plan fit on a number of GPUs? */
static plait_status fits_on(const plait_rl_job *job, const plait_rl_options *options, int gpus,
                            plait_arena *arena, bool *fits, plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    plait_rl_job one = *job;

    one.problem.job.gpus = gpus;
    *fits = false;
    if (least_bytes(job, options, gpus) >=
        plait_cluster_accelerator(job->problem.cluster, 0)->memory_bytes)
        return PLAIT_OK;
    plait_rl_answer *const answer = plait_arena_alloc(arena, 1, sizeof *answer);
    PLAIT_TRY(plait_check_allocated(answer, err));
    memset(answer, 0, sizeof *answer);
    rl_search s = {
        .job = &one, .options = options, .arena = arena, .out = answer, .fits_only = true};
    PLAIT_TRY(rl_search_divisions(&s, err));
    *fits = answer->plans > 0;
    plait_arena_rewind(arena, mark);
    return PLAIT_OK;
}

plait_status plait_rl_fewest(const plait_rl_job *job, const plait_rl_options *options, int most,
                             plait_arena *arena, int *gpus, plait_error *err)
{
    plait_rl_options colocated = *options;
    bool fits = false;

    PLAIT_TRY(plait_rl_job_check(job, err));
    if (colocated.only_placement == 0)
        colocated.only_placement = 1 + PLAIT_RL_COLOCATED; // all memory is then available to both
    for (*gpus = 1; *gpus <= most; *gpus *= 2) {
        PLAIT_TRY(fits_on(job, &colocated, *gpus, arena, &fits, err));
        if (fits)
            return PLAIT_OK;
    }
    *gpus = 0;
    return PLAIT_OK;
}
