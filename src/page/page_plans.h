/* page_plans.h - the page of a file of plans: the ranking, and everything about its best plan */
#pragma once

#include "page/page.h"
#include "plait/search.h"
#include "plait/lowlevel/simulate.h"
#include "report/report.h"

/** Another value of one key: the best plan with it. */
typedef struct page_other {
    const char *asked; /* "tp=4" */
    const report_plan
        *plan;       /* the best such plan, or the one that lacks least; NULL: none is legal */
    const char *why; /* it is not the first */
} page_other;

typedef struct page_plans {
    const plait_problem *problem;
    const char *command; /* that found them; NULL: not known */
    int plans;
    const report_plan *plan; /* [plans], the first is told in full */
    int front;
    const report_plan *front_plan; /* [front], fastest first */
    int sensitivities;
    const plait_sensitivity *sensitivity;
    const plait_timeline *timeline; /* NULL: none, */
    const char *no_timeline;        /* because of this, or it has no pipeline: NULL */
    int microbatches;               /* of the timeline; the step may have more */
    int others;
    const page_other *other;
} page_plans;

/** *out lives in `arena`, and points to what `of` does. */
PLAIT_MUST_CHECK plait_status page_of_plans(const page_plans *of, plait_arena *arena, page **out,
                                            plait_error *err);

// ---- its sections

/** Terms of the step, memory, stages, communication. */
void page_plan_price(page *out, const page_plans *of);

/** Which ranks talk to which, and where they lie. */
PLAIT_MUST_CHECK plait_status page_plan_ranks(page *out, const page_plans *of, plait_arena *arena,
                                              plait_error *err);
