/* units.h - writes quantities with units that keep numbers short
 *
 * Each function writes one quantity with its unit into the caller's buffer and returns that buffer,
 * for use among the arguments of printf:
 *
 *     char text[UNITS_SIZE];
 *
 *     printf("step %s\n", units_seconds(cost.step_s, text));
 *
 * NaN and infinity are written as "-".
 */
#pragma once

enum { UNITS_SIZE = 48 };

/** Memory, always in one unit so that columns compare: "71.3 GiB". */
char *units_gib(double bytes, char text[UNITS_SIZE]);

/** Bytes in the largest suitable unit: "512 B", "1.5 MiB", "71.3 GiB". */
char *units_bytes(double bytes, char text[UNITS_SIZE]);

/** Three digits: "4.00 us", "81.2 ms", "9.87 s", "1.50 h". */
char *units_seconds(double seconds, char text[UNITS_SIZE]);

/** Latency of a request, below 10 s always in ms so that columns compare: "37.0 ms", "915 ms", "37.6 s". */
char *units_latency(double seconds, char text[UNITS_SIZE]);

/** Three digits: "512", "16.4 k", "8.39 M", "70.6 B", "1.04 T". */
char *units_count(double count, char text[UNITS_SIZE]);

/** A share of one: "41.3 %". */
char *units_percent(double share, char text[UNITS_SIZE]);

/** "0.123", "12.3", "1234": three digits, or all before the point. */
char *units_number(double number, char text[UNITS_SIZE]);

/** A rate with an SI prefix and three digits: (450e9, "B/s") is "450 GB/s". */
char *units_rate(double per_s, const char *unit, char text[UNITS_SIZE]);
