/* kernels.h - the kernels that a plan asks of its accelerator, and whether it has them */
#pragma once

#include "plait/runtime.h"

#include "plan/reason.h"

/** Experts have kernels on the first accelerator of the job. */
bool plan_experts_run(const plait_problem *problem, const plan_reason *why);

/** The plan's attention has one there, for the model's heads. */
bool plan_attention_runs(const plait_problem *problem, const plait_degrees *degrees,
                         const plan_reason *why);

/** And software and rules take it beside these degrees: what holds without it does with it. */
bool plan_attention_suits(const plait_problem *problem, const plait_degrees *degrees);
