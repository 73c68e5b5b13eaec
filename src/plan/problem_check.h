/* problem_check.h - checks that a problem is complete and consistent */
#pragma once

#include "plait/problem.h"

/**
 * Checks a problem: the first check of every function that takes a problem and can fail. The struct
 * must be of this version. Model, cluster and runtime must be consistent (problem_parts.h). The job
 * must be within the bounds of job.h and must not have more GPUs than the cluster. plan_check.h
 * checks plans.
 */
PLAIT_MUST_CHECK plait_status problem_check(const plait_problem *problem, plait_error *err);

/** Does the first part of problem_check: the struct must be of this version and have a model. */
PLAIT_MUST_CHECK plait_status problem_check_model(const plait_problem *problem, plait_error *err);
