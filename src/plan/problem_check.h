/* problem_check.h - is a question one that can be asked? */
#pragma once

#include "plait/problem.h"

/**
 * What every function that takes a problem and can fail asks of it first: a struct of this version, a
 * model, cluster and runtime that hold together (problem_parts.h), a job within the bounds of job.h, and
 * no more GPUs than were taken of the cluster. What a plan decides is plan_check's.
 */
PLAIT_MUST_CHECK plait_status problem_check(const plait_problem *problem, plait_error *err);

/** The first part of it: a struct of this version, with a model. */
PLAIT_MUST_CHECK plait_status problem_check_model(const plait_problem *problem, plait_error *err);
