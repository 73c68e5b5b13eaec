/*
 * fuzz_diff.c - any bytes as the two documents of `plait diff`, divided by the first zero byte; a
 * document does not differ from itself
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "io/json/json_diff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Only the first of two members with the same key has a partner in another document. */
static bool has_unique_keys(const json_cursor *at)
{
    json_cursor child, found;
    plait_error err;

    for (bool more = json_first(at, &child); more; more = json_next(&child))
        if ((child.key != NULL && json_value(at, child.key, &found, &err) != PLAIT_OK) ||
            !has_unique_keys(&child))
            return false;
    return true;
}

static int differences(const json_cursor *a, const json_cursor *b, plait_arena *arena)
{
    static const char *const names[] = {"=id", "name", "cluster", "gpus", "tp", NULL};
    plait_error err = {PLAIT_OK, "", ""};
    json_changes changes;

    if (json_diff(a, b, names, arena, &changes, &err) != PLAIT_OK) {
        assert(err.message[0] != '\0');
        return -1;
    }
    for (int i = 0; i < changes.count; i++) {
        const json_change *const one = &changes.change[i];

        assert(one->at != NULL && (one->a != NULL || one->b != NULL));
    }
    return changes.count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *const end = size > 0 ? memchr(data, '\0', size) : NULL;
    const size_t first = end != NULL ? (size_t)(end - data) : size;
    const size_t second = end != NULL ? size - first - 1 : 0;
    plait_arena *const arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    json_document a, b;

    assert(arena != NULL);
    if (json_document_parse((const char *)data, first, "a", arena, &a, &err) == PLAIT_OK) {
        const json_cursor from = json_document_root(&a);

        const bool unique = has_unique_keys(&from);

        assert(differences(&from, &from, arena) <= 0 || !unique);
        if (second > 0 &&
            json_document_parse((const char *)end + 1, second, "b", arena, &b, &err) == PLAIT_OK) {
            const json_cursor to = json_document_root(&b);

            const bool same = differences(&from, &to, arena) == 0;
            assert(same == (differences(&to, &from, arena) == 0) || !unique ||
                   !has_unique_keys(&to));
            json_document_free(&b);
        }
        json_document_free(&a);
    }
    plait_arena_free(arena);
    return 0;
}
