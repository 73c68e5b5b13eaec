/* json_write.h - writing JSON, the same bytes for the same values
 *
 *     json_writer json;
 *
 *     json_writer_init(&json, arena);
 *     json_begin_object(&json);
 *     json_write_key(&json, "step_s");
 *     json_write_number(&json, cost.step_s);
 *     json_end_object(&json);
 *     PLAIT_TRY(json_writer_finish(&json, &text, &length, err));
 *
 * gives two blanks of indentation a level, one member or element a line, and a final newline. Only
 * running out of memory can go wrong, and only json_writer_finish says so. Unbalanced calls are
 * failed asserts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plait/error.h"
#include "base/text.h"

typedef struct json_writer {
    text_builder out;
    int depth;
    int row;        /* the depth at which a row began, what is inside stays on its line; 0: none */
    bool empty;     /* nothing has been written yet inside the innermost array or object */
    bool after_key; /* the next value belongs on the line of its key */
} json_writer;

void json_writer_init(json_writer *json, plait_arena *arena);

void json_begin_object(json_writer *json);
void json_end_object(json_writer *json);
void json_begin_array(json_writer *json);
void json_end_array(json_writer *json);

/** Begins an array that stays on one line, with all that is inside it; json_end_array ends it. */
void json_begin_row(json_writer *json);

/** The same of an object; json_end_object ends it. */
void json_begin_object_row(json_writer *json);

void json_write_key(json_writer *json, const char *key);

/** UTF-8 passes; quotes, backslashes and control characters are escaped. NULL becomes null. */
void json_write_string(json_writer *json, const char *text);

/** The shortest digits that read back as the same double; infinities and NaN become null. */
void json_write_number(json_writer *json, double number);
void json_write_int64(json_writer *json, int64_t number);
void json_write_bool(json_writer *json, bool value);
void json_write_null(json_writer *json);

/* A key and its value in one call. */
void json_member_string(json_writer *json, const char *key, const char *text);
void json_member_number(json_writer *json, const char *key, double number);
void json_member_int64(json_writer *json, const char *key, int64_t number);
void json_member_bool(json_writer *json, const char *key, bool value);
void json_member_version(json_writer *json); /* "plait": that of the program that writes */
void json_member_null(json_writer *json, const char *key);

/** The finished document, in the writer's arena, ended by a newline; `length` may be NULL. */
plait_status json_writer_finish(json_writer *json, const char **text, size_t *length,
                                plait_error *err) PLAIT_MUST_CHECK;
