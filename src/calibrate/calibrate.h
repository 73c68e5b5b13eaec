/*
 * calibrate.h - fit the constants of an accelerator to measurements
 *
 *     point_list points;
 *     calibrate_result result;
 *
 *     points_init(&points, arena);
 *     PLAIT_TRY(points_read("gemm.csv", arena, &points, err));
 *     PLAIT_TRY(calibrate_accelerator("h100-80gb-sxm", &points, arena, &result, err));
 *
 * The result is the accelerator's own file with the fitted blocks in place of the old ones.
 * Data-sheet figures, and blocks that no point measures, stay as they are. An accelerator without
 * measurements of its own takes the blocks of a measured accelerator with the same die or the same
 * links (names.c).
 */
#pragma once

#include "calibrate/family.h"

/** One fitted block of constants. */
typedef struct calibrate_block {
    const family *family;
    int block;
    const char *name;      /* as in reports: "gemm bf16" */
    const char *source;    /* of the fitted rows: "aic:trtllm-1.3.0rc20" */
    const char *stands_in; /* measured accelerator, NULL if it is this one */
    fit_errors errors;
    bool used; /* mean error on held-out points at most 25 %; else the file keeps the old block */
    int numbers;
    fit_number number[FIT_MAX_NUMBERS];
    double value[FIT_MAX_NUMBERS]; /* base units */
    bool written[FIT_MAX_NUMBERS]; /* false: equal to its default */
} calibrate_block;

typedef struct calibrate_result {
    const char *name; /* of the accelerator, as in its file */
    int blocks;
    calibrate_block *block;
    const char *text; /* of the accelerator's file with the fitted blocks */
    size_t length;
} calibrate_result;

/**
 * Finds the accelerator that the points were measured on.
 *
 * @param asked  a name from the command line, or NULL
 * @param list   if names.c lists none of the names in the points, they are cleared: all points
 *               then count for `asked`
 *
 * Fails (RANGE) when `asked` is NULL and the points name no known accelerator or several, and when
 * they name several accelerators that names.c does not list.
 */
PLAIT_MUST_CHECK plait_status calibrate_name(const char *asked, point_list *list, const char **out,
                                             plait_error *err);

/**
 * Fits every block that has enough points. If no block has, the result has none, and its text is
 * the file without changes.
 */
PLAIT_MUST_CHECK plait_status calibrate_accelerator(const char *name, const point_list *points,
                                                    plait_arena *arena, calibrate_result *out,
                                                    plait_error *err);
