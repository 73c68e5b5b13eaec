/*
 * ranges.h - physical bounds of each fitted constant
 *
 * Fits of accelerators and networks use these bounds, and a test checks the shipped accelerators
 * against them.
 */
#pragma once

#include "plait/cluster.h"

#include "calibrate/fit.h"

/**
 * Returns a number to fit, with its unit and bounds filled in.
 *
 * @param section, key  as in an accelerator file: "gemm", "emax"
 * @param offset        of the constant in plait_accelerator
 * @param accelerator   its wire and memory rates bound the number, if that is a rate
 */
fit_number range_number(const char *section, const char *key, size_t offset,
                        const plait_accelerator *accelerator);
