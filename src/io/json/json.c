/* json.c - JSON documents, cursors and errors; json_get.c has the getters of values */
#include "io/json/json_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/fail.h"
#include "base/text.h"
#include "io/file.h"

/* ---- documents ---- */

/* Checks that all keys are plain text, as strings are, since keys may be printed as names. */
static bool keys_are_plain(const struct cJSON *value)
{
    for (; value != NULL; value = value->next)
        if ((value->string != NULL && !text_is_plain(value->string)) ||
            !keys_are_plain(value->child))
            return false;
    return true;
}

plait_status json_document_parse(const char *text, size_t length, const char *name,
                                 plait_arena *arena, json_document *doc, plait_error *err)
{
    size_t rest;

    if (text == NULL || name == NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, name, "expected a text and its name, found NULL");
    *doc = (json_document){.name = plait_arena_text(arena, name)};
    PLAIT_TRY(plait_check_allocated(doc->name, err));
    if (length > JSON_MAX_BYTES)
        return plait_fail(err, PLAIT_ERROR_SYNTAX, name, "expected at most %zu bytes, found %zu",
                          JSON_MAX_BYTES, length);
    PLAIT_TRY(json_scan(text, length, doc->name, err));

    // After the scan, parsing fails only because of wrong grammar or lack of memory.
    const char *end = text;
    errno = 0;
    doc->tree = cJSON_ParseWithLengthOpts(text, length, &end, false);
    if (doc->tree == NULL && errno == ENOMEM)
        return plait_fail_nomem(err);
    if (doc->tree == NULL && (size_t)(end - text) >= json_cut_from(text, length))
        return json_fail_at(text, length, length, doc->name, "the rest of a JSON value", err);
    if (doc->tree == NULL)
        return json_fail_at(text, length, (size_t)(end - text), doc->name, "JSON", err);
    rest = (size_t)(end - text);
    while (rest < length && strchr(" \t\r\n", text[rest]) != NULL)
        rest++;
    if (rest == length && keys_are_plain(doc->tree))
        return PLAIT_OK;
    json_document_free(doc);
    if (rest == length)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, doc->name,
                          "expected keys without control characters, found one in a key");
    return json_fail_at(text, length, rest, doc->name, "nothing after the JSON value", err);
}

plait_status json_document_read(const char *path, plait_arena *arena, json_document *doc,
                                plait_error *err)
{
    plait_arena *scratch = plait_arena_new();
    plait_status status;
    const char *text;
    size_t length;

    PLAIT_TRY(plait_check_allocated(scratch, err));
    status = file_read_all(path, JSON_MAX_BYTES, scratch, &text, &length, err);
    if (status == PLAIT_OK)
        status = json_document_parse(text, length, path, arena, doc, err);
    plait_arena_free(scratch);
    return status;
}

void json_document_free(json_document *doc)
{
    cJSON_Delete(doc->tree);
    doc->tree = NULL;
}

json_cursor json_document_root(const json_document *doc)
{
    return (json_cursor){.value = doc->tree, .key = doc->name};
}

static plait_status read_and_free(json_document *doc, json_reader *read, plait_arena *arena,
                                  void *out, plait_error *err)
{
    const json_cursor root = json_document_root(doc);
    const plait_status status = read(&root, arena, out, err);

    json_document_free(doc);
    return status;
}

plait_status json_load(const char *path, json_reader *read, plait_arena *arena, void *out,
                       plait_error *err)
{
    json_document doc = {0};

    PLAIT_TRY(json_document_read(path, arena, &doc, err));
    return read_and_free(&doc, read, arena, out, err);
}

plait_status json_parse(const char *text, size_t length, const char *name, json_reader *read,
                        plait_arena *arena, void *out, plait_error *err)
{
    json_document doc = {0};

    PLAIT_TRY(json_document_parse(text, length, name, arena, &doc, err));
    return read_and_free(&doc, read, arena, out, err);
}

/* ---- errors: "file:/a/0/b" ---- */

/* A text of limited size; characters that do not fit are dropped. */
typedef struct place_text {
    char *text;
    size_t size;
    size_t length;
} place_text;

static void place_append(place_text *place, char c)
{
    if (place->length + 1 < place->size)
        place->text[place->length++] = c;
    place->text[place->length] = '\0';
}

