/* json_private.h - error messages and strict scan of the JSON reader */
#pragma once

#include "io/json/json.h"

// ---- messages ----------------------------------------------------------------------------------

enum { JSON_FOUND_SIZE = 64 };

/**
 * Describes a value for a message: "-8", "\"abc\"", "an object", or "nothing" for a missing one.
 * Returns `out`.
 */
const char *json_found(const json_cursor *at, char out[JSON_FOUND_SIZE]);

/**
 * Fails with a message such as "expected the key "heads", found "haeds"", or with the whole list if
 * no word is near. Without `is_key`, the words are values rather than keys.
 */
plait_status json_fail_word(const json_cursor *at, bool is_key, const char *found,
                            const char *const *words, plait_error *err) PLAIT_MUST_CHECK;

// ---- json_scan.c -------------------------------------------------------------------------------

/** Largest nesting depth of arrays and objects. */
enum { JSON_MAX_DEPTH = 64 };

/**
 * Refuses texts that cJSON accepts although JSON or plait does not: bytes that are not UTF-8,
 * malformed numbers (01, 1., +1, .5), numbers longer than cJSON reads, raw control characters, the
 * escape \u0000 (it would end a C string), nesting beyond JSON_MAX_DEPTH, and an empty text. The
 * parser finds other mistakes.
 */
plait_status json_scan(const char *text, size_t length, const char *name,
                       plait_error *err) PLAIT_MUST_CHECK;

/**
 * Returns the smallest offset at which a parser's error means that the text was cut off: the last
 * byte if arrays or objects are open, the opening quote of an unclosed string, or otherwise length
 * + 1.
 */
size_t json_cut_from(const char *text, size_t length);

/**
 * Fails with "name:line:column" of the byte at `offset`. Lines and columns are counted from 1,
 * columns in characters.
 */
plait_status json_fail_at(const char *text, size_t length, size_t offset, const char *name,
                          const char *expected, plait_error *err) PLAIT_MUST_CHECK;
