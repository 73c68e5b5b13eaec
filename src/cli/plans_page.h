/* plans_page.h - writes the page of priced plans */
#pragma once

#include "page/page_plans.h"

/**
 * Looks around the first plan (its timeline, what more of each resource buys, the best plan with
 * another value of a key, each a search) and writes the page in the form of the file's name.
 *
 * @param plans    problem, plans, front and command; the rest is found here
 * @param threads  of the searches; 0: as many as the machine has
 */
PLAIT_MUST_CHECK plait_status plans_page_write(const page_plans *plans, const char *output,
                                               int threads, plait_arena *arena, plait_error *err);
