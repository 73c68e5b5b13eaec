/* calibrate_evidence.h - `plait calibrate --evidence`: what predictions are worth, source by source */
#pragma once

#include "cli/calibrate_sink.h"
#include "cli/opt.h"
#include "plait/arena.h"
#include "plait/error.h"

PLAIT_MUST_CHECK plait_status calibrate_evidence(const char *runs, const opt_operands *operands,
                                                 const calibrate_sink *sink, plait_arena *arena,
                                                 plait_error *err);
