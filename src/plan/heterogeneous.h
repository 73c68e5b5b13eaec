/* heterogeneous.h - plans whose stages differ */
#pragma once

#include "plait/plan.h"
#include "plait/runtime.h"

/** Returns the number of GPUs of a stage. */
int stage_gpus(const plait_stage *stage);

/**
 * Returns whether a plan uses one node group, with the same degrees in all stages. Such a plan is
 * priced as a uniform plan.
 *
 * @param of_group  out, set if the result is true: the problem of the group, which points to
 *                  *cluster
 * @param cluster   out, set if the result is true: the group alone
 */
bool plan_of_group(const plait_problem *problem, const plait_plan *plan, plait_problem *of_group,
                   plait_cluster *cluster);
