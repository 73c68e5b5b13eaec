/*
 * companion.h - process groups with their ranks, and definitions shared by writer and reader of
 * launch.json
 */
#pragma once

#include "io/json/json_write.h"
#include "plait/plan.h"
#include "io/plans/plans.h"

/** Kinds of process groups: name of the kind, and what the members of a group share or exchange. */
#define LAUNCH_GROUPS(X)                                                                           \
    X(tp, "tensor parallelism")                                                                    \
    X(cp, "context parallelism")                                                                   \
    X(dp, "data parallelism")                                                                      \
    X(pp, "one rank per stage, first to last")                                                     \
    X(ep, "expert parallelism")                                                                    \
    X(etp, "tensor parallelism inside an expert")                                                  \
    X(edp, "replicas of one expert shard")                                                         \
    X(replicas, "replicas of a dense parameter: dp and cp together")                               \
    X(shard, "ranks that one ZeRO shard of dense parameters is spread over")                       \
    X(shard_replicas, "ranks with the same shard")                                                 \
    X(expert_shard, "ranks that one ZeRO shard of expert parameters is spread over")               \
    X(expert_shard_replicas, "ranks with the same expert shard")                                   \
    X(stage, "all ranks of a pipeline stage")                                                      \
    X(embedding, "first and last stage, which both hold a tied embedding")

typedef enum launch_group {
#define X(name, what) LAUNCH_GROUP_##name,
    LAUNCH_GROUPS(X)
#undef X
        LAUNCH_GROUP_KINDS
} launch_group;

extern const char *const launch_group_name[LAUNCH_GROUP_KINDS + 1];

/** Most ranks of a plan whose groups are listed. */
enum { LAUNCH_MAX_RANKS = 1 << 18 };

/** All groups of one kind, in the order of their lowest ranks. */
typedef struct launch_group_list {
    int groups;
    int ranks;       /* ranks of one group */
    const int *rank; /* [groups * ranks], group after group */
} launch_group_list;

/**
 * List the ranks of all groups of a kind.
 *
 * @param degrees  only tp, cp, dp, pp, ep, etp, shard_group and order are used; etp ep must divide
 *                 tp cp dp, and shard_group must divide dp cp
 * @param out      lives in `arena`
 *
 * Fails (RANGE) if the groups do not partition the ranks, which happens if a ZeRO shard ends inside
 * a cp group while the order of ranks has the stages between cp and dp.
 */
PLAIT_MUST_CHECK plait_status launch_groups(const plait_degrees *degrees, launch_group kind,
                                            plait_arena *arena, launch_group_list *out,
                                            plait_error *err);

#define COMPANION_FORMAT "plait-launch"

enum {
    COMPANION_VERSION = 1,
    COMPANION_MAX_ACTIONS = 65536 /* most actions of a schedule that are written out one by one */
};

/**
 * Write the members that follow from the model, the job and the degrees alone: "degrees", "groups",
 * "stages", "layers", "schedule". The reader writes the same text and compares a file with it.
 *
 * @param problem  only its model, its job and the runtime's name are used
 */
PLAIT_MUST_CHECK plait_status companion_write_plan(json_writer *json, const plait_problem *problem,
                                                   const plait_plan *plan, plait_arena *arena,
                                                   plait_error *err);
