/* log.h - parts of a training log, for targets whose software prints its config there */
#pragma once

#include "plait/arena.h"
#include "plait/error.h"

/** The last occurrence of a text in a log; NULL: none. */
char *log_last(char *log, const char *text);

/**
 * Copy the JSON object of several lines that begins at `at`, its brace, without the prefix that a
 * launcher puts before each line (a rank, a host) and without lines of other ranks.
 *
 * @param what  the object in messages
 * @param out   lives in `arena`
 *
 * Fails (SYNTAX) if the log ends before the object does.
 */
PLAIT_MUST_CHECK plait_status log_object(const char *at, const char *what, const char *name,
                                         plait_arena *arena, char **out, plait_error *err);
