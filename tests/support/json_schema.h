/* json_schema.h - checking JSON against a JSON Schema (draft 2020-12), as far as ours go
 *
 * Known: type, const and enum of words and numbers, minimum, maximum, pattern (POSIX extended),
 * properties, required, additionalProperties, items, minItems, maxItems, $ref to #/$defs. Any other
 * keyword that is no annotation is a failure, so that nothing in a schema is silently passed over.
 */
#pragma once

#include "plait/error.h"

/**
 * Fails where `text` is not what the schema asks for, or where the schema is not understood.
 *
 * @param schema_path  a file
 * @param name         stands for the text in messages
 */
PLAIT_MUST_CHECK plait_status json_schema_check(const char *schema_path, const char *text,
                                                const char *name, plait_error *err);
