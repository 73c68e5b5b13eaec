/*
 * nemo_defaults.c - configs that a config of NeMo-RL changes
 *
 * `defaults` names one file or a list of them, by paths from the folder of the file; a later file
 * replaces values of an earlier one, and the file replaces values of all. A mapping replaces only
 * the keys that it has, unless it has `_override_: true` (nemo_rl/utils/config.py in NVIDIA-NeMo/RL
 * 7ea279a).
 */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "io/file.h"
#include "launch/read/plan_reader.h"
#include "launch/rl/rl_settings.h"

enum { MOST_DEPTH = 16, MOST_BYTES = 1 << 20 };

typedef struct config_chain {
    const char *path;
    const struct config_chain *child; /* file that names this one; NULL: the first */
    int depth;
} config_chain;

/* Returns whether `path` is a key of the mapping `of`, or of a mapping in it. */
static bool is_below(const char *path, const char *of)
{
    const size_t length = strlen(of);

    return strncmp(path, of, length) == 0 && path[length] == '.';
}

/* Returns whether a file has a value, or replaces a whole mapping, where a default has `path`. */
static bool hides(const yaml_file *file, const char *path)
{
    static const char whole[] = "_override_";

    for (int i = 0; i < file->count; i++) {
        const char *const own = file->leaf[i].path;
        const size_t length = strlen(own), mark = sizeof whole - 1;

        if (text_equal(own, path) || is_below(own, path) || is_below(path, own))
            return true;
        if (length > mark && text_equal(own + length - mark, whole) &&
            strncmp(own, path, length - mark) == 0)
            return true;
    }
    return false;
}

/* Append the values that the file does not replace. They do not count as options that it gives. */
static plait_status merge(yaml_file *file, const yaml_file *defaults, plait_arena *arena,
                          plait_error *err)
{
    const size_t most = (size_t)file->count + (size_t)defaults->count;
    yaml_leaf *const leaf = plait_arena_alloc(arena, most, sizeof *leaf);
    int count = file->count;

    PLAIT_TRY(plait_check_allocated(leaf, err));
    for (int i = 0; i < file->count; i++)
        leaf[i] = file->leaf[i];
    for (int i = 0; i < defaults->count; i++)
        if (!hides(file, defaults->leaf[i].path)) {
            leaf[count] = defaults->leaf[i];
            leaf[count++].read = true;
        }
    file->leaf = leaf;
    file->count = count;
    return PLAIT_OK;
}

/* Returns the absolute path of a file, from the folder of the file that names it; NULL: none. */
static const char *resolve(const char *from, const char *name, plait_arena *arena)
{
    const char *const slash = strrchr(from, '/');
    const char *const joined =
        slash == NULL || name[0] == '/'
            ? name
            : plait_arena_printf(arena, "%.*s/%s", (int)(slash - from), from, name);
    char *const absolute = joined != NULL ? realpath(joined, NULL) : NULL;
    const char *const path = absolute != NULL ? plait_arena_text(arena, absolute) : NULL;

    free(absolute);
    return path;
}

static plait_status add_defaults(yaml_file *file, const config_chain *of, plait_arena *arena,
                                 text_builder *warnings, plait_error *err)
{
    const yaml_leaf *const named = yaml_find(file, "defaults");

    for (int i = named != NULL ? named->values - 1 : -1; i >= 0; i--) {
        const char *const name = named->value[i];
        const config_chain next = {resolve(of->path, name, arena), of, of->depth + 1};
        yaml_file defaults;
        plait_error inner;
        const char *text;
        size_t length;

        if (next.path == NULL) {
            if (!text_starts_with(name, "grpo_math_1B")) // those of plait's own files
                text_append_printf(import_warn(warnings, ""),
                                   "%.80s, whose values the file changes, is not found", name);
            continue;
        }
        for (const config_chain *c = of; c != NULL; c = c->child)
            if (text_equal(c->path, next.path) || next.depth > MOST_DEPTH)
                return plait_fail(err, PLAIT_ERROR_RANGE, of->path,
                                  "expected defaults of at most %d files that do not name each "
                                  "other in a cycle, found %.120s",
                                  MOST_DEPTH, name);
        const plait_status status =
            file_read_all(next.path, MOST_BYTES, arena, &text, &length, &inner);
        if (status != PLAIT_OK)
            return plait_fail(err, status, inner.where, "%s", inner.message);
        PLAIT_TRY(yaml_read(text, length, next.path, arena, &defaults, err));
        PLAIT_TRY(add_defaults(&defaults, &next, arena, warnings, err));
        PLAIT_TRY(merge(file, &defaults, arena, err));
    }
    return PLAIT_OK;
}

plait_status nemo_add_defaults(yaml_file *file, plait_arena *arena, text_builder *warnings,
                               plait_error *err)
{
    const char *const absolute = resolve("", file->name, arena);
    const config_chain first = {absolute != NULL ? absolute : file->name, NULL, 0};

    return add_defaults(file, &first, arena, warnings, err);
}
