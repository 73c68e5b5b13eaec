/*
 * plan_check_choices.c - recomputation and offload of single stages and layers
 *
 * A plan's degrees have one choice for all layers. If the software allows it (`recompute_by`,
 * `offload_by` of its profile), a stage or a layer may have another choice, which must be legal for
 * the whole plan.
 */
#include "plait/lowlevel/schedule.h"

#include "plan/choices.h"
#include "plan/layer_sharding.h"
#include "rules/plan_check.h"

// ---- choices ------------------------------------------------------------------------

/* Returns the first of `keys` in which two sets of degrees differ; -1: none. */
static int differing_key(const plait_degrees *a, const plait_degrees *b, plait_key_set keys)
{
    for (int key = 0; key < PLAIT_KEYS; key++)
        if ((keys & PLAIT_KEY_BIT(key)) && !plait_key_same(a, b, (plait_key_id)key))
            return key;
    return -1;
}

bool recompute_same(plait_recompute a, plait_recompute b)
{
    return a.kind == b.kind && (a.kind != PLAIT_RECOMPUTE_MODULES || a.modules == b.modules);
}

bool stage_chooses(const plait_plan *plan, const plait_stage *stage)
{
    if (differing_key(&stage->degrees, &plan->degrees, PLAN_OWN_KEYS) >= 0)
        return true;
    if (stage_cuts(stage))
        return true;
    for (int v = 0, at = 0; v < stage->chunks; v++)
        for (int i = 0; i < stage->chunk[v].last - stage->chunk[v].first; i++, at++)
            if (!recompute_same(stage->recompute[at], plait_recompute_of(&plan->degrees, i)))
                return true;
    return false;
}

bool stages_choose_own(const plait_plan *plan)
{
    for (int s = 0; s < plan->stages; s++)
        if (stage_chooses(plan, &plan->stage[s]))
            return true;
    return false;
}

// ---- degrees -------------------------------------------------------------------------------

/* Writes the reason that a key of a stage differs from the plan's key. Returns false. */
static bool key_differs(const plait_plan *plan, int s, int key, const char *condition,
                        const plan_reason *why)
{
    char of_stage[96], of_plan[96];

    return fail_because(
        why, "stage %d has %s %s, but the plan has %s: %s", s, plait_keys[key].name,
        plait_degrees_get(&plan->stage[s].degrees, (plait_key_id)key, of_stage, sizeof of_stage),
        plait_degrees_get(&plan->degrees, (plait_key_id)key, of_plan, sizeof of_plan), condition);
}

bool plan_degrees_agree(const plait_plan *plan, const plan_reason *why)
{
    for (int s = 0; s < plan->stages; s++) {
        const plait_stage *const stage = &plan->stage[s];
        const plait_stage *const mirrored = &plan->stage[plan->stages - 1 - s];
        const int other = differing_key(&stage->degrees, &plan->degrees, ~PLAN_OWN_KEYS);
        if (other >= 0)
            return key_differs(plan, s, other,
                               "the runtime needs the same degrees in all stages (rule P6)", why);
        if (plait_schedule_replicas((plait_schedule)plan->degrees.schedule) > 1 &&
            differing_key(&stage->degrees, &mirrored->degrees, PLAN_OWN_KEYS) >= 0)
            return fail_because(
                why, "stages %d and %d are on the same ranks but offload differently (rule P38)", s,
                plan->stages - 1 - s);
    }
    return true;
}

// ---- layers --------------------------------------------------------------------------------

static char *recompute_text(plait_recompute recompute, char *text, size_t size)
{
    plait_degrees one = plait_degrees_init();

    one.recompute = recompute;
    return plait_degrees_get(&one, PLAIT_KEY_RECOMPUTE, text, size);
}

/*
 * Returns the longest run of fully recomputed layers at the start of any chunk. Returns 0 if the
 * run is as long as the longest chunk, since all layers are then recomputed.
 */
static int leading_full(const plait_stage *stage)
{
    int most = 0, longest = 0;

    for (int v = 0, at = 0; v < stage->chunks; v++) {
        const int layers = stage->chunk[v].last - stage->chunk[v].first;
        int full = 0;

        while (full < layers && stage->recompute[at + full].kind == PLAIT_RECOMPUTE_FULL)
            full++;
        most = full > most ? full : most;
        longest = layers > longest ? layers : longest;
        at += layers;
    }
    return most < longest ? most : 0;
}

/*
 * Returns the stage's degrees with the recompute choice of its first layer; a choice `full` becomes
 * full:N if the software supports it and only some layers are recomputed.
 */
static plait_degrees stage_degrees_of(const plait_runtime *runtime, const plait_stage *stage)
{
    plait_degrees degrees = stage->degrees;
    const int full = leading_full(stage);

    if (stage->layers > 0)
        degrees.recompute = stage->recompute[0];
    degrees.recompute.layers = 0;
    if (runtime->can.full_layers && full > 0) {
        degrees.recompute.kind = PLAIT_RECOMPUTE_FULL;
        degrees.recompute.layers = (short)(full * degrees.vpp);
    }
    return degrees;
}

