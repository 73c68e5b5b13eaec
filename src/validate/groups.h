/* groups.h - group rows by a text of theirs, in order of first appearance */
#pragma once

#include "plait/validate.h"

typedef struct row_groups {
    size_t count;
    const char **name;  /* [count] */
    const char **scope; /* [count] second text of the key, or NULL */
    size_t **row;       /* [count][size] indices of rows */
    size_t *size;       /* [count] rows per group */
} row_groups;

/** Sets the key of a row. Returns false if the row belongs to no group. */
typedef bool row_key(const plait_validation *validation, size_t row, const char **name,
                     const char **scope);

/** Groups all rows by their key. *out lives in `arena`. */
plait_status groups_of(const plait_validation *validation, row_key *key, plait_arena *arena,
                       row_groups *out, plait_error *err) PLAIT_MUST_CHECK;
