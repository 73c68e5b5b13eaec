/*
 * fuzz_plans.c - any bytes through the readers of plans; accepted plans have keys, and can be written
 */
#undef NDEBUG
#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "io/cluster/cluster_file.h"
#include "io/model/model_file.h"
#include "io/plans/plans.h"
#include "support/memory_file.h"
#include "support/same_numerics.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Every key has a text, and setting that text again changes nothing; but a layout that stages say by
 * their chunks may be none, which a price refuses.
 */
static void check_degrees(const plait_degrees *degrees)
{
    plait_degrees copy = *degrees;
    char text[128];
    plait_error err;

    for (int k = 0; k < PLAIT_KEYS; k++) {
        plait_degrees_get(degrees, (plait_key_id)k, text, sizeof text);
        assert(text[0] != '\0');
        if (k == PLAIT_KEY_SPLIT && degrees->split.kind == PLAIT_SPLIT_LAYOUT)
            continue;
        assert(plait_degrees_set(&copy, plait_keys[k].name, text, &err) == PLAIT_OK);
        assert(plait_key_same(&copy, degrees, (plait_key_id)k));
    }
}

/* A model or a cluster that was read can be written and read again. */
static void check_model(const plait_model *model, plait_arena *arena)
{
    json_writer json;
    plait_model again;
    const char *text;
    size_t length;
    plait_error err;

    json_writer_init(&json, arena);
    model_write(&json, model);
    assert(json_writer_finish(&json, &text, &length, &err) == PLAIT_OK);
    assert(plait_model_parse(text, length, "again", arena, &again, NULL, &err) == PLAIT_OK);
    assert(again.layers == model->layers && again.kinds == model->kinds);
    assert(memcmp(again.layer_kind, model->layer_kind, (size_t)model->layers) == 0);
    assert(numerics_difference(&again.numerics, &model->numerics) == NULL);
}

static void check_cluster(const plait_cluster *cluster, plait_arena *arena)
{
    json_writer json;
    plait_cluster again;
    const char *text;
    size_t length;
    plait_error err;

    json_writer_init(&json, arena);
    cluster_write(&json, cluster);
    assert(json_writer_finish(&json, &text, &length, &err) == PLAIT_OK);
    assert(plait_cluster_parse(text, length, "again", arena, &again, &err) == PLAIT_OK);
    assert(again.levels == cluster->levels && again.groups == cluster->groups);
}

static void check_list(const char *path, const char *key, plait_arena *arena)
{
    plait_error err = {PLAIT_OK, "", ""};
    const plans_entry *entry;
    int count;

    if (plans_load_list(path, key, arena, &entry, &count, &err) != PLAIT_OK) {
        assert(err.message[0] != '\0');
        return;
    }
    for (int i = 0; i < count; i++) {
        assert(entry[i].rank >= 1 && entry[i].where != NULL);
        check_degrees(&entry[i].degrees);
    }
}

static void check_tries(const char *path, plait_arena *arena)
{
    plait_error err = {PLAIT_OK, "", ""};
    int rank[2], count;

    if (plans_tried(path, 2, rank, &count, arena, &err) != PLAIT_OK)
        assert(err.message[0] != '\0');
    else
        assert(count <= 2 && (count < 1 || rank[0] >= 1) && (count < 2 || rank[1] >= 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_arena *arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    plans_entry entry;
    char path[32];
    const int file = memory_file(data, size, path);

    assert(arena != NULL);
    if (plans_parse((const char *)data, size, "input", 0, arena, &entry, &err) == PLAIT_OK) {
        check_degrees(&entry.degrees);
        if (entry.model != NULL)
            check_model(entry.model, arena);
        if (entry.cluster != NULL)
            check_cluster(entry.cluster, arena);
    } else {
        assert(err.status != PLAIT_OK && err.message[0] != '\0');
    }
    check_list(path, "plans", arena);
    check_list(path, "front", arena);
    check_tries(path, arena);
    close(file);
    plait_arena_free(arena);
    return 0;
}
