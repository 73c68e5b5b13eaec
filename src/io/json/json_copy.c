/* json_copy.c - writes parsed values again */
#include "io/json/json_copy.h"

#include <cjson/cJSON.h>

void json_copy(json_writer *json, const json_cursor *at)
{
    const bool object = json_is_object(at);
    json_cursor child;

    if (!object && !json_is_array(at)) {
        if (json_is_number(at))
            json_write_number(json, at->value->valuedouble);
        else if (json_is_string(at))
            json_write_string(json, at->value->valuestring);
        else if (json_is_null(at))
            json_write_null(json);
        else
            json_write_bool(json, cJSON_IsTrue(at->value));
        return;
    }
    if (object)
        json_begin_object(json);
    else
        json_begin_array(json);
    for (bool more = json_first(at, &child); more; more = json_next(&child)) {
        if (object)
            json_write_key(json, child.key);
        json_copy(json, &child);
    }
    if (object)
        json_end_object(json);
    else
        json_end_array(json);
}

const char *json_characters(const json_cursor *at)
{
    return json_is_string(at) ? at->value->valuestring : NULL;
}