/* Appends the place of a cursor: "file:/a/0/b". The recursion is at most JSON_MAX_DEPTH deep. */
static void place_append_cursor(place_text *place, const json_cursor *at)
{
    char index[24];

    if (at->parent == NULL) {
        for (const char *p = at->key; *p != '\0'; p++)
            place_append(place, *p);
        return;
    }
    place_append_cursor(place, at->parent);
    if (at->parent->parent == NULL)
        place_append(place, ':');
    snprintf(index, sizeof index, "%zu", at->index);

    // In a JSON pointer, "~" is written ~0 and "/" is written ~1 (RFC 6901).
    const char *key = at->key != NULL ? at->key : index;
    place_append(place, '/');
    for (; *key != '\0'; key++) {
        if (*key == '~' || *key == '/')
            place_append(place, '~');
        place_append(place, *key == '~' ? '0' : *key == '/' ? '1' : *key);
    }
}

static plait_status fail_at_cursor(const json_cursor *at, plait_status status, plait_error *err,
                                   const char *fmt, va_list args)
{
    char where[sizeof err->where];
    place_text place = {.text = where, .size = sizeof where};

    if (err == NULL)
        return status;
    place_append_cursor(&place, at);
    return fail_list(err, status, where, fmt, args);
}

plait_status json_fail(const json_cursor *at, plait_status status, plait_error *err,
                       const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    status = fail_at_cursor(at, status, err, fmt, args);
    va_end(args);
    return status;
}

plait_status json_fail_key(const json_cursor *at, const char *key, plait_status status,
                           plait_error *err, const char *fmt, ...)
{
    const json_cursor member = {.parent = at, .key = key};
    va_list args;

    va_start(args, fmt);
    status = fail_at_cursor(&member, status, err, fmt, args);
    va_end(args);
    return status;
}

plait_status json_fail_type(const json_cursor *at, const char *expected, plait_error *err)
{
    char found[JSON_FOUND_SIZE];

    return json_fail(at, PLAIT_ERROR_SCHEMA, err, "expected %s, found %s", expected,
                     json_found(at, found));
}

const char *json_found(const json_cursor *at, char out[JSON_FOUND_SIZE])
{
    const struct cJSON *value = at->value;
    char digits[TEXT_NUMBER_SIZE];

    if (value == NULL)
        snprintf(out, JSON_FOUND_SIZE, "nothing");
    else if (cJSON_IsNumber(value))
        snprintf(out, JSON_FOUND_SIZE, "%s", text_number(value->valuedouble, digits));
    else if (cJSON_IsString(value))
        snprintf(out, JSON_FOUND_SIZE, strlen(value->valuestring) > 40 ? "\"%.40s...\"" : "\"%s\"",
                 value->valuestring);
    else if (cJSON_IsBool(value))
        snprintf(out, JSON_FOUND_SIZE, "%s", cJSON_IsTrue(value) ? "true" : "false");
    else
        snprintf(out, JSON_FOUND_SIZE, "%s",
                 cJSON_IsObject(value)  ? "an object"
                 : cJSON_IsArray(value) ? "an array"
                                        : "null");
    return out;
}

/* ---- objects and arrays ---- */

/* Joins words into "latency_us, source"; if not all fit, the text ends with "...". */
static const char *word_list(const char *const *words, char *out, size_t size)
{
    size_t length = 0;

    out[0] = '\0';
    for (size_t i = 0; words[i] != NULL && length < size; i++)
        length +=
            (size_t)snprintf(out + length, size - length, "%s%s", i > 0 ? ", " : "", words[i]);
    if (length >= size && size > 4)
        memcpy(out + size - 4, "...", 4);
    return out;
}

plait_status json_fail_word(const json_cursor *at, bool is_key, const char *found,
                            const char *const *words, plait_error *err)
{
    const char *nearest = text_nearest(found, words);
    char list[160];

    if (nearest != NULL)
        return json_fail(at, PLAIT_ERROR_SCHEMA, err, "expected %s\"%s\", found \"%.40s\"",
                         is_key ? "the key " : "", nearest, found);
    return json_fail(at, PLAIT_ERROR_SCHEMA, err, "expected one of %s%s, found \"%.40s\"",
                     is_key ? "the keys " : "", word_list(words, list, sizeof list), found);
}

plait_status json_keys_among(const json_cursor *at, const char *const *keys, plait_error *err)
{
    json_cursor member;

    PLAIT_TRY(json_as_object(at, err));
    for (bool more = json_first(at, &member); more; more = json_next(&member)) {
        if (text_index(member.key, keys) < 0)
            return json_fail_word(&member, true, member.key, keys, err);
        if (cJSON_GetObjectItemCaseSensitive(at->value, member.key) != member.value)
            return json_fail(&member, PLAIT_ERROR_SCHEMA, err,
                             "expected the key once, found it twice");
    }
    return PLAIT_OK;
}

/*
 * Finds a member; child->value is NULL if it is missing. Fails if the key occurs twice, which only
 * json_keys_among() would have detected before.
 */
