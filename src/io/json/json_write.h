/*
 * json_write.h - writer of JSON such that equal values give equal bytes
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
 * The text has two blanks of indentation per level, one member or element per line, and a final
 * newline. The only error is a lack of memory, which json_writer_finish() returns. Unbalanced calls
 * fail an assert.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "plait/error.h"

typedef struct json_writer {
    text_builder out;
    int depth;
    int row;        /* depth inside the outermost array or object on one line; 0: none */
    bool empty;     /* the innermost array or object has no element yet */
    bool after_key; /* the last write was a key */
} json_writer;

void json_writer_init(json_writer *json, plait_arena *arena);

void json_begin_object(json_writer *json);
void json_end_object(json_writer *json);
void json_begin_array(json_writer *json);
void json_end_array(json_writer *json);

/* Begin an array or an object that is written on one line, with everything inside it. */
void json_begin_row(json_writer *json);
void json_begin_object_row(json_writer *json);

void json_write_key(json_writer *json, const char *key);

/** Escapes quotes, backslashes and characters that are not plain text (text.h). NULL becomes null. */
void json_write_string(json_writer *json, const char *text);

/** Writes the fewest digits that read back as the same double; infinities and NaN become null. */
void json_write_number(json_writer *json, double number);
void json_write_int64(json_writer *json, int64_t number);
void json_write_bool(json_writer *json, bool value);
void json_write_null(json_writer *json);

/** Writes a text that is a JSON value already. Inside a row its line ends become blanks. */
void json_write_value(json_writer *json, const char *text, size_t length);

/* Write a key and its value, or the beginning of its value. */
void json_member_object(json_writer *json, const char *key);
void json_member_array(json_writer *json, const char *key);
void json_member_row(json_writer *json, const char *key);
void json_member_string(json_writer *json, const char *key, const char *text);
void json_member_number(json_writer *json, const char *key, double number);
void json_member_int64(json_writer *json, const char *key, int64_t number);
void json_member_bool(json_writer *json, const char *key, bool value);
void json_member_version(json_writer *json); /* member "plait": the version of this library */
void json_member_null(json_writer *json, const char *key);

/*
 * Write several members, as in JSON_NUMBERS(&json, {"step_s", cost.step_s}, {"mfu", cost.mfu}).
 * Integers below 2^53 are written without a fraction, so they can be passed as doubles.
 */
typedef struct json_number_member {
    const char *key;
    double number;
} json_number_member;

typedef struct json_string_member {
    const char *key, *text;
} json_string_member;

void json_write_number_members(json_writer *json, const json_number_member *members, size_t count);
void json_write_string_members(json_writer *json, const json_string_member *members, size_t count);

#define JSON_MEMBERS(json, kind, ...)                                                              \
    json_write_##kind##_members(json, (const json_##kind##_member[]){__VA_ARGS__},                 \
                                sizeof((const json_##kind##_member[]){__VA_ARGS__}) /              \
                                    sizeof(json_##kind##_member))
#define JSON_NUMBERS(json, ...) JSON_MEMBERS(json, number, __VA_ARGS__)
#define JSON_NUMBER_OBJECT(json, key, ...)                                                         \
    (json_member_object(json, key), JSON_NUMBERS(json, __VA_ARGS__), json_end_object(json))
#define JSON_STRINGS(json, ...) JSON_MEMBERS(json, string, __VA_ARGS__)

/** Ends the document and returns it in the writer's arena; `length` may be NULL. */
plait_status json_writer_finish(json_writer *json, const char **text, size_t *length,
                                plait_error *err) PLAIT_MUST_CHECK;
