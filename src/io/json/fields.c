/* fields.c - reads and writes JSON blocks by tables of their members */
#include "io/json/fields.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number_range.h"

enum { MAX_KEYS = 48, FIELDS_DIGITS = 12 };

static double unit_of(const field *f)
{
    return f->unit == 0.0 ? 1.0 : f->unit;
}

static size_t numbers_of(const field *f)
{
    return f->count > 0 ? f->count : 1;
}

static void *field_address(void *block, const field *f)
{
    return (char *)block + f->offset;
}

static const void *const_member(const void *block, const field *f)
{
    return (const char *)block + f->offset;
}

/* ---- reading ---- */

/* Reads a number at the cursor, which is the value of the field or an element of its array. */
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
    if (!number_has_size(number * unit_of(f)))
        return json_fail(at, PLAIT_ERROR_RANGE, err, "expected a number from %g to %g, found %g",
                         NUMBER_SAID_LEAST / unit_of(f), NUMBER_SAID_MOST / unit_of(f), number);
    *out = number * unit_of(f);
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
    if (f->words != NULL)
        return (f->required ? json_word : json_word_optional)(at, f->key, f->words, out, err);
    if (f->is_int)
        return (f->required ? json_int : json_int_optional)(at, f->key, (int)f->least, (int)f->most,
                                                            out, err);
    if (!f->required && !json_has(at, f->key))
        return PLAIT_OK;
    PLAIT_TRY(json_value(at, f->key, &child, err));
    return (f->count > 0 ? read_array : read_number)(&child, f, out, err);
}

static plait_status read_block(const json_cursor *at, const field *fields, const char *const *also,
                               bool has_source, void *out, plait_error *err)
{
    const char *keys[MAX_KEYS + 2];
    size_t count = 0;

    for (const field *f = fields; f->key != NULL; f++) {
        assert(count < MAX_KEYS);
        keys[count++] = f->key;
    }
    for (; also != NULL && *also != NULL; also++) {
        assert(count < MAX_KEYS);
        keys[count++] = *also;
    }
    if (has_source)
        keys[count++] = "source";
    keys[count] = NULL;
    PLAIT_TRY(json_keys_among(at, keys, err));
    for (const field *f = fields; f->key != NULL; f++)
        PLAIT_TRY(read_field(at, f, field_address(out, f), err));
    return PLAIT_OK;
}

plait_status fields_read(const json_cursor *at, const field *fields, const char *const *also,
                         void *out, plait_error *err)
{
    return read_block(at, fields, also, true, out, err);
}

plait_status fields_read_strictly(const json_cursor *at, const field *fields,
                                  const char *const *also, void *out, plait_error *err)
{
    return read_block(at, fields, also, false, out, err);
}

plait_status fields_read_optional(const json_cursor *at, const char *key, const field *fields,
                                  void *out, plait_error *err)
{
    json_cursor child;

    PLAIT_TRY(json_object_optional(at, key, &child, err));
    return json_is_null(&child) ? PLAIT_OK : fields_read(&child, fields, NULL, out, err);
}

/* ---- writing ---- */

/* Returns a number in a unit, rounded to this number of digits. */
static double rounded_in_unit(double number, double unit, int digits)
{
    char text[32];
    double rounded = number / unit;

    text_format(text, sizeof text, "%.*g", digits, rounded);
    return text_parse_number(text, &rounded) ? rounded : number / unit;
}

/*
 * Returns a number in a unit with the fewest digits from which fields_read() gives the same number:
 * the division alone would turn 2.47e-6 s into 2.4699999999999998 us.
 */
static double in_unit(double number, double unit)
{
    for (int digits = FIELDS_DIGITS; unit != 1.0 && digits < 17; digits++) {
        const double rounded = rounded_in_unit(number, unit, digits);
        if (rounded * unit == number)
            return rounded;
    }
    return number / unit;
}

double fields_round(double number, double unit)
{
    return rounded_in_unit(number, unit, FIELDS_DIGITS) * unit;
}

void fields_write_number(json_writer *json, const char *key, double number, double unit)
{
    json_member_number(json, key, in_unit(number, unit));
}

void fields_write(json_writer *json, const field *fields, const void *block)
{
    for (const field *f = fields; f->key != NULL; f++) {
        const void *const at = const_member(block, f);
        const double *const number = at;

        if (f->rare && (f->is_bool ? !*(const bool *)at : *(const int *)at == 0))
            continue;
        if (f->is_bool) {
            json_member_bool(json, f->key, *(const bool *)at);
        } else if (f->words != NULL) {
            json_member_string(json, f->key, f->words[*(const int *)at]);
        } else if (f->is_int) {
            json_member_int64(json, f->key, *(const int *)at);
        } else if (f->count == 0) {
            fields_write_number(json, f->key, *number, unit_of(f));
        } else {
            json_member_row(json, f->key);
            for (size_t i = 0; i < f->count; i++)
                json_write_number(json, in_unit(number[i], unit_of(f)));
            json_end_array(json);
        }
    }
}

void fields_write_member(json_writer *json, const char *key, const field *fields, const void *block)
{
    json_member_object(json, key);
    fields_write(json, fields, block);
    json_end_object(json);
}

/* ---- numbers of a block ---- */

bool fields_any(const field *fields, const void *block)
{
    for (const field *f = fields; f->key != NULL; f++) {
        const void *const at = const_member(block, f);
        const double *const number = at;

        if (f->is_bool || f->is_int || f->words != NULL) {
            if (f->is_bool ? *(const bool *)at : *(const int *)at != 0)
                return true;
            continue;
        }
        for (size_t i = 0; i < numbers_of(f); i++)
            if (number[i] != 0.0)
                return true;
    }
    return false;
}

void fields_blank(const field *fields, void *block)
{
    for (const field *f = fields; f->key != NULL; f++) {
        double *const number = field_address(block, f);

        for (size_t i = 0; i < numbers_of(f); i++)
            number[i] = (double)NAN;
    }
}

/*
 * Returns whether a field is blank. A file has either all numbers of an array or none, so the first
 * one decides.
 */
static bool is_blank(const field *f, const void *block)
{
    return isnan(*(const double *)const_member(block, f));
}

void fields_copy_filled(const field *fields, const void *from, void *to)
{
    for (const field *f = fields; f->key != NULL; f++)
        if (!is_blank(f, from))
            memcpy(field_address(to, f), const_member(from, f), numbers_of(f) * sizeof(double));
}

const char *fields_first_blank(const field *fields, const void *block)
{
    for (const field *f = fields; f->key != NULL; f++)
        if (is_blank(f, block))
            return f->key;
    return NULL;
}
