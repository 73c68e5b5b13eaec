/* plan_expand.c - degrees to stages: chunks of layers, a recompute choice a layer */
#include <string.h>

#include "plait/plan.h"

/* Chunk c of stage s starts where the chunks before it in pipeline order end. */
static void place_chunks(const plait_degrees *d, const plait_model *model, const int *counts,
                         int stage, plait_chunk *chunks)
{
    const int all = d->pp * d->vpp;

    for (int v = 0; v < d->vpp; v++) {
        const int index = v * d->pp + stage;
        int first = 0;
        for (int c = 0; c < index; c++)
            first += counts[c];
        chunks[v] = (plait_chunk){
            .first = first,
            .last = first + counts[index],
            .embedding = index == 0,
            .loss = index == all - 1,
            .mtp = index == all - 1 ? model->mtp_layers : 0,
        };
    }
}

static void choose_recompute(const plait_degrees *d, int layers, plait_recompute *recompute)
{
    const plait_recompute none = {.kind = PLAIT_RECOMPUTE_NONE};
    const bool some = d->recompute.kind == PLAIT_RECOMPUTE_FULL && d->recompute.layers > 0;

    for (int i = 0; i < layers; i++) {
        recompute[i] = some && i >= d->recompute.layers ? none : d->recompute;
        if (recompute[i].kind == PLAIT_RECOMPUTE_FULL)
            recompute[i].layers = 0;
    }
}

plait_status plait_plan_expand(const plait_problem *problem, const plait_degrees *d,
                               plait_arena *arena, plait_plan *out, plait_error *err)
{
    const plait_model *model = problem->model;
    int counts[PLAIT_MAX_LAYERS];
    plait_stage *stages = plait_arena_alloc(arena, (size_t)d->pp, sizeof *stages);

    if (!stages)
        return plait_fail_nomem(err);
    if ((int64_t)d->pp * d->vpp > PLAIT_MAX_LAYERS || !plait_split_layers(model, d, counts))
        return plait_fail(err, PLAIT_ERROR_RANGE, "split",
                          "expected a split of %d layers over pp x vpp, found none", model->layers);
    for (int s = 0; s < d->pp; s++) {
        plait_chunk *chunks = plait_arena_alloc(arena, (size_t)d->vpp, sizeof *chunks);
        if (!chunks)
            return plait_fail_nomem(err);
        place_chunks(d, model, counts, s, chunks);
        int layers = 0;
        for (int v = 0; v < d->vpp; v++)
            layers += chunks[v].last - chunks[v].first;
        plait_recompute *recompute =
            plait_arena_alloc(arena, (size_t)(layers > 0 ? layers : 1), sizeof *recompute);
        if (!recompute)
            return plait_fail_nomem(err);
        choose_recompute(d, layers, recompute);
        stages[s] = (plait_stage){d->vpp, chunks, *d, recompute, layers};
    }
    *out = (plait_plan){.degrees = *d, .stages = d->pp, .stage = stages};
    memcpy(out->order, plait_order_axes((plait_order)d->order), sizeof out->order);
    return PLAIT_OK;
}
