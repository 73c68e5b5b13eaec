/*
 * cluster_find.c - finds a cluster by its name, a number of GPUs and a name, or the text of a
 * synthetic cluster
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "io/cluster/cluster_file.h"
#include "io/data/data.h"

/*
 * Returns whether a text describes a synthetic cluster, as in "h100-80gb-sxm:64x8", which has a
 * colon after the last '/'.
 */
static bool is_synthetic(const char *text)
{
    const char *slash = strrchr(text, '/');
    const char *colon = strrchr(text, ':');

    return colon != NULL && (slash == NULL || colon > slash);
}

static plait_status find_nodes(const char *name, plait_arena *arena, plait_cluster *out,
                               plait_error *err)
{
    const char *path = NULL, *accelerator = NULL;

    if (!data_is_path(name)) {
        PLAIT_TRY(data_look_up(PLAIT_DATA_CLUSTERS, name, arena, &path, err));
        PLAIT_TRY(data_look_up(PLAIT_DATA_ACCELERATORS, name, arena, &accelerator, err));
        if (path == NULL && accelerator == NULL) {
            PLAIT_TRY(data_look_up_alias(PLAIT_DATA_CLUSTERS, name, arena, &path, err));
            PLAIT_TRY(data_look_up_alias(PLAIT_DATA_ACCELERATORS, name, arena, &accelerator, err));
        }
        if (path == NULL && accelerator != NULL)
            return plait_cluster_synthetic(name, arena, out, err);
    }
    if (path == NULL)
        PLAIT_TRY(plait_data_find(PLAIT_DATA_CLUSTERS, name, arena, &path, err));
    return plait_cluster_load(path, arena, out, err);
}

/*
 * Cuts a count such as "8x" off the front of the text and returns the number; 0 if the text does
 * not begin with a count, -1 if the number is out of range.
 */
static int cut_count(const char **text)
{
    char *end;
    const long count = strtol(*text, &end, 10);

    if (end == *text || text_lower(*end) != 'x' || end[1] == '\0')
        return 0;
    *text = end + 1;
    return count >= 1 && count <= CLUSTER_MAX_GPUS ? (int)count : -1;
}

/* Finds 8xH100, which is 8 GPUs, or 2x8xH100, which is 2 nodes of 8 GPUs. */
static plait_status find_counted(const char *text, plait_arena *arena, plait_cluster *out,
                                 plait_error *err)
{
    const char *name = text;
    const int count = cut_count(&name), node = count != 0 ? cut_count(&name) : 0;
    plait_error inner;

    PLAIT_TRY(find_nodes(name, arena, out, err));
    if (count == 0)
        return PLAIT_OK;
    if (node > 0 && node != out->group[0].gpus_per_node)
        return plait_fail(err, PLAIT_ERROR_RANGE, text,
                          "expected nodes of %d GPUs, as in %s, found %d; use %s:%dx%d",
                          out->group[0].gpus_per_node, out->name, node,
                          out->group[0].accelerator->name, count, node);
    if (count < 0 || node < 0 || (int64_t)count * (node > 0 ? node : 1) > CLUSTER_MAX_GPUS)
        return plait_fail(err, PLAIT_ERROR_RANGE, text, "expected 1 to %d GPUs, found %.*s",
                          CLUSTER_MAX_GPUS, (int)(name - text - 1), text);
    if (plait_cluster_take(out, node > 0 ? count * node : count, &inner) != PLAIT_OK)
        return plait_fail(err, inner.status, text, "%s", inner.message);
    return PLAIT_OK;
}

plait_status plait_cluster_find(const char *text, plait_arena *arena, plait_cluster *out,
                                plait_error *err)
{
    const char *path;

    if (text == NULL)
        return plait_data_find(PLAIT_DATA_CLUSTERS, text, arena, &path, err);
    if (is_synthetic(text))
        return plait_cluster_synthetic(text, arena, out, err);
    return data_is_path(text) ? find_nodes(text, arena, out, err)
                              : find_counted(text, arena, out, err);
}
