/* sums.h - groups of priced runs, and the summary of sweeps */
#pragma once

#include "plait/validate.h"

/** Groups of rows with equal keys (row_key), in order of first appearance. */
typedef struct row_groups {
    size_t count;
    const char **name;  /* [count] */
    const char **scope; /* [count] second part of the key; NULL: none */
    size_t **row;       /* [count][size] indices of rows */
    size_t *size;       /* [count] number of rows per group */
} row_groups;

/**
 * Sets *name and *scope to the key of a row; *scope is NULL before the call. Returns false if the
 * row belongs to no group.
 */
typedef bool row_key(const plait_validation *v, size_t row, const char **name, const char **scope);

/* Keys of rows with a price and a trusted step time: their source, and their sweep. */
row_key row_source, row_sweep;

/** Groups all rows by their key. *out lives in `arena`. */
plait_status groups_of(const plait_validation *v, row_key *key, plait_arena *arena, row_groups *out,
                       plait_error *err) PLAIT_MUST_CHECK;

/**
 * Sets in *v the rank correlations of sweeps, the relative losses if the predicted ranking is
 * followed, and the losses after a few tries. Fails with NOMEM only.
 */
plait_status sum_sweeps(plait_validation *v, const plait_evidence *evidence, plait_arena *arena,
                        plait_error *err) PLAIT_MUST_CHECK;
