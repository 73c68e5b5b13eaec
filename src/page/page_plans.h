/* page_plans.h - builds the page of a file of plans: the ranking, and the price of its best plan */
#pragma once

#include "page/page.h"
#include "plait/search.h"
#include "plait/lowlevel/simulate.h"
#include "report/report.h"

/** The best plan with another value of one key. */
typedef struct page_other {
    const char *asked; /* "tp=4" */
    const report_plan
        *plan;       /* best such plan, or the closest infeasible one; NULL: none is legal */
    const char *why; /* reason why it is not the first */
} page_other;

typedef struct page_plans {
    const plait_problem *problem;
    const char *command; /* command line of the search; NULL: unknown */
    int plans;
    const report_plan *plan; /* [plans] in the order of the ranking */
    int front;
    const report_plan *front_plan; /* [front], fastest first */
    int sensitivities;
    const plait_sensitivity *sensitivity;
    const plait_timeline *timeline; /* NULL: no pipeline, or not simulated */
    const char *no_timeline;        /* reason why it is not simulated; NULL: no pipeline */
    int microbatches;               /* microbatches of the timeline; the step may have more */
    int others;
    const page_other *other;
} page_plans;

/** *out lives in `arena`, and points to what `of` does. */
PLAIT_MUST_CHECK plait_status page_of_plans(const page_plans *of, plait_arena *arena, page **out,
                                            plait_error *err);

/** Adds the traffic between ranks and their placement on nodes. */
PLAIT_MUST_CHECK plait_status page_plan_ranks(page *out, const page_plans *of, plait_arena *arena,
                                              plait_error *err);
