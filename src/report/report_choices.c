/* report_choices.c - what stages recompute and offload other than their plan, in a line for those alike */
#include "plan/choices.h"
#include "plan/layer_sharding.h"
#include "report/report_private.h"

static bool same_keys(const plait_degrees *a, const plait_degrees *b)
{
    for (int key = 0; key < PLAIT_KEYS; key++)
        if ((PLAN_OWN_KEYS & PLAIT_KEY_BIT(key)) && !plait_key_same(a, b, (plait_key_id)key))
            return false;
    return true;
}

static bool alike(const plait_stage *a, const plait_stage *b)
{
    if (a->layers != b->layers || !same_keys(&a->degrees, &b->degrees))
        return false;
    for (int i = 0; i < a->layers; i++)
        if (!recompute_same(a->recompute[i], b->recompute[i]) ||
            !cut_same(plait_cut_of(a, i), plait_cut_of(b, i)))
            return false;
    return true;
}

/* " full in 4 layers, none in 6": each choice where its first layer is. */
static void print_layers(const plait_stage *stage, FILE *out)
{
    plait_degrees one = stage->degrees;
    char text[96];

    for (int i = 0, told = 0; i < stage->layers; i++) {
        int before = 0, count = 0;

        for (int j = 0; j < stage->layers; j++)
            if (recompute_same(stage->recompute[j], stage->recompute[i])) {
                before += j < i;
                count++;
            }
        if (before > 0)
            continue;
        one.recompute = stage->recompute[i];
        fprintf(out, "%s %s in %d%s", told > 0 ? "," : "",
                plait_degrees_get(&one, PLAIT_KEY_RECOMPUTE, text, sizeof text), count,
                told > 0     ? ""
                : count == 1 ? " layer"
                             : " layers");
        told++;
    }
}

/* "; tp 8, ZeRO 3 in 4 layers, tp 2, ZeRO 2 in 6": runs of layers in their order. */
static void print_cuts(const plait_stage *stage, FILE *out)
{
    for (int first = 0, next; stage_cuts(stage) && first < stage->layers; first = next) {
        const plait_cut cut = plait_cut_of(stage, first);

        for (next = first + 1; next < stage->layers; next++)
            if (!cut_same(plait_cut_of(stage, next), cut))
                break;
        fprintf(out, "%s tp %d, ZeRO %d in %d%s", first > 0 ? "," : ";", cut.tp, cut.zero,
                next - first,
                first > 0   ? ""
                : next == 1 ? " layer"
                            : " layers");
    }
}

static void print_run(const plait_plan *plan, int first, int last, FILE *out)
{
    const plait_stage *const stage = &plan->stage[first];
    char text[96];

    if (first == last)
        fprintf(out, "stage %d recomputes", first);
    else
        fprintf(out, "stages %d to %d recompute", first, last);
    print_layers(stage, out);
    for (int key = 0; key < PLAIT_KEYS; key++)
        if ((PLAN_OWN_KEYS & PLAIT_KEY_BIT(key)) &&
            !plait_key_same(&stage->degrees, &plan->degrees, (plait_key_id)key))
            fprintf(out, "; %s %s", plait_keys[key].name,
                    plait_degrees_get(&stage->degrees, (plait_key_id)key, text, sizeof text));
    print_cuts(stage, out);
    fputc('\n', out);
}

void report_choices(const plait_plan *plan, FILE *out)
{
    for (int first = 0, last; first < plan->stages; first = last + 1) {
        for (last = first; last + 1 < plan->stages;)
            if (alike(&plan->stage[first], &plan->stage[last + 1]))
                last++;
            else
                break;
        if (stage_chooses(plan, &plan->stage[first]))
            print_run(plan, first, last, out);
    }
}
