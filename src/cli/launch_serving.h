/* launch_serving.h - plait launch of an answer of `plait serve` */
#pragma once

#include "plait/serve_launch.h"

typedef struct launch_serving_flags {
    const char *target; /* NULL: the answer's engine */
    const char *output;
    const char *container;
    const char *form;  /* NULL: scripts */
    const char *model; /* checkpoint; NULL: the one that the model's numbers come from */
    bool force;
} launch_serving_flags;

/** Writes the files of "FILE" or "FILE:RANK" and says which. */
plait_status launch_serving(const char *file, const launch_serving_flags *flags, plait_arena *arena,
                            plait_error *err) PLAIT_MUST_CHECK;
