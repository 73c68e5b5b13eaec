/* variants.h - counts the variants of the plans of a ranking, in a pass of its own (S.96) */
#pragma once

#include "search/exhaustive/exhaustive.h"

/** Upper bound on the objective of a variant. */
double variants_most(const search_run *run);

/** Counts a plan that fits if it is a variant: of its ranked plan, which it is not itself. */
void variants_count(const search_run *run, search_worker *worker, search_found *found,
                    plan_point *plan);

/** Return whether a row, or its pipelines of one pp, may contain a variant. */
bool variants_in_row(const search_run *run, const plait_degrees *row);
bool variants_in_pipeline(const search_run *run, const plait_degrees *pipeline);
