/*
 * fields.h - tables of the members of a JSON block, used for both reading and writing
 *
 *     static const field link_fields[] = {
 *         {"latency_us", JSON_POSITIVE, .unit = PLAIT_US, FIELD_AT(plait_link, latency_s)},
 *         {.key = NULL},
 *     };
 *     PLAIT_TRY(fields_read(&at, link_fields, NULL, &link, err));
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "io/json/json.h"
#include "io/json/json_write.h"

/**
 * One member of a block: a double, an int, a bool, a word, or an array of doubles. `range`, `unit`
 * and `count` apply to doubles. `least` and `most` are bounds of ints and of doubles; for a double,
 * 0 means no bound. A word is stored as its index in an int or an enum. If a member that is not
 * required is missing, the struct stays unchanged.
 */
typedef struct field {
    const char *key;
    json_range range;
    double least, most; /* bounds, in the unit of the key */
    double unit;        /* size of the key's unit in base units; 0: 1 */
    bool required;
    bool is_bool;
    bool is_int;
    bool rare;                /* a bool or int that is written only if it is not 0 */
    const char *const *words; /* valid words, ended by NULL */
    size_t count;             /* length of an array of doubles; 0: a single value */
    size_t offset;
} field;

#define FIELD_AT(type, member) .offset = offsetof(type, member)

/**
 * Reads the block at the cursor, which may also have a "source" for human readers.
 *
 * @param also  further valid keys, which the caller reads itself; ended by NULL, or NULL
 * @param out   struct to which the offsets apply, filled with the defaults
 */
plait_status fields_read(const json_cursor *at, const field *fields, const char *const *also,
                         void *out, plait_error *err) PLAIT_MUST_CHECK;

/** Like fields_read(), but refuses a "source". */
plait_status fields_read_strictly(const json_cursor *at, const field *fields,
                                  const char *const *also, void *out,
                                  plait_error *err) PLAIT_MUST_CHECK;

/** Reads the block that is the value of a member; the member may be missing. */
plait_status fields_read_optional(const json_cursor *at, const char *key, const field *fields,
                                  void *out, plait_error *err) PLAIT_MUST_CHECK;

/** Writes the members of the block into an object that the caller has begun. */
void fields_write(json_writer *json, const field *fields, const void *block);

/** Writes the block as a member that is an object. */
void fields_write_member(json_writer *json, const char *key, const field *fields,
                         const void *block);

/** Writes a number in `unit`, without the rounding digits of the division. */
void fields_write_number(json_writer *json, const char *key, double number, double unit);

/**
 * Rounds a number that is computed from others to twelve digits in its unit. Not every double is the
 * product of a double and a unit; without this, a file could not contain the number exactly.
 */
double fields_round(double number, double unit);

/**
 * Returns whether the block has a number other than 0, a bool that is true, or a word other than
 * the first.
 */
bool fields_any(const field *fields, const void *block);

/*
 * A blank number is NaN, which no file can contain. Blocks with blank numbers contain only doubles.
 */

/** Makes every number of the block blank. */
void fields_blank(const field *fields, void *block);

/** Copies all numbers of a block that are not blank to another block. */
void fields_copy_filled(const field *fields, const void *from, void *to);

/** Returns the key of the first blank number; NULL if there is none. */
const char *fields_first_blank(const field *fields, const void *block);
