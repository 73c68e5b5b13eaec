/* log.h - finds parts of a training log, for targets whose software prints its config there */
#pragma once

#include "plait/arena.h"
#include "plait/error.h"

/** Returns the last occurrence of a text in a log; NULL: none. */
char *log_last(char *log, const char *text);

/**
 * Copy a JSON object of several lines, whose opening brace is at `at`. Omit the prefix that a
 * launcher puts before each line (a rank, a host), and lines of other ranks.
 *
 * @param what  name of the object in messages
 * @param out   lives in `arena`
 *
 * Fails (SYNTAX) if the log ends before the object does.
 */
PLAIT_MUST_CHECK plait_status log_object(const char *at, const char *what, const char *name,
                                         plait_arena *arena, char **out, plait_error *err);
