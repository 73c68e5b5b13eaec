/* json_same.c - holding a document to another that says the same */
#include "io/json/json_private.h"

#include <cjson/cJSON.h>

/* Longest list of keys in an object that is compared. */
enum { MAX_KEYS = 64 };

static plait_status differs(const json_cursor *found, const json_cursor *expected, plait_error *err)
{
    char here[JSON_FOUND_SIZE], there[JSON_FOUND_SIZE];

    return json_fail(found, PLAIT_ERROR_RANGE, err, "expected %s, found %s",
                     json_found(expected, there), json_found(found, here));
}

static plait_status same_arrays(const json_cursor *found, const json_cursor *expected,
                                plait_error *err)
{
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

static plait_status same_objects(const json_cursor *found, const json_cursor *expected,
                                 plait_error *err)
{
    const char *keys[MAX_KEYS + 1] = {NULL};
    json_cursor here, there;
    int count = 0;

    for (bool more = json_first(expected, &there); more && count < MAX_KEYS;
         more = json_next(&there))
        keys[count++] = there.key;
    PLAIT_TRY(json_keys_among(found, keys, err));
    for (bool more = json_first(expected, &there); more; more = json_next(&there)) {
        PLAIT_TRY(json_value(found, there.key, &here, err));
        PLAIT_TRY(json_same(&here, &there, err));
    }
    return PLAIT_OK;
}

plait_status json_same(const json_cursor *found, const json_cursor *expected, plait_error *err)
{
    if (json_is_array(expected) && json_is_array(found))
        return same_arrays(found, expected, err);
    if (json_is_object(expected) && json_is_object(found))
        return same_objects(found, expected, err);
    return cJSON_Compare(found->value, expected->value, 1) ? PLAIT_OK
                                                           : differs(found, expected, err);
}
