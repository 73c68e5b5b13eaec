/* fuzz_json.c - any bytes through the reader of JSON; what it accepts is bounded and UTF-8 */
#undef NDEBUG
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "io/json/json.h"
#include "io/json/json_private.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void visit(const json_cursor *at, plait_arena *arena, int depth);

static void visit_children(const json_cursor *at, plait_arena *arena, int depth)
{
    json_cursor child, found;
    plait_error err;

    for (bool more = json_first(at, &child); more; more = json_next(&child)) {
        assert(depth < JSON_MAX_DEPTH);
        if (child.key != NULL && json_value(at, child.key, &found, &err) != PLAIT_OK)
            assert(strstr(err.message, "twice") != NULL);
        visit(&child, arena, depth + 1);
    }
}

static void visit(const json_cursor *at, plait_arena *arena, int depth)
{
    const char *text;
    plait_error err;
    double number;
    int integer;

    if (json_as_number(at, JSON_ANY, &number, &err) == PLAIT_OK)
        assert(isfinite(number));
    if (json_as_int(at, INT_MIN, INT_MAX, &integer, &err) == PLAIT_OK)
        assert(integer == number);
    if (json_as_string(at, arena, &text, &err) == PLAIT_OK)
        assert(text_utf8_prefix(text, strlen(text)) == strlen(text));
    visit_children(at, arena, depth);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_arena *arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    json_document doc;

    assert(arena != NULL);
    if (json_document_parse((const char *)data, size, "input", arena, &doc, &err) == PLAIT_OK) {
        const json_cursor root = json_document_root(&doc);

        visit(&root, arena, 0);
        json_document_free(&doc);
    } else {
        /* SCHEMA: JSON, but with a control character in a key. */
        assert(err.status == PLAIT_ERROR_SYNTAX || err.status == PLAIT_ERROR_SCHEMA);
        assert(err.message[0] != '\0');
    }
    plait_arena_free(arena);
    return 0;
}
