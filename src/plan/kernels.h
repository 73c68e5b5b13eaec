/* kernels.h - the kernels that a job asks of its accelerator, and whether it has them */
#ifndef KERNELS_H
#define KERNELS_H

#include "plait/job.h"

#include "reason.h"

/** Attention, the model's heads and its experts have kernels on the first accelerator of the job. */
bool plan_kernels_run(const plait_problem *problem, const plan_reason *why);

#endif
