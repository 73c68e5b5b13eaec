/* batch_hint.h - a batch near the one asked for that more replicas divide */
#pragma once

#include "plait/job.h"

/**
 * Warn of a batch that binds the data parallelism of the best plan, and name the nearest one that does
 * not: 1000 sequences share only 8 with 512 GPUs, 1024 share 512.
 *
 * @param dp  that of the best plan; 0: there is no plan
 */
void batch_hint(const plait_job *job, int dp);
