/*
 * answer.c - turns points of the space into plans with stages and full prices
 *
 * Tables add the parts of a price in a different order than plait_plan_cost, so the last digits may
 * differ. A search returns the prices of plait_plan_cost and sorts by them.
 */
#include "search/exhaustive/exhaustive.h"
#include "costmodel/api.h"
#include "plait/capacity.h"

#include <stdlib.h>

const char *const plait_objective_name[PLAIT_OBJECTIVES + 1] = {"time", "memory", "cost", "energy",
                                                                NULL};

/*
 * The step time also ranks plans by cost, which is proportional to it for a given number of GPUs.
 */
double objective_of(const search_run *run, plait_price price)
{
    switch (run->options->objective) {
    case PLAIT_MINIMISE_MEMORY:
        return price.peak_bytes;
    case PLAIT_MINIMISE_ENERGY:
        return plait_energy_j(run->problem, price);
    default:
        return price.step_s;
    }
}

static plait_status price_all(const search_run *run, const plan_point *point, int count,
                              plait_ranked **plans, plait_error *err)
{
    search_worker *const worker = search_first_worker(run);

    *plans = plait_arena_alloc(run->arena, (size_t)count + 1, sizeof **plans);
    PLAIT_TRY(plait_check_allocated(worker && *plans, err));
    const plait_arena_mark mark = plait_arena_save(worker->scratch);
    for (int i = 0; i < count; i++) {
        plait_ranked *out = &(*plans)[i];
        plait_cost cost;

        PLAIT_TRY(plait_plan_expand(run->problem, &point[i].degrees, run->arena, &out->plan, err));
        PLAIT_TRY(plait_table_plan_cost(worker->table, &out->plan, worker->scratch, &cost, err));
        out->price = (plait_price){
            .step_s = cost.step_s,
            .peak_bytes = cost.memory.peak_bytes,
            .busy_s = cost.busy_s,
            .moving_s = cost.moving_s,
        };
        out->objective = objective_of(run, out->price);
        out->index = point[i].index;
        plait_arena_rewind(worker->scratch, mark);
    }
    return PLAIT_OK;
}

static int by_number(double a, double b)
{
    return (a > b) - (a < b);
}

static int by_objective(const void *left, const void *right)
{
    const plait_ranked *const a = left;
    const plait_ranked *const b = right;
    const int order = by_number(a->objective, b->objective);

    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

static int by_time(const void *left, const void *right)
{
    const plait_ranked *const a = left;
    const plait_ranked *const b = right;
    const int order = by_number(a->price.step_s, b->price.step_s);
    const int fuller = by_number(a->price.peak_bytes, b->price.peak_bytes);

    return order != 0    ? order
           : fuller != 0 ? fuller
                         : (a->index > b->index) - (a->index < b->index);
}

plait_status answer_ranking(const search_run *run, const plan_point *point, int count,
                            plait_ranked **plans, plait_error *err)
{
    PLAIT_TRY(price_all(run, point, count, plans, err));
    qsort(*plans, (size_t)count, sizeof **plans, by_objective);
    return PLAIT_OK;
}

plait_status answer_front(const search_run *run, const plan_front *front, plait_ranked **plans,
                          int *count, plait_error *err)
{
    int kept = 0;

    PLAIT_TRY(price_all(run, front->plan, front->count, plans, err));
    qsort(*plans, (size_t)front->count, sizeof **plans, by_time);
    for (int i = 0; i < front->count; i++)
        if (kept == 0 || ((*plans)[i].price.peak_bytes < (*plans)[kept - 1].price.peak_bytes &&
                          (*plans)[i].price.step_s <= front->within * (*plans)[0].price.step_s))
            (*plans)[kept++] = (*plans)[i];
    *count = kept;
    return PLAIT_OK;
}
