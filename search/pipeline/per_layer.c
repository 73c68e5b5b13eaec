/* point.c - what all stages of a point share: the cuts that its layers may have, and what each takes */
#include <string.h>

#include "search/pipeline/per_layer_private.h"
#include "plan/layer_sharding.h"

bool per_layer_applies(const plait_problem *problem, const plait_degrees *d)
{
    const plait_capabilities *const can = &problem->runtime->can;

    return (can->tp_by == PLAIT_BY_LAYER || can->zero_by == PLAIT_BY_LAYER) &&
           can->recompute_by == PLAIT_BY_LAYER && problem->model->kinds == 1 &&
           problem->model->mtp_layers == 0 && d->schedule == PLAIT_1F1B &&
           cuts_have_price(d, &nobody_asks);
}

int per_layer_shardings(const per_layer_point *point, const plait_cut **cut)
{
    *cut = point->cut;
    return point->cuts;
}

// ---- shares --------------------------------------------------------------------------------

const plait_cut_share *per_layer_share(const per_layer_point *point, int cut, int place, int layers)
{
    const int row = cut == 0 ? point->cuts + place : cut;
    plait_cut_share *const known = &point->share[row * (point->layers + 1) + layers];
    const plait_chunk chunk = {.last = layers,
                               .embedding = cut == 0 && (place & PER_LAYER_EMBEDDING),
                               .loss = cut == 0 && (place & PER_LAYER_LOSS)};
    const plait_stage stage = {
        .chunks = 1, .chunk = &chunk, .degrees = point->own[cut], .layers = layers};

    if (known->state_bytes < 0.0)
        *known = plait_cut_share_of(point->sort[cut], &stage, cut == 0);
    return known;
}

// ---- a point -------------------------------------------------------------------------------

static bool list_cut(per_layer_point *point, plait_cut cut)
{
    const plait_degrees d = plait_degrees_cut(&point->degrees, cut);

    point->cut[point->cuts] = cut;
    point->own[point->cuts] = d;
    point->sort[point->cuts] = plait_stage_sort_new(point->question->problem, 0, &d, point->arena);
    return point->sort[point->cuts++] != NULL;
}

static bool list_cuts(per_layer_point *point)
{
    const per_layer_problem *const q = point->question;

    if (!list_cut(point, cut_of_degrees(&point->degrees)))
        return false;
    for (int c = 0; c < q->cuts; c++)
        if (!cut_same(q->cut[c], point->cut[0]) &&
            cut_legal(q->problem, &point->degrees, q->cut[c], 0, 0, &nobody_asks) &&
            !list_cut(point, q->cut[c]))
            return false;
    return true;
}

static bool list_costs(per_layer_point *point)
{
    const per_layer_problem *const q = point->question;
    const plait_recompute none = {.kind = PLAIT_RECOMPUTE_NONE};
    const size_t cuts = (size_t)point->cuts, choices = (size_t)q->choices;
    const size_t shares = (cuts + PER_LAYER_ENDS) * (size_t)(point->layers + 1);

    point->cost = plait_arena_alloc(point->arena, cuts * choices, sizeof *point->cost);
    point->plain = plait_arena_alloc(point->arena, cuts, sizeof *point->plain);
    point->share = plait_arena_alloc(point->arena, shares, sizeof *point->share);
    if (!point->cost || !point->plain || !point->share)
        return false;
    for (int c = 0; c < point->cuts; c++) {
        point->plain[c] = plait_cut_layer_cost(point->sort[c], 0, none);
        for (int r = 0; r < q->choices; r++)
            point->cost[c * q->choices + r] = plait_cut_layer_cost(point->sort[c], 0, q->choice[r]);
    }
    for (size_t i = 0; i < shares; i++)
        point->share[i].state_bytes = -1.0;
    return true;
}

per_layer_point *per_layer_begin(const per_layer_problem *q, const plait_degrees *d,
                                 plait_arena *arena)
{
    per_layer_point *const point = plait_arena_alloc(arena, 1, sizeof *point);

    if (!point)
        return NULL;
    *point = (per_layer_point){
        .question = q,
        .degrees = *d,
        .layers = q->problem->model->layers,
        .microbatches = plait_degrees_microbatches(d, q->problem->job.gbs),
        .arena = arena,
    };
    if (!list_cuts(point) || !list_costs(point))
        return NULL;
    point->sends_s = plait_cut_sends_s(point->sort[0]);
    return point;
}