/* Checks that a layer has the choice of its plan (rule P35) or of its stage (rule P36). */
static bool recompute_matches(const plait_problem *p, const plait_degrees *degrees,
                              plait_recompute found, int s, int at, int in_chunk,
                              const plan_reason *why)
{
    const plait_recompute expected = plait_recompute_of(degrees, in_chunk);
    const bool by_plan = p->runtime->can.recompute_by == PLAIT_BY_PLAN;
    char of_all[96], of_layer[96];

    return recompute_same(expected, found) ||
           fail_because(
               why,
               "layer %d of stage %d has recompute %s, but its %s has %s: %s has one choice "
               "per %s (rule %s)",
               at, s, recompute_text(found, of_layer, sizeof of_layer), by_plan ? "plan" : "stage",
               recompute_text(expected, of_all, sizeof of_all), p->runtime->name,
               by_plan ? "plan" : "stage", by_plan ? "P35" : "P36");
}

/* Checks the stage's degrees with a recompute choice. Fully recomputed layers offload nothing. */
static bool choice_legal(const plait_problem *p, const plait_stage *stage,
                         plait_recompute recompute, const plan_reason *why)
{
    plait_degrees d = stage->degrees;

    d.recompute = recompute;
    d.recompute.layers = 0;
    if (recompute.kind == PLAIT_RECOMPUTE_FULL)
        d.offload_acts = 0;
    return plan_ranks_legal(p, &d, why) && plan_recompute_legal(p, &d, why);
}

/*
 * Returns whether a layer's choice is that of the degrees or of the previous layer (checked
 * before).
 */
static bool is_requested(const plait_plan *plan, int s, int at)
{
    const plait_stage *const stage = &plan->stage[s];
    const plait_recompute found = stage->recompute[at];

    if (differing_key(&stage->degrees, &plan->degrees, PLAN_OWN_KEYS) < 0 &&
        recompute_same(found, plait_recompute_of(&stage->degrees, 0)))
        return true; // the stage's degrees have the same choice
    return at > 0 && recompute_same(found, stage->recompute[at - 1]);
}

static bool stage_choices_legal(const plait_problem *p, const plait_plan *plan, int s,
                                const plan_reason *why)
{
    const plait_granularity by = (plait_granularity)p->runtime->can.recompute_by;
    const plait_stage *const stage = &plan->stage[s];
    const plait_degrees degrees =
        by == PLAIT_BY_PLAN ? plan->degrees : stage_degrees_of(p->runtime, stage);

    for (int v = 0, at = 0; v < stage->chunks; v++)
        for (int i = 0; i < stage->chunk[v].last - stage->chunk[v].first; i++, at++) {
            const plait_recompute found = stage->recompute[at];
            if (by < PLAIT_BY_LAYER && !recompute_matches(p, &degrees, found, s, at, i, why))
                return false;
            if (!is_requested(plan, s, at) && !choice_legal(p, stage, found, why))
                return false;
        }
    return true;
}

/* Returns the first choice of a layer that differs from `one`; NULL: none. */
static const plait_recompute *other_choice(const plait_plan *plan, plait_recompute one)
{
    for (int s = 0; s < plan->stages; s++)
        for (int at = 0; at < plan->stage[s].layers; at++)
            if (!recompute_same(one, plan->stage[s].recompute[at]))
                return &plan->stage[s].recompute[at];
    return NULL;
}

/* Checks choices that the software makes for all layers or for none: all layers must agree. */
static bool is_alike(const plait_problem *p, const plait_plan *plan, int s, const plan_reason *why)
{
    const plait_stage *const stage = &plan->stage[s];
    char of_layer[96], of_other[96];

    for (int at = 0; at < stage->layers; at++) {
        const plait_recompute one = stage->recompute[at];
        const bool alike = p->runtime->can.recompute_alike >> one.kind & 1u;
        const plait_recompute *const other =
            alike && (at == 0 || !recompute_same(one, stage->recompute[at - 1]))
                ? other_choice(plan, one)
                : NULL;

        if (other != NULL)
            return fail_because(
                why,
                "layer %d of stage %d has recompute %s and another layer %s: %s allows "
                "the first of these in all layers or in none (rule P40)",
                at, s, recompute_text(one, of_layer, sizeof of_layer),
                recompute_text(*other, of_other, sizeof of_other), p->runtime->name);
    }
    return true;
}

bool plan_choice_legal(const plait_problem *p, const plait_plan *plan, int s,
                       const plan_reason *why)
{
    // A stage can offload differently from its plan only if the software allows it.
    const int own = differing_key(&plan->stage[s].degrees, &plan->degrees, PLAN_OWN_KEYS);
    if (own >= 0) {
        if (plan->degrees.offload == PLAIT_OFFLOAD_PARAMS ||
            plan->stage[s].degrees.offload == PLAIT_OFFLOAD_PARAMS)
            return key_differs(plan, s, own,
                               "offload params must be in all stages or in none (rule P54)", why);
        if (p->runtime->can.offload_by < PLAIT_BY_STAGE)
            return key_differs(plan, s, own,
                               "the runtime needs the same value in all stages (rule P37)", why);
    }
    return stage_choices_legal(p, plan, s, why) && is_alike(p, plan, s, why);
}

bool plan_choices_legal(const plait_problem *p, const plait_plan *plan, const plan_reason *why)
{
    for (int s = 0; s < plan->stages; s++)
        if (!plan_choice_legal(p, plan, s, why))
            return false;
    return true;
}
