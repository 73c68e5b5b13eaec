/* refine.c - what searches beyond uniform plans share: the best known, and points still open */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "split.h"
#include "strategy.h"
#include "text.h"

/* Of all tasks of one listing. */
static const int64_t MOST_FLOORS = 1 << 29;

double search_best_s(const search_run *run)
{
    return run->known->top.count > 0 ? run->known->top.plan[0].price.step_s : HUGE_VAL;
}

bool search_ranks_steps(const search_run *run)
{
    return run->options->objective == PLAIT_MINIMISE_TIME ||
           run->options->objective == PLAIT_MINIMISE_COST;
}

bool search_may_list(const search_run *run, search_found *found, double bound_s)
{
    const int64_t tasks = (run->space->rows + run->batch_rows - 1) / run->batch_rows;

    if (found->floors < MOST_FLOORS / tasks + 1)
        return true;
    found->open.floor_s = fmin(found->open.floor_s, bound_s);
    return false;
}

bool search_asks_full_layers(const search_run *run)
{
    for (int i = 0; i < run->options->limits; i++)
        if (run->options->limit[i].key == PLAIT_KEY_RECOMPUTE &&
            text_starts_with(run->options->limit[i].value, "full:"))
            return true;
    return false;
}

int search_most_turns(const search_run *run, int pp)
{
    const int items = split_most_chunks(run->problem->model->layers, PLAIT_SPLIT_BOTH);
    const int can = run->problem->runtime->can.most[PLAIT_KEY_VPP];
    const int filled = (items + pp - 1) / pp;

    return filled < can ? filled : can;
}

// ---- open points ---------------------------------------------------------------------------

bool open_add(point_list *list, const open_point *point)
{
    enum { FIRST_ROOM = 64 };

    if (list->count == list->room) {
        const int64_t room = list->room > 0 ? 2 * list->room : FIRST_ROOM;
        open_point *more = plait_arena_alloc(list->arena, (size_t)room, sizeof *more);
        if (!more)
            return false;
        if (list->count > 0)
            memcpy(more, list->point, (size_t)list->count * sizeof *more);
        list->point = more;
        list->room = room;
    }
    list->point[list->count++] = *point;
    return true;
}

static int by_guess(const void *left, const void *right)
{
    const open_point *a = left, *b = right;

    return a->guess_s != b->guess_s ? (a->guess_s > b->guess_s) - (a->guess_s < b->guess_s)
                                    : (a->index > b->index) - (a->index < b->index);
}

void open_sort(point_list *list)
{
    for (int64_t i = 0; i < list->count; i++)
        list->point[i].index = i;
    if (list->count > 0)
        qsort(list->point, (size_t)list->count, sizeof *list->point, by_guess);
}

double open_floor_s(const point_list *list, int64_t solved)
{
    double floor_s = list->floor_s;

    for (int64_t i = solved; i < list->count; i++)
        floor_s = fmin(floor_s, list->point[i].floor_s);
    return floor_s;
}
