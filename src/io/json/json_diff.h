/* json_diff.h - what differs between two documents, value by value
 *
 * Members are matched by key. Elements of an array are matched by what they call themselves, where all
 * of them have a name of their own ("id", or cluster and GPUs, or the keys of a plan), else by their
 * place. Clocks and numbers of threads do not count.
 */
#pragma once

#include "io/json/json.h"

typedef struct json_change {
    const char *at;  /* "/plans/0/step_s", or "/rows/dgx-h100 64/days" of a named element */
    const char *a;   /* as text; NULL: not there */
    const char *b;   /* likewise */
    double from, to; /* NaN unless both are numbers */
} json_change;

typedef struct json_changes {
    int count;
    json_change
        *change; /* in the order of the second document, what only the first has at its end */
} json_changes;

/**
 * Compare. *out lives in `arena`.
 *
 * @param names  keys that an element may call itself by, NULL-terminated: "=id" by that alone, the others
 *               by all of them that it has
 * @return       RANGE where an array or object has more than 8,000 elements
 */
PLAIT_MUST_CHECK plait_status json_diff(const json_cursor *a, const json_cursor *b,
                                        const char *const *names, plait_arena *arena,
                                        json_changes *out, plait_error *err);
