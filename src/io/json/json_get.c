/*
 * json_get.c - typed getters of the JSON reader: json_as_NAME reads the value at a cursor;
 * json_NAME and json_NAME_optional find a member and call json_as_NAME
 */
#include <float.h>
#include <math.h>

#include <cjson/cJSON.h>

#include "base/number_range.h"
#include "base/text.h"
#include "io/json/json_private.h"

static const struct range {
    const char *name;
    double low, high;
    bool excludes_low;
} ranges[] = {
    [JSON_ANY] = {"a number", -DBL_MAX, DBL_MAX, false},
    [JSON_POSITIVE] = {"a positive number", 0.0, DBL_MAX, true},
    [JSON_NON_NEGATIVE] = {"a number of 0 or more", 0.0, DBL_MAX, false},
    [JSON_FRACTION] = {"a number from 0 to 1", 0.0, 1.0, false},
};

static bool in_range(const struct range *range, double number)
{
    return number >= range->low && number <= range->high &&
           !(range->excludes_low && number == range->low);
}

plait_status json_as_number(const json_cursor *at, json_range range, double *out, plait_error *err)
{
    char found[JSON_FOUND_SIZE];
    double number;

    if (!json_is_number(at))
        return json_fail_type(at, ranges[range].name, err);
    number = at->value->valuedouble;
    if (!isfinite(number))
        return json_fail(at, PLAIT_ERROR_RANGE, err,
                         "expected a finite number, found one beyond 1.8e308");
    if (!in_range(&ranges[range], number))
        return json_fail(at, PLAIT_ERROR_RANGE, err, "expected %s, found %s", ranges[range].name,
                         json_found(at, found));
    if (range != JSON_ANY && !number_has_size(number))
        return json_fail(at, PLAIT_ERROR_RANGE, err, "expected a number from %g to %g, found %g",
                         NUMBER_SAID_LEAST, NUMBER_SAID_MOST, number);
    *out = number;
    return PLAIT_OK;
}

static plait_status fail_integer(const json_cursor *at, plait_status status, int min, int max,
                                 plait_error *err)
{
    char found[JSON_FOUND_SIZE];

    json_found(at, found);
    if (max < INT32_MAX)
        return json_fail(at, status, err, "expected an integer from %d to %d, found %s", min, max,
                         found);
    if (min == 1)
        return json_fail(at, status, err, "expected a positive integer, found %s", found);
    return json_fail(at, status, err, "expected an integer of %d or more, found %s", min, found);
}

plait_status json_as_int(const json_cursor *at, int min, int max, int *out, plait_error *err)
{
    static const double exact_max = 9007199254740991.0; // 2^53 may have been 2^53 + 1 in the text

    if (!json_is_number(at))
        return fail_integer(at, PLAIT_ERROR_SCHEMA, min, max, err);
    const double number = at->value->valuedouble;
    if (fabs(number) > exact_max)
        return json_fail(at, PLAIT_ERROR_RANGE, err,
                         "expected an integer below 2^53, found a larger number");
    if (trunc(number) != number || number < min || number > max)
        return fail_integer(at, PLAIT_ERROR_RANGE, min, max, err);
    *out = (int)number;
    return PLAIT_OK;
}

plait_status json_as_bool(const json_cursor *at, bool *out, plait_error *err)
{
    if (!cJSON_IsBool(at->value))
        return json_fail_type(at, "true or false", err);
    *out = cJSON_IsTrue(at->value);
    return PLAIT_OK;
}

plait_status json_as_string(const json_cursor *at, plait_arena *arena, const char **out,
                            plait_error *err)
{
    const char *copy;

    if (!json_is_string(at))
        return json_fail_type(at, "a string", err);
    if (!text_is_plain(at->value->valuestring))
        return json_fail(at, PLAIT_ERROR_SCHEMA, err,
                         "expected text without control characters, found one");
    copy = plait_arena_text(arena, at->value->valuestring);
    PLAIT_TRY(plait_check_allocated(copy, err));
    *out = copy;
    return PLAIT_OK;
}

plait_status json_as_word(const json_cursor *at, const char *const *words, int *out,
                          plait_error *err)
{
    int index;

    if (!json_is_string(at))
        return json_fail_type(at, "a string", err);
    index = text_index(at->value->valuestring, words);
    if (index < 0)
        return json_fail_word(at, false, at->value->valuestring, words, err);
    *out = index;
    return PLAIT_OK;
}

/* ---- members of an object ---- */

/* Bodies of json_NAME and json_NAME_optional, which find the member and then read its value. */
#define GET(...)                                                                                   \
    json_cursor child;                                                                             \
                                                                                                   \
    PLAIT_TRY(json_value(at, key, &child, err));                                                   \
    return __VA_ARGS__

#define GET_OPTIONAL(...)                                                                          \
    json_cursor child;                                                                             \
                                                                                                   \
    PLAIT_TRY(json_value_optional(at, key, &child, err));                                          \
    return child.value == NULL ? PLAIT_OK : __VA_ARGS__

plait_status json_number(const json_cursor *at, const char *key, json_range range, double *out,
                         plait_error *err)
{
    GET(json_as_number(&child, range, out, err));
}

plait_status json_number_optional(const json_cursor *at, const char *key, json_range range,
                                  double *out, plait_error *err)
{
    GET_OPTIONAL(json_as_number(&child, range, out, err));
}

plait_status json_int(const json_cursor *at, const char *key, int min, int max, int *out,
                      plait_error *err)
{
    GET(json_as_int(&child, min, max, out, err));
}

plait_status json_int_optional(const json_cursor *at, const char *key, int min, int max, int *out,
                               plait_error *err)
{
    GET_OPTIONAL(json_as_int(&child, min, max, out, err));
}

plait_status json_bool(const json_cursor *at, const char *key, bool *out, plait_error *err)
{
    GET(json_as_bool(&child, out, err));
}

plait_status json_bool_optional(const json_cursor *at, const char *key, bool *out, plait_error *err)
{
    GET_OPTIONAL(json_as_bool(&child, out, err));
}

plait_status json_string(const json_cursor *at, const char *key, plait_arena *arena,
                         const char **out, plait_error *err)
{
    GET(json_as_string(&child, arena, out, err));
}

plait_status json_string_optional(const json_cursor *at, const char *key, plait_arena *arena,
                                  const char **out, plait_error *err)
{
    GET_OPTIONAL(json_as_string(&child, arena, out, err));
}

plait_status json_word(const json_cursor *at, const char *key, const char *const *words, int *out,
                       plait_error *err)
{
    GET(json_as_word(&child, words, out, err));
}

plait_status json_word_optional(const json_cursor *at, const char *key, const char *const *words,
                                int *out, plait_error *err)
{
    GET_OPTIONAL(json_as_word(&child, words, out, err));
}

plait_status json_mask(const json_cursor *at, const char *key, const char *const *words, int most,
                       unsigned *mask, plait_error *err)
{
    json_cursor list, element;

    *mask = 0;
    PLAIT_TRY(json_array(at, key, &list, err));
    for (bool more = json_first(&list, &element); more; more = json_next(&element)) {
        int bit = 0;

        PLAIT_TRY(words == NULL ? json_as_int(&element, 0, most, &bit, err)
                                : json_as_word(&element, words, &bit, err));
        *mask |= 1u << bit;
    }
    return PLAIT_OK;
}
