/* cluster_groups.c - groups of nodes with links of their own, and groups that are one */
#include <string.h>

#include "io/cluster/cluster_private.h"

plait_status cluster_group_links(plait_arena *arena, int levels, const plait_level *level,
                                 plait_node_group *group, plait_error *err)
{
    plait_level *const own = plait_arena_alloc(arena, (size_t)levels, sizeof *own);

    if (own == NULL)
        return plait_fail_nomem(err);
    memcpy(own, level, (size_t)levels * sizeof *own);
    group->levels = levels;
    group->level = own;
    return PLAIT_OK;
}

/* Groups h and those before it that it is of one sort with. */
static int group_like(const plait_cluster *cluster, int h)
{
    for (int g = 0; g < h; g++)
        if (cluster->group[g].nodes > 0 && cluster->group[h].nodes > 0 &&
            plait_cluster_alike(cluster, g, h))
            return g;
    return h;
}

void cluster_merge_groups(plait_cluster *cluster)
{
    int kept = 1;

    for (int h = 1; h < cluster->groups; h++) {
        cluster->group[kept] = cluster->group[h];
        const int like = group_like(cluster, kept);
        if (like == kept)
            kept++;
        else
            cluster->group[like].nodes += cluster->group[kept].nodes;
    }
    cluster->groups = kept;
    if (kept > 1 || cluster->group[0].levels == 0)
        return;
    cluster->levels = cluster->group[0].levels; // one sort: its links are the cluster's
    memcpy(cluster->level, cluster->group[0].level,
           (size_t)cluster->levels * sizeof *cluster->level);
    cluster->group[0].levels = 0;
    cluster->group[0].level = NULL;
}
