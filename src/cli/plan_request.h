/* plan_request.h - the plan of eval and explain, described by options, by a file, or by both */
#pragma once

#include "cli/problem.h"
#include "report/report.h"
#include "page/pages.h"

/** Options of the problem and the plan; NULL if not given. */
typedef struct plan_request_flags {
    problem_flags problem;
    const char *key[PLAIT_KEYS];
    const char *microbatches; /* in place of mbs */
    const char *plan;         /* PATH[:RANK] */
} plan_request_flags;

/** Rows of an option table whose values begin with a plan_request_flags. */
#define PLAN_REQUEST_OPTIONS                                                                       \
    PROBLEM_OPTIONS(plan_request_flags, problem),                                                  \
        OPT_HEADING("the plan; missing values are filled in as the runtime would"),                \
        OPT_OF_KEYS(plan_request_flags, key),                                                      \
        OPT_OF_TEXT(plan_request_flags, microbatches, "microbatches", 0, "N",                      \
                    "microbatches per step, instead of --mbs"),                                    \
        OPT_OF_TEXT(plan_request_flags, plan, "plan", 0, "FILE[:RANK]",                            \
                    "take the plan, model, cluster and job from a file that `plait search -o` "    \
                    "wrote; other options override it")

/** A resolved request: the problem and the priced plan. */
typedef struct plan_request {
    plait_problem problem;
    const plans_entry *file; /* file of --plan, or NULL */
    report_plan plan;
    plait_key_set given; /* keys with a value from options or the file */
    int microbatches;    /* value of --microbatches, or 0 */
} plan_request;

/** Whether any option describes the plan. */
bool plan_request_any(const plan_request_flags *flags);

/** Resolve the problem, fill in what is not given, and price the plan. *out lives in `arena`. */
PLAIT_MUST_CHECK plait_status plan_request_resolve(const plan_request_flags *flags,
                                                   const opt_operands *operands, plait_arena *arena,
                                                   plan_request *out, plait_error *err);

/**
 * As plan_request_resolve, for a plan of a file alone. @param flags  options that change it; may be
 * NULL
 */
PLAIT_MUST_CHECK plait_status plan_request_from_entry(const plan_request_flags *flags,
                                                      const plans_entry *file, plait_arena *arena,
                                                      plan_request *out, plait_error *err);

/** Resolve the plan of another file; values that it leaves open are taken from `problem`. */
PLAIT_MUST_CHECK plait_status plan_request_versus(const char *path, const plait_problem *problem,
                                                  plait_arena *arena, plan_request *out,
                                                  plait_error *err);

/** Write the options from which eval completes exactly these degrees: "--tp 8 --pp 4 ...". */
PLAIT_MUST_CHECK plait_status plan_request_text(const plait_problem *problem,
                                                const plait_degrees *degrees, plait_arena *arena,
                                                const char **text, plait_error *err);

enum { PLAN_REQUEST_REMEDIES = 3 };

/**
 * Find options with which a plan that cannot run or does not fit does both. A plan from a file has
 * none.
 */
PLAIT_MUST_CHECK plait_status plan_request_remedies(const plan_request *question,
                                                    plait_arena *arena,
                                                    plait_relaxation way[PLAN_REQUEST_REMEDIES],
                                                    int *ways, plait_error *err);

/**
 * Write the page of plans in the format of the file's ending. The first plan gets a timeline,
 * sensitivities, and a search for the best plan with another value of each key.
 *
 * @param plans    problem, plans, front and command; the other members are found here
 * @param threads  threads of the searches; 0: all of the machine
 */
PLAIT_MUST_CHECK plait_status plans_page_write(const page_plans *plans, const char *output,
                                               int threads, plait_arena *arena, plait_error *err);
