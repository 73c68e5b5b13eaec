/* launcher.h - GPUs of a job: out of the options of SLURM, torchrun and DeepSpeed's launcher */
#pragma once

#include "launch/read/flags.h"

/**
 * GPUs that a launch takes: nodes times GPUs of a node, by options first and by variables of usual
 * names (NNODES, GPUS_PER_NODE) where no option says it. 0: not known.
 */
int launcher_gpus(const launch_flags *flags);
