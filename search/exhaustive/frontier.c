/* frontier.c - a ranking of the best plans, and the Pareto front of time and memory */
#include "search/exhaustive/frontier.h"

#include <math.h>
#include <string.h>

// ---- the ranking ---------------------------------------------------------------------------

bool top_make(plan_top *top, int room, plait_key_set distinct, plait_arena *arena)
{
    *top = (plan_top){.room = room,
                      .distinct = distinct,
                      .plan = plait_arena_alloc(arena, (size_t)room, sizeof *top->plan)};
    return top->plan != NULL;
}

bool top_wants(const plan_top *top, double objective, int64_t index)
{
    if (top->count < top->room)
        return true;
    const plan_point *last = &top->plan[top->count - 1];
    return objective < last->objective || (objective == last->objective && index < last->index);
}

static bool ranks_before(const plan_point *a, const plan_point *b)
{
    return a->objective < b->objective || (a->objective == b->objective && a->index < b->index);
}

bool top_leads(const plan_point *plan, const plan_top *top)
{
    return top->count == 0 || ranks_before(plan, &top->plan[0]);
}

int top_find(const plan_top *top, const plait_degrees *degrees)
{
    for (int i = 0; top->distinct != 0 && i < top->count; i++)
        if (plait_degrees_equal_on(top->distinct, &top->plan[i].degrees, degrees))
            return i;
    return -1;
}

void top_add(plan_top *top, const plan_point *plan)
{
    int at;

    if (!top_wants(top, plan->objective, plan->index))
        return;
    const int alike = top_find(top, &plan->degrees);
    if (alike >= 0 && !ranks_before(plan, &top->plan[alike]))
        return;
    // The plan replaces the ranked plan that equals it on `distinct`; without one, it takes a free
    // place or that of the last plan.
    if (alike < 0 && top->count < top->room)
        top->count++;
    for (at = alike >= 0 ? alike : top->count - 1; at > 0; at--) {
        if (ranks_before(&top->plan[at - 1], plan))
            break;
        top->plan[at] = top->plan[at - 1];
    }
    top->plan[at] = *plan;
}

double top_limit(const plan_top *top)
{
    return top->count < top->room ? HUGE_VAL : top->plan[top->count - 1].objective;
}

// ---- the front -----------------------------------------------------------------------------

/* Returns the number of plans of the front that take at most `step_s`. */
static int faster_or_equal(const plan_front *front, double step_s)
{
    int low = 0;
    int high = front->count;

    while (low < high) {
        const int middle = (low + high) / 2;
        if (front->plan[middle].price.step_s <= step_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/*
 * Memory falls along the front, so the slowest plan that is at least as fast as the price needs the
 * least memory.
 */
bool front_dominates(const plan_front *front, plait_price price)
{
    const int at = faster_or_equal(front, price.step_s);

    if (at == 0)
        return false;
    if (price.step_s > front->within * front->plan[0].price.step_s)
        return true;
    const plait_price best = front->plan[at - 1].price;
    return best.peak_bytes < price.peak_bytes ||
           (best.peak_bytes == price.peak_bytes && best.step_s < price.step_s);
}

static bool grow_front(plan_front *front)
{
    const int room = front->room ? 2 * front->room : 32;
    plan_point *more = plait_arena_alloc(front->arena, (size_t)room, sizeof *more);

    if (!more)
        return false;
    if (front->count > 0)
        memcpy(more, front->plan, (size_t)front->count * sizeof *more);
    front->plan = more;
    front->room = room;
    return true;
}

/*
 * Inserts a plan at the position of its time and removes the plans that it dominates. Of two plans
 * with equal prices the one with the lower index stays, whichever is found first.
 */
bool front_add(plan_front *front, const plan_point *plan)
{
    const int at = faster_or_equal(front, plan->price.step_s);
    int end = at;
    int start = at;

    if (at > 0 && front->plan[at - 1].price.peak_bytes <= plan->price.peak_bytes) {
        plan_point *known = &front->plan[at - 1];
        const bool equal = known->price.peak_bytes == plan->price.peak_bytes &&
                           known->price.step_s == plan->price.step_s;
        if (equal && plan->index < known->index)
            *known = *plan;
        return true;
    }
    // The plan dominates plans [start, end): equally fast and larger plans before `at`, and slower
    // plans from `at` on that are at least as large.
    while (start > 0 && front->plan[start - 1].price.step_s == plan->price.step_s)
        start--;
    while (end < front->count && front->plan[end].price.peak_bytes >= plan->price.peak_bytes)
        end++;
    if (start == end) {
        if (front->count == front->room && !grow_front(front))
            return false;
        memmove(&front->plan[start + 1], &front->plan[start],
                (size_t)(front->count - start) * sizeof *front->plan);
        front->count++;
    } else {
        memmove(&front->plan[start + 1], &front->plan[end],
                (size_t)(front->count - end) * sizeof *front->plan);
        front->count -= end - start - 1;
    }
    front->plan[start] = *plan;
    return true;
}
