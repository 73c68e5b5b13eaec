/* rank_groups.c - process groups with their ranks spelled out */
#include "launch/companion/rank_groups.h"

#include <assert.h>
#include <stddef.h>

const char *const launch_group_name[LAUNCH_GROUP_KINDS + 1] = {
#define X(name, what) #name,
    LAUNCH_GROUPS(X)
#undef X
        NULL,
};

/* The shape of one stage: tp, cp and dp, each one run of ranks. */
static plait_group_shape stage_shape(const plait_degrees *d)
{
    static const plait_axis axes[] = {PLAIT_AXIS_TP, PLAIT_AXIS_CP, PLAIT_AXIS_DP};
    plait_group_shape stage = {.ranks = d->tp * d->cp * d->dp, .runs = 3};

    for (int a = 0; a < 3; a++)
        stage.run[a] = plait_group_of(d, axes[a]).run[0];
    return stage;
}

static plait_group_shape shape_of(const plait_degrees *d, launch_group kind)
{
    switch (kind) {
    case LAUNCH_GROUP_tp:
        return plait_group_of(d, PLAIT_AXIS_TP);
    case LAUNCH_GROUP_cp:
        return plait_group_of(d, PLAIT_AXIS_CP);
    case LAUNCH_GROUP_dp:
        return plait_group_of(d, PLAIT_AXIS_DP);
    case LAUNCH_GROUP_ep:
        return plait_group_of(d, PLAIT_AXIS_EP);
    case LAUNCH_GROUP_etp:
        return plait_group_of(d, PLAIT_AXIS_ETP);
    case LAUNCH_GROUP_edp:
        return plait_group_of(d, PLAIT_AXIS_EDP);
    case LAUNCH_GROUP_replicas:
        return plait_group_replicas(d);
    case LAUNCH_GROUP_shard:
        return plait_group_inner(plait_group_replicas(d), d->shard_group);
    case LAUNCH_GROUP_shard_replicas:
        return plait_group_outer(plait_group_replicas(d), d->shard_group);
    case LAUNCH_GROUP_expert_shard:
        return plait_group_inner(plait_group_of(d, PLAIT_AXIS_EDP), plait_expert_shard_group(d));
    case LAUNCH_GROUP_expert_shard_replicas:
        return plait_group_outer(plait_group_of(d, PLAIT_AXIS_EDP), plait_expert_shard_group(d));
    case LAUNCH_GROUP_stage:
        return stage_shape(d);
    case LAUNCH_GROUP_pp:
    case LAUNCH_GROUP_embedding: /* made below of the pipelines' ends */
    case LAUNCH_GROUP_KINDS:
        break;
    }
    return plait_group_of(d, PLAIT_AXIS_PP);
}

/*
 * Take the members of the group that begins at `first`; false if one is out of range or in another
 * group.
 */
static bool take_group(const plait_group_shape *shape, int first, int world, bool *taken, int *rank)
{
    int count = 1;

    rank[0] = first;
    for (int r = 0; r < shape->runs; r++) {
        const int before = count;
        for (int i = 1; i < shape->run[r].size; i++)
            for (int k = 0; k < before; k++, count++) {
                const int64_t member = rank[k] + (int64_t)i * shape->run[r].stride;
                if (count == shape->ranks || member >= world)
                    return false;
                rank[count] = (int)member;
            }
    }
    for (int i = 0; i < count; i++) {
        if (taken[rank[i]])
            return false;
        taken[rank[i]] = true;
    }
    return count == shape->ranks;
}

plait_status launch_groups(const plait_degrees *d, launch_group kind, plait_arena *arena,
                           launch_group_list *out, plait_error *err)
{
    const plait_group_shape shape = shape_of(d, kind);
    const int world = d->tp * d->cp * d->dp * d->pp;
    bool *const taken = plait_arena_alloc(arena, (size_t)world, sizeof *taken);
    int *const rank = plait_arena_alloc(arena, (size_t)world, sizeof *rank);

    assert(world >= 1 && world <= LAUNCH_MAX_RANKS);
    PLAIT_TRY(plait_check_allocated(taken && rank, err));
    *out = (launch_group_list){.ranks = shape.ranks, .rank = rank};
    for (int first = 0; first < world; first++) {
        if (taken[first])
            continue;
        if ((out->groups + 1) * shape.ranks > world ||
            !take_group(&shape, first, world, taken,
                        rank + (size_t)out->groups * (size_t)shape.ranks))
            return plait_fail(
                err, PLAIT_ERROR_RANGE, "plan",
                "expected %s groups that partition %d ranks, found overlapping groups of %d",
                launch_group_name[kind], world, shape.ranks);
        out->groups++;
    }
    if (kind == LAUNCH_GROUP_embedding) {
        // the first and the last rank of each pipeline
        const int ends = out->ranks > 1 ? 2 : 1;

        for (int g = 0; g < out->groups; g++) {
            rank[g * ends + ends - 1] = out->rank[g * out->ranks + out->ranks - 1];
            rank[g * ends] = out->rank[g * out->ranks];
        }
        out->ranks = ends;
    }
    return PLAIT_OK;
}
