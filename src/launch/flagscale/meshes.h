/* meshes.h - what FlagScale alone says of stages, as Megatron-LM's arguments */
#pragma once

#include "launch/read/flags.h"
#include "io/plans/plans.h"

/** What stages have of their own where meshes are unlike. */
typedef struct refined_meshes {
    int stages;         /* 0: all are alike */
    plait_degrees *own; /* [stages]: tp, cp, ep, dp and etp */
    int *group;         /* [stages]: device types in the order in which they are first named */
    int gpus;           /* of all meshes */
    bool sp;            /* where tp > 1, which the first mesh may not have */
} refined_meshes;

/**
 * Put the first process mesh and the layers of stages into flags of Megatron-LM.
 *
 * @param own  FlagScale's: enable_hetero, hetero_process_meshes, ...
 * @param out  receives what other meshes have that the first has not
 *
 * Fails (RANGE) on meshes of unlike cp, and on lists that are not as long as they should be.
 */
PLAIT_MUST_CHECK plait_status flagscale_read_meshes(const launch_flags *own, launch_flags *flags,
                                                    refined_meshes *out, plait_error *err);

/** Give the stages of a plan what they have of their own; `name` is the file's. */
PLAIT_MUST_CHECK plait_status flagscale_give_meshes(const refined_meshes *refined, const char *name,
                                                    plait_arena *arena, plans_entry *out,
                                                    plait_error *err);

/** What stages recompute of their own. */
typedef struct refined_recompute {
    int stages;  /* with their chunks; 0: all as the flags say */
    int *layers; /* of each the first ones that are run again whole */
} refined_recompute;

/** recompute_..._per_stage_micro_batch: into the flags where all stages are alike, else into *out. */
PLAIT_MUST_CHECK plait_status flagscale_read_recompute(const launch_flags *own, launch_flags *flags,
                                                       refined_recompute *out, plait_error *err);

/** List the stages of a plan that recompute differently; `name` is the file's. */
PLAIT_MUST_CHECK plait_status flagscale_give_recompute(const refined_recompute *refined,
                                                       const char *name, plait_arena *arena,
                                                       plans_entry *out, plait_error *err);
