/* json_diff.c - compares two documents: finds all differences, or the first */
#include "io/json/json_diff.h"

#include <math.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/grow.h"
#include "base/text.h"
#include "io/json/json_private.h"

/* Largest size of an array or object, because matching elements by name takes quadratic time. */
enum { MAX_ELEMENTS = 8000 };

typedef struct differ {
    const char *const *names;
    plait_arena *arena;
    json_changes *out;
    int capacity;
    plait_error *err;
} differ;

/* ---- values as text ---- */

/* Returns a scalar as text, or the size of an array or object. */
static const char *text_of(const cJSON *value, plait_arena *arena)
{
    char number[TEXT_NUMBER_SIZE];

    if (cJSON_IsString(value))
        return text_plain(arena, value->valuestring);
    if (cJSON_IsNumber(value))
        return plait_arena_text(arena, text_number(value->valuedouble, number));
    if (cJSON_IsArray(value) || cJSON_IsObject(value))
        return plait_arena_printf(arena, "%d %s", cJSON_GetArraySize(value),
                                  cJSON_IsArray(value) ? "elements" : "members");
    return cJSON_IsNull(value) ? "null" : cJSON_IsTrue(value) ? "true" : "false";
}

static plait_status add_change(differ *d, const char *at, const cJSON *a, const cJSON *b)
{
    json_changes *const out = d->out;
    json_change one = {.at = at, .from = (double)NAN, .to = (double)NAN};

    if (a != NULL && b != NULL && cJSON_IsNumber(a) && cJSON_IsNumber(b)) {
        one.from = a->valuedouble;
        one.to = b->valuedouble;
    }
    one.a = a != NULL ? text_of(a, d->arena) : NULL;
    one.b = b != NULL ? text_of(b, d->arena) : NULL;
    out->change = grow_by_one(d->arena, out->change, out->count, &d->capacity, sizeof one);
    if (out->change == NULL || at == NULL || (a != NULL && one.a == NULL) ||
        (b != NULL && one.b == NULL))
        return plait_fail_nomem(d->err);
    out->change[out->count++] = one;
    return PLAIT_OK;
}

/* ---- names of elements ---- */

/*
 * Returns the name of an element, made from the values of its own keys: "dgx-h100 64"; "" if it has
 * none of the keys, NULL if out of memory.
 */
static const char *element_name(const differ *d, const cJSON *element)
{
    text_builder out;

    text_builder_init(&out, d->arena);
    for (const char *const *name = d->names; *name != NULL; name++) {
        const bool alone = **name == '=';
        const cJSON *const value = cJSON_GetObjectItemCaseSensitive(element, *name + alone);

        if (!cJSON_IsString(value) && !cJSON_IsNumber(value))
            continue;
        text_append(&out, out.length > 0 ? " " : "");
        if (cJSON_IsString(value))
            text_append_plain(&out, value->valuestring);
        else
            text_append_number(&out, value->valuedouble);
        if (alone)
            break;
    }
    return text_builder_finish(&out, NULL);
}

typedef struct named_list {
    int count;
    bool named; /* every element has a name, and all names differ */
    const cJSON **element;
    const char **name;
} named_list;

static bool has_duplicates(const named_list *list)
{
    for (int i = 0; i < list->count; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(list->name[i], list->name[j]) == 0)
                return true;
    return false;
}

static plait_status list_elements(const differ *d, const cJSON *array, named_list *out)
{
    const size_t count = (size_t)cJSON_GetArraySize(array);
    const cJSON *element;

    *out = (named_list){.named = true,
                        .element = plait_arena_alloc(d->arena, count, sizeof(void *)),
                        .name = plait_arena_alloc(d->arena, count, sizeof(char *))};
    if (out->element == NULL || out->name == NULL)
        return plait_fail_nomem(d->err);
    cJSON_ArrayForEach(element, array)
    {
        out->element[out->count] = element;
        out->name[out->count] = element_name(d, element);
        if (out->name[out->count] == NULL)
            return plait_fail_nomem(d->err);
        out->named = out->named && out->name[out->count][0] != '\0';
        out->count++;
    }
    out->named = out->named && !has_duplicates(out);
    return PLAIT_OK;
}

static const cJSON *find_named(const named_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->name[i], name) == 0)
            return list->element[i];
    return NULL;
}

/* ---- comparison ---- */

static plait_status compare_values(differ *d, const char *at, const cJSON *a, const cJSON *b);

