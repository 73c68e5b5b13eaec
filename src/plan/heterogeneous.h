/* heterogeneous.h - plans whose stages differ */
#pragma once

#include "plait/plan.h"
#include "plait/runtime.h"

/** GPUs that a stage takes. */
int stage_gpus(const plait_stage *stage);

/**
 * Is it a plan of one node group, with the same degrees in all stages? Then it is priced as such.
 *
 * @param of_group  filled if it is, with `cluster`, to which it points
 */
bool plan_of_group(const plait_problem *problem, const plait_plan *plan, plait_problem *of_group,
                   plait_cluster *cluster);
