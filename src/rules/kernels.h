/* kernels.h - the kernels that a plan needs, and whether its accelerator has them */
#pragma once

#include "plait/runtime.h"

#include "plan/reason.h"

/** Does the job's first accelerator have kernels for experts? */
bool plan_experts_run(const plait_problem *problem, const plan_reason *why);

/** Does the job's first accelerator have the plan's attention kernel, for the model's heads? */
bool plan_attention_runs(const plait_problem *problem, const plait_degrees *degrees,
                         const plan_reason *why);

/**
 * Do accelerator, software and rules allow the attention kernel with these degrees? Rules that the
 * degrees break with any kernel do not count.
 */
bool plan_attention_is_legal(const plait_problem *problem, const plait_degrees *degrees);
