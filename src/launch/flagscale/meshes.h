/* meshes.h - what FlagScale alone says of stages, as Megatron-LM's arguments */
#ifndef MESHES_H
#define MESHES_H

#include "flags.h"

/**
 * Put process meshes and layers of stages into flags of Megatron-LM.
 *
 * @param own  FlagScale's: enable_hetero, hetero_process_meshes, ...
 *
 * Fails (RANGE) on meshes of unlike degrees, and on lists that are not as long as they should be.
 */
PLAIT_MUST_CHECK plait_status flagscale_read_meshes(const launch_flags *own, launch_flags *flags,
                                                    plait_error *err);

/** The same of recompute_..._per_stage_micro_batch; fails (RANGE) where it is not one for all stages. */
PLAIT_MUST_CHECK plait_status flagscale_read_recompute(const launch_flags *own, launch_flags *flags,
                                                       plait_error *err);

#endif
