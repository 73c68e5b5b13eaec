/* stages.c - the stages of a point by themselves, and the plan that they make */
#include "search/pipeline/per_stage.h"

#include <math.h>
#include <string.h>

#include "rules/plan_check.h"
#include "search/pipeline/per_stage_private.h"

void per_stage_begin(const plait_problem *problem, const plait_choice *choice, int choices,
                     plait_table *table, per_stage_problem *out)
{
    *out = (per_stage_problem){
        .problem = problem,
        .table = table,
        .choices = choices,
        .choice = choice,
        .capacity_bytes = plait_capacity_bytes(problem, problem->risk),
    };
}

// ---- a point -------------------------------------------------------------------------------

/* May the point have it? Pairs of microbatches refuse some choices, for instance. */
static bool may_have(const per_stage_problem *q, const plait_degrees *d, const plait_choice *choice)
{
    plait_degrees probe = *d;

    probe.recompute = choice->recompute;
    probe.offload_acts = choice->offload_acts;
    return plan_recompute_legal(q->problem, &probe, &nobody_asks);
}

/* Sets that a stage may offload: the point's alone, or any that is among the choices. */
static unsigned sets_of(const per_stage_problem *q, const plait_degrees *d)
{
    unsigned sets = 1u << d->offload_acts;

    for (int c = 0; c < q->choices && q->problem->runtime->can.offload_by == PLAIT_BY_STAGE; c++)
        sets |= 1u << q->choice[c].offload_acts;
    return sets;
}

bool per_stage_may_choose(const per_stage_problem *q, const plait_degrees *d)
{
    return q->problem->runtime->can.recompute_by > PLAIT_BY_PLAN &&
           plait_schedule_copies((plait_schedule)d->schedule) == 1;
}

plait_status per_stage_at(const per_stage_problem *q, const plait_degrees *d, plait_arena *arena,
                          per_stage_point *out, plait_error *err)
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
    *out = (per_stage_point){q, d, cost, sets_of(q, d), false};
    return PLAIT_OK;
}

bool per_stage_may_differ_in_offload(const per_stage_point *point)
{
    const unsigned char offload = point->degrees->offload;

    return point->question->may_keep && offload != PLAIT_OFFLOAD_NONE &&
           offload != PLAIT_OFFLOAD_PARAMS; // of all stages or none
}

per_stage_point per_stage_on_device(const per_stage_point *point)
{
    per_stage_point kept = *point;

    kept.kept = true;
    return kept;
}

// ---- all stages ----------------------------------------------------------------------------

/* Of a stage that does not fit: what even its leanest choice lacks. */
static void note_short(const per_stage_point *point, const per_stage_stage *stage,
                       per_stage_result *out)
{
    const double missing = stage->need_bytes - point->question->capacity_bytes;

    if (out->fits || missing > out->missing_bytes) {
        out->short_stage = stage->frame.stage;
        out->missing_bytes = missing;
    }
    out->fits = false;
}

static plait_status choose_all(const per_stage_point *point, const plait_chunk *chunk,
                               plait_arena *arena, per_stage_stage *stage, plait_error *err)
{
    const plait_degrees *const d = point->degrees;
    plait_chunk *const own = plait_arena_alloc(arena, (size_t)d->vpp, sizeof *own);

    if (own == NULL)
        return plait_fail_nomem(err);
    for (int s = 0; s < d->pp; s++) {
        for (int v = 0; v < d->vpp; v++)
            own[v] = chunk[plait_schedule_chunk((plait_schedule)d->schedule, d->pp, s, v)];
        PLAIT_TRY(per_stage_choose(point, s, own, arena, &stage[s], err));
    }
    return PLAIT_OK;
}

/* The step of these stages, or what the shortest of them lacks. */
static plait_status sum_up(const per_stage_point *point, plait_arena *arena, per_stage_result *out,
                           plait_error *err)
{
    out->fits = true;
    out->step_s = out->bound_s = HUGE_VAL;
    for (int s = 0; s < out->stages; s++) {
        const per_stage_stage *const stage = &out->stage[s];
        if (stage->count == NULL)
            note_short(point, stage, out);
        out->peak_bytes = fmax(out->peak_bytes, stage->peak_bytes);
        out->nodes += stage->nodes;
    }
    return out->fits ? per_stage_bound(point, arena, out, err) : PLAIT_OK;
}

