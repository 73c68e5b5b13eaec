/* variants.h - how many plans are alike to one of the ranking, in a pass of its own (S.96) */
#pragma once

#include "search/exhaustive/exhaustive.h"

/** The objective of no variant is above it. */
double variants_most(const search_run *run);

/** Counts a plan that fits, if it is a variant. */
void variants_count(const search_run *run, search_worker *worker, search_found *found,
                    plan_point *plan);

/** May a row, or its pipelines of one pp, have a variant? */
bool variants_in_row(const search_run *run, const plait_degrees *row);
bool variants_in_pipeline(const search_run *run, const plait_degrees *pipeline);
