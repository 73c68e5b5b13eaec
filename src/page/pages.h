/*
 * pages.h - builds the pages of commands
 *
 * Each page lives in `arena` and refers to data of its first argument.
 */
#pragma once

#include "page/page.h"
#include "report/report.h"
#include "plait/search.h"
#include "plait/lowlevel/simulate.h"
#include "plait/validate.h"
#include "report/report_capacity.h"
#include "report/report_fleet.h"

/**
 * Writes the peak rate to which MFU refers, "989 TFLOP/s bf16 dense"; a mixed cluster has one peak
 * for each kind of GPU.
 */
void page_peak_text(const plait_problem *problem, char *text, size_t size);

/**
 * Adds the assumption "of 989 TFLOP/s bf16 dense (h100-80gb-sxm)", as page_assume_plan() does for
 * its own cluster.
 */
void page_assume_peak(page *of, const plait_problem *problem);

/**
 * Adds the assumptions of a plan: precision, runtime, FLOPs, routing, risk and constants.
 *
 * @param plan  the plan, which may be invalid; NULL: no plan
 */
void page_assume_plan(page *of, const plait_problem *problem, const report_plan *plan);

/**
 * Adds the price "2.95 USD a GPU hour" and its origin as an assumption.
 *
 * @param groups  number of groups of the cluster that are used
 * @param usd     price that the user gives; 0: prices in the accelerators' files
 */
void page_assume_prices(page *of, const plait_cluster *cluster, int groups, double usd);

/** The best plan that has another value of one key. */
typedef struct page_other {
    const char *asked; /* key and value: "tp=4" */
    const report_plan
        *plan;       /* best such plan, or the closest infeasible one; NULL: none is legal */
    const char *why; /* reason why the plan is not the best one */
} page_other;

typedef struct page_plans {
    const plait_problem *problem;
    const char *command; /* command line of the search; NULL: not available */
    int plans;
    const report_plan *plan; /* [plans] in the order of the ranking */
    int run;                 /* index of the plan to run, which the page describes */
    bool no_alternatives;    /* leave out `other`, which takes up to 24 searches */
    int front;
    const report_plan *front_plan; /* [front] plans of the Pareto front, fastest first */
    int sensitivities;
    const plait_sensitivity *sensitivity;
    const plait_timeline *timeline; /* simulated step; NULL: no pipeline, or not simulated */
    const char *no_timeline;        /* reason why the step is not simulated; NULL: no pipeline */
    int microbatches;               /* microbatches of the timeline; the step may have more */
    int others;
    const page_other *other;
} page_plans;

PLAIT_MUST_CHECK plait_status page_of_plans(const page_plans *of, plait_arena *arena, page **out,
                                            plait_error *err);

/** Adds the traffic between ranks and their placement on nodes. */
PLAIT_MUST_CHECK plait_status page_plan_ranks(page *out, const page_plans *of, plait_arena *arena,
                                              plait_error *err);
PLAIT_MUST_CHECK plait_status page_of_accuracy(const plait_validation *validation,
                                               const char *command, plait_arena *arena, page **out,
                                               plait_error *err);
PLAIT_MUST_CHECK plait_status page_of_capacity(const report_capacity *report, const char *command,
                                               plait_arena *arena, page **out, plait_error *err);
PLAIT_MUST_CHECK plait_status page_of_fleet(const report_fleet *report, const char *command,
                                            plait_arena *arena, page **out, plait_error *err);

/**
 * Stores whether a file is a document of plait serve. Fails only because of a fault of the machine,
 * not because of the file.
 */
PLAIT_MUST_CHECK plait_status page_serve_is(const char *path, plait_arena *arena, bool *is,
                                            plait_error *err);

typedef struct page_serve {
    page *made;       /* page, in the arena */
    int plans, front; /* numbers of deployments in the document and on its front */
} page_serve;

PLAIT_MUST_CHECK plait_status page_of_serve(const char *path, plait_arena *arena, page_serve *out,
                                            plait_error *err);
