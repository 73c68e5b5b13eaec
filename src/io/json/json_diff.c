/* json_diff.c - two trees side by side */
#include "io/json/json_diff.h"

#include <math.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/grow.h"
#include "base/text.h"

enum { MOST_ELEMENTS = 8000 }; /* of one array or object: they are matched in pairs */

typedef struct differ {
    const char *const *names;
    plait_arena *arena;
    json_changes *out;
    int capacity;
    plait_error *err;
} differ;

/* ---- values as text ---- */

/* A scalar, or how much there is. */
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

static plait_status add(differ *d, const char *at, const cJSON *a, const cJSON *b)
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

static void add_name(text_builder *out, const cJSON *value)
{
    text_append(out, out->length > 0 ? " " : "");
    if (cJSON_IsString(value))
        text_append_plain(out, value->valuestring);
    else
        text_append_number(out, value->valuedouble);
}

/* "dgx-h100 64": what an element calls itself; "" where it has no name, NULL out of memory. */
static const char *name_of(const differ *d, const cJSON *element)
{
    text_builder out;

    text_builder_init(&out, d->arena);
    for (const char *const *name = d->names; *name != NULL; name++) {
        const bool alone = **name == '=';
        const cJSON *const value = cJSON_GetObjectItemCaseSensitive(element, *name + alone);

        if (!cJSON_IsString(value) && !cJSON_IsNumber(value))
            continue;
        add_name(&out, value);
        if (alone)
            break;
    }
    return text_builder_finish(&out, NULL);
}

/* An array of elements of which each has a name of its own. */
typedef struct named_list {
    int count;
    bool named;
    const cJSON **element;
    const char **name;
} named_list;

static bool has_doubles(const named_list *list)
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
        out->name[out->count] = name_of(d, element);
        if (out->name[out->count] == NULL)
            return plait_fail_nomem(d->err);
        out->named = out->named && out->name[out->count][0] != '\0';
        out->count++;
    }
    out->named = out->named && !has_doubles(out);
    return PLAIT_OK;
}

static const cJSON *named(const named_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->name[i], name) == 0)
            return list->element[i];
    return NULL;
}

/* ---- the walk ---- */

static plait_status compare(differ *d, const char *at, const cJSON *a, const cJSON *b);

static plait_status compare_named(differ *d, const char *at, const named_list *a,
                                  const named_list *b)
{
    for (int i = 0; i < b->count; i++)
        PLAIT_TRY(compare(d, plait_arena_printf(d->arena, "%s/%s", at, b->name[i]),
                          named(a, b->name[i]), b->element[i]));
    for (int i = 0; i < a->count; i++)
        if (named(b, a->name[i]) == NULL)
            PLAIT_TRY(
                add(d, plait_arena_printf(d->arena, "%s/%s", at, a->name[i]), a->element[i], NULL));
    return PLAIT_OK;
}

static plait_status compare_arrays(differ *d, const char *at, const cJSON *a, const cJSON *b)
{
    named_list one, other;

    PLAIT_TRY(list_elements(d, a, &one));
    PLAIT_TRY(list_elements(d, b, &other));
    if (one.named && other.named)
        return compare_named(d, at, &one, &other);
    for (int i = 0; i < one.count || i < other.count; i++)
        PLAIT_TRY(compare(d, plait_arena_printf(d->arena, "%s/%d", at, i),
                          i < one.count ? one.element[i] : NULL,
                          i < other.count ? other.element[i] : NULL));
    return PLAIT_OK;
}

static bool is_of_the_run(const char *key)
{
    return strcmp(key, "elapsed_s") == 0 || strcmp(key, "threads") == 0;
}

static plait_status compare_objects(differ *d, const char *at, const cJSON *a, const cJSON *b)
{
    const cJSON *member;

    cJSON_ArrayForEach(member, b)
    {
        if (!is_of_the_run(member->string))
            PLAIT_TRY(compare(d, plait_arena_printf(d->arena, "%s/%s", at, member->string),
                              cJSON_GetObjectItemCaseSensitive(a, member->string), member));
    }
    cJSON_ArrayForEach(member, a)
    {
        if (!is_of_the_run(member->string) &&
            cJSON_GetObjectItemCaseSensitive(b, member->string) == NULL)
            PLAIT_TRY(
                add(d, plait_arena_printf(d->arena, "%s/%s", at, member->string), member, NULL));
    }
    return PLAIT_OK;
}

static plait_status compare(differ *d, const char *at, const cJSON *a, const cJSON *b)
{
    if (at == NULL)
        return plait_fail_nomem(d->err);
    if (cJSON_GetArraySize(a) > MOST_ELEMENTS || cJSON_GetArraySize(b) > MOST_ELEMENTS)
        return plait_fail(d->err, PLAIT_ERROR_RANGE, at, "expected at most %d elements, found more",
                          MOST_ELEMENTS);
    if (a == NULL || b == NULL)
        return add(d, at, a, b);
    if (cJSON_IsArray(a) && cJSON_IsArray(b))
        return compare_arrays(d, at, a, b);
    if (cJSON_IsObject(a) && cJSON_IsObject(b))
        return compare_objects(d, at, a, b);
    return cJSON_Compare(a, b, 1) ? PLAIT_OK : add(d, at, a, b);
}

plait_status json_diff(const json_cursor *a, const json_cursor *b, const char *const *names,
                       plait_arena *arena, json_changes *out, plait_error *err)
{
    differ d = {.names = names, .arena = arena, .out = out, .err = err};

    *out = (json_changes){0};
    return compare(&d, "", a->value, b->value);
}
