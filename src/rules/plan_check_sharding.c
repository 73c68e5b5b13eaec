/*
 * plan_check_sharding.c - checks layers that are sharded differently from their plan
 *
 *     a stage of 8 GPUs, tp 2, dp 4, mbs 1     4 sequences a microbatch
 *     a layer of it      tp 8, dp 1, mbs 4     the same 4
 */
#include "plan/layer_sharding.h"
#include "rules/plan_check.h"

#include "plait/lowlevel/schedule.h"

// ---- legality -----------------------------------------------------------------------

/* Checks that all layers of a stage process the same sequences, and each rank whole sequences. */
static bool sequences_agree(const plait_degrees *d, plait_cut cut, int s, int at,
                            const plan_reason *why)
{
    const int64_t gpus = (int64_t)d->tp * d->dp, sequences = (int64_t)d->dp * d->mbs;

    if (cut.tp < 1 || gpus % cut.tp != 0 || sequences % (gpus / cut.tp) != 0)
        return fail_because(
            why,
            "layer %d of stage %d has tp %d, which cannot divide %lld sequences per "
            "microbatch evenly among %lld GPUs (rule P45)",
            at, s, cut.tp, (long long)sequences, (long long)gpus);
    return true;
}

/* Checks that the sharding of a layer would be legal for a whole plan. */
static bool own_degrees_legal(const plait_problem *p, const plait_degrees *d, plait_cut cut, int s,
                              int at, const plan_reason *why)
{
    const plait_degrees own = plait_degrees_cut(d, cut);
    char inner[256] = "";
    const plan_reason own_why = {inner, sizeof inner};

    return (plan_layers_legal(p, &own, &own_why) && plan_ranks_legal(p, &own, &own_why)) ||
           fail_because(why, "layer %d of stage %d: %s", at, s, inner);
}

bool cut_legal(const plait_problem *p, const plait_degrees *d, plait_cut cut, int s, int at,
               const plan_reason *why)
{
    // The software must allow the keys that the layer changes.
    const plait_capabilities *const can = &p->runtime->can;
    const bool tp = cut.tp != d->tp && can->tp_by < PLAIT_BY_LAYER;
    const bool zero = cut.zero != d->zero && can->zero_by < PLAIT_BY_LAYER;
    if (tp || zero)
        return fail_because(why,
                            "layer %d of stage %d has %s %d, but the plan has %d: %s "
                            "needs the same in all layers (rule P44)",
                            at, s, tp ? "tp" : "ZeRO", tp ? cut.tp : cut.zero, tp ? d->tp : d->zero,
                            p->runtime->name);
    return sequences_agree(d, cut, s, at, why) &&
           (cut.zero == d->zero || cut.zero == 3 ||
            fail_because(
                why,
                "layer %d of stage %d has ZeRO %d: expected %d as in the plan, or 3 (rule P47)", at,
                s, cut.zero, d->zero)) &&
           own_degrees_legal(p, d, cut, s, at, why);
}

/*
 * Returns a key whose value the cost model cannot price together with layers of another sharding;
 * -1: none.
 */
static int key_without_price(const plait_degrees *d)
{
    static const struct {
        plait_key_id key;
        int value;
    } plain[] = {
        {PLAIT_KEY_VPP, 1},
        {PLAIT_KEY_ORDER, PLAIT_ORDER_TP_CP_DP_PP},
        {PLAIT_KEY_FUSION, PLAIT_FUSION_NONE},
        {PLAIT_KEY_EP_OVERLAP, PLAIT_EP_OVERLAP_NONE},
        {PLAIT_KEY_POST_VALIDATION, 0},
        {PLAIT_KEY_OFFLOAD, PLAIT_OFFLOAD_NONE},
        {PLAIT_KEY_OFFLOAD_ACTS, 0},
        {PLAIT_KEY_RESHARD, PLAIT_RESHARD_ALWAYS},
        {PLAIT_KEY_QUANTISE, PLAIT_QUANTISE_NONE},
    };

    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (plait_key_value(d, plain[i].key) != plain[i].value)
            return (int)plain[i].key;
    if (d->schedule != PLAIT_1F1B && d->schedule != PLAIT_GPIPE)
        return PLAIT_KEY_SCHEDULE;
    return d->tp > 1 && !d->sp ? PLAIT_KEY_SP : -1;
}

bool cuts_have_price(const plait_degrees *d, const plan_reason *why)
{
    const int key = key_without_price(d);
    char found[96];

    return key < 0 ||
           fail_because(
               why,
               "%s %s cannot be priced with layers that have their own tp or ZeRO stage (rule P46)",
               plait_keys[key].name, plait_degrees_get(d, (plait_key_id)key, found, sizeof found));
}

bool plan_cuts_legal(const plait_problem *p, const plait_plan *plan, const plan_reason *why)
{
    for (int s = 0; s < plan->stages; s++) {
        const plait_stage *const stage = &plan->stage[s];
        for (int i = 0; stage->cut && i < stage->layers; i++)
            if ((i == 0 || !cut_same(stage->cut[i], stage->cut[i - 1])) &&
                !cut_same(stage->cut[i], cut_of_degrees(&plan->degrees)) &&
                !cut_legal(p, &plan->degrees, stage->cut[i], s, i, why))
                return false;
    }
    return !plait_plan_cuts(plan) || cuts_have_price(&plan->degrees, why);
}
