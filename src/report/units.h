/* units.h - quantities as people read them
 *
 * Each function writes one quantity with its unit into the caller's buffer and returns that buffer,
 * so that a report can say it in the middle of a printf:
 *
 *     char text[UNITS_SIZE];
 *
 *     printf("step %s\n", units_seconds(cost.step_s, text));
 *
 * What is not a number is written as "-".
 */
#pragma once

enum { UNITS_SIZE = 48 };

/** Memory, always in one unit so that columns compare: "71.3 GiB". */
char *units_gib(double bytes, char text[UNITS_SIZE]);

/** A buffer, in the unit that suits it: "512 B", "1.5 MiB", "71.3 GiB". */
char *units_bytes(double bytes, char text[UNITS_SIZE]);

/** Three digits: "4.00 us", "81.2 ms", "9.87 s", "1.50 h". */
char *units_seconds(double seconds, char text[UNITS_SIZE]);

/** What a request waits, in one unit so that columns compare, up to 10 s: "37.0 ms", "915 ms", "37.6 s". */
char *units_latency(double seconds, char text[UNITS_SIZE]);

/** Three digits: "512", "16.4 k", "8.39 M", "70.6 B", "1.04 T". */
char *units_count(double count, char text[UNITS_SIZE]);

/** A share of one: "41.3 %". */
char *units_percent(double share, char text[UNITS_SIZE]);

/** "0.123", "12.3", "1234": three digits, or all before the point. */
char *units_number(double number, char text[UNITS_SIZE]);

/** A rate with an SI prefix and three digits: (450e9, "B/s") is "450 GB/s". */
char *units_rate(double per_s, const char *unit, char text[UNITS_SIZE]);
