/*
 * plan_check.h - the legality of a plan in three steps, for a search that fixes its keys in order
 *
 * plait_degrees_check asks all three. Each step looks at the keys of the steps before it too.
 */
#ifndef PLAN_CHECK_H
#define PLAN_CHECK_H

#include "plait/runtime.h"

/** tp cp cp_comm sp ep etp: do they divide the layers, does kernel and number format exist? */
bool plan_layers_legal(const plait_problem *problem, const plait_degrees *degrees);

/** pp dp mbs schedule order zero shard_group grad_sync: ranks, batch, what the software takes. */
bool plan_ranks_legal(const plait_problem *problem, const plait_degrees *degrees);

/** vpp split: does every stage get its layers? */
bool plan_stages_legal(const plait_problem *problem, const plait_degrees *degrees);

#endif
