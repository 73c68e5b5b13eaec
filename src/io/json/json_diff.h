/*
 * json_diff.h - differences between two documents, value by value
 *
 * Members are matched by key. The elements of two arrays are matched by name if all of them have
 * different names (an "id", a cluster and a number of GPUs, or the keys of a plan), otherwise by
 * position. Elapsed times and numbers of threads are not compared.
 */
#pragma once

#include "io/json/json.h"

typedef struct json_change {
    const char *at;  /* place: "/plans/0/step_s", or "/rows/dgx-h100 64/days" for a named element */
    const char *a;   /* value in the first document, as text; NULL: missing */
    const char *b;   /* value in the second document, as text; NULL: missing */
    double from, to; /* the two values; NaN unless both are numbers */
} json_change;

typedef struct json_changes {
    int count;
    json_change *change; /* changes in the order of the second document, then removed values */
} json_changes;

/**
 * Compares two documents. *out lives in `arena`.
 *
 * @param names  keys whose values name an element, ended by NULL. If an element has the key of
 *               "=id", that value alone is its name; otherwise the values of all other keys that it
 *               has are joined
 * @return       RANGE if an array or object has more than 8,000 elements
 */
PLAIT_MUST_CHECK plait_status json_diff(const json_cursor *a, const json_cursor *b,
                                        const char *const *names, plait_arena *arena,
                                        json_changes *out, plait_error *err);
