/* heterogeneous.h - plans whose stages differ */
#pragma once

#include "plait/plan.h"
#include "plait/runtime.h"

/** Number of GPUs of a stage. */
int stage_gpus(const plait_stage *stage);

/**
 * Does a plan use one node group, with the same degrees in all stages? It is then priced as a
 * uniform plan.
 *
 * @param of_group  if true, filled with the problem of that group, which points to *cluster
 * @param cluster   if true, filled with the group alone
 */
bool plan_of_group(const plait_problem *problem, const plait_plan *plan, plait_problem *of_group,
                   plait_cluster *cluster);
