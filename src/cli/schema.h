/*
 * schema.h - JSON Schemas of the answers of commands
 *
 * docs/answers.schema.json, which the program contains, has all of them with their parts. The schema
 * of one command has only the parts that it refers to, so it needs no other document.
 */
#pragma once

#include "io/json/json_write.h"

/** The file inside the program: cmake/embed.cmake writes it. */
typedef struct schema_file {
    const char *text;
    size_t length;
} schema_file;

extern const schema_file schema_answers;

/**
 * Write the schema of all answers of a command as one value: an object.
 *
 * @param url  "$schema" and "$id" are members as well
 * @return     RANGE if the command has no such answers; the message lists those that have
 */
PLAIT_MUST_CHECK plait_status schema_write(json_writer *json, const char *command, bool url,
                                           plait_arena *arena, plait_error *err);

/** List the commands that have schemas, ended by NULL; the names live in `arena`. */
PLAIT_MUST_CHECK plait_status schema_commands(plait_arena *arena, const char ***names,
                                              plait_error *err);
