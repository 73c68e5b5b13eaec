/* json_tree.c - changes a document's tree, and prints it in the format of the data files */
#include "io/json/json_tree.h"

#include <cjson/cJSON.h>

#include "base/text.h"

enum { LINE = 98, INDENT = 4 };

// ---- reading -------------------------------------------------------------------------------

/*
 * Checks that all numbers are finite and all strings are plain text, since others could not be read
 * back.
 */
static plait_status check_values(const json_cursor *at, plait_arena *arena, plait_error *err)
{
    const char *text;
    double number;
    json_cursor child;

    if (json_is_number(at))
        return json_as_number(at, JSON_ANY, &number, err);
    if (json_is_string(at))
        return json_as_string(at, arena, &text, err);
    for (bool more = json_first(at, &child); more; more = json_next(&child))
        PLAIT_TRY(check_values(&child, arena, err));
    return PLAIT_OK;
}

plait_status json_tree_read(const char *path, plait_arena *arena, json_document *doc,
                            plait_error *err)
{
    plait_status status;

    PLAIT_TRY(json_document_read(path, arena, doc, err));
    const json_cursor root = json_document_root(doc);
    status = check_values(&root, arena, err);
    if (status != PLAIT_OK)
        json_document_free(doc);
    return status;
}

// ---- changing ------------------------------------------------------------------------------

json_tree *json_tree_member(const json_tree *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

const char *json_tree_text(const json_tree *object, const char *key)
{
    const char *const text = cJSON_GetStringValue(json_tree_member(object, key));

    return text != NULL ? text : "";
}

json_tree *json_tree_enter(json_tree *object, const char *key)
{
    json_tree *const member = json_tree_member(object, key);

    return cJSON_IsObject(member) ? member : json_tree_set_object(object, key);
}

/*
 * Sets a member and takes ownership of `value`. If `value` is NULL, memory ran out before; fails.
 */
static json_tree *set_member(json_tree *object, const char *key, cJSON *value)
{
    const bool done =
        value != NULL && (json_tree_member(object, key) != NULL
                              ? cJSON_ReplaceItemInObjectCaseSensitive(object, key, value)
                              : cJSON_AddItemToObject(object, key, value));

    if (!done)
        cJSON_Delete(value);
    return done ? value : NULL;
}

json_tree *json_tree_set_object(json_tree *object, const char *key)
{
    return set_member(object, key, cJSON_CreateObject());
}

json_tree *json_tree_set_array(json_tree *object, const char *key)
{
    return set_member(object, key, cJSON_CreateArray());
}

bool json_tree_set_number(json_tree *object, const char *key, double number)
{
    return set_member(object, key, cJSON_CreateNumber(number)) != NULL;
}

bool json_tree_set_text(json_tree *object, const char *key, const char *text)
{
    return set_member(object, key, cJSON_CreateString(text)) != NULL;
}

bool json_tree_append(json_tree *array, double number)
{
    return cJSON_AddItemToArray(array, cJSON_CreateNumber(number));
}

void json_tree_remove(json_tree *object, const char *key)
{
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
}

json_tree *json_tree_copy(const json_tree *tree)
{
    return cJSON_Duplicate(tree, true);
}

void json_tree_free(json_tree *tree)
{
    cJSON_Delete(tree);
}

// ---- printing ------------------------------------------------------------------------------

static void print_text(text_builder *out, const char *text)
{
    text_append_char(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            text_append_char(out, '\\');
        text_append_char(out, *text);
    }
    text_append_char(out, '"');
}

static void print_key(text_builder *out, const json_tree *tree)
{
    if (tree->string == NULL)
        return;
    print_text(out, tree->string);
    text_append(out, ": ");
}

/* Prints a value on one line. */
static void print_flat(text_builder *out, const json_tree *tree)
{
    const bool object = cJSON_IsObject(tree);

    if (!object && !cJSON_IsArray(tree)) {
        if (cJSON_IsNumber(tree))
            text_append_number(out, tree->valuedouble);
        else if (cJSON_IsString(tree))
            print_text(out, tree->valuestring);
        else
            text_append(out, cJSON_IsNull(tree) ? "null" : cJSON_IsTrue(tree) ? "true" : "false");
        return;
    }
    text_append_char(out, object ? '{' : '[');
    for (const json_tree *child = tree->child; child != NULL; child = child->next) {
        print_key(out, child);
        print_flat(out, child);
        text_append(out, child->next != NULL ? ", " : "");
    }
    text_append_char(out, object ? '}' : ']');
}

static void print_tree(text_builder *out, const json_tree *tree, size_t depth)
{
    print_key(out, tree);

    const size_t start = out->length;
    print_flat(out, tree);
    if (!cJSON_IsObject(tree) || tree->child == NULL ||
        (depth > 0 && INDENT * depth + out->length - start <= LINE))
        return;
    out->length = start; // too long for one line
    text_append_char(out, '{');
    for (const json_tree *child = tree->child; child != NULL; child = child->next) {
        text_append_char(out, '\n');
        text_append_repeated(out, ' ', INDENT * (depth + 1));
        print_tree(out, child, depth + 1);
        text_append(out, child->next != NULL ? "," : "");
    }
    text_append_char(out, '\n');
    text_append_repeated(out, ' ', INDENT * depth);
    text_append_char(out, '}');
}

const char *json_tree_print(const json_tree *tree, plait_arena *arena, size_t *length)
{
    text_builder out;

    text_builder_init(&out, arena);
    print_tree(&out, tree, 0);
    text_append_char(&out, '\n');
    return text_builder_finish(&out, length);
}
