/* find.c - a model, cluster, accelerator or runtime by its name */
#include "plait/data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "data_private.h"
#include "file.h"
#include "runtime_variant.h"

const char *data_named_in(const char *file, const char *name, plait_arena *arena)
{
    return data_is_path(name) ? file_beside(file, name, arena) : name;
}

plait_status plait_model_find(const char *name, plait_arena *arena, plait_model *out,
                              const char **warning, plait_error *err)
{
    const char *path;

    PLAIT_TRY(plait_data_find(PLAIT_DATA_MODELS, name, arena, &path, err));
    return plait_model_load(path, arena, out, warning, err);
}

plait_status plait_accelerator_find(const char *name, plait_arena *arena, plait_accelerator *out,
                                    plait_error *err)
{
    const char *path;

    PLAIT_TRY(plait_data_find(PLAIT_DATA_ACCELERATORS, name, arena, &path, err));
    return plait_accelerator_load(path, arena, out, err);
}

/* A plan that is read back elsewhere finds the same file. */
static plait_status absolute_path(const char *path, plait_arena *arena, const char **out,
                                  plait_error *err)
{
    char *const whole = realpath(path, NULL);

    if (whole == NULL && errno == ENOMEM)
        return plait_fail_nomem(err);
    *out = plait_arena_text(arena, whole != NULL ? whole : path);
    free(whole);
    return *out != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

const runtime_alias *runtime_alias_find(const char *name)
{
    static const runtime_alias aliases[] = {
        {"megatron-no-overlap", "megatron", PLAIT_SYNC_SHIFTED},
    };

    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(name, aliases[i].name) == 0)
            return &aliases[i];
    return NULL;
}

static plait_status find_profile(const char *name, const char *software, const char *when,
                                 plait_arena *arena, plait_runtime *out, plait_error *err)
{
    const char *path;

    if (when != NULL)
        return runtime_find_dated(software, when, arena, out, err);
    PLAIT_TRY(plait_data_find(PLAIT_DATA_RUNTIMES, software, arena, &path, err));
    PLAIT_TRY(plait_runtime_load(path, arena, out, err));
    return data_is_path(name) ? absolute_path(path, arena, &out->file, err) : PLAIT_OK;
}

plait_status plait_runtime_find(const char *name, plait_arena *arena, plait_runtime *out,
                                plait_error *err)
{
    const char *path, *software, *when;

    if (name == NULL)
        return plait_data_find(PLAIT_DATA_RUNTIMES, name, arena, &path, err);
    PLAIT_TRY(runtime_split(name, arena, &software, &when, err));

    const runtime_alias *const alias = runtime_alias_find(software);
    if (alias == NULL)
        return find_profile(name, software, when, arena, out, err);
    PLAIT_TRY(find_profile(name, alias->runtime, when, arena, out, err));
    out->can.takes[PLAIT_KEY_GRAD_SYNC] = 1U << alias->grad_sync;
    out->defaults.key[PLAIT_KEY_GRAD_SYNC] = (int)alias->grad_sync;
    return PLAIT_OK;
}

/* "h100-80gb-sxm:64x8" has a colon where a path has none: behind the last '/'. */
static bool is_synthetic(const char *text)
{
    const char *slash = strrchr(text, '/');
    const char *colon = strrchr(text, ':');

    return colon != NULL && (slash == NULL || colon > slash);
}

plait_status plait_cluster_find(const char *text, plait_arena *arena, plait_cluster *out,
                                plait_error *err)
{
    const char *path = NULL;

    if (text == NULL)
        return plait_data_find(PLAIT_DATA_CLUSTERS, text, arena, &path, err);
    if (is_synthetic(text))
        return plait_cluster_synthetic(text, arena, out, err);
    if (!data_is_path(text)) {
        const char *accelerator;

        PLAIT_TRY(data_look_up(PLAIT_DATA_CLUSTERS, text, arena, &path, err));
        PLAIT_TRY(data_look_up(PLAIT_DATA_ACCELERATORS, text, arena, &accelerator, err));
        if (path == NULL && accelerator != NULL)
            return plait_cluster_synthetic(text, arena, out, err);
    }
    if (path == NULL)
        PLAIT_TRY(plait_data_find(PLAIT_DATA_CLUSTERS, text, arena, &path, err));
    return plait_cluster_load(path, arena, out, err);
}
