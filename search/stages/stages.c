/* stages.c - the stages of a point by themselves, and the plan that they make */
#include "stages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plait/units.h"
#include "plan_check.h"
#include "stages_private.h"

void stages_begin(const plait_problem *problem, const plait_choice *choice, int choices,
                  plait_table *table, stages_question *out)
{
    *out = (stages_question){
        .problem = problem,
        .table = table,
        .choices = choices,
        .choice = choice,
        .capacity_bytes = plait_capacity_bytes(problem, problem->risk),
    };
}

// ---- a point -------------------------------------------------------------------------------

/* May the point have it? Pairs of microbatches refuse some choices, for instance. */
static bool may_have(const stages_question *q, const plait_degrees *d, const plait_choice *choice)
{
    plait_degrees probe = *d;

    probe.recompute = choice->recompute;
    probe.offload_acts = choice->offload_acts;
    return plan_recompute_legal(q->problem, &probe, &nobody_asks);
}

/* Sets that a stage may offload: the point's alone, or any that is among the choices. */
static unsigned sets_of(const stages_question *q, const plait_degrees *d)
{
    unsigned sets = 1u << d->offload_acts;

    for (int c = 0; c < q->choices && q->problem->runtime->can.offload_by == PLAIT_BY_STAGE; c++)
        sets |= 1u << q->choice[c].offload_acts;
    return sets;
}

bool stages_may_choose(const stages_question *q, const plait_degrees *d)
{
    return q->problem->runtime->can.recompute_by > PLAIT_BY_PLAN &&
           plait_schedule_copies((plait_schedule)d->schedule) == 1;
}

plait_status stages_at(const stages_question *q, const plait_degrees *d, plait_arena *arena,
                       stages_point *out, plait_error *err)
{
    const plait_layer_cost never = {HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL};
    const int kinds = q->problem->model->kinds;
    plait_layer_cost *const cost =
        plait_arena_alloc(arena, (size_t)kinds * (size_t)q->choices, sizeof *cost);

    if (cost == NULL)
        return plait_fail_nomem(err);
    for (int c = 0; c < q->choices; c++) {
        const bool may = may_have(q, d, &q->choice[c]);
        for (int k = 0; k < kinds; k++)
            cost[k * q->choices + c] =
                may ? plait_layer_cost_of(q->table, d, k, q->choice[c]) : never;
    }
    *out = (stages_point){q, d, cost, sets_of(q, d)};
    return PLAIT_OK;
}

// ---- all stages ----------------------------------------------------------------------------

/* Of a stage that does not fit: what even its leanest choice lacks. */
static void note_short(const stages_point *point, const stages_stage *stage, stages_result *out)
{
    const double missing = stage->need_bytes - point->question->capacity_bytes;

    if (out->fits || missing > out->missing_bytes) {
        out->short_stage = stage->frame.stage;
        out->missing_bytes = missing;
    }
    out->fits = false;
}

static plait_status choose_all(const stages_point *point, const plait_chunk *chunk,
                               plait_arena *arena, stages_stage *stage, stages_result *out,
                               plait_error *err)
{
    const plait_degrees *const d = point->degrees;
    plait_chunk *const own = plait_arena_alloc(arena, (size_t)d->vpp, sizeof *own);

    if (own == NULL)
        return plait_fail_nomem(err);
    for (int s = 0; s < d->pp; s++) {
        for (int v = 0; v < d->vpp; v++)
            own[v] = chunk[plait_schedule_chunk((plait_schedule)d->schedule, d->pp, s, v)];
        PLAIT_TRY(stages_choose(point, s, own, arena, &stage[s], err));
        if (stage[s].count == NULL)
            note_short(point, &stage[s], out);
        out->peak_bytes = fmax(out->peak_bytes, stage[s].peak_bytes);
        out->nodes += stage[s].nodes;
    }
    return PLAIT_OK;
}

plait_status stages_refine(const stages_question *q, const plait_degrees *d,
                           const plait_chunk *chunk, plait_arena *arena, stages_result *out,
                           plait_error *err)
{
    stages_stage *const stage = plait_arena_alloc(arena, (size_t)d->pp, sizeof *stage);
    stages_point point;

    *out = (stages_result){.fits = true, .step_s = HUGE_VAL, .bound_s = HUGE_VAL};
    if (!stages_may_choose(q, d))
        return PLAIT_OK;
    if (stage == NULL)
        return plait_fail_nomem(err);
    out->refines = true;
    out->stages = d->pp;
    out->stage = stage;
    PLAIT_TRY(stages_at(q, d, arena, &point, err));
    PLAIT_TRY(choose_all(&point, chunk, arena, stage, out, err));
    return out->fits ? stages_bound(&point, arena, out, err) : PLAIT_OK;
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