static plait_status find_member(const json_cursor *at, const char *key, json_cursor *child,
                                plait_error *err)
{
    const struct cJSON *again;

    PLAIT_TRY(json_as_object(at, err));
    *child = (json_cursor){
        .value = cJSON_GetObjectItemCaseSensitive(at->value, key),
        .parent = at,
        .key = key,
    };
    if (child->value == NULL)
        return PLAIT_OK;
    for (again = child->value->next; again != NULL; again = again->next)
        if (text_equal(again->string, key))
            return json_fail(child, PLAIT_ERROR_SCHEMA, err,
                             "expected the key once, found it twice");
    json_mark_read(at, key);
    return PLAIT_OK;
}

/*
 * A bit of cJSON's type word that cJSON itself does not use, since cJSON_Is...() compare only the
 * low byte.
 */
enum { VALUE_WAS_READ = 1 << 16 };

void json_mark_read(const json_cursor *at, const char *key)
{
    struct cJSON *const value = cJSON_GetObjectItemCaseSensitive(at->value, key);

    if (json_is_object(at) && value != NULL)
        value->type |= VALUE_WAS_READ;
}

bool json_was_read(const json_cursor *at)
{
    return (at->value->type & VALUE_WAS_READ) != 0;
}

plait_status json_value(const json_cursor *at, const char *key, json_cursor *child,
                        plait_error *err)
{
    PLAIT_TRY(find_member(at, key, child, err));
    if (child->value == NULL)
        return json_fail(at, PLAIT_ERROR_SCHEMA, err, "expected the key \"%s\", found none", key);
    return PLAIT_OK;
}

plait_status json_value_optional(const json_cursor *at, const char *key, json_cursor *child,
                                 plait_error *err)
{
    PLAIT_TRY(find_member(at, key, child, err));
    if (cJSON_IsNull(child->value))
        child->value = NULL;
    return PLAIT_OK;
}

bool json_has(const json_cursor *at, const char *key)
{
    const struct cJSON *value = cJSON_GetObjectItemCaseSensitive(at->value, key);

    return json_is_object(at) && value != NULL && !cJSON_IsNull(value);
}

bool json_is_null(const json_cursor *at)
{
    return at->value == NULL || cJSON_IsNull(at->value);
}

bool json_is_number(const json_cursor *at)
{
    return cJSON_IsNumber(at->value);
}

bool json_is_string(const json_cursor *at)
{
    return cJSON_IsString(at->value);
}

bool json_is_object(const json_cursor *at)
{
    return cJSON_IsObject(at->value);
}

bool json_is_array(const json_cursor *at)
{
    return cJSON_IsArray(at->value);
}

plait_status json_as_object(const json_cursor *at, plait_error *err)
{
    return json_is_object(at) ? PLAIT_OK : json_fail_type(at, "an object", err);
}

plait_status json_as_array(const json_cursor *at, plait_error *err)
{
    return json_is_array(at) ? PLAIT_OK : json_fail_type(at, "an array", err);
}

plait_status json_object(const json_cursor *at, const char *key, json_cursor *child,
                         plait_error *err)
{
    PLAIT_TRY(json_value(at, key, child, err));
    return json_as_object(child, err);
}

plait_status json_object_optional(const json_cursor *at, const char *key, json_cursor *child,
                                  plait_error *err)
{
    PLAIT_TRY(json_value_optional(at, key, child, err));
    return child->value == NULL ? PLAIT_OK : json_as_object(child, err);
}

plait_status json_array(const json_cursor *at, const char *key, json_cursor *child,
                        plait_error *err)
{
    PLAIT_TRY(json_value(at, key, child, err));
    return json_as_array(child, err);
}

plait_status json_array_optional(const json_cursor *at, const char *key, json_cursor *child,
                                 plait_error *err)
{
    PLAIT_TRY(json_value_optional(at, key, child, err));
    return child->value == NULL ? PLAIT_OK : json_as_array(child, err);
}

size_t json_count(const json_cursor *at)
{
    json_cursor child;
    size_t count = 0;

    for (bool more = json_first(at, &child); more; more = json_next(&child))
        count++;
    return count;
}

bool json_first(const json_cursor *at, json_cursor *child)
{
    if (at->value == NULL || at->value->child == NULL)
        return false;
    *child = (json_cursor){
        .value = at->value->child,
        .parent = at,
        .key = at->value->child->string,
    };
    return true;
}

bool json_next(json_cursor *child)
{
    child->value = child->value->next;
    if (child->value == NULL)
        return false;
    child->key = child->value->string;
    child->index++;
    return true;
}
