/* schedule_fill.h - the actions of one rank on their way, and who fills them in */
#ifndef SCHEDULE_FILL_H
#define SCHEDULE_FILL_H

#include <assert.h>

#include "plait/schedule.h"

/** The actions of one rank on their way; `room` of them are enough for any schedule. */
typedef struct action_list {
    plait_action *action;
    int count;
    int room;
} action_list;

/** Adds one action. */
static inline void action_append(action_list *list, plait_action_kind kind, int stage,
                                 int microbatch)
{
    assert(list->count < list->room);
    list->action[list->count++] = (plait_action){kind, stage, microbatch};
}

/** Naive, GPipe, 1F1B, ZB-H1, ZB-H2: some forwards ahead, then forward and backward in turn. */
void schedule_fill_1f1b(const plait_pipeline_shape *shape, int rank, action_list *out);

void schedule_fill_interleaved(const plait_pipeline_shape *shape, int rank, action_list *out);

void schedule_fill_dualpipe(const plait_pipeline_shape *shape, int rank, action_list *out);

#endif
