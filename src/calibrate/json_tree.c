/* json_tree.c - a JSON document that can be changed and printed as our data files are */
#include "calibrate/json_tree.h"

#include <string.h>

#include "base/text.h"

enum { LINE = 98, INDENT = 4 };

// ---- reading -------------------------------------------------------------------------------

static plait_status read_children(const json_cursor *at, plait_arena *arena, json_tree *out,
                                  plait_error *err);

static plait_status read_value(const json_cursor *at, plait_arena *arena, json_tree *out,
                               plait_error *err)
{
    if (json_is_number(at)) {
        out->kind = TREE_NUMBER;
        return json_as_number(at, JSON_ANY, &out->number, err);
    }
    if (json_is_string(at)) {
        out->kind = TREE_STRING;
        return json_as_string(at, arena, &out->text, err);
    }
    if (json_is_object(at) || json_is_array(at)) {
        out->kind = json_is_object(at) ? TREE_OBJECT : TREE_ARRAY;
        return read_children(at, arena, out, err);
    }
    if (json_is_null(at)) {
        out->kind = TREE_NULL;
        return PLAIT_OK;
    }
    out->kind = TREE_BOOL;
    return json_as_bool(at, &out->truth, err);
}

static plait_status read_children(const json_cursor *at, plait_arena *arena, json_tree *out,
                                  plait_error *err)
{
    json_tree **end = &out->first;
    json_cursor child;

    for (bool more = json_first(at, &child); more; more = json_next(&child)) {
        json_tree *node = plait_arena_alloc(arena, 1, sizeof *node);

        if (node == NULL)
            return plait_fail_nomem(err);
        if (out->kind == TREE_OBJECT) {
            node->key = plait_arena_text(arena, child.key);
            if (node->key == NULL)
                return plait_fail_nomem(err);
        }
        PLAIT_TRY(read_value(&child, arena, node, err));
        *end = node;
        end = &node->next;
    }
    return PLAIT_OK;
}

static plait_status read_root(const json_cursor *root, plait_arena *arena, void *out,
                              plait_error *err)
{
    return read_value(root, arena, out, err);
}

plait_status json_tree_read(const char *text, size_t length, const char *name, plait_arena *arena,
                            json_tree **out, plait_error *err)
{
    *out = plait_arena_alloc(arena, 1, sizeof **out);
    if (*out == NULL)
        return plait_fail_nomem(err);
    return json_parse(text, length, name, read_root, arena, *out, err);
}

json_tree *json_tree_copy(const json_tree *tree, plait_arena *arena)
{
    json_tree *const copy = plait_arena_alloc(arena, 1, sizeof *copy);
    json_tree **end;

    if (copy == NULL)
        return NULL;
    *copy = *tree;
    copy->next = NULL;
    end = &copy->first;
    for (const json_tree *child = tree->first; child != NULL; child = child->next) {
        *end = json_tree_copy(child, arena);
        if (*end == NULL)
            return NULL;
        end = &(*end)->next;
    }
    return copy;
}

// ---- changing ------------------------------------------------------------------------------

json_tree *json_tree_member(const json_tree *object, const char *key)
{
    for (json_tree *child = object->first; child != NULL; child = child->next)
        if (child->key != NULL && strcmp(child->key, key) == 0)
            return child;
    return NULL;
}

static json_tree *append(json_tree *parent, plait_arena *arena)
{
    json_tree **end = &parent->first;

    while (*end != NULL)
        end = &(*end)->next;
    *end = plait_arena_alloc(arena, 1, sizeof **end);
    return *end;
}

json_tree *json_tree_enter(json_tree *object, const char *key, tree_kind kind, plait_arena *arena)
{
    json_tree *child = json_tree_member(object, key);

    if (child == NULL) {
        child = append(object, arena);
        if (child == NULL)
            return NULL;
        child->key = plait_arena_text(arena, key);
        child->kind = kind;
    }
    if (child->kind != kind) {
        child->kind = kind;
        child->first = NULL;
    }
    return child->key != NULL ? child : NULL;
}

bool json_tree_set_number(json_tree *object, const char *key, double number, plait_arena *arena)
{
    json_tree *const child = json_tree_enter(object, key, TREE_NUMBER, arena);

    if (child != NULL)
        child->number = number;
    return child != NULL;
}

