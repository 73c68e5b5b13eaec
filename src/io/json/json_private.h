/* json_private.h - what the halves of the JSON reader share */
#pragma once

#include "io/json/json.h"

enum { JSON_FOUND_SIZE = 64 };

/** What a message says was found: "-8", "\"abc\"", "an object", "nothing". Returns `out`. */
const char *json_found(const json_cursor *at, char out[JSON_FOUND_SIZE]);

/** "expected the key "heads", found "haeds"", or the list of words when none is near. */
plait_status json_fail_word(const json_cursor *at, const char *what, const char *found,
                            const char *const *words, plait_error *err) PLAIT_MUST_CHECK;
