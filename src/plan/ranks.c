/*
 * ranks.c - the ranks of each group, in the plan's axis order
 *
 * Example: 16 ranks, tp = 2, dp = 4, pp = 2, order tp-cp-dp-pp:
 *
 *     stage 0   0 1 | 2 3 | 4 5 | 6 7        tp groups {0,1} {2,3} ..   stride 1
 *     stage 1   8 9 | a b | c d | e f        dp groups {0,2,4,6} ..     stride 2
 *                                            pp groups {0,8} {1,9} ..   stride 8
 */
#include "plait/plan.h"

#include <stddef.h>

#include "plait/cluster.h"
#include "plait/model.h"

#include "base/saturating.h"

const char *const plait_axis_name[PLAIT_GROUPS + 1] = {
    "tp", "cp", "dp", "pp", "ep", "etp", "edp", NULL,
};

static const plait_axis orders[PLAIT_ORDERS][PLAIT_AXES] = {
    {PLAIT_AXIS_TP, PLAIT_AXIS_CP, PLAIT_AXIS_DP, PLAIT_AXIS_PP},
    {PLAIT_AXIS_TP, PLAIT_AXIS_CP, PLAIT_AXIS_PP, PLAIT_AXIS_DP},
};

const plait_axis *plait_order_axes(plait_order order)
{
    return (unsigned)order < PLAIT_ORDERS ? orders[order] : NULL;
}

// ---- physical axes -------------------------------------------------------------------------

/* Returns the next axis in the order that has more than one unit; -1: none. */
static int next_axis(const plait_level *level, const int *axes, int *at)
{
    while (*at < PLAIT_MAX_SIDES && level->side[axes[*at]] < 2)
        (*at)++;
    return *at < PLAIT_MAX_SIDES ? axes[(*at)++] : -1;
}

/* Returns whether two placements assign ranks to sides of the same lengths in the same order. */
static bool same_placing(const plait_level *level, plait_placement a, plait_placement b)
{
    int at = 0, bt = 0;

    for (;;) {
        const int x = next_axis(level, plait_placement_axes(a), &at);
        const int y = next_axis(level, plait_placement_axes(b), &bt);
        if (x < 0 || y < 0)
            return x == y;
        if (level->side[x] != level->side[y] || level->wrap[x] != level->wrap[y])
            return false;
    }
}

static bool placements_differ(const plait_cluster *cluster, plait_placement a, plait_placement b)
{
    for (int l = 0; l < cluster->levels; l++)
        if (plait_level_is_grid(&cluster->level[l]) && !same_placing(&cluster->level[l], a, b))
            return true;
    return false;
}

bool plait_placement_differs(const plait_cluster *cluster, plait_placement placement)
{
    if (placement == PLAIT_PLACEMENTS) {
        for (int p = 1; p < PLAIT_PLACEMENTS; p++)
            if (placements_differ(cluster, PLAIT_PLACE_XYZ, (plait_placement)p))
                return true;
        return false;
    }
    for (int p = 0; p < (int)placement; p++)
        if (!placements_differ(cluster, (plait_placement)p, placement))
            return false;
    return true;
}

// ---- groups --------------------------------------------------------------------------------

static int size_of(const plait_degrees *d, plait_axis axis)
{
    switch (axis) {
    case PLAIT_AXIS_TP:
        return d->tp;
    case PLAIT_AXIS_CP:
        return d->cp;
    case PLAIT_AXIS_DP:
        return d->dp;
    case PLAIT_AXIS_PP:
        return d->pp;
    default:
        return 1;
    }
}

static int stride_of(const plait_degrees *d, plait_axis axis)
{
    int stride = 1;

    for (const plait_axis *at = orders[d->order]; *at != axis; at++)
        stride = saturating_mul(stride, size_of(d, *at));
    return stride;
}

static plait_group_shape single_run(const plait_degrees *d, int size, int stride)
{
    return (plait_group_shape){
        .ranks = size, .runs = 1, .run = {{size, stride}}, .placement = d->placement};
}

/*
 * Converts a group inside one stage to ranks of the whole plan. `size` and `stride` count only
 * ranks of the stage. If pp is between cp and dp in the axis order, a stage consists of blocks of
 * tp * cp ranks at distances of pp blocks.
 */
