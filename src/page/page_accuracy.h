/* page_accuracy.h - builds the page of plait validate: measured runs beside predictions */
#pragma once

#include "page/page.h"
#include "plait/validate.h"

/** *out lives in `arena`, and points to what `validation` does. */
PLAIT_MUST_CHECK plait_status page_of_accuracy(const plait_validation *validation,
                                               const char *command, plait_arena *arena, page **out,
                                               plait_error *err);
