/* deepspeed_parts.h - what a launch by DeepSpeed's pipeline engine is made of, beside ds_config.json */
#pragma once

#include "launch/write/args.h"
#include "launch/target.h"

/** Append the arguments of Megatron-DeepSpeed's pretrain_gpt.py, in groups. */
void deepspeed_args_append(const plait_launch *launch, launch_args *out);

/** partition.py, which deals the layers of a PipelineModule; NULL when out of memory. */
const char *deepspeed_partition(const plait_launch *launch, plait_arena *arena);
