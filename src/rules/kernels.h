/* kernels.h - the kernels that a plan needs, and whether its accelerator has them */
#pragma once

#include "plait/runtime.h"

#include "plan/reason.h"

/** Does the first accelerator of the job have kernels for experts? */
bool plan_experts_run(const plait_problem *problem, const plan_reason *why);

/** Does it have the plan's attention kernel, for the model's heads? */
bool plan_attention_runs(const plait_problem *problem, const plait_degrees *degrees,
                         const plan_reason *why);

/** Do software and rules also allow it with these degrees, if they allow the degrees without it? */
bool plan_attention_suits(const plait_problem *problem, const plait_degrees *degrees);
