/* variants.c - counts the variants of each ranked plan (S.96) */
#include "search/exhaustive/exhaustive.h"
#include "costmodel/api.h"

#include <math.h>

double variants_most(const search_run *run)
{
    const plan_top *top = &run->known->top;

    return (1.0 + PLAIT_VARIANTS_WITHIN) * top->plan[top->count - 1].objective;
}

static bool same_plan(const plait_degrees *a, const plait_degrees *b)
{
    for (int key = 0; key < PLAIT_KEYS; key++)
        if (!plait_key_same(a, b, (plait_key_id)key))
            return false;
    return true;
}

void variants_count(const search_run *run, search_worker *worker, search_found *found,
                    plan_point *plan)
{
    const plan_top *top = &run->known->top;
    const int at = top_find(top, &plan->degrees);

    if (at < 0)
        return;
    const double most = (1.0 + PLAIT_VARIANTS_WITHIN) * top->plan[at].objective;
    if (plan->objective > most || same_plan(&plan->degrees, &top->plan[at].degrees))
        return;
    if (!plan->price.exact) {
        if (plait_degrees_simulate(worker->table, &plan->degrees, worker->scratch, &plan->price,
                                   NULL) != PLAIT_OK)
            found->failed = true;
        plan->objective = objective_of(run, plan->price);
    }
    if (plan->objective > most)
        return;
    found->variant[at].plans++;
    found->variant[at].worst = fmax(found->variant[at].worst, plan->objective);
}

/* Keys with the same value in all plans of a row. */
static const plait_key_set row_keys =
    PLAIT_KEY_BIT(PLAIT_KEY_PLACEMENT) | PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_SP) |
    PLAIT_KEY_BIT(PLAIT_KEY_FUSION) | PLAIT_KEY_BIT(PLAIT_KEY_CP) |
    PLAIT_KEY_BIT(PLAIT_KEY_CP_COMM) | PLAIT_KEY_BIT(PLAIT_KEY_ETP) | PLAIT_KEY_BIT(PLAIT_KEY_EP) |
    PLAIT_KEY_BIT(PLAIT_KEY_DISPATCHER) | PLAIT_KEY_BIT(PLAIT_KEY_ATTENTION);

/*
 * Returns whether some ranked plan equals these degrees on those of `keys` that are in `distinct`.
 */
static bool may_be_variant(const search_run *run, const plait_degrees *d, plait_key_set keys)
{
    const plan_top *top = &run->known->top;

    for (int i = 0; i < top->count; i++)
        if (plait_degrees_equal_on(top->distinct & keys, &top->plan[i].degrees, d))
            return true;
    return false;
}

bool variants_in_row(const search_run *run, const plait_degrees *row)
{
    return may_be_variant(run, row, row_keys);
}

bool variants_in_pipeline(const search_run *run, const plait_degrees *pipeline)
{
    return may_be_variant(run, pipeline, row_keys | PLAIT_KEY_BIT(PLAIT_KEY_PP));
}

bool variants_in_size(const search_run *run, const plait_degrees *pipeline)
{
    return may_be_variant(run, pipeline,
                          row_keys | PLAIT_KEY_BIT(PLAIT_KEY_PP) | PLAIT_KEY_BIT(PLAIT_KEY_MBS));
}
