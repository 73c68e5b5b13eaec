/* command.h - the interface of a command to main.c, and helpers that commands share */
#pragma once

#include <stdbool.h>

#include "cli/opt.h"
#include "io/json/json_write.h"
#include "page/page.h"

/**
 * One command of the program.
 *
 * `run` prints the answer to standard output and sets *no if the answer is negative: no plan fits,
 * or the plan cannot run. It fails for invalid input and for faults of the machine.
 */
typedef struct command {
    opt_usage usage;
    size_t values_size; /* size of the struct that the options fill */
    plait_status (*run)(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err);
} command;

extern const command command_search, command_eval, command_explain, command_operators,
    command_launch, command_import, command_validate, command_calibrate, command_case,
    command_models, command_clusters, command_next, command_capacity, command_serve, command_rl,
    command_doctor, command_report, command_sweep, command_merge, command_diff, command_schema,
    command_mcp;

/**
 * Return the command line in shell syntax, "plait search llama-3.1-8b p5 --seq 8k ...", without the
 * options that do not affect the answer: --threads, --json, --wide and -o.
 *
 * @param argv  arguments of main from the command on
 * @return      text in `arena`; NULL when out of memory
 */
const char *command_text(int argc, const char *const *argv, plait_arena *arena);

/** Run a command. `argv` begins with the command's name, as in command_text(). */
PLAIT_MUST_CHECK plait_status command_run(const command *verb, int argc, const char **argv,
                                          plait_arena *arena, bool *no, plait_error *err);

/** Check that the file of -o can be written, before any other work. The path "-" becomes --json. */
PLAIT_MUST_CHECK plait_status command_output(const char **path, bool *json, plait_error *err);

/** Fail if `output` is the same file as `input`; `output` may be NULL. */
PLAIT_MUST_CHECK plait_status command_apart(const char *input, const char *output,
                                            plait_error *err);

/**
 * Check that the path of a page ends in .html, .md, .csv or .json and can be written, before any
 * other work.
 */
PLAIT_MUST_CHECK plait_status command_page_check(const char *path, plait_error *err);

/** Write a page in the format that the extension of its path selects. */
PLAIT_MUST_CHECK plait_status command_page_write(page *made, const char *path, plait_error *err);

/**
 * Write a text to a file and to standard output.
 *
 * @param path  file, written atomically; may be NULL
 */
PLAIT_MUST_CHECK plait_status command_deliver(const char *text, size_t length, const char *path,
                                              bool print, plait_error *err);

/** Begin a JSON document, whose root is an object. */
void command_begin_json(json_writer *json, plait_arena *arena);

/** End the document and write it as command_deliver() does. */
PLAIT_MUST_CHECK plait_status command_deliver_json(json_writer *json, const char *path, bool print,
                                                   plait_error *err);

/**
 * Write the document of an import that results in a command, {"plait": ..., "command": ...}, if it
 * is requested.
 */
PLAIT_MUST_CHECK plait_status command_deliver_command(const char *line, const char *path,
                                                      bool print, plait_arena *arena,
                                                      plait_error *err);

/**
 * Warn if the document `path` refers to a runtime profile by a path, because readers look for that
 * profile in the folder of the document. Both arguments may be NULL.
 *
 * @param runtime  result of plait_runtime_handle
 */
PLAIT_MUST_CHECK plait_status command_check_runtime(const char *path, const char *runtime,
                                                    plait_arena *arena, plait_error *err);
