/* kernels.h - checks that the accelerator of a plan has the kernels that the plan needs */
#pragma once

#include "plait/runtime.h"

#include "plan/reason.h"

/** Returns whether the job's first accelerator has kernels for experts. */
bool plan_experts_run(const plait_problem *problem, const plan_reason *why);

/**
 * Returns whether the job's first accelerator has the plan's attention kernel for the model's
 * heads.
 */
bool plan_attention_runs(const plait_problem *problem, const plait_degrees *degrees,
                         const plan_reason *why);

/** Returns whether the kernels and graphs of the plan's switches exist for model and job. */
bool plan_switches_run(const plait_problem *problem, const plait_degrees *degrees,
                       const plan_reason *why);

/**
 * Returns whether accelerator, software and rules allow the attention kernel with these degrees.
 * Rules that the degrees break with every kernel do not count.
 */
bool plan_attention_is_legal(const plait_problem *problem, const plait_degrees *degrees);
