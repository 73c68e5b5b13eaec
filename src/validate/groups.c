/* groups.c - group rows by a text of theirs, in order of first appearance */
#include "validate/groups.h"

#include <string.h>

static bool texts_equal(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static size_t find_group(const row_groups *groups, const char *name, const char *scope)
{
    size_t g = 0;

    while (g < groups->count &&
           !(texts_equal(groups->name[g], name) && texts_equal(groups->scope[g], scope)))
        g++;
    return g;
}

/* Sets the group of each row (`rows` for none), and the names and sizes of groups. */
static void sort_rows(const plait_validation *validation, row_key *key, size_t *group_of,
                      row_groups *out)
{
    const size_t rows = validation->runs->count;

    for (size_t i = 0; i < rows; i++) {
        const char *name, *scope = NULL;

        group_of[i] = rows;
        if (!key(validation, i, &name, &scope))
            continue;
        group_of[i] = find_group(out, name, scope);
        if (group_of[i] == out->count) {
            out->name[out->count] = name;
            out->scope[out->count++] = scope;
        }
        out->size[group_of[i]]++;
    }
}

static plait_status make_room(size_t rows, plait_arena *arena, row_groups *out, plait_error *err)
{
    out->name = plait_arena_alloc(arena, rows, sizeof *out->name);
    out->scope = plait_arena_alloc(arena, rows, sizeof *out->scope);
    out->size = plait_arena_alloc(arena, rows, sizeof *out->size);
    out->row = plait_arena_alloc(arena, rows, sizeof *out->row);
    return out->name != NULL && out->scope != NULL && out->size != NULL && out->row != NULL
               ? PLAIT_OK
               : plait_fail_nomem(err);
}

plait_status groups_of(const plait_validation *validation, row_key *key, plait_arena *arena,
                       row_groups *out, plait_error *err)
{
    const size_t rows = validation->runs->count;
    size_t *group_of = plait_arena_alloc(arena, rows, sizeof *group_of);
    size_t *place = plait_arena_alloc(arena, rows, sizeof *place);

    *out = (row_groups){0};
    PLAIT_TRY(plait_check_allocated(group_of && place, err));
    PLAIT_TRY(make_room(rows, arena, out, err));
    sort_rows(validation, key, group_of, out);
    for (size_t g = 0, used = 0; g < out->count; used += out->size[g++])
        out->row[g] = place + used;
    memset(out->size, 0, out->count * sizeof *out->size);
    for (size_t i = 0; i < rows; i++)
        if (group_of[i] < out->count)
            out->row[group_of[i]][out->size[group_of[i]]++] = i;
    return PLAIT_OK;
}
