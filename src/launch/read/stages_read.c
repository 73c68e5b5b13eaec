/* stages_read.c - layers that choose for themselves, on their way in */
#include "launch/read/stages_read.h"

#include "plait/schedule.h"

static int layers_of(const plait_chunk *chunk)
{
    return chunk->last - chunk->first;
}

/* The chunks of a rank in the order of its turns, and the choices of their layers. */
static plait_status list_stage(const plait_chunk *chunks, const plait_recompute *choice,
                               const plait_cut *cut, int s, plait_arena *arena, plans_entry *entry,
                               plans_stage *out, plait_error *err)
{
    const plait_degrees *const d = &entry->degrees;
    plait_chunk *const own = plait_arena_alloc(arena, (size_t)d->vpp, sizeof *own);
    plait_recompute *recompute;
    plait_cut *cuts;

    if (own == NULL)
        return plait_fail_nomem(err);
    *out = (plans_stage){.chunks = d->vpp, .chunk = own};
    for (int v = 0; v < d->vpp; v++) {
        own[v] = chunks[plait_schedule_chunk((plait_schedule)d->schedule, d->pp, s, v)];
        out->layers += layers_of(&own[v]);
    }
    recompute = plait_arena_alloc(arena, (size_t)out->layers + 1, sizeof *recompute);
    cuts = plait_arena_alloc(arena, (size_t)out->layers + 1, sizeof *cuts);
    if (recompute == NULL || cuts == NULL)
        return plait_fail_nomem(err);
    out->recompute = recompute;
    out->cut = cut != NULL ? cuts : NULL;
    for (int v = 0; v < d->vpp; v++)
        for (int l = own[v].first; l < own[v].last; l++) {
            cuts[out->recomputes] = cut != NULL ? cut[l] : PLANS_NO_CUT;
            recompute[out->recomputes++] = choice[l];
        }
    return PLAIT_OK;
}

plait_status stages_list(const plait_chunk *chunks, const plait_recompute *choice,
                         const plait_cut *cut, plait_arena *arena, plans_entry *out,
                         plait_error *err)
{
    const int pp = out->degrees.pp;
    plans_stage *const stage = plait_arena_alloc(arena, (size_t)pp, sizeof *stage);

    if (stage == NULL)
        return plait_fail_nomem(err);
    for (int s = 0; s < pp; s++)
        PLAIT_TRY(list_stage(chunks, choice, cut, s, arena, out, &stage[s], err));
    out->stages = pp;
    out->stage = stage;
    return PLAIT_OK;
}
