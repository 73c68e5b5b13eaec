/* sums.h - groups of priced runs, and the summary of sweeps */
#pragma once

#include "plait/validate.h"

/** Rows grouped by a text of theirs, in order of first appearance. */
typedef struct row_groups {
    size_t count;
    const char **name;  /* [count] */
    const char **scope; /* [count] second text of the key, or NULL */
    size_t **row;       /* [count][size] indices of rows */
    size_t *size;       /* [count] rows per group */
} row_groups;

/**
 * Sets the key of a row; `scope` is NULL unless set. Returns false if the row belongs to no group.
 */
typedef bool row_key(const plait_validation *v, size_t row, const char **name, const char **scope);

/* The source and the sweep of a row with a price and a trusted step time. */
row_key row_source, row_sweep;

/** Groups all rows by their key. *out lives in `arena`. */
plait_status groups_of(const plait_validation *v, row_key *key, plait_arena *arena, row_groups *out,
                       plait_error *err) PLAIT_MUST_CHECK;

/**
 * Sets the rank correlations of sweeps, the regret of following the predicted ranking, and the
 * losses after a few tries. Fails with NOMEM only.
 */
plait_status sum_sweeps(plait_validation *v, const plait_evidence *evidence, plait_arena *arena,
                        plait_error *err) PLAIT_MUST_CHECK;
