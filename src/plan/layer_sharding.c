/*
 * layer_sharding.c - layers that are sharded differently from their plan
 *
 *     a stage of 8 GPUs, tp 2, dp 4, mbs 1     4 sequences a microbatch
 *     a layer of it      tp 8, dp 1, mbs 4     the same 4
 */
#include "plan/layer_sharding.h"

bool cut_same(plait_cut a, plait_cut b)
{
    return a.tp == b.tp && a.zero == b.zero;
}

plait_cut cut_of_degrees(const plait_degrees *d)
{
    return (plait_cut){.tp = (short)d->tp, .zero = d->zero};
}

plait_cut plait_cut_of(const plait_stage *stage, int layer)
{
    return stage->cut ? stage->cut[layer] : cut_of_degrees(&stage->degrees);
}

bool stage_cuts(const plait_stage *stage)
{
    for (int i = 0; stage->cut && i < stage->layers; i++)
        if (!cut_same(stage->cut[i], cut_of_degrees(&stage->degrees)))
            return true;
    return false;
}

bool plait_plan_cuts(const plait_plan *plan)
{
    for (int s = 0; s < plan->stages; s++)
        if (stage_cuts(&plan->stage[s]))
            return true;
    return false;
}

/*
 * Returns when a layer under ZeRO-2 or ZeRO-3 scatters its gradients: at the times of the plan. A
 * plan below ZeRO-2 has no such times; the layer then scatters once per step if grad_sync is
 * shifted.
 */
static unsigned char scatter_of(const plait_degrees *d, int zero)
{
    if (zero < 2)
        return PLAIT_SCATTER_MICROBATCH;
    if (d->zero >= 2)
        return d->scatter;
    return d->grad_sync == PLAIT_SYNC_SHIFTED ? PLAIT_SCATTER_STEP : PLAIT_SCATTER_MICROBATCH;
}

plait_degrees plait_degrees_cut(const plait_degrees *d, plait_cut cut)
{
    plait_degrees own = *d;

    if (cut_same(cut, cut_of_degrees(d)))
        return own;
    own.tp = cut.tp;
    own.etp = d->etp == d->tp && d->tp > 1 ? cut.tp : d->etp;
    own.sp = cut.tp > 1;
    own.dp = d->dp * d->tp / cut.tp;
    own.mbs = (int)((int64_t)d->mbs * cut.tp / d->tp);
    own.zero = cut.zero;
    own.scatter = scatter_of(d, cut.zero);
    own.shard_group = own.dp * own.cp;
    return own;
}
