/*
 * per_stage.c - computes the step time of a point whose stages have their own choices, a lower
 * bound of the step time (S.24), and the plan. The bound is the sum of two parts:
 *
 *     pipeline and optimizer   with each pass as short as any choice makes it, and forward and
 *                              backward together as short as with the choice that was found
 *     reductions and gathers   the time that the longest passes cannot hide
 */
#include "search/pipeline/per_stage.h"

#include <math.h>
#include <string.h>

#include "rules/plan_check.h"

void per_stage_begin(const plait_problem *problem, const plait_choice *choice, int choices,
                     plait_table *table, per_stage_problem *out)
{
    *out = (per_stage_problem){
        .problem = problem,
        .table = table,
        .choices = choices,
        .choice = choice,
        .capacity_bytes = plait_capacity_bytes(problem, problem->risk),
        .most_round_s = HUGE_VAL,
    };
}

// ---- a point -------------------------------------------------------------------------------

bool per_stage_may_choose(const per_stage_problem *q, const plait_degrees *d)
{
    return q->problem->runtime->can.recompute_by > PLAIT_BY_PLAN &&
           plait_schedule_replicas((plait_schedule)d->schedule) == 1;
}

plait_status per_stage_at(const per_stage_problem *q, const plait_degrees *d, plait_arena *arena,
                          per_stage_point *out, plait_error *err)
{
    const plait_layer_cost never = {HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL};
    const bool by_stage = q->problem->runtime->can.offload_by == PLAIT_BY_STAGE;
    const int kinds = q->problem->model->kinds;
    plait_layer_cost *const cost =
        plait_arena_alloc(arena, (size_t)kinds * (size_t)q->choices, sizeof *cost);

    PLAIT_TRY(plait_check_allocated(cost, err));
    *out = (per_stage_point){q, d, cost, 1u << d->offload_acts, false};
    for (int c = 0; c < q->choices; c++) {
        plait_degrees probe = *d;
        probe.recompute = q->choice[c].recompute;
        probe.offload_acts = q->choice[c].offload_acts;
        const bool legal = plan_recompute_legal(q->problem, &probe, &no_reason);
        for (int k = 0; k < kinds; k++)
            cost[k * q->choices + c] =
                legal ? plait_layer_cost_of(q->table, d, k, q->choice[c]) : never;
        out->sets |= by_stage ? 1u << q->choice[c].offload_acts : 0u;
    }
    return PLAIT_OK;
}

bool per_stage_may_differ_in_offload(const per_stage_point *point)
{
    const unsigned char offload = point->degrees->offload;

    return point->input->may_keep && offload != PLAIT_OFFLOAD_NONE &&
           offload !=
               PLAIT_OFFLOAD_PARAMS; // offloading parameters applies to all stages or to none
}

per_stage_point per_stage_on_device(const per_stage_point *point)
{
    per_stage_point kept = *point;

    kept.kept = true;
    return kept;
}

// ---- the bound of a step -------------------------------------------------------------------

/*
 * Lengths of the passes of a stage: with the choices that were found, or the shortest or longest of
 * any choice.
 */
typedef enum stage_passes { FOUND, SHORTEST, LONGEST } stage_passes;

/*
 * Returns the times of the passes of a stage. Weight gradients have the time of the choices that
 * were found, since those of other choices differ only by kernel launches.
 */
static plait_chunk_time passes_of(const per_stage_point *point, const per_stage_stage *stage,
                                  stage_passes which)
{
    const double both_s = stage->time.forward_s + stage->time.backward_s;
    plait_chunk_time low = chunk_time_of(&stage->base.cost.load), high = low;

    if (which == FOUND)
        return stage->time;
    for (int g = 0; g < stage->groups; g++) {
        double forward_s = HUGE_VAL, backward_s = HUGE_VAL, longest_f = 0.0, longest_b = 0.0;
        for (int c = 0; c < point->input->choices; c++) {
            const plait_layer_cost *const one = per_stage_cost(point, stage->group[g].kind, c);
            if (one->forward_s == HUGE_VAL)
                continue;
            forward_s = fmin(forward_s, one->forward_s);
            backward_s = fmin(backward_s, one->backward_s);
            longest_f = fmax(longest_f, one->forward_s);
            longest_b = fmax(longest_b, one->backward_s);
        }
        low.forward_s += stage->group[g].layers * forward_s;
        low.backward_s += stage->group[g].layers * backward_s;
        high.forward_s += stage->group[g].layers * longest_f;
        high.backward_s += stage->group[g].layers * longest_b;
    }
    if (stage->proven)
        low.backward_s = fmax(low.backward_s, both_s - high.forward_s);
    low.weight_s = fmin(stage->time.weight_s, low.backward_s);
    high.weight_s = stage->time.weight_s;
    return which == SHORTEST ? low : high;
}

