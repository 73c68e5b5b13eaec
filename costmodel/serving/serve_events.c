/* serve_events.c - event queue of the simulation and last steps of sequences: two binary heaps */
#include "base/grow.h"
#include "costmodel/serving/serve_sim.h"

// ---- events, by time -----------------------------------------------------------------------

static bool is_before(const event *a, const event *b)
{
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

bool event_push(event_heap *heap, plait_arena *arena, double time, event_kind kind, int of)
{
    event *const list = grow_by_one(arena, heap->of, heap->count, &heap->room, sizeof *list);
    const event e = {time, heap->order++, kind, of};
    int at = heap->count;

    if (list == NULL)
        return false;
    heap->of = list;
    heap->count++;
    for (; at > 0 && is_before(&e, &list[(at - 1) / 2]); at = (at - 1) / 2)
        list[at] = list[(at - 1) / 2];
    list[at] = e;
    return true;
}

event event_pop(event_heap *heap)
{
    event *const list = heap->of;
    const event top = list[0];
    const event last = list[--heap->count];
    int at = 0;

    for (int child = 1; child < heap->count; child = 2 * at + 1) {
        child += child + 1 < heap->count && is_before(&list[child + 1], &list[child]);
        if (!is_before(&list[child], &last))
            break;
        list[at] = list[child];
        at = child;
    }
    if (heap->count > 0)
        list[at] = last;
    return top;
}

// ---- last steps of sequences ---------------------------------------------------------------

bool finish_push(finish_heap *heap, plait_arena *arena, finish f)
{
    finish *const list = grow_by_one(arena, heap->of, heap->count, &heap->room, sizeof *list);
    int at = heap->count;

    if (list == NULL)
        return false;
    heap->of = list;
    heap->count++;
    for (; at > 0 && f.step < list[(at - 1) / 2].step; at = (at - 1) / 2)
        list[at] = list[(at - 1) / 2];
    list[at] = f;
    return true;
}

finish finish_take(finish_heap *heap, int at)
{
    finish *const list = heap->of;
    const finish taken = list[at];
    const finish last = list[--heap->count];

    for (; at > 0 && last.step < list[(at - 1) / 2].step; at = (at - 1) / 2)
        list[at] = list[(at - 1) / 2];
    for (int child = 2 * at + 1; child < heap->count; child = 2 * at + 1) {
        child += child + 1 < heap->count && list[child + 1].step < list[child].step;
        if (list[child].step >= last.step)
            break;
        list[at] = list[child];
        at = child;
    }
    if (at < heap->count)
        list[at] = last;
    return taken;
}
