/* fields.c - blocks of plain numbers and switches, read and written by a table */
#include "io/json/fields.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number_range.h"

enum { MOST_KEYS = 48 };

static double unit_of(double unit)
{
    return unit == 0.0 ? 1.0 : unit;
}

static size_t doubles_of(const field *f)
{
    return f->count > 0 ? f->count : 1;
}

static void *place(void *block, const field *f)
{
    return (char *)block + f->offset;
}

static const void *place_in(const void *block, const field *f)
{
    return (const char *)block + f->offset;
}

static plait_status keys_check(const json_cursor *at, const field *fields, const char *const *also,
                               plait_error *err)
{
    const char *keys[MOST_KEYS + 1];
    size_t count = 0;

    for (; fields->key != NULL; fields++) {
        assert(count < MOST_KEYS);
        keys[count++] = fields->key;
    }
    for (; also != NULL && *also != NULL; also++) {
        assert(count < MOST_KEYS);
        keys[count++] = *also;
    }
    assert(count < MOST_KEYS);
    keys[count++] = "source";
    keys[count] = NULL;
    return json_keys_among(at, keys, err);
}

/* The number at the cursor itself: the field's, or an element of its array. */
static plait_status read_number(const json_cursor *at, const field *f, double *out,
                                plait_error *err)
{
    double number = 0.0;

    PLAIT_TRY(json_as_number(at, f->range, &number, err));
    if (f->least > 0.0 && number < f->least)
        return json_fail(at, PLAIT_ERROR_RANGE, err, "expected at least %g, found %g", f->least,
                         number);
    if (f->most > 0.0 && number > f->most)
        return json_fail(at, PLAIT_ERROR_RANGE, err, "expected at most %g, found %g", f->most,
                         number);
    if (!number_has_size(number * unit_of(f->unit)))
        return json_fail(at, PLAIT_ERROR_RANGE, err, "expected a number from %g to %g, found %g",
                         NUMBER_SAID_LEAST / unit_of(f->unit), NUMBER_SAID_MOST / unit_of(f->unit),
                         number);
    *out = number * unit_of(f->unit);
    return PLAIT_OK;
}

static plait_status read_array(const json_cursor *at, const field *f, double *out, plait_error *err)
{
    json_cursor element;

    PLAIT_TRY(json_as_array(at, err));
    if (json_count(at) != f->count)
        return json_fail(at, PLAIT_ERROR_SCHEMA, err, "expected %zu numbers, found %zu", f->count,
                         json_count(at));
    for (bool more = json_first(at, &element); more; more = json_next(&element))
        PLAIT_TRY(read_number(&element, f, &out[element.index], err));
    return PLAIT_OK;
}

static plait_status read_field(const json_cursor *at, const field *f, void *out, plait_error *err)
{
    json_cursor child;

    if (f->is_bool)
        return (f->required ? json_bool : json_bool_optional)(at, f->key, out, err);
    if (!f->required && !json_has(at, f->key))
        return PLAIT_OK;
    PLAIT_TRY(json_value(at, f->key, &child, err));
    return (f->count > 0 ? read_array : read_number)(&child, f, out, err);
}

plait_status fields_read(const json_cursor *at, const field *fields, const char *const *also,
                         void *out, plait_error *err)
{
    PLAIT_TRY(keys_check(at, fields, also, err));
    for (const field *f = fields; f->key != NULL; f++)
        PLAIT_TRY(read_field(at, f, place(out, f), err));
    return PLAIT_OK;
}

plait_status fields_read_optional(const json_cursor *at, const char *key, const field *fields,
                                  void *out, plait_error *err)
{
    json_cursor child;

    PLAIT_TRY(json_object_optional(at, key, &child, err));
    return json_is_null(&child) ? PLAIT_OK : fields_read(&child, fields, NULL, out, err);
}

/* 2.47e-6 s in us is 2.4699999999999998 by division; twelve digits are enough for any fit. */
static double in_unit(double number, double unit)
{
    char digits[32];
    double rounded = number / unit_of(unit);

    if (unit_of(unit) == 1.0)
        return number;
    text_format(digits, sizeof digits, "%.12g", rounded);
    return text_parse_number(digits, &rounded) ? rounded : number / unit;
}

void fields_write_number(json_writer *json, const char *key, double number, double unit)
{
    json_member_number(json, key, in_unit(number, unit));
}

static void write_array(json_writer *json, const field *f, const double *numbers)
{
    json_write_key(json, f->key);
    json_begin_row(json);
    for (size_t i = 0; i < f->count; i++)
        json_write_number(json, in_unit(numbers[i], f->unit));
    json_end_array(json);
}

void fields_write(json_writer *json, const field *fields, const void *block)
{
    for (const field *f = fields; f->key != NULL; f++) {
        const void *at = place_in(block, f);

        if (f->is_bool)
            json_member_bool(json, f->key, *(const bool *)at);
        else if (f->count > 0)
            write_array(json, f, at);
        else
            fields_write_number(json, f->key, *(const double *)at, f->unit);
    }
}

static bool any_number(const field *f, const double *number)
{
    for (size_t i = 0; i < doubles_of(f); i++)
        if (number[i] != 0.0)
            return true;
    return false;
}

bool fields_known(const field *fields, const void *block)
{
    for (const field *f = fields; f->key != NULL; f++)
        if (f->is_bool ? *(const bool *)place_in(block, f) : any_number(f, place_in(block, f)))
            return true;
    return false;
}

/* ---- blanks ---- */

void fields_blank(const field *fields, void *block)
{
    for (const field *f = fields; f->key != NULL; f++) {
        double *number = place(block, f);

        for (size_t i = 0; i < doubles_of(f); i++)
            number[i] = (double)NAN;
    }
}

/* An array is said as a whole: its first number tells. */
static bool is_blank(const field *f, const void *block)
{
    return isnan(*(const double *)place_in(block, f));
}

void fields_lay_over(const field *fields, const void *from, void *to)
{
    for (const field *f = fields; f->key != NULL; f++)
        if (!is_blank(f, from))
            memcpy(place(to, f), place_in(from, f), doubles_of(f) * sizeof(double));
}

const char *fields_first_blank(const field *fields, const void *block)
{
    for (const field *f = fields; f->key != NULL; f++)
        if (is_blank(f, block))
            return f->key;
    return NULL;
}
