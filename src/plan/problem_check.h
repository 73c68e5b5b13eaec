/* problem_check.h - is a problem complete and consistent? */
#pragma once

#include "plait/problem.h"

/**
 * The first check of every function that takes a problem and can fail. The struct must be of this
 * version, model, cluster and runtime consistent (problem_parts.h), the job within the bounds of
 * job.h, and its GPUs no more than were taken of the cluster. plan_check.h checks plans.
 */
PLAIT_MUST_CHECK plait_status problem_check(const plait_problem *problem, plait_error *err);

/** The first part of problem_check: is the struct of this version, and has it a model? */
PLAIT_MUST_CHECK plait_status problem_check_model(const plait_problem *problem, plait_error *err);
