/* schedule_actions.h - what the files that spell schedules out share: a list that is being filled */
#ifndef SCHEDULE_ACTIONS_H
#define SCHEDULE_ACTIONS_H

#include "plait/schedule.h"

/** The actions of one rank on their way; `room` of them are enough for any schedule. */
typedef struct action_list {
    plait_action *action;
    int count;
    int room;
} action_list;

/** Adds one action. */
void action_append(action_list *list, plait_action_kind kind, int stage, int microbatch);

/** Naive, GPipe, 1F1B, ZB-H1, ZB-H2: some forwards ahead, then forward and backward in turn. */
void schedule_fill_1f1b(const plait_pipeline_shape *shape, int rank, action_list *out);

void schedule_fill_interleaved(const plait_pipeline_shape *shape, int rank, action_list *out);

void schedule_fill_dualpipe(const plait_pipeline_shape *shape, int rank, action_list *out);

#endif
