/* plan_check_stages.c - the stages of a plan against its degrees: nothing that the price overlooks */
#include <string.h>

#include "plait/schedule.h"
#include "plan_check.h"

// ---- what every stage has in common --------------------------------------------------------

static bool same_order(const plait_plan *plan, const plan_reason *why)
{
    const plait_axis *const order = plait_order_axes((plait_order)plan->degrees.order);

    for (int i = 0; i < PLAIT_AXES; i++)
        if (plan->order[i] != order[i])
            return because(why, "axis %d of the ranks is %s where order %s has %s", i,
                           plan->order[i] >= 0 && plan->order[i] < PLAIT_GROUPS
                               ? plait_axis_name[plan->order[i]]
                               : "none",
                           plait_order_name[plan->degrees.order], plait_axis_name[order[i]]);
    return true;
}

// ---- layers --------------------------------------------------------------------------------

static bool has_chunks(const plait_plan *plan, const plan_reason *why)
{
    const plait_degrees *const d = &plan->degrees;

    if (plan->stages != d->pp)
        return because(why, "%d stages where pp is %d", plan->stages, d->pp);
    if ((int64_t)d->pp * d->vpp > PLAIT_MAX_LAYERS)
        return because(why, "pp %d x vpp %d chunks: at most %d are priced", d->pp, d->vpp,
                       PLAIT_MAX_LAYERS);
    for (int s = 0; s < plan->stages; s++) {
        const plait_stage *const stage = &plan->stage[s];
        int layers = 0;

        if (stage->chunks != d->vpp)
            return because(why, "stage %d has %d chunks where vpp is %d", s, stage->chunks, d->vpp);
        for (int v = 0; v < stage->chunks; v++)
            layers += stage->chunk[v].last - stage->chunk[v].first;
        if (stage->layers != layers)
            return because(why, "stage %d has %d layers, its chunks %d", s, stage->layers, layers);
    }
    return true;
}

static bool same_chunk(const plait_chunk *a, const plait_chunk *b)
{
    return a->first == b->first && a->last == b->last && a->embedding == b->embedding &&
           a->loss == b->loss && a->mtp == b->mtp;
}

/* A split in words deals what it says. */
static bool dealt_as_said(const plait_problem *p, const plait_plan *plan, const plan_reason *why)
{
    plait_chunk dealt[PLAIT_MAX_LAYERS];
    char split[48];

    if (!plait_chunks_of(p->model, &plan->degrees, dealt))
        return false;
    for (int c = 0; c < plan->degrees.pp * plan->degrees.vpp; c++) {
        const plait_chunk *const chunk = plait_plan_chunk(plan, c);

        if (!same_chunk(chunk, &dealt[c]))
            return because(
                why,
                "chunk %d holds layers %d to %d where split %s deals %d to %d; stages of "
                "your own are split stages",
                c, chunk->first, chunk->last,
                plait_degrees_get(&plan->degrees, PLAIT_KEY_SPLIT, split, sizeof split),
                dealt[c].first, dealt[c].last);
    }
    return true;
}

/* Each layer once and in order, the embedding before them, modules and loss behind. */
static bool holds_model(const plait_problem *p, const plait_plan *plan, const plan_reason *why)
{
    const int chunks = plan->degrees.pp * plan->degrees.vpp;
    int layers = 0;
    int next = 0;

    for (int s = 0; s < plan->stages; s++)
        layers += plan->stage[s].layers;
    if (layers != p->model->layers)
        return because(why, "the stages hold %d layers, %s has %d", layers, p->model->name,
                       p->model->layers);
    for (int c = 0; c < chunks; c++) {
        const plait_chunk *const chunk = plait_plan_chunk(plan, c);
        const int mtp = c == chunks - 1 ? p->model->mtp_layers : 0;

        if (chunk->first != next || chunk->last < chunk->first || chunk->last > p->model->layers)
            return because(why, "chunk %d holds layers %d to %d, expected from %d on, of %d", c,
                           chunk->first, chunk->last, next, p->model->layers);
        if (chunk->embedding != (c == 0))
            return because(why, "the embedding belongs to the first chunk alone, see chunk %d", c);
        if (chunk->loss != (c == chunks - 1))
            return because(why, "the loss belongs to the last chunk alone, see chunk %d", c);
        if (chunk->mtp != mtp)
            return because(why, "chunk %d has %d modules that predict further tokens, expected %d",
                           c, chunk->mtp, mtp);
        next = chunk->last;
    }
    return true;
}

static int chunk_layers(const plait_plan *plan, int c)
{
    const plait_chunk *const chunk = plait_plan_chunk(plan, c);

    return chunk->last - chunk->first;
}

/*
 * C.73 and C.78 take a rank's chunks for equal parts of it, which stages of a plan's own need not be.
 * The ends of the model may be smaller: they have the embedding, the loss and modules beside layers.
 */
static bool chunks_alike(const plait_plan *plan, const plan_reason *why)
{
    enum { APART = 2 };
    const int chunks = plan->degrees.pp * plan->degrees.vpp;
    int least = 1;

    if (plan->degrees.vpp == 1)
        return true;
    for (int c = 2; c < chunks - 1; c++)
        if (chunk_layers(plan, c) < chunk_layers(plan, least))
            least = c;
    for (int c = 0; c < chunks; c++)
        if (chunk_layers(plan, c) > chunk_layers(plan, least) + APART)
            return because(why,
                           "chunk %d has %d layers and chunk %d has %d: chunks that take turns are "
                           "priced as equal and may differ by %d, the first and the last may be "
                           "smaller (rule P10)",
                           c, chunk_layers(plan, c), least, chunk_layers(plan, least), APART);
    return true;
}

bool plan_stages_agree(const plait_problem *p, const plait_plan *plan, const plan_reason *why)
{
    const bool own = plan->degrees.split.kind == PLAIT_SPLIT_STAGES;

    if (!same_order(plan, why) || !has_chunks(plan, why))
        return false;
    if (!plan_degrees_agree(p, plan, why))
        return false;
    if (!(own ? plan_recompute_legal : plan_stages_legal)(p, &plan->degrees, why) ||
        !holds_model(p, plan, why) ||
        !(own ? chunks_alike(plan, why) : dealt_as_said(p, plan, why)))
        return false;
    return plan_choices_legal(p, plan, why);
}

plait_verdict plait_plan_check(const plait_problem *p, const plait_plan *plan, char *why,
                               size_t size)
{
    const plan_reason reason = {why, size};

    if (size > 0 && why)
        why[0] = '\0';
    return plan_layers_legal(p, &plan->degrees, &reason) &&
                   plan_ranks_legal(p, &plan->degrees, &reason) &&
                   plan_stages_agree(p, plan, &reason)
               ? PLAIT_FITS
               : PLAIT_INVALID;
}
