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
 * The result is the text of the accelerator's file, in which fitted blocks replace the old ones.
 * Data-sheet figures and blocks without points stay unchanged. An accelerator without measurements
 * gets the blocks of a measured accelerator with the same die or the same links (names.c).
 */
#pragma once

#include "calibrate/family.h"

/** One fitted block of constants. */
typedef struct calibrate_block {
    const family *family;
    int block;
    const char *name;      /* name in reports, such as "gemm bf16" */
    const char *source;    /* source of the fitted rows, such as "aic:trtllm-1.3.0rc20" */
    const char *stands_in; /* accelerator whose points were fitted; NULL: this one */
    fit_errors errors;
    /* whether the file gets the block: the mean error on held-out points is at most 25 % */
    bool used;
    int numbers;
    fit_number number[FIT_MAX_NUMBERS];
    double value[FIT_MAX_NUMBERS]; /* fitted values, in base units */
    bool written[FIT_MAX_NUMBERS]; /* whether the file gets the number; if not, it is the default */
} calibrate_block;

typedef struct calibrate_result {
    const char *name; /* name of the accelerator, as in its file */
    int blocks;
    calibrate_block *block;
    const char *text; /* text of the accelerator's file with the fitted blocks */
    size_t length;
} calibrate_result;

/**
 * Finds the accelerator that the points were measured on.
 *
 * @param asked  a name from the command line, or NULL
 * @param list   points; if names.c lists none of their names, the function clears these names, so
 *               that all points count for `asked`
 *
 * Fails (RANGE) if `asked` is NULL and the points name no known accelerator or several ones. Also
 * fails if they name several accelerators that names.c does not list.
 */
PLAIT_MUST_CHECK plait_status calibrate_name(const char *asked, point_list *list, const char **out,
                                             plait_error *err);

/**
 * Fits every block that has enough points. If no block has enough, the result contains no blocks,
 * and its text is the unchanged file.
 */
PLAIT_MUST_CHECK plait_status calibrate_accelerator(const char *name, const point_list *points,
                                                    plait_arena *arena, calibrate_result *out,
                                                    plait_error *err);
