/* json_copy.h - writing parsed values again, and strings that are not plain text */
#pragma once

#include "io/json/json.h"
#include "io/json/json_write.h"

/** Writes the value at a cursor: its members in their order, numbers in the fewest digits. */
void json_copy(json_writer *json, const json_cursor *at);

/**
 * Returns the characters of a string, which may contain line ends and other controls; NULL if the
 * value is no string. They live as long as the document.
 */
const char *json_characters(const json_cursor *at);