static plait_status compare_arrays(differ *d, const char *at, const cJSON *a, const cJSON *b)
{
    named_list one, other;

    PLAIT_TRY(list_elements(d, a, &one));
    PLAIT_TRY(list_elements(d, b, &other));
    if (one.named && other.named) {
        for (int i = 0; i < other.count; i++)
            PLAIT_TRY(compare_values(d, plait_arena_printf(d->arena, "%s/%s", at, other.name[i]),
                                     find_named(&one, other.name[i]), other.element[i]));
        for (int i = 0; i < one.count; i++)
            if (find_named(&other, one.name[i]) == NULL)
                PLAIT_TRY(add_change(d, plait_arena_printf(d->arena, "%s/%s", at, one.name[i]),
                                     one.element[i], NULL));
        return PLAIT_OK;
    }
    for (int i = 0; i < one.count || i < other.count; i++)
        PLAIT_TRY(compare_values(d, plait_arena_printf(d->arena, "%s/%d", at, i),
                                 i < one.count ? one.element[i] : NULL,
                                 i < other.count ? other.element[i] : NULL));
    return PLAIT_OK;
}

/* Returns whether a key differs even between two runs of the same command. */
static bool differs_between_runs(const char *key)
{
    return strcmp(key, "elapsed_s") == 0 || strcmp(key, "threads") == 0;
}

static plait_status compare_values(differ *d, const char *at, const cJSON *a, const cJSON *b)
{
    if (at == NULL)
        return plait_fail_nomem(d->err);
    if (cJSON_GetArraySize(a) > MAX_ELEMENTS || cJSON_GetArraySize(b) > MAX_ELEMENTS)
        return plait_fail(d->err, PLAIT_ERROR_RANGE, at, "expected at most %d elements, found more",
                          MAX_ELEMENTS);
    if (a == NULL || b == NULL)
        return add_change(d, at, a, b);
    if (cJSON_IsArray(a) && cJSON_IsArray(b))
        return compare_arrays(d, at, a, b);
    if (cJSON_IsObject(a) && cJSON_IsObject(b)) {
        const cJSON *member;

        cJSON_ArrayForEach(member, b)
        {
            if (!differs_between_runs(member->string))
                PLAIT_TRY(
                    compare_values(d, plait_arena_printf(d->arena, "%s/%s", at, member->string),
                                   cJSON_GetObjectItemCaseSensitive(a, member->string), member));
        }
        cJSON_ArrayForEach(member, a)
        {
            if (!differs_between_runs(member->string) &&
                cJSON_GetObjectItemCaseSensitive(b, member->string) == NULL)
                PLAIT_TRY(add_change(d, plait_arena_printf(d->arena, "%s/%s", at, member->string),
                                     member, NULL));
        }
        return PLAIT_OK;
    }
    return cJSON_Compare(a, b, 1) ? PLAIT_OK : add_change(d, at, a, b);
}

plait_status json_diff(const json_cursor *a, const json_cursor *b, const char *const *names,
                       plait_arena *arena, json_changes *out, plait_error *err)
{
    differ d = {.names = names, .arena = arena, .out = out, .err = err};

    *out = (json_changes){0};
    return compare_values(&d, "", a->value, b->value);
}

/* ---- json_same ---- */

/* Largest number of keys of an object that json_same() compares. */
enum { MAX_KEYS = 64 };

plait_status json_same(const json_cursor *found, const json_cursor *expected, plait_error *err)
{
    char found_text[JSON_FOUND_SIZE], expected_text[JSON_FOUND_SIZE];

    if (json_is_array(expected) && json_is_array(found)) {
        json_cursor here, there;

        if (json_count(found) != json_count(expected))
            return json_fail(found, PLAIT_ERROR_RANGE, err, "expected %zu elements, found %zu",
                             json_count(expected), json_count(found));
        json_first(found, &here);
        for (bool more = json_first(expected, &there); more; more = json_next(&there)) {
            PLAIT_TRY(json_same(&here, &there, err));
            json_next(&here);
        }
        return PLAIT_OK;
    }
    if (json_is_object(expected) && json_is_object(found)) {
        json_cursor member, other;

        const char *keys[MAX_KEYS + 1] = {NULL};
        int count = 0;
        for (bool more = json_first(expected, &other); more && count < MAX_KEYS;
             more = json_next(&other))
            keys[count++] = other.key;
        PLAIT_TRY(json_keys_among(found, keys, err));
        for (bool more = json_first(expected, &other); more; more = json_next(&other)) {
            PLAIT_TRY(json_value(found, other.key, &member, err));
            PLAIT_TRY(json_same(&member, &other, err));
        }
        return PLAIT_OK;
    }
    if (cJSON_Compare(found->value, expected->value, 1))
        return PLAIT_OK;
    return json_fail(found, PLAIT_ERROR_RANGE, err, "expected %s, found %s",
                     json_found(expected, expected_text), json_found(found, found_text));
}
