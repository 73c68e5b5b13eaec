/*
 * calibrate.h - the constants of an accelerator from measurements
 *
 *     point_list points;
 *     calibrate_result result;
 *
 *     points_init(&points, arena);
 *     PLAIT_TRY(points_read("gemm.csv", arena, &points, err));
 *     PLAIT_TRY(calibrate_accelerator("h100-80gb-sxm", &points, arena, &result, err));
 *
 * The result is the accelerator's own file with the fitted blocks in place of those that it had.
 * What it does not measure stays: data-sheet figures, and blocks that no point is about. Where the
 * accelerator has no measurements of its own but shares a die or links with one that has
 * (names.h), it gets that one's blocks.
 */
#pragma once

#include "calibrate/family.h"

/** One block of constants that was fitted. */
typedef struct calibrate_block {
    const family *family;
    int block;
    const char *name;      /* "gemm.bf16" */
    const char *source;    /* "aic:trtllm-1.3.0rc20": whose rows counted */
    const char *stands_in; /* the accelerator that was measured, if it is another */
    fit_errors errors;
    bool used; /* at most 25 % off on what was held out; else the file keeps what it has */
    int numbers;
    fit_number number[FIT_MAX_NUMBERS];
    double value[FIT_MAX_NUMBERS]; /* base units */
    bool written[FIT_MAX_NUMBERS]; /* else its default says the same */
} calibrate_block;

typedef struct calibrate_result {
    const char *name; /* of the accelerator */
    int blocks;
    calibrate_block *block;
    const char *text; /* its file */
    size_t length;
} calibrate_result;

/**
 * Which accelerator the points are about.
 *
 * @param asked  a name from the command line, or NULL
 * @param list   points of a table with names of its own get the name, when no other names are known
 *
 * Fails (RANGE) when they name none, or several and `asked` is NULL.
 */
PLAIT_MUST_CHECK plait_status calibrate_name(const char *asked, point_list *list, const char **out,
                                             plait_error *err);

/** Fit all that the points tell. A result without blocks has the file as it was. */
PLAIT_MUST_CHECK plait_status calibrate_accelerator(const char *name, const point_list *points,
                                                    plait_arena *arena, calibrate_result *out,
                                                    plait_error *err);
