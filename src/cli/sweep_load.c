/*
 * sweep_load.c - reads a file of scenarios: {"name", "defaults": {...}, "scenarios": [{...}, ...]}
 */
#include <stdio.h>
#include <string.h>

#include "io/json/json.h"
#include "plait/version.h"
#include "cli/sweep.h"
#include "base/text.h"

/* ---- values as words of a command line ---- */

static plait_status read_value(const json_cursor *at, plait_arena *arena, const char **out,
                               plait_error *err)
{
    char text[TEXT_NUMBER_SIZE];
    bool set;
    double number;

    if (json_is_string(at))
        return json_as_string(at, arena, out, err);
    if (json_is_number(at)) {
        PLAIT_TRY(json_as_number(at, JSON_ANY, &number, err));
        *out = plait_arena_text(arena, text_number(number, text));
        return *out != NULL ? PLAIT_OK : plait_fail_nomem(err);
    }
    if (json_as_bool(at, &set, NULL) != PLAIT_OK)
        return json_fail_type(at, "a text, a number, true, false, or a list of them", err);
    *out = set ? "true" : "false";
    return PLAIT_OK;
}

static plait_status read_values(const json_cursor *at, plait_arena *arena, sweep_axis *out,
                                plait_error *err)
{
    const bool list = json_is_array(at);
    const size_t count = list ? json_count(at) : 1;
    const char **value = plait_arena_alloc(arena, count, sizeof *value);
    json_cursor element;

    PLAIT_TRY(plait_check_allocated(value, err));
    out->value = value;
    if (!list) {
        out->values = 1;
        return read_value(at, arena, value, err);
    }
    if (count == 0)
        return json_fail(at, PLAIT_ERROR_RANGE, err, "expected at least one value, found none");
    for (bool more = json_first(at, &element); more; more = json_next(&element))
        PLAIT_TRY(read_value(&element, arena, &value[out->values++], err));
    return PLAIT_OK;
}

/* ---- entries ---- */

static plait_status read_axes(const json_cursor *object, plait_arena *arena, sweep_entry *out,
                              plait_error *err)
{
    sweep_axis *const axis = plait_arena_alloc(arena, json_count(object), sizeof *axis);
    json_cursor member;

    PLAIT_TRY(plait_check_allocated(axis, err));
    out->axis = axis;
    for (bool more = json_first(object, &member); more; more = json_next(&member)) {
        sweep_axis *const one = &axis[out->axes++];

        one->name = plait_arena_text(arena, member.key);
        char *const flag = plait_arena_text(arena, member.key); // "max_gbs" is --max-gbs
        PLAIT_TRY(plait_check_allocated(one->name && flag, err));
        for (char *at = flag; *at != '\0'; at++)
            *at = *at == '_' ? '-' : *at;
        one->key = flag;
        PLAIT_TRY(sweep_check_key(&member, one->key, err));
        for (int before = 0; before + 1 < out->axes; before++)
            if (text_equal(axis[before].key, one->key))
                return json_fail(&member, PLAIT_ERROR_SCHEMA, err,
                                 "expected the key once, found it twice");
        PLAIT_TRY(read_values(&member, arena, one, err));
    }
    return PLAIT_OK;
}

static plait_status read_entries(const json_cursor *list, const sweep_entry *defaults,
                                 plait_arena *arena, sweep *out, plait_error *err)
{
    sweep_entry *entry = plait_arena_alloc(arena, json_count(list), sizeof *entry);
    json_cursor one;

    PLAIT_TRY(plait_check_allocated(entry, err));
    out->entry = entry;
    for (bool more = json_first(list, &one); more; more = json_next(&one)) {
        sweep_entry own = {0};

        PLAIT_TRY(json_as_object(&one, err));
        PLAIT_TRY(read_axes(&one, arena, &own, err));
        // Add the defaults of keys that the entry does not have; these axes vary slowest.
        sweep_axis *axes =
            plait_arena_alloc(arena, (size_t)(defaults->axes + own.axes), sizeof *axes);

        PLAIT_TRY(plait_check_allocated(axes, err));
        entry[out->entries] = (sweep_entry){.axis = axes};
        for (int a = 0; a < defaults->axes; a++) {
            int same = 0;

            while (same < own.axes && !text_equal(own.axis[same].key, defaults->axis[a].key))
                same++;
            if (same == own.axes)
                axes[entry[out->entries].axes++] = defaults->axis[a];
        }
        for (int a = 0; a < own.axes; a++)
            axes[entry[out->entries].axes++] = own.axis[a];
        sweep_entry *const e = &entry[out->entries++];
        e->first = out->count;
        e->count = 1;
        for (int a = 0; a < e->axes; a++) {
            e->count *= e->axis[a].values;
            if (out->count + e->count > SWEEP_MOST)
                return json_fail(&one, PLAIT_ERROR_RANGE, err,
                                 "expected at most %d scenarios in all, found %lld or more",
                                 SWEEP_MOST, (long long)(out->count + e->count));
        }
        out->count += e->count;
    }
    return out->count > 0 ? PLAIT_OK
                          : json_fail(list, PLAIT_ERROR_RANGE, err,
                                      "expected at least one scenario, found none");
}

static plait_status read_root(const json_cursor *root, plait_arena *arena, void *sum,
                              plait_error *err)
{
    static const char *const keys[] = {"name", "defaults", "scenarios", NULL};
    sweep_entry defaults = {0};
    json_cursor object, list;
    const char *name;

    PLAIT_TRY(json_keys_among(root, keys, err));
    PLAIT_TRY(json_string_optional(root, "name", arena, &name, err));
    PLAIT_TRY(json_object_optional(root, "defaults", &object, err));
    if (!json_is_null(&object))
        PLAIT_TRY(read_axes(&object, arena, &defaults, err));
    PLAIT_TRY(json_array(root, "scenarios", &list, err));
    return read_entries(&list, &defaults, arena, sum, err);
}

/* ---- the file ---- */

/* Extend an FNV-1a hash by a text and its final zero byte. */
static uint64_t digest_text(uint64_t digest, const char *text)
{
    do {
        digest = (digest ^ (unsigned char)*text) * UINT64_C(1099511628211);
    } while (*text++ != '\0');
    return digest;
}

static uint64_t digest_count(uint64_t digest, int count)
{
    char text[TEXT_NUMBER_SIZE];

    return digest_text(digest, text_number(count, text));
}

static const char *folder_of(const char *path, plait_arena *arena)
{
    const char *const slash = strrchr(path, '/');

    return slash == NULL ? "" : plait_arena_printf(arena, "%.*s", (int)(slash - path + 1), path);
}

plait_status sweep_load(const char *path, plait_arena *arena, sweep *out, plait_error *err)
{
    *out = (sweep){.name = plait_arena_text(arena, path), .folder = folder_of(path, arena)};
    PLAIT_TRY(plait_check_allocated(out->name && out->folder, err));
    PLAIT_TRY(json_load(path, read_root, arena, out, err));
    // Hash the length of each list before its elements, so that different sweeps never give the
    // same input.
    uint64_t digest = digest_text(UINT64_C(14695981039346656037), plait_version());
    for (int e = 0; e < out->entries; e++) {
        digest = digest_count(digest, out->entry[e].axes);
        for (int a = 0; a < out->entry[e].axes; a++) {
            const sweep_axis *const axis = &out->entry[e].axis[a];

            digest = digest_count(digest_text(digest, axis->key), axis->values);
            for (int v = 0; v < axis->values; v++)
                digest = digest_text(digest, axis->value[v]);
        }
    }
    out->digest = digest;
    return PLAIT_OK;
}
