/* fields.c - blocks of plain numbers and switches, read and written by a table */
#include "fields.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

enum { MOST_KEYS = 48 };

static double unit_of(double unit)
{
    return unit == 0.0 ? 1.0 : unit;
}

static void *place(void *block, const field *f)
{
    return (char *)block + f->offset;
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

static plait_status read_number(const json_cursor *at, const field *f, double *out,
                                plait_error *err)
{
    double number = 0.0;

    if (!f->required && !json_has(at, f->key))
        return PLAIT_OK;
    PLAIT_TRY(json_number(at, f->key, f->range, &number, err));
    if (f->most > 0.0 && number > f->most)
        return json_fail_key(at, f->key, PLAIT_ERROR_RANGE, err, "expected at most %g, found %g",
                             f->most, number);
    if (!isfinite(number * unit_of(f->unit)))
        return json_fail_key(at, f->key, PLAIT_ERROR_RANGE, err,
                             "expected a sensible number, found %g", number);
    *out = number * unit_of(f->unit);
    return PLAIT_OK;
}

plait_status fields_read(const json_cursor *at, const field *fields, const char *const *also,
                         void *out, plait_error *err)
{
    PLAIT_TRY(keys_check(at, fields, also, err));
    for (const field *f = fields; f->key != NULL; f++)
        if (f->is_bool)
            PLAIT_TRY(
                (f->required ? json_bool : json_bool_optional)(at, f->key, place(out, f), err));
        else
            PLAIT_TRY(read_number(at, f, place(out, f), err));
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
    snprintf(digits, sizeof digits, "%.12g", rounded);
    return text_parse_number(digits, &rounded) ? rounded : number / unit;
}

void fields_write_number(json_writer *json, const char *key, double number, double unit)
{
    json_member_number(json, key, in_unit(number, unit));
}

void fields_write(json_writer *json, const field *fields, const void *block)
{
    for (const field *f = fields; f->key != NULL; f++) {
        const void *at = (const char *)block + f->offset;

        if (f->is_bool)
            json_member_bool(json, f->key, *(const bool *)at);
        else
            fields_write_number(json, f->key, *(const double *)at, f->unit);
    }
}

bool fields_known(const field *fields, const void *block)
{
    for (const field *f = fields; f->key != NULL; f++) {
        const void *at = (const char *)block + f->offset;

        if (f->is_bool ? *(const bool *)at : *(const double *)at != 0.0)
            return true;
    }
    return false;
}

plait_status fields_read_array(const json_cursor *at, const char *key, json_range range,
                               double unit, size_t count, double *out, plait_error *err)
{
    json_cursor list, element;

    PLAIT_TRY(json_array_optional(at, key, &list, err));
    if (json_is_null(&list))
        return PLAIT_OK;
    if (json_count(&list) != count)
        return json_fail(&list, PLAIT_ERROR_SCHEMA, err, "expected %zu numbers, found %zu", count,
                         json_count(&list));
    for (bool more = json_first(&list, &element); more; more = json_next(&element)) {
        double number = 0.0;

        PLAIT_TRY(json_as_number(&element, range, &number, err));
        if (!isfinite(number * unit_of(unit)))
            return json_fail(&element, PLAIT_ERROR_RANGE, err,
                             "expected a sensible number, found %g", number);
        out[element.index] = number * unit_of(unit);
    }
    return PLAIT_OK;
}

void fields_write_array(json_writer *json, const char *key, double unit, size_t count,
                        const double *numbers)
{
    json_write_key(json, key);
    json_begin_row(json);
    for (size_t i = 0; i < count; i++)
        json_write_number(json, in_unit(numbers[i], unit));
    json_end_array(json);
}
