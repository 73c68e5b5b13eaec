/* stage_pricer.h - stages on one node group with one set of degrees */
#pragma once

#include "costmodel/stage/stage_sum.h"

struct plait_stage_sort {
    plait_problem problem; /* of the group alone */
    plait_cluster cluster;
    plait_degrees degrees;
    const plait_cluster *whole;
    int group;
    layer_row row;
    gather_row gather;
    sync_routes routes;
    stage_part *part; /* room for those of one stage */
};

/** A stage's sums, its state, and what it does once a step. */
typedef struct sorted_stage {
    stage_parts parts;
    stage_load load;
    stage_state state;
    stage_sync sync;
} sorted_stage;

/** `in_flight` microbatches are at hand; parts live in the sort until the next stage is summed. */
sorted_stage stage_sort_sum(plait_stage_sort *sort, const plait_stage *stage, int other,
                            double in_flight);

/** What it leaves behind the pipeline, and its memory with nothing in flight. */
plait_stage_price stage_sort_price_of(const plait_stage_sort *sort, const sorted_stage *stage);