// ---- who keeps the optimizer's state -------------------------------------------------------

static double optimizer_s(const per_stage_point *point, const per_stage_stage *stage)
{
    return stage->count == NULL ? HUGE_VAL
                                : plait_frame_tail(point->question->problem, point->degrees,
                                                   &stage->frame, &stage->time)
                                      .optimizer_s;
}

static double stage_round_s(const per_stage_stage *stage)
{
    return stage->count ? stage->time.forward_s + stage->time.backward_s : HUGE_VAL;
}

/* Each stage as fast as it can be with an optimizer that takes so long at most; false: one cannot. */
static bool take_within(const per_stage_point *point, const per_stage_stage *host,
                        const per_stage_stage *kept, double most_s, per_stage_stage *out)
{
    bool all = true;

    for (int s = 0; s < point->degrees->pp; s++) {
        const bool host_may = optimizer_s(point, &host[s]) <= most_s;
        const bool kept_may = optimizer_s(point, &kept[s]) <= most_s;
        const bool keeps =
            kept_may && (!host_may || stage_round_s(&kept[s]) <= stage_round_s(&host[s]));

        out[s] = keeps ? kept[s] : host[s];
        all = all && (host_may || kept_may);
    }
    return all;
}

/*
 * The longest optimizer is that of one stage: each in turn is the limit of all. (S.27) The best of these
 * plans is the best of all, and the least of their bounds that of all.
 */
static plait_status choose_keepers(const per_stage_point *point, const plait_chunk *chunk,
                                   const per_stage_stage *host, plait_arena *arena,
                                   per_stage_result *out, plait_error *err)
{
    const size_t stages = (size_t)out->stages;
    const per_stage_point with = per_stage_on_device(point);
    per_stage_stage *const kept = plait_arena_alloc(arena, stages, sizeof *kept);
    per_stage_stage *const now = plait_arena_alloc(arena, stages, sizeof *now);
    per_stage_stage *const best = plait_arena_alloc(arena, stages, sizeof *best);
    double bound_s = out->fits ? out->bound_s : HUGE_VAL;

    if (kept == NULL || now == NULL || best == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(choose_all(&with, chunk, arena, kept, err));
    for (int i = 0; i < 2 * out->stages; i++) {
        const per_stage_stage *const one = i % 2 ? &kept[i / 2] : &host[i / 2];
        const double most_s = optimizer_s(point, one);
        per_stage_result next = {.refines = true, .stages = out->stages, .stage = now};
        if (most_s == HUGE_VAL || !take_within(point, host, kept, most_s, now))
            continue;
        PLAIT_TRY(sum_up(point, arena, &next, err));
        bound_s = fmin(bound_s, next.bound_s);
        if (out->fits && next.step_s >= out->step_s)
            continue;
        *out = next;
        out->stage = memcpy(best, now, stages * sizeof *best);
    }
    if (out->fits) {
        out->bound_s = fmin(bound_s, out->step_s);
        out->gap = (out->step_s - out->bound_s) / out->step_s;
    }
    return PLAIT_OK;
}

plait_status per_stage_solve(const per_stage_problem *q, const plait_degrees *d,
                             const plait_chunk *chunk, plait_arena *arena, per_stage_result *out,
                             plait_error *err)
{
    per_stage_stage *const stage = plait_arena_alloc(arena, (size_t)d->pp, sizeof *stage);
    per_stage_point point;

    *out = (per_stage_result){.fits = true, .step_s = HUGE_VAL, .bound_s = HUGE_VAL};
    if (!per_stage_may_choose(q, d))
        return PLAIT_OK;
    if (stage == NULL)
        return plait_fail_nomem(err);
    out->refines = true;
    out->stages = d->pp;
    out->stage = stage;
    PLAIT_TRY(per_stage_at(q, d, arena, &point, err));
    PLAIT_TRY(choose_all(&point, chunk, arena, stage, err));
    PLAIT_TRY(sum_up(&point, arena, out, err));
    return per_stage_may_differ_in_offload(&point) && out->fits
               ? choose_keepers(&point, chunk, stage, arena, out, err)
               : PLAIT_OK;
}
