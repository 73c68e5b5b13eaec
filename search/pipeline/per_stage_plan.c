/* per_stage_plan.c - counts of choices back to layers: a plan that can be priced, written and run */
#include <string.h>

#include "search/pipeline/per_stage.h"

static int group_of(const per_stage_stage *stage, int kind, int chunk)
{
    int g = 0;

    while (stage->group[g].kind != kind ||
           (stage->group[g].chunk >= 0 && stage->group[g].chunk != chunk))
        g++;
    return g;
}

/* One of the choices that a group has left: layers that are run again whole come first. */
static int take_choice(const per_stage_problem *q, int *left)
{
    int next = -1;

    for (int c = 0; c < q->choices; c++)
        if (left[c] > 0 && (next < 0 || q->choice[c].recompute.kind == PLAIT_RECOMPUTE_FULL))
            next = c;
    left[next]--;
    return next;
}

/* The first layer of each chunk, then the second: chunks get equal parts of what they share. */
static void deal_choices(const per_stage_problem *q, const per_stage_stage *from, int *left,
                         const plait_stage *stage, plait_recompute *recompute)
{
    const unsigned char *const kinds = q->problem->model->layer_kind;
    bool more = true;

    for (int depth = 0; more; depth++) {
        more = false;
        for (int v = 0, before = 0; v < stage->chunks; v++) {
            const plait_chunk *const chunk = &stage->chunk[v];
            const int layer = chunk->first + depth;

            if (layer < chunk->last) {
                const int g = group_of(from, kinds[layer], v);
                recompute[before + depth] =
                    q->choice[take_choice(q, left + g * q->choices)].recompute;
                more = true;
            }
            before += chunk->last - chunk->first;
        }
    }
}

static plait_status plan_stage(const per_stage_problem *q, const per_stage_stage *from,
                               plait_arena *arena, plait_stage *out, plait_error *err)
{
    const size_t counts = (size_t)from->groups * (size_t)q->choices;
    plait_recompute *const recompute =
        plait_arena_alloc(arena, (size_t)out->layers, sizeof *recompute);
    int *const left = plait_arena_alloc(arena, counts, sizeof *left);

    if (recompute == NULL || left == NULL)
        return plait_fail_nomem(err);
    memcpy(left, from->count, counts * sizeof *left);
    deal_choices(q, from, left, out, recompute);
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

    if (stage == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(plait_plan_lay(d, chunk, arena, out, err));
    for (int s = 0; s < d->pp; s++) {
        stage[s] = out->stage[s];
        PLAIT_TRY(plan_stage(q, &result->stage[s], arena, &stage[s], err));
    }
    out->stage = stage;
    return PLAIT_OK;
}
