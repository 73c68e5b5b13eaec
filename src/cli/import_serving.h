/* import_serving.h - plait import --from vllm, sglang */
#pragma once

#include "cli/opt.h"
#include "plait/error.h"

/** Whether --from names a serving engine. */
bool import_is_serving(const char *from);

/** Prints the worker that a command line says and the `plait serve --eval` that prices it. */
plait_status import_serving(const char *from, const opt_operands *operands, const char *model,
                            const char *cluster, plait_arena *arena,
                            plait_error *err) PLAIT_MUST_CHECK;