/*
 * Returns the price of a step with passes of this length; without reductions and gathers if `bare`.
 */
static plait_price step_of(const per_stage_point *point, const per_stage_result *result,
                           stage_passes which, bool bare, stage_cost *scratch)
{
    for (int s = 0; s < result->stages; s++) {
        const plait_chunk_time time = passes_of(point, &result->stage[s], which);
        scratch[s] = plait_stage_base_cost(&result->stage[s].base, point->degrees, &time);
        if (bare)
            scratch[s].sync.reduce_s = scratch[s].sync.gather_s = scratch[s].sync.down_s = 0.0;
    }
    return plait_stages_price(point->input->table, point->degrees, scratch);
}

static plait_status bound_step(const per_stage_point *point, plait_arena *arena,
                               per_stage_result *out, plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    stage_cost *const scratch = plait_arena_alloc(arena, (size_t)out->stages, sizeof *scratch);

    PLAIT_TRY(plait_check_allocated(scratch, err));
    const plait_price price = step_of(point, out, FOUND, false, scratch);
    const double bare_s = step_of(point, out, SHORTEST, true, scratch).step_s;
    const double exposed_s = step_of(point, out, LONGEST, false, scratch).step_s -
                             step_of(point, out, LONGEST, true, scratch).step_s;

    out->step_s = price.step_s;
    out->exact = price.exact;
    out->bound_s = fmin(out->step_s, bare_s + fmax(0.0, exposed_s));
    out->gap = (out->step_s - out->bound_s) / out->step_s;
    if (out->gap < 1e-9) // smaller differences are due to rounding
        out->gap = 0.0;
    plait_arena_rewind(arena, mark);
    return PLAIT_OK;
}

// ---- all stages ----------------------------------------------------------------------------

/* Chooses for all stages. If no choice of interest fits a stage, the later ones get none. */
static plait_status choose_all(const per_stage_point *point, const plait_chunk *chunk,
                               plait_arena *arena, per_stage_stage *stage, plait_error *err)
{
    const plait_degrees *const d = point->degrees;
    plait_chunk *const own = plait_arena_alloc(arena, (size_t)d->vpp, sizeof *own);

    PLAIT_TRY(plait_check_allocated(own, err));
    for (int s = 0; s < d->pp; s++) {
        for (int v = 0; v < d->vpp; v++)
            own[v] = chunk[plait_schedule_chunk((plait_schedule)d->schedule, d->pp, s, v)];
        PLAIT_TRY(per_stage_choose(point, s, own, arena, &stage[s], err));
        if (stage[s].count == NULL && isfinite(point->input->most_round_s))
            return PLAIT_OK;
    }
    return PLAIT_OK;
}

/* Computes the step time of these stages or, if some do not fit, the largest excess over memory. */
static plait_status sum_up(const per_stage_point *point, plait_arena *arena, per_stage_result *out,
                           plait_error *err)
{
    out->fits = true;
    out->step_s = out->bound_s = HUGE_VAL;
    for (int s = 0; s < out->stages; s++) {
        const per_stage_stage *const stage = &out->stage[s];
        if (stage->count == NULL) {
            const double missing = stage->need_bytes - point->input->capacity_bytes;
            out->missing_bytes = fmax(out->missing_bytes, missing);
            out->fits = false;
        }
        out->peak_bytes = fmax(out->peak_bytes, stage->peak_bytes);
        out->nodes += stage->nodes;
    }
    return out->fits ? bound_step(point, arena, out, err) : PLAIT_OK;
}

// ---- the optimizer's state on the device or the host ---------------------------------------

