/*
 * units.h - writes quantities in units that keep numbers short
 *
 * Each function writes one quantity with its unit into the caller's buffer and returns that buffer,
 * so that it can be an argument of printf():
 *
 *     char text[UNITS_SIZE];
 *
 *     printf("step %s
 * ", units_seconds(cost.step_s, text));
 *
 * NaN and infinity are written as "-".
 */
#pragma once

#include <math.h>

enum { UNITS_SIZE = 48 };

/** Writes memory, always in GiB so that columns compare: "71.3 GiB". */
char *units_gib(double bytes, char text[UNITS_SIZE]);

/** Writes bytes in the largest suitable unit: "512 B", "1.5 MiB", "71.3 GiB". */
char *units_bytes(double bytes, char text[UNITS_SIZE]);

/** Writes seconds with three digits: "4.00 us", "81.2 ms", "9.87 s", "1.50 h". */
char *units_seconds(double seconds, char text[UNITS_SIZE]);

/**
 * Writes the latency of a request; below 10 s always in ms so that columns compare: "37.0 ms", "915
 * ms", "37.6 s".
 */
char *units_latency(double seconds, char text[UNITS_SIZE]);

/** Writes a count with three digits: "512", "16.4 k", "8.39 M", "70.6 B", "1.04 T". */
char *units_count(double count, char text[UNITS_SIZE]);

/** Writes a fraction of one as a percentage: "41.3 %". */
char *units_percent(double share, char text[UNITS_SIZE]);

/** Writes a relative change as a percentage: "+4.1 %". */
char *units_signed_percent(double share, char text[UNITS_SIZE]);

/**
 * Writes a number with three digits, or with all digits before the point: "0.123", "12.3", "1234".
 */
char *units_number(double number, char text[UNITS_SIZE]);

/** Writes a rate with an SI prefix and three digits: (450e9, "B/s") gives "450 GB/s". */
char *units_rate(double per_s, const char *unit, char text[UNITS_SIZE]);

/**
 * A cell of a table or page: a text, or a number with its format. NaN is written as "-".
 *
 *     TABLE_ROW(rows, as_text(plan->name), as_int(plan->gpus), as_seconds(plan->step_s));
 */
typedef struct table_value {
    const char *text;                 /* text of the cell; NULL: the cell is a number */
    double number;                    /* number of the cell; NaN if it is a text */
    const char *format;               /* format of printf() for the number */
    char *(*written)(double, char *); /* function that writes the number, in place of `format` */
    const char *unit;                 /* unit of units_rate(), in place of both */
} table_value;

#define as_text(text_) ((table_value){.text = text_, .number = (double)NAN})
#define as_format(format_, value) ((table_value){.number = value, .format = format_})
#define as_int(value) as_format("%.0f", value)
#define as_rate(value, unit_) ((table_value){.number = value, .unit = unit_})
#define as_quantity(value, function) ((table_value){.number = value, .written = function})
#define as_gib(bytes) as_quantity(bytes, units_gib)
#define as_bytes(bytes) as_quantity(bytes, units_bytes)
#define as_seconds(seconds) as_quantity(seconds, units_seconds)
#define as_latency(seconds) as_quantity(seconds, units_latency)
#define as_count(count) as_quantity(count, units_count)
#define as_percent(share) as_quantity(share, units_percent)
#define as_signed_percent(share) as_quantity(share, units_signed_percent)
#define as_number(number) as_quantity(number, units_number)

enum { VALUE_SIZE = 256 };

/** Returns the text of a cell; the text of a number is written to `text`. */
const char *cell_text(const table_value *of, char text[VALUE_SIZE]);

#define CELLS(...)                                                                                 \
    (const table_value[]){__VA_ARGS__},                                                            \
        sizeof((const table_value[]){__VA_ARGS__}) / sizeof(table_value)
