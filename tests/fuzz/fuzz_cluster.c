/* fuzz_cluster.c - any bytes as a cluster file; of what it accepts a job can take GPUs */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "plait/cluster.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(plait_cluster *cluster)
{
    plait_error err;

    assert(cluster->groups >= 1 && cluster->groups <= PLAIT_MAX_NODE_GROUPS);
    assert(cluster->levels >= 1 && cluster->levels <= PLAIT_MAX_LEVELS);
    for (int l = 0; l < cluster->levels; l++) {
        assert(cluster->level[l].link.bytes_per_s > 0.0);
        assert(cluster->level[l].efficiency > 0.0 && cluster->level[l].oversubscription >= 1.0);
        assert(l == 0 || cluster->level[l].gpus > cluster->level[l - 1].gpus);
    }
    if (cluster->gpus > 0)
        assert(plait_cluster_accelerator(cluster, cluster->gpus - 1) != NULL);
    assert(plait_cluster_take(cluster, 1, &err) == PLAIT_OK);
    assert(plait_cluster_accelerator(cluster, 0) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_arena *arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    plait_cluster cluster;

    assert(arena != NULL);
    if (plait_cluster_parse((const char *)data, size, "input", arena, &cluster, &err) == PLAIT_OK)
        check(&cluster);
    else
        assert(err.status != PLAIT_OK && err.message[0] != '\0');
    plait_arena_free(arena);
    return 0;
}
