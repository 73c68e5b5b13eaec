/* groups.h - rows by the text that they share, in order of first appearance */
#pragma once

#include "plait/validate.h"

typedef struct row_groups {
    size_t count;
    const char **name;  /* [count] */
    const char **scope; /* [count]: a second text, or NULL */
    size_t **row;       /* [count][size] */
    size_t *size;       /* [count] */
} row_groups;

/** The texts of a row; false: the row belongs to no group. */
typedef bool row_key(const plait_validation *validation, size_t row, const char **name,
                     const char **scope);

/** Groups all rows by their key. *out lives in `arena`. */
plait_status groups_of(const plait_validation *validation, row_key *key, plait_arena *arena,
                       row_groups *out, plait_error *err) PLAIT_MUST_CHECK;
