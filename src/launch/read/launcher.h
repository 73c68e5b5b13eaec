/* launcher.h - the GPUs of a job, out of the options of SLURM, torchrun and DeepSpeed's launcher */
#pragma once

#include "launch/read/flags.h"

/**
 * GPUs of a launch: nodes times GPUs per node, from options, else from variables with usual names
 * (NNODES, GPUS_PER_NODE). 0: not known.
 */
int launcher_gpus(const launch_flags *flags);
