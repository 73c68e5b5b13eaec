/* schedule_actions.c - which schedules can be spelled out, how long they are, and who does it */
#include "schedule_fill.h"

#include <assert.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>

const char *const plait_action_letter[PLAIT_ACTION_KINDS + 1] = {"F", "B", "I", "W", NULL};

char *plait_action_text(const plait_action *action, char *text, size_t size)
{
    snprintf(text, size, "%d%s%d", action->stage, plait_action_letter[action->kind],
             action->microbatch);
    return text;
}

bool plait_schedule_has_actions(const plait_pipeline_shape *shape)
{
    const int m = shape->microbatches;

    assert(shape->ranks >= 1 && shape->chunks >= 1 && m >= 1);
    switch (shape->schedule) {
    case PLAIT_NAIVE:
    case PLAIT_GPIPE:
    case PLAIT_1F1B:
    case PLAIT_ZB_H1:
    case PLAIT_ZB_H2:
        return shape->chunks == 1;
    case PLAIT_INTERLEAVED:
        return shape->chunks > 1 && plait_schedule_group(shape) > 0;
    case PLAIT_DUALPIPE:
        return shape->chunks == 1 && shape->ranks % 2 == 0 && m % 2 == 0 && m / 2 >= shape->ranks;
    default:
        return false;
    }
}

/* Backwards that one rank does in two parts. DualPipe: p - d - 1, d hops from the nearer end. */
static int64_t split_backwards(const plait_pipeline_shape *shape, int rank)
{
    const int from_end = shape->ranks - 1 - rank;

    switch (shape->schedule) {
    case PLAIT_ZB_H1:
    case PLAIT_ZB_H2:
        return shape->microbatches;
    case PLAIT_DUALPIPE:
        return shape->ranks - 1 - (rank < from_end ? rank : from_end);
    default:
        return 0;
    }
}

static int64_t count_of_rank(const plait_pipeline_shape *shape, int rank)
{
    return 2 * (int64_t)shape->chunks * shape->microbatches + split_backwards(shape, rank);
}

int64_t plait_schedule_action_count(const plait_pipeline_shape *shape)
{
    int64_t count = 0;

    assert(plait_schedule_has_actions(shape));
    for (int rank = 0; rank < shape->ranks; rank++)
        count += count_of_rank(shape, rank);
    return count;
}

static void fill(const plait_pipeline_shape *shape, int rank, action_list *out)
{
    if (shape->schedule == PLAIT_DUALPIPE)
        schedule_fill_dualpipe(shape, rank, out);
    else if (shape->schedule == PLAIT_INTERLEAVED)
        schedule_fill_interleaved(shape, rank, out);
    else
        schedule_fill_1f1b(shape, rank, out);
}

plait_status plait_schedule_actions(const plait_pipeline_shape *shape, plait_arena *arena,
                                    plait_rank_actions *out, plait_error *err)
{
    assert(plait_schedule_has_actions(shape));
    for (int rank = 0; rank < shape->ranks; rank++) {
        const int64_t room = count_of_rank(shape, rank);
        action_list list = {.room = (int)room};

        if (room <= INT_MAX)
            list.action = plait_arena_alloc(arena, (size_t)room, sizeof *list.action);
        if (list.action == NULL)
            return plait_fail_nomem(err);
        fill(shape, rank, &list);
        assert(list.count == list.room);
        out[rank] = (plait_rank_actions){list.count, list.action};
    }
    return PLAIT_OK;
}
