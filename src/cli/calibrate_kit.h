/* calibrate_kit.h - `plait calibrate --kit`: the benchmarks to run on a site */
#pragma once

#include "cli/opt.h"
#include "plait/arena.h"
#include "plait/error.h"

/**
 * Write the files of clusters/kit into a folder, all of them or none.
 *
 * @param force  the folder may have other files, such as results, which stay
 */
PLAIT_MUST_CHECK plait_status calibrate_kit(const char *path, const opt_operands *operands,
                                            bool force, plait_arena *arena, plait_error *err);
