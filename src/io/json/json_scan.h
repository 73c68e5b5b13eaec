/* json_scan.h - what the JSON library would let pass */
#pragma once

#include <stddef.h>

#include "plait/error.h"

/** Arrays and objects inside each other, at most. */
enum { JSON_MAX_DEPTH = 64 };

/**
 * Refuses what cJSON is lenient about: bytes that are not UTF-8, numbers that JSON does not know
 * (01, 1., +1, .5) or that are longer than cJSON reads, raw control characters, the character zero
 * as \u0000 (it would end a C string), nesting beyond JSON_MAX_DEPTH, and an empty text. Other
 * mistakes are left to the parser.
 */
plait_status json_scan(const char *text, size_t length, const char *name,
                       plait_error *err) PLAIT_MUST_CHECK;

/**
 * From where on a mistake means that a text which the scan accepts was cut off: its last byte where arrays
 * or objects are open, the quote of a string without an end. Behind the text where neither is so.
 */
size_t json_cut_from(const char *text, size_t length);

/** Fails with "name:line:column" of the byte at `offset`, both from 1; a column is a character. */
plait_status json_fail_at(const char *text, size_t length, size_t offset, const char *name,
                          const char *expected, plait_error *err) PLAIT_MUST_CHECK;
