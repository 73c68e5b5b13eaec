/* command.h - what main.c needs to know of a command, and what commands share */
#ifndef COMMAND_H
#define COMMAND_H

#include <stdbool.h>

#include "opt.h"

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
extern const command command_case;
extern const command command_models;
extern const command command_clusters;

/**
 * Settle where -o sends the document, before the work: "-" is --json, and what cannot be written
 * is refused.
 */
PLAIT_MUST_CHECK plait_status command_output(const char **path, bool *json, plait_error *err);

/**
 * Hand a JSON document to where it belongs.
 *
 * @param path   a file, written atomically; NULL: none
 * @param print  also to stdout
 */
PLAIT_MUST_CHECK plait_status command_deliver(const char *text, size_t length, const char *path,
                                              bool print, plait_error *err);

#endif
