/* plan_check_stages.c - checks that the stages of a plan agree with its degrees */
#include <string.h>

#include "plait/lowlevel/schedule.h"
#include "plan/layer_sharding.h"
#include "plan/layout.h"
#include "rules/plan_check.h"
#include "plan/ranges.h"

// ---- keys that all stages share --------------------------------------------------------

static bool same_order(const plait_plan *plan, const plan_reason *why)
{
    const plait_axis *const order = plait_order_axes((plait_order)plan->degrees.order);

    for (int i = 0; i < PLAIT_AXES; i++)
        if (plan->order[i] != order[i])
            return fail_because(why, "axis %d of the rank order is %s, but order %s has %s", i,
                                plan->order[i] >= 0 && plan->order[i] < PLAIT_GROUPS
                                    ? plait_axis_name[plan->order[i]]
                                    : "none",
                                plait_order_name[plan->degrees.order], plait_axis_name[order[i]]);
    return true;
}

// ---- layers --------------------------------------------------------------------------------

static bool has_chunks(const plait_plan *plan, const plan_reason *why)
{
    const plait_degrees *const d = &plan->degrees;

    if (plan->stages != d->pp)
        return fail_because(why, "the plan has %d stages, but pp is %d", plan->stages, d->pp);
    if ((int64_t)d->pp * d->vpp > PLAIT_MAX_LAYERS)
        return fail_because(why, "pp %d x vpp %d: expected at most %d chunks", d->pp, d->vpp,
                            PLAIT_MAX_LAYERS);
    for (int s = 0; s < plan->stages; s++) {
        const plait_stage *const stage = &plan->stage[s];
        int layers = 0;

        if (stage->chunks != d->vpp)
            return fail_because(why, "stage %d has %d chunks, but vpp is %d", s, stage->chunks,
                                d->vpp);
        for (int v = 0; v < stage->chunks; v++)
            layers += stage->chunk[v].last - stage->chunk[v].first;
        if (stage->layers != layers)
            return fail_because(why, "stage %d has %d layers, but its chunks have %d", s,
                                stage->layers, layers);
    }
    return true;
}

/* Checks that the chunks of the stages are those of the plan's split. */
static bool chunks_match_split(const plait_problem *p, const plait_plan *plan,
                               const plan_reason *why)
{
    plait_chunk dealt[PLAIT_MAX_LAYERS];
    char split[96];
    int layers = 0;

    for (int s = 0; s < plan->stages; s++)
        layers += plan->stage[s].layers;
    if (layers != p->model->layers)
        return fail_because(why, "the stages have %d layers, but %s has %d", layers, p->model->name,
                            p->model->layers);
    if (!plait_chunks_of(p->model, &plan->degrees, dealt))
        return false;
    for (int c = 0; c < plan->degrees.pp * plan->degrees.vpp; c++) {
        const plait_chunk *const chunk = plait_plan_chunk(plan, c);

        if (!chunk_same(chunk, &dealt[c]))
            return fail_because(
                why,
                "chunk %d has layers %d to %d, but split %s assigns %d to %d: omit "
                "`split` to choose the stages yourself",
                c, chunk->first, chunk->last,
                plait_degrees_get(&plan->degrees, PLAIT_KEY_SPLIT, split, sizeof split),
                dealt[c].first, dealt[c].last);
    }
    return true;
}

bool plan_stages_cover_model(const plait_problem *p, const plait_plan *plan, const plan_reason *why)
{
    return same_order(plan, why) && has_chunks(plan, why) &&
           plan_stages_legal(p, &plan->degrees, why) && chunks_match_split(p, plan, why);
}

bool plan_stages_agree(const plait_problem *p, const plait_plan *plan, const plan_reason *why)
{
    if (!same_order(plan, why) || !has_chunks(plan, why))
        return false;
    return plan_degrees_agree(plan, why) && plan_stages_legal(p, &plan->degrees, why) &&
           chunks_match_split(p, plan, why);
}

static bool plan_legal(const plait_problem *p, const plait_plan *plan, const plan_reason *why)
{
    plait_error wrong;

    if (!problem_is_valid(p, why) ||
        !range_check_passed(plan_check_ranges(plan, &wrong), &wrong, why))
        return false;
    if (plait_plan_mixed(p, plan))
        return plan_mixed_legal(p, plan, why);
    return plan_layers_legal(p, &plan->degrees, why) && plan_ranks_legal(p, &plan->degrees, why) &&
           plan_stages_agree(p, plan, why) && plan_choices_legal(p, plan, why) &&
           plan_cuts_legal(p, plan, why);
}

plait_verdict plait_plan_check(const plait_problem *p, const plait_plan *plan,
                               plait_checked_plan *checked, char *why, size_t size)
{
    const plan_reason reason = {why, size};

    if (size > 0 && why)
        why[0] = '\0';
    if (!plan_legal(p, plan, &reason))
        return PLAIT_INVALID;
    if (checked)
        *checked = (plait_checked_plan){p, plan};
    return PLAIT_FITS;
}