bool json_tree_set_text(json_tree *object, const char *key, const char *text, plait_arena *arena)
{
    json_tree *const child = json_tree_enter(object, key, TREE_STRING, arena);

    if (child != NULL)
        child->text = plait_arena_text(arena, text);
    return child != NULL && child->text != NULL;
}

bool json_tree_append(json_tree *array, double number, plait_arena *arena)
{
    json_tree *const child = append(array, arena);

    if (child == NULL)
        return false;
    child->kind = TREE_NUMBER;
    child->number = number;
    return true;
}

void json_tree_remove(json_tree *object, const char *key)
{
    for (json_tree **at = &object->first; *at != NULL; at = &(*at)->next)
        if ((*at)->key != NULL && strcmp((*at)->key, key) == 0) {
            *at = (*at)->next;
            return;
        }
}

// ---- printing ------------------------------------------------------------------------------

static void print_text(text_builder *out, const char *text)
{
    text_append_char(out, '"');
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            text_append_char(out, '\\');
        if (c >= 0x20)
            text_append_char(out, *text);
        else
            text_append_printf(out, "\\u%04x", c);
    }
    text_append_char(out, '"');
}

static void print_key(text_builder *out, const json_tree *tree)
{
    if (tree->key == NULL)
        return;
    print_text(out, tree->key);
    text_append(out, ": ");
}

/* Prints without line ends. */
static void print_flat(text_builder *out, const json_tree *tree)
{
    switch (tree->kind) {
    case TREE_NULL:
        text_append(out, "null");
        return;
    case TREE_BOOL:
        text_append(out, tree->truth ? "true" : "false");
        return;
    case TREE_NUMBER:
        text_append_number(out, tree->number);
        return;
    case TREE_STRING:
        print_text(out, tree->text);
        return;
    case TREE_OBJECT:
    case TREE_ARRAY:
        break;
    }
    text_append_char(out, tree->kind == TREE_OBJECT ? '{' : '[');
    for (const json_tree *child = tree->first; child != NULL; child = child->next) {
        print_key(out, child);
        print_flat(out, child);
        if (child->next != NULL)
            text_append(out, ", ");
    }
    text_append_char(out, tree->kind == TREE_OBJECT ? '}' : ']');
}

/* Columns of a value on one line. */
static size_t flat_width(const json_tree *tree, plait_arena *arena)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    text_builder out;
    size_t length = 0;

    text_builder_init(&out, arena);
    print_flat(&out, tree);
    (void)text_builder_finish(&out, &length);
    plait_arena_rewind(arena, mark);
    return length;
}

static void print_tree(text_builder *out, const json_tree *tree, size_t depth, plait_arena *scratch)
{
    const bool nested = tree->kind == TREE_OBJECT || tree->kind == TREE_ARRAY;

    print_key(out, tree);
    if (!nested || tree->first == NULL || tree->kind == TREE_ARRAY ||
        (depth > 0 && INDENT * depth + flat_width(tree, scratch) <= LINE)) {
        print_flat(out, tree);
        return;
    }
    text_append_char(out, tree->kind == TREE_OBJECT ? '{' : '[');
    for (const json_tree *child = tree->first; child != NULL; child = child->next) {
        text_append_char(out, '\n');
        text_append_repeated(out, ' ', INDENT * (depth + 1));
        print_tree(out, child, depth + 1, scratch);
        if (child->next != NULL)
            text_append_char(out, ',');
    }
    text_append_char(out, '\n');
    text_append_repeated(out, ' ', INDENT * depth);
    text_append_char(out, tree->kind == TREE_OBJECT ? '}' : ']');
}

const char *json_tree_print(const json_tree *tree, plait_arena *arena, size_t *length)
{
    plait_arena *scratch = plait_arena_new();
    const char *text = NULL;
    text_builder out;

    if (scratch == NULL)
        return NULL;
    text_builder_init(&out, arena);
    print_tree(&out, tree, 0, scratch);
    text_append_char(&out, '\n');
    text = text_builder_finish(&out, length);
    plait_arena_free(scratch);
    return text;
}
