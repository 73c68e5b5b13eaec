/* library.c - cache of the models, clusters and runtimes that rows name */
#include "validate/library.h"

#include <string.h>

#include "io/data/data.h"
#include "base/status.h"
#include "io/runtime/runtime_file.h"

typedef enum item_kind {
    ITEM_CLUSTER,
    ITEM_ACCELERATOR,
    ITEM_RUNTIME,
    ITEM_MODEL,
    ITEM_KINDS
} item_kind;

typedef struct library_item {
    struct library_item *next;
    item_kind kind;
    const char *name;
    const void *value; /* NULL: loading failed with `err` */
    plait_error err;   /* valid if value is NULL */
} library_item;

static const size_t value_size[ITEM_KINDS] = {sizeof(plait_cluster), sizeof(plait_accelerator),
                                              sizeof(plait_runtime), sizeof(plait_model)};

static plait_status load_value(library *shelf, item_kind kind, const char *name, void *value,
                               plait_error *err)
{
    switch (kind) {
    case ITEM_CLUSTER:
        return plait_cluster_synthetic(name, shelf->arena, value, err);
    case ITEM_ACCELERATOR:
        return plait_accelerator_find(name, shelf->arena, value, err);
    case ITEM_RUNTIME:
        return runtime_find_of_run(name, shelf->arena, value, err);
    default:
        return plait_model_find(name, shelf->arena, value, NULL, err);
    }
}

static library_item *find_item(const library *shelf, item_kind kind, const char *name)
{
    library_item *item = shelf->first;

    while (item != NULL && (item->kind != kind || strcmp(item->name, name) != 0))
        item = item->next;
    return item;
}

static plait_status load_item(library *shelf, library_item *item)
{
    void *value = plait_arena_alloc(shelf->arena, 1, value_size[item->kind]);

    if (value == NULL)
        return plait_fail_nomem(&item->err);
    if (data_is_path(item->name)) // a cell of a table must not open other files
        return plait_fail(&item->err, PLAIT_ERROR_RANGE, item->name,
                          "expected a name, found a path");
    PLAIT_TRY(load_value(shelf, item->kind, item->name, value, &item->err));
    item->value = value;
    return PLAIT_OK;
}

static plait_status find_value(library *shelf, item_kind kind, const char *name, const void **out,
                               plait_error *err)
{
    library_item *item = find_item(shelf, kind, name);

    if (item == NULL) {
        item = plait_arena_alloc(shelf->arena, 1, sizeof *item);
        PLAIT_TRY(plait_check_allocated(item, err));
        *item = (library_item){
            .next = shelf->first, .kind = kind, .name = plait_arena_text(shelf->arena, name)};
        PLAIT_TRY(plait_check_allocated(item->name, err));
        PLAIT_TRY(faults_only(load_item(shelf, item), &item->err, err));
        shelf->first = item;
    }
    if (item->value == NULL)
        return plait_fail(err, item->err.status, item->err.where, "%s", item->err.message);
    *out = item->value;
    return PLAIT_OK;
}

plait_status library_cluster(library *shelf, const char *text, const plait_cluster **out,
                             plait_error *err)
{
    const void *value;

    PLAIT_TRY(find_value(shelf, ITEM_CLUSTER, text, &value, err));
    *out = value;
    return PLAIT_OK;
}

plait_status library_accelerator(library *shelf, const char *name, const plait_accelerator **out,
                                 plait_error *err)
{
    const void *value;

    PLAIT_TRY(find_value(shelf, ITEM_ACCELERATOR, name, &value, err));
    *out = value;
    return PLAIT_OK;
}

plait_status library_runtime(library *shelf, const char *name, const plait_runtime **out,
                             plait_error *err)
{
    const void *value;

    PLAIT_TRY(find_value(shelf, ITEM_RUNTIME, name, &value, err));
    *out = value;
    return PLAIT_OK;
}

plait_status library_model(library *shelf, const char *name, const plait_model **out,
                           plait_error *err)
{
    const void *value;

    PLAIT_TRY(find_value(shelf, ITEM_MODEL, name, &value, err));
    *out = value;
    return PLAIT_OK;
}

plait_status library_model_name(library *shelf, const char *name, const char **out,
                                plait_error *err)
{
    size_t count, longest = 0;

    *out = NULL;
    if (shelf->models == NULL)
        PLAIT_TRY(plait_data_list(PLAIT_DATA_MODELS, shelf->arena, &shelf->models, &count, err));
    for (const char *const *known = shelf->models; *known != NULL; known++) {
        const size_t length = strlen(*known);

        if (length > longest && strncmp(name, *known, length) == 0 &&
            (name[length] == '\0' || name[length] == '-')) {
            longest = length;
            *out = *known;
        }
    }
    return PLAIT_OK;
}

plait_status library_evidence(library *shelf, const plait_evidence **out, plait_error *err)
{
    plait_evidence *evidence = shelf->evidence;

    if (evidence == NULL) {
        evidence = plait_arena_alloc(shelf->arena, 1, sizeof *evidence);
        PLAIT_TRY(plait_check_allocated(evidence, err));
        PLAIT_TRY(plait_evidence_find(shelf->arena, evidence, err));
        shelf->evidence = evidence;
    }
    *out = evidence;
    return PLAIT_OK;
}
