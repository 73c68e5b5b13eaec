/* read_back.c - is a launch config that was read back still the same plan? */
#include "support/read_back.h"

#include <string.h>

#include "launch/import.h"
#include "plan/layout.h"

/* Two splits may have the same chunks, and a pattern or a layout gives the chunks alone. */
static bool same_chunks(const plait_model *model, const plait_degrees *was, const plait_degrees *is)
{
    plait_chunk before[PLAIT_MAX_LAYERS], after[PLAIT_MAX_LAYERS];

    if (was->pp != is->pp || was->vpp != is->vpp || !plait_chunks_of(model, was, before) ||
        !plait_chunks_of(model, is, after))
        return false;
    for (int c = 0; c < was->pp * was->vpp; c++)
        if (!chunk_same(&before[c], &after[c]))
            return false;
    return true;
}

static const char *degrees_difference(const plait_model *model, const plait_degrees *was,
                                      const plans_entry *is, plait_arena *arena)
{
    char before[128], after[128];

    for (int k = 0; k < PLAIT_KEYS; k++) {
        if (k == PLAIT_KEY_FUSION)
            continue; // only companion files say it
        plait_degrees_get(was, (plait_key_id)k, before, sizeof before);
        plait_degrees_get(&is->degrees, (plait_key_id)k, after, sizeof after);
        // plait import itself gives switches that a target does not have
        const bool is_switch = k == PLAIT_KEY_FP8_ATTENTION || k == PLAIT_KEY_FUSED_GROUPED_MLP ||
                               k == PLAIT_KEY_CUDA_GRAPH;
        if (!(is->given & PLAIT_KEY_BIT(k)) &&
            !(is_switch && plait_key_value(was, (plait_key_id)k) == 0))
            return plait_arena_printf(arena, "%s is not said", plait_keys[k].name);
        if (k == PLAIT_KEY_SPLIT && same_chunks(model, was, &is->degrees))
            continue;
        if (strcmp(before, after) != 0)
            return plait_arena_printf(arena, "%s was %s, is %s", plait_keys[k].name, before, after);
    }
    return NULL;
}

static const char *job_difference(const plait_problem *was, const plans_entry *is,
                                  plait_arena *arena)
{
    const plait_job *const job = &was->job;

    if (job->seq != is->seq || job->gbs != is->gbs || job->gpus != is->gpus)
        return plait_arena_printf(arena, "the job was %d %d %d, is %d %d %d", job->seq, job->gbs,
                                  job->gpus, is->seq, is->gbs, is->gpus);
    if ((int)job->precision != is->precision)
        return "another precision";
    if (is->runtime == NULL || strcmp(plait_runtime_handle(was->runtime), is->runtime) != 0)
        return plait_arena_printf(arena, "runtime %s",
                                  is->runtime != NULL ? is->runtime : "(none)");
    return NULL;
}

/* Two models that cost the same to the last digit in time and memory are the same to a plan. */
static const char *price_difference(const plait_launch *was, const plait_model *model,
                                    plait_arena *arena)
{
    plait_problem problem = *was->problem;
    plait_plan plan;
    plait_cost cost;
    plait_error err;

    problem.model = model;
    if (plait_plan_expand(&problem, &was->plan->degrees, arena, &plan, &err) != PLAIT_OK ||
        plait_plan_evaluate(&problem, &plan, NULL, arena, &cost, &err) != PLAIT_OK)
        return "the model that was read back cannot run the plan";
    if (cost.step_s != was->cost->step_s || cost.memory.peak_bytes != was->cost->memory.peak_bytes)
        return plait_arena_printf(arena, "a step was %.17g s in %.17g bytes, is %.17g s in %.17g",
                                  was->cost->step_s, was->cost->memory.peak_bytes, cost.step_s,
                                  cost.memory.peak_bytes);
    return NULL;
}

const char *read_back_difference(const plait_launch *launch, plait_launch_target target,
                                 const char *text, plait_arena *arena)
{
    plans_entry entry;
    const char *warning, *found;
    plait_error err;

    if (launch_import(target, text, strlen(text), "file", NULL, arena, &entry, &warning, &err) !=
        PLAIT_OK)
        return plait_arena_printf(arena, "%s: %s", err.where, err.message);
    if (warning[0] != '\0')
        return plait_arena_printf(arena, "a warning: %s", warning);
    found = degrees_difference(launch->problem->model, &launch->plan->degrees, &entry, arena);
    if (found == NULL)
        found = job_difference(launch->problem, &entry, arena);
    if (found == NULL && entry.model != NULL)
        found = price_difference(launch, entry.model, arena);
    return found;
}