static double optimizer_s(const per_stage_point *point, const per_stage_stage *stage)
{
    if (stage->count == NULL)
        return HUGE_VAL;
    const stage_cost cost = plait_stage_base_cost(&stage->base, point->degrees, &stage->time);
    return plait_stage_tail_of(point->input->problem, point->degrees, &cost).optimizer_s;
}

/*
 * Takes for each stage the faster of its results with the optimizer on the host and on the device,
 * among those whose optimizer takes at most most_s. Returns false if a stage has none.
 */
static bool take_within(const per_stage_point *point, const per_stage_stage *host,
                        const per_stage_stage *kept, double most_s, per_stage_stage *out)
{
    bool all = true;

    for (int s = 0; s < point->degrees->pp; s++) {
        const bool host_may = optimizer_s(point, &host[s]) <= most_s;
        const bool kept_may = optimizer_s(point, &kept[s]) <= most_s;
        const bool keeps =
            kept_may && (!host_may || per_stage_round_s(&kept[s]) <= per_stage_round_s(&host[s]));

        out[s] = keeps ? kept[s] : host[s];
        all = all && (host_may || kept_may);
    }
    return all;
}

/*
 * Chooses which stages keep their optimizer on the device (S.27). The longest optimizer time is
 * that of some stage with one of its two results. The loop tries each of these times as a limit for
 * all stages. The best of the resulting plans is optimal, and the least of their bounds is a lower
 * bound.
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

    PLAIT_TRY(plait_check_allocated(kept && now && best, err));
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
    PLAIT_TRY(plait_check_allocated(stage, err));
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

// ---- plans: counts of choices back to layers -----------------------------------------------

/*
 * Assigns choices to layers, those with full recomputation first: to the first layer of each chunk,
 * then to the second, and so on, so that the chunks of a group get equal parts of its counts.
 */
static plait_status plan_stage(const per_stage_problem *q, const per_stage_stage *from,
                               plait_arena *arena, plait_stage *out, plait_error *err)
{
    const unsigned char *const kinds = q->problem->model->layer_kind;
    const size_t counts = (size_t)from->groups * (size_t)q->choices;
    plait_recompute *const recompute =
        plait_arena_alloc(arena, (size_t)out->layers, sizeof *recompute);
    int *const left = plait_arena_alloc(arena, counts, sizeof *left);
    bool more = true;

    PLAIT_TRY(plait_check_allocated(recompute && left, err));
    memcpy(left, from->count, counts * sizeof *left);
    for (int depth = 0; more; depth++) {
        more = false;
        for (int v = 0, before = 0; v < out->chunks; v++) {
            const plait_chunk *const chunk = &out->chunk[v];
            const int layer = chunk->first + depth;
            int g = 0, next = -1;

            if (layer < chunk->last) {
                while (from->group[g].kind != kinds[layer] ||
                       (from->group[g].chunk >= 0 && from->group[g].chunk != v))
                    g++;
                int *const of_group = left + g * q->choices;
                for (int c = 0; c < q->choices; c++)
                    if (of_group[c] > 0 &&
                        (next < 0 || q->choice[c].recompute.kind == PLAIT_RECOMPUTE_FULL))
                        next = c;
                of_group[next]--;
                recompute[before + depth] = q->choice[next].recompute;
                more = true;
            }
            before += chunk->last - chunk->first;
        }
    }
    out->degrees.offload_acts = from->offload_acts;
    if (from->kept) {
        out->degrees.offload = PLAIT_OFFLOAD_NONE;
        out->degrees.offload_share = 0;
    }
    out->recompute = recompute;
    return PLAIT_OK;
}

plait_status per_stage_plan(const per_stage_problem *q, const plait_degrees *d,
                            const plait_chunk *chunk, const per_stage_result *result,
                            plait_arena *arena, plait_plan *out, plait_error *err)
{
    plait_stage *const stage = plait_arena_alloc(arena, (size_t)d->pp, sizeof *stage);

    PLAIT_TRY(plait_check_allocated(stage, err));
    PLAIT_TRY(plait_plan_lay(d, chunk, arena, out, err));
    for (int s = 0; s < d->pp; s++) {
        stage[s] = out->stage[s];
        PLAIT_TRY(plan_stage(q, &result->stage[s], arena, &stage[s], err));
    }
    out->stage = stage;
    return PLAIT_OK;
}
