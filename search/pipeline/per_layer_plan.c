/* plan.c - runs back to layers: a plan that can be priced, written and run */
#include "search/pipeline/per_layer_private.h"

/* The choices of a run, those that run a layer again whole first. */
static void list_choices(const per_layer_problem *q, const per_layer_run *run, plait_recompute *out)
{
    int at = 0;

    for (int whole = 1; whole >= 0; whole--)
        for (int c = 0; c < q->choices; c++)
            if ((q->choice[c].kind == PLAIT_RECOMPUTE_FULL) == whole)
                for (int n = 0; n < run->count[c]; n++)
                    out[at++] = q->choice[c];
}

static plait_status plan_stage(const per_layer_point *point, const per_layer_stage *from,
                               plait_arena *arena, plait_stage *out, plait_error *err)
{
    const size_t layers = (size_t)out->layers + 1;
    plait_recompute *const recompute = plait_arena_alloc(arena, layers, sizeof *recompute);
    plait_cut *const cut = plait_arena_alloc(arena, layers, sizeof *cut);

    if (!recompute || !cut)
        return plait_fail_nomem(err);
    for (int r = 0, at = 0; r < from->runs; at += from->run[r++].layers) {
        list_choices(point->question, &from->run[r], recompute + at);
        for (int i = 0; i < from->run[r].layers; i++)
            cut[at + i] = point->cut[from->run[r].cut];
    }
    out->recompute = recompute;
    out->cut = cut;
    return PLAIT_OK;
}

plait_status per_layer_plan(const per_layer_point *point, const plait_chunk *chunk,
                            const per_layer_result *result, plait_arena *arena, plait_plan *out,
                            plait_error *err)
{
    const int stages = point->degrees.pp;
    plait_stage *const stage = plait_arena_alloc(arena, (size_t)stages, sizeof *stage);

    if (!stage)
        return plait_fail_nomem(err);
    PLAIT_TRY(plait_plan_lay(&point->degrees, chunk, arena, out, err));
    for (int s = 0; s < stages; s++) {
        stage[s] = out->stage[s];
        PLAIT_TRY(plan_stage(point, &result->stage[s], arena, &stage[s], err));
    }
    out->stage = stage;
    return PLAIT_OK;
}
