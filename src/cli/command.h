/* command.h - what main.c needs to know of a command, and what commands share */
#pragma once

#include <stdbool.h>

#include "cli/opt.h"
#include "page/page.h"

/**
 * One verb.
 *
 * `run` prints its answer to stdout. It sets *no when the answer is no: nothing fits, the plan
 * cannot run. A failure is what a status says.
 */
typedef struct command {
    opt_usage usage;
    size_t values_size; /* of the struct that its options fill */
    plait_status (*run)(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err);
} command;

extern const command command_search;
extern const command command_eval;
extern const command command_explain;
extern const command command_operators;
extern const command command_launch;
extern const command command_import;
extern const command command_doctor;
extern const command command_next;
extern const command command_validate;
extern const command command_calibrate;
extern const command command_capacity;
extern const command command_serve;
extern const command command_case;
extern const command command_report;
extern const command command_sweep;
extern const command command_merge;
extern const command command_diff;
extern const command command_models;
extern const command command_clusters;

/**
 * "plait search llama-3.1-8b p5 --seq 8k ...": what was asked, without --threads, --json and -o.
 *
 * @param argv  as of main, from the verb on
 * @return      in `arena`; NULL when out of memory
 */
const char *command_text(int argc, const char *const *argv, plait_arena *arena);

/**
 * Settle where -o sends the document, before the work: "-" is --json, and what cannot be written
 * is refused.
 */
PLAIT_MUST_CHECK plait_status command_output(const char **path, bool *json, plait_error *err);

/** Refuse to write over the file that is read. NULL: none is written. */
PLAIT_MUST_CHECK plait_status command_apart(const char *input, const char *output,
                                            plait_error *err);

/** Refuse, before the work, a file that is no .html, .md, .csv or .json, or cannot be written. */
PLAIT_MUST_CHECK plait_status command_page_check(const char *path, plait_error *err);

/** Write a page in the form that the file's name asks for. */
PLAIT_MUST_CHECK plait_status command_page_write(page *made, const char *path, plait_error *err);

/**
 * Hand a JSON document to where it belongs.
 *
 * @param path   a file, written atomically; NULL: none
 * @param print  also to stdout
 */
PLAIT_MUST_CHECK plait_status command_deliver(const char *text, size_t length, const char *path,
                                              bool print, plait_error *err);

/**
 * The same with plans, which name a runtime's profile that has no name by its file, beside their own:
 * warns when it is not there.
 *
 * @param runtime  as plait_runtime_handle says; NULL: none is named
 */
PLAIT_MUST_CHECK plait_status command_deliver_plans(const char *text, size_t length,
                                                    const char *path, bool print,
                                                    const char *runtime, plait_arena *arena,
                                                    plait_error *err);
