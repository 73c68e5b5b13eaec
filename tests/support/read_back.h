/* read_back.h - is a launch config that was read back still the same plan? */
#pragma once

#include "plait/launch.h"

/**
 * Read a file of a launch folder and compare it with what it was made from: every degree, the job,
 * and, where the file says a model, the price of that model.
 *
 * @return NULL when it is the same, else a sentence in `arena`
 */
const char *read_back_difference(const plait_launch *launch, plait_launch_target target,
                                 const char *text, plait_arena *arena);
