/* json_write.c - writes JSON such that equal values give equal bytes */
#include "io/json/json_write.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "plait/version.h"

void json_writer_init(json_writer *json, plait_arena *arena)
{
    *json = (json_writer){.empty = true};
    text_builder_init(&json->out, arena);
}

static void new_line(json_writer *json)
{
    text_append_char(&json->out, '\n');
    text_append_repeated(&json->out, ' ', 2 * (size_t)json->depth);
}

static void begin_item(json_writer *json)
{
    if (!json->after_key) {
        if (!json->empty)
            text_append(&json->out, json->row > 0 ? ", " : ",");
        if (json->depth > 0 && json->row == 0)
            new_line(json);
    }
    json->after_key = false;
    json->empty = false;
}

static void begin_nested(json_writer *json, char bracket)
{
    begin_item(json);
    text_append_char(&json->out, bracket);
    json->depth++;
    json->empty = true;
}

static void end_nested(json_writer *json, char bracket)
{
    assert(json->depth > 0 && !json->after_key);
    json->depth--;
    if (!json->empty && json->row == 0)
        new_line(json);
    text_append_char(&json->out, bracket);
    if (json->row > json->depth)
        json->row = 0;
    json->empty = false;
}

void json_begin_object(json_writer *json)
{
    begin_nested(json, '{');
}

void json_end_object(json_writer *json)
{
    end_nested(json, '}');
}

void json_begin_array(json_writer *json)
{
    begin_nested(json, '[');
}

void json_end_array(json_writer *json)
{
    end_nested(json, ']');
}

void json_begin_row(json_writer *json)
{
    begin_nested(json, '[');
    if (json->row == 0)
        json->row = json->depth;
}

void json_begin_object_row(json_writer *json)
{
    begin_nested(json, '{');
    if (json->row == 0)
        json->row = json->depth;
}

/*
 * Escapes a character that is not plain, so that it cannot control a terminal that shows the
 * document. A malformed byte becomes U+FFFD. Returns the number of bytes read.
 */
static size_t append_escaped(text_builder *out, const char *text, size_t left)
{
    const size_t length = text_utf8_length(text, left);

    if (*text == '\n')
        text_append(out, "\\n");
    else if (*text == '\t')
        text_append(out, "\\t");
    else
        text_append_printf(out, "\\u%04x", length > 0 ? text_utf8_value(text, length) : 0xfffdu);
    return length > 0 ? length : 1;
}

static void append_quoted(text_builder *out, const char *text)
{
    size_t left = strlen(text);

    text_append_char(out, '"');
    while (left > 0) {
        const size_t plain = text_plain_prefix(text, left);
        const size_t run = strcspn(text, "\"\\");
        const size_t length = run < plain ? run : plain;
        size_t step = 1;

        text_append_bytes(out, text, length);
        text += length;
        left -= length;
        if (left == 0)
            break;
        if (run < plain)
            text_append_printf(out, "\\%c", *text);
        else
            step = append_escaped(out, text, left);
        text += step;
        left -= step;
    }
    text_append_char(out, '"');
}

void json_write_key(json_writer *json, const char *key)
{
    begin_item(json);
    append_quoted(&json->out, key);
    text_append(&json->out, ": ");
    json->after_key = true;
}

void json_write_string(json_writer *json, const char *text)
{
    if (text == NULL) {
        json_write_null(json);
        return;
    }
    begin_item(json);
    append_quoted(&json->out, text);
}

void json_write_number(json_writer *json, double number)
{
    if (!isfinite(number)) {
        json_write_null(json);
        return;
    }
    begin_item(json);
    text_append_number(&json->out, number);
}

void json_write_int64(json_writer *json, int64_t number)
{
    begin_item(json);
    text_append_printf(&json->out, "%" PRId64, number);
}

void json_write_bool(json_writer *json, bool value)
{
    begin_item(json);
    text_append(&json->out, value ? "true" : "false");
}

void json_write_null(json_writer *json)
{
    begin_item(json);
    text_append(&json->out, "null");
}

void json_write_value(json_writer *json, const char *text, size_t length)
{
    begin_item(json);
    while (length > 0) {
        const char *const end = json->row > 0 ? memchr(text, '\n', length) : NULL;
        const size_t line = end != NULL ? (size_t)(end - text) : length;

        text_append_bytes(&json->out, text, line);
        if (end != NULL)
            text_append_char(&json->out, ' ');
        text += line + (end != NULL);
        length -= line + (end != NULL);
    }
}

void json_member_object(json_writer *json, const char *key)
{
    json_write_key(json, key);
    json_begin_object(json);
}

void json_member_array(json_writer *json, const char *key)
{
    json_write_key(json, key);
    json_begin_array(json);
}

void json_member_row(json_writer *json, const char *key)
{
    json_write_key(json, key);
    json_begin_row(json);
}

void json_member_string(json_writer *json, const char *key, const char *text)
{
    json_write_key(json, key);
    json_write_string(json, text);
}

void json_member_number(json_writer *json, const char *key, double number)
{
    json_write_key(json, key);
    json_write_number(json, number);
}

void json_member_int64(json_writer *json, const char *key, int64_t number)
{
    json_write_key(json, key);
    json_write_int64(json, number);
}

void json_member_bool(json_writer *json, const char *key, bool value)
{
    json_write_key(json, key);
    json_write_bool(json, value);
}

void json_member_version(json_writer *json)
{
    json_member_string(json, "plait", plait_version());
}

void json_member_null(json_writer *json, const char *key)
{
    json_write_key(json, key);
    json_write_null(json);
}

void json_write_number_members(json_writer *json, const json_number_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        json_member_number(json, members[i].key, members[i].number);
}

void json_write_string_members(json_writer *json, const json_string_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        json_member_string(json, members[i].key, members[i].text);
}

plait_status json_writer_finish(json_writer *json, const char **text, size_t *length,
                                plait_error *err)
{
    assert(json->depth == 0 && !json->after_key);
    text_append_char(&json->out, '\n');
    *text = text_builder_finish(&json->out, length);
    return *text != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
