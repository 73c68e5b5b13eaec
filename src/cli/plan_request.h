/* plan_request.h - the plan of eval and explain, which options, a file, or both describe */
#pragma once

#include "cli/problem.h"
#include "report/report.h"
#include "page/pages.h"

/** Options that describe the problem and the plan; NULL if not given. */
typedef struct plan_request_flags {
    problem_flags problem;
    const char *key[PLAIT_KEYS];
    const char *microbatches; /* number of microbatches, given instead of mbs */
    const char *plan;         /* value of --plan, PATH[:RANK] */
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
    const plans_entry *file; /* plan in the file of --plan, or NULL */
    report_plan plan;
    plait_key_set given; /* keys whose values options or the file give */
    int microbatches;    /* value of --microbatches, or 0 */
} plan_request;

/** Return whether any option describes the plan. */
bool plan_request_any(const plan_request_flags *flags);

/**
 * Resolve the problem, choose the keys that are not given, and price the plan. *out lives in
 * `arena`.
 */
PLAIT_MUST_CHECK plait_status plan_request_resolve(const plan_request_flags *flags,
                                                   const opt_operands *operands, plait_arena *arena,
                                                   plan_request *out, plait_error *err);

/**
 * Like plan_request_resolve(), but for an entry that has already been read from a file.
 *
 * @param flags  options that change the plan; may be NULL
 */
PLAIT_MUST_CHECK plait_status plan_request_from_entry(const plan_request_flags *flags,
                                                      const plans_entry *file, plait_arena *arena,
                                                      plan_request *out, plait_error *err);

/**
 * Resolve and price the plan of another file; `problem` supplies the values that the file does not
 * have.
 */
PLAIT_MUST_CHECK plait_status plan_request_versus(const char *path, const plait_problem *problem,
                                                  plait_arena *arena, plan_request *out,
                                                  plait_error *err);

/**
 * Write the shortest options that make eval complete exactly these degrees: "--tp 8 --pp 4 ...".
 */
PLAIT_MUST_CHECK plait_status plan_request_text(const plait_problem *problem,
                                                const plait_degrees *degrees, plait_arena *arena,
                                                const char **text, plait_error *err);

enum { PLAN_REQUEST_REMEDIES = 3 };

/**
 * Find options that make an invalid or infeasible plan run and fit. No options are found for a plan
 * from a file.
 */
PLAIT_MUST_CHECK plait_status plan_request_remedies(const plan_request *question,
                                                    plait_arena *arena,
                                                    plait_relaxation way[PLAN_REQUEST_REMEDIES],
                                                    int *ways, plait_error *err);

/**
 * Write the page of plans in the format that the extension of `output` selects. The page shows a
 * timeline and sensitivities of the first plan, and the best plan with another value of each key.
 *
 * @param plans    problem, plans, front and command; this function fills in the other members
 * @param threads  threads of the searches; 0: all of the machine
 */
PLAIT_MUST_CHECK plait_status plans_page_write(const page_plans *plans, const char *output,
                                               int threads, plait_arena *arena, plait_error *err);
