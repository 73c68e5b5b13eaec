/* serve_events.c - a binary heap of events by time, then by order */
#include "base/grow.h"
#include "costmodel/serving/serve_sim.h"

static inline bool is_before(const event *a, const event *b)
{
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

bool event_push(event_heap *heap, plait_arena *arena, event e)
{
    event *const list = grow_by_one(arena, heap->of, heap->count, &heap->room, sizeof *list);
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

event event_take(event_heap *heap, int at)
{
    event *const list = heap->of;
    const event taken = list[at];
    const event last = list[--heap->count];

    for (; at > 0 && is_before(&last, &list[(at - 1) / 2]); at = (at - 1) / 2)
        list[at] = list[(at - 1) / 2];
    for (int child = 2 * at + 1; child < heap->count; child = 2 * at + 1) {
        child += child + 1 < heap->count && is_before(&list[child + 1], &list[child]);
        if (!is_before(&list[child], &last))
            break;
        list[at] = list[child];
        at = child;
    }
    if (at < heap->count)
        list[at] = last;
    return taken;
}
