/*
 * ranges.h - what each fitted constant can physically be
 *
 * The bounds of every fit, and what a test holds the shipped accelerators to.
 */
#pragma once

#include "plait/cluster.h"

#include "calibrate/fit.h"

/**
 * A number with its bounds filled in.
 *
 * @param section, key  as in an accelerator file: "gemm", "emax"
 * @param offset        of the constant in plait_accelerator
 * @param accelerator   whose wire and memory bound its rates
 */
fit_number range_number(const char *section, const char *key, size_t offset,
                        const plait_accelerator *accelerator);
