/* page_capacity.h - builds the page of plait capacity: days and dollars over the number of GPUs */
#pragma once

#include "page/page.h"
#include "report/report_capacity.h"

/** *out lives in `arena`, and points to what `report` does. */
PLAIT_MUST_CHECK plait_status page_of_capacity(const report_capacity *report, const char *command,
                                               plait_arena *arena, page **out, plait_error *err);
