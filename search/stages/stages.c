/* stages.c - the stages of a point by themselves, and the plan that they make */
#include "stages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plait/units.h"
#include "plan_check.h"
#include "space.h"
#include "stages_private.h"

plait_status stages_begin(const plait_problem *problem, const plait_search_options *options,
                          plait_table *table, plait_arena *arena, stages_question *out,
                          plait_error *err)
{
    space_recompute list;

    PLAIT_TRY(space_list_recompute(problem, options, arena, &list, err));
    *out = (stages_question){
        .problem = problem,
        .table = table,
        .choices = list.count,
        .choice = list.value,
        .capacity_bytes = plait_capacity_bytes(problem, problem->risk),
    };
    return PLAIT_OK;
}

// ---- what all stages share -----------------------------------------------------------------

/* May the point have it? Pairs of microbatches refuse some choices, for instance. */
static bool may_have(const stages_question *q, const plait_degrees *d, const plait_choice *choice)
{
    plait_degrees probe = *d;

    probe.recompute = choice->recompute;
    probe.offload_acts = choice->offload_acts;
    return plan_recompute_legal(q->problem, &probe, &nobody_asks);
}

static plait_status fill_costs(stages_work *work, plait_arena *arena, plait_error *err)
{
    const stages_question *const q = work->question;
    const plait_layer_cost never = {HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL};
    const int kinds = q->problem->model->kinds;
    plait_layer_cost *const cost =
        plait_arena_alloc(arena, (size_t)kinds * (size_t)q->choices, sizeof *cost);

    if (cost == NULL)
        return plait_fail_nomem(err);
    for (int c = 0; c < q->choices; c++) {
        const bool may = may_have(q, work->degrees, &q->choice[c]);
        for (int k = 0; k < kinds; k++)
            cost[k * q->choices + c] =
                may ? plait_layer_cost_of(q->table, work->degrees, k, q->choice[c]) : never;
    }
    work->cost = cost;
    return PLAIT_OK;
}

/* Sets that a stage may offload: the point's alone, or any that is among the choices. */
static unsigned sets_of(const stages_question *q, const plait_degrees *d)
{
    unsigned sets = 1u << d->offload_acts;

    for (int c = 0; c < q->choices && q->problem->runtime->can.offload_by == PLAIT_BY_STAGE; c++)
        sets |= 1u << q->choice[c].offload_acts;
    return sets;
}

/* Of a stage that does not fit: what even its leanest choice lacks. */
static void note_short(const stages_work *work, int s, stages_result *out)
{
    const double missing = work->need_bytes - work->question->capacity_bytes;

    if (out->fits || missing > out->missing_bytes) {
        out->short_stage = s;
        out->missing_bytes = missing;
    }
    out->fits = false;
}

static bool stages_may_choose(const stages_question *q, const plait_degrees *d)
{
    return q->problem->runtime->can.recompute_by > PLAIT_BY_PLAN &&
           plait_schedule_copies((plait_schedule)d->schedule) == 1;
}

plait_status stages_refine(const stages_question *q, const plait_degrees *d,
                           const plait_chunk *chunk, plait_arena *arena, stages_result *out,
                           plait_error *err)
{
    stages_work work = {
        .question = q, .degrees = d, .chunk = chunk, .sets = sets_of(q, d), .proven = true};
    stages_stage *const stage = plait_arena_alloc(arena, (size_t)d->pp, sizeof *stage);

    *out = (stages_result){.fits = true, .step_s = HUGE_VAL, .bound_s = HUGE_VAL};
    if (!stages_may_choose(q, d))
        return PLAIT_OK;
    if (stage == NULL)
        return plait_fail_nomem(err);
    out->refines = true;
    out->stages = d->pp;
    out->stage = stage;
    PLAIT_TRY(fill_costs(&work, arena, err));
    for (int s = 0; s < d->pp; s++) {
        bool fits;

        PLAIT_TRY(stages_choose(&work, s, arena, &stage[s], &fits, err));
        if (!fits)
            note_short(&work, s, out);
        out->peak_bytes = fmax(out->peak_bytes, stage[s].peak_bytes);
    }
    out->nodes = work.nodes;
    return out->fits ? stages_bound(&work, arena, out, err) : PLAIT_OK;
}

char *stages_why(const stages_question *q, const stages_result *result, char *text, size_t size)
{
    text[0] = '\0';
    if (result->refines && !result->fits)
        snprintf(text, size,
                 "stage %d of %d lacks %.1f GiB of %.1f GiB even with the leanest choices that %s "
                 "has: that much is the smallest relaxation",
                 result->short_stage, result->stages, result->missing_bytes / PLAIT_GIB,
                 q->capacity_bytes / PLAIT_GIB, q->problem->runtime->name);
    return text;
}
