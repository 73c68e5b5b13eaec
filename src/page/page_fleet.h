/* page_fleet.h - builds the page of a fleet that serves the requests of a day */
#pragma once

#include "page/page.h"
#include "report/report_fleet.h"

/** *out lives in `arena`, and points to what `report` does. */
PLAIT_MUST_CHECK plait_status page_of_fleet(const report_fleet *report, const char *command,
                                            plait_arena *arena, page **out, plait_error *err);
