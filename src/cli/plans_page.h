/* plans_page.h - writes the page of priced plans */
#pragma once

#include "page/page_plans.h"

/**
 * Write the page of plans in the format of the file's ending. The first plan gets a timeline,
 * sensitivities, and a search for the best plan with another value of each key.
 *
 * @param plans    problem, plans, front and command; the other members are found here
 * @param threads  threads of the searches; 0: all of the machine
 */
PLAIT_MUST_CHECK plait_status plans_page_write(const page_plans *plans, const char *output,
                                               int threads, plait_arena *arena, plait_error *err);
