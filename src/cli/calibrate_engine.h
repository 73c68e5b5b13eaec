/* calibrate_engine.h - plait calibrate --engine: a serving engine's numbers from measured runs */
#pragma once

#include "cli/calibrate_sink.h"
#include "cli/opt.h"

/** Fit the profile of a name to the runs of the one operand. *no: none is of it. */
PLAIT_MUST_CHECK plait_status calibrate_engine(const char *name, const opt_operands *operands,
                                               const calibrate_sink *sink, plait_arena *arena,
                                               bool *no, plait_error *err);
