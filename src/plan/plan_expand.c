/* plan_expand.c - expands degrees to stages: chunks, and a recompute choice per layer */
#include <string.h>

#include "plait/lowlevel/schedule.h"
#include "base/saturating.h"
#include "plan/layout.h"
#include "plan/problem_check.h"
#include "plan/ranges.h"

plait_recompute plait_recompute_of(const plait_degrees *d, int layer)
{
    plait_recompute recompute = d->recompute;

    if (recompute.kind != PLAIT_RECOMPUTE_FULL)
        return recompute;
    if (recompute.layers > 0 && layer >= recompute.layers / d->vpp)
        return (plait_recompute){.kind = PLAIT_RECOMPUTE_NONE};
    recompute.layers = 0;
    return recompute;
}

/*
 * Checks the number of chunks before lists are filled, since callers can pass unchecked degrees.
 */
static plait_status check_chunks(const plait_degrees *d, plait_error *err)
{
    PLAIT_TRY(degrees_check_ranges(d, err));
    return saturating_mul(d->pp, d->vpp) <= PLAIT_MAX_LAYERS
               ? PLAIT_OK
               : plait_fail(err, PLAIT_ERROR_RANGE, "vpp",
                            "expected pp x vpp of at most %d chunks, found %d x %d",
                            PLAIT_MAX_LAYERS, d->pp, d->vpp);
}

static plait_status spell_layout(const plait_chunk *chunks, int count, plait_arena *arena,
                                 plait_split *out, plait_error *err)
{
    char text[PLAIT_VALUE_SIZE];

    if (!layout_write(chunks, count, text))
        return plait_fail(err, PLAIT_ERROR_RANGE, "split",
                          "expected a layout of at most %d letters, found a longer one",
                          PLAIT_VALUE_SIZE - 1);
    out->layout = plait_arena_printf(arena, "%s", text);
    return out->layout ? PLAIT_OK : plait_fail_nomem(err);
}

plait_status plait_plan_lay(const plait_degrees *d, const plait_chunk *chunks, plait_arena *arena,
                            plait_plan *out, plait_error *err)
{
    plait_stage *stages;

    PLAIT_TRY(check_chunks(d, err));
    stages = plait_arena_alloc(arena, (size_t)d->pp, sizeof *stages);
    *out = (plait_plan){.degrees = *d, .stages = d->pp, .stage = stages};
    PLAIT_TRY(plait_check_allocated(stages, err));
    if (d->split.kind == PLAIT_SPLIT_LAYOUT)
        PLAIT_TRY(spell_layout(chunks, d->pp * d->vpp, arena, &out->degrees.split, err));
    for (int s = 0; s < d->pp; s++) {
        // Fill a stage with the chunks of one rank, in the order of the schedule.
        plait_chunk *own = plait_arena_alloc(arena, (size_t)out->degrees.vpp, sizeof *own);
        int layers = 0;
        PLAIT_TRY(plait_check_allocated(own, err));
        for (int v = 0; v < out->degrees.vpp; v++) {
            own[v] = chunks[plait_schedule_chunk((plait_schedule)out->degrees.schedule,
                                                 out->degrees.pp, s, v)];
            layers += own[v].last - own[v].first;
        }
        plait_recompute *recompute =
            plait_arena_alloc(arena, (size_t)(layers > 0 ? layers : 1), sizeof *recompute);
        PLAIT_TRY(plait_check_allocated(recompute, err));
        for (int v = 0, at = 0; v < out->degrees.vpp; v++)
            for (int i = 0; i < own[v].last - own[v].first; i++)
                recompute[at++] = plait_recompute_of(&out->degrees, i);
        stages[s] = (plait_stage){.chunks = out->degrees.vpp,
                                  .chunk = own,
                                  .degrees = out->degrees,
                                  .recompute = recompute,
                                  .layers = layers};
    }
    memcpy(out->order, plait_order_axes((plait_order)d->order), sizeof out->order);
    return PLAIT_OK;
}

plait_status plait_plan_expand(const plait_problem *problem, const plait_degrees *d,
                               plait_arena *arena, plait_plan *out, plait_error *err)
{
    plait_chunk chunks[PLAIT_MAX_LAYERS];

    PLAIT_TRY(problem_check_model(problem, err));
    PLAIT_TRY(check_chunks(d, err));
    if (!plait_chunks_of(problem->model, d, chunks))
        return plait_fail(err, PLAIT_ERROR_RANGE, "split",
                          "expected a split that assigns %d layers to pp x vpp chunks, found none",
                          problem->model->layers);
    return plait_plan_lay(d, chunks, arena, out, err);
}

const plait_chunk *plait_plan_chunk(const plait_plan *plan, int chunk)
{
    const plait_degrees *const d = &plan->degrees;
    const plait_schedule schedule = (plait_schedule)d->schedule;
    int v = 0;

    if (chunk < 0 || chunk >= saturating_mul(d->pp, d->vpp))
        return NULL;
    const int rank = plait_schedule_rank(schedule, d->pp, chunk);
    while (plait_schedule_chunk(schedule, d->pp, rank, v) != chunk)
        v++;
    return &plan->stage[rank].chunk[v];
}