static plait_group_shape stage_run(const plait_degrees *d, int size, int stride)
{
    const int block = saturating_mul(d->tp, d->cp);

    if (d->order != PLAIT_ORDER_TP_CP_PP_DP || d->pp == 1 || (int64_t)size * stride <= block)
        return single_run(d, size, stride);
    if (stride >= block)
        return single_run(d, size, saturating_mul(stride, d->pp));
    const int inside = block / stride;
    return (plait_group_shape){
        .ranks = size,
        .runs = 2,
        .run = {{inside, stride}, {size / inside, saturating_mul(block, d->pp)}},
        .placement = d->placement,
    };
}

/* For any tp and cp, expert groups lie in the ranks of one stage, with etp innermost. */
plait_group_shape plait_group_of(const plait_degrees *d, plait_axis axis)
{
    const int each = saturating_mul(d->etp, d->ep);
    const int replicas = each > 0 ? saturating_mul(saturating_mul(d->tp, d->cp), d->dp) / each : 0;

    switch (axis) {
    case PLAIT_AXIS_ETP:
        return stage_run(d, d->etp, 1);
    case PLAIT_AXIS_EP:
        return stage_run(d, d->ep, d->etp);
    case PLAIT_AXIS_EDP:
        return stage_run(d, replicas > 0 ? replicas : 1, each);
    default:
        return single_run(d, size_of(d, axis), stride_of(d, axis));
    }
}

plait_group_shape plait_group_replicas(const plait_degrees *d)
{
    const int cp_stride = stride_of(d, PLAIT_AXIS_CP);
    const int dp_stride = stride_of(d, PLAIT_AXIS_DP);

    if (dp_stride == saturating_mul(cp_stride, d->cp))
        return single_run(d, saturating_mul(d->cp, d->dp), cp_stride);
    return (plait_group_shape){
        .ranks = saturating_mul(d->cp, d->dp),
        .runs = 2,
        .run = {{d->cp, cp_stride}, {d->dp, dp_stride}},
        .placement = d->placement,
    };
}

static bool heads_divide(const plait_layer *layer, int tp, int ranks)
{
    const int kv_heads = layer->attention.kv_heads > tp ? layer->attention.kv_heads / tp : 1;

    switch (layer->mixer) {
    case PLAIT_MIXER_ATTENTION:
        return layer->attention.heads / tp % ranks == 0 && kv_heads % ranks == 0;
    case PLAIT_MIXER_MLA:
        return layer->mla.heads / tp % ranks == 0;
    default:
        return true;
    }
}

int plait_context_inner(const plait_problem *problem, int tp, int cp)
{
    const int domain = problem->cluster->level[0].gpus;

    for (int ranks = cp / 2; ranks > 1; ranks--) {
        bool divides = cp % ranks == 0 && (int64_t)ranks * tp <= domain;
        for (int k = 0; divides && k < problem->model->kinds; k++)
            divides = heads_divide(&problem->model->kind[k], tp, ranks);
        if (divides)
            return ranks;
    }
    return 1;
}

int plait_expert_shard_group(const plait_degrees *d)
{
    const int experts = plait_group_of(d, PLAIT_AXIS_EDP).ranks;
    const int instances = saturating_mul(d->dp, d->cp) / d->shard_group;
    int ways = experts / instances > 1 ? experts / instances : 1;

    while (experts % ways != 0)
        ways--;
    return ways;
}

/*
 * Splits a group into inner groups of `ranks` members, and the outer group of one member of each
 * inner group. A run that contains the boundary is split between `inner` and `outer`.
 */
static void split_group(const plait_group_shape *group, int ranks, plait_group_shape *inner,
                        plait_group_shape *outer)
{
    int wanted = ranks;

    *inner = (plait_group_shape){.ranks = ranks, .placement = group->placement};
    *outer = (plait_group_shape){.ranks = group->ranks / ranks, .placement = group->placement};
    for (int r = 0; r < group->runs; r++) {
        const int size = group->run[r].size;
        const int stride = group->run[r].stride;
        const int taken = size < wanted ? size : wanted;
        if (taken > 1) {
            inner->run[inner->runs].size = taken;
            inner->run[inner->runs++].stride = stride;
        }
        if (size / taken > 1) {
            outer->run[outer->runs].size = size / taken;
            outer->run[outer->runs++].stride = stride * taken;
        }
        wanted = (wanted + taken - 1) / taken;
    }
}

plait_group_shape plait_group_inner(plait_group_shape group, int ranks)
{
    plait_group_shape inner, outer;

    split_group(&group, ranks, &inner, &outer);
    return inner;
}

plait_group_shape plait_group_outer(plait_group_shape group, int ranks)
{
    plait_group_shape inner, outer;

    split_group(&group, ranks, &inner, &outer);
    return outer;
}
