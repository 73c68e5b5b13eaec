/* validate_serving.h - plait validate --serving: measured runs of serving against predictions */
#pragma once

#include "plait/serve_runs.h"

/**
 * Price the runs of a file and print errors, or with `json` the document.
 *
 * @param unseen  each by engines fitted to the file without its source
 */
PLAIT_MUST_CHECK plait_status validate_serving(const char *path, bool unseen, bool json,
                                               plait_arena *arena, plait_error *err);
