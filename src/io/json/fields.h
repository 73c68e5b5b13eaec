/* fields.h - blocks of plain numbers and switches in JSON, by a table that reader and writer share
 *
 *     static const field link_fields[] = {
 *         {"latency_us", JSON_POSITIVE, .unit = PLAIT_US, FIELD_AT(plait_link, latency_s)},
 *         {.key = NULL},
 *     };
 *     PLAIT_TRY(fields_read(&at, link_fields, NULL, &link, err));
 *
 * Each block may also have a "source", which is for its human readers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "io/json/json.h"
#include "io/json/json_write.h"

typedef struct field {
    const char *key;
    json_range range;
    double least;  /* smallest number allowed; 0: any of the range */
    double most;   /* largest number allowed; 0: any */
    double unit;   /* what one unit of the key is in base units; 0: 1 */
    bool required; /* else what the struct holds before stays */
    bool is_bool;  /* a bool, else a double */
    size_t count;  /* of an array of exactly so many doubles; 0: one double, or bool */
    size_t offset;
} field;

#define FIELD_AT(type, member) .offset = offsetof(type, member)

/**
 * Reads the block at the cursor.
 *
 * @param also  other keys that the caller reads itself, ended by NULL; may be NULL
 * @param out   the struct that the offsets are in, filled with the defaults
 */
plait_status fields_read(const json_cursor *at, const field *fields, const char *const *also,
                         void *out, plait_error *err) PLAIT_MUST_CHECK;

/** The same for a member that may be missing. */
plait_status fields_read_optional(const json_cursor *at, const char *key, const field *fields,
                                  void *out, plait_error *err) PLAIT_MUST_CHECK;

/** Writes the members of the block, without the braces around them. */
void fields_write(json_writer *json, const field *fields, const void *block);

/* A blank is a number that nobody has said: NaN, which no JSON can say. */

/** Makes every number of the block blank; the block has no switches. */
void fields_blank(const field *fields, void *block);

/** Copies the numbers that are not blank over those of another block. */
void fields_lay_over(const field *fields, const void *from, void *to);

/** The key of the first number that is blank; NULL when there is none. */
const char *fields_first_blank(const field *fields, const void *block);

/** Whether any number of the block is not zero, or any switch on. */
bool fields_known(const field *fields, const void *block);

/** A number with its unit taken out, without the digits that the division makes up. */
void fields_write_number(json_writer *json, const char *key, double number, double unit);
