/* fuzz_synthetic.c - any text as a synthetic cluster; what it accepts has the GPUs that it says */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "plait/cluster.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const plait_cluster *cluster)
{
    int gpus = 0;

    assert(cluster->groups >= 1 && cluster->groups <= PLAIT_MAX_NODE_GROUPS);
    for (int g = 0; g < cluster->groups; g++)
        gpus += cluster->group[g].nodes * cluster->group[g].gpus_per_node;
    for (int g = 0; g < cluster->groups; g++) {
        const plait_cluster alone = plait_cluster_of_group(cluster, g, 1);
        assert(alone.levels == 2 && (cluster->groups == 1 || cluster->group[g].nodes > 0));
    }
    assert(cluster->levels == 2);
    assert(cluster->gpus == gpus);
    assert(cluster->level[0].gpus >= 1 && cluster->level[0].gpus < cluster->level[1].gpus);
    assert(cluster->level[1].link.bytes_per_s > 0.0);
    if (gpus > 0)
        assert(plait_cluster_accelerator(cluster, gpus - 1) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_arena *arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    plait_cluster cluster;
    char *text;

    assert(arena != NULL);
    text = plait_arena_alloc(arena, size + 1, 1);
    assert(text != NULL);
    memcpy(text, data, size);
    // A path would make the fuzzer read any file of this machine, and "-" its standard input.
    if (strchr(text, '/') == NULL && strstr(text, ".json") == NULL && strcmp(text, "-") != 0) {
        if (plait_cluster_synthetic(text, arena, &cluster, &err) == PLAIT_OK)
            check(&cluster);
        else
            assert(err.status == PLAIT_ERROR_RANGE && err.message[0] != '\0');
    }
    plait_arena_free(arena);
    return 0;
}
